// SPDX-License-Identifier: GPL-2.0-only
/*
 * chardev/ioctl_mem: register and unregister memory.
 */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/uaccess.h>

#include "chardev/chardev.h"

static int check_register(const struct te_ioc_mr_register *reg,
			  struct te_mr_ask *ask)
{
	u64 end;

	if (!reg->length || !reg->access || (reg->access & ~TE_ACCESS_ALL))
		return -EINVAL;
	if (!(reg->flags & TE_MR_DMABUF) &&
	    (reg->dmabuf_fd || reg->dmabuf_offset))
		return -EINVAL;
	if (!(reg->flags & TE_MR_BASE) && reg->base)
		return -EINVAL;
	if (reg->location_len > TE_MAX_LOCATION ||
	    !reg->location != !reg->location_len)
		return -EINVAL;
	if (reg->flags & TE_MR_DMABUF)
		return -EOPNOTSUPP;

	ask->addr = reg->addr;
	ask->len = reg->length;
	ask->base = reg->flags & TE_MR_BASE ? reg->base : reg->addr;
	ask->access = reg->access;
	if (check_add_overflow(ask->addr, ask->len - 1, &end) ||
	    check_add_overflow(ask->base, ask->len - 1, &end))
		return -EOVERFLOW;
	if (offset_in_page(ask->base) != offset_in_page(ask->addr))
		return -EINVAL;
	if (!access_ok((void __user *)(uintptr_t)reg->addr, reg->length))
		return -EFAULT;
	return 0;
}

static int get_location(const struct te_ioc_mr_register *reg, u32 *location)
{
	char name[TE_MAX_LOCATION];

	if (!reg->location) {
		*location = TE_LOCATION_PAGES;
		return 0;
	}
	if (copy_from_user(name, u64_to_user_ptr(reg->location),
			   reg->location_len))
		return -EFAULT;
	return te_location_get(name, reg->location_len, location);
}

int te_ioctl_mr_register(struct te_cmd *cmd)
{
	struct te_ioc_mr_register *reg = &cmd->arg.mr_register;
	struct te_mr_ask ask;
	int ret;

	ret = check_register(reg, &ask);
	if (ret)
		return ret;
	ret = get_location(reg, &ask.location);
	if (ret)
		return ret;
	ret = te_mr_register(cmd->ctx->space, &ask, te_xport_map_mr, &reg->mr);
	if (reg->location)
		te_location_put(ask.location);
	if (ret)
		return ret;
	ret = te_cmd_respond(cmd);
	if (ret)
		te_mr_unregister(cmd->ctx->space, reg->mr, NULL, NULL);
	return ret;
}

/* Cancel whatever of this context uses the region. */
static void cancel_users(struct te_mr *mr, void *arg)
{
	struct te_ctx *ctx = arg;
	struct te_batch *batch;
	unsigned long id;
	bool any = false;

	mutex_lock(&ctx->lock);
	xa_for_each(&ctx->batches, id, batch)
		any |= te_batch_cancel_mr(batch, mr);
	mutex_unlock(&ctx->lock);
	if (any)
		te_xport_scan();
}

int te_ioctl_mr_unregister(struct te_cmd *cmd)
{
	struct te_ioc_mr_unregister *unreg = &cmd->arg.mr_unregister;

	if (unreg->reserved)
		return -EINVAL;
	return te_mr_unregister(cmd->ctx->space, unreg->mr,
				unreg->flags & TE_FORCE ? cancel_users : NULL,
				cmd->ctx);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * chardev/ioctl_seg: export, open, look at and close segments.
 */
#include <linux/ctype.h>
#include <linux/in.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/ipv6.h>

#include "chardev/chardev.h"
#include "fault/fault.h"
#include "session/session.h"
#include "worker/worker.h"

#define TE_DEFAULT_OPEN_MS	5000
/* Descriptions copied out in one go. */
#define TE_INFO_STEP		32U

/* Copy a name in and check its characters. */
static int copy_name(char *name, u64 uaddr, u32 len)
{
	u32 i;

	if (!len || len > TE_MAX_NAME)
		return -EINVAL;
	if (copy_from_user(name, u64_to_user_ptr(uaddr), len))
		return -EFAULT;
	for (i = 0; i < len; i++) {
		if (!(isascii(name[i]) && isalnum(name[i])) &&
		    (!name[i] || !strchr("._:-", name[i])))
			return -EINVAL;
	}
	return 0;
}

static int check_token(u64 token, u32 len)
{
	if (len > TE_MAX_TOKEN || !token != !len)
		return -EINVAL;
	return len ? -EOPNOTSUPP : 0;
}

int te_ioctl_segment_export(struct te_cmd *cmd)
{
	struct te_ioc_segment_export *export = &cmd->arg.segment_export;
	struct te_ctx *ctx = cmd->ctx;
	char name[TE_MAX_NAME];
	int ret;

	ret = copy_name(name, export->name, export->name_len);
	if (!ret)
		ret = check_token(export->token, export->token_len);
	if (ret)
		return ret;

	mutex_lock(&ctx->lock);
	if (ctx->listening) {
		ret = -EEXIST;
		goto out_unlock;
	}
	ret = te_session_listen(ctx->net);
	if (ret)
		goto out_unlock;
	ret = te_space_export(ctx->space, ctx->net, name, export->name_len);
	if (ret)
		te_session_unlisten(ctx->net);
	else
		ctx->listening = true;
out_unlock:
	mutex_unlock(&ctx->lock);
	return ret;
}

static int check_addr(const struct te_ioc_segment_open *open,
		      struct te_session_addr *addr)
{
	__be32 ipv4;

	switch (open->family) {
	case AF_INET:
		if (memchr_inv(open->addr + 4, 0, 12) || open->scope_id)
			return -EINVAL;
		memcpy(&ipv4, open->addr, 4);
		ipv6_addr_set_v4mapped(ipv4, &addr->addr);
		break;
	case AF_INET6:
		memcpy(&addr->addr, open->addr, 16);
		addr->scope_id = open->scope_id;
		break;
	default:
		return -EINVAL;
	}
	if (open->port > U16_MAX)
		return -EINVAL;
	addr->port = open->port ?: TE_DEFAULT_PORT;
	return 0;
}

static int check_open(const struct te_ioc_segment_open *open,
		      struct te_session_addr *addr, char *name)
{
	int ret;

	if (open->transport > TE_LOCAL || open->timeout_ms > INT_MAX)
		return -EINVAL;
	ret = check_addr(open, addr);
	if (!ret)
		ret = copy_name(name, open->name, open->name_len);
	if (!ret)
		ret = check_token(open->token, open->token_len);
	return ret;
}

static int ctx_add_seg(struct te_ctx *ctx, struct te_seg *seg, u32 *id)
{
	int ret;

	mutex_lock(&ctx->lock);
	ret = xa_alloc_cyclic(&ctx->segs, id, seg, XA_LIMIT(1, INT_MAX),
			      &ctx->next_seg, GFP_KERNEL_ACCOUNT);
	mutex_unlock(&ctx->lock);
	return ret < 0 ? ret : 0;
}

static void drop_seg(struct te_seg *seg)
{
	te_session_close_segment(seg);
	te_seg_put(seg);
}

int te_ioctl_segment_open(struct te_cmd *cmd)
{
	struct te_ioc_segment_open *open = &cmd->arg.segment_open;
	struct te_session_addr addr = {};
	struct te_ctx *ctx = cmd->ctx;
	char name[TE_MAX_NAME];
	struct te_seg *seg;
	int ret;

	ret = check_open(open, &addr, name);
	if (ret)
		return ret;
	seg = te_session_open_segment(ctx->net, &addr, name, open->name_len,
				      open->transport,
				      open->timeout_ms ?: TE_DEFAULT_OPEN_MS);
	if (IS_ERR(seg))
		return PTR_ERR(seg);

	te_delay(TE_DELAY_SEG_OPENED);
	ret = ctx_add_seg(ctx, seg, &open->segment);
	if (ret)
		goto err_drop;
	ret = te_cmd_respond(cmd);
	if (ret) {
		mutex_lock(&ctx->lock);
		seg = xa_erase(&ctx->segs, open->segment);
		mutex_unlock(&ctx->lock);
		if (seg)
			goto err_drop;
	}
	return ret;

err_drop:
	drop_seg(seg);
	return ret;
}

static int copy_buffers(struct te_seg *seg, u64 uaddr, u32 max, u32 *copied)
{
	struct te_buffer bufs[TE_INFO_STEP];
	u64 first = 0;
	u32 done = 0, n;

	while (done < max) {
		n = te_seg_buffers(seg, first, bufs,
				   min(max - done, TE_INFO_STEP));
		if (!n)
			break;
		if (copy_to_user(u64_to_user_ptr(uaddr) +
				 (size_t)done * sizeof(*bufs), bufs,
				 n * sizeof(*bufs)))
			return -EFAULT;
		done += n;
		if (check_add_overflow(bufs[n - 1].addr, bufs[n - 1].length,
				       &first))
			break;
		cond_resched();
	}
	*copied = done;
	return 0;
}

int te_ioctl_segment_info(struct te_cmd *cmd)
{
	struct te_ioc_segment_info *info = &cmd->arg.segment_info;
	struct te_route route;
	struct te_seg *seg;
	int ret = -ESTALE;

	seg = te_ctx_get_seg(cmd->ctx, info->segment);
	if (IS_ERR(seg))
		return PTR_ERR(seg);
	if (te_seg_gone(seg))
		goto out_put;
	ret = copy_buffers(seg, info->bufs, info->max, &info->max);
	if (ret)
		goto out_put;
	info->nr = READ_ONCE(seg->nr_live);
	te_worker_route(seg, &route);
	info->transport = route.transport;
	info->forced = seg->transport;
	info->known = route.known;
	info->able = route.able;
	info->reserved = 0;
	ret = te_cmd_respond(cmd);
out_put:
	te_seg_put(seg);
	return ret;
}

int te_ioctl_segment_close(struct te_cmd *cmd)
{
	struct te_ioc_segment_close *close = &cmd->arg.segment_close;
	struct te_seg *seg;

	if (close->reserved)
		return -EINVAL;
	mutex_lock(&cmd->ctx->lock);
	seg = xa_erase(&cmd->ctx->segs, close->segment);
	mutex_unlock(&cmd->ctx->lock);
	if (!seg)
		return -ENOENT;
	drop_seg(seg);
	return 0;
}

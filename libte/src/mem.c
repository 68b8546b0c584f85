// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * Memory regions: options to ioctl fields. What is allowed is for the kernel to
 * say; nothing is checked twice.
 */
#include <string.h>

#include "private.h"

int te_mr_register(struct te *te, void *addr, size_t len, unsigned int access,
		   const struct te_mr_opts *o, uint32_t *mr)
{
	struct te_ioc_mr_register arg = {
		.size = sizeof(arg),
		.addr = (uintptr_t)addr,
		.length = len,
		.access = access,
	};
	struct te_mr_opts opts;
	int ret;

	ret = te_opts_get(&opts, sizeof(opts), o);
	if (ret)
		return ret;

	arg.flags = opts.flags;
	arg.base = opts.base;
	arg.dmabuf_fd = opts.dmabuf_fd;
	arg.dmabuf_offset = opts.dmabuf_offset;
	if (opts.location) {
		arg.location = (uintptr_t)opts.location;
		arg.location_len = strnlen(opts.location, TE_MAX_LOCATION + 1);
	}

	ret = te_ioctl(te->fd, TE_IOC_MR_REGISTER, &arg);
	if (ret < 0)
		return ret;

	*mr = arg.mr;
	return 0;
}

int te_mr_unregister(struct te *te, uint32_t mr, unsigned int flags)
{
	struct te_ioc_mr_unregister arg = {
		.size = sizeof(arg),
		.flags = flags,
		.mr = mr,
	};

	return te_ioctl(te->fd, TE_IOC_MR_UNREGISTER, &arg);
}

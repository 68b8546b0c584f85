// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * Do library and kernel speak the same contract? Growth is told by struct sizes
 * and feature bits; the version number moves only when something breaks.
 */
#include <errno.h>

#include "private.h"

int te_check_version(int fd)
{
	struct te_ioc_info info = { .size = sizeof(info) };
	int ret;

	ret = te_ioctl(fd, TE_IOC_INFO, &info);
	if (ret < 0)
		return ret;

	return info.version == TE_UAPI_VERSION ? 0 : -EPROTO;
}

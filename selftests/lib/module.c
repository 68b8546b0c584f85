// SPDX-License-Identifier: GPL-2.0-only
/* module: see module.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/module.h"
#include "lib/raw.h"
#include "lib/stats.h"

int module_unload(void)
{
	return syscall(SYS_delete_module, "te", O_NONBLOCK) ? -errno : 0;
}

/* The device node follows the module. */
static int wait_for_node(bool there)
{
	unsigned long long end = te_now_ms() + TE_SETTLE_MS;

	while (access(TE_DEVICE, F_OK) == (there ? -1 : 0)) {
		if (te_now_ms() > end)
			return -ETIME;
		te_sleep_ms(5);
	}
	return 0;
}

int module_unload_soon(void)
{
	unsigned long long end = te_now_ms() + TE_SETTLE_MS;
	int ret;

	while ((ret = module_unload()) == -EWOULDBLOCK || ret == -EBUSY) {
		if (te_now_ms() > end)
			return ret;
		te_sleep_ms(20);
	}
	return ret ?: wait_for_node(false);
}

int module_load(const char *params)
{
	const char *path = getenv("TE_MODULE");
	int fd, ret;

	fd = open(path ?: "", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = syscall(SYS_finit_module, fd, params, 0) ? -errno : 0;
	close(fd);
	return ret ?: wait_for_node(true);
}

int module_reload(const char *params)
{
	return module_unload_soon() ?: module_load(params);
}

int module_qp_timeout(char *param, size_t len)
{
	FILE *f = fopen("/sys/module/te/parameters/qp_timeout", "re");
	unsigned int n;
	int ret;

	if (!f)
		return -errno;
	ret = fscanf(f, "%u", &n) == 1 ? 0 : -EIO;
	fclose(f);
	snprintf(param, len, "qp_timeout=%u", n);
	return ret;
}

int module_set(const char *param, const char *value)
{
	char path[96];
	FILE *f;
	int ret;

	snprintf(path, sizeof(path), "/sys/module/te/parameters/%s", param);
	f = fopen(path, "we");
	if (!f)
		return -errno;
	ret = fputs(value, f) < 0 ? -EIO : 0;
	return fclose(f) ? -errno : ret;
}

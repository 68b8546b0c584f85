// SPDX-License-Identifier: GPL-2.0-only
/* klog: see klog.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/klog.h"
#include "lib/pair.h"

int klog_open(void)
{
	return open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

void klog_skip(int fd)
{
	lseek(fd, 0, SEEK_END);
}

int klog_wait(int fd, const char *a, const char *b)
{
	unsigned long long end = te_now_ms() + TE_WAIT_MS;
	char line[1024];
	ssize_t n;

	while (te_now_ms() < end) {
		n = read(fd, line, sizeof(line) - 1);
		if (n < 0 && errno == EAGAIN)
			te_sleep_ms(5);
		line[n < 0 ? 0 : n] = 0;
		if (strstr(line, a))
			return 0;
		if (b && strstr(line, b))
			return 1;
	}
	printf("# not in the log: %s\n", a);
	return -ETIME;
}

// SPDX-License-Identifier: GPL-2.0-only
/* fault: see fault.h. Owns nothing: each call opens and closes its file. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/fault.h"

#define DIR_FAULT "/sys/kernel/debug/te-fault"

static int point_open(const char *kind, const char *point, int flags)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), DIR_FAULT "/%s/%s", kind, point);
	fd = open(path, flags | O_CLOEXEC);
	if (fd < 0) {
		printf("# %s: %s\n", path, strerror(errno));
		exit(1);
	}
	return fd;
}

static void point_write(const char *kind, const char *point, const char *text)
{
	int fd = point_open(kind, point, O_WRONLY);
	int n = strlen(text);

	if (write(fd, text, n) != n) {
		printf("# %s %s: %s\n", point, text, strerror(errno));
		exit(1);
	}
	close(fd);
}

static void point_read(const char *kind, const char *point, unsigned int *a,
		       unsigned int *b)
{
	int fd = point_open(kind, point, O_RDONLY);
	char text[32];
	ssize_t n = read(fd, text, sizeof(text) - 1);

	close(fd);
	text[n < 0 ? 0 : n] = 0;
	if (sscanf(text, "%u %u", a, b) != 2) {
		printf("# %s: not two numbers: %s\n", point, text);
		exit(1);
	}
}

void te_fault_arm_many(const char *point, unsigned int nth, int error,
		       unsigned int count)
{
	char text[48];

	snprintf(text, sizeof(text), "%u %d %u", nth, error, count);
	point_write("fail", point, text);
}

void te_fault_arm(const char *point, unsigned int nth, int error)
{
	te_fault_arm_many(point, nth, error, 1);
}

unsigned int te_fault_seen(const char *point)
{
	unsigned int passes, failed;

	point_read("fail", point, &passes, &failed);
	return failed;
}

unsigned int te_fault_fired(const char *point)
{
	unsigned int failed = te_fault_seen(point);

	point_write("fail", point, "0 0");
	return failed;
}

void te_delay_arm(const char *point, unsigned int ms, unsigned int count)
{
	char text[32];

	snprintf(text, sizeof(text), "%u %u", ms, count);
	point_write("delay", point, text);
}

void te_hold(const char *point)
{
	te_delay_arm(point, TE_HOLD_MS, 1);
}

int te_delay_wait(const char *point, unsigned int n)
{
	unsigned int held, passed, tries;

	for (tries = 0; tries < 20000; tries++) {
		point_read("delay", point, &held, &passed);
		if (held >= n)
			return 0;
		usleep(1000);
	}
	printf("# %s: %u held of %u, %u passed\n", point, held, n, passed);
	return -ETIME;
}

void te_delay_release(const char *point)
{
	point_write("delay", point, "0 0");
}

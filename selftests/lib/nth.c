// SPDX-License-Identifier: GPL-2.0-only
/* nth: see nth.h. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/nth.h"

/* More faults than any call has, times turns. */
#define MANY	9000
#define QUIET	5
/* Threads with names that start alike. */
#define THREADS	32

#define DEBUGFS "/sys/kernel/debug/"

static int fail_nth = -1;
static int threads[THREADS];
static unsigned int nr_threads;

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0) {
		printf("# %s: %s\n", path, strerror(errno));
		exit(1);
	}
	close(fd);
}

void nth_count_allocations(bool count)
{
	put(DEBUGFS "failslab/ignore-gfp-wait", count ? "N" : "Y");
	put(DEBUGFS "fail_page_alloc/ignore-gfp-wait", count ? "N" : "Y");
}

void nth_start(void)
{
	put(DEBUGFS "failslab/verbose", "0");
	put(DEBUGFS "fail_page_alloc/verbose", "0");
	put(DEBUGFS "fail_page_alloc/min-order", "0");
	put(DEBUGFS "fail_usercopy/verbose", "0");
	fail_nth = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
}

void nth_stop(void)
{
	close(fail_nth);
	fail_nth = -1;
	nth_count_allocations(false);
}

static bool arm(int fd, unsigned int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", n);

	return pwrite(fd, text, len, 0) == len;
}

void nth_arm(unsigned int n)
{
	if (!arm(fail_nth, n))
		printf("# fail-nth: %s\n", strerror(errno));
}

/* How many are still to go; -1: not known. */
static long left(int fd)
{
	char text[16] = "";

	if (pread(fd, text, sizeof(text) - 1, 0) <= 0)
		return -1;
	return strtol(text, NULL, 10);
}

/* Asking is a copy of its own, which it may strike. */
bool nth_struck(void)
{
	long n = left(fail_nth);

	if (n < 0)
		return false;
	while (!arm(fail_nth, 0))
		;
	return !n;
}

#define OWN_NICE	"-5"

void nth_own_workers(bool own)
{
	static const char *const queues[] = {
		"core", "mem", "rdma", "session", "tcp", "tcp_conn",
	};
	char path[80];
	size_t i;

	for (i = 0; i < sizeof(queues) / sizeof(queues[0]); i++) {
		snprintf(path, sizeof(path),
			 "/sys/devices/virtual/workqueue/te_%s/nice",
			 queues[i]);
		put(path, own ? OWN_NICE : "0");
	}
}

static bool is_ours(const char *dir, const char *name)
{
	char path[288], is[64] = "";
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/comm", dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = read(fd, is, sizeof(is) - 1);
	close(fd);
	if (n <= 0 || strncmp(is, name, strlen(name)))
		return false;
	return strcmp(name, NTH_WORKERS) ||
	       getpriority(PRIO_PROCESS, atoi(dir)) == atoi(OWN_NICE);
}

/* One that has ended since is none. */
static void arm_thread(const char *dir, unsigned int n)
{
	char path[288];
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/fail-nth", dir);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return;
	if (nr_threads < THREADS && arm(fd, n))
		threads[nr_threads++] = fd;
	else
		close(fd);
}

unsigned int nth_arm_threads(const char *name, unsigned int n)
{
	DIR *proc = opendir("/proc");
	struct dirent *d;

	while (proc && (d = readdir(proc)))
		if (isdigit(d->d_name[0]) && is_ours(d->d_name, name))
			arm_thread(d->d_name, n);
	if (proc)
		closedir(proc);
	return nr_threads;
}

unsigned int nth_struck_threads(void)
{
	unsigned int hits = 0;

	while (nr_threads) {
		int fd = threads[--nr_threads];

		hits += left(fd) == 0;
		arm(fd, 0);
		close(fd);
	}
	return hits;
}

bool next_turn(struct turns *t)
{
	t->n = 1 + t->nr++ / t->each;
	return t->quiet < QUIET * t->each && t->nr < MANY;
}

bool turn_end(struct turns *t, bool hit)
{
	t->quiet = hit ? 0 : t->quiet + 1;
	return hit;
}

bool ran_out(const struct turns *t)
{
	return t->quiet == QUIET * t->each;
}

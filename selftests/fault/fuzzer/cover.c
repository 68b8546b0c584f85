// SPDX-License-Identifier: GPL-2.0-only
/* cover: see cover.h. The set of addresses is a hash table that is never full. */
#include <fcntl.h>
#include <linux/kcov.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fault/fuzzer/cover.h"

#define KCOV		"/sys/kernel/debug/kcov"
#define RECORDS		(64UL << 10)	/* of one step */
#define SET_BITS	17		/* te has some 10000 blocks */

static uint64_t set[1 << SET_BITS];
static unsigned int nr_set;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects set */

bool cover_there(void)
{
	return !access(KCOV, R_OK | W_OK);
}

unsigned int cover_total(void)
{
	return nr_set;
}

uint64_t *cover_start(void)
{
	int fd = open(KCOV, O_RDWR | O_CLOEXEC);
	uint64_t *buf;

	if (fd < 0)
		return NULL;
	if (ioctl(fd, KCOV_INIT_TRACE, RECORDS))
		goto fail;
	buf = mmap(NULL, RECORDS * sizeof(*buf), PROT_READ | PROT_WRITE,
		   MAP_SHARED, fd, 0);
	if (buf == MAP_FAILED)
		goto fail;
	/* It goes on as long as the thread and the descriptor live. */
	if (!ioctl(fd, KCOV_ENABLE, KCOV_TRACE_PC))
		return buf;
fail:
	perror("# " KCOV);
	close(fd);
	return NULL;
}

void cover_reset(uint64_t *buf)
{
	if (buf)
		__atomic_store_n(buf, 0, __ATOMIC_RELAXED);
}

static bool add(uint64_t pc)
{
	uint32_t i = pc * 0x9e3779b97f4a7c15 >> (64 - SET_BITS);

	while (set[i] && set[i] != pc)
		i = (i + 1) % (1 << SET_BITS);
	if (set[i] || nr_set > (1 << SET_BITS) / 2)
		return false;
	set[i] = pc;
	nr_set++;
	return true;
}

unsigned int cover_collect(const uint64_t *buf)
{
	unsigned int fresh = 0;
	uint64_t n, i;

	if (!buf)
		return 0;
	n = __atomic_load_n(buf, __ATOMIC_RELAXED);
	pthread_mutex_lock(&lock);
	for (i = 1; i <= n; i++)
		fresh += add(buf[i]);
	pthread_mutex_unlock(&lock);
	return fresh;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages that the kernel would like to move, split, join or share: while they
 * are registered it cannot, and transfers use what the process sees. Not on
 * User Mode Linux, which does none of this; see guest.sh.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/test.h"
#include "lib/pair.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE	25
#endif
#ifndef MADV_SOFT_OFFLINE
#define MADV_SOFT_OFFLINE 101
#endif

#define PAGE	4096UL
#define HUGE	(2 * MIB)
#define LEN	(64 * KIB)
#define PAGES	(LEN / PAGE)
#define RW	(PROT_READ | PROT_WRITE)
#define KSM	"/sys/kernel/mm/ksm/"

FIXTURE(move)
{
	struct pair p;
	unsigned char *map, *huge, *mem;	/* mem: LEN bytes inside huge */
	uint32_t mr;
};

FIXTURE_SETUP(move)
{
	struct pair_opts o = { .remote = 2 * LEN, .margin = ~0UL };

	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, pair_open(&self->p, &o));
	self->map = mmap(NULL, 2 * HUGE, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			 0);
	ASSERT_NE(MAP_FAILED, (void *)self->map);
	self->huge = (void *)(((uintptr_t)self->map + HUGE - 1) & -HUGE);
	self->mem = self->huge + HUGE / 2 + 3 * PAGE;
}

FIXTURE_TEARDOWN(move)
{
	pair_close(&self->p);
	munmap(self->map, 2 * HUGE);
	CLEAN();
}

static int reg(struct pair *p, void *mem, uint32_t access, uint32_t *mr)
{
	return te_mr_register(p->ini, mem, LEN, access, NULL, mr);
}

/* What the process writes goes out, what comes in it sees. */
static int both_ways(struct pair *p, unsigned char *mem, uint64_t seed)
{
	int ret;

	pattern_fill(mem, LEN, seed);
	ret = pair_move(p, TE_WRITE, mem, 0, LEN);
	if (!ret && pattern_check(p->remote.p, LEN, seed) >= 0)
		return -EBADMSG;
	ret = ret ?: pair_move(p, TE_READ, mem, LEN, LEN);
	if (!ret && memcmp(mem, p->remote.p + LEN, LEN))
		return -EILSEQ;
	return ret;
}

/* Which pages they are, in the machine. */
static int frames(const unsigned char *mem, uint64_t *frame)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	ssize_t n = pread(fd, frame, 8 * PAGES, (uintptr_t)mem / PAGE * 8);
	size_t i;

	close(fd);
	for (i = 0; i < PAGES; i++)
		frame[i] &= (1ULL << 55) - 1;
	return n == 8 * PAGES && frame[0] ? 0 : -EIO;
}

static int same_frames(const unsigned char *mem, const uint64_t *was)
{
	uint64_t is[PAGES];

	return frames(mem, is) ?: memcmp(is, was, sizeof(is)) ? -ESTALE : 0;
}

static int put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int ret = write(fd, text, strlen(text)) < 0 ? -errno : 0;

	close(fd);
	return ret;
}

static long get(const char *path)
{
	FILE *f = fopen(path, "re");
	long n = -1;

	if (!f)
		return -errno;
	if (fscanf(f, "%ld", &n) != 1)
		n = -EIO;
	fclose(f);
	return n;
}

/* Of the mapping that @at is in, KiB. */
static long huge_kib(const void *at)
{
	FILE *f = fopen("/proc/self/smaps", "re");
	unsigned long from, to, a = (uintptr_t)at;
	bool inside = false;
	char line[256];
	long kib = -1;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			inside = a >= from && a < to;
		else if (inside &&
			 sscanf(line, "AnonHugePages: %ld", &kib) == 1)
			break;
	}
	if (f)
		fclose(f);
	return kib;
}

TEST_F_TIMEOUT(move, huge_page_is_split, SLOW)
{
	uint64_t was[PAGES];
	char order[80];

	ASSERT_EQ(0, madvise(self->huge, HUGE, MADV_HUGEPAGE));
	memset(self->huge, 1, HUGE);
	ASSERT_EQ(HUGE / KIB, huge_kib(self->huge));
	ASSERT_EQ(0, reg(&self->p, self->mem, TE_LOCAL_ALL, &self->mr));
	ASSERT_EQ(0, frames(self->mem, was));

	/* The mapping of it, by protection; then the page, by order. */
	ASSERT_EQ(0, mprotect(self->huge + 9 * PAGE, PAGE, PROT_READ));
	EXPECT_EQ(0, huge_kib(self->mem));
	EXPECT_EQ(0, both_ways(&self->p, self->mem, 1));
	snprintf(order, sizeof(order), "%d,0x%lx,0x%lx", getpid(),
		 (unsigned long)self->huge, (unsigned long)self->huge + HUGE);
	put("/sys/kernel/debug/split_huge_pages", order);
	EXPECT_EQ(0, same_frames(self->mem, was));
	EXPECT_EQ(0, both_ways(&self->p, self->mem, 2));
	/* All of it but what is registered. */
	ASSERT_EQ(0, munmap(self->huge, self->mem - self->huge));
	EXPECT_EQ(0, both_ways(&self->p, self->mem, 3));
	EXPECT_EQ(0, same_frames(self->mem, was));
	ASSERT_EQ(0, te_mr_unregister(self->p.ini, self->mr, 0));
}

TEST_F_TIMEOUT(move, collapsed, SLOW)
{
	uint64_t was[PAGES];

	ASSERT_EQ(0, madvise(self->huge, HUGE, MADV_NOHUGEPAGE));
	memset(self->huge, 1, HUGE);
	ASSERT_EQ(0, madvise(self->huge, HUGE, MADV_HUGEPAGE));
	ASSERT_EQ(0, reg(&self->p, self->mem, TE_LOCAL_ALL, &self->mr));
	ASSERT_EQ(0, frames(self->mem, was));
	EXPECT_EQ(-1, madvise(self->huge, HUGE, MADV_COLLAPSE));
	EXPECT_EQ(0, same_frames(self->mem, was));
	EXPECT_EQ(0, both_ways(&self->p, self->mem, 4));
	ASSERT_EQ(0, te_mr_unregister(self->p.ini, self->mr, 0));
	/* It was te that stood in the way. */
	EXPECT_EQ(0, madvise(self->huge, HUGE, MADV_COLLAPSE));
	EXPECT_EQ(HUGE / KIB, huge_kib(self->huge));
	EXPECT_EQ(0, pair_use(&self->p, self->mem, LEN));
}

TEST_F_TIMEOUT(move, migrated, SLOW)
{
	uint64_t was[PAGES];

	ASSERT_EQ(0, madvise(self->huge, HUGE, MADV_NOHUGEPAGE));
	memset(self->huge, 1, HUGE);
	ASSERT_EQ(0, reg(&self->p, self->mem, TE_LOCAL_ALL, &self->mr));
	ASSERT_EQ(0, frames(self->mem, was));
	ASSERT_EQ(0, put("/proc/sys/vm/compact_memory", "1"));
	EXPECT_EQ(0, same_frames(self->mem, was));
	EXPECT_EQ(0, both_ways(&self->p, self->mem, 5));
	/* Taken out of use, which means moved; a neighbour is. */
	EXPECT_EQ(-1, madvise(self->mem + PAGE, PAGE, MADV_SOFT_OFFLINE));
	EXPECT_EQ(0, same_frames(self->mem, was));
	EXPECT_EQ(0, both_ways(&self->p, self->mem, 6));
	EXPECT_EQ(0, madvise(self->huge, PAGE, MADV_SOFT_OFFLINE));
	EXPECT_EQ(1, self->huge[0]);
	ASSERT_EQ(0, te_mr_unregister(self->p.ini, self->mr, 0));
}

/* Waits until @n pages of this machine share others. */
static int await_sharing(long n)
{
	long end = get(KSM "full_scans") + 4;
	int i;

	for (i = 0; i < TE_WAIT_MS; i += 10, te_sleep_ms(10))
		if (get(KSM "pages_sharing") >= n &&
		    get(KSM "full_scans") >= end)
			return 0;
	return -ETIME;
}

TEST_F_TIMEOUT(move, same_page_merging, SLOW)
{
	unsigned char *other = self->huge;
	uint64_t was[PAGES], is[PAGES];
	uint32_t mr;
	size_t i;

	ASSERT_EQ(0, madvise(self->huge, HUGE, MADV_NOHUGEPAGE));
	pattern_fill(self->huge, PAGE, 7);
	for (i = PAGE; i < HUGE; i += PAGE)
		memcpy(self->huge + i, self->huge, PAGE);
	ASSERT_EQ(0, reg(&self->p, self->mem, TE_LOCAL_READ, &self->mr));
	ASSERT_EQ(0, frames(self->mem, was));
	ASSERT_EQ(0, madvise(self->huge, HUGE, MADV_MERGEABLE));
	ASSERT_EQ(0, put(KSM "pages_to_scan", "4096"));
	ASSERT_EQ(0, put(KSM "sleep_millisecs", "10"));
	ASSERT_EQ(0, put(KSM "run", "1"));
	/* Those that are not registered become one, or a few: it has a limit. */
	EXPECT_EQ(0, await_sharing(HUGE / PAGE - PAGES - 8));
	ASSERT_EQ(0, put(KSM "run", "0"));
	EXPECT_EQ(0, same_frames(self->mem, was));
	EXPECT_EQ(0, pair_move(&self->p, TE_WRITE, self->mem, 0, LEN));
	EXPECT_EQ(0, memcmp(self->p.remote.p, self->mem, LEN));

	/* A merged page is registered: it becomes the process's own first. */
	ASSERT_EQ(0, frames(other, was));
	EXPECT_EQ(was[0], was[1]);
	ASSERT_EQ(0, reg(&self->p, other, TE_LOCAL_READ, &mr));
	ASSERT_EQ(0, frames(other, is));
	EXPECT_NE(is[0], is[1]);
	pattern_fill(other, LEN, 8);
	EXPECT_EQ(0, pair_move(&self->p, TE_WRITE, other, 0, LEN));
	EXPECT_EQ(-1, pattern_check(self->p.remote.p, LEN, 8));
	EXPECT_EQ(0, same_frames(other, is));
	EXPECT_EQ(0, memcmp(other + LEN, self->mem, PAGE));
	ASSERT_EQ(0, te_mr_unregister(self->p.ini, mr, 0));
	ASSERT_EQ(0, te_mr_unregister(self->p.ini, self->mr, 0));
	ASSERT_EQ(0, put(KSM "run", "2"));
	ASSERT_EQ(0, put(KSM "run", "0"));
}

TEST_HARNESS_MAIN

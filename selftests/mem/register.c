// SPDX-License-Identifier: GPL-2.0-only
/*
 * What can be registered, and what becomes of that which cannot: the errno, and
 * that not one page stays pinned. All rows are pieces of one mapping with a
 * hole, read-only pages and pages without access.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "lib/test.h"

#define PAGE	4096UL
#define PAGES	16
/* Kinds of pages in the map, by number. */
#define HOLE		4	/* 0 to 3 are good, so are 5 to 7 and from 11 */
#define READ_ONLY	8	/* and 9 */
#define NO_ACCESS	10

FIXTURE(mem)
{
	struct raw r;
	struct te_ioc_stats base;
	char *map;
};

FIXTURE_SETUP(mem)
{
	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, raw_open(&self->r, 0, 0));
	ASSERT_EQ(0, te_stats(&self->base));
	self->map = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->map);
	memset(self->map, 1, PAGES * PAGE);
	munmap(self->map + HOLE * PAGE, PAGE);
	mprotect(self->map + READ_ONLY * PAGE, 2 * PAGE, PROT_READ);
	mprotect(self->map + NO_ACCESS * PAGE, PAGE, PROT_NONE);
}

FIXTURE_TEARDOWN(mem)
{
	raw_close(&self->r);
	CLEAN();
}

struct row {
	const char *desc;
	size_t page, off, len;
	uint32_t access;
	int want;
	unsigned int pages;	/* pinned when it works */
};

#define L	TE_LOCAL_READ
#define LW	TE_LOCAL_WRITE
#define M	TE_REMOTE_READ
#define MW	TE_REMOTE_WRITE
#define ALL	(L | LW | M | MW)

static const struct row rows[] = {
	{ "a page", 0, 0, PAGE, ALL, 0, 1 },
	{ "a byte", 0, 0, 1, ALL, 0, 1 },
	{ "last byte of a page", 0, PAGE - 1, 1, ALL, 0, 1 },
	{ "two bytes of two pages", 0, PAGE - 1, 2, ALL, 0, 2 },
	{ "odd start and end", 0, 77, 3 * PAGE, ALL, 0, 4 },
	{ "all up to the hole", 0, 0, 4 * PAGE, ALL, 0, 4 },
	{ "each access alone: local read", 0, 0, PAGE, L, 0, 1 },
	{ "each access alone: local write", 0, 0, PAGE, LW, 0, 1 },
	{ "each access alone: remote read", 0, 0, PAGE, M, 0, 1 },
	{ "each access alone: remote write", 0, 0, PAGE, MW, 0, 1 },

	{ "the hole", HOLE, 0, PAGE, ALL, -EFAULT, 0 },
	{ "a byte of the hole", HOLE, 9, 1, L, -EFAULT, 0 },
	{ "into the hole", 0, 0, 4 * PAGE + 1, ALL, -EFAULT, 0 },
	{ "out of the hole", HOLE, PAGE - 1, 2, ALL, -EFAULT, 0 },
	{ "over the hole", 2, 0, 5 * PAGE, ALL, -EFAULT, 0 },

	{ "read-only, local read", READ_ONLY, 0, 2 * PAGE, L, 0, 2 },
	{ "read-only, remote read", READ_ONLY, 0, 2 * PAGE, M, 0, 2 },
	{ "read-only, both reads", READ_ONLY, 5, PAGE, L | M, 0, 2 },
	{ "read-only, local write", READ_ONLY, 0, PAGE, LW, -EFAULT, 0 },
	{ "read-only, remote write", READ_ONLY, 0, PAGE, MW, -EFAULT, 0 },
	{ "read-only, all", READ_ONLY, 0, PAGE, ALL, -EFAULT, 0 },
	{ "into read-only, read", 7, 0, 2 * PAGE, L | M, 0, 2 },
	{ "into read-only, write", 7, 0, PAGE + 1, L | LW, -EFAULT, 0 },

	{ "no access, local read", NO_ACCESS, 0, PAGE, L, -EFAULT, 0 },
	{ "no access, remote write", NO_ACCESS, 0, PAGE, MW, -EFAULT, 0 },
	{ "over no access", READ_ONLY, 0, 4 * PAGE, L, -EFAULT, 0 },
};

TEST_F_TIMEOUT(mem, table, SLOW)
{
	const struct row *row;
	struct te_ioc_stats s;
	uint32_t mr;
	size_t i;

	for (i = 0; i < ROWS(rows); i++) {
		row = &rows[i];
		EXPECT_ROW(row->want,
			   raw_mr(self->r.fd,
				  self->map + row->page * PAGE + row->off,
				  row->len, row->access, &mr), "%s", row->desc);
		ASSERT_EQ(0, te_stats(&s));
		EXPECT_ROW(row->pages, s.pinned_pages, "%s", row->desc);
		EXPECT_ROW(row->pages * 4, te_vm_pin_kib(), "%s", row->desc);
		EXPECT_ROW(!row->want, s.mrs, "%s", row->desc);
		if (!row->want)
			EXPECT_ROW(0, raw_unmr(self->r.fd, mr, 0), "%s",
				   row->desc);
		EXPECT_ROW(0, te_settle_to(&self->base), "%s", row->desc);
		EXPECT_ROW(0, te_vm_pin_kib(), "%s", row->desc);
	}
}

/* Numbers that are no addresses of ours. */
TEST_F_TIMEOUT(mem, numbers, SLOW)
{
	const uint64_t good = (uintptr_t)self->map;
	const struct {
		const char *desc;
		uint64_t addr, len;
		int want, want2;
	} table[] = {
		{ "nothing", good, 0, -EINVAL, -EINVAL },
		{ "nothing at 0", 0, 0, -EINVAL, -EINVAL },
		{ "page 0", 0, PAGE, -EFAULT, -EFAULT },
		{ "wraps", ~0ULL - PAGE + 1, 2 * PAGE, -EOVERFLOW, -EOVERFLOW },
		{ "wraps by length", good, ~0ULL, -EOVERFLOW, -EOVERFLOW },
		{ "wraps to 0", ~0ULL, 1, -EOVERFLOW, -EFAULT },
		{ "wraps when rounded to pages", ~0ULL - 10, 5, -EOVERFLOW,
		  -EFAULT },
		{ "2^60 bytes", good, 1ULL << 60, -EFAULT, -ENOMEM },
		{ "2^47 bytes", good, 1ULL << 47, -EFAULT, -ENOMEM },
		{ "2^44 bytes", good, 1ULL << 44, -EFAULT, -ENOMEM },
		{ "all addresses but one", 0, ~0ULL, -EFAULT, -ENOMEM },
		{ "kernel", 0xffff888000000000ULL, PAGE, -EFAULT, -EFAULT },
		{ "into the kernel", 0x7fffffffe000ULL, 1ULL << 30, -EFAULT,
		  -ENOMEM },
		{ "no canonical address", 1ULL << 63, PAGE, -EFAULT, -EFAULT },
		{ "vsyscall", 0xffffffffff600000ULL, PAGE, -EFAULT, -EFAULT },
	};
	size_t i;
	int ret;

	for (i = 0; i < ROWS(table); i++) {
		struct te_ioc_mr_register a = {
			.size = sizeof(a),
			.addr = table[i].addr,
			.length = table[i].len,
			.access = L,
		};

		ret = raw_ioctl(self->r.fd, TE_IOC_MR_REGISTER, &a);
		EXPECT_ROW(true, ret == table[i].want || ret == table[i].want2,
			   "%s: %d, not %d", table[i].desc, ret,
			   table[i].want);
		EXPECT_ROW(0, te_settle_to(&self->base), "%s", table[i].desc);
		EXPECT_ROW(0, te_vm_pin_kib(), "%s", table[i].desc);
	}
}

/* Nothing of te's may be written through te: its status slots are read-only. */
TEST_F(mem, own_areas)
{
	void *slots = (void *)self->r.slots;

	EXPECT_EQ(-EFAULT, raw_mr(self->r.fd, slots, PAGE, LW, NULL));
	EXPECT_EQ(-EFAULT, raw_mr(self->r.fd, slots, PAGE, MW, NULL));
	EXPECT_EQ(0, te_settle_to(&self->base));
}

/* Regions come and go; counts and ids do not run away. */
TEST_F_TIMEOUT(mem, many_times, SLOW)
{
	uint32_t mr, last = 0;
	int i;

	for (i = 0; i < 10000; i++) {
		ASSERT_EQ(0, raw_mr(self->r.fd, self->map, 4 * PAGE, ALL, &mr));
		ASSERT_NE(last, mr) {
			TH_LOG("id %u came back at once", mr);
		}
		last = mr;
		ASSERT_EQ(0, raw_unmr(self->r.fd, mr, 0));
	}
	EXPECT_EQ(0, te_settle_to(&self->base));
}

/* What is still registered at close goes with it. */
TEST_F_TIMEOUT(mem, close_returns_all, SLOW)
{
	char *map = mmap(NULL, 8 << 20, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct te_ioc_stats s;
	struct raw r;
	int i;

	ASSERT_NE(MAP_FAILED, map);
	ASSERT_EQ(0, raw_open(&r, 0, 0));
	for (i = 0; i < 100; i++)
		MUST(raw_mr(r.fd, map + i * 20 * PAGE, 9 * PAGE, ALL, NULL));
	ASSERT_EQ(0, te_stats(&s));
	EXPECT_EQ(100, s.mrs);
	EXPECT_EQ(900, s.pinned_pages);
	raw_close(&r);
	EXPECT_EQ(0, te_settle_to(&self->base));
	EXPECT_EQ(0, te_vm_pin_kib());
}

TEST_HARNESS_MAIN

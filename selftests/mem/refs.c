// SPDX-License-Identifier: GPL-2.0-only
/*
 * The same range again is the same region with one more reference; anything
 * that overlaps otherwise is refused. Ids that are gone stay gone.
 */
#include <pthread.h>
#include <sys/mman.h>

#include "lib/test.h"

#define L	TE_LOCAL_READ
#define LW	TE_LOCAL_WRITE
#define M	TE_REMOTE_READ
#define SIZE	(256 * KIB)

FIXTURE(refs)
{
	struct raw r;
	struct te_ioc_stats base;
	char *map;
};

FIXTURE_SETUP(refs)
{
	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, raw_open(&self->r, 0, 0));
	ASSERT_EQ(0, te_stats(&self->base));
	self->map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->map);
}

FIXTURE_TEARDOWN(refs)
{
	raw_close(&self->r);
	CLEAN();
}

TEST_F(refs, duplicate)
{
	struct te_ioc_stats s;
	uint32_t a, b, c;

	ASSERT_EQ(0, raw_mr(self->r.fd, self->map, 10000, L | M, &a));
	ASSERT_EQ(0, raw_mr(self->r.fd, self->map, 10000, L | M, &b));
	ASSERT_EQ(0, raw_mr(self->r.fd, self->map, 10000, L | M, &c));
	EXPECT_EQ(a, b);
	EXPECT_EQ(a, c);
	ASSERT_EQ(0, te_stats(&s));
	EXPECT_EQ(1, s.mrs);
	EXPECT_EQ(3, s.pinned_pages);
	EXPECT_EQ(12, te_vm_pin_kib());

	EXPECT_EQ(0, raw_unmr(self->r.fd, a, 0));
	EXPECT_EQ(0, raw_unmr(self->r.fd, a, 0));
	ASSERT_EQ(0, te_stats(&s));
	EXPECT_EQ(3, s.pinned_pages);
	EXPECT_EQ(0, raw_unmr(self->r.fd, a, 0));
	EXPECT_EQ(-ENOENT, raw_unmr(self->r.fd, a, 0));
	EXPECT_EQ(-ENOENT, raw_unmr(self->r.fd, a, TE_FORCE));
	EXPECT_EQ(0, te_settle_to(&self->base));
	EXPECT_EQ(0, te_vm_pin_kib());

	ASSERT_EQ(0, raw_mr(self->r.fd, self->map, 10000, L | M, &b));
	EXPECT_NE(a, b);
}

/* All is done when the last unregister returns, not some time after. */
TEST_F_TIMEOUT(refs, at_once, SLOW)
{
	struct te_ioc_stats s;
	uint32_t mr;
	int i;

	for (i = 0; i < 300; i++) {
		ASSERT_EQ(0, raw_mr(self->r.fd, self->map, SIZE, L | M, &mr));
		ASSERT_EQ(0, raw_unmr(self->r.fd, mr, 0));
		ASSERT_EQ(0, te_stats(&s));
		ASSERT_EQ(0, s.mrs);
		ASSERT_EQ(0, s.pinned_pages);
		ASSERT_EQ(0, te_vm_pin_kib());
	}
}

struct row {
	const char *desc;
	size_t off, len;
	uint32_t access;
	int want;
};

/* Beside a region of 64 KiB at 64 KiB, local read. */
static const struct row rows[] = {
	{ "other access", 64 * KIB, 64 * KIB, L | LW, -EEXIST },
	{ "more access", 64 * KIB, 64 * KIB, LW, -EEXIST },
	{ "a byte less", 64 * KIB, 64 * KIB - 1, L, -EEXIST },
	{ "a byte more", 64 * KIB, 64 * KIB + 1, L, -EEXIST },
	{ "a byte later", 64 * KIB + 1, 64 * KIB - 1, L, -EEXIST },
	{ "inside", 80 * KIB, 4 * KIB, L, -EEXIST },
	{ "around", 0, SIZE, L, -EEXIST },
	{ "first byte", 0, 64 * KIB + 1, L, -EEXIST },
	{ "last byte", 128 * KIB - 1, 10, L, -EEXIST },
	{ "one byte inside", 100 * KIB, 1, L, -EEXIST },
	{ "up to it", 10, 64 * KIB - 10, L, 0 },
	{ "from its end", 128 * KIB, 1, L, 0 },
	{ "far away", 200 * KIB, 4096, LW, 0 },
};

TEST_F_TIMEOUT(refs, overlap, SLOW)
{
	struct te_ioc_stats s;
	uint32_t first, mr;
	size_t i;

	ASSERT_EQ(0, raw_mr(self->r.fd, self->map + 64 * KIB, 64 * KIB, L,
			    &first));
	ASSERT_EQ(0, te_stats(&s));
	for (i = 0; i < ROWS(rows); i++) {
		EXPECT_ROW(rows[i].want,
			   raw_mr(self->r.fd, self->map + rows[i].off,
				  rows[i].len, rows[i].access, &mr), "%s",
			   rows[i].desc);
		if (!rows[i].want)
			EXPECT_EQ(0, raw_unmr(self->r.fd, mr, 0));
		EXPECT_ROW(0, te_settle_to(&s), "%s", rows[i].desc);
	}
	EXPECT_EQ(0, raw_unmr(self->r.fd, first, 0));
}

TEST_F(refs, other_base)
{
	struct te_ioc_mr_register a = {
		.size = sizeof(a),
		.flags = TE_MR_BASE,
		.addr = (uintptr_t)self->map,
		.length = 4096,
		.access = M,
		.base = 1 << 20,
	};
	uint32_t first;

	ASSERT_EQ(0, raw_ioctl(self->r.fd, TE_IOC_MR_REGISTER, &a));
	first = a.mr;
	a.mr = 0;
	ASSERT_EQ(0, raw_ioctl(self->r.fd, TE_IOC_MR_REGISTER, &a));
	EXPECT_EQ(first, a.mr);
	a.mr = 0;
	a.base = 2 << 20;
	EXPECT_EQ(-EEXIST, raw_ioctl(self->r.fd, TE_IOC_MR_REGISTER, &a));
	EXPECT_EQ(-EEXIST, raw_mr(self->r.fd, self->map, 4096, M, NULL));
	/* Two regions that peers could not tell apart. */
	a.addr += 8192;
	a.base = 1 << 20;
	EXPECT_EQ(-EEXIST, raw_ioctl(self->r.fd, TE_IOC_MR_REGISTER, &a));
}

struct racer {
	int fd, errors;
	char *map;
	pthread_barrier_t *start;
};

static void *race(void *arg)
{
	struct racer *r = arg;
	uint32_t mr;
	int i;

	pthread_barrier_wait(r->start);
	for (i = 0; i < 1000; i++) {
		if (raw_mr(r->fd, r->map, 5 * 4096, L | M, &mr))
			r->errors++;
		else if (raw_unmr(r->fd, mr, 0))
			r->errors++;
	}
	return NULL;
}

/* Each registration finds the region, or makes it; none fails. */
TEST_F_TIMEOUT(refs, threads_on_one_range, SLOW)
{
	pthread_barrier_t start;
	pthread_t t[3];
	struct racer r = { self->r.fd, 0, self->map, &start };
	struct racer each[3] = { r, r, r };
	int i;

	pthread_barrier_init(&start, NULL, 3);
	for (i = 0; i < 3; i++)
		MUST(pthread_create(&t[i], NULL, race, &each[i]));
	for (i = 0; i < 3; i++) {
		pthread_join(t[i], NULL);
		EXPECT_EQ(0, each[i].errors);
	}
	EXPECT_EQ(0, te_settle_to(&self->base));
	EXPECT_EQ(0, te_vm_pin_kib());
}

/* Contexts of one process are strangers: each has its own regions and pins. */
TEST_F(refs, two_contexts)
{
	struct te_ioc_stats s;
	struct raw other;
	uint32_t a, b;

	ASSERT_EQ(0, raw_open(&other, 0, 0));
	ASSERT_EQ(0, raw_mr(self->r.fd, self->map, 8192, L, &a));
	ASSERT_EQ(0, raw_mr(other.fd, self->map, 4096, LW, &b));
	ASSERT_EQ(0, te_stats(&s));
	EXPECT_EQ(2, s.mrs);
	EXPECT_EQ(3, s.pinned_pages);
	raw_close(&other);
	EXPECT_EQ(0, te_settle_one(__builtin_offsetof(struct te_ioc_stats,
						      pinned_pages), 2, 30000));
	EXPECT_EQ(0, raw_unmr(self->r.fd, a, 0));
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0-only
/*
 * The two mapped areas: which offsets, lengths and protections are accepted,
 * that the status area stays read-only whatever is tried, and that they live as
 * long as they are mapped.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/test.h"

FIXTURE(areas)
{
	struct raw r;
};

FIXTURE_SETUP(areas)
{
	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, raw_open(&self->r, 256, 1024));
}

FIXTURE_TEARDOWN(areas)
{
	raw_close(&self->r);
	CLEAN();
}

#define S TE_MMAP_STATUS
#define R TE_MMAP_RING
#define RW (PROT_READ | PROT_WRITE)

struct row {
	const char *desc;
	uint64_t offset;
	long more;	/* than the area's length */
	int prot, flags;
	int want, want2;
};

static const struct row rows[] = {
	{ "status", S, 0, PROT_READ, MAP_SHARED, 0, 0 },
	{ "ring", R, 0, RW, MAP_SHARED, 0, 0 },
	{ "status, to be written", S, 0, RW, MAP_SHARED, -EACCES, -EPERM },
	{ "status, writable only", S, 0, PROT_WRITE, MAP_SHARED,
	  -EACCES, -EPERM },
	{ "status, to be run", S, 0, PROT_READ | PROT_EXEC, MAP_SHARED,
	  -EPERM, -EPERM },
	{ "ring, to be run", R, 0, RW | PROT_EXEC, MAP_SHARED, -EPERM, -EPERM },
	{ "status, private", S, 0, PROT_READ, MAP_PRIVATE, -EINVAL, -EINVAL },
	{ "ring, private", R, 0, RW, MAP_PRIVATE, -EINVAL, -EINVAL },
	{ "status, a page more", S, 4096, PROT_READ, MAP_SHARED,
	  -EINVAL, -EINVAL },
	{ "status, a page less", S, -4096, PROT_READ, MAP_SHARED,
	  -EINVAL, -EINVAL },
	{ "ring, a page more", R, 4096, RW, MAP_SHARED, -EINVAL, -EINVAL },
	{ "ring, a page less", R, -4096, RW, MAP_SHARED, -EINVAL, -EINVAL },
	{ "ring, 1 MiB more", R, 1 << 20, RW, MAP_SHARED, -EINVAL, -EINVAL },
	{ "second page of the status area", S + 4096, 0, PROT_READ,
	  MAP_SHARED, -EINVAL, -EINVAL },
	{ "second page of the ring", R + 4096, -4096, RW, MAP_SHARED,
	  -EINVAL, -EINVAL },
	{ "between the areas", R - 4096, 0, PROT_READ, MAP_SHARED,
	  -EINVAL, -EINVAL },
	{ "behind the areas", 2 * R, 0, PROT_READ, MAP_SHARED,
	  -EINVAL, -EINVAL },
	{ "far behind the areas", 1ULL << 40, 0, PROT_READ, MAP_SHARED,
	  -EINVAL, -EINVAL },
};

static int try(int fd, size_t len, uint64_t offset, int prot, int flags)
{
	void *p = mmap64(NULL, len, prot, flags, fd, offset);
	int ret = p == MAP_FAILED ? -errno : 0;

	if (!ret)
		munmap(p, len);
	return ret;
}

TEST_F_TIMEOUT(areas, table, SLOW)
{
	const struct row *row;
	size_t i, len;
	int ret;

	for (i = 0; i < ROWS(rows); i++) {
		row = &rows[i];
		len = (row->offset >= R ? self->r.setup.ring_bytes :
		       self->r.setup.status_bytes) + row->more;
		ret = try(self->r.fd, len, row->offset, row->prot, row->flags);
		EXPECT_ROW(true, ret == row->want || ret == row->want2,
			   "%s: %d", row->desc, ret);
	}
}

TEST_F(areas, before_setup)
{
	int fd = open(TE_DEVICE, O_RDWR | O_CLOEXEC);
	int ret;

	ASSERT_LE(0, fd);
	ret = try(fd, 4096, S, PROT_READ, MAP_SHARED);
	EXPECT_TRUE(ret == -ENXIO || ret == -EINVAL);
	ret = try(fd, 4096, R, RW, MAP_SHARED);
	EXPECT_TRUE(ret == -ENXIO || ret == -EINVAL);
	close(fd);
}

TEST_F(areas, status_stays_read_only)
{
	void *p = (void *)self->r.slots;
	size_t len = self->r.setup.status_bytes;

	EXPECT_EQ(-1, mprotect(p, len, RW));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-1, mprotect(p, len, PROT_READ | PROT_EXEC));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-1, mprotect(self->r.ring, self->r.setup.ring_bytes,
			       RW | PROT_EXEC));
	EXPECT_EQ(EACCES, errno);
	/* Memory of the kernel's is nothing to read a file into either. */
	EXPECT_EQ(-1, pread(open("/proc/self/exe", O_RDONLY | O_CLOEXEC), p, 16,
			    0));
	EXPECT_EQ(EFAULT, errno);
	/* Nor by the way a debugger writes. */
	EXPECT_GE(0, pwrite(open("/proc/self/mem", O_RDWR | O_CLOEXEC), "x", 1,
			    (off_t)(uintptr_t)p));
	EXPECT_EQ(0, self->r.slots[0].state);
}

TEST_F(areas, does_not_grow)
{
	void *p = mremap(self->r.ring, self->r.setup.ring_bytes,
			 self->r.setup.ring_bytes + 65536, MREMAP_MAYMOVE);

	EXPECT_EQ(MAP_FAILED, p);
}

/* A second mapping shows the same; each outlives the other and the file. */
TEST_F(areas, mapped_twice)
{
	size_t len = self->r.setup.ring_bytes;
	struct te_ring_hdr *again;

	again = mmap64(NULL, len, RW, MAP_SHARED, self->r.fd, R);
	ASSERT_NE(MAP_FAILED, (void *)again);
	again->reserved0[0] = 77;
	EXPECT_EQ(77, self->r.ring->reserved0[0]);
	munmap(self->r.ring, len);
	self->r.ring = NULL;
	close(self->r.fd);
	self->r.fd = -1;
	EXPECT_EQ(77, again->reserved0[0]);
	/* The mapping keeps the context. */
	EXPECT_EQ(0, te_settle_one(__builtin_offsetof(struct te_ioc_stats,
						      contexts), 1, 30000));
	munmap(again, len);
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0-only
/*
 * RLIMIT_MEMLOCK, as an ordinary user: what is over it is refused with ENOMEM and
 * leaves nothing charged, to the page; what is given back can be used again.
 */
#include <fcntl.h>
#include <grp.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/test.h"

#define LIMIT	(1 << 20)
#define PAGE	4096
#define NOBODY	65534

FIXTURE(limit)
{
	struct raw r;
	char *map;
	mode_t mode;
};

FIXTURE_SETUP(limit)
{
	struct rlimit lim = { LIMIT, LIMIT };
	struct stat st;

	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, stat(TE_DEVICE, &st));
	self->mode = st.st_mode & 0777;
	ASSERT_EQ(0, chmod(TE_DEVICE, 0666));
	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &lim));
	ASSERT_EQ(0, setgroups(0, NULL));
	ASSERT_EQ(0, setresgid(NOBODY, NOBODY, NOBODY));
	/* The saved id stays root's, to put the mode back. */
	ASSERT_EQ(0, setresuid(NOBODY, NOBODY, 0));
	ASSERT_EQ(0, raw_open(&self->r, 16, 16));
	self->map = mmap(NULL, 4 * LIMIT, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->map);
}

FIXTURE_TEARDOWN(limit)
{
	raw_close(&self->r);
	EXPECT_EQ(0, setresuid(0, 0, 0));
	CLEAN();
	EXPECT_EQ(0, chmod(TE_DEVICE, self->mode));
}

static int reg(struct raw *r, char *at, size_t len, uint32_t *mr)
{
	return raw_mr(r->fd, at, len, TE_LOCAL_READ | TE_LOCAL_WRITE, mr);
}

TEST_F_TIMEOUT(limit, exact, SLOW)
{
	uint32_t all, more;

	EXPECT_EQ(-ENOMEM, reg(&self->r, self->map, LIMIT + 1, &all));
	EXPECT_EQ(0, te_vm_pin_kib());
	EXPECT_EQ(-ENOMEM, reg(&self->r, self->map, 4 * LIMIT, &all));
	EXPECT_EQ(0, te_vm_pin_kib());
	/* Pages count, not bytes: an odd start takes one more. */
	EXPECT_EQ(-ENOMEM, reg(&self->r, self->map + 1, LIMIT, &all));
	EXPECT_EQ(0, te_vm_pin_kib());

	ASSERT_EQ(0, reg(&self->r, self->map, LIMIT, &all));
	EXPECT_EQ(LIMIT / 1024, te_vm_pin_kib());
	EXPECT_EQ(-ENOMEM, reg(&self->r, self->map + LIMIT, 1, &more));
	EXPECT_EQ(LIMIT / 1024, te_vm_pin_kib());
	EXPECT_EQ(0, raw_unmr(self->r.fd, all, 0));
	EXPECT_EQ(0, te_vm_pin_kib());
	EXPECT_EQ(0, reg(&self->r, self->map + LIMIT, LIMIT, &all));
	EXPECT_EQ(0, raw_unmr(self->r.fd, all, 0));
}

TEST_F_TIMEOUT(limit, in_parts, SLOW)
{
	uint32_t mr[2], more;
	size_t half = LIMIT / 2;

	ASSERT_EQ(0, reg(&self->r, self->map, half, &mr[0]));
	ASSERT_EQ(0, reg(&self->r, self->map + LIMIT, half, &mr[1]));
	EXPECT_EQ(-ENOMEM, reg(&self->r, self->map + 2 * LIMIT, PAGE, &more));
	/* A second reference costs nothing. */
	EXPECT_EQ(0, reg(&self->r, self->map, half, &more));
	EXPECT_EQ(mr[0], more);
	EXPECT_EQ(0, raw_unmr(self->r.fd, mr[0], 0));
	EXPECT_EQ(-ENOMEM, reg(&self->r, self->map + 2 * LIMIT, PAGE, &more));
	EXPECT_EQ(0, raw_unmr(self->r.fd, mr[0], 0));
	EXPECT_EQ(0, reg(&self->r, self->map + 2 * LIMIT, half, &more));
	EXPECT_EQ(-ENOMEM, reg(&self->r, self->map + 3 * LIMIT, PAGE, &more));
}

/* Failures for other reasons give back what they charged. */
TEST_F_TIMEOUT(limit, after_failures, SLOW)
{
	uint32_t mr;
	int i;

	munmap(self->map + LIMIT - PAGE, PAGE);
	for (i = 0; i < 20; i++)
		EXPECT_EQ(-EFAULT, reg(&self->r, self->map, LIMIT, &mr));
	EXPECT_EQ(0, te_vm_pin_kib());
	EXPECT_EQ(0, reg(&self->r, self->map + LIMIT, LIMIT, &mr));
}

TEST_F_TIMEOUT(limit, closing_gives_back, SLOW)
{
	int i;

	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, reg(&self->r, self->map, LIMIT, NULL));
		raw_close(&self->r);
		ASSERT_EQ(0, te_settle());
		ASSERT_EQ(0, raw_open(&self->r, 16, 16));
	}
}

TEST_HARNESS_MAIN

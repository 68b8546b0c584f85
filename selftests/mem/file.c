// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of files: what of it can be registered, and what becomes of registered
 * pages when the file is written to, cut, punched or sealed.
 */
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/test.h"
#include "lib/pair.h"

#define LEN	(64 * KIB)
#define RW	(PROT_READ | PROT_WRITE)

FIXTURE(file)
{
	struct pair p;
	struct te_ioc_stats base;
	unsigned char buf[LEN];
	int memfd;
};

FIXTURE_SETUP(file)
{
	struct pair_opts o = { .remote = 2 * LEN, .margin = ~0UL };

	ASSERT_EQ(0, te_settle());
	self->memfd = memfd_create("te", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	ASSERT_LE(0, self->memfd);
	ASSERT_EQ(0, ftruncate(self->memfd, LEN));
	ASSERT_EQ(0, pair_open(&self->p, &o));
	ASSERT_EQ(0, te_stats(&self->base));
}

FIXTURE_TEARDOWN(file)
{
	pair_close(&self->p);
	close(self->memfd);
	CLEAN();
}

static unsigned char *map(int fd, int prot, int flags)
{
	return mmap(NULL, LEN, prot, flags, fd, 0);
}

static int reg(struct pair *p, void *mem, uint32_t access, uint32_t *mr)
{
	return te_mr_register(p->ini, mem, LEN, access, NULL, mr);
}

/* Writes a pattern with write(2), not through a mapping. */
static int put(int fd, unsigned char *buf, uint64_t seed)
{
	pattern_fill(buf, LEN, seed);
	return pwrite(fd, buf, LEN, 0) == LEN ? 0 : -EIO;
}

/*
 * A file, all of it written with pattern @seed. The caller unlinks @path, a
 * template for mkstemp(), when it has mapped what it wants: 9p on 6.1 maps
 * nothing for writing that has no name.
 */
static int make_file(char *path, unsigned char *buf, uint64_t seed)
{
	int fd = mkstemp(path);

	return fd < 0 || put(fd, buf, seed) ? -1 : fd;
}

/*
 * What te pins of a private mapping is the process's own, at once, as if it had
 * written to it: later changes of the file are not seen.
 */
TEST_F_TIMEOUT(file, private, SLOW)
{
	char path[] = "/tmp/te-XXXXXX";
	int fd = make_file(path, self->buf, 1);
	unsigned char *mem;
	uint32_t mr;

	unlink(path);
	ASSERT_LE(0, fd);
	mem = map(fd, PROT_READ, MAP_PRIVATE);
	ASSERT_NE(MAP_FAILED, (void *)mem);
	ASSERT_EQ(-1, pattern_check(mem, LEN, 1));
	ASSERT_EQ(0, reg(&self->p, mem, TE_LOCAL_READ, &mr));
	ASSERT_EQ(0, put(fd, self->buf, 2));
	EXPECT_EQ(-1, pattern_check(mem, LEN, 1));
	EXPECT_EQ(0, pair_move(&self->p, TE_WRITE, mem, 0, LEN));
	EXPECT_EQ(-1, pattern_check(self->p.remote.p, LEN, 1));
	ASSERT_EQ(0, te_mr_unregister(self->p.ini, mr, 0));
	munmap(mem, LEN);

	/* Written to by te, and not the file. */
	mem = map(fd, RW, MAP_PRIVATE);
	ASSERT_NE(MAP_FAILED, (void *)mem);
	EXPECT_EQ(0, pair_use(&self->p, mem, LEN));
	ASSERT_EQ(LEN, pread(fd, self->buf, LEN, 0));
	EXPECT_EQ(-1, pattern_check(self->buf, LEN, 2));
	munmap(mem, LEN);
	close(fd);
	EXPECT_EQ(0, te_settle_to(&self->base));
}

/* One page for all who have it: te, mappings, read(2) and write(2). */
TEST_F_TIMEOUT(file, shared, SLOW)
{
	char tmpfs[] = "/dev/shm/te-XXXXXX", overlay[] = "/tmp/te-XXXXXX";
	const struct {
		const char *desc;
		int fd;
	} rows[] = {
		{ "memfd", self->memfd },
		{ "tmpfs", make_file(tmpfs, self->buf, 1) },
		{ "overlay on tmpfs", make_file(overlay, self->buf, 1) },
	};
	unsigned char *mem;
	uint32_t mr;
	size_t i;

	unlink(tmpfs);
	unlink(overlay);
	for (i = 0; i < ROWS(rows); i++) {
		mem = map(rows[i].fd, RW, MAP_SHARED);
		ASSERT_NE(MAP_FAILED, (void *)mem);
		MUST(reg(&self->p, mem, TE_LOCAL_ALL, &mr));
		MUST(put(rows[i].fd, self->buf, 3));
		EXPECT_ROW(0, pair_move(&self->p, TE_WRITE, mem, 0, LEN), "%s",
			   rows[i].desc);
		EXPECT_ROW(-1, pattern_check(self->p.remote.p, LEN, 3), "%s",
			   rows[i].desc);
		EXPECT_ROW(0, pair_move(&self->p, TE_READ, mem, LEN, LEN), "%s",
			   rows[i].desc);
		ASSERT_EQ(LEN, pread(rows[i].fd, self->buf, LEN, 0));
		EXPECT_ROW(0, memcmp(self->buf, self->p.remote.p + LEN, LEN),
			   "%s", rows[i].desc);
		MUST(te_mr_unregister(self->p.ini, mr, 0));
		munmap(mem, LEN);
		if (i)
			close(rows[i].fd);
	}
}

/*
 * A file that is written back to a disk or a server: a source like any other.
 * Writing to its pages behind the back of the file system loses data, so that
 * is refused, by kernels that can tell: since 6.5.
 */
TEST_F_TIMEOUT(file, written_back, SLOW)
{
	char path[] = "build/te-XXXXXX";
	int fd = make_file(path, self->buf, 5);
	int ro = open(path, O_RDONLY | O_CLOEXEC);
	const char *kernel = getenv("TE_KERNEL");
	unsigned char *mem, *rw;
	uint32_t mr;
	int want;

	mem = map(ro, PROT_READ, MAP_SHARED);
	rw = map(fd, RW, MAP_SHARED);
	unlink(path);
	ASSERT_NE(MAP_FAILED, (void *)mem);
	ASSERT_NE(MAP_FAILED, (void *)rw);
	EXPECT_EQ(-EFAULT, reg(&self->p, mem, TE_LOCAL_WRITE, &mr));
	ASSERT_EQ(0, reg(&self->p, mem, TE_LOCAL_READ, &mr));
	EXPECT_EQ(0, pair_move(&self->p, TE_WRITE, mem, 0, LEN));
	EXPECT_EQ(-1, pattern_check(self->p.remote.p, LEN, 5));
	ASSERT_EQ(0, te_mr_unregister(self->p.ini, mr, 0));
	munmap(mem, LEN);
	close(ro);

	want = kernel && !strcmp(kernel, "6.1") ? 0 : -EOPNOTSUPP;
	EXPECT_EQ(want, reg(&self->p, rw, TE_LOCAL_WRITE, &mr));
	EXPECT_EQ(want, reg(&self->p, rw, TE_LOCAL_WRITE, &mr));
	if (want)
		EXPECT_EQ(0, te_settle_to(&self->base));
	munmap(rw, LEN);
	close(fd);
}

/* A hole is filled when it is pinned, and the file has the pages te has. */
TEST_F_TIMEOUT(file, holes, SLOW)
{
	unsigned char *mem = map(self->memfd, RW, MAP_SHARED);
	uint32_t mr;

	ASSERT_EQ(0, reg(&self->p, mem, TE_LOCAL_READ, &mr));
	ASSERT_EQ(0, put(self->memfd, self->buf, 6));
	EXPECT_EQ(0, pair_move(&self->p, TE_WRITE, mem, 0, LEN));
	EXPECT_EQ(-1, pattern_check(self->p.remote.p, LEN, 6));
	ASSERT_EQ(0, te_mr_unregister(self->p.ini, mr, 0));

	/* Punched while registered: the file has zeroes, te its pages. */
	ASSERT_EQ(0, reg(&self->p, mem, TE_LOCAL_ALL, &mr));
	ASSERT_EQ(0, fallocate(self->memfd,
			       FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
			       LEN));
	EXPECT_EQ(0, mem[LEN / 2]);
	memset(self->p.remote.p, 0, LEN);
	EXPECT_EQ(0, pair_move(&self->p, TE_WRITE, mem, 0, LEN));
	EXPECT_EQ(-1, pattern_check(self->p.remote.p, LEN, 6));
	EXPECT_EQ(0, pair_move(&self->p, TE_READ, mem, LEN, LEN));
	memset(self->buf, 0, LEN);
	EXPECT_EQ(0, memcmp(mem, self->buf, LEN));
	ASSERT_EQ(0, te_mr_unregister(self->p.ini, mr, 0));
	munmap(mem, LEN);
}

TEST_F_TIMEOUT(file, truncated, SLOW)
{
	unsigned char *mem = map(self->memfd, RW, MAP_SHARED);
	uint32_t mr;

	ASSERT_EQ(0, put(self->memfd, self->buf, 7));
	ASSERT_EQ(0, reg(&self->p, mem, TE_LOCAL_ALL, &mr));
	ASSERT_EQ(0, ftruncate(self->memfd, 0));
	EXPECT_EQ(0, pair_move(&self->p, TE_WRITE, mem, 0, LEN));
	EXPECT_EQ(-1, pattern_check(self->p.remote.p, LEN, 7));
	EXPECT_EQ(0, pair_move(&self->p, TE_READ, mem, LEN, LEN));
	ASSERT_EQ(0, te_mr_unregister(self->p.ini, mr, 0));
	/* Behind the end of the file there is nothing to pin. */
	EXPECT_EQ(-EFAULT, reg(&self->p, mem, TE_LOCAL_ALL, &mr));
	EXPECT_EQ(-EFAULT, reg(&self->p, mem, TE_LOCAL_READ, &mr));
	ASSERT_EQ(0, ftruncate(self->memfd, LEN / 2));
	EXPECT_EQ(-EFAULT, reg(&self->p, mem, TE_LOCAL_ALL, &mr));
	EXPECT_EQ(0, te_settle_to(&self->base));
	/* What comes back is new. */
	ASSERT_EQ(0, ftruncate(self->memfd, LEN));
	memset(self->buf, 0, LEN);
	EXPECT_EQ(0, memcmp(mem, self->buf, LEN));
	EXPECT_EQ(0, pair_use(&self->p, mem, LEN));
	munmap(mem, LEN);
}

/*
 * A file cannot be sealed against writing while te may write to it, mapped or
 * not; the other seals are none of te's business.
 */
TEST_F_TIMEOUT(file, sealed_while_registered, SLOW)
{
	const int others = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE;
	unsigned char *mem = map(self->memfd, RW, MAP_SHARED);
	uint32_t mr;

	ASSERT_EQ(0, put(self->memfd, self->buf, 8));
	ASSERT_EQ(0, reg(&self->p, mem, TE_LOCAL_ALL, &mr));
	EXPECT_EQ(-1, fcntl(self->memfd, F_ADD_SEALS, F_SEAL_WRITE));
	EXPECT_EQ(EBUSY, errno);
	ASSERT_EQ(0, munmap(mem, LEN));
	EXPECT_EQ(-1, fcntl(self->memfd, F_ADD_SEALS, F_SEAL_WRITE));
	EXPECT_EQ(EBUSY, errno);
	EXPECT_EQ(0, fcntl(self->memfd, F_ADD_SEALS, others));
	EXPECT_EQ(0, pair_move(&self->p, TE_WRITE, mem, 0, LEN));
	EXPECT_EQ(-1, pattern_check(self->p.remote.p, LEN, 8));
	EXPECT_EQ(0, pair_move(&self->p, TE_READ, mem, LEN, LEN));
	ASSERT_EQ(LEN, pread(self->memfd, self->buf, LEN, 0));
	EXPECT_EQ(0, memcmp(self->buf, self->p.remote.p + LEN, LEN));
	ASSERT_EQ(0, te_mr_unregister(self->p.ini, mr, 0));
	EXPECT_EQ(0, fcntl(self->memfd, F_ADD_SEALS, F_SEAL_WRITE));
}

/* A sealed file is a source, and nothing writes to it. */
TEST_F_TIMEOUT(file, sealed_before, SLOW)
{
	unsigned char *mem;
	char path[64];
	uint32_t mr;
	int ro;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", self->memfd);
	ro = open(path, O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, ro);
	ASSERT_EQ(0, put(self->memfd, self->buf, 9));
	ASSERT_EQ(0, fcntl(self->memfd, F_ADD_SEALS, F_SEAL_WRITE));
	mem = map(ro, PROT_READ, MAP_SHARED);
	ASSERT_NE(MAP_FAILED, (void *)mem);
	EXPECT_EQ(-EFAULT, reg(&self->p, mem, TE_LOCAL_WRITE, &mr));
	EXPECT_EQ(-EFAULT, reg(&self->p, mem, TE_REMOTE_WRITE, &mr));
	ASSERT_EQ(0, reg(&self->p, mem, TE_LOCAL_READ, &mr));
	EXPECT_EQ(0, pair_move(&self->p, TE_WRITE, mem, 0, LEN));
	EXPECT_EQ(-1, pattern_check(self->p.remote.p, LEN, 9));
	EXPECT_EQ(-EACCES, pair_move(&self->p, TE_READ, mem, LEN, LEN));
	ASSERT_EQ(0, te_mr_unregister(self->p.ini, mr, 0));
	munmap(mem, LEN);
	/* A private mapping of it is the process's own memory. */
	mem = map(self->memfd, RW, MAP_PRIVATE);
	ASSERT_NE(MAP_FAILED, (void *)mem);
	EXPECT_EQ(0, pair_use(&self->p, mem, LEN));
	ASSERT_EQ(LEN, pread(self->memfd, self->buf, LEN, 0));
	EXPECT_EQ(-1, pattern_check(self->buf, LEN, 9));
	munmap(mem, LEN);
	close(ro);
}

TEST_HARNESS_MAIN

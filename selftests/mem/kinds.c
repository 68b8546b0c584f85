// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kinds of memory that every kernel has, and what a process may do to its
 * address space while memory is registered. Each kind is source and target of a
 * transfer, so that it is not only pinned but the right pages are.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/test.h"
#include "lib/pair.h"

#define LEN	(256 * KIB)

FIXTURE(kinds)
{
	struct pair p;
};

FIXTURE_SETUP(kinds)
{
	struct pair_opts o = { .remote = 2 * LEN, .margin = ~0UL };

	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, pair_open(&self->p, &o));
}

FIXTURE_TEARDOWN(kinds)
{
	pair_close(&self->p);
	CLEAN();
}

static void *map(int fd, int prot, int flags)
{
	return mmap(NULL, LEN, prot, flags, fd, 0);
}

#define RW (PROT_READ | PROT_WRITE)

static unsigned char bss[LEN], initialised[LEN] = { 1 };

TEST_F_TIMEOUT(kinds, usual, SLOW)
{
	unsigned char stack[20000];
	char path[] = "/dev/shm/te-XXXXXX";
	int memfd = memfd_create("te", MFD_CLOEXEC);
	int file = mkstemp(path);

	ASSERT_LE(0, memfd);
	ASSERT_EQ(0, ftruncate(memfd, LEN));
	EXPECT_EQ(0, pair_use(&self->p, map(-1, RW, MAP_PRIVATE | MAP_ANONYMOUS),
			 LEN));
	EXPECT_EQ(0, pair_use(&self->p, map(-1, RW, MAP_SHARED | MAP_ANONYMOUS),
			 LEN));
	EXPECT_EQ(0, pair_use(&self->p, map(memfd, RW, MAP_SHARED), LEN));
	EXPECT_EQ(0, pair_use(&self->p, map(memfd, RW, MAP_PRIVATE), LEN));
	EXPECT_EQ(0, pair_use(&self->p, bss, LEN));
	EXPECT_EQ(0, pair_use(&self->p, initialised, LEN));
	EXPECT_EQ(0, pair_use(&self->p, stack, sizeof(stack)));
	if (file >= 0) {
		unlink(path);
		ASSERT_EQ(0, ftruncate(file, LEN));
		EXPECT_EQ(0, pair_use(&self->p, map(file, RW, MAP_SHARED), LEN));
		close(file);
	}
	close(memfd);
}

/* Never touched: pinning must give it pages of its own, not the zero page. */
TEST_F_TIMEOUT(kinds, untouched_source, SLOW)
{
	unsigned char *mem = map(-1, RW, MAP_PRIVATE | MAP_ANONYMOUS);
	uint32_t mr;

	ASSERT_EQ(0, te_mr_register(self->p.ini, mem, LEN, TE_LOCAL_READ, NULL,
				    &mr));
	pattern_fill(mem, LEN, 5);
	EXPECT_EQ(0, pair_move(&self->p, TE_WRITE, mem, 0, LEN));
	EXPECT_EQ(-1, pattern_check(self->p.remote.p, LEN, 5));
}

/* A file that may only be read is a source and nothing else. */
TEST_F_TIMEOUT(kinds, read_only_memfd, SLOW)
{
	int fd = memfd_create("te", MFD_CLOEXEC);
	unsigned char *rw, *ro;
	char path[64];
	uint32_t mr;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ftruncate(fd, LEN));
	rw = map(fd, RW, MAP_SHARED);
	pattern_fill(rw, LEN, 6);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ro = map(open(path, O_RDONLY | O_CLOEXEC), PROT_READ, MAP_SHARED);
	ASSERT_NE(MAP_FAILED, (void *)ro);
	EXPECT_EQ(-EFAULT, te_mr_register(self->p.ini, ro, LEN, TE_LOCAL_WRITE,
					  NULL, &mr));
	EXPECT_EQ(-EFAULT, te_mr_register(self->p.ini, ro, LEN,
					  TE_REMOTE_WRITE | TE_LOCAL_READ,
					  NULL, &mr));
	ASSERT_EQ(0, te_mr_register(self->p.ini, ro, LEN, TE_LOCAL_READ, NULL,
				    &mr));
	EXPECT_EQ(0, pair_move(&self->p, TE_WRITE, ro, 0, LEN));
	EXPECT_EQ(-1, pattern_check(self->p.remote.p, LEN, 6));
	EXPECT_EQ(-EACCES, pair_move(&self->p, TE_READ, ro, 0, LEN));
	close(fd);
}

/* Transfers go on using the pages that were pinned. */
TEST_F_TIMEOUT(kinds, munmap, SLOW)
{
	unsigned char *mem = map(-1, RW, MAP_PRIVATE | MAP_ANONYMOUS);
	unsigned char *again;
	uint32_t mr;

	pattern_fill(mem, LEN, 7);
	ASSERT_EQ(0, te_mr_register(self->p.ini, mem, LEN, TE_LOCAL_ALL, NULL,
				    &mr));
	ASSERT_EQ(0, munmap(mem, LEN));
	again = mmap(mem, LEN, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		     0);
	ASSERT_EQ(mem, again);
	pattern_fill(again, LEN, 8);
	EXPECT_EQ(0, pair_move(&self->p, TE_WRITE, mem, 0, LEN));
	EXPECT_EQ(-1, pattern_check(self->p.remote.p, LEN, 7));
	EXPECT_EQ(0, pair_move(&self->p, TE_READ, mem, LEN, LEN));
	EXPECT_EQ(-1, pattern_check(again, LEN, 8));
	ASSERT_EQ(0, te_mr_unregister(self->p.ini, mr, 0));
	/* Registered anew, the address means the new pages. */
	EXPECT_EQ(0, pair_use(&self->p, again, LEN));
}

TEST_F_TIMEOUT(kinds, address_space_games, SLOW)
{
	unsigned char *mem = map(-1, RW, MAP_SHARED | MAP_ANONYMOUS);
	unsigned char *moved;
	uint32_t mr;

	pattern_fill(mem, LEN, 9);
	ASSERT_EQ(0, te_mr_register(self->p.ini, mem, LEN, TE_LOCAL_ALL, NULL,
				    &mr));
	/* Without access now, but the pins were taken when there was. */
	ASSERT_EQ(0, mprotect(mem, LEN, PROT_NONE));
	EXPECT_EQ(0, pair_move(&self->p, TE_WRITE, mem, 0, LEN));
	EXPECT_EQ(-1, pattern_check(self->p.remote.p, LEN, 9));
	ASSERT_EQ(0, mprotect(mem, LEN, RW));
	/* Moved: the registered address stays the name of the pages. */
	moved = mremap(mem, LEN, LEN, MREMAP_MAYMOVE | MREMAP_FIXED,
		       map(-1, RW, MAP_PRIVATE | MAP_ANONYMOUS));
	ASSERT_NE(MAP_FAILED, (void *)moved);
	EXPECT_EQ(0, pair_move(&self->p, TE_READ, mem, LEN, LEN));
	EXPECT_EQ(0, memcmp(moved, self->p.remote.p + LEN, LEN));
	/* Dropped: a new page comes to the mapping, the old one stays te's. */
	memset(moved, 1, LEN);
	ASSERT_EQ(0, madvise(moved, LEN, MADV_REMOVE));
	EXPECT_EQ(0, moved[100]);
	EXPECT_EQ(0, pair_move(&self->p, TE_WRITE, mem, 0, LEN));
	EXPECT_EQ(1, self->p.remote.p[100]);
}

/* Thrown away: the process has zeroes now, and te the pages that were pinned. */
TEST_F_TIMEOUT(kinds, dontneed, SLOW)
{
	unsigned char *mem = map(-1, RW, MAP_PRIVATE | MAP_ANONYMOUS);
	uint32_t mr;

	pattern_fill(mem, LEN, 13);
	ASSERT_EQ(0, te_mr_register(self->p.ini, mem, LEN, TE_LOCAL_ALL, NULL,
				    &mr));
	ASSERT_EQ(0, madvise(mem, LEN, MADV_DONTNEED));
	EXPECT_EQ(0, mem[LEN / 2]);
	EXPECT_EQ(0, pair_move(&self->p, TE_WRITE, mem, 0, LEN));
	EXPECT_EQ(-1, pattern_check(self->p.remote.p, LEN, 13));
	memset(mem, 5, LEN);
	EXPECT_EQ(0, pair_move(&self->p, TE_READ, mem, LEN, LEN));
	EXPECT_EQ(5, mem[0]);
	EXPECT_EQ(0, memcmp(mem, mem + 1, LEN - 1));
	ASSERT_EQ(0, te_mr_unregister(self->p.ini, mr, 0));
	EXPECT_EQ(0, pair_use(&self->p, mem, LEN));
}

/* Access was looked at once: READs still arrive where the process sees them. */
TEST_F_TIMEOUT(kinds, read_only_later, SLOW)
{
	unsigned char *mem = map(-1, RW, MAP_PRIVATE | MAP_ANONYMOUS);
	uint32_t mr, other;

	memset(mem, 1, LEN);
	ASSERT_EQ(0, te_mr_register(self->p.ini, mem, LEN, TE_LOCAL_ALL, NULL,
				    &mr));
	ASSERT_EQ(0, mprotect(mem, LEN, PROT_READ));
	EXPECT_EQ(0, pair_move(&self->p, TE_READ, mem, LEN, LEN));
	EXPECT_EQ(0, memcmp(mem, self->p.remote.p + LEN, LEN));
	/* The same again is a reference and asks nothing; anew it is refused. */
	EXPECT_EQ(0, te_mr_register(self->p.ini, mem, LEN, TE_LOCAL_ALL, NULL,
				    &other));
	EXPECT_EQ(mr, other);
	ASSERT_EQ(0, te_mr_unregister(self->p.ini, mr, 0));
	ASSERT_EQ(0, te_mr_unregister(self->p.ini, mr, 0));
	EXPECT_EQ(-EFAULT, te_mr_register(self->p.ini, mem, LEN, TE_LOCAL_ALL,
					  NULL, &mr));
	EXPECT_EQ(-ERANGE, pair_move(&self->p, TE_WRITE, mem, 0, LEN));
}

/* One region over mappings of different kinds; bytes beside it stay. */
TEST_F_TIMEOUT(kinds, two_mappings, SLOW)
{
	unsigned char *mem = map(-1, RW, MAP_PRIVATE | MAP_ANONYMOUS);
	int fd = memfd_create("te", MFD_CLOEXEC);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ftruncate(fd, LEN));
	ASSERT_EQ(mem + LEN / 2, mmap(mem + LEN / 2, LEN / 2, RW,
				      MAP_SHARED | MAP_FIXED, fd, 0));
	memset(mem, 3, 100);
	memset(mem + LEN - 100, 4, 100);
	EXPECT_EQ(0, pair_use(&self->p, mem + 100, LEN - 200));
	EXPECT_EQ(3, mem[99]);
	EXPECT_EQ(4, mem[LEN - 100]);
	close(fd);
}

/* Memory that grows: the old part stays registered, the new one can be. */
TEST_F_TIMEOUT(kinds, grown, SLOW)
{
	unsigned char *mem = map(-1, RW, MAP_PRIVATE | MAP_ANONYMOUS);
	uint32_t mr, mr2;

	ASSERT_EQ(0, munmap(mem + LEN / 2, LEN / 2));
	ASSERT_EQ(0, te_mr_register(self->p.ini, mem, LEN / 2, TE_LOCAL_ALL,
				    NULL, &mr));
	ASSERT_EQ(mem, mremap(mem, LEN / 2, LEN, 0));
	pattern_fill(mem, LEN, 14);
	EXPECT_EQ(-ERANGE, pair_move(&self->p, TE_WRITE, mem, 0, LEN));
	EXPECT_EQ(-EEXIST, te_mr_register(self->p.ini, mem, LEN, TE_LOCAL_ALL,
					  NULL, &mr2));
	ASSERT_EQ(0, te_mr_register(self->p.ini, mem + LEN / 2, LEN / 2,
				    TE_LOCAL_ALL, NULL, &mr2));
	EXPECT_EQ(0, pair_move(&self->p, TE_WRITE, mem, 0, LEN));
	EXPECT_EQ(-1, pattern_check(self->p.remote.p, LEN, 14));
	EXPECT_EQ(0, pair_move(&self->p, TE_READ, mem, LEN, LEN));
	EXPECT_EQ(0, memcmp(mem, self->p.remote.p + LEN, LEN));
}

/* A child that shares the pages does not take them away by being there. */
TEST_F_TIMEOUT(kinds, fork_and_write, SLOW)
{
	unsigned char *mem = map(-1, RW, MAP_PRIVATE | MAP_ANONYMOUS);
	int status, pipefd[2];
	uint32_t mr;
	pid_t pid;
	char c;

	pattern_fill(mem, LEN, 10);
	ASSERT_EQ(0, te_mr_register(self->p.ini, mem, LEN, TE_LOCAL_ALL, NULL,
				    &mr));
	ASSERT_EQ(0, pipe(pipefd));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		close(pipefd[1]);
		memset(mem, 0, LEN);
		_exit(read(pipefd[0], &c, 1) ? 1 : 0);
	}
	pattern_fill(mem, LEN, 11);
	EXPECT_EQ(0, pair_move(&self->p, TE_WRITE, mem, 0, LEN));
	EXPECT_EQ(-1, pattern_check(self->p.remote.p, LEN, 11));
	EXPECT_EQ(0, pair_move(&self->p, TE_READ, mem, LEN, LEN));
	EXPECT_EQ(0, memcmp(mem, self->p.remote.p + LEN, LEN));
	close(pipefd[1]);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	pattern_fill(mem, LEN, 12);
	EXPECT_EQ(0, pair_move(&self->p, TE_WRITE, mem, 0, LEN));
	EXPECT_EQ(-1, pattern_check(self->p.remote.p, LEN, 12));
}

TEST_HARNESS_MAIN

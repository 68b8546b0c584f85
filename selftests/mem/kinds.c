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

static int run(struct pair *p, uint32_t op, void *mem, size_t ro, size_t len)
{
	struct te_request r = pair_req(p, op, 0, ro, len);
	struct te_status st = { .state = TE_INVALID };
	uint32_t batch;
	int ret;

	r.local_addr = (uintptr_t)mem;
	ret = te_batch_alloc(p->ini, 1, NULL, &batch);
	if (ret)
		return ret;
	ret = te_submit(p->ini, batch, &r, 1);
	if (!ret)
		ret = te_wait(p->ini, batch, TE_WAIT_MS);
	if (!ret)
		ret = te_status(p->ini, batch, 0, &st);
	te_batch_free(p->ini, batch);
	if (ret)
		return ret;
	return st.state == TE_COMPLETED && st.bytes == len ? 0 : -EBADMSG;
}

/* Register @mem, READ into it, check; WRITE other contents back, check. */
static int use(struct pair *p, unsigned char *mem, size_t len)
{
	uint32_t mr;
	int ret;

	ret = te_mr_register(p->ini, mem, len, TE_LOCAL_ALL, NULL, &mr);
	if (ret)
		return ret;
	ret = run(p, TE_READ, mem, 0, len);
	if (!ret && memcmp(mem, p->remote.p, len))
		ret = -EILSEQ;
	pattern_fill(mem, len, 77);
	if (!ret)
		ret = run(p, TE_WRITE, mem, LEN, len);
	if (!ret && pattern_check(p->remote.p + LEN, len, 77) != -1)
		ret = -EBADMSG;
	return te_mr_unregister(p->ini, mr, 0) ?: ret;
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
	EXPECT_EQ(0, use(&self->p, map(-1, RW, MAP_PRIVATE | MAP_ANONYMOUS),
			 LEN));
	EXPECT_EQ(0, use(&self->p, map(-1, RW, MAP_SHARED | MAP_ANONYMOUS),
			 LEN));
	EXPECT_EQ(0, use(&self->p, map(memfd, RW, MAP_SHARED), LEN));
	EXPECT_EQ(0, use(&self->p, map(memfd, RW, MAP_PRIVATE), LEN));
	EXPECT_EQ(0, use(&self->p, bss, LEN));
	EXPECT_EQ(0, use(&self->p, initialised, LEN));
	EXPECT_EQ(0, use(&self->p, stack, sizeof(stack)));
	if (file >= 0) {
		unlink(path);
		ASSERT_EQ(0, ftruncate(file, LEN));
		EXPECT_EQ(0, use(&self->p, map(file, RW, MAP_SHARED), LEN));
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
	EXPECT_EQ(0, run(&self->p, TE_WRITE, mem, 0, LEN));
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
	EXPECT_EQ(0, run(&self->p, TE_WRITE, ro, 0, LEN));
	EXPECT_EQ(-1, pattern_check(self->p.remote.p, LEN, 6));
	EXPECT_EQ(-EACCES, run(&self->p, TE_READ, ro, 0, LEN));
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
	EXPECT_EQ(0, run(&self->p, TE_WRITE, mem, 0, LEN));
	EXPECT_EQ(-1, pattern_check(self->p.remote.p, LEN, 7));
	EXPECT_EQ(0, run(&self->p, TE_READ, mem, LEN, LEN));
	EXPECT_EQ(-1, pattern_check(again, LEN, 8));
	ASSERT_EQ(0, te_mr_unregister(self->p.ini, mr, 0));
	/* Registered anew, the address means the new pages. */
	EXPECT_EQ(0, use(&self->p, again, LEN));
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
	EXPECT_EQ(0, run(&self->p, TE_WRITE, mem, 0, LEN));
	EXPECT_EQ(-1, pattern_check(self->p.remote.p, LEN, 9));
	ASSERT_EQ(0, mprotect(mem, LEN, RW));
	/* Moved: the registered address stays the name of the pages. */
	moved = mremap(mem, LEN, LEN, MREMAP_MAYMOVE | MREMAP_FIXED,
		       map(-1, RW, MAP_PRIVATE | MAP_ANONYMOUS));
	ASSERT_NE(MAP_FAILED, (void *)moved);
	EXPECT_EQ(0, run(&self->p, TE_READ, mem, LEN, LEN));
	EXPECT_EQ(0, memcmp(moved, self->p.remote.p + LEN, LEN));
	/* Dropped: a new page comes to the mapping, the old one stays te's. */
	memset(moved, 1, LEN);
	ASSERT_EQ(0, madvise(moved, LEN, MADV_REMOVE));
	EXPECT_EQ(0, moved[100]);
	EXPECT_EQ(0, run(&self->p, TE_WRITE, mem, 0, LEN));
	EXPECT_EQ(1, self->p.remote.p[100]);
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
	EXPECT_EQ(0, run(&self->p, TE_WRITE, mem, 0, LEN));
	EXPECT_EQ(-1, pattern_check(self->p.remote.p, LEN, 11));
	EXPECT_EQ(0, run(&self->p, TE_READ, mem, LEN, LEN));
	EXPECT_EQ(0, memcmp(mem, self->p.remote.p + LEN, LEN));
	close(pipefd[1]);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	pattern_fill(mem, LEN, 12);
	EXPECT_EQ(0, run(&self->p, TE_WRITE, mem, 0, LEN));
	EXPECT_EQ(-1, pattern_check(self->p.remote.p, LEN, 12));
}

TEST_HARNESS_MAIN

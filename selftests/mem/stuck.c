// SPDX-License-Identifier: GPL-2.0-only
/*
 * A registration that waits for a page which somebody has still to bring
 * (userfaultfd): it waits as long as that takes, holds up nothing but other
 * registrations of its context, and ends with its process. Not on User Mode
 * Linux, see guest.sh.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/test.h"
#include "lib/proc.h"

#define LEN	(64 * KIB)
#define RW	(PROT_READ | PROT_WRITE)

FIXTURE(stuck)
{
	struct pair p;
	struct te_ioc_stats base;
	struct proc child;
};

FIXTURE_SETUP(stuck)
{
	struct pair_opts o = { .remote = 2 * LEN, .margin = ~0UL };

	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, pair_open(&self->p, &o));
	ASSERT_EQ(0, te_stats(&self->base));
}

FIXTURE_TEARDOWN(stuck)
{
	EXPECT_EQ(0, te_settle_to(&self->base));
	pair_close(&self->p);
	CLEAN();
}

struct user {
	struct pair p;	/* its own context, our target */
	unsigned char *good, *missing;
	uint32_t mr;
	int uffd, ret;
};

static int make_missing(struct user *u)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	u->missing = mmap(NULL, LEN, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	u->uffd = syscall(__NR_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	reg.range.start = (uintptr_t)u->missing;
	reg.range.len = LEN;
	if (u->uffd < 0 || ioctl(u->uffd, UFFDIO_API, &api) ||
	    ioctl(u->uffd, UFFDIO_REGISTER, &reg))
		return -errno;
	return 0;
}

static void *register_missing(void *arg)
{
	struct user *u = arg;

	u->ret = te_mr_register(u->p.ini, u->missing, LEN, TE_LOCAL_ALL, NULL,
				&u->mr);
	return NULL;
}

/* Brings what is missing: the registration goes on. */
static int fill(struct user *u, pthread_t t)
{
	static unsigned char src[LEN];
	struct uffdio_copy copy = {
		.dst = (uintptr_t)u->missing,
		.src = (uintptr_t)src,
		.len = LEN,
	};

	pattern_fill(src, LEN, 70);
	if (ioctl(u->uffd, UFFDIO_COPY, &copy))
		return 10;
	pthread_join(t, NULL);
	if (u->ret) {
		printf("# registered: %s\n", strerror(-u->ret));
		return 11;
	}
	if (pair_move(&u->p, TE_WRITE, u->missing, 0, LEN))
		return 12;
	return te_mr_unregister(u->p.ini, u->mr, 0) ? 13 : 0;
}

/* 'g' when stuck, with the context at work all the same; then as it is told. */
static int be_stuck(void *arg, int in, int out)
{
	static struct user u;
	struct pollfd pfd = { .events = POLLIN };
	uint32_t mr;
	pthread_t t;
	char c;

	u.p = *(struct pair *)arg;
	u.good = mmap(NULL, LEN, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pattern_fill(u.good, LEN, 71);
	if (te_open(&u.p.ini, NULL) ||
	    te_mr_register(u.p.ini, u.good, LEN, TE_LOCAL_ALL, NULL, &mr) ||
	    te_open_segment(u.p.ini, u.p.name, &u.p.seg) || make_missing(&u) ||
	    pthread_create(&t, NULL, register_missing, &u))
		return 1;
	pfd.fd = u.uffd;
	if (poll(&pfd, 1, TE_WAIT_MS) != 1)
		return 2;
	if (pair_move(&u.p, TE_WRITE, u.good, LEN, LEN))
		return 3;
	if (proc_put(out, "g", 1) || proc_get(in, &c, 1))
		return 4;
	/* Exit with the other thread where it is. */
	return c == 'f' ? fill(&u, t) : 7;
}

static int start(struct proc *p, struct pair *pair)
{
	char c;

	return proc_start(p, be_stuck, pair) ?: proc_get(p->from, &c, 1);
}

TEST_F_TIMEOUT(stuck, killed, SLOW)
{
	static unsigned char mem[LEN];
	struct te_ioc_stats s;

	ASSERT_EQ(0, start(&self->child, &self->p));
	EXPECT_EQ(-1, pattern_check(self->p.remote.p + LEN, LEN, 71));
	ASSERT_EQ(0, te_stats(&s));
	EXPECT_EQ(self->base.mrs + 1, s.mrs);
	/* Other contexts register as ever. */
	EXPECT_EQ(0, pair_use(&self->p, mem, LEN));
	EXPECT_EQ(128 + SIGKILL, proc_kill(&self->child));
}

TEST_F_TIMEOUT(stuck, exits, SLOW)
{
	ASSERT_EQ(0, start(&self->child, &self->p));
	ASSERT_EQ(0, proc_put(self->child.to, "e", 1));
	EXPECT_EQ(7, proc_wait(&self->child));
}

TEST_F_TIMEOUT(stuck, page_comes, SLOW)
{
	ASSERT_EQ(0, start(&self->child, &self->p));
	ASSERT_EQ(0, proc_put(self->child.to, "f", 1));
	EXPECT_EQ(0, proc_wait(&self->child));
	EXPECT_EQ(-1, pattern_check(self->p.remote.p, LEN, 70));
	EXPECT_EQ(-1, pattern_check(self->p.remote.p + LEN, LEN, 71));
}

TEST_HARNESS_MAIN

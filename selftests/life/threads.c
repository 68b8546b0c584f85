// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tasks that share an address space: threads that end in any order, the first
 * one too, children of vfork and of clone(CLONE_VM). A context belongs to the
 * address space: it works for each of them, and lives until the last is gone.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/test.h"
#include "lib/proc.h"

#define LEN	(256 * KIB)

FIXTURE(threads)
{
	struct pair p;
	struct te_ioc_stats base;
};

FIXTURE_SETUP(threads)
{
	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, pair_open(&self->p, NULL));
	ASSERT_EQ(0, te_stats(&self->base));
}

FIXTURE_TEARDOWN(threads)
{
	pair_close(&self->p);
	CLEAN();
}

/* Whoever runs this has everything but the memory from others. */
struct user {
	const struct pair *p;
	struct te *te;
	struct area mem;
	uint32_t mr, seg;
	int out;
	pthread_t main;
};

static int set_up(struct user *u)
{
	return area_alloc(&u->mem, LEN) ?: te_open(&u->te, NULL) ?:
	       te_mr_register(u->te, u->mem.p, LEN, TE_LOCAL_ALL, NULL,
			      &u->mr) ?:
	       te_open_segment(u->te, u->p->name, &u->seg);
}

static int run(struct user *u)
{
	struct te_request r = {
		.opcode = TE_READ,
		.segment = u->seg,
		.local_addr = (uintptr_t)u->mem.p + 100,
		.remote_addr = (uintptr_t)u->p->remote.p + 8 * KIB,
		.length = 100000,
	};
	struct te_status st;
	uint32_t batch, mr;
	int ret;

	memset(u->mem.p, 0, LEN);
	memset(u->mem.want, 0, LEN);
	memcpy(u->mem.want + 100, u->p->remote.want + 8 * KIB, 100000);
	ret = te_batch_alloc(u->te, 1, NULL, &batch);
	ret = ret ?: te_submit(u->te, batch, &r, 1);
	ret = ret ?: te_wait(u->te, batch, TE_WAIT_MS);
	ret = ret ?: te_status(u->te, batch, 0, &st);
	if (!ret && st.state != TE_COMPLETED)
		ret = -EBADMSG;
	ret = ret ?: area_check(&u->mem, "memory of a thread");
	ret = ret ?: te_batch_free(u->te, batch);
	/* The pins of one thread can be given back and had by another. */
	ret = ret ?: te_mr_unregister(u->te, u->mr, 0);
	ret = ret ?: te_mr_register(u->te, u->mem.p, LEN, TE_LOCAL_ALL, NULL,
				    &mr);
	u->mr = mr;
	return ret;
}

static void *last_thread(void *arg)
{
	struct user *u = arg;
	char c = 'l';

	pthread_join(u->main, NULL);
	if (run(u))
		_exit(3);
	proc_put(u->out, &c, 1);
	/* Ends when the test closes its pipe. */
	_exit(read(3, &c, 1));
}

/* The first thread ends with the context set up; only the other one is left. */
static int main_first(void *arg, int in, int out)
{
	struct user u = { .p = arg, .out = out, .main = pthread_self() };
	pthread_t t;

	(void)in;
	if (set_up(&u) || pthread_create(&t, NULL, last_thread, &u))
		return 1;
	pthread_exit(NULL);
}

TEST_F_TIMEOUT(threads, main_ends_first, SLOW)
{
	struct te_ioc_stats s;
	struct proc child;
	char c = 0;

	ASSERT_EQ(0, proc_start(&child, main_first, &self->p));
	ASSERT_EQ(0, proc_get(child.from, &c, 1));
	EXPECT_EQ('l', c);
	ASSERT_EQ(0, te_stats(&s));
	EXPECT_EQ(self->base.mrs + 1, s.mrs);
	EXPECT_EQ(self->base.pinned_pages + LEN / 4096, s.pinned_pages);
	close(child.to);
	child.to = -1;
	EXPECT_EQ(0, proc_wait(&child));
	EXPECT_EQ(0, te_settle_to(&self->base));
}

static void *set_up_thread(void *arg)
{
	return (void *)(long)set_up(arg);
}

static void *run_thread(void *arg)
{
	return (void *)(long)run(arg);
}

/* Each step is a thread of its own, which is gone before the next one comes. */
TEST_F_TIMEOUT(threads, one_after_the_other, SLOW)
{
	struct user u = { .p = &self->p };
	pthread_t t;
	void *ret;
	int i;

	MUST(pthread_create(&t, NULL, set_up_thread, &u));
	pthread_join(t, &ret);
	ASSERT_EQ(NULL, ret);
	for (i = 0; i < 4; i++) {
		MUST(pthread_create(&t, NULL, run_thread, &u));
		pthread_join(t, &ret);
		EXPECT_EQ(NULL, ret);
	}
	te_close(u.te);
	area_free(&u.mem);
	EXPECT_EQ(0, te_settle_to(&self->base));
}

static int exec_true(void)
{
	return execl("/bin/true", "true", (char *)NULL);
}

/* The child of vfork is the parent until exec, which ends nothing of it. */
TEST_F_TIMEOUT(threads, vfork, SLOW)
{
	struct user u = { .p = &self->p };
	volatile int ret = -1;
	int status;
	pid_t pid;

	ASSERT_EQ(0, set_up(&u));
	pid = vfork();
	if (!pid) {
		ret = run(&u);
		_exit(exec_true());
	}
	ASSERT_LT(0, pid);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, ret);
	EXPECT_EQ(0, run(&u));
	te_close(u.te);
	area_free(&u.mem);
	EXPECT_EQ(0, te_settle_to(&self->base));
}

struct sharer {
	struct user u;
	int from_test, to_test;
};

/* Outlives the process whose address space it shares. */
static int share(void *arg)
{
	struct sharer *s = arg;
	char c = 'v';

	if (proc_get(s->from_test, &c, 1))
		return 1;
	c = run(&s->u) ? 'x' : 'v';
	proc_put(s->to_test, &c, 1);
	return read(s->from_test, &c, 1);
}

/* Makes the sharer and goes, which ends neither the mm nor the context. */
static int clone_and_go(void *arg, int in, int out)
{
	static char stack[65536] __attribute__((aligned(16)));
	static struct sharer s;

	s = (struct sharer) {
		.u.p = arg, .from_test = in, .to_test = out,
	};
	if (set_up(&s.u))
		return 1;
	return clone(share, stack + sizeof(stack), CLONE_VM | SIGCHLD, &s) < 0;
}

TEST_F_TIMEOUT(threads, sharer_of_the_mm_is_last, SLOW)
{
	struct proc child;
	siginfo_t si;
	char c = 0;

	ASSERT_EQ(0, proc_start(&child, clone_and_go, &self->p));
	ASSERT_EQ(0, waitid(P_PID, child.pid, &si, WEXITED | WNOWAIT));
	ASSERT_EQ(0, si.si_status);
	MUST(proc_put(child.to, "g", 1));
	ASSERT_EQ(0, proc_get(child.from, &c, 1));
	EXPECT_EQ('v', c);
	close(child.to);
	child.to = -1;
	EXPECT_EQ(0, proc_wait(&child));
	EXPECT_EQ(0, te_settle_to(&self->base));
}

TEST_HARNESS_MAIN

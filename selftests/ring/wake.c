// SPDX-License-Identifier: GPL-2.0-only
/*
 * Being told: poll, epoll in both modes, an eventfd, waits for a batch and for
 * entries, their time-outs and signals. A wait that is not woken ends the test
 * by its time limit; one that returns early finds nothing and fails.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/test.h"
#include "lib/pair.h"

#define BIG	(16 * MIB)

FIXTURE(wake)
{
	struct pair p;
	uint32_t batch;
};

FIXTURE_SETUP(wake)
{
	struct pair_opts o = { .local = BIG, .remote = BIG, .margin = ~0UL };
	struct te_batch_opts bo = {
		.sz = sizeof(bo),
		.deadline_ms = TE_MAX_DEADLINE_MS,
		.entries = TE_ENTRIES_TASK,
	};

	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, pair_open(&self->p, &o));
	ASSERT_EQ(0, te_batch_alloc(self->p.ini, 2000, &bo, &self->batch));
}

FIXTURE_TEARDOWN(wake)
{
	pair_close(&self->p);
	CLEAN();
}

static int submit(struct pair *p, uint32_t batch, size_t len)
{
	struct te_request r = pair_req(p, TE_WRITE, 0, 0, len);

	return te_submit(p->ini, batch, &r, 1);
}

/* Submits from another thread, a little later: the waiter is asleep by then. */
struct later {
	struct pair *p;
	uint32_t batch;
	int ret;
};

static void *submit_later(void *arg)
{
	struct later *l = arg;

	te_sleep_ms(100);
	l->ret = submit(l->p, l->batch, 4096);
	return NULL;
}

TEST_F_TIMEOUT(wake, poll, SLOW)
{
	struct pollfd pfd = { .fd = te_fd(self->p.ini), .events = POLLIN };
	struct later l = { &self->p, self->batch, 0 };
	struct te_completion c[4];
	pthread_t t;
	int i;

	for (i = 0; i < 5; i++) {
		EXPECT_EQ(0, poll(&pfd, 1, 30));
		ASSERT_EQ(0, pthread_create(&t, NULL, submit_later, &l));
		EXPECT_EQ(1, poll(&pfd, 1, -1));
		EXPECT_EQ(POLLIN, pfd.revents & (POLLIN | POLLERR | POLLHUP));
		pthread_join(t, NULL);
		EXPECT_EQ(0, l.ret);
		/* Level triggered: as long as there is an entry. */
		EXPECT_EQ(1, poll(&pfd, 1, 0));
		EXPECT_EQ(1, te_poll(self->p.ini, c, 4));
		EXPECT_EQ(0, poll(&pfd, 1, 0));
		EXPECT_EQ(0, te_poll(self->p.ini, c, 4));
	}
}

TEST_F_TIMEOUT(wake, epoll, SLOW)
{
	static const uint32_t modes[] = { EPOLLIN, EPOLLIN | EPOLLET };
	struct epoll_event ev, out;
	struct later l = { &self->p, self->batch, 0 };
	struct te_completion c;
	pthread_t t;
	size_t m;
	int i, ep;

	for (m = 0; m < ROWS(modes); m++) {
		ep = epoll_create1(EPOLL_CLOEXEC);
		ASSERT_LE(0, ep);
		ev.events = modes[m];
		ev.data.u32 = 7;
		ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, te_fd(self->p.ini),
				       &ev));
		EXPECT_EQ(0, epoll_wait(ep, &out, 1, 0));
		for (i = 0; i < 5; i++) {
			ASSERT_EQ(0, pthread_create(&t, NULL, submit_later,
						    &l));
			EXPECT_ROW(1, epoll_wait(ep, &out, 1, -1), "mode %zu",
				   m);
			EXPECT_EQ(7, out.data.u32);
			pthread_join(t, NULL);
			EXPECT_EQ(1, te_poll(self->p.ini, &c, 1));
		}
		close(ep);
	}
}

static int set_eventfd(struct te *te, int fd)
{
	struct te_ioc_eventfd a = { .size = sizeof(a), .fd = fd };

	return raw_ioctl(te_fd(te), TE_IOC_EVENTFD, &a);
}

TEST_F_TIMEOUT(wake, eventfd, SLOW)
{
	int efd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct pollfd pfd = { .fd = efd, .events = POLLIN };
	struct te_completion c[8];
	uint64_t count;
	int i, n, got;

	ASSERT_LE(0, efd);
	ASSERT_EQ(0, set_eventfd(self->p.ini, efd));
	for (i = 0; i < 5; i++) {
		EXPECT_EQ(-1, read(efd, &count, 8));
		ASSERT_EQ(0, submit(&self->p, self->batch, 4096));
		ASSERT_EQ(0, submit(&self->p, self->batch, 4096));
		/* Two entries: one signal or two, but never none for the last. */
		for (got = 0; got < 2; got += n) {
			ASSERT_EQ(1, poll(&pfd, 1, -1));
			ASSERT_EQ(8, read(efd, &count, 8));
			EXPECT_LE(1, count);
			n = te_poll(self->p.ini, c, 8);
			ASSERT_LE(0, n);
		}
		EXPECT_EQ(2, got);
		/* A signal may still be there for what was taken already. */
		EXPECT_EQ(0, te_wait(self->p.ini, self->batch, TE_WAIT_MS));
		te_sleep_ms(20);
		n = read(efd, &count, 8);
		EXPECT_TRUE(n == 8 || errno == EAGAIN);
	}
	/* Taken away: nothing comes any more, also after it is closed. */
	ASSERT_EQ(0, set_eventfd(self->p.ini, -1));
	ASSERT_EQ(0, submit(&self->p, self->batch, 4096));
	EXPECT_EQ(0, te_wait(self->p.ini, self->batch, TE_WAIT_MS));
	EXPECT_EQ(0, poll(&pfd, 1, 50));
	ASSERT_EQ(0, set_eventfd(self->p.ini, efd));
	close(efd);
	ASSERT_EQ(0, submit(&self->p, self->batch, 4096));
	EXPECT_EQ(0, te_wait(self->p.ini, self->batch, TE_WAIT_MS));
}

TEST_F_TIMEOUT(wake, waits, SLOW)
{
	unsigned long long from;
	struct te_status st;
	uint32_t i, idle;

	/* Nothing submitted counts as terminal. */
	EXPECT_EQ(0, te_wait(self->p.ini, self->batch, 0));
	EXPECT_EQ(0, te_wait(self->p.ini, self->batch, -1));
	EXPECT_EQ(-ENOENT, te_wait(self->p.ini, self->batch + 1, 0));
	ASSERT_EQ(0, te_batch_alloc(self->p.ini, 1, NULL, &idle));

	/* 16 GB: not done by the time we look. */
	for (i = 0; i < 1000; i++)
		MUST(submit(&self->p, self->batch, BIG));
	EXPECT_EQ(-ETIME, te_wait(self->p.ini, self->batch, 0));
	from = te_now_ms();
	EXPECT_EQ(-ETIME, te_wait(self->p.ini, self->batch, 150));
	EXPECT_LE(140, te_now_ms() - from);
	EXPECT_GE(30000, te_now_ms() - from);
	EXPECT_EQ(0, te_batch_status(self->p.ini, self->batch, &st));
	EXPECT_EQ(TE_PENDING, st.state);
	EXPECT_EQ(0, te_wait(self->p.ini, idle, 0));
	EXPECT_EQ(0, te_cancel(self->p.ini, self->batch));
	EXPECT_EQ(0, te_wait(self->p.ini, self->batch, -1));
}

TEST_F_TIMEOUT(wake, waits_for_entries, SLOW)
{
	struct later l = { &self->p, self->batch, 0 };
	int fd = te_fd(self->p.ini);
	struct te_completion c[4];
	pthread_t t;

	EXPECT_EQ(-ETIME, raw_wait_entries(fd, 1, 0));
	EXPECT_EQ(-ETIME, raw_wait_entries(fd, 1, 30));
	EXPECT_EQ(-EINVAL, raw_wait_entries(fd, 4097, 0));
	ASSERT_EQ(0, pthread_create(&t, NULL, submit_later, &l));
	EXPECT_EQ(0, raw_wait_entries(fd, 1, -1));
	pthread_join(t, NULL);
	EXPECT_EQ(-ETIME, raw_wait_entries(fd, 2, 50));
	ASSERT_EQ(0, pthread_create(&t, NULL, submit_later, &l));
	EXPECT_EQ(0, raw_wait_entries(fd, 2, -1));
	EXPECT_EQ(0, raw_wait_entries(fd, 1, 0));
	pthread_join(t, NULL);
	EXPECT_EQ(2, te_poll(self->p.ini, c, 4));
	EXPECT_EQ(-ETIME, raw_wait_entries(fd, 1, 0));
}

static void ignore(int sig)
{
	(void)sig;
}

/* A signal ends the wait, not the work. */
TEST_F_TIMEOUT(wake, signals, SLOW)
{
	struct sigaction sa = { .sa_handler = ignore };
	struct te_status st;
	uint32_t i;
	pid_t pid;

	ASSERT_EQ(0, sigaction(SIGUSR1, &sa, NULL));
	for (i = 0; i < 1000; i++)
		MUST(submit(&self->p, self->batch, BIG));
	pid = fork();
	ASSERT_LE(0, pid);
	/* Again and again: one before the wait has begun is lost. */
	for (i = 0; !pid && i < 1000; i++) {
		te_sleep_ms(100);
		kill(getppid(), SIGUSR1);
	}
	if (!pid)
		_exit(0);
	EXPECT_EQ(-EINTR, te_wait(self->p.ini, self->batch, -1));
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, NULL, 0));
	EXPECT_EQ(0, te_batch_status(self->p.ini, self->batch, &st));
	EXPECT_EQ(TE_PENDING, st.state);
	EXPECT_EQ(0, te_cancel(self->p.ini, self->batch));
	EXPECT_EQ(0, te_wait(self->p.ini, self->batch, -1));
}

struct waiter {
	struct pair *p;
	uint32_t batch;
	int ret;
};

static void *wait_batch(void *arg)
{
	struct waiter *w = arg;

	w->ret = te_wait(w->p->ini, w->batch, -1);
	return NULL;
}

/* All who wait for one batch are woken by its end. */
TEST_F_TIMEOUT(wake, many_waiters, SLOW)
{
	struct waiter w[6];
	pthread_t t[6];
	uint32_t i;

	for (i = 0; i < 1000; i++)
		MUST(submit(&self->p, self->batch, BIG));
	for (i = 0; i < 6; i++) {
		w[i] = (struct waiter) { &self->p, self->batch, 1 };
		ASSERT_EQ(0, pthread_create(&t[i], NULL, wait_batch, &w[i]));
	}
	te_sleep_ms(100);
	EXPECT_EQ(0, te_cancel(self->p.ini, self->batch));
	for (i = 0; i < 6; i++) {
		pthread_join(t[i], NULL);
		EXPECT_EQ(0, w[i].ret);
	}
}

TEST_HARNESS_MAIN

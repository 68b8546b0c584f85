// SPDX-License-Identifier: GPL-2.0-only
/*
 * Batches: what a thread may meet between two steps of another. One thread is
 * held at a point, others go first, then it is let go. Whatever the order: one
 * terminal state, one entry, the right bytes, nothing left.
 */
#include <poll.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "lib/test.h"
#include "lib/fault.h"
#include "lib/go.h"
#include "lib/pair.h"

#define LEN	(64 * KIB)
#define AT	(8 * KIB)

FIXTURE(race_ctx)
{
	struct pair p;
	struct te_request r;
	uint32_t batch;
};

static int new_batch(struct te *te, uint32_t deadline_ms, uint32_t *batch)
{
	struct te_batch_opts o = {
		.sz = sizeof(o),
		.deadline_ms = deadline_ms,
		.entries = TE_ENTRIES_TASK,
	};

	return te_batch_alloc(te, 3, &o, batch);
}

/* Four of the sixteen slots are its batch's, with the header. */
FIXTURE_SETUP(race_ctx)
{
	struct pair_opts o = { .task_slots = 16 };

	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, pair_open(&self->p, &o));
	/* Connected already: only what is forced here makes a difference. */
	ASSERT_EQ(0, pair_xfer(&self->p, TE_WRITE, AT, AT, LEN));
	ASSERT_EQ(0, new_batch(self->p.ini, TE_MAX_DEADLINE_MS, &self->batch));
	self->r = pair_req(&self->p, TE_READ, AT, AT + LEN, LEN);
}

FIXTURE_TEARDOWN(race_ctx)
{
	pair_close(&self->p);
	CLEAN();
}

/* What a call in another thread needs. */
struct job {
	struct pair *p;
	const struct te_request *r;
	uint32_t batch;
};

static int do_submit(void *arg)
{
	struct job *j = arg;

	return te_submit(j->p->ini, j->batch, j->r, 1);
}

static int do_cancel(void *arg)
{
	struct job *j = arg;

	return te_cancel(j->p->ini, j->batch);
}

static int do_free(void *arg)
{
	struct job *j = arg;

	return te_batch_free(j->p->ini, j->batch);
}

static int do_close(void *arg)
{
	struct job *j = arg;

	te_close(j->p->ini);
	j->p->ini = NULL;
	return 0;
}

/* State of the only task, that of the batch being the same; -1: it is not. */
static int state_of(struct job *j, int *error, uint64_t *bytes)
{
	struct te_status task, all;

	if (te_status(j->p->ini, j->batch, 0, &task) ||
	    te_batch_status(j->p->ini, j->batch, &all) ||
	    task.state != all.state || task.error != all.error ||
	    task.bytes != all.bytes)
		return -1;
	*error = task.error;
	*bytes = task.bytes;
	return task.state;
}

#define EXPECT_ENDED(j, want_state, want_error, want_bytes) do { \
	struct te_completion _c[2]; \
	uint64_t _bytes = 0; \
	int _error = 0; \
	EXPECT_EQ(want_state, state_of(j, &_error, &_bytes)); \
	EXPECT_EQ(want_error, _error); \
	EXPECT_EQ(want_bytes, _bytes); \
	ASSERT_EQ(1, te_poll((j)->p->ini, _c, 2)); \
	EXPECT_EQ(want_state, _c[0].state); \
	EXPECT_EQ(want_error, _c[0].error); \
	EXPECT_EQ(want_bytes, _c[0].bytes); \
	EXPECT_EQ((j)->batch, _c[0].batch); \
} while (0)

TEST_F_TIMEOUT(race_ctx, before_the_end_is_shown, SLOW)
{
	struct pair *p = &self->p;
	struct job j = { p, &self->r, self->batch };
	struct te_completion c;
	struct te_status st;

	te_hold("task_end");
	ASSERT_EQ(0, do_submit(&j));
	ASSERT_EQ(0, te_delay_wait("task_end", 1));
	ASSERT_EQ(0, te_status(p->ini, j.batch, 0, &st));
	EXPECT_EQ(TE_PENDING, st.state);
	EXPECT_EQ(-EBUSY, do_free(&j));
	EXPECT_EQ(-EBUSY, te_mr_unregister(p->ini, p->lmr, 0));
	EXPECT_EQ(-ETIME, te_wait(p->ini, j.batch, 0));
	EXPECT_EQ(0, te_poll(p->ini, &c, 1));
	/* Too late to cancel: all is moved. */
	EXPECT_EQ(0, do_cancel(&j));
	EXPECT_EQ(0, do_cancel(&j));
	EXPECT_EQ(0, te_delay_wait("task_end", 1));
	te_delay_release("task_end");

	EXPECT_EQ(0, te_wait(p->ini, j.batch, TE_WAIT_MS));
	EXPECT_ENDED(&j, TE_COMPLETED, 0, LEN);
	EXPECT_EQ(0, do_cancel(&j));
	EXPECT_EQ(0, te_poll(p->ini, &c, 1));
	pair_expect(p, &self->r);
	EXPECT_EQ(0, pair_check(p));
	EXPECT_EQ(0, do_free(&j));
	EXPECT_EQ(-ENOENT, do_free(&j));
}

TEST_F_TIMEOUT(race_ctx, deadline_before_the_end_is_shown, SLOW)
{
	struct pair *p = &self->p;
	struct job j = { p, &self->r, 0 };

	te_hold("task_end");
	/* Long enough to get there in on any machine, and then to go by. */
	ASSERT_EQ(0, new_batch(p->ini, 3000, &j.batch));
	ASSERT_EQ(0, do_submit(&j));
	ASSERT_EQ(0, te_delay_wait("task_end", 1));
	te_sleep_ms(3500);
	te_delay_release("task_end");
	EXPECT_EQ(0, te_wait(p->ini, j.batch, TE_WAIT_MS));
	/* Moved in time, or too late and told so: never both. */
	EXPECT_ENDED(&j, TE_COMPLETED, 0, LEN);
	pair_expect(p, &self->r);
	EXPECT_EQ(0, pair_check(p));
}

TEST_F_TIMEOUT(race_ctx, after_the_end_is_shown, SLOW)
{
	struct pair *p = &self->p;
	struct job j = { p, &self->r, self->batch };
	uint32_t all;

	te_hold("task_shown");
	ASSERT_EQ(0, do_submit(&j));
	ASSERT_EQ(0, te_delay_wait("task_shown", 1));
	/* Whoever sees the end may act on it. */
	EXPECT_ENDED(&j, TE_COMPLETED, 0, LEN);
	pair_expect(p, &self->r);
	EXPECT_EQ(0, pair_check(p));
	EXPECT_EQ(0, te_wait(p->ini, j.batch, -1));
	EXPECT_EQ(0, te_mr_unregister(p->ini, p->lmr, 0));
	EXPECT_EQ(0, do_free(&j));
	EXPECT_EQ(-ENOENT, do_free(&j));
	ASSERT_EQ(0, te_batch_alloc(p->ini, 15, NULL, &all));
	EXPECT_EQ(0, te_delay_wait("task_shown", 1));
	te_delay_release("task_shown");
	EXPECT_EQ(0, te_batch_free(p->ini, all));
	EXPECT_EQ(0, te_mr_register(p->ini, p->local.p, p->local.len,
				    TE_LOCAL_ALL, NULL, &p->lmr));
	EXPECT_EQ(0, pair_xfer(p, TE_WRITE, 0, AT, LEN));
}

TEST_F_TIMEOUT(race_ctx, two_frees, SLOW)
{
	struct pair *p = &self->p;
	struct job j = { p, &self->r, self->batch };
	struct te_status st;
	uint32_t all;
	struct go g;

	te_hold("batch_free");
	ASSERT_EQ(0, go_start(&g, do_free, &j));
	ASSERT_EQ(0, te_delay_wait("batch_free", 1));
	EXPECT_EQ(-ENOENT, do_free(&j));
	EXPECT_EQ(-ENOENT, do_cancel(&j));
	EXPECT_EQ(-ENOENT, do_submit(&j));
	EXPECT_EQ(-ENOENT, raw_wait(te_fd(p->ini), j.batch, 0));
	/* Its slots are nobody else's yet. */
	EXPECT_EQ(-EBUSY, te_batch_alloc(p->ini, 15, NULL, &all));
	EXPECT_EQ(0, te_delay_wait("batch_free", 1));
	te_delay_release("batch_free");
	EXPECT_EQ(0, go_wait(&g));
	ASSERT_EQ(0, te_batch_alloc(p->ini, 15, NULL, &all));
	EXPECT_NE(j.batch, all);
	EXPECT_EQ(-ENOENT, te_status(p->ini, j.batch, 0, &st));
	EXPECT_EQ(0, te_batch_free(p->ini, all));
}

/* The deadline passes, and a cancel is on its way, before anything is queued. */
TEST_F_TIMEOUT(race_ctx, deadline_before_the_queue, SLOW)
{
	struct pair *p = &self->p;
	struct job j = { p, &self->r, 0 };
	struct go sub, can;

	ASSERT_EQ(0, new_batch(p->ini, 20, &j.batch));
	te_hold("submit_queue");
	ASSERT_EQ(0, go_start(&sub, do_submit, &j));
	ASSERT_EQ(0, te_delay_wait("submit_queue", 1));
	ASSERT_EQ(0, go_start(&can, do_cancel, &j));
	te_sleep_ms(2000);
	EXPECT_EQ(0, te_delay_wait("submit_queue", 1));
	te_delay_release("submit_queue");
	EXPECT_EQ(0, go_wait(&sub));
	EXPECT_EQ(0, go_wait(&can));
	EXPECT_EQ(0, te_wait(p->ini, j.batch, TE_WAIT_MS));
	EXPECT_ENDED(&j, TE_TIMEOUT, -ETIMEDOUT, 0);
	EXPECT_EQ(0, pair_check(p));
	EXPECT_EQ(0, do_free(&j));
}

/* The mover is about to cut from the task when it is cancelled twice. */
TEST_F_TIMEOUT(race_ctx, two_cancels_before_posting, SLOW)
{
	struct pair *p = &self->p;
	struct job j = { p, &self->r, self->batch };

	te_hold("ep_found");
	ASSERT_EQ(0, do_submit(&j));
	ASSERT_EQ(0, te_delay_wait("ep_found", 1));
	EXPECT_EQ(0, do_cancel(&j));
	EXPECT_EQ(0, do_cancel(&j));
	EXPECT_EQ(-ECANCELED, do_submit(&j));
	/* Nothing was cut: it ends without its mover. */
	EXPECT_EQ(0, te_wait(p->ini, j.batch, TE_WAIT_MS));
	EXPECT_ENDED(&j, TE_CANCELED, -ECANCELED, 0);
	EXPECT_EQ(0, do_free(&j));
	EXPECT_EQ(0, te_delay_wait("ep_found", 1));
	te_delay_release("ep_found");
	EXPECT_EQ(0, pair_check(p));
}

struct raw_job {
	const struct te_request *r;
	uint32_t batch;
	int fd;
};

static int do_raw_submit(void *arg)
{
	struct raw_job *j = arg;

	return raw_submit(j->fd, j->batch, j->r, 1);
}

/* The descriptor goes while a submit is inside: that ends, then all is undone. */
TEST_F_TIMEOUT(race_ctx, close_against_submit, SLOW)
{
	struct pair *p = &self->p;
	struct raw_job j = { .r = &self->r };
	struct te_ioc_stats base, s;
	struct raw raw;
	struct go g;

	te_close(p->ini);
	p->ini = NULL;
	ASSERT_EQ(0, te_settle_one(offsetof(struct te_ioc_stats, mrs), 1,
				   TE_WAIT_MS));
	ASSERT_EQ(0, te_stats(&base));
	ASSERT_EQ(0, raw_open(&raw, 0, 0));
	j.fd = raw.fd;
	ASSERT_EQ(0, raw_mr(j.fd, p->local.p, p->local.len, TE_LOCAL_ALL,
			    NULL));
	ASSERT_EQ(0, raw_segment(j.fd, p->name, &self->r.segment));
	ASSERT_EQ(0, raw_batch(j.fd, 1, TE_ENTRIES_TASK, &j.batch));

	te_hold("submit_queue");
	ASSERT_EQ(0, go_start(&g, do_raw_submit, &j));
	ASSERT_EQ(0, te_delay_wait("submit_queue", 1));
	raw_close(&raw);
	ASSERT_EQ(0, te_stats(&s));
	EXPECT_EQ(2, s.contexts);
	EXPECT_EQ(1, s.tasks);
	EXPECT_EQ(0, te_delay_wait("submit_queue", 1));
	te_delay_release("submit_queue");
	EXPECT_EQ(0, go_wait(&g));
	EXPECT_EQ(0, te_settle_to(&base));
	EXPECT_EQ(0, area_check(&p->remote, "remote memory"));
}

/* The last completion comes when close has given up the memory. */
TEST_F_TIMEOUT(race_ctx, completion_amid_close, SLOW)
{
	struct pair *p = &self->p;
	struct te_request r = pair_req(p, TE_WRITE, AT, AT + LEN, LEN);
	struct job j = { p, &r, self->batch };
	struct go g;

	te_hold("ep_found");
	ASSERT_EQ(0, do_submit(&j));
	ASSERT_EQ(0, te_delay_wait("ep_found", 1));
	te_hold("ctx_close");
	ASSERT_EQ(0, go_start(&g, do_close, &j));
	ASSERT_EQ(0, te_delay_wait("ctx_close", 1));
	te_delay_release("ep_found");
	EXPECT_EQ(0, te_settle_one(offsetof(struct te_ioc_stats, tasks), 0,
				   TE_WAIT_MS));
	pair_expect(p, &r);
	EXPECT_EQ(0, pair_check(p));
	EXPECT_EQ(0, te_delay_wait("ctx_close", 1));
	te_delay_release("ctx_close");
	EXPECT_EQ(0, go_wait(&g));
}

/* Close does not wait for a completion on its way; all ends behind it. */
TEST_F_TIMEOUT(race_ctx, close_amid_completion, SLOW)
{
	static const char *const points[] = { "task_end", "task_shown" };
	struct pair *p = &self->p;
	struct job j = { p, &self->r, self->batch };
	struct pair_opts o = { .task_slots = 16 };
	struct te_ioc_stats s;
	size_t i;

	for (i = 0; i < ROWS(points); i++) {
		te_hold(points[i]);
		ASSERT_EQ(0, do_submit(&j));
		ASSERT_EQ(0, te_delay_wait(points[i], 1));
		do_close(&j);
		ASSERT_EQ(0, te_stats(&s));
		EXPECT_ROW(1, s.contexts, "%s", points[i]);
		EXPECT_ROW(1, s.batches, "%s", points[i]);
		EXPECT_EQ(0, te_delay_wait(points[i], 1));
		te_delay_release(points[i]);
		EXPECT_EQ(0, te_settle_one(offsetof(struct te_ioc_stats, batches),
					   0, TE_WAIT_MS));
		pair_expect(p, &self->r);
		EXPECT_EQ(0, pair_check(p));

		pair_close(p);
		ASSERT_EQ(0, te_settle());
		ASSERT_EQ(0, pair_open(p, &o));
		ASSERT_EQ(0, pair_xfer(p, TE_WRITE, AT, AT, LEN));
		ASSERT_EQ(0, new_batch(p->ini, TE_MAX_DEADLINE_MS, &j.batch));
		self->r = pair_req(p, TE_READ, AT, AT + LEN, LEN);
	}
}

static int wait_batch(void *arg)
{
	struct job *j = arg;

	return te_wait(j->p->ini, j->batch, -1);
}

static int wait_entry(void *arg)
{
	struct job *j = arg;

	return raw_wait_entries(te_fd(j->p->ini), 1, -1);
}

static int wait_poll(void *arg)
{
	struct job *j = arg;
	struct pollfd pfd = { .fd = te_fd(j->p->ini), .events = POLLIN };

	return poll(&pfd, 1, -1) == 1 && pfd.revents == POLLIN ? 0 : -1;
}

static int wait_epoll(struct job *j, uint32_t mode)
{
	struct epoll_event ev = { .events = EPOLLIN | mode };
	int ep = epoll_create1(EPOLL_CLOEXEC), ret = -1;

	if (ep >= 0 &&
	    !epoll_ctl(ep, EPOLL_CTL_ADD, te_fd(j->p->ini), &ev) &&
	    epoll_wait(ep, &ev, 1, -1) == 1 && ev.events == EPOLLIN)
		ret = 0;
	close(ep);
	return ret;
}

static int wait_epoll_level(void *arg)
{
	return wait_epoll(arg, 0);
}

static int wait_epoll_edge(void *arg)
{
	return wait_epoll(arg, EPOLLET);
}

/*
 * It has looked and found nothing; before it sleeps the end comes, and with it
 * the only wake-up there will be.
 */
TEST_F_TIMEOUT(race_ctx, no_lost_wake_up, SLOW)
{
	static const struct {
		const char *desc;
		int (*fn)(void *arg);
	} rows[] = {
		{ "te_wait", wait_batch },
		{ "entries", wait_entry },
		{ "poll", wait_poll },
		{ "epoll", wait_epoll_level },
		{ "epoll, edge", wait_epoll_edge },
	};
	struct pair *p = &self->p;
	struct job j = { p, &self->r, 0 };
	struct go g;
	size_t i;

	for (i = 0; i < ROWS(rows); i++) {
		ASSERT_EQ(0, new_batch(p->ini, TE_MAX_DEADLINE_MS, &j.batch));
		te_hold("ep_found");
		te_hold("wait_sleep");
		ASSERT_EQ(0, do_submit(&j));
		ASSERT_EQ(0, te_delay_wait("ep_found", 1));
		ASSERT_EQ(0, go_start(&g, rows[i].fn, &j));
		ASSERT_EQ(0, te_delay_wait("wait_sleep", 1));
		te_delay_release("ep_found");
		/* Ended, shown, and all who slept then were woken. */
		EXPECT_EQ(0, te_settle_one(offsetof(struct te_ioc_stats, tasks),
					   0, TE_WAIT_MS));
		EXPECT_EQ(0, te_delay_wait("wait_sleep", 1));
		te_delay_release("wait_sleep");
		EXPECT_ROW(0, go_wait(&g), "%s", rows[i].desc);
		EXPECT_ENDED(&j, TE_COMPLETED, 0, LEN);
		EXPECT_EQ(0, do_free(&j));
	}
	pair_expect(p, &self->r);
	EXPECT_EQ(0, pair_check(p));
}

static int wait_freed(void *arg)
{
	struct job *j = arg;

	return raw_wait(te_fd(j->p->ini), j->batch, -1);
}

/* Who waits has its batch, though another thread frees it meanwhile. */
TEST_F_TIMEOUT(race_ctx, free_against_wait, SLOW)
{
	struct pair *p = &self->p;
	struct job j = { p, &self->r, self->batch };
	uint32_t all;
	struct go g;

	te_hold("wait_sleep");
	ASSERT_EQ(0, go_start(&g, wait_freed, &j));
	ASSERT_EQ(0, te_delay_wait("wait_sleep", 1));
	EXPECT_EQ(0, do_free(&j));
	/* All slots: what it waits for is somebody else's now. */
	ASSERT_EQ(0, te_batch_alloc(p->ini, 15, NULL, &all));
	te_delay_release("wait_sleep");
	EXPECT_EQ(0, go_wait(&g));
	EXPECT_EQ(0, te_batch_free(p->ini, all));
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory and segments, on both sides, against who uses them: held between the
 * steps of registering, revoking, opening and posting.
 */
#include <stddef.h>

#include "lib/test.h"
#include "lib/fault.h"
#include "lib/go.h"
#include "lib/pair.h"

#define LEN	(64 * KIB)
#define AT	(8 * KIB)

FIXTURE(race_mr)
{
	struct pair p;
	struct te_request r;
	uint32_t batch;
};

static int new_batch(struct te *te, uint32_t *batch)
{
	struct te_batch_opts o = {
		.sz = sizeof(o),
		.deadline_ms = TE_MAX_DEADLINE_MS,
		.entries = TE_ENTRIES_TASK,
	};

	return te_batch_alloc(te, 3, &o, batch);
}

FIXTURE_SETUP(race_mr)
{
	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, pair_open(&self->p, NULL));
	ASSERT_EQ(0, pair_xfer(&self->p, TE_WRITE, AT, AT, LEN));
	ASSERT_EQ(0, new_batch(self->p.ini, &self->batch));
	self->r = pair_req(&self->p, TE_WRITE, AT + LEN, AT, LEN);
}

FIXTURE_TEARDOWN(race_mr)
{
	pair_close(&self->p);
	CLEAN();
}

/* What a call in another thread needs, and what it answers. */
struct job {
	struct te *te;
	void *addr;
	size_t len;
	uint32_t id, batch;
	unsigned int flags;
	const struct te_request *r;
	const char *name;
};

static int do_register(void *arg)
{
	struct job *j = arg;

	return te_mr_register(j->te, j->addr, j->len, TE_LOCAL_ALL, NULL,
			      &j->id);
}

static int do_unregister(void *arg)
{
	struct job *j = arg;

	return te_mr_unregister(j->te, j->id, j->flags);
}

static int do_submit(void *arg)
{
	struct job *j = arg;

	return te_submit(j->te, j->batch, j->r, 1);
}

static int do_open(void *arg)
{
	struct job *j = arg;

	return te_open_segment(j->te, j->name, &j->id);
}

static int do_seg_close(void *arg)
{
	struct job *j = arg;

	return te_segment_close(j->te, j->id);
}

/* The only task has ended so, with its one entry. */
#define EXPECT_ENDED(te, batch, want_state, want_error, want_bytes) do { \
	struct te_completion _c[2]; \
	struct te_status _st; \
	EXPECT_EQ(0, te_wait(te, batch, TE_WAIT_MS)); \
	ASSERT_EQ(0, te_status(te, batch, 0, &_st)); \
	EXPECT_EQ(want_state, _st.state); \
	EXPECT_EQ(want_error, _st.error); \
	EXPECT_EQ(want_bytes, _st.bytes); \
	ASSERT_EQ(1, te_poll(te, _c, 2)); \
	EXPECT_EQ(want_state, _c[0].state); \
	EXPECT_EQ(want_error, _c[0].error); \
	EXPECT_EQ(want_bytes, _c[0].bytes); \
} while (0)

TEST_F_TIMEOUT(race_mr, two_register_one_range, SLOW)
{
	struct pair *p = &self->p;
	struct job a = { .te = p->ini, .addr = p->local.p, .len = AT };
	struct job b = a, c = a;
	struct te_ioc_stats s;
	struct go ga, gb, gc;

	self->r.local_addr = (uintptr_t)p->local.p;
	self->r.length = AT;
	te_hold("mr_publish");
	ASSERT_EQ(0, go_start(&ga, do_register, &a));
	ASSERT_EQ(0, te_delay_wait("mr_publish", 1));
	/* Not there before its id is. */
	EXPECT_EQ(-ERANGE, pair_refuse(p, &self->r));
	ASSERT_EQ(0, go_start(&gb, do_register, &b));
	c.len = AT / 2;
	ASSERT_EQ(0, go_start(&gc, do_register, &c));
	EXPECT_EQ(0, te_delay_wait("mr_publish", 1));
	te_delay_release("mr_publish");
	ASSERT_EQ(0, go_wait(&ga));
	ASSERT_EQ(0, go_wait(&gb));
	EXPECT_EQ(-EEXIST, go_wait(&gc));
	EXPECT_EQ(a.id, b.id);
	ASSERT_EQ(0, te_stats(&s));
	EXPECT_EQ(3, s.mrs);
	EXPECT_EQ(0, do_unregister(&a));
	EXPECT_EQ(0, pair_xfer(p, TE_WRITE, 0, AT, AT));
	EXPECT_EQ(0, do_unregister(&b));
	EXPECT_EQ(-ENOENT, do_unregister(&b));
	EXPECT_EQ(-ERANGE, pair_refuse(p, &self->r));
}

/* Gone for all but who drains it; the range is free for another one. */
TEST_F_TIMEOUT(race_mr, unregister_against_submit, SLOW)
{
	struct pair *p = &self->p;
	struct job j = { .te = p->ini, .id = p->lmr };
	size_t len = p->local.len - 2 * p->margin;
	struct te_ioc_stats s;
	struct go g;

	for (j.flags = 0; j.flags <= TE_FORCE; j.flags += TE_FORCE) {
		te_hold("mr_revoked");
		ASSERT_EQ(0, go_start(&g, do_unregister, &j));
		ASSERT_EQ(0, te_delay_wait("mr_revoked", 1));
		EXPECT_EQ(-ERANGE, pair_refuse(p, &self->r));
		EXPECT_EQ(-ENOENT, te_mr_unregister(p->ini, j.id, 0));
		EXPECT_EQ(-ENOENT, te_mr_unregister(p->ini, j.id, TE_FORCE));
		ASSERT_EQ(0, te_mr_register(p->ini, p->local.p + p->margin,
					    len, TE_LOCAL_ALL, NULL,
					    &p->lmr));
		EXPECT_NE(j.id, p->lmr);
		EXPECT_EQ(0, pair_xfer(p, TE_WRITE, AT + LEN, AT, LEN));
		EXPECT_EQ(0, te_delay_wait("mr_revoked", 1));
		te_delay_release("mr_revoked");
		EXPECT_EQ(0, go_wait(&g));
		ASSERT_EQ(0, te_stats(&s));
		EXPECT_EQ(2, s.mrs);
		EXPECT_EQ(0, pair_xfer(p, TE_READ, AT + LEN, AT, LEN));
		j.id = p->lmr;
	}
}

/* Between the check and the queue: plain sees the work, FORCE waits for it. */
TEST_F_TIMEOUT(race_mr, unregister_before_the_queue, SLOW)
{
	struct pair *p = &self->p;
	struct job sub = { .te = p->ini, .batch = self->batch, .r = &self->r };
	struct job un = { .te = p->ini, .id = p->lmr, .flags = TE_FORCE };
	struct go gs, gu;

	te_hold("submit_queue");
	ASSERT_EQ(0, go_start(&gs, do_submit, &sub));
	ASSERT_EQ(0, te_delay_wait("submit_queue", 1));
	EXPECT_EQ(-EBUSY, te_mr_unregister(p->ini, p->lmr, 0));
	te_hold("mr_revoked");
	ASSERT_EQ(0, go_start(&gu, do_unregister, &un));
	ASSERT_EQ(0, te_delay_wait("mr_revoked", 1));
	EXPECT_EQ(-ENOENT, te_mr_unregister(p->ini, p->lmr, 0));
	te_delay_release("submit_queue");
	EXPECT_EQ(0, go_wait(&gs));
	/* It had the region when it was accepted. */
	EXPECT_ENDED(p->ini, self->batch, TE_COMPLETED, 0, LEN);
	pair_expect(p, &self->r);
	EXPECT_EQ(0, te_delay_wait("mr_revoked", 1));
	te_delay_release("mr_revoked");
	EXPECT_EQ(0, go_wait(&gu));
	EXPECT_EQ(0, pair_check(p));
	EXPECT_EQ(0, te_batch_free(p->ini, self->batch));
}

/* The mover has the task in hand when FORCE comes. */
TEST_F_TIMEOUT(race_mr, force_against_posting, SLOW)
{
	struct pair *p = &self->p;
	struct job sub = { .te = p->ini, .batch = self->batch, .r = &self->r };
	struct job un = { .te = p->ini, .id = p->lmr, .flags = TE_FORCE };
	struct te_status st;
	struct go g;

	te_hold("ep_found");
	ASSERT_EQ(0, do_submit(&sub));
	ASSERT_EQ(0, te_delay_wait("ep_found", 1));
	EXPECT_EQ(-EBUSY, te_mr_unregister(p->ini, p->lmr, 0));
	te_hold("mr_revoked");
	ASSERT_EQ(0, go_start(&g, do_unregister, &un));
	ASSERT_EQ(0, te_delay_wait("mr_revoked", 1));
	te_delay_release("mr_revoked");
	EXPECT_EQ(0, te_delay_wait("ep_found", 1));
	te_delay_release("ep_found");
	/* Cancelled, unless it was moved before that was seen. */
	EXPECT_EQ(0, go_wait(&g));
	ASSERT_EQ(0, te_status(p->ini, self->batch, 0, &st));
	if (st.state == TE_COMPLETED) {
		EXPECT_ENDED(p->ini, self->batch, TE_COMPLETED, 0, LEN);
		pair_expect(p, &self->r);
	} else {
		EXPECT_ENDED(p->ini, self->batch, TE_CANCELED, -ECANCELED, 0);
	}
	/* Ours again: what is put there now is not moved. */
	area_fill(&p->local, 77);
	EXPECT_EQ(0, te_batch_free(p->ini, self->batch));
	EXPECT_EQ(0, pair_check(p));
}

TEST_F_TIMEOUT(race_mr, target_unregisters_against_posting, SLOW)
{
	struct pair *p = &self->p;
	struct job sub = { .te = p->ini, .batch = self->batch, .r = &self->r };

	te_hold("ep_found");
	ASSERT_EQ(0, do_submit(&sub));
	ASSERT_EQ(0, te_delay_wait("ep_found", 1));
	EXPECT_EQ(0, te_mr_unregister(p->tgt, p->rmr, 0));
	ASSERT_EQ(0, te_await_buffers(p->ini, p->seg, 0));
	EXPECT_EQ(0, te_delay_wait("ep_found", 1));
	te_delay_release("ep_found");
	EXPECT_ENDED(p->ini, self->batch, TE_FAILED, -ESTALE, 0);
	EXPECT_EQ(0, pair_check(p));
}

/* A closed segment's accepted requests go on, wherever they are. */
TEST_F_TIMEOUT(race_mr, segment_close_against_submit, SLOW)
{
	static const char *const points[] = { "submit_queue", "ep_found" };
	struct pair *p = &self->p;
	struct job sub = { .te = p->ini, .batch = self->batch, .r = &self->r };
	struct job cl = { .te = p->ini, .id = p->seg };
	struct te_ioc_stats s;
	struct go gs, gc;
	size_t i;

	for (i = 0; i < ROWS(points); i++) {
		te_hold(points[i]);
		ASSERT_EQ(0, go_start(&gs, do_submit, &sub));
		ASSERT_EQ(0, te_delay_wait(points[i], 1));
		ASSERT_EQ(0, go_start(&gc, do_seg_close, &cl));
		if (i) {
			EXPECT_EQ(0, go_wait(&gc));
			EXPECT_EQ(-ENOENT, te_segment_close(p->ini, p->seg));
			EXPECT_EQ(-ENOENT, pair_refuse(p, &self->r));
			ASSERT_EQ(0, te_stats(&s));
			EXPECT_EQ(1, s.segments);
		}
		EXPECT_EQ(0, te_delay_wait(points[i], 1));
		te_delay_release(points[i]);
		EXPECT_EQ(0, go_wait(&gs));
		if (!i)
			EXPECT_EQ(0, go_wait(&gc));
		EXPECT_ENDED(p->ini, self->batch, TE_COMPLETED, 0, LEN);
		pair_expect(p, &self->r);
		EXPECT_EQ(0, pair_check(p));
		EXPECT_EQ(0, te_settle_one(offsetof(struct te_ioc_stats,
						    segments), 0, TE_WAIT_MS));

		ASSERT_EQ(0, te_open_segment(p->ini, p->name, &p->seg));
		cl.id = p->seg;
		EXPECT_EQ(0, te_batch_free(p->ini, self->batch));
		ASSERT_EQ(0, new_batch(p->ini, &self->batch));
		sub.batch = self->batch;
		self->r = pair_req(p, TE_READ, AT + LEN, AT, LEN);
	}
}

/* Described, but closed by its owner before the opener has its id. */
TEST_F_TIMEOUT(race_mr, segment_gone_while_opened, SLOW)
{
	struct pair *p = &self->p;
	struct job j = { .te = p->ini, .name = p->name };
	struct te_request r = self->r;
	struct go g;

	te_hold("seg_opened");
	ASSERT_EQ(0, go_start(&g, do_open, &j));
	ASSERT_EQ(0, te_delay_wait("seg_opened", 1));
	te_close(p->tgt);
	p->tgt = NULL;
	/* Both segments are told at once: look at the one that we see. */
	EXPECT_EQ(-ESTALE, te_await_gone(p->ini, p->seg));
	EXPECT_EQ(0, te_delay_wait("seg_opened", 1));
	te_delay_release("seg_opened");
	ASSERT_EQ(0, go_wait(&g));
	EXPECT_NE(p->seg, j.id);
	EXPECT_EQ(-ESTALE, te_await_gone(p->ini, j.id));
	r.segment = j.id;
	EXPECT_EQ(-ESTALE, pair_refuse(p, &r));
	EXPECT_EQ(0, te_segment_close(p->ini, j.id));
	EXPECT_EQ(-ENOENT, te_segment_close(p->ini, j.id));
	EXPECT_EQ(0, pair_check(p));
}

/*
 * The target closes while a submit is between its checks and the queue. Its NIC
 * or its session is the first to tell; the memory is closed either way.
 */
TEST_F_TIMEOUT(race_mr, segment_gone_before_the_queue, SLOW)
{
	struct pair *p = &self->p;
	struct job sub = { .te = p->ini, .batch = self->batch, .r = &self->r };
	struct te_status st;
	struct go g;

	te_hold("submit_queue");
	ASSERT_EQ(0, go_start(&g, do_submit, &sub));
	ASSERT_EQ(0, te_delay_wait("submit_queue", 1));
	te_close(p->tgt);
	p->tgt = NULL;
	EXPECT_EQ(0, te_settle_one(offsetof(struct te_ioc_stats, mrs), 1,
				   TE_WAIT_MS));
	EXPECT_EQ(0, te_delay_wait("submit_queue", 1));
	te_delay_release("submit_queue");
	EXPECT_EQ(0, go_wait(&g));
	EXPECT_EQ(-ESTALE, te_await_gone(p->ini, p->seg));
	EXPECT_EQ(0, te_wait(p->ini, self->batch, TE_WAIT_MS));
	ASSERT_EQ(0, te_batch_status(p->ini, self->batch, &st));
	EXPECT_TRUE(st.error == -ESTALE || st.error == -EREMOTEIO) {
		TH_LOG("%d", st.error);
	}
	EXPECT_ENDED(p->ini, self->batch, TE_FAILED, st.error, 0);
	EXPECT_EQ(0, pair_check(p));
}

TEST_HARNESS_MAIN

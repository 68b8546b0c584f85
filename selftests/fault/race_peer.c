// SPDX-License-Identifier: GPL-2.0-only
/*
 * A session that is lost in the midst of everything: before a submit queues,
 * while a mover posts, while a segment is opened, while the peer accepts a data
 * connection. The segment under test goes through a proxy; cutting one end of
 * it is the loss. And a peer that is connected to while another has work.
 */
#include <stddef.h>

#include "lib/test.h"
#include "lib/fault.h"
#include "lib/go.h"
#include "lib/module.h"
#include "lib/pair.h"
#include "lib/proxy.h"

#define LEN	(64 * KIB)
#define AT	(8 * KIB)

/* What a call in another thread needs, and what it answers. */
struct job {
	struct te *te;
	const struct te_request *r;
	const char *url;
	uint32_t batch, seg;
};

FIXTURE(race_peer)
{
	struct pair p;
	struct proxy proxy;
	char url[300];
	struct te_request r;
	struct job job;
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

static int do_open(void *arg)
{
	struct job *j = arg;
	struct te_segment_opts o = { .sz = sizeof(o), .timeout_ms = TE_WAIT_MS };

	return te_segment_open(j->te, j->url, &o, &j->seg);
}

static int do_submit(void *arg)
{
	struct job *j = arg;

	return te_submit(j->te, j->batch, j->r, 1);
}

FIXTURE_SETUP(race_peer)
{
	struct pair *p = &self->p;
	struct job *j = &self->job;

	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, pair_open(p, NULL));
	ASSERT_EQ(0, te_segment_close(p->ini, p->seg));
	ASSERT_EQ(0, proxy_start(&self->proxy));
	proxy_url(&self->proxy, self->url, sizeof(self->url), p->name);
	j->te = p->ini;
	j->url = self->url;
	ASSERT_EQ(0, do_open(j));
	p->seg = j->seg;
	ASSERT_EQ(0, new_batch(p->ini, &j->batch));
	self->r = pair_req(p, TE_WRITE, AT + LEN, AT, LEN);
	j->r = &self->r;
}

FIXTURE_TEARDOWN(race_peer)
{
	EXPECT_EQ(0, pair_carry_only(&self->p, NULL));
	pair_close(&self->p);
	proxy_stop(&self->proxy);
	CLEAN();
	EXPECT_EQ(0, te_settle_all());
}

/*
 * The only task has one end and one entry: moved, with all its bytes where they
 * belong, or failed for the loss, with none. Returns its state.
 */
static int ended(struct pair *p, const struct job *j)
{
	struct te_completion c[2];
	struct te_status st;

	if (te_wait(p->ini, j->batch, TE_WAIT_MS) ||
	    te_status(p->ini, j->batch, 0, &st) ||
	    te_poll(p->ini, c, 2) != 1 || c[0].state != st.state ||
	    c[0].error != st.error || c[0].bytes != st.bytes)
		return -EBADMSG;
	if (st.state == TE_COMPLETED && st.bytes == LEN)
		pair_expect(p, j->r);
	else if (st.state != TE_FAILED || st.error != -ECONNRESET || st.bytes)
		printf("# state %u error %d bytes %llu\n", st.state, st.error,
		       (unsigned long long)st.bytes);
	return pair_check(p) ?: (int)st.state;
}

TEST_F_TIMEOUT(race_peer, lost_before_the_queue, SLOW)
{
	struct pair *p = &self->p;
	struct job *j = &self->job;
	struct te_status st;
	struct go g;

	ASSERT_EQ(0, pair_xfer(p, TE_READ, AT, AT, LEN));
	te_hold("submit_queue");
	ASSERT_EQ(0, go_start(&g, do_submit, j));
	ASSERT_EQ(0, te_delay_wait("submit_queue", 1));
	te_hold("session_lost");
	proxy_cut(&self->proxy, PROXY_ASKING);
	ASSERT_EQ(0, te_delay_wait("session_lost", 1));
	te_delay_release("submit_queue");
	EXPECT_EQ(0, go_wait(&g));
	EXPECT_EQ(TE_FAILED, ended(p, j));
	ASSERT_EQ(0, te_status(p->ini, j->batch, 0, &st));
	EXPECT_EQ(-ECONNRESET, st.error);
	EXPECT_EQ(0, te_delay_wait("session_lost", 1));
	te_delay_release("session_lost");
	EXPECT_EQ(-ESTALE, te_await_gone(p->ini, p->seg));
}

/* The peer is dead already, the segment does not know it yet. */
TEST_F_TIMEOUT(race_peer, submit_and_open_amid_loss, SLOW)
{
	struct pair *p = &self->p;
	struct job *j = &self->job;
	uint32_t old = p->seg;

	te_hold("session_lost");
	proxy_cut(&self->proxy, PROXY_ASKING);
	ASSERT_EQ(0, te_delay_wait("session_lost", 1));
	EXPECT_EQ(0, do_submit(j));
	EXPECT_EQ(TE_FAILED, ended(p, j));
	/* A new session does not wait for the old one to end. */
	ASSERT_EQ(0, do_open(j));
	p->seg = j->seg;
	EXPECT_EQ(0, pair_xfer(p, TE_WRITE, AT, AT, LEN));
	EXPECT_EQ(0, te_delay_wait("session_lost", 1));
	te_delay_release("session_lost");
	EXPECT_EQ(-ESTALE, te_await_gone(p->ini, old));
	EXPECT_EQ(-ESTALE, pair_refuse(p, j->r));
	EXPECT_EQ(0, te_segment_close(p->ini, old));
	EXPECT_EQ(0, pair_xfer(p, TE_READ, AT + LEN, AT, LEN));
}

/*
 * The mover has looked its endpoint up; the next thing it does is too late. One
 * NIC does it all, and has moved something before: its endpoint is there, and idle
 * when it is found.
 */
TEST_F_TIMEOUT(race_peer, lost_against_posting, SLOW)
{
	struct pair *p = &self->p;
	struct job *j = &self->job;
	int state;

	ASSERT_EQ(0, pair_carry_only(p, getenv("TE_DEV_A")));
	ASSERT_EQ(0, pair_xfer(p, TE_READ, AT, AT, LEN));
	te_hold("ep_found");
	ASSERT_EQ(0, do_submit(j));
	ASSERT_EQ(0, te_delay_wait("ep_found", 1));
	proxy_cut(&self->proxy, PROXY_ASKING);
	EXPECT_EQ(-ESTALE, te_await_gone(p->ini, p->seg));
	EXPECT_EQ(0, te_delay_wait("ep_found", 1));
	te_delay_release("ep_found");
	state = ended(p, j);
	/* Gone before anything was cut: nothing is posted. */
	EXPECT_EQ(TE_FAILED, state);
}

/* The same while it connects: the mover does not wait for that. */
TEST_F_TIMEOUT(race_peer, lost_against_connect, SLOW)
{
	struct pair *p = &self->p;
	struct job *j = &self->job;

	te_hold("ep_connect");
	ASSERT_EQ(0, do_submit(j));
	ASSERT_EQ(0, te_delay_wait("ep_connect", 1));
	proxy_cut(&self->proxy, PROXY_ASKING);
	EXPECT_EQ(TE_FAILED, ended(p, j));
	EXPECT_EQ(0, te_delay_wait("ep_connect", 1));
	te_delay_release("ep_connect");
}

/* The answering end is lost when it has accepted a connection of the peer. */
TEST_F_TIMEOUT(race_peer, lost_against_accept, SLOW)
{
	struct pair *p = &self->p;
	struct job *j = &self->job;

	te_hold("conn_publish");
	ASSERT_EQ(0, do_submit(j));
	ASSERT_EQ(0, te_delay_wait("conn_publish", 1));
	te_hold("session_lost");
	proxy_cut(&self->proxy, PROXY_ANSWERING);
	ASSERT_EQ(0, te_delay_wait("session_lost", 1));
	te_delay_release("session_lost");
	EXPECT_EQ(0, te_delay_wait("conn_publish", 1));
	te_delay_release("conn_publish");
	/* Nobody tells the asking end but its connections. */
	EXPECT_LT(0, ended(p, j));
	proxy_cut(&self->proxy, PROXY_ASKING);
	EXPECT_EQ(-ESTALE, te_await_gone(p->ini, p->seg));
}

/* Asked, not answered: over a session that was there, then over a new one. */
TEST_F_TIMEOUT(race_peer, lost_against_open, SLOW)
{
	struct pair *p = &self->p;
	struct job *j = &self->job;
	struct proxy other;
	char url[300];
	struct go g;

	proxy_pause(&self->proxy);
	ASSERT_EQ(0, go_start(&g, do_open, j));
	ASSERT_EQ(0, proxy_await_pending(&self->proxy));
	proxy_cut(&self->proxy, PROXY_ASKING);
	proxy_resume(&self->proxy);
	/* It was not told no: it dials anew. */
	ASSERT_EQ(0, go_wait(&g));
	EXPECT_EQ(-ESTALE, te_await_gone(p->ini, p->seg));
	p->seg = j->seg;
	EXPECT_EQ(0, pair_xfer(p, TE_WRITE, AT, AT, LEN));

	ASSERT_EQ(0, proxy_start(&other));
	proxy_url(&other, url, sizeof(url), p->name);
	j->url = url;
	proxy_pause(&other);
	ASSERT_EQ(0, go_start(&g, do_open, j));
	ASSERT_EQ(0, proxy_await_pending(&other));
	proxy_cut(&other, PROXY_ASKING);
	EXPECT_EQ(-ECONNRESET, go_wait(&g));
	proxy_stop(&other);
	EXPECT_EQ(0, pair_xfer(p, TE_READ, AT, AT, LEN));
}

/* Described; lost before the opener has its id. */
TEST_F_TIMEOUT(race_peer, lost_while_opened, SLOW)
{
	struct pair *p = &self->p;
	struct job *j = &self->job;
	struct go g;

	te_hold("seg_opened");
	ASSERT_EQ(0, go_start(&g, do_open, j));
	ASSERT_EQ(0, te_delay_wait("seg_opened", 1));
	proxy_cut(&self->proxy, PROXY_ASKING);
	EXPECT_EQ(-ESTALE, te_await_gone(p->ini, p->seg));
	EXPECT_EQ(0, te_delay_wait("seg_opened", 1));
	te_delay_release("seg_opened");
	ASSERT_EQ(0, go_wait(&g));
	EXPECT_EQ(-ESTALE, te_await_gone(p->ini, j->seg));
	p->seg = j->seg;
	self->r.segment = j->seg;
	EXPECT_EQ(-ESTALE, pair_refuse(p, &self->r));
	EXPECT_EQ(0, te_segment_close(p->ini, j->seg));
}

/* One NIC, one mover, one peer that it is connected to. */
FIXTURE(one_mover)
{
	struct pair p;
};

FIXTURE_SETUP(one_mover)
{
	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, module_reload("workers_per_dev=1"));
	ASSERT_EQ(0, pair_open(&self->p, NULL));
	ASSERT_EQ(0, pair_carry_only(&self->p, getenv("TE_DEV_A")));
	ASSERT_EQ(0, pair_xfer(&self->p, TE_READ, AT, AT, LEN));
}

FIXTURE_TEARDOWN(one_mover)
{
	te_delay_release("ep_connect");
	EXPECT_EQ(0, pair_carry_only(&self->p, NULL));
	pair_close(&self->p);
	CLEAN();
	ASSERT_EQ(0, module_reload(""));
}

/* Connecting to the one peer does not hold up what goes to the other. */
TEST_F_TIMEOUT(one_mover, connects_beside_work, SLOW)
{
	struct pair *p = &self->p;
	struct te_request r = pair_req(p, TE_WRITE, AT + LEN, AT, LEN);
	uint32_t batch, i;
	struct te_status st;

	ASSERT_EQ(0, te_open_segment_at(p->ini, 1, p->name, &r.segment));
	ASSERT_EQ(0, new_batch(p->ini, &batch));
	te_hold("ep_connect");
	ASSERT_EQ(0, te_submit(p->ini, batch, &r, 1));
	ASSERT_EQ(0, te_delay_wait("ep_connect", 1));
	for (i = 0; i < 20; i++)
		MUST(pair_xfer(p, i & 1, AT, AT + LEN, LEN));
	ASSERT_EQ(0, te_status(p->ini, batch, 0, &st));
	EXPECT_EQ(TE_PENDING, st.state);
	EXPECT_EQ(0, te_delay_wait("ep_connect", 1));
	te_delay_release("ep_connect");
	EXPECT_EQ(0, te_wait(p->ini, batch, TE_WAIT_MS));
	ASSERT_EQ(0, te_status(p->ini, batch, 0, &st));
	EXPECT_EQ(TE_COMPLETED, st.state);
	EXPECT_EQ(LEN, st.bytes);
	pair_expect(p, &r);
	EXPECT_EQ(0, pair_check(p));
	EXPECT_EQ(0, te_batch_free(p->ini, batch));
}

TEST_HARNESS_MAIN

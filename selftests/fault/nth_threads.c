// SPDX-License-Identifier: GPL-2.0-only
/*
 * The nth allocation of te's own threads fails, for n = 1, 2, ...: those of the
 * movers, and those of its work items. Each n meets a peer that nobody spoke to
 * before: a session, connections, work, and the end of it all. A call answers with
 * an errno that says what it was; work is done, for a try more or less is no
 * matter, or fails for want of memory; afterwards the same works, and nothing is
 * left.
 */
#include "lib/test.h"
#include "lib/nth.h"
#include "lib/pair.h"

#define LEN	(96 * KIB)	/* two slices */
#define AT	(8 * KIB)
#define TASKS	32

FIXTURE(nth_threads)
{
	struct pair p;
	struct te_ioc_stats base;
	unsigned int peers;
};

FIXTURE_SETUP(nth_threads)
{
	nth_start();
	nth_own_workers(true);
	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, pair_open(&self->p, NULL));
	ASSERT_EQ(0, te_stats(&self->base));
	nth_count_allocations(true);
}

FIXTURE_TEARDOWN(nth_threads)
{
	nth_stop();
	nth_own_workers(false);
	pair_close(&self->p);
	CLEAN();
}

static int open_at(struct pair *p, unsigned int n, uint32_t transport,
		   uint32_t *seg)
{
	struct te_segment_opts o = {
		.sz = sizeof(o),
		.transport = transport,
		.timeout_ms = TE_WAIT_MS,
	};
	char url[112];

	snprintf(url, sizeof(url), "127.79.%u.%u/%s", n / 250, n % 250 + 1,
		 p->name);
	return te_segment_open(p->ini, url, &o, seg);
}

/* A task's end: 0 or its error. */
static int outcome(struct te *te, uint32_t batch, uint32_t task)
{
	struct te_status st;
	int ret;

	ret = te_status(te, batch, task, &st);
	if (ret)
		return ret;
	if (st.state == TE_COMPLETED)
		return st.bytes == LEN ? st.error : -EBADMSG;
	return st.state == TE_FAILED && st.error ? st.error : -EBADE;
}

/* Both ways, to the end: 0 with every byte in place, or the first task's error. */
static int work(struct pair *p, uint32_t seg)
{
	struct te_request r[2] = {
		pair_req(p, TE_READ, AT, AT, LEN),
		pair_req(p, TE_WRITE, AT + LEN, AT + LEN, LEN),
	};
	uint32_t batch;
	int ret;

	r[0].segment = seg;
	r[1].segment = seg;
	ret = te_batch_alloc(p->ini, 2, NULL, &batch) ?:
	      te_submit(p->ini, batch, r, 2) ?:
	      te_wait(p->ini, batch, TE_WAIT_MS) ?:
	      outcome(p->ini, batch, 0) ?: outcome(p->ini, batch, 1);
	if (!ret) {
		pair_expect(p, &r[0]);
		pair_expect(p, &r[1]);
		ret = pair_check(p);
	}
	return te_batch_free(p->ini, batch) ?: ret;
}

/* What there was no memory for, at this end, at the other, in the stack between. */
static bool clear(int error)
{
	return error == -ENOMEM || error == -ECONNRESET ||
	       error == -ECONNREFUSED;
}

static const struct {
	const char *name, *threads;
	uint32_t transport;
} rows[] = {
	{ "movers, local", "te/local", TE_LOCAL },
	{ "movers, TCP", "te/tcp", TE_TCP },
	{ "movers, RDMA", "te/rxe", TE_RDMA },
	{ "work items, local", NTH_WORKERS, TE_LOCAL },
	{ "work items, TCP", NTH_WORKERS, TE_TCP },
	{ "work items, RDMA", NTH_WORKERS, TE_RDMA },
};

TEST_F_TIMEOUT(nth_threads, a_new_peer, SLOW)
{
	struct pair *p = &self->p;
	unsigned int hits;
	struct turns t;
	uint32_t seg;
	size_t i;
	int ret;

	for (i = 0; i < ROWS(rows); i++) {
		t = (struct turns){ .each = 1 };
		hits = 0;
		while (next_turn(&t)) {
			/* What is in the way differs each time. */
			area_fill(&p->local, 2 * t.nr);
			area_fill(&p->remote, 2 * t.nr + 1);
			ASSERT_LT(0, nth_arm_threads(rows[i].threads, t.n));
			ret = open_at(p, ++self->peers, rows[i].transport, &seg);
			if (!ret) {
				ret = work(p, seg);
				MUST(te_segment_close(p->ini, seg));
			}
			hits += turn_end(&t, nth_struck_threads());
			EXPECT_TRUE(!ret || clear(ret)) {
				TH_LOG("case: %s, n %u: %d", rows[i].name, t.n,
				       ret);
			}
			EXPECT_ROW(0, te_settle_to(&self->base), "%s, n %u",
				   rows[i].name, t.n);
			if (!ret)
				continue;
			MUST(open_at(p, self->peers, rows[i].transport, &seg));
			EXPECT_ROW(0, work(p, seg), "%s after n %u",
				   rows[i].name, t.n);
			MUST(te_segment_close(p->ini, seg));
		}
		EXPECT_ROW(true, ran_out(&t), "%s", rows[i].name);
		EXPECT_ROW(true, hits > 0, "%s", rows[i].name);
	}
}

/* A context with more work than is done by when it ends. */
static int begin(struct pair *p, uint32_t seg)
{
	struct te_request r[TASKS];
	uint32_t batch;
	int ret, i;

	for (i = 0; i < TASKS; i++) {
		r[i] = pair_req(p, i % 2 ? TE_WRITE : TE_READ, AT, AT, 2 * LEN);
		r[i].segment = seg;
	}
	ret = te_batch_alloc(p->ini, TASKS, NULL, &batch);
	return ret ?: te_submit(p->ini, batch, r, TASKS);
}

TEST_F_TIMEOUT(nth_threads, the_end, SLOW)
{
	struct te_ioc_stats base;
	unsigned int hits = 0;
	struct turns t;
	struct pair p;
	uint32_t seg;
	size_t i;

	ASSERT_EQ(0, te_stats(&base));
	for (i = 0; i < ROWS(rows); i++) {
		t = (struct turns){ .each = 1 };
		while (next_turn(&t)) {
			MUST(pair_open(&p, NULL));
			MUST(open_at(&p, 59999 + i, rows[i].transport, &seg));
			/* Connected; and alike, whatever moves how far. */
			MUST(work(&p, seg));
			memcpy(p.local.p, p.remote.p, p.local.len);
			memcpy(p.local.want, p.remote.p, p.local.len);
			MUST(begin(&p, seg));
			ASSERT_LT(0, nth_arm_threads(rows[i].threads, t.n));
			te_close(p.ini);
			te_close(p.tgt);
			p.ini = NULL;
			p.tgt = NULL;
			EXPECT_ROW(0, te_settle_to(&base), "%s, n %u",
				   rows[i].name, t.n);
			hits += turn_end(&t, nth_struck_threads());
			MUST(pair_check(&p));
			pair_close(&p);
		}
		EXPECT_ROW(true, ran_out(&t), "%s", rows[i].name);
	}
	EXPECT_LT(0, hits);
	EXPECT_EQ(0, pair_xfer(&self->p, TE_READ, AT, AT, LEN));
}

TEST_HARNESS_MAIN

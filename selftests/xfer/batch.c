// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a batch holds: many requests, several segments, several submits up to
 * its capacity and not one more, requests of no length.
 */
#include <stdlib.h>

#include "lib/test.h"
#include "lib/pair.h"

FIXTURE(batch)
{
	struct pair p;
};

FIXTURE_SETUP(batch)
{
	ASSERT_EQ(0, te_settle());
}

FIXTURE_TEARDOWN(batch)
{
	pair_close(&self->p);
	CLEAN();
}

/* Reads and writes of mixed lengths, in an order that is not theirs. */
TEST_F_TIMEOUT(batch, many_requests, SLOW)
{
	enum { NR = 2000, CELL = 1024 };
	struct pair_opts o = {
		.local = NR * CELL + 16 * KIB,
		.remote = NR * CELL + 16 * KIB,
	};
	struct te_request *r = calloc(NR, sizeof(*r));
	size_t i, at, lo, ro;

	ASSERT_NE(NULL, r);
	ASSERT_EQ(0, pair_open(&self->p, &o));
	for (i = 0; i < NR; i++) {
		at = i * 769 % NR;	/* coprime: a permutation */
		lo = 8 * KIB + at * CELL + at % 64;
		ro = 8 * KIB + i * CELL + i % 61;
		r[i] = pair_req(&self->p, at & 1, lo, ro, 1 + i * 31 % 950);
	}
	EXPECT_EQ(0, pair_run(&self->p, r, NR));
	free(r);
}

/* As many as there are slots for. */
TEST_F_TIMEOUT(batch, fills_all_slots, SLOW)
{
	struct pair_opts o = { .task_slots = 64 };
	struct te_request r[63];
	uint32_t i, batch, more;

	ASSERT_EQ(0, pair_open(&self->p, &o));
	for (i = 0; i < 63; i++)
		r[i] = pair_req(&self->p, TE_WRITE, 8 * KIB + i * 512,
				8 * KIB + i * 512, 100 + i);
	EXPECT_EQ(0, pair_run(&self->p, r, 63));

	EXPECT_EQ(-E2BIG, te_batch_alloc(self->p.ini, 64, NULL, &batch));
	ASSERT_EQ(0, te_batch_alloc(self->p.ini, 63, NULL, &batch));
	EXPECT_EQ(-EBUSY, te_batch_alloc(self->p.ini, 1, NULL, &more));
	EXPECT_EQ(0, te_batch_free(self->p.ini, batch));
	EXPECT_EQ(0, pair_run(&self->p, r, 63));
}

/* Small batches come and go; their slots and ids are found again and again. */
TEST_F_TIMEOUT(batch, slots_come_back, SLOW)
{
	enum { HELD = 5 };
	struct pair_opts o = { .task_slots = 64 };
	uint32_t held[HELD] = { 0 }, last = 0;
	struct te_status st;
	struct te_request r;
	unsigned int i;

	ASSERT_EQ(0, pair_open(&self->p, &o));
	r = pair_req(&self->p, TE_WRITE, 8 * KIB, 8 * KIB, 64);
	pair_expect(&self->p, &r);
	for (i = 0; i < 600; i++) {
		uint32_t *b = &held[i % HELD];
		uint32_t n = 1 + i * 7 % 11, k;

		if (*b)
			ASSERT_EQ(0, te_batch_free(self->p.ini, *b));
		ASSERT_EQ(0, te_batch_alloc(self->p.ini, n, NULL, b));
		ASSERT_NE(0, *b);
		ASSERT_NE(last, *b);
		last = *b;
		for (k = 0; k < n; k++) {
			ASSERT_EQ(0, te_status(self->p.ini, *b, k, &st));
			ASSERT_EQ(TE_INVALID, st.state) {
				TH_LOG("task %u of a new batch of %u", k, n);
			}
		}
		ASSERT_EQ(0, te_submit(self->p.ini, *b, &r, 1));
		ASSERT_EQ(0, te_wait(self->p.ini, *b, TE_WAIT_MS));
		ASSERT_EQ(0, te_status(self->p.ini, *b, 0, &st));
		ASSERT_EQ(TE_COMPLETED, st.state);
		ASSERT_EQ(64, st.bytes);
	}
	EXPECT_EQ(0, pair_check(&self->p));
}

struct target {
	struct te *te;
	struct area mem;
	uint32_t seg;
};

TEST_F_TIMEOUT(batch, several_segments, SLOW)
{
	enum { NR = 3 };
	struct target t[NR];
	struct te_request r[NR * 8];
	uint32_t batch, mr, i, k;
	struct te_status st;

	ASSERT_EQ(0, pair_open(&self->p, NULL));
	for (i = 0; i < NR; i++) {
		const char *name = te_unique_name();

		ASSERT_EQ(0, area_alloc(&t[i].mem, 64 * KIB));
		area_fill(&t[i].mem, 10 + i);
		ASSERT_EQ(0, te_open(&t[i].te, NULL));
		ASSERT_EQ(0, te_mr_register(t[i].te, t[i].mem.p, t[i].mem.len,
					    TE_REMOTE_ALL, NULL, &mr));
		ASSERT_EQ(0, te_segment_export(t[i].te, name, NULL));
		ASSERT_EQ(0, te_open_segment(self->p.ini, name, &t[i].seg));
	}
	for (i = 0; i < NR * 8; i++) {
		struct target *to = &t[i % NR];
		size_t lo = 8 * KIB + i * 8 * KIB, ro = i / NR * 8 * KIB;

		r[i] = pair_req(&self->p, i / NR & 1, lo, 0, 8000);
		r[i].segment = to->seg;
		r[i].remote_addr = (uintptr_t)to->mem.p + ro;
		if (r[i].opcode == TE_READ)
			memcpy(self->p.local.want + lo, to->mem.want + ro, 8000);
		else
			memcpy(to->mem.want + ro, self->p.local.want + lo, 8000);
	}
	ASSERT_EQ(0, te_batch_alloc(self->p.ini, NR * 8, NULL, &batch));
	ASSERT_EQ(0, te_submit(self->p.ini, batch, r, NR * 8));
	EXPECT_EQ(0, te_wait(self->p.ini, batch, TE_WAIT_MS));
	for (k = 0; k < NR * 8; k++) {
		EXPECT_EQ(0, te_status(self->p.ini, batch, k, &st));
		EXPECT_ROW(TE_COMPLETED, st.state, "task %u", k);
		EXPECT_ROW(8000, st.bytes, "task %u", k);
	}
	EXPECT_EQ(0, pair_check(&self->p));
	for (i = 0; i < NR; i++) {
		EXPECT_EQ(0, area_check(&t[i].mem, "a segment"));
		te_close(t[i].te);
		area_free(&t[i].mem);
	}
}

TEST_F_TIMEOUT(batch, capacity, SLOW)
{
	enum { NR = 10 };
	struct te_request r[NR + 1];
	uint32_t batch, i, done = 0;
	struct te_status st;

	ASSERT_EQ(0, pair_open(&self->p, NULL));
	for (i = 0; i <= NR; i++)
		r[i] = pair_req(&self->p, TE_WRITE, 8 * KIB + i * 4 * KIB,
				8 * KIB + i * 4 * KIB, 4 * KIB);

	ASSERT_EQ(0, te_batch_alloc(self->p.ini, NR, NULL, &batch));
	EXPECT_EQ(-E2BIG, te_submit(self->p.ini, batch, r, NR + 1));
	EXPECT_EQ(0, te_batch_status(self->p.ini, batch, &st));
	EXPECT_EQ(TE_WAITING, st.state);

	/* 1, 2, 3 and 4 requests, the later ones while others may run. */
	for (i = 1; i <= 4; i++) {
		EXPECT_EQ(0, te_submit(self->p.ini, batch, r + done, i));
		done += i;
		if (i == 2)
			EXPECT_EQ(0, te_wait(self->p.ini, batch, TE_WAIT_MS));
		if (i == 3)
			EXPECT_EQ(-E2BIG, te_submit(self->p.ini, batch,
						    r + done, 5));
	}
	EXPECT_EQ(-E2BIG, te_submit(self->p.ini, batch, r + NR, 1));
	EXPECT_EQ(0, te_wait(self->p.ini, batch, TE_WAIT_MS));
	EXPECT_EQ(-E2BIG, te_submit(self->p.ini, batch, r + NR, 1));

	for (i = 0; i < NR; i++) {
		EXPECT_EQ(0, te_status(self->p.ini, batch, i, &st));
		EXPECT_ROW(TE_COMPLETED, st.state, "task %u", i);
		pair_expect(&self->p, &r[i]);
	}
	EXPECT_EQ(0, te_batch_status(self->p.ini, batch, &st));
	EXPECT_EQ(TE_COMPLETED, st.state);
	EXPECT_EQ(NR * 4 * KIB, st.bytes);
	EXPECT_EQ(0, pair_check(&self->p));
	EXPECT_EQ(0, te_batch_free(self->p.ini, batch));
	EXPECT_EQ(-ENOENT, te_batch_free(self->p.ini, batch));
	EXPECT_EQ(-ENOENT, te_submit(self->p.ini, batch, r, 1));
	EXPECT_EQ(-ENOENT, te_wait(self->p.ini, batch, 0));
}

TEST_F_TIMEOUT(batch, requests_of_no_length, SLOW)
{
	struct te_batch_opts o = {
		.sz = sizeof(o),
		.entries = TE_ENTRIES_TASK,
	};
	struct te_completion c[4];
	struct te_request r[3];
	struct te_status st;
	uint32_t batch, i;

	ASSERT_EQ(0, pair_open(&self->p, NULL));
	for (i = 0; i < 3; i++) {
		r[i] = pair_req(&self->p, i & 1, 0, 0, 0);
		r[i].user_data = 100 + i;
	}
	r[2].local_addr = 1;
	r[2].remote_addr = ~0ULL;

	ASSERT_EQ(0, te_batch_alloc(self->p.ini, 3, &o, &batch));
	EXPECT_EQ(0, te_submit(self->p.ini, batch, r, 3));
	EXPECT_EQ(0, te_wait(self->p.ini, batch, 0));
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(0, te_status(self->p.ini, batch, i, &st));
		EXPECT_EQ(TE_COMPLETED, st.state);
		EXPECT_EQ(0, st.error);
		EXPECT_EQ(0, st.bytes);
	}
	ASSERT_EQ(3, te_poll(self->p.ini, c, 4));
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(TE_COMPLETED, c[i].state);
		EXPECT_EQ(100 + i, c[i].user_data);
		EXPECT_EQ(batch, c[i].batch);
		EXPECT_EQ(i, c[i].task);
		EXPECT_EQ(0, c[i].bytes);
	}
	EXPECT_EQ(0, te_batch_free(self->p.ini, batch));
	EXPECT_EQ(0, pair_check(&self->p));
}

/* A context may be on both sides of its own transfer. */
TEST_F_TIMEOUT(batch, own_segment, SLOW)
{
	struct te_request r;
	const char *name = te_unique_name();
	struct te_status st;
	uint32_t batch, seg, mr;

	ASSERT_EQ(0, pair_open(&self->p, NULL));
	ASSERT_EQ(0, te_mr_register(self->p.ini, self->p.remote.p,
				    self->p.remote.len, TE_REMOTE_ALL, NULL,
				    &mr));
	ASSERT_EQ(0, te_segment_export(self->p.ini, name, NULL));
	ASSERT_EQ(0, te_open_segment(self->p.ini, name, &seg));
	r = pair_req(&self->p, TE_WRITE, 8 * KIB, 100, 100000);
	r.segment = seg;
	ASSERT_EQ(0, te_batch_alloc(self->p.ini, 1, NULL, &batch));
	ASSERT_EQ(0, te_submit(self->p.ini, batch, &r, 1));
	EXPECT_EQ(0, te_wait(self->p.ini, batch, TE_WAIT_MS));
	EXPECT_EQ(0, te_status(self->p.ini, batch, 0, &st));
	EXPECT_EQ(TE_COMPLETED, st.state);
	pair_expect(&self->p, &r);
	EXPECT_EQ(0, pair_check(&self->p));
}

TEST_HARNESS_MAIN

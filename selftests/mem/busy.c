// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unregister with the context's own work in flight: refused, or with TE_FORCE
 * ended first. After it has returned nothing touches the memory any more. The
 * work is more than can be done before the calls are made.
 */
#include "lib/test.h"
#include "lib/pair.h"

#define LEN	(16 * MIB)
#define NR	1000

FIXTURE(busy)
{
	struct pair p;
	struct te_request r[NR];
	uint32_t batch;
};

FIXTURE_VARIANT(busy)
{
	uint32_t op;
};

FIXTURE_VARIANT_ADD(busy, read) { TE_READ };
FIXTURE_VARIANT_ADD(busy, write) { TE_WRITE };

FIXTURE_SETUP(busy)
{
	struct pair_opts o = {
		.local = LEN + 64 * KIB, .remote = LEN, .margin = ~0UL,
	};
	struct te_batch_opts bo = {
		.sz = sizeof(bo),
		.deadline_ms = TE_MAX_DEADLINE_MS,
	};
	uint32_t second;
	size_t i;

	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, pair_open(&self->p, &o));
	/* A second region of the initiator's, behind the first. */
	ASSERT_EQ(0, te_mr_unregister(self->p.ini, self->p.lmr, 0));
	ASSERT_EQ(0, te_mr_register(self->p.ini, self->p.local.p, LEN,
				    TE_LOCAL_ALL, NULL, &self->p.lmr));
	ASSERT_EQ(0, te_mr_register(self->p.ini, self->p.local.p + LEN,
				    64 * KIB, TE_LOCAL_ALL, NULL, &second));
	area_fill(&self->p.local, 2);
	memset(self->p.local.p + LEN, 5, 64 * KIB);
	for (i = 0; i < NR; i++)
		self->r[i] = pair_req(&self->p, variant->op, 0, 0, LEN);
	ASSERT_EQ(0, te_batch_alloc(self->p.ini, NR, &bo, &self->batch));
	ASSERT_EQ(0, te_submit(self->p.ini, self->batch, self->r, NR));
}

FIXTURE_TEARDOWN(busy)
{
	pair_close(&self->p);
	CLEAN();
}

TEST_F_TIMEOUT(busy, refused, SLOW)
{
	struct te_status st;
	uint32_t again;

	EXPECT_EQ(-EBUSY, te_mr_unregister(self->p.ini, self->p.lmr, 0));
	EXPECT_EQ(0, te_batch_status(self->p.ini, self->batch, &st));
	EXPECT_EQ(TE_PENDING, st.state);
	/* The region is as registered as before, and takes more work. */
	EXPECT_EQ(0, te_mr_register(self->p.ini, self->p.local.p, LEN,
				    TE_LOCAL_ALL, NULL, &again));
	EXPECT_EQ(self->p.lmr, again);
	/* All but the last reference may go. */
	EXPECT_EQ(0, te_mr_unregister(self->p.ini, self->p.lmr, 0));
	EXPECT_EQ(-EBUSY, te_mr_unregister(self->p.ini, self->p.lmr, 0));

	EXPECT_EQ(0, te_cancel(self->p.ini, self->batch));
	EXPECT_EQ(0, te_wait(self->p.ini, self->batch, TE_WAIT_MS));
	EXPECT_EQ(0, te_mr_unregister(self->p.ini, self->p.lmr, 0));
	EXPECT_EQ(-ENOENT, te_mr_unregister(self->p.ini, self->p.lmr, 0));
	EXPECT_EQ(-ERANGE, pair_refuse(&self->p, self->r));
}

TEST_F_TIMEOUT(busy, forced, SLOW)
{
	struct te_request other;
	uint32_t i, canceled = 0, batch;
	struct te_status st;

	/* Work on the other region is none of its business. */
	other = pair_req(&self->p, TE_READ, LEN, 0, 64 * KIB);
	ASSERT_EQ(0, te_batch_alloc(self->p.ini, 1, NULL, &batch));
	ASSERT_EQ(0, te_submit(self->p.ini, batch, &other, 1));

	EXPECT_EQ(0, te_mr_unregister(self->p.ini, self->p.lmr, TE_FORCE));
	pattern_fill(self->p.local.p, LEN, 99);
	EXPECT_EQ(0, te_wait(self->p.ini, self->batch, 0));
	for (i = 0; i < NR; i++) {
		EXPECT_EQ(0, te_status(self->p.ini, self->batch, i, &st));
		if (st.state == TE_COMPLETED && st.bytes == LEN)
			continue;
		canceled++;
		EXPECT_ROW(TE_CANCELED, st.state, "task %u", i);
		EXPECT_ROW(-ECANCELED, st.error, "task %u", i);
	}
	EXPECT_LE(1, canceled);
	EXPECT_EQ(-ENOENT, te_mr_unregister(self->p.ini, self->p.lmr,
					    TE_FORCE));
	te_sleep_ms(300);
	EXPECT_EQ(-1, pattern_check(self->p.local.p, LEN, 99));

	EXPECT_EQ(0, te_wait(self->p.ini, batch, TE_WAIT_MS));
	EXPECT_EQ(0, te_status(self->p.ini, batch, 0, &st));
	EXPECT_EQ(TE_COMPLETED, st.state);
	EXPECT_EQ(64 * KIB, st.bytes);
	EXPECT_EQ(0, memcmp(self->p.local.p + LEN, self->p.remote.p,
			    64 * KIB));
	EXPECT_EQ(0, te_batch_free(self->p.ini, self->batch));
	EXPECT_EQ(0, te_batch_free(self->p.ini, batch));
}

TEST_HARNESS_MAIN

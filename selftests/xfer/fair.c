// SPDX-License-Identifier: GPL-2.0-only
/*
 * A context with very much work in flight delays another one's small request by
 * no more than what is on the wire already. Measured in bytes of the big one,
 * not in time: a slow machine is as fair as a fast one.
 */
#include <sched.h>

#include "lib/test.h"
#include "lib/pair.h"

#define LEN	(16 * MIB)
#define NR	1000

/*
 * What may be on the wire is 1 MiB over each of four rails. Where the mover and the
 * emulated NIC share one CPU that much may move several times over: before the mover
 * sees the request, before the request's turn on the wire, and before the mover sees
 * its end; 21 MiB was the most seen. TCP within a node moves some MiB in each turn of
 * a thread that shares its CPU. An engine that takes tasks in turn without regard to
 * their context lets a turn of 4 slices for each of the big one's go first: 250 MiB.
 */
#define MOST	((raw_transport() == TE_TCP ? 128 : 64) * MIB)

FIXTURE(fair)
{
	struct pair big, small;
	struct te_request r[NR];
	uint32_t batch;
};

FIXTURE_SETUP(fair)
{
	/*
	 * What moves between the small one's end and our looking is no delay of
	 * the small one: look at once, also where all have one CPU.
	 */
	const struct sched_param first = { .sched_priority = 1 };
	struct pair_opts o = {
		.local = LEN, .remote = LEN, .margin = ~0UL,
	};
	struct te_batch_opts bo = {
		.sz = sizeof(bo),
		.deadline_ms = TE_MAX_DEADLINE_MS,
	};
	size_t i;

	ASSERT_EQ(0, sched_setscheduler(0, SCHED_FIFO, &first));
	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, pair_open(&self->big, &o));
	ASSERT_EQ(0, pair_open(&self->small, NULL));
	/* Connects, so that the clock starts with everything in place. */
	ASSERT_EQ(0, pair_xfer(&self->small, TE_WRITE, 8 * KIB, 8 * KIB, 4096));
	for (i = 0; i < NR; i++)
		self->r[i] = pair_req(&self->big, i & 1, 0, 0, LEN);
	ASSERT_EQ(0, te_batch_alloc(self->big.ini, NR, &bo, &self->batch));
	ASSERT_EQ(0, te_submit(self->big.ini, self->batch, self->r, NR));
}

FIXTURE_TEARDOWN(fair)
{
	pair_close(&self->big);
	pair_close(&self->small);
	CLEAN();
}

/* What the big one has moved, to the slice. */
static uint64_t moved(struct te *te, uint32_t batch)
{
	struct te_status st;
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < NR; i++)
		if (!te_status(te, batch, i, &st))
			sum += st.bytes;
	return sum;
}

TEST_F_TIMEOUT(fair, small_beside_big, SLOW)
{
	uint64_t before, first, worst = 0;
	struct te_status st;
	int i;

	for (i = 0; i < 20; i++) {
		before = moved(self->big.ini, self->batch);
		ASSERT_EQ(0, pair_xfer(&self->small, i & 1, 8 * KIB + i,
				       9 * KIB, 4096));
		first = moved(self->big.ini, self->batch) - before;
		ASSERT_GT(MOST, first) {
			TH_LOG("%llu MiB of the big one went first",
			       (unsigned long long)(first >> 20));
		}
		if (first > worst)
			worst = first;
	}
	TH_LOG("at most %llu MiB of the big one went first",
	       (unsigned long long)(worst >> 20));
	/* It was there all the time, and it moves. */
	ASSERT_EQ(0, te_batch_status(self->big.ini, self->batch, &st));
	EXPECT_EQ(TE_PENDING, st.state);
	EXPECT_NE(0, moved(self->big.ini, self->batch));
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ends other than completion: cancel and deadline. The work submitted is far
 * more than any machine moves before the end comes, so what is tested does not
 * hang on speed. A terminal state means that the buffer is quiet: new contents
 * written after it must stay.
 */
#include "lib/test.h"
#include "lib/pair.h"

#define LEN	(16 * MIB)
#define NR	2000		/* 32 GB in all */

FIXTURE(end)
{
	struct pair p;
	struct te_request r[NR];
	uint32_t batch;
};

FIXTURE_VARIANT(end)
{
	uint32_t op;
	uint32_t entries;
};

FIXTURE_VARIANT_ADD(end, read) { TE_READ, TE_ENTRIES_TASK };
FIXTURE_VARIANT_ADD(end, write) { TE_WRITE, TE_ENTRIES_BATCH };

FIXTURE_SETUP(end)
{
	struct pair_opts o = {
		.local = LEN, .remote = LEN, .margin = ~0UL,
	};
	size_t i;

	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, pair_open(&self->p, &o));
	/* A read changes nothing if both sides hold the same. */
	area_fill(&self->p.local, 2);
	for (i = 0; i < NR; i++) {
		self->r[i] = pair_req(&self->p, variant->op, 0, 0, LEN);
		self->r[i].user_data = i;
	}
}

FIXTURE_TEARDOWN(end)
{
	pair_close(&self->p);
	CLEAN();
}

static int start(struct pair *p, const struct te_request *r, uint32_t entries,
		 uint32_t deadline_ms, uint32_t *batch)
{
	struct te_batch_opts o = {
		.sz = sizeof(o),
		.deadline_ms = deadline_ms,
		.entries = entries,
	};
	int ret = te_batch_alloc(p->ini, NR, &o, batch);

	return ret ?: te_submit(p->ini, *batch, r, NR);
}

/* Ended tasks: some completed, the others with @state and @error. */
static int check_ends(struct pair *p, uint32_t batch, uint32_t state, int error)
{
	struct te_status st;
	uint32_t i, bad = 0;
	uint64_t bytes = 0;

	for (i = 0; i < NR; i++) {
		if (te_status(p->ini, batch, i, &st))
			return -1;
		bytes += st.bytes;
		if (st.state == TE_COMPLETED && !st.error && st.bytes == LEN)
			continue;
		if (st.state == state && st.error == error && st.bytes <= LEN)
			bad++;
		else
			goto wrong;
	}
	i = ~0U;
	if (te_batch_status(p->ini, batch, &st))
		return -1;
	if (st.state == state && st.error == error && st.bytes == bytes && bad)
		return 0;
wrong:
	printf("# task %d: state %u error %d bytes %llu; %u ended so; sum %llu\n",
	       (int)i, st.state, st.error, (unsigned long long)st.bytes, bad,
	       (unsigned long long)bytes);
	return -EBADMSG;
}

/* One entry for each task, or one for the batch. */
static int check_entries(struct pair *p, uint32_t batch, uint32_t entries,
			 uint32_t state)
{
	static bool seen[NR];
	struct te_completion c[64];
	uint32_t i, n = 0;
	int got;

	memset(seen, 0, sizeof(seen));
	while ((got = te_poll(p->ini, c, 64)) > 0) {
		for (i = 0; i < (uint32_t)got; i++, n++) {
			if (c[i].batch != batch)
				return -1;
			if (entries == TE_ENTRIES_BATCH) {
				if (c[i].task != ~0U || c[i].state != state)
					return -2;
				continue;
			}
			if (c[i].task >= NR || c[i].user_data != c[i].task ||
			    seen[c[i].task])
				return -3;
			seen[c[i].task] = true;
			if (c[i].state != state && c[i].state != TE_COMPLETED)
				return -4;
		}
	}
	if (n != (entries == TE_ENTRIES_BATCH ? 1 : NR)) {
		printf("# %u entries\n", n);
		return -5;
	}
	return 0;
}

/*
 * Nothing writes to the local buffer (READ), and nothing takes from it any more
 * (WRITE: what is put there now never reaches the target).
 */
static int check_quiet(struct pair *p, uint32_t op)
{
	area_fill(&p->local, 99);
	te_sleep_ms(300);
	if (op == TE_READ)
		return area_check(&p->local, "local memory, after the end");
	return area_check(&p->remote, "remote memory, after the end");
}

TEST_F_TIMEOUT(end, cancel, SLOW)
{
	struct te_status st;

	ASSERT_EQ(0, start(&self->p, self->r, variant->entries,
			   TE_MAX_DEADLINE_MS, &self->batch));
	EXPECT_EQ(-ETIME, te_wait(self->p.ini, self->batch, 0));
	EXPECT_EQ(-EBUSY, te_batch_free(self->p.ini, self->batch));
	EXPECT_EQ(0, te_batch_status(self->p.ini, self->batch, &st));
	EXPECT_EQ(TE_PENDING, st.state);

	EXPECT_EQ(0, te_cancel(self->p.ini, self->batch));
	EXPECT_EQ(0, te_wait(self->p.ini, self->batch, TE_WAIT_MS));
	EXPECT_EQ(0, check_quiet(&self->p, variant->op));
	EXPECT_EQ(0, check_ends(&self->p, self->batch, TE_CANCELED,
				-ECANCELED));
	EXPECT_EQ(0, check_entries(&self->p, self->batch, variant->entries,
				   TE_CANCELED));
	EXPECT_EQ(0, te_cancel(self->p.ini, self->batch));
	EXPECT_EQ(0, te_batch_free(self->p.ini, self->batch));
	EXPECT_EQ(-ENOENT, te_cancel(self->p.ini, self->batch));

	/* The next one is as good as ever. */
	area_fill(&self->p.local, 5);
	EXPECT_EQ(0, pair_xfer(&self->p, variant->op, 1, 3, MIB));
}

TEST_F_TIMEOUT(end, submit_after_cancel, SLOW)
{
	uint32_t batch;

	ASSERT_EQ(0, te_batch_alloc(self->p.ini, 2, NULL, &batch));
	self->r[0].length = 100;
	EXPECT_EQ(0, te_submit(self->p.ini, batch, self->r, 1));
	EXPECT_EQ(0, te_wait(self->p.ini, batch, TE_WAIT_MS));
	EXPECT_EQ(0, te_cancel(self->p.ini, batch));
	EXPECT_EQ(-ECANCELED, te_submit(self->p.ini, batch, self->r, 1));
	EXPECT_EQ(0, te_wait(self->p.ini, batch, TE_WAIT_MS));
	EXPECT_EQ(0, te_batch_free(self->p.ini, batch));
}

TEST_F_TIMEOUT(end, deadline, SLOW)
{
	unsigned long long from = te_now_ms();

	ASSERT_EQ(0, start(&self->p, self->r, variant->entries, 200,
			   &self->batch));
	EXPECT_EQ(-ETIME, te_wait(self->p.ini, self->batch, 0));
	EXPECT_EQ(0, te_wait(self->p.ini, self->batch, TE_WAIT_MS));
	EXPECT_LE(200, te_now_ms() - from);
	EXPECT_EQ(0, check_quiet(&self->p, variant->op));
	EXPECT_EQ(0, check_ends(&self->p, self->batch, TE_TIMEOUT,
				-ETIMEDOUT));
	EXPECT_EQ(0, check_entries(&self->p, self->batch, variant->entries,
				   TE_TIMEOUT));
	EXPECT_EQ(0, te_batch_free(self->p.ini, self->batch));

	area_fill(&self->p.local, 6);
	EXPECT_EQ(0, pair_xfer(&self->p, variant->op, 1, 3, MIB));
}

TEST_HARNESS_MAIN

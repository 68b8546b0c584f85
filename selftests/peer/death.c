// SPDX-License-Identifier: GPL-2.0-only
/*
 * A target is killed in mid-transfer: the initiator's tasks end as FAILED within
 * seconds, none before that, while another segment of the same node goes on with
 * right bytes. What was the target's memory is not written any more.
 */
#include "lib/test.h"
#include "lib/proc.h"

#define LEN	(16 * MIB)
#define NR	1000	/* 16 GB: far from done when the target dies */

FIXTURE(death)
{
	struct server dies, lives;
	struct te *te, *other;
	struct area local;
	uint32_t mr, seg_dies, seg_lives, batch;
};

FIXTURE_VARIANT(death)
{
	uint32_t op;
};

FIXTURE_VARIANT_ADD(death, read) { TE_READ };
FIXTURE_VARIANT_ADD(death, write) { TE_WRITE };

FIXTURE_SETUP(death)
{
	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, server_start(&self->dies, LEN, 0));
	ASSERT_EQ(0, server_start(&self->lives, LEN, 0));
	ASSERT_EQ(0, te_open(&self->te, NULL));
	ASSERT_EQ(0, te_open(&self->other, NULL));
	/* The first LEN for the one that dies, the rest for the other. */
	ASSERT_EQ(0, area_alloc(&self->local, LEN + MIB));
	area_fill(&self->local, 3);
	ASSERT_EQ(0, te_mr_register(self->te, self->local.p, LEN,
				    TE_LOCAL_ALL, NULL, &self->mr));
	ASSERT_EQ(0, te_mr_register(self->other, self->local.p + LEN, MIB,
				    TE_LOCAL_ALL, NULL, &self->mr));
	ASSERT_EQ(0, te_open_segment(self->te, self->dies.name,
				     &self->seg_dies));
	ASSERT_EQ(0, te_open_segment(self->other, self->lives.name,
				     &self->seg_lives));
}

FIXTURE_TEARDOWN(death)
{
	if (self->te)
		te_close(self->te);
	if (self->other)
		te_close(self->other);
	server_kill(&self->dies);
	server_kill(&self->lives);
	area_free(&self->local);
	CLEAN();
}

static int start(struct te *te, uint32_t op, uint32_t seg, void *local,
		 void *remote, uint32_t *batch)
{
	struct te_batch_opts o = {
		.sz = sizeof(o),
		.deadline_ms = TE_MAX_DEADLINE_MS,
	};
	static struct te_request r[NR];
	uint32_t i;
	int ret;

	for (i = 0; i < NR; i++)
		r[i] = (struct te_request) {
			.opcode = op,
			.segment = seg,
			.local_addr = (uintptr_t)local,
			.remote_addr = (uintptr_t)remote,
			.length = LEN,
		};
	ret = te_batch_alloc(te, NR, &o, batch);
	return ret ?: te_submit(te, *batch, r, NR);
}

/* There and back by the other segment, with bytes of this round. */
static int exercise(struct te *te, uint32_t seg, unsigned char *local,
		    unsigned char *remote, unsigned int round)
{
	struct te_request r = {
		.segment = seg,
		.opcode = round & 1,
		.local_addr = (uintptr_t)local + round % 64,
		.remote_addr = (uintptr_t)remote + 4096,
		.length = 100000,
	};
	struct te_status st;
	uint32_t batch;
	int ret;

	pattern_fill(r.opcode == TE_WRITE ? local + round % 64 :
		     remote + 4096, r.length, round);
	ret = te_batch_alloc(te, 1, NULL, &batch);
	ret = ret ?: te_submit(te, batch, &r, 1);
	ret = ret ?: te_wait(te, batch, TE_WAIT_MS);
	ret = ret ?: te_status(te, batch, 0, &st);
	if (ret)
		return ret;
	if (st.state != TE_COMPLETED || st.bytes != r.length) {
		printf("# the other segment: state %u error %d\n", st.state,
		       st.error);
		return -EBADMSG;
	}
	if (pattern_check(local + round % 64, r.length, round) != -1 ||
	    pattern_check(remote + 4096, r.length, round) != -1)
		return -EILSEQ;
	return te_batch_free(te, batch);
}

/* Each task either completed before, or failed for a reason of the peer's. */
static int check_ends(struct te *te, uint32_t batch)
{
	struct te_status st;
	uint32_t i, failed = 0;

	for (i = 0; i < NR; i++) {
		if (te_status(te, batch, i, &st))
			return -1;
		if (st.state == TE_COMPLETED && !st.error && st.bytes == LEN)
			continue;
		if (st.state != TE_FAILED || st.bytes > LEN ||
		    (st.error != -ESTALE && st.error != -EREMOTEIO &&
		     st.error != -ECONNRESET && st.error != -ECONNREFUSED)) {
			printf("# task %u: state %u error %d\n", i, st.state,
			       st.error);
			return -EBADMSG;
		}
		failed++;
	}
	if (te_batch_status(te, batch, &st) || st.state != TE_FAILED ||
	    !st.error)
		return -EBADE;
	return failed ? 0 : -ENOMSG;
}

TEST_F_TIMEOUT(death, in_mid_transfer, SLOW)
{
	unsigned char *beside = self->local.p + LEN;
	unsigned long long from;
	unsigned int round, during = 0;
	struct te_status st;
	int ret;

	ASSERT_EQ(0, start(self->te, variant->op, self->seg_dies,
			   self->local.p, self->dies.mem.p, &self->batch));
	/* behind 16 GB, so each takes seconds where all is slow */
	for (round = 0; round < 4; round++)
		MUST(exercise(self->other, self->seg_lives, beside,
			      self->lives.mem.p, round));
	/* Nothing has failed as long as the target lives. */
	ASSERT_EQ(-ETIME, te_wait(self->te, self->batch, 0));
	ASSERT_EQ(0, te_batch_status(self->te, self->batch, &st));
	ASSERT_EQ(TE_PENDING, st.state);
	ASSERT_EQ(0, st.error);

	from = te_now_ms();
	ASSERT_EQ(128 + SIGKILL, proc_kill(&self->dies.proc));
	while ((ret = te_wait(self->te, self->batch, 0)) == -ETIME) {
		/* Its kernel says so: nothing waits for a time-out. */
		ASSERT_GT(native() ? 3000 : 30000, te_now_ms() - from);
		ASSERT_EQ(0, exercise(self->other, self->seg_lives, beside,
				      self->lives.mem.p, round++));
		during++;
	}
	ASSERT_EQ(0, ret);
	TH_LOG("failed after %d ms, %u rounds of the other segment",
	       (int)(te_now_ms() - from), during);
	EXPECT_EQ(0, check_ends(self->te, self->batch));
	EXPECT_EQ(0, te_batch_free(self->te, self->batch));

	/* Both sides are quiet: what is put there now stays. */
	area_fill(&self->dies.mem, 40);
	pattern_fill(self->local.p, LEN, 41);
	for (round = 100; round < 110; round++)
		MUST(exercise(self->other, self->seg_lives, beside,
			      self->lives.mem.p, round));
	te_sleep_ms(300);
	EXPECT_EQ(0, area_check(&self->dies.mem, "memory of the dead target"));
	EXPECT_EQ(-1, pattern_check(self->local.p, LEN, 41));
}

/* A target that is stopped is served by its kernel as before. */
TEST_F_TIMEOUT(death, target_is_stopped, SLOW)
{
	unsigned int round;

	ASSERT_EQ(0, kill(self->dies.proc.pid, SIGSTOP));
	for (round = 0; round < 10; round++)
		MUST(exercise(self->te, self->seg_dies, self->local.p,
			      self->dies.mem.p, 2 * round + variant->op));
	ASSERT_EQ(0, kill(self->dies.proc.pid, SIGCONT));
	EXPECT_EQ(0, server_order(&self->dies, 'c'));
}

/* Its segment is stale from then on, its name unknown, until it is back. */
TEST_F_TIMEOUT(death, and_afterwards, SLOW)
{
	struct te_request r = {
		.opcode = variant->op,
		.segment = self->seg_dies,
		.local_addr = (uintptr_t)self->local.p,
		.remote_addr = (uintptr_t)self->dies.mem.p,
		.length = 4096,
	};
	unsigned long long end = te_now_ms() + 30000;
	uint32_t batch, seg;
	int ret;

	ASSERT_EQ(0, exercise(self->te, self->seg_dies, self->local.p,
			      self->dies.mem.p, variant->op));
	ASSERT_EQ(128 + SIGKILL, proc_kill(&self->dies.proc));
	do {
		ret = te_segment_info(self->te, self->seg_dies, NULL, 0);
		te_sleep_ms(5);
	} while (ret >= 0 && te_now_ms() < end);
	EXPECT_EQ(-ESTALE, ret);
	ASSERT_EQ(0, te_batch_alloc(self->te, 1, NULL, &batch));
	EXPECT_EQ(-ESTALE, te_submit(self->te, batch, &r, 1));
	EXPECT_EQ(0, te_batch_free(self->te, batch));
	EXPECT_EQ(-ENOENT, te_open_segment(self->te, self->dies.name, &seg));
	EXPECT_EQ(0, te_segment_close(self->te, self->seg_dies));

	server_kill(&self->dies);
	ASSERT_EQ(0, server_start(&self->dies, LEN, 0));
	ASSERT_EQ(0, te_open_segment(self->te, self->dies.name,
				     &self->seg_dies));
	EXPECT_EQ(0, exercise(self->te, self->seg_dies, self->local.p,
			      self->dies.mem.p, variant->op));
}

TEST_HARNESS_MAIN

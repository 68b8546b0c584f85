// SPDX-License-Identifier: GPL-2.0-only
/*
 * A target takes its memory back in mid-transfer, in an orderly way: unregister
 * and close succeed at once though peers use it; from then on not a byte of
 * theirs arrives. munmap takes nothing back.
 */
#include "lib/test.h"
#include "lib/proc.h"

#define LEN	(16 * MIB)
#define NR	1000

FIXTURE(gone)
{
	struct server srv;
	struct te *te;
	struct area local;
	uint32_t mr, seg, batch;
	struct te_request r[NR];
};

FIXTURE_VARIANT(gone)
{
	uint32_t op;
};

FIXTURE_VARIANT_ADD(gone, read) { TE_READ };
FIXTURE_VARIANT_ADD(gone, write) { TE_WRITE };

FIXTURE_SETUP(gone)
{
	size_t i;

	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, server_start(&self->srv, LEN, 0));
	ASSERT_EQ(0, te_open(&self->te, NULL));
	ASSERT_EQ(0, area_alloc(&self->local, LEN));
	area_fill(&self->local, 4);
	ASSERT_EQ(0, te_mr_register(self->te, self->local.p, LEN,
				    TE_LOCAL_ALL, NULL, &self->mr));
	ASSERT_EQ(0, te_open_segment(self->te, self->srv.name, &self->seg));
	for (i = 0; i < NR; i++)
		self->r[i] = (struct te_request) {
			.opcode = variant->op,
			.segment = self->seg,
			.local_addr = (uintptr_t)self->local.p,
			.remote_addr = (uintptr_t)self->srv.mem.p,
			.length = LEN,
		};
}

FIXTURE_TEARDOWN(gone)
{
	if (self->te)
		te_close(self->te);
	server_stop(&self->srv);
	area_free(&self->local);
	CLEAN();
}

/* Submits the first @n and returns when bytes have begun to move. */
static int start(struct te *te, const struct te_request *r, uint32_t n,
		 uint32_t *batch)
{
	struct te_batch_opts o = {
		.sz = sizeof(o),
		.deadline_ms = TE_MAX_DEADLINE_MS,
	};
	unsigned long long end = te_now_ms() + TE_WAIT_MS;
	struct te_status st;
	int ret;

	ret = te_batch_alloc(te, n, &o, batch);
	ret = ret ?: te_submit(te, *batch, r, n);
	do {
		ret = ret ?: te_status(te, *batch, 0, &st);
		te_sleep_ms(1);
	} while (!ret && !st.bytes && te_now_ms() < end);
	return ret ?: st.bytes ? 0 : -ETIME;
}

static int run_one(struct te *te, const struct te_request *r)
{
	struct te_status st;
	uint32_t batch;
	int ret;

	ret = te_batch_alloc(te, 1, NULL, &batch);
	ret = ret ?: te_submit(te, batch, r, 1);
	ret = ret ?: te_wait(te, batch, TE_WAIT_MS);
	ret = ret ?: te_status(te, batch, 0, &st);
	ret = ret ?: te_batch_free(te, batch);
	if (ret)
		return ret;
	return st.state == TE_COMPLETED ? 0 : st.error;
}

static const int reasons[] = { -ESTALE, -EREMOTEIO, -ECONNRESET, -ERANGE };

static int check_failed(struct te *te, uint32_t batch)
{
	struct te_status st;
	size_t i;

	if (te_batch_status(te, batch, &st) || st.state != TE_FAILED)
		return -EBADE;
	for (i = 0; i < ROWS(reasons); i++)
		if (st.error == reasons[i])
			return 0;
	return st.error;
}

TEST_F_TIMEOUT(gone, unregister, SLOW)
{
	unsigned long long from;
	int n;

	ASSERT_EQ(0, start(self->te, self->r, NR, &self->batch));
	from = te_now_ms();
	ASSERT_EQ(0, server_order(&self->srv, 'u'));
	EXPECT_GE(15000, te_now_ms() - from);
	/* Ours again: WRITEs that are still on their way find no door. */
	area_fill(&self->srv.mem, 60);
	ASSERT_EQ(0, te_wait(self->te, self->batch, TE_WAIT_MS));
	EXPECT_EQ(0, check_failed(self->te, self->batch));
	te_sleep_ms(300);
	EXPECT_EQ(0, area_check(&self->srv.mem, "memory taken back"));
	EXPECT_EQ(0, te_batch_free(self->te, self->batch));

	/* The segment is there, without memory; with it again it works. */
	ASSERT_EQ(0, te_await_buffers(self->te, self->seg, 0));
	EXPECT_EQ(-ERANGE, run_one(self->te, self->r));
	for (n = 0; n < 5; n++) {
		ASSERT_EQ(0, server_order(&self->srv, 'r'));
		ASSERT_EQ(0, te_await_buffers(self->te, self->seg, 1));
		area_fill(&self->srv.mem, 61 + n);
		area_fill(&self->local, 71 + n);
		EXPECT_EQ(0, run_one(self->te, self->r));
		EXPECT_EQ(-1, pattern_check(self->srv.mem.p, LEN,
					    variant->op == TE_READ ?
					    61 + n : 71 + n));
		EXPECT_EQ(0, memcmp(self->srv.mem.p, self->local.p, LEN));
		ASSERT_EQ(0, server_order(&self->srv, 'u'));
		ASSERT_EQ(0, te_await_buffers(self->te, self->seg, 0));
	}
}

TEST_F_TIMEOUT(gone, close, SLOW)
{
	unsigned long long end;
	uint32_t seg;
	int ret;

	ASSERT_EQ(0, start(self->te, self->r, NR, &self->batch));
	ASSERT_EQ(0, server_order(&self->srv, 'c'));
	ASSERT_EQ(0, te_wait(self->te, self->batch, TE_WAIT_MS));
	EXPECT_EQ(0, check_failed(self->te, self->batch));
	/* Close cleans up behind itself; then nothing may come. */
	EXPECT_EQ(0, te_settle_one(__builtin_offsetof(struct te_ioc_stats,
						      mrs), 1, 30000));
	area_fill(&self->srv.mem, 62);
	area_fill(&self->local, 63);
	te_sleep_ms(300);
	EXPECT_EQ(0, area_check(&self->srv.mem, "memory of a closed target"));
	EXPECT_EQ(0, area_check(&self->local, "local memory"));
	end = te_now_ms() + 30000;
	do {
		ret = run_one(self->te, self->r);
	} while (ret != -ESTALE && te_now_ms() < end);
	EXPECT_EQ(-ESTALE, ret);
	/* Nobody listens any more, or a session was still there to ask. */
	ret = te_open_segment(self->te, self->srv.name, &seg);
	EXPECT_TRUE(ret == -ENOENT || ret == -ECONNREFUSED) {
		TH_LOG("%d", ret);
	}
}

TEST_F_TIMEOUT(gone, munmap, SLOW)
{
	ASSERT_EQ(0, start(self->te, self->r, 8, &self->batch));
	ASSERT_EQ(0, server_order(&self->srv, 'x'));
	ASSERT_EQ(0, te_wait(self->te, self->batch, TE_WAIT_MS));
	/* The pages are what was registered, and we see them too. */
	EXPECT_EQ(0, memcmp(self->srv.mem.p, self->local.p, LEN));
	EXPECT_EQ(-1, pattern_check(self->local.p, LEN,
				    variant->op == TE_READ ? 3 : 4));
}

TEST_HARNESS_MAIN

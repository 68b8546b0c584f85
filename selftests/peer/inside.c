// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who was let in at a NIC and is not te, see knock.c: it reaches what its session was
 * told of, and that alone. What it tries beyond that touches nothing and costs it the
 * connection; its other connections, and te's own, go on.
 */
#include <unistd.h>

#include "lib/test.h"
#include "lib/dialer.h"
#include "lib/pair.h"

FIXTURE(inside)
{
	struct te_rdma none;
	struct pair p;
	struct asker t;
};

FIXTURE_SETUP(inside)
{
	ASSERT_EQ(0, te_settle_all());
	ASSERT_EQ(0, te_rdma(&self->none));
	ASSERT_EQ(0, pair_open(&self->p, NULL));
	ASSERT_EQ(0, asker_begin(&self->t, self->p.name));
	ASSERT_NE(0, self->t.nic.port);
}

FIXTURE_TEARDOWN(inside)
{
	EXPECT_EQ(0, pair_check(&self->p));
	EXPECT_EQ(0, pair_xfer(&self->p, TE_WRITE, 9 * KIB, 9 * KIB, 100000));
	close(self->t.session);
	pair_close(&self->p);
	CLEAN();
	EXPECT_EQ(0, te_settle_all());
	EXPECT_EQ(0, te_rdma_settle(&self->none));
}

/* The positive control: bytes both ways, to the last one, and none beside them. */
TEST_F_TIMEOUT(inside, told_of, SLOW)
{
	struct pair *p = &self->p;
	struct asker *t = &self->t;
	struct dialer d;

	ASSERT_EQ(0, dialer_get_in(&d, t));
	EXPECT_EQ(0, dialer_await_nr(1));
	EXPECT_EQ(0, dialer_works(&d, t, p));
	pattern_fill(d.buf, DIALER_BYTES, 5);
	EXPECT_EQ(0, dialer_move(&d, IBV_WR_RDMA_WRITE,
				 t->base + t->length - DIALER_BYTES, t->nic.key,
				 DIALER_BYTES));
	memcpy(p->remote.want + p->margin + t->length - DIALER_BYTES, d.buf,
	       DIALER_BYTES);
	EXPECT_EQ(0, pair_check(p));
	EXPECT_EQ(0, dialer_works(&d, t, p));
	dialer_end(&d);
	EXPECT_EQ(0, dialer_await_nr(0));
}

/*
 * What no connection is for. Each costs that one, touches nothing, and others of the
 * session, and te's own, go on.
 */
static const struct misuse {
	const char *desc;
	enum ibv_wr_opcode op;
	int64_t off;
	uint32_t len, turn;
	int status;
} misuses[] = {
#define BOTH(desc, ...) \
	{ desc ": READ", IBV_WR_RDMA_READ, __VA_ARGS__, IBV_WC_REM_ACCESS_ERR }, \
	{ desc ": WRITE", IBV_WR_RDMA_WRITE, __VA_ARGS__, IBV_WC_REM_ACCESS_ERR }
	BOTH("key, first bit", 0, 64, 1),
	BOTH("key, a bit of the variant", 0, 64, 0x80),
	BOTH("key of the next", 0, 64, 0x100),
	BOTH("key, last bit", 0, 64, 1U << 31),
	BOTH("another key altogether", 0, 64, ~0U),
	BOTH("a byte before it", -1, 1, 0),
	BOTH("into it from before", -1, 5000, 0),
	BOTH("out of it", 240 * KIB - 4095, 4096, 0),
	BOTH("out of it, over some packets", 240 * KIB - 8192, 8193, 0),
	BOTH("behind it", 240 * KIB, 1, 0),
	BOTH("far off", 1LL << 40, 64, 0),
	{ "an atomic", IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8, 0,
	  IBV_WC_REM_ACCESS_ERR },
	/* Nothing is there to take it; rxe asks for some seconds. */
	{ "a SEND", IBV_WR_SEND, 0, 64, 0, IBV_WC_RETRY_EXC_ERR },
	{ "takes the key from others", IBV_WR_SEND_WITH_INV, 0, 64, 0,
	  IBV_WC_RETRY_EXC_ERR },
	{ "a WRITE that says so", IBV_WR_RDMA_WRITE_WITH_IMM, 0, 64, 0,
	  IBV_WC_RETRY_EXC_ERR },
};

TEST_F_TIMEOUT(inside, misuses, SLOW)
{
	struct asker *t = &self->t;
	struct pair *p = &self->p;
	struct dialer d, good;
	size_t i;

	ASSERT_EQ(240 * KIB, t->length);
	ASSERT_EQ(0, dialer_get_in(&good, t));
	for (i = 0; i < ROWS(misuses); i++) {
		const struct misuse *m = &misuses[i];

		/* An atomic wants 8 bytes at an address to match. */
		ASSERT_EQ(0, t->base % 8);
		MUST(dialer_get_in(&d, t));
		dialer_wipe(&d);
		EXPECT_ROW(m->status,
			   dialer_move(&d, m->op, t->base + m->off,
				       t->nic.key ^ m->turn, m->len), "%s",
			   m->desc);
		EXPECT_ROW(0, dialer_touched(&d), "%s", m->desc);
		EXPECT_ROW(0, pair_check(p), "%s", m->desc);
		EXPECT_ROW(IBV_WC_WR_FLUSH_ERR,
			   dialer_move(&d, IBV_WR_RDMA_READ, t->base,
				       t->nic.key, 64), "%s", m->desc);
		EXPECT_ROW(0, dialer_works(&good, t, p), "%s", m->desc);
		dialer_end(&d);
		EXPECT_ROW(0, pair_xfer(p, TE_READ, 9 * KIB, 9 * KIB, 100000),
			   "%s", m->desc);
	}
	dialer_end(&good);
}

/* Regions that peers may only read, or only write. */
TEST_F_TIMEOUT(inside, wrong_direction, SLOW)
{
	static const struct {
		const char *desc;
		unsigned int access;
		enum ibv_wr_opcode right, wrong;
	} rows[] = {
		{ "to be read", TE_REMOTE_READ, IBV_WR_RDMA_READ,
		  IBV_WR_RDMA_WRITE },
		{ "to be written", TE_REMOTE_WRITE, IBV_WR_RDMA_WRITE,
		  IBV_WR_RDMA_READ },
	};
	size_t i;

	for (i = 0; i < ROWS(rows); i++) {
		struct pair_opts o = { .remote_access = rows[i].access };
		struct dialer d;
		struct asker t;
		struct pair p;

		MUST(pair_open(&p, &o));
		MUST(asker_begin(&t, p.name));
		MUST(dialer_get_in(&d, &t));
		dialer_wipe(&d);
		EXPECT_ROW(0, dialer_move(&d, rows[i].right, t.base + 16,
					  t.nic.key, 64), "%s", rows[i].desc);
		if (rows[i].right == IBV_WR_RDMA_WRITE)
			memset(p.remote.want + p.margin + 16, 0xee, 64);
		EXPECT_ROW(0, pair_check(&p), "%s", rows[i].desc);
		dialer_wipe(&d);
		EXPECT_ROW(IBV_WC_REM_ACCESS_ERR,
			   dialer_move(&d, rows[i].wrong, t.base + 16,
				       t.nic.key, 64), "%s", rows[i].desc);
		EXPECT_ROW(0, dialer_touched(&d), "%s", rows[i].desc);
		EXPECT_ROW(0, pair_check(&p), "%s", rows[i].desc);
		dialer_end(&d);
		close(t.session);
		pair_close(&p);
	}
}

/* A key is dead when unregistering has returned, and another opens no more for it. */
TEST_F_TIMEOUT(inside, taken_back, SLOW)
{
	struct asker *t = &self->t;
	struct pair *p = &self->p;
	struct dialer d, later;

	ASSERT_EQ(0, dialer_get_in(&d, t));
	ASSERT_EQ(0, dialer_get_in(&later, t));
	EXPECT_EQ(0, dialer_works(&d, t, p));
	ASSERT_EQ(0, te_mr_unregister(p->tgt, p->rmr, 0));
	dialer_wipe(&d);
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  dialer_move(&d, IBV_WR_RDMA_WRITE, t->base, t->nic.key, 64));
	ASSERT_EQ(0, te_mr_register(p->tgt, p->remote.p + p->margin,
				    p->remote.len - 2 * p->margin,
				    TE_REMOTE_ALL, NULL, &p->rmr));
	dialer_wipe(&later);
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  dialer_move(&later, IBV_WR_RDMA_READ, t->base, t->nic.key, 64));
	EXPECT_EQ(0, dialer_touched(&later));
	EXPECT_EQ(0, pair_check(p));
	dialer_end(&d);
	dialer_end(&later);
	ASSERT_EQ(0, te_await_buffers(p->ini, p->seg, 1));
}

TEST_HARNESS_MAIN

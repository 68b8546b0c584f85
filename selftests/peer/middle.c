// SPDX-License-Identifier: GPL-2.0-only
/*
 * A control connection that something in the middle carries badly: byte by byte,
 * late, cut or reset anywhere, one byte changed. An open either works or fails
 * with an errno that the contract knows, in bounded time, and leaves nothing;
 * work in flight ends when its session does.
 */
#include <stddef.h>

#include "lib/test.h"
#include "lib/pair.h"
#include "lib/relay.h"

FIXTURE(middle)
{
	struct pair p;
	struct te_ioc_stats base;
	struct relay r;
};

FIXTURE_SETUP(middle)
{
	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, pair_open(&self->p, NULL));
	ASSERT_EQ(0, te_stats(&self->base));
}

FIXTURE_TEARDOWN(middle)
{
	relay_stop(&self->r);
	EXPECT_EQ(0, pair_xfer(&self->p, TE_WRITE, 9 * KIB, 9 * KIB, 100000));
	pair_close(&self->p);
	CLEAN();
	EXPECT_EQ(0, te_settle_all());
}

static int open_through(struct pair *p, const struct relay *r, int timeout_ms,
			uint32_t *seg)
{
	struct te_segment_opts o = {
		.sz = sizeof(o),
		.timeout_ms = timeout_ms,
	};
	char url[128];

	relay_url(r, url, sizeof(url), p->name);
	return te_segment_open(p->ini, url, &o, seg);
}

/* However the bytes are dealt out, it is the same conversation. */
TEST_F_TIMEOUT(middle, odd_pieces, SLOW)
{
	static const struct {
		const char *desc;
		size_t grain;
		int hold_ms;
	} rows[] = {
		{ "one byte at a time", 1, 0 },
		{ "seven bytes at a time", 7, 0 },
		{ "all that came in 50 ms", 0, 50 },
	};
	uint32_t seg, own = self->p.seg;
	size_t i;

	for (i = 0; i < ROWS(rows); i++) {
		memset(&self->r, 0, sizeof(self->r));
		self->r.grain = rows[i].grain;
		self->r.hold_ms = rows[i].hold_ms;
		ASSERT_EQ(0, relay_start(&self->r));
		ASSERT_EQ(0, open_through(&self->p, &self->r, 30000, &seg));
		self->p.seg = seg;
		EXPECT_ROW(0, pair_xfer(&self->p, TE_WRITE, 8 * KIB + 5,
					9 * KIB, 100000), "%s", rows[i].desc);
		EXPECT_ROW(0, pair_xfer(&self->p, TE_READ, 8 * KIB, 9 * KIB + 1,
					100000), "%s", rows[i].desc);
		self->p.seg = own;
		EXPECT_EQ(0, te_segment_close(self->p.ini, seg));
		if (i + 1 < ROWS(rows))
			relay_stop(&self->r);
	}
}

/* What te_segment_open() may say when the conversation is not what it was. */
static bool is_refusal(int ret)
{
	static const int may[] = {
		-ECONNRESET, -EPROTO, -ETIMEDOUT, -ENOENT, -EACCES, -ENXIO,
		-ECONNREFUSED, -EOPNOTSUPP, -E2BIG,
	};
	size_t i;

	for (i = 0; i < ROWS(may); i++)
		if (ret == may[i])
			return true;
	return false;
}

/*
 * One more conversation, from beginning to end: te keeps a session that worked
 * for a while, so wait for its end, and until te has heard of it: the next one
 * would not dial else. 1 when the open was refused.
 */
static int converse(FIXTURE_DATA(middle) *self)
{
	unsigned int served = self->r.served;
	uint32_t seg;
	int ret;

	ret = open_through(&self->p, &self->r, 1000, &seg);
	if (!ret)
		ret = te_segment_close(self->p.ini, seg);
	else if (is_refusal(ret))
		ret = 1;
	return relay_await(&self->r, served + 1) ?:
	       te_settle_one(offsetof(struct te_ioc_stats, sessions),
			     self->base.sessions, TE_SETTLE_MS) ?: ret;
}

/* How much each side says when nothing goes wrong, up to READY. */
static int measure(struct pair *p, struct relay *r, size_t *len)
{
	uint32_t seg;
	int ret;

	memset(r, 0, sizeof(*r));
	ret = relay_start(r);
	ret = ret ?: open_through(p, r, 30000, &seg);
	if (ret)
		return ret;
	len[RELAY_ASK] = r->len[RELAY_ASK];
	len[RELAY_ANSWER] = r->len[RELAY_ANSWER];
	ret = te_segment_close(p->ini, seg);
	/* The next one is to dial anew. */
	relay_stop(r);
	memset(r, 0, sizeof(*r));
	return ret ?: relay_start(r);
}

static const char *const sides[] = { "asking", "answering" };

TEST_F_TIMEOUT(middle, ends_anywhere, SLOW)
{
	static const struct {
		enum relay_fault fault;
		size_t step;
	} rows[] = { { RELAY_CUT, 1 }, { RELAY_RESET, 5 } };
	size_t i, at, len[2];
	int dir, ret;

	ASSERT_EQ(0, measure(&self->p, &self->r, len));
	for (i = 0; i < ROWS(rows); i++) {
		self->r.fault = rows[i].fault;
		for (dir = RELAY_ASK; dir <= RELAY_ANSWER; dir++) {
			self->r.dir = dir;
			for (at = 0; at < len[dir]; at += rows[i].step) {
				self->r.at = at;
				ret = converse(self);
				EXPECT_ROW(1, ret, "%s side, fault %d at %zu",
					   sides[dir], rows[i].fault, at);
				EXPECT_ROW(0, te_settle_to(&self->base),
					   "%s side, %zu", sides[dir], at);
			}
		}
	}
}

/* A byte of the answer is another one; hostile.c does so to the question. */
TEST_F_TIMEOUT(middle, bent_answer, SLOW)
{
	static const unsigned char bends[] = { 1, 0x80 };
	unsigned int refused = 0;
	size_t i, k, len[2];
	int ret;

	ASSERT_EQ(0, measure(&self->p, &self->r, len));
	self->r.fault = RELAY_BEND;
	self->r.dir = RELAY_ANSWER;
	for (i = 0; i < len[RELAY_ANSWER]; i++) {
		self->r.at = i;
		for (k = 0; k < ROWS(bends); k++) {
			self->r.bend = bends[k];
			ret = converse(self);
			EXPECT_ROW(true, ret == 0 || ret == 1,
				   "byte %zu, %#x: %d", i, bends[k], ret);
			refused += ret == 1;
			EXPECT_ROW(0, te_settle_to(&self->base),
				   "byte %zu, %#x", i, bends[k]);
		}
	}
	/* Addresses, keys and the token may be anything; the rest may not. */
	TH_LOG("%u of %zu refused", refused, 2 * len[RELAY_ANSWER]);
	EXPECT_LE(len[RELAY_ANSWER], refused);
}

/* Work that is more than can be done before its session is cut. */
TEST_F_TIMEOUT(middle, ends_under_work, SLOW)
{
	enum { NR = 4000, LEN = 200 * KIB };
	static struct te_request r[NR];
	unsigned int failed = 0;
	uint32_t seg, batch, i;
	struct te_status st;

	ASSERT_EQ(0, relay_start(&self->r));
	ASSERT_EQ(0, open_through(&self->p, &self->r, 30000, &seg));
	for (i = 0; i < NR; i++) {
		r[i] = pair_req(&self->p, TE_WRITE, 8 * KIB, 8 * KIB, LEN);
		r[i].segment = seg;
	}
	pair_expect(&self->p, &r[0]);
	ASSERT_EQ(0, te_batch_alloc(self->p.ini, NR, NULL, &batch));
	ASSERT_EQ(0, te_submit(self->p.ini, batch, r, NR));
	relay_stop(&self->r);
	ASSERT_EQ(0, te_wait(self->p.ini, batch, TE_WAIT_MS));
	for (i = 0; i < NR; i++) {
		ASSERT_EQ(0, te_status(self->p.ini, batch, i, &st));
		if (st.state == TE_COMPLETED && st.bytes == LEN)
			continue;
		failed++;
		ASSERT_EQ(TE_FAILED, st.state);
		ASSERT_TRUE(st.error == -ECONNRESET || st.error == -ESTALE) {
			TH_LOG("task %u: %d", i, st.error);
		}
	}
	EXPECT_LE(1, failed);
	EXPECT_EQ(0, te_batch_free(self->p.ini, batch));
	/* The peer may have told the endpoints before this side saw the end. */
	EXPECT_EQ(-ESTALE, te_await_gone(self->p.ini, seg));
	EXPECT_EQ(0, te_segment_close(self->p.ini, seg));
	/* All wrote the same bytes: the areas are as after one of them. */
	EXPECT_EQ(0, pair_xfer(&self->p, TE_WRITE, 8 * KIB, 8 * KIB, LEN));
	/* The port is dialled anew. */
	ASSERT_EQ(0, relay_start(&self->r));
	ASSERT_EQ(0, open_through(&self->p, &self->r, 30000, &seg));
	EXPECT_EQ(0, te_segment_close(self->p.ini, seg));
}

TEST_HARNESS_MAIN

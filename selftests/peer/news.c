// SPDX-License-Identifier: GPL-2.0-only
/*
 * A segment stays open while NICs of its node come, go, and get other addresses:
 * it is soon used over what is there now, with all its regions. `--net wire`,
 * where b is the NIC that changes.
 *
 * That bytes came in by b is seen by what its netdev received: answers to what b
 * itself sends are far less.
 */
#include <stdlib.h>

#include "lib/test.h"
#include "lib/nic.h"
#include "lib/pair.h"

#define A	0
#define B	1
#define LEN	(1024 * KIB)

FIXTURE(news)
{
	struct pair p;
};

FIXTURE_SETUP(news)
{
	static const struct pair_opts o = {
		.local = LEN + 16 * KIB,
		.remote = LEN + 16 * KIB,
	};

	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, pair_open(&self->p, &o));
	/* Or b itself would carry its share, and that says nothing. */
	ASSERT_EQ(0, pair_carry_only(&self->p, getenv("TE_DEV_A")));
}

FIXTURE_TEARDOWN(news)
{
	EXPECT_EQ(0, pair_carry_only(&self->p, NULL));
	pair_close(&self->p);
	CLEAN();
}

/* Bytes that b's netdev has received, or -1. */
static long long received(void)
{
	FILE *f = fopen("/sys/class/net/vb/statistics/rx_bytes", "r");
	long long n = -1;

	if (!f)
		return -1;
	if (fscanf(f, "%lld", &n) != 1)
		n = -1;
	fclose(f);
	return n;
}

/* One batch: 0 when all of it has moved and all bytes are right, or -EAGAIN. */
static int try(struct pair *p, const struct te_request *r, uint32_t n)
{
	struct te_batch_opts o = { .sz = sizeof(o), .deadline_ms = 20000 };
	struct te_status st = { .state = TE_FAILED };
	uint32_t batch, i;

	if (te_batch_alloc(p->ini, n, &o, &batch))
		return -ENOMEM;
	if (!te_submit(p->ini, batch, r, n) &&
	    !te_wait(p->ini, batch, TE_WAIT_MS))
		te_batch_status(p->ini, batch, &st);
	te_batch_free(p->ini, batch);
	if (st.state != TE_COMPLETED)
		return -EAGAIN;
	for (i = 0; i < n; i++)
		pair_expect(p, &r[i]);
	return pair_check(p);
}

/* Until it works, and, with @over_b, has come in by b. Prints how long it took. */
static int await(struct pair *p, const struct te_request *r, uint32_t n,
		 bool over_b)
{
	unsigned long long start = te_now_ms(), end = start + TE_WAIT_MS;
	long long before, came, want = 0;
	uint32_t i;
	int ret;

	for (i = 0; i < n; i++)
		want += r[i].length;
	do {
		before = received();
		ret = try(p, r, n);
		came = received() - before;
		if (!ret && over_b && (before < 0 || came < want))
			ret = -EAGAIN;
		if (ret != -EAGAIN)
			break;
		te_sleep_ms(10);
	} while (te_now_ms() < end);
	printf("# after %llu ms\n", te_now_ms() - start);
	return ret;
}

static int await_write(struct pair *p, bool over_b)
{
	struct te_request r = pair_req(p, TE_WRITE, 8 * KIB, 8 * KIB, LEN);

	/* Other bytes each time. */
	area_fill(&p->local, te_now_ms());
	return await(p, &r, 1, over_b);
}

static int again(void)
{
	return nic_delete(B) ?: nic_add(B);
}

static int twice(void)
{
	return again() ?: again();
}

static int go(void)
{
	return nic_delete(B);
}

static int come(void)
{
	return nic_add(B);
}

static const struct row {
	const char *desc;
	int (*change)(void);
	bool over_b;	/* then */
} rows[] = {
	{ "deleted and added", again, true },
	{ "deleted and added twice", twice, true },
	{ "deleted", go, false },
	{ "added later", come, true },
	{ "at another address", nic_move, true },
	{ "at its address again", nic_move_back, true },
};

TEST_F_TIMEOUT(news, open_segment, SLOW)
{
	size_t i;

	EXPECT_EQ(0, await_write(&self->p, true));
	for (i = 0; i < ROWS(rows); i++) {
		ASSERT_EQ(0, rows[i].change());
		EXPECT_ROW(0, await_write(&self->p, rows[i].over_b), "%s",
			   rows[i].desc);
	}
	EXPECT_EQ(1, te_segment_info(self->p.ini, self->p.seg, NULL, 0));
}

/* The NIC comes when the segment is open: nobody has known it before. */
TEST_F_TIMEOUT(news, one_more, SLOW)
{
	ASSERT_EQ(0, te_segment_close(self->p.ini, self->p.seg));
	ASSERT_EQ(0, nic_delete(B));
	ASSERT_EQ(0, te_open_segment(self->p.ini, self->p.name, &self->p.seg));
	EXPECT_EQ(0, await_write(&self->p, false));
	ASSERT_EQ(0, nic_add(B));
	EXPECT_EQ(0, await_write(&self->p, true));
}

/* More often than there are ids: they are given to other NICs. */
TEST_F_TIMEOUT(news, forty_times, SLOW)
{
	int i;

	for (i = 0; i < 40; i++)
		ASSERT_EQ(0, again());
	EXPECT_EQ(0, await_write(&self->p, true));
}

/* Regions from before, from while it was away, and from after. */
TEST_F_TIMEOUT(news, later_regions, SLOW)
{
	struct te_request r[3];
	uint32_t mr;

	ASSERT_EQ(0, nic_delete(B));
	ASSERT_EQ(0, te_mr_register(self->p.tgt, self->p.remote.p, 8 * KIB,
				    TE_REMOTE_ALL, NULL, &mr));
	ASSERT_EQ(0, te_await_buffers(self->p.ini, self->p.seg, 2));
	ASSERT_EQ(0, nic_add(B));
	EXPECT_EQ(0, await_write(&self->p, true));
	ASSERT_EQ(0, te_mr_register(self->p.tgt,
				    self->p.remote.p + 8 * KIB + LEN, 8 * KIB,
				    TE_REMOTE_ALL, NULL, &mr));
	ASSERT_EQ(0, te_await_buffers(self->p.ini, self->p.seg, 3));
	r[0] = pair_req(&self->p, TE_WRITE, 8 * KIB, 0, 8 * KIB);
	r[1] = pair_req(&self->p, TE_WRITE, 24 * KIB, 8 * KIB, LEN - 16 * KIB);
	r[2] = pair_req(&self->p, TE_WRITE, 16 * KIB, 8 * KIB + LEN, 8 * KIB);
	EXPECT_EQ(0, await(&self->p, r, ROWS(r), true));
}

/* ---- very many regions */

enum { EACH = 4096, SPAN = 256 };

/* Adjacent ones in the target's area, and a segment with them. */
static int many_open(struct pair *p, uint32_t nr)
{
	struct pair_opts o = {
		.local = (size_t)nr * EACH,
		.remote = (size_t)nr * EACH,
		.margin = ~0UL,
	};
	uint32_t i, mr;
	int ret;

	ret = pair_open(p, &o) ?: pair_carry_only(p, getenv("TE_DEV_A"));
	ret = ret ?: te_segment_close(p->ini, p->seg);
	ret = ret ?: te_mr_unregister(p->tgt, p->rmr, 0);
	for (i = 0; i < nr && !ret; i++)
		ret = te_mr_register(p->tgt, p->remote.p + i * EACH, EACH,
				     TE_REMOTE_ALL, NULL, &mr);
	return ret ?: te_open_segment(p->ini, p->name, &p->seg);
}

FIXTURE(many)
{
	struct pair p;
};

static int many_close(struct pair *p)
{
	int ret = p->ini ? pair_carry_only(p, NULL) : 0;

	pair_close(p);
	return ret;
}

FIXTURE_SETUP(many)
{
	ASSERT_EQ(0, te_settle());
}

FIXTURE_TEARDOWN(many)
{
	EXPECT_EQ(0, many_close(&self->p));
	CLEAN();
}

/* Each of them is written to over the NIC that came back. */
TEST_F_TIMEOUT(many, come_back, SLOW)
{
	enum { NR = 40 * SPAN };
	static struct te_request r[NR / SPAN];
	struct te_request probe;
	uint32_t i;

	ASSERT_EQ(0, many_open(&self->p, NR));
	probe = pair_req(&self->p, TE_WRITE, 0, 0, EACH);
	for (i = 0; i < ROWS(r); i++)
		r[i] = pair_req(&self->p, TE_WRITE, i * SPAN * EACH,
				i * SPAN * EACH, SPAN * EACH);
	ASSERT_EQ(0, again());
	ASSERT_EQ(0, again());
	/* Little work, as the NIC registers all of them meanwhile. */
	EXPECT_EQ(0, await(&self->p, &probe, 1, true));
	EXPECT_EQ(0, await(&self->p, r, ROWS(r), true));
	EXPECT_EQ(NR, te_segment_info(self->p.ini, self->p.seg, NULL, 0));
}

/* What ends, or changes again, while keys of a NIC that came back are told. */
static const struct end {
	const char *desc;
	bool seg, target, nic;
} ends[] = {
	{ "the segment is closed", true, false, false },
	{ "the target ends", false, true, false },
	{ "both", true, true, false },
	{ "the NIC goes", false, false, true },
	{ "the NIC goes, and the target ends", false, true, true },
};

TEST_F_TIMEOUT(many, ends_meanwhile, SLOW)
{
	enum { NR = 8 * SPAN };
	size_t i;

	for (i = 0; i < ROWS(ends); i++) {
		ASSERT_EQ(0, many_open(&self->p, NR));
		ASSERT_EQ(0, again());
		if (ends[i].nic)
			ASSERT_EQ(0, nic_delete(B));
		if (ends[i].seg)
			EXPECT_EQ(0, te_segment_close(self->p.ini,
						      self->p.seg));
		if (ends[i].target) {
			te_close(self->p.tgt);
			self->p.tgt = NULL;
		}
		if (ends[i].target && !ends[i].seg)
			EXPECT_ROW(-ESTALE, te_await_gone(self->p.ini,
							  self->p.seg), "%s",
				   ends[i].desc);
		EXPECT_EQ(0, many_close(&self->p));
		EXPECT_ROW(0, te_settle(), "%s", ends[i].desc);
		if (ends[i].nic)
			ASSERT_EQ(0, nic_add(B));
	}
}

TEST_HARNESS_MAIN

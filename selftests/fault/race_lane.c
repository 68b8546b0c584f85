// SPDX-License-Identifier: GPL-2.0-only
/*
 * A lane within the node, whose sockets hold pages and no copies: who reads them is
 * held just before that, and the work, or the region, comes to its end meanwhile. What
 * is put there afterwards must never be seen at the other side.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "lib/fault.h"
#include "lib/go.h"
#include "lib/pair.h"
#include "lib/test.h"

#define LEN	(64 * KIB)
#define AT	(8 * KIB)
/* More than the sockets of all lanes have room for. */
#define MUCH	(16 * MIB)
#define NEW	0xee
#define DEADLINE_MS	300
/* te's TE_TCP_RECALL. */
#define RECALL_MS	250
/* What has run out of time may end by itself for 200 ms. */
#define HELD_MS	(DEADLINE_MS + 1200)

FIXTURE(race_lane)
{
	struct pair p;
	struct te_request r;
	uint32_t batch;
	atomic_bool done;
};

FIXTURE_SETUP(race_lane)
{
	struct pair_opts o = { .local = 2 * MUCH, .remote = 2 * MUCH };

	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, setenv("TE_TRANSPORT", "tcp", 1));
	ASSERT_EQ(0, pair_open(&self->p, &o));
	ASSERT_EQ(0, pair_xfer(&self->p, TE_WRITE, AT, AT, LEN));
}

FIXTURE_TEARDOWN(race_lane)
{
	te_delay_release("lane_take");
	pair_close(&self->p);
	CLEAN();
}

/* One request, whose bytes are held where they are read from the lane. */
static int submit_held(FIXTURE_DATA(race_lane) *self, uint32_t op, size_t len,
		       uint32_t deadline_ms)
{
	struct te_batch_opts o = {
		.sz = sizeof(o),
		.deadline_ms = deadline_ms,
		.entries = TE_ENTRIES_NONE,
	};
	int ret;

	self->r = pair_req(&self->p, op, AT, AT, len);
	ret = te_batch_alloc(self->p.ini, 1, &o, &self->batch);
	if (ret)
		return ret;
	te_hold("lane_take");
	ret = te_submit(self->p.ini, self->batch, &self->r, 1);
	return ret ?: te_delay_wait("lane_take", 1);
}

static int has_new_bytes(const struct area *a)
{
	static const unsigned char new[64] = { [0 ... 63] = NEW };
	size_t i;

	for (i = 0; i < a->len; i += sizeof(new))
		if (!memcmp(a->p + i, new, sizeof(new)))
			return 1;
	return 0;
}

/* A task is over only when the other end can read nothing of it any more. */
TEST_F_TIMEOUT(race_lane, write_out_of_time, SLOW)
{
	struct pair *p = &self->p;
	struct te_status st;

	ASSERT_EQ(0, submit_held(self, TE_WRITE, LEN, DEADLINE_MS));
	te_sleep_ms(HELD_MS);
	EXPECT_EQ(0, te_status(p->ini, self->batch, 0, &st));
	EXPECT_EQ(TE_PENDING, st.state);
	if (st.state != TE_PENDING)
		memset(p->local.p, NEW, p->local.len);
	te_delay_release("lane_take");
	EXPECT_EQ(0, te_wait(p->ini, self->batch, TE_WAIT_MS));
	EXPECT_EQ(0, te_status(p->ini, self->batch, 0, &st));
	EXPECT_EQ(TE_TIMEOUT, st.state);
	EXPECT_EQ(-ETIMEDOUT, st.error);
	memset(p->local.p, NEW, p->local.len);
	te_sleep_ms(100);
	EXPECT_EQ(0, has_new_bytes(&p->remote));
	EXPECT_EQ(0, te_batch_free(p->ini, self->batch));

	area_fill(&p->local, 3);
	area_fill(&p->remote, 4);
	EXPECT_EQ(0, pair_xfer(p, TE_WRITE, AT, AT, LEN));
}

static int do_unregister(void *arg)
{
	FIXTURE_DATA(race_lane) *self = arg;
	int ret = te_mr_unregister(self->p.tgt, self->p.rmr, 0);

	atomic_store(&self->done, true);
	return ret;
}

/* Nor is a region unregistered while who asked could read more of it. */
static void read_and_unregister(struct __test_metadata *_metadata,
				FIXTURE_DATA(race_lane) *self, size_t len)
{
	struct pair *p = &self->p;
	struct te_status st;
	struct go g;

	ASSERT_EQ(0, submit_held(self, TE_READ, len, TE_MAX_DEADLINE_MS));
	ASSERT_EQ(0, go_start(&g, do_unregister, self));
	te_sleep_ms(HELD_MS);
	EXPECT_FALSE(atomic_load(&self->done));
	if (atomic_load(&self->done))
		memset(p->remote.p, NEW, p->remote.len);
	te_delay_release("lane_take");
	EXPECT_EQ(0, go_wait(&g));
	memset(p->remote.p, NEW, p->remote.len);
	EXPECT_EQ(0, te_wait(p->ini, self->batch, TE_WAIT_MS));
	EXPECT_EQ(0, te_status(p->ini, self->batch, 0, &st));
	/* Its lanes were taken away; what had come may have been all of it. */
	EXPECT_TRUE(st.state == TE_COMPLETED || st.state == TE_FAILED);
	if (len == MUCH)
		EXPECT_EQ(TE_FAILED, st.state);
	EXPECT_EQ(0, has_new_bytes(&p->local));
	if (st.state == TE_COMPLETED)
		EXPECT_EQ(0, memcmp(p->local.p + AT, p->remote.want + AT, len));
	EXPECT_EQ(0, te_batch_free(p->ini, self->batch));
}

TEST_F_TIMEOUT(race_lane, read_of_what_goes, SLOW)
{
	read_and_unregister(_metadata, self, LEN);
}

TEST_F_TIMEOUT(race_lane, read_of_more_than_comes, SLOW)
{
	read_and_unregister(_metadata, self, MUCH);
}

/* What has been read is nobody's any more: its lane need not be taken away. */
TEST_F_TIMEOUT(race_lane, read_before_it_goes, SLOW)
{
	struct pair *p = &self->p;
	struct te_ioc_stats was, is;
	unsigned long long from;
	int i;

	for (i = 0; i < 8; i++)
		ASSERT_EQ(0, pair_xfer(p, TE_READ, AT, AT, LEN));
	ASSERT_EQ(0, te_stats(&was));
	from = te_now_ms();
	EXPECT_EQ(0, te_mr_unregister(p->tgt, p->rmr, 0));
	EXPECT_GT(native() ? RECALL_MS : 10 * RECALL_MS, te_now_ms() - from);
	/* As long as a lane that is recalled has to go on. */
	te_sleep_ms(2 * RECALL_MS);
	ASSERT_EQ(0, te_stats(&is));
	EXPECT_EQ(was.endpoints, is.endpoints);
	EXPECT_EQ(was.endpoints_failed, is.endpoints_failed);
}

TEST_HARNESS_MAIN

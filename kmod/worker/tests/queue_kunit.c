// SPDX-License-Identifier: GPL-2.0-only
/*
 * worker/tests/queue: which shard and which mover a peer's rails go to, for
 * every number of movers. The movers are stand-ins that count their kicks; the
 * rails are links and nothing else.
 */
#include <kunit/test.h>
#include <linux/overflow.h>

#include "worker/internal.h"

/* Peers looked at: as many as nodes of a large cluster. */
#define NR_PEERS	4096U

struct queue_fixture {
	struct te_dev dev;
	struct te_workers *set;
	u32 kicks[TE_NR_SHARDS];	/* by mover */
};

static void fixture_kick(struct te_mover *mover)
{
	struct queue_fixture *f = container_of(mover->dev, struct queue_fixture,
					       dev);

	f->kicks[mover->index]++;
}

struct queue_case {
	const char *desc;
	u32 movers;
};

static const struct queue_case queue_cases[] = {
	{ "1 mover", 1 },
	{ "2 movers", 2 },
	{ "3 movers", 3 },
	{ "5 movers", 5 },
	{ "8 movers", 8 },
};

KUNIT_ARRAY_PARAM_DESC(queue, queue_cases, desc);

static struct queue_fixture *fixture(struct kunit *test)
{
	const struct queue_case *c = test->param_value;
	u32 nr = c ? c->movers : 2;
	struct queue_fixture *f;
	u32 i;

	f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f);
	f->set = kunit_kzalloc(test, struct_size(f->set, worker, nr),
			       GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f->set);
	f->dev.workers = f->set;
	f->set->dev = &f->dev;
	f->set->nr = nr;
	for (i = 0; i < TE_NR_SHARDS; i++)
		te_queue_init(&f->set->shards[i]);
	for (i = 0; i < nr; i++) {
		struct te_worker *w = &f->set->worker[i];

		w->set = f->set;
		w->mover.dev = &f->dev;
		w->mover.index = i;
		w->mover.kick = fixture_kick;
		INIT_LIST_HEAD(&w->rails);
		INIT_LIST_HEAD(&w->active);
	}
	return f;
}

static void rail_init(struct queue_fixture *f, struct te_rail *rail, u32 shard)
{
	rail->queue = &f->set->shards[shard];
	rail->w = &f->set->worker[shard % f->set->nr];
	INIT_LIST_HEAD(&rail->queue_link);
	INIT_LIST_HEAD(&rail->link);
	INIT_LIST_HEAD(&rail->active_link);
}

/* On its shard once, however often it is put there; its mover is kicked. */
static void rail_waits_once(struct kunit *test)
{
	struct queue_fixture *f = fixture(test);
	struct te_rail *rails;
	u32 i, n;

	rails = kunit_kcalloc(test, TE_NR_SHARDS, sizeof(*rails), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, rails);
	for (i = 0; i < TE_NR_SHARDS; i++) {
		struct te_rail *rail = &rails[i];

		rail_init(f, rail, i);
		memset(f->kicks, 0, sizeof(f->kicks));
		KUNIT_EXPECT_TRUE(test, te_queue_rail(rail));
		KUNIT_EXPECT_TRUE(test, te_queue_rail(rail));
		KUNIT_EXPECT_TRUE(test, list_is_singular(&rail->queue->rails));
		for (n = 0; n < f->set->nr; n++)
			KUNIT_EXPECT_EQ_MSG(test, f->kicks[n],
					    n == i % f->set->nr ? 2 : 0,
					    "shard %u mover %u", i, n);
		te_queue_forget(rail);
		te_queue_forget(rail);
		KUNIT_EXPECT_TRUE(test, list_empty(&rail->queue->rails));
	}
	for (i = 0; i < f->set->nr; i++)
		KUNIT_EXPECT_FALSE(test, te_worker_take(&f->set->worker[i]));
}

/* Ids count up from 1, or are what is left after many came and went. */
static void peers_are_spread(struct kunit *test)
{
	static const struct {
		const char *desc;
		u64 first, step;
	} rows[] = {
		{ "as they come", 1, 1 },
		{ "every second", 1, 2 },
		{ "every eighth", 8, 8 },
		{ "after 2^32", 1ULL << 32, 1 },
		{ "every 2^32nd", 1, 1ULL << 32 },
	};
	u32 i, n, on[TE_NR_SHARDS];

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		memset(on, 0, sizeof(on));
		for (n = 0; n < NR_PEERS; n++) {
			u64 id = rows[i].first + n * rows[i].step;

			KUNIT_ASSERT_LT(test, te_shard_of(id), TE_NR_SHARDS);
			on[te_shard_of(id)]++;
		}
		/* Within a quarter of what each should have. */
		for (n = 0; n < TE_NR_SHARDS; n++) {
			KUNIT_EXPECT_GE_MSG(test, on[n],
					    NR_PEERS / TE_NR_SHARDS * 3 / 4,
					    "%s: shard %u", rows[i].desc, n);
			KUNIT_EXPECT_LE_MSG(test, on[n],
					    NR_PEERS / TE_NR_SHARDS * 5 / 4,
					    "%s: shard %u", rows[i].desc, n);
		}
	}
}

/*
 * A mover takes its own shards, all of them, in order; then there is nothing. It
 * keeps what it has seen, and each pulls once however often it is taken.
 */
static void movers_take_their_shards(struct kunit *test)
{
	const struct queue_case *c = test->param_value;
	struct queue_fixture *f = fixture(test);
	struct te_rail *rails, *rail;
	u32 i, m, round, seen = 0;

	rails = kunit_kcalloc(test, 2 * TE_NR_SHARDS, sizeof(*rails),
			      GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, rails);
	for (i = 0; i < 2 * TE_NR_SHARDS; i++)
		rail_init(f, &rails[i], i / 2);
	for (round = 0; round < 2; round++) {
		for (i = 0; i < 2 * TE_NR_SHARDS; i++)
			KUNIT_EXPECT_TRUE(test, te_queue_rail(&rails[i]));
		for (m = 0; m < c->movers; m++) {
			struct te_worker *w = &f->set->worker[m];

			KUNIT_EXPECT_TRUE(test, te_worker_take(w));
			KUNIT_EXPECT_FALSE(test, te_worker_take(w));
		}
	}
	for (m = 0; m < c->movers; m++) {
		struct te_worker *w = &f->set->worker[m];
		u32 next = 2 * m;

		list_for_each_entry(rail, &w->active, active_link) {
			KUNIT_EXPECT_PTR_EQ(test, rail, &rails[next]);
			next += next % 2 ? 2 * c->movers - 1 : 1;
			seen++;
		}
		KUNIT_EXPECT_EQ(test, list_count_nodes(&w->rails),
				list_count_nodes(&w->active));
	}
	KUNIT_EXPECT_EQ(test, seen, 2 * TE_NR_SHARDS);
}

/* A rail that comes too late stays with who brings it. */
static void closed_queue_takes_nothing(struct kunit *test)
{
	struct queue_fixture *f = fixture(test);
	struct te_worker *w = &f->set->worker[1];
	struct te_rail *early, *late;

	early = kunit_kzalloc(test, sizeof(*early), GFP_KERNEL);
	late = kunit_kzalloc(test, sizeof(*late), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, early);
	KUNIT_ASSERT_NOT_NULL(test, late);
	rail_init(f, early, 1);
	rail_init(f, late, 1);
	KUNIT_EXPECT_TRUE(test, te_queue_rail(early));
	te_queue_close(early->queue);
	KUNIT_EXPECT_FALSE(test, te_queue_rail(late));
	KUNIT_EXPECT_TRUE(test, list_empty(&late->queue_link));
	KUNIT_EXPECT_EQ(test, f->kicks[1], 1);

	/* What came in time is taken. */
	KUNIT_EXPECT_TRUE(test, te_worker_take(w));
	KUNIT_EXPECT_PTR_EQ(test, w->active.next, &early->active_link);
	KUNIT_EXPECT_TRUE(test, list_is_singular(&w->active));
}

static struct kunit_case te_queue_cases[] = {
	KUNIT_CASE_PARAM(rail_waits_once, queue_gen_params),
	KUNIT_CASE(peers_are_spread),
	KUNIT_CASE_PARAM(movers_take_their_shards, queue_gen_params),
	KUNIT_CASE(closed_queue_takes_nothing),
	{}
};

static struct kunit_suite te_queue_suite = {
	.name = "te_queue",
	.test_cases = te_queue_cases,
};

kunit_test_suite(te_queue_suite);

// SPDX-License-Identifier: GPL-2.0-only
/*
 * worker/tests/queue: which shard and which mover a peer's tasks go to, for
 * every number of movers. The movers are stand-ins that count their kicks; the
 * tasks are links and nothing else.
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
		INIT_LIST_HEAD(&w->requeue);
	}
	return f;
}

/* Queue one task of a peer. Return: the shard that has it; it is empty again. */
static u32 shard_of(struct kunit *test, struct queue_fixture *f, u64 peer_id)
{
	struct te_peer peer = { .id = peer_id };
	struct te_task task;
	u32 i, shard = TE_NR_SHARDS;
	LIST_HEAD(tasks);

	list_add(&task.link, &tasks);
	KUNIT_EXPECT_EQ(test, te_queue_tasks(&f->dev, &peer, &tasks), 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&tasks));
	for (i = 0; i < TE_NR_SHARDS; i++) {
		if (list_empty(&f->set->shards[i].tasks))
			continue;
		KUNIT_EXPECT_EQ_MSG(test, shard, TE_NR_SHARDS,
				    "peer %llu is on two", peer_id);
		shard = i;
		INIT_LIST_HEAD(&f->set->shards[i].tasks);
	}
	KUNIT_ASSERT_LT_MSG(test, shard, TE_NR_SHARDS, "peer %llu is on none",
			    peer_id);
	return shard;
}

/* The same shard each time, and that shard's mover is the one kicked. */
static void peer_has_one_mover(struct kunit *test)
{
	struct queue_fixture *f = fixture(test);
	u32 i, shard, mover;
	u64 id;

	for (id = 1; id <= 64; id++) {
		shard = shard_of(test, f, id);
		mover = shard % f->set->nr;
		memset(f->kicks, 0, sizeof(f->kicks));
		KUNIT_EXPECT_EQ(test, shard_of(test, f, id), shard);
		for (i = 0; i < f->set->nr; i++)
			KUNIT_EXPECT_EQ_MSG(test, f->kicks[i], i == mover,
					    "peer %llu mover %u", id, i);
	}
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
	struct queue_fixture *f = fixture(test);
	u32 i, n, on[TE_NR_SHARDS];

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		memset(on, 0, sizeof(on));
		for (n = 0; n < NR_PEERS; n++)
			on[shard_of(test, f, rows[i].first + n * rows[i].step)]++;
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

/* A mover takes its own shards, all of them, in order; then there is nothing. */
static void movers_take_their_shards(struct kunit *test)
{
	const struct queue_case *c = test->param_value;
	struct queue_fixture *f = fixture(test);
	struct te_task (*tasks)[2];
	u32 i, m, seen = 0;

	tasks = kunit_kcalloc(test, TE_NR_SHARDS, sizeof(*tasks), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, tasks);
	for (i = 0; i < TE_NR_SHARDS; i++) {
		list_add_tail(&tasks[i][0].link, &f->set->shards[i].tasks);
		list_add_tail(&tasks[i][1].link, &f->set->shards[i].tasks);
	}
	for (m = 0; m < c->movers; m++) {
		struct te_worker *w = &f->set->worker[m];
		struct te_task *task;
		u32 nr = 0;

		KUNIT_EXPECT_TRUE(test, te_worker_take(w));
		list_for_each_entry(task, &w->requeue, link) {
			i = (task - &tasks[0][0]) / 2;
			KUNIT_EXPECT_EQ(test, i % c->movers, m);
			KUNIT_EXPECT_PTR_EQ(test, task, &tasks[i][nr++ % 2]);
			seen++;
		}
		KUNIT_EXPECT_FALSE(test, te_worker_take(w));
	}
	KUNIT_EXPECT_EQ(test, seen, 2 * TE_NR_SHARDS);
}

/* Tasks that come too late stay with who brings them. */
static void closed_queue_takes_nothing(struct kunit *test)
{
	struct queue_fixture *f = fixture(test);
	struct te_peer peer = { .id = 1 };
	u32 shard = shard_of(test, f, peer.id);
	u32 kicks = f->kicks[shard % f->set->nr];
	struct te_task early, late;
	LIST_HEAD(tasks);

	list_add(&early.link, &tasks);
	KUNIT_EXPECT_EQ(test, te_queue_tasks(&f->dev, &peer, &tasks), 0);
	te_queue_close(&f->set->shards[shard]);
	list_add(&late.link, &tasks);
	KUNIT_EXPECT_EQ(test, te_queue_tasks(&f->dev, &peer, &tasks), -ENODEV);
	KUNIT_EXPECT_PTR_EQ(test, tasks.next, &late.link);
	KUNIT_EXPECT_PTR_EQ(test, tasks.prev, &late.link);
	KUNIT_EXPECT_EQ(test, f->kicks[shard % f->set->nr], kicks + 1);

	/* What came in time is taken. */
	KUNIT_EXPECT_TRUE(test, te_worker_take(&f->set->worker[shard % 2]));
	KUNIT_EXPECT_PTR_EQ(test, f->set->worker[shard % 2].requeue.next,
			    &early.link);
}

static struct kunit_case te_queue_cases[] = {
	KUNIT_CASE_PARAM(peer_has_one_mover, queue_gen_params),
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

// SPDX-License-Identifier: GPL-2.0-only
/*
 * worker/tests/fair: in which order a mover posts. Real movers, endpoints and
 * tasks over a transport that only writes down what it is given: it has room
 * once all tasks of the case wait for the peer, so that no order depends on
 * when a thread runs, and completes nothing before the case is over.
 */
#include <kunit/test.h>
#include <linux/slab.h>

#include "worker/internal.h"
#include "worker/tests/fixture.h"

#define MAX_TASKS	8U
#define MAX_LOG		256U
/* Far longer than it takes. */
#define PATIENCE	(20 * HZ)

/**
 * struct fair_fixture - a dev, its movers, a peer and a segment of it
 * @dev: whose transport this is
 * @far: real
 * @mr: a local region that is never freed
 * @map: of it on @dev
 * @key: of @map
 * @tasks: prepared, in order of their letters
 * @nr_tasks: of them
 * @lock: protects what follows
 * @wait: somebody posted
 * @gate: no room before so many tasks wait for the peer
 * @budget: slices that may still be posted
 * @chain: at most so many at once
 * @log: letter of each slice that was posted
 * @nr_log: entries
 * @posted: slices in flight
 * @finish: complete all that is posted
 */
struct fair_fixture {
	struct te_dev dev;
	struct worker_far far;
	struct te_mr mr;
	struct te_mr_map map;
	struct te_key key;
	struct te_task *tasks[MAX_TASKS];
	u32 nr_tasks;
	spinlock_t lock; /* protects all below */
	wait_queue_head_t wait;
	u32 gate;
	u32 budget;
	u32 chain;
	char log[MAX_LOG + 1];
	u32 nr_log;
	struct list_head posted;
	bool finish;
};

static struct fair_fixture *to_fixture(struct te_dev *dev)
{
	return container_of(dev, struct fair_fixture, dev);
}

/* ---- the transport */

static int fair_mover_start(struct te_mover *mover)
{
	return 0;
}

static void fair_mover_stop(struct te_mover *mover)
{
}

static struct te_ep *fair_ep_create(struct te_mover *mover,
				    struct te_peer *peer,
				    const struct te_rdev *rdev)
{
	struct te_ep *ep = kzalloc(sizeof(*ep), GFP_KERNEL);

	if (!ep)
		return ERR_PTR(-ENOMEM);
	te_ep_init(ep, mover, peer, rdev);
	return ep;
}

static void fair_ep_free(struct te_ep *ep)
{
	kfree(ep);
}

static void fair_ep_connect(struct te_ep *ep)
{
	/* Nothing completes, so nothing would make room. */
	ep->pace.window = U32_MAX;
	te_ep_set_state(ep, TE_EP_READY);
}

static void fair_ep_close(struct te_ep *ep)
{
	te_ep_set_state(ep, TE_EP_DEAD);
}

static void fair_ep_reap(struct te_ep *ep, struct list_head *finished)
{
}

static const struct te_slice *fair_ep_stuck(struct te_ep *ep)
{
	return NULL;
}

static u32 fair_ep_room(struct te_ep *ep)
{
	struct fair_fixture *f = to_fixture(ep->dev);
	u32 room = 0;

	spin_lock(&f->lock);
	if (READ_ONCE(ep->peer->path.nr) >= f->gate) {
		f->gate = 0;
		room = min(f->budget, f->chain);
	}
	spin_unlock(&f->lock);
	return room;
}

static void fair_post(struct te_ep *ep, struct list_head *slices,
		      struct list_head *finished)
{
	struct fair_fixture *f = to_fixture(ep->dev);
	struct te_slice *slice;
	u32 i;

	spin_lock(&f->lock);
	list_for_each_entry(slice, slices, link) {
		f->budget--;
		for (i = 0; i < f->nr_tasks; i++)
			if (slice->task == f->tasks[i] && f->nr_log < MAX_LOG)
				f->log[f->nr_log++] = 'a' + i;
	}
	list_splice_tail_init(slices, &f->posted);
	spin_unlock(&f->lock);
	wake_up_all(&f->wait);
}

static u32 fair_poll(struct te_mover *mover, struct list_head *finished)
{
	struct fair_fixture *f = to_fixture(mover->dev);
	struct te_slice *slice;
	u32 nr = 0;

	spin_lock(&f->lock);
	slice = list_first_entry_or_null(&f->posted, struct te_slice, link);
	/* One peer, so one mover has posted all; only that one may see them. */
	if (f->finish && slice && slice->ep->mover == mover) {
		list_splice_tail_init(&f->posted, finished);
		nr = 1;
	}
	spin_unlock(&f->lock);
	return nr;
}

static bool fair_arm(struct te_mover *mover)
{
	return false;
}

static const struct te_transport_ops fair_ops = {
	.name		= "kunit",
	.mover_start	= fair_mover_start,
	.mover_stop	= fair_mover_stop,
	.ep_create	= fair_ep_create,
	.ep_free	= fair_ep_free,
	.ep_connect	= fair_ep_connect,
	.ep_close	= fair_ep_close,
	.ep_reap	= fair_ep_reap,
	.ep_stuck	= fair_ep_stuck,
	.ep_room	= fair_ep_room,
	.post		= fair_post,
	.poll		= fair_poll,
	.arm		= fair_arm,
};

/* ---- what a case needs */

static void fair_dev_release(struct te_dev *dev)
{
}

/*
 * This dev's alone, which no list knows: te_worker_offer() would make one of each
 * dev of the node.
 */
static void make_rail(struct kunit *test, struct fair_fixture *f)
{
	f->far.peer->path.rdev_mask = 1;
	f->dev.up = true;
	te_worker_host.dev_up(&f->dev);
	KUNIT_ASSERT_EQ(test, f->far.peer->path.nr_rails, 1);
}

static int fair_init(struct kunit *test)
{
	struct fair_fixture *f;

	f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f);
	spin_lock_init(&f->lock);
	init_waitqueue_head(&f->wait);
	INIT_LIST_HEAD(&f->posted);
	f->chain = U32_MAX;

	worker_far_make(test, &f->far);
	refcount_set(&f->mr.refs, 1);
	f->mr.last = (1ULL << 40) - 1;
	xa_init(&f->mr.maps);
	f->map.chunk_shift = 40;
	f->map.nr_chunks = 1;
	f->map.keys = &f->key;
	KUNIT_ASSERT_EQ(test, xa_err(xa_store(&f->mr.maps, 0, &f->map,
					      GFP_KERNEL)), 0);

	kref_init(&f->dev.ref);
	f->dev.ops = &fair_ops;
	strscpy(f->dev.name, "kunit", sizeof(f->dev.name));
	f->dev.numa_node = NUMA_NO_NODE;
	f->dev.max_ep = TE_MAX_EP;
	f->dev.release = fair_dev_release;
	KUNIT_ASSERT_EQ(test, te_worker_host.dev_start(&f->dev), 0);
	make_rail(test, f);
	test->priv = f;
	return 0;
}

/* A batch of one task, for the context that has this flow. */
static struct te_batch *add_task(struct kunit *test, u32 flow, u32 nr_slices)
{
	struct fair_fixture *f = test->priv;
	struct te_ring *ring = te_ring_create(8, 8);
	struct te_batch *batch;
	struct te_task *task;

	KUNIT_ASSERT_FALSE(test, IS_ERR(ring));
	ring->flow = flow;
	batch = te_batch_create(ring, 1, 60000, TE_ENTRIES_NONE);
	te_ring_put(ring);
	KUNIT_ASSERT_FALSE(test, IS_ERR(batch));

	task = &batch->tasks[0];
	task->op = TE_WRITE;
	task->length = (u64)nr_slices * TE_SLICE_BYTES;
	INIT_LIST_HEAD(&task->redo);
	te_seg_get(f->far.seg);
	task->seg = f->far.seg;
	te_mr_get(&f->mr);
	task->mr = &f->mr;
	task->nr_mrs = 1;
	te_rmr_get(f->far.rmr);
	task->rmr = f->far.rmr;
	task->nr_rmrs = 1;
	KUNIT_ASSERT_EQ(test, te_batch_admit(batch, 1), 0);
	f->tasks[f->nr_tasks++] = task;
	return batch;
}

static void queue_task(struct kunit *test, struct te_task *task)
{
	struct fair_fixture *f = test->priv;
	LIST_HEAD(tasks);

	list_add(&task->link, &tasks);
	te_worker_queue(f->far.seg, &tasks);
	KUNIT_EXPECT_TRUE(test, list_empty(&tasks));
}

static void kick_all(struct fair_fixture *f)
{
	te_worker_host.scan();
	te_worker_host.dev_scan(&f->dev);
}

/* Let @nr slices go, as soon as @gate tasks are queued. */
static void let_go(struct fair_fixture *f, u32 gate, u32 nr)
{
	spin_lock(&f->lock);
	f->gate = gate;
	f->budget = nr;
	spin_unlock(&f->lock);
	kick_all(f);
}

static bool all_gone(struct fair_fixture *f)
{
	bool gone;

	spin_lock(&f->lock);
	gone = !f->budget;
	spin_unlock(&f->lock);
	return gone;
}

static void expect_gone(struct kunit *test)
{
	struct fair_fixture *f = test->priv;

	KUNIT_ASSERT_NE(test, wait_event_timeout(f->wait, all_gone(f),
						 PATIENCE), 0);
}

static void fair_exit(struct kunit *test)
{
	struct fair_fixture *f = test->priv;
	u32 i;

	if (!f)
		return;
	spin_lock(&f->lock);
	f->finish = true;
	spin_unlock(&f->lock);
	for (i = 0; i < f->nr_tasks; i++)
		te_batch_cancel(f->tasks[i]->batch);
	kick_all(f);
	for (i = 0; i < f->nr_tasks; i++) {
		struct te_batch *batch = f->tasks[i]->batch;

		wait_event(batch->wait, te_batch_idle(batch));
		te_batch_free(batch);
	}
	te_worker_host.dev_stop(&f->dev);
	KUNIT_EXPECT_EQ(test, kref_read(&f->dev.ref), 1);
	te_worker_host.dev_free(&f->dev);
	KUNIT_EXPECT_EQ(test, refcount_read(&f->mr.refs), 1);
	xa_destroy(&f->mr.maps);
	worker_far_end(test, &f->far);
}

/* ---- the cases */

struct fair_case {
	const char *desc;
	u32 chain;		/* room at once, 0: any */
	struct {
		u32 flow;
		u32 slices;
	} tasks[MAX_TASKS];	/* a, b, c ... */
	const char *order;	/* of the slices posted */
};

static const struct fair_case fair_cases[] = {
	{ "one context", 0, { { 1, 99 } }, "aaaaaaaaaaaaaaaaaaaa" },
	{ "two contexts have turns of four", 0, { { 1, 99 }, { 2, 99 } },
	  "aaaabbbbaaaabbbbaaaabbbb" },
	{ "three contexts", 0, { { 3, 99 }, { 1, 99 }, { 2, 99 } },
	  "bbbbccccaaaabbbbccccaaaa" },
	{ "a large task before a small one", 0, { { 1, 99 }, { 2, 1 } },
	  "aaaabaaaaaaa" },
	{ "a small task after a large one", 0, { { 2, 99 }, { 1, 1 } },
	  "baaaaaaaaaaa" },
	/* The last two of c leave half a turn, which a takes. */
	{ "within a context, task by task", 0,
	  { { 1, 99 }, { 1, 99 }, { 1, 6 } },
	  "aaaabbbbccccaaaabbbbccaabbbbaaaa" },
	{ "more tasks are not more turns", 0,
	  { { 1, 99 }, { 1, 99 }, { 1, 99 }, { 2, 99 } },
	  "aaaaddddbbbbddddccccddddaaaadddd" },
	{ "contexts of one flow share its turns", 0,
	  { { 1, 99 }, { 1 + TE_NR_FLOWS, 99 }, { 2, 99 } },
	  "aaaaccccbbbbccccaaaacccc" },
	{ "the last flow, then the first", 0,
	  { { 0, 99 }, { TE_NR_FLOWS - 1, 99 } },
	  "bbbbaaaabbbbaaaa" },
	{ "turns go on when room ends in them", 5, { { 1, 99 }, { 2, 99 } },
	  "aaaabbbbaaaabbbbaaaabbbbaaaabbbbaaaabbbb" },
	{ "room for one at a time", 1, { { 1, 99 }, { 2, 99 }, { 1, 99 } },
	  "aaaabbbbccccbbbbaaaabbbb" },
	/* The turn is its context's: c has what a left of it. */
	{ "a task ends with the room", 3, { { 1, 3 }, { 2, 99 }, { 1, 99 } },
	  "aaacbbbbccccbbbbcccc" },
	{ "small tasks share a turn", 0,
	  { { 1, 1 }, { 1, 1 }, { 1, 1 }, { 1, 1 }, { 1, 1 }, { 2, 99 } },
	  "abcdffffeffffffff" },
};

KUNIT_ARRAY_PARAM_DESC(fair, fair_cases, desc);

static void posted_in_order(struct kunit *test)
{
	const struct fair_case *c = test->param_value;
	struct fair_fixture *f = test->priv;
	u32 i;

	if (c->chain)
		f->chain = c->chain;
	for (i = 0; i < MAX_TASKS && c->tasks[i].slices; i++)
		add_task(test, c->tasks[i].flow, c->tasks[i].slices);
	for (i = 0; i < f->nr_tasks; i++)
		queue_task(test, f->tasks[i]);
	let_go(f, f->nr_tasks, strlen(c->order));
	expect_gone(test);
	KUNIT_EXPECT_STREQ(test, f->log, c->order);
}

/* Whatever is posted already, a newcomer waits for one turn at most. */
static void newcomer_is_next(struct kunit *test)
{
	struct fair_fixture *f = test->priv;
	const u32 posted = 61;
	const char *b;

	add_task(test, 1, 16384);
	add_task(test, 2, 1);
	queue_task(test, f->tasks[0]);
	let_go(f, 1, posted);
	expect_gone(test);
	KUNIT_EXPECT_EQ(test, f->nr_log, posted);
	queue_task(test, f->tasks[1]);
	let_go(f, 2, 16);
	expect_gone(test);
	b = strchr(f->log, 'b');
	KUNIT_ASSERT_NOT_NULL(test, b);
	KUNIT_EXPECT_LE(test, b - f->log, posted + 3);
}

static struct kunit_case te_fair_cases[] = {
	KUNIT_CASE_PARAM(posted_in_order, fair_gen_params),
	KUNIT_CASE(newcomer_is_next),
	{}
};

static struct kunit_suite te_fair_suite = {
	.name = "te_fair",
	.init = fair_init,
	.exit = fair_exit,
	.test_cases = te_fair_cases,
};

kunit_test_suite(te_fair_suite);

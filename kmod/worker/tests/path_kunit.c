// SPDX-License-Identifier: GPL-2.0-only
/*
 * worker/tests/path: what rails pull from a path, in which order, and how tasks
 * leave it. Two stand-in rails of two devs; their movers only count kicks, and
 * the tests pull. Regions and segment are made up.
 */
#include <kunit/test.h>
#include <linux/slab.h>

#include "worker/internal.h"
#include "worker/tests/fixture.h"

#define NR_RAILS	2
#define MAX_BATCHES	8
#define MAX_SLICES	64
#define SLICE		TE_SLICE_BYTES
/* More than a rail passes by in one go. */
#define MANY		100

struct path_side {
	struct te_dev dev;
	struct te_workers *set;
	struct te_rail rail;
	u32 kicks;
	bool gone;
};

/**
 * struct path_fixture - a path and what its tasks use
 * @sides: rails; the second one's dev is on another node
 * @far: real
 * @mrs: local regions; the second is mapped on the second dev alone
 * @maps: of @mrs
 * @key: of all @maps
 * @batches: of the test
 * @nr_batches: of them
 */
struct path_fixture {
	struct path_side sides[NR_RAILS];
	struct worker_far far;
	struct te_mr mrs[2];
	struct te_mr_map maps[2];
	struct te_key key;
	struct te_batch *batches[MAX_BATCHES];
	u32 nr_batches;
};

static const struct te_transport_ops near_ops = { .transport = TE_RDMA };
static const struct te_transport_ops later_ops = { .transport = TE_TCP };

static void path_kick(struct te_mover *mover)
{
	container_of(mover->dev, struct path_side, dev)->kicks++;
}

static void make_side(struct kunit *test, struct path_fixture *f, u32 i)
{
	struct path_side *side = &f->sides[i];
	struct te_worker *w;

	side->set = kunit_kzalloc(test, struct_size(side->set, worker, 1),
				  GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, side->set);
	side->dev.ops = &near_ops;
	side->dev.id = i;
	side->dev.numa_node = i;
	side->set->dev = &side->dev;
	side->set->nr = 1;
	te_queue_init(&side->set->shards[0]);
	w = &side->set->worker[0];
	w->set = side->set;
	w->mover.dev = &side->dev;
	w->mover.kick = path_kick;
	INIT_LIST_HEAD(&w->rails);
	INIT_LIST_HEAD(&w->active);
	side->rail.w = w;
	side->rail.queue = &side->set->shards[0];
	side->rail.peer = f->far.peer;
	INIT_LIST_HEAD(&side->rail.queue_link);
	INIT_LIST_HEAD(&side->rail.link);
	INIT_LIST_HEAD(&side->rail.active_link);
	KUNIT_ASSERT_TRUE(test, te_path_add_rail(&side->rail));
}

static void del_rail(struct path_side *side)
{
	if (!side->gone)
		te_path_del_rail(&side->rail);
	side->gone = true;
}

static void map_mr(struct kunit *test, struct path_fixture *f, u32 mr, u32 dev)
{
	KUNIT_ASSERT_EQ(test, xa_err(xa_store(&f->mrs[mr].maps, dev,
					      &f->maps[mr], GFP_KERNEL)), 0);
}

static int path_init(struct kunit *test)
{
	struct path_fixture *f;
	u32 i;

	f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f);
	worker_far_make(test, &f->far);
	for (i = 0; i < 2; i++) {
		refcount_set(&f->mrs[i].refs, 1);
		f->mrs[i].last = (1ULL << 40) - 1;
		xa_init(&f->mrs[i].maps);
		f->maps[i].chunk_shift = 40;
		f->maps[i].nr_chunks = 1;
		f->maps[i].keys = &f->key;
		map_mr(test, f, i, 1);
	}
	map_mr(test, f, 0, 0);
	for (i = 0; i < NR_RAILS; i++)
		make_side(test, f, i);
	test->priv = f;
	return 0;
}

/* Whatever still waits ends with the last rail; no slice is left. */
static void path_exit(struct kunit *test)
{
	struct path_fixture *f = test->priv;
	u32 i;

	if (!f)
		return;
	te_topo_load(NULL);
	for (i = 0; i < NR_RAILS; i++)
		del_rail(&f->sides[i]);
	KUNIT_EXPECT_EQ(test, f->far.peer->path.nr, 0);
	for (i = 0; i < f->nr_batches; i++) {
		KUNIT_ASSERT_TRUE(test, te_batch_idle(f->batches[i]));
		te_batch_free(f->batches[i]);
	}
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, refcount_read(&f->mrs[i].refs), 1);
		xa_destroy(&f->mrs[i].maps);
	}
	worker_far_end(test, &f->far);
}

/* @nr tasks of @length each, of the context that has this flow. */
static struct te_batch *make_batch(struct kunit *test, u32 flow, u32 nr,
				   u64 length, u32 mr)
{
	struct path_fixture *f = test->priv;
	struct te_ring *ring = te_ring_create(8, 256);
	struct te_batch *batch;
	u32 i;

	KUNIT_ASSERT_FALSE(test, IS_ERR(ring));
	ring->flow = flow;
	batch = te_batch_create(ring, nr, 60000, TE_ENTRIES_NONE);
	te_ring_put(ring);
	KUNIT_ASSERT_FALSE(test, IS_ERR(batch));
	KUNIT_ASSERT_LT(test, f->nr_batches, MAX_BATCHES);
	f->batches[f->nr_batches++] = batch;
	for (i = 0; i < nr; i++) {
		struct te_task *task = &batch->tasks[i];

		task->op = TE_WRITE;
		task->length = length;
		INIT_LIST_HEAD(&task->redo);
		te_seg_get(f->far.seg);
		task->seg = f->far.seg;
		te_mr_get(&f->mrs[mr]);
		task->mr = &f->mrs[mr];
		task->nr_mrs = 1;
		te_rmr_get(f->far.rmr);
		task->rmr = f->far.rmr;
		task->nr_rmrs = 1;
	}
	KUNIT_ASSERT_EQ(test, te_batch_admit(batch, nr), 0);
	return batch;
}

static void queue_batch(struct kunit *test, struct te_batch *batch)
{
	struct path_fixture *f = test->priv;
	LIST_HEAD(tasks);
	u32 i;

	for (i = 0; i < batch->used; i++)
		list_add_tail(&batch->tasks[i].link, &tasks);
	te_worker_queue(f->far.seg, &tasks);
	KUNIT_EXPECT_TRUE(test, list_empty(&tasks));
}

static struct te_batch *submit(struct kunit *test, u32 flow, u32 nr, u64 length)
{
	struct te_batch *batch = make_batch(test, flow, nr, length, 0);

	queue_batch(test, batch);
	return batch;
}

/* As a rail's mover. Return: how many, in @slices. */
static u32 pull(struct kunit *test, u32 rail, u32 max, struct te_slice **slices,
		bool *dry)
{
	struct path_fixture *f = test->priv;
	struct te_slice *slice;
	LIST_HEAD(chain);
	u32 n, i = 0;

	KUNIT_ASSERT_LE(test, max, MAX_SLICES);
	n = te_path_cut(&f->sides[rail].rail, 0, max, &chain, dry);
	list_for_each_entry(slice, &chain, link)
		slices[i++] = slice;
	KUNIT_EXPECT_EQ(test, i, n);
	KUNIT_EXPECT_NE(test, f->sides[rail].rail.active, *dry);
	return n;
}

static struct te_slice *pull_one(struct kunit *test, u32 rail)
{
	struct te_slice *slice = NULL;
	bool dry;

	KUNIT_ASSERT_EQ(test, pull(test, rail, 1, &slice, &dry), 1);
	return slice;
}

static void expect_dry(struct kunit *test, u32 rail)
{
	struct te_slice *slice;
	bool dry;

	KUNIT_EXPECT_EQ(test, pull(test, rail, 1, &slice, &dry), 0);
	KUNIT_EXPECT_TRUE(test, dry);
}

static void expect_ended(struct kunit *test, struct te_batch *batch, u32 i,
			 u32 state, int error)
{
	KUNIT_EXPECT_TRUE(test, batch->tasks[i].ended);
	KUNIT_EXPECT_EQ(test, batch->tasks[i].slot->state, state);
	KUNIT_EXPECT_EQ(test, batch->tasks[i].slot->error, error);
}

/* ---- the cases */

/* In turn, one a little more than the other; each byte is cut once. */
static void two_rails_share_a_task(struct kunit *test)
{
	struct te_batch *batch = submit(test, 1, 1, 20 * SLICE + 100);
	struct te_slice *slices[MAX_SLICES];
	u32 by[NR_RAILS] = { };
	u32 n = 0, got, i, turn;
	u64 offset = 0;
	bool dry;

	for (turn = 0; n < 20; turn++) {
		got = pull(test, turn % 2, 2 + turn % 2, &slices[n], &dry);
		KUNIT_ASSERT_GT(test, got, 0);
		by[turn % 2] += got;
		n += got;
	}
	KUNIT_EXPECT_EQ(test, by[0], 8);
	KUNIT_EXPECT_EQ(test, by[1], 12);
	expect_dry(test, 0);
	expect_dry(test, 1);
	for (i = 0; i < n; i++) {
		KUNIT_EXPECT_EQ(test, slices[i]->offset, offset);
		offset += slices[i]->len;
	}
	KUNIT_EXPECT_EQ(test, offset, 20 * SLICE + 100);
	while (n--)
		te_slice_complete(slices[n]);
	expect_ended(test, batch, 0, TE_COMPLETED, 0);
}

/* What came back goes first, over whichever rail. */
static void requeued_goes_first(struct kunit *test)
{
	struct te_batch *a = submit(test, 1, 1, SLICE);
	struct te_batch *b = submit(test, 1, 1, SLICE);
	struct te_slice *slice = pull_one(test, 0);

	KUNIT_EXPECT_PTR_EQ(test, slice->task, &a->tasks[0]);
	slice->flushed = true;
	KUNIT_ASSERT_TRUE(test, te_slice_redo(slice));
	te_path_requeue(a->tasks);
	slice = pull_one(test, 1);
	KUNIT_EXPECT_PTR_EQ(test, slice->task, &a->tasks[0]);
	te_slice_complete(slice);
	slice = pull_one(test, 0);
	KUNIT_EXPECT_PTR_EQ(test, slice->task, &b->tasks[0]);
	te_slice_complete(slice);
	expect_ended(test, a, 0, TE_COMPLETED, 0);
	expect_ended(test, b, 0, TE_COMPLETED, 0);
}

/* By whoever doomed them: no rail pulls here. */
static void doomed_are_taken_out(struct kunit *test)
{
	struct path_fixture *f = test->priv;
	struct te_batch *a = submit(test, 1, 3, SLICE), *late;
	struct te_batch *b = submit(test, 2, 1, SLICE);
	struct te_slice *slice;

	a->tasks[1].end_state = TE_TIMEOUT;
	te_batch_cancel(b);
	te_path_scan_all();
	KUNIT_EXPECT_EQ(test, f->far.peer->path.nr, 2);
	expect_ended(test, a, 1, TE_TIMEOUT, -ETIMEDOUT);
	expect_ended(test, b, 0, TE_CANCELED, -ECANCELED);

	/* The order is as before. */
	slice = pull_one(test, 0);
	KUNIT_EXPECT_PTR_EQ(test, slice->task, &a->tasks[0]);
	te_slice_complete(slice);

	late = make_batch(test, 1, 1, SLICE, 0);
	te_batch_cancel(late);
	queue_batch(test, late);
	KUNIT_EXPECT_EQ(test, f->far.peer->path.nr, 1);
	expect_ended(test, late, 0, TE_CANCELED, -ECANCELED);
}

static void dead_peer_ends_all(struct kunit *test)
{
	struct path_fixture *f = test->priv;
	struct te_batch *a = submit(test, 1, 2, SLICE);
	struct te_batch *b = submit(test, 2, 1, SLICE), *late;
	struct te_slice *slice = pull_one(test, 0);

	te_peer_bury(f->far.peer, -ETIMEDOUT);
	te_path_scan_all();
	KUNIT_EXPECT_EQ(test, f->far.peer->path.nr, 0);
	expect_ended(test, a, 1, TE_FAILED, -ETIMEDOUT);
	expect_ended(test, b, 0, TE_FAILED, -ETIMEDOUT);
	slice->flushed = true;
	KUNIT_ASSERT_TRUE(test, te_slice_redo(slice));
	te_path_requeue(a->tasks);
	expect_ended(test, a, 0, TE_FAILED, -ETIMEDOUT);
	late = submit(test, 1, 1, SLICE);
	expect_ended(test, late, 0, TE_FAILED, -ETIMEDOUT);
}

static void last_rail_ends_all(struct kunit *test)
{
	struct path_fixture *f = test->priv;
	struct te_batch *a = submit(test, 1, 1, SLICE), *late;

	del_rail(&f->sides[0]);
	KUNIT_EXPECT_EQ(test, f->far.peer->path.nr, 1);
	del_rail(&f->sides[1]);
	expect_ended(test, a, 0, TE_FAILED, -ENODEV);
	late = submit(test, 1, 1, SLICE);
	expect_ended(test, late, 0, TE_FAILED, -ENXIO);
}

/* However many a rail cannot take, it finds what it can, and no rest for it. */
static void misfits_are_passed_by(struct kunit *test)
{
	struct path_fixture *f = test->priv;
	struct te_batch *misfits = make_batch(test, 1, MANY, SLICE, 1);
	struct te_slice *slice = NULL;
	struct te_batch *fit;
	bool dry = false;
	u32 i, n = 0;

	queue_batch(test, misfits);
	fit = submit(test, 1, 1, SLICE);
	for (i = 0; i < MANY && !n && !dry; i++)
		n = pull(test, 0, 1, &slice, &dry);
	KUNIT_ASSERT_EQ(test, n, 1);
	KUNIT_EXPECT_PTR_EQ(test, slice->task, &fit->tasks[0]);
	te_slice_complete(slice);
	for (i = 0; i < MANY; i++)
		te_slice_complete(pull_one(test, 1));
	KUNIT_EXPECT_EQ(test, f->far.peer->path.nr, 0);
	KUNIT_EXPECT_EQ(test, misfits->live, 0);
}

/* The far rail helps where the near one has no room. */
static void near_rail_is_preferred(struct kunit *test)
{
	struct path_fixture *f = test->priv;

	f->mrs[0].location = TE_LOCATION_CPU(0);
	submit(test, 1, 1, 2 * SLICE);
	f->sides[0].rail.open = true;
	expect_dry(test, 1);
	f->sides[0].rail.open = false;
	te_path_wake(f->far.peer);
	te_slice_complete(pull_one(test, 1));
	f->sides[0].rail.open = true;
	te_slice_complete(pull_one(test, 0));
}

/* The peer's sides of the two rails are its devs 4 and 5. */
static const struct side_case {
	const char *desc;
	u32 location;	/* here; the second dev is on node 1 */
	u32 far;	/* there */
	u32 leaves;	/* bit of the rail that leaves work to the other one */
} side_cases[] = {
	{ "near on both sides", TE_LOCATION_ANY, 0, 0 },
	{ "the second is far there", TE_LOCATION_ANY, BIT(5), BIT(1) },
	{ "the first is far there", TE_LOCATION_ANY, BIT(4), BIT(0) },
	{ "both are far there", TE_LOCATION_ANY, BIT(4) | BIT(5), 0 },
	{ "only others are far there", TE_LOCATION_ANY, BIT(0) | BIT(31), 0 },
	{ "the second is far here and there", TE_LOCATION_CPU(0), BIT(5),
	  BIT(1) },
	{ "one is far here, the other there", TE_LOCATION_CPU(0), BIT(4), 0 },
	{ "both are far there, one here too", TE_LOCATION_CPU(0),
	  BIT(4) | BIT(5), BIT(1) },
};

KUNIT_ARRAY_PARAM_DESC(side, side_cases, desc);

/* The side that is far helps where the near one has no room. */
static void near_side_is_preferred(struct kunit *test)
{
	const struct side_case *c = test->param_value;
	struct path_fixture *f = test->priv;
	struct path_side *sides = f->sides;
	u32 i;

	f->mrs[0].location = c->location;
	f->far.rmr->far = c->far;
	sides[0].rail.to = BIT(4);
	sides[1].rail.to = BIT(5);
	for (i = 0; i < NR_RAILS; i++) {
		submit(test, 1, 1, 2 * SLICE);
		sides[!i].rail.open = true;
		if (c->leaves & BIT(i))
			expect_dry(test, i);
		else
			te_slice_complete(pull_one(test, i));
		sides[!i].rail.open = false;
		te_path_wake(f->far.peer);
		te_slice_complete(pull_one(test, i));
		while (f->far.peer->path.nr)
			te_slice_complete(pull_one(test, !i));
	}
}

/* Where it goes to is not known yet: it may be near, and is tried. */
static void new_rail_is_near(struct kunit *test)
{
	struct path_fixture *f = test->priv;

	f->far.rmr->far = ~0U;
	f->sides[0].rail.to = BIT(4);
	f->sides[1].rail.open = true;
	submit(test, 1, 1, SLICE);
	expect_dry(test, 0);
	te_slice_complete(pull_one(test, 1));
}

/* What the matrix forbids here nothing there allows. */
static void forbidden_stays_so(struct kunit *test)
{
	static const struct te_topology_entry entry = {
		.location = "*", .device = "kunit0",
	};
	struct te_matrix *matrix = te_matrix_create();
	struct path_fixture *f = test->priv;
	struct te_batch *batch;

	KUNIT_ASSERT_NOT_NULL(test, matrix);
	KUNIT_EXPECT_EQ(test, te_matrix_add(matrix, &entry), 0);
	te_topo_load(matrix);
	strscpy(f->sides[0].dev.name, "kunit0", sizeof(f->sides[0].dev.name));
	strscpy(f->sides[1].dev.name, "kunit1", sizeof(f->sides[1].dev.name));
	f->far.rmr->far = ~0U;
	f->sides[0].rail.to = BIT(4);
	f->sides[1].rail.to = BIT(5);
	batch = submit(test, 1, 1, 2 * SLICE);
	KUNIT_EXPECT_FALSE(test, te_path_suits(&f->sides[1].rail));
	te_slice_complete(pull_one(test, 0));
	del_rail(&f->sides[0]);
	expect_ended(test, batch, 0, TE_FAILED, -ENODEV);
}

/* TCP has what RDMA is not able to carry, however full RDMA is. */
static void later_transport_waits(struct kunit *test)
{
	struct path_fixture *f = test->priv;
	struct path_side *sides = f->sides;

	sides[1].dev.ops = &later_ops;
	sides[0].rail.able = true;
	submit(test, 1, 1, 2 * SLICE);
	KUNIT_EXPECT_FALSE(test, te_path_suits(&sides[1].rail));
	expect_dry(test, 1);
	sides[0].rail.able = false;
	te_path_wake(f->far.peer);
	KUNIT_EXPECT_TRUE(test, te_path_suits(&sides[1].rail));
	te_slice_complete(pull_one(test, 1));
	sides[0].rail.able = true;
	expect_dry(test, 1);
	te_slice_complete(pull_one(test, 0));
}

/* Little work does not wake TCP alone, though it could take it. */
static void later_transport_is_not_woken(struct kunit *test)
{
	struct path_fixture *f = test->priv;
	struct path_side *sides = f->sides;

	sides[1].dev.ops = &later_ops;
	expect_dry(test, 0);
	expect_dry(test, 1);
	sides[0].rail.able = true;
	sides[1].rail.open = true;
	sides[0].kicks = 0;
	submit(test, 1, 1, SLICE);
	KUNIT_EXPECT_EQ(test, sides[0].kicks, 1);
	te_slice_complete(pull_one(test, 0));
}

/* Its only way goes, though others stay. */
static void forced_transport_goes(struct kunit *test)
{
	struct path_fixture *f = test->priv;
	struct path_side *sides = f->sides;
	struct te_batch *batch;

	sides[1].dev.ops = &later_ops;
	f->far.seg->transport = TE_RDMA;
	batch = submit(test, 1, 2, SLICE);
	del_rail(&sides[0]);
	expect_ended(test, batch, 0, TE_FAILED, -ENODEV);
	expect_ended(test, batch, 1, TE_FAILED, -ENODEV);
}

/* A segment that must go one way goes no other. */
static void forced_transport(struct kunit *test)
{
	struct path_fixture *f = test->priv;
	struct path_side *sides = f->sides;

	sides[1].dev.ops = &later_ops;
	sides[0].rail.able = true;
	f->far.seg->transport = TE_TCP;
	submit(test, 1, 1, SLICE);
	KUNIT_EXPECT_FALSE(test, te_path_suits(&sides[0].rail));
	expect_dry(test, 0);
	te_slice_complete(pull_one(test, 1));
}

/* A rail that leaves a task to a nearer one tells it; that one may have rested. */
static void who_passes_by_tells(struct kunit *test)
{
	struct path_fixture *f = test->priv;
	struct path_side *sides = f->sides;

	expect_dry(test, 0);
	expect_dry(test, 1);
	f->mrs[0].location = TE_LOCATION_CPU(0);
	sides[1].rail.open = true;
	sides[0].kicks = 0;
	submit(test, 1, 1, SLICE);
	KUNIT_EXPECT_EQ(test, sides[0].kicks, 0);
	sides[0].rail.open = true;
	expect_dry(test, 1);
	KUNIT_EXPECT_EQ(test, sides[0].kicks, 1);
	te_slice_complete(pull_one(test, 0));
}

/* A nearer rail that cannot carry it, though open, is no reason to leave it. */
static void near_rail_without_key_does_not_count(struct kunit *test)
{
	struct path_fixture *f = test->priv;
	struct path_side *sides = f->sides;

	f->mrs[1].location = TE_LOCATION_CPU(0);
	sides[0].rail.open = true;
	queue_batch(test, make_batch(test, 1, 1, SLICE, 1));
	expect_dry(test, 1);
	sides[1].kicks = 0;
	expect_dry(test, 0);
	KUNIT_EXPECT_EQ(test, sides[1].kicks, 1);
	te_slice_complete(pull_one(test, 1));
}

/* It was open, but its dev stops: the work is for another one. */
static void stopping_rail_is_not_woken(struct kunit *test)
{
	struct path_fixture *f = test->priv;
	struct path_side *sides = f->sides;

	expect_dry(test, 0);
	expect_dry(test, 1);
	sides[0].rail.open = true;
	te_queue_close(sides[0].rail.queue);
	sides[1].kicks = 0;
	submit(test, 1, 1, SLICE);
	KUNIT_EXPECT_FALSE(test, sides[0].rail.active);
	KUNIT_EXPECT_EQ(test, sides[1].kicks, 1);
	te_slice_complete(pull_one(test, 1));
}

/* However many a rail finds doomed, it takes a bounded number out at a time. */
static void doomed_cost_looks(struct kunit *test)
{
	struct path_fixture *f = test->priv;
	struct te_batch *batch = submit(test, 1, MANY, SLICE);
	struct te_slice *slice;
	bool dry = false;
	u32 i, left = MANY, turns;

	for (i = 0; i < MANY; i++)
		batch->tasks[i].end_state = TE_TIMEOUT;
	for (turns = 0; !dry && turns < MANY; turns++) {
		KUNIT_EXPECT_EQ(test, pull(test, 0, 1, &slice, &dry), 0);
		KUNIT_EXPECT_LE(test, left - f->far.peer->path.nr, 65);
		left = f->far.peer->path.nr;
	}
	KUNIT_EXPECT_EQ(test, left, 0);
	KUNIT_EXPECT_GT(test, turns, 1);
	for (i = 0; i < MANY; i++)
		expect_ended(test, batch, i, TE_TIMEOUT, -ETIMEDOUT);
}

/* Doomed while a slice is away: it ends when that comes back, not before. */
static void doomed_with_a_slice_away(struct kunit *test)
{
	struct path_fixture *f = test->priv;
	struct te_batch *batch = submit(test, 1, 1, 2 * SLICE);
	struct te_slice *slice = pull_one(test, 0);

	batch->tasks[0].end_state = TE_TIMEOUT;
	expect_dry(test, 1);
	KUNIT_EXPECT_EQ(test, f->far.peer->path.nr, 0);
	KUNIT_EXPECT_FALSE(test, batch->tasks[0].ended);
	te_slice_complete(slice);
	expect_ended(test, batch, 0, TE_TIMEOUT, -ETIMEDOUT);
}

/* Turns are of bytes: 64 small tasks against four slices of a large one. */
static void turns_are_of_bytes(struct kunit *test)
{
	struct te_batch *small = submit(test, 1, 128, SLICE / 16);
	struct te_batch *large = submit(test, 2, 1, 16 * SLICE);
	struct te_slice *slice;
	u32 i;

	for (i = 0; i < 2 * (64 + 4); i++) {
		slice = pull_one(test, i % 2);
		KUNIT_EXPECT_PTR_EQ_MSG(test, slice->task->batch,
					i % 68 < 64 ? small : large,
					"slice %u", i);
		te_slice_complete(slice);
	}
}

/* Little work wakes one rail that is open, much of it all. */
static void work_wakes_rails(struct kunit *test)
{
	struct path_fixture *f = test->priv;
	struct path_side *sides = f->sides;

	expect_dry(test, 0);
	expect_dry(test, 1);
	sides[0].kicks = 0;
	sides[1].kicks = 0;
	sides[0].rail.open = true;
	sides[1].rail.open = true;
	submit(test, 1, 1, SLICE);
	KUNIT_EXPECT_EQ(test, sides[0].kicks + sides[1].kicks, 1);
	submit(test, 1, 1, SLICE);
	KUNIT_EXPECT_EQ(test, sides[0].kicks, 1);
	KUNIT_EXPECT_EQ(test, sides[1].kicks, 1);
	te_slice_complete(pull_one(test, 0));
	te_slice_complete(pull_one(test, 1));
	expect_dry(test, 0);
	expect_dry(test, 1);
	submit(test, 1, 1, 2 * SLICE);
	KUNIT_EXPECT_EQ(test, sides[0].kicks, 2);
	KUNIT_EXPECT_EQ(test, sides[1].kicks, 2);
}

static struct kunit_case te_path_cases[] = {
	KUNIT_CASE(two_rails_share_a_task),
	KUNIT_CASE(requeued_goes_first),
	KUNIT_CASE(doomed_are_taken_out),
	KUNIT_CASE(dead_peer_ends_all),
	KUNIT_CASE(last_rail_ends_all),
	KUNIT_CASE(misfits_are_passed_by),
	KUNIT_CASE(near_rail_is_preferred),
	KUNIT_CASE_PARAM(near_side_is_preferred, side_gen_params),
	KUNIT_CASE(new_rail_is_near),
	KUNIT_CASE(forbidden_stays_so),
	KUNIT_CASE(later_transport_waits),
	KUNIT_CASE(later_transport_is_not_woken),
	KUNIT_CASE(forced_transport),
	KUNIT_CASE(forced_transport_goes),
	KUNIT_CASE(who_passes_by_tells),
	KUNIT_CASE(near_rail_without_key_does_not_count),
	KUNIT_CASE(stopping_rail_is_not_woken),
	KUNIT_CASE(doomed_cost_looks),
	KUNIT_CASE(doomed_with_a_slice_away),
	KUNIT_CASE(turns_are_of_bytes),
	KUNIT_CASE(work_wakes_rails),
	{}
};

static struct kunit_suite te_path_suite = {
	.name = "te_path",
	.init = path_init,
	.exit = path_exit,
	.test_cases = te_path_cases,
};

kunit_test_suite(te_path_suite);

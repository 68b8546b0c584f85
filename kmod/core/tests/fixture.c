// SPDX-License-Identifier: GPL-2.0-only
/*
 * core/tests: the fixture; see fixture.h.
 */
#include <net/net_namespace.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "core/tests/fixture.h"
#include "event/count.h"

/* Long enough for no test to see it. */
#define NO_DEADLINE_MS	TE_MAX_DEADLINE_MS

static u32 chunks_of(u64 addr, u64 len, u32 shift)
{
	return (((addr & ~PAGE_MASK) + len - 1) >> shift) + 1;
}

static u32 key_of(u32 region, u32 chunk)
{
	return region << 16 | chunk;
}

static void map_mr(struct kunit *test, struct te_mr *mr, u32 region, u32 dev_id,
		   u32 shift)
{
	struct te_mr_map *map;
	u32 i;

	map = kunit_kzalloc(test, sizeof(*map), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, map);
	map->mr = mr;
	map->chunk_shift = shift;
	map->nr_chunks = chunks_of(mr->addr, te_mr_length(mr), shift);
	map->keys = kunit_kcalloc(test, map->nr_chunks, sizeof(*map->keys),
				  GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, map->keys);
	for (i = 0; i < map->nr_chunks; i++) {
		map->keys[i].lkey = key_of(region, i) | dev_id << 31;
		/* Not to be used here at all. */
		map->keys[i].rkey = U32_MAX;
	}
	KUNIT_ASSERT_EQ(test, xa_err(xa_store(&mr->maps, dev_id, map,
					      GFP_KERNEL)), 0);
}

static void add_mrs(struct kunit *test, struct core_fixture *f)
{
	const struct core_side *side = f->local;
	u64 addr = side->addr;
	u32 i;

	for (i = 0; side->lens[i]; i++) {
		struct te_mr *mr = &f->mrs[i];

		refcount_set(&mr->refs, 1);
		mr->addr = addr;
		mr->last = addr + side->lens[i] - 1;
		mr->base = addr + CORE_BASE_SHIFT;
		xa_init(&mr->maps);
		map_mr(test, mr, i, 0, side->chunk_shift);
		if (side->chunk_shift1)
			map_mr(test, mr, i, 1, side->chunk_shift1);
		addr = mr->last + 1;
	}
	f->nr_mrs = i;
}

static void add_rmrs(struct kunit *test, struct core_fixture *f)
{
	const struct core_side *side = f->remote;
	const struct te_rdev rdev = {
		.dev_id = CORE_REMOTE_DEV,
		.chunk_shift = side->chunk_shift,
	};
	u64 addr = side->addr;
	u32 i, chunk;

	KUNIT_ASSERT_EQ(test, te_seg_add_devs(f->seg, &rdev, 1), 0);
	for (i = 0; side->lens[i]; i++) {
		const struct te_mr_desc desc = {
			.id = i + 1,
			.access = TE_REMOTE_READ | TE_REMOTE_WRITE,
			.base = addr,
			.length = side->lens[i],
			.page_off = addr & ~PAGE_MASK,
			.dev_mask = BIT(rdev.dev_id),
		};
		u32 nr = chunks_of(addr, desc.length, side->chunk_shift);

		KUNIT_ASSERT_EQ(test, te_seg_add_mr(f->seg, &desc), 0);
		for (chunk = 0; chunk < nr; chunk++) {
			__le32 key = cpu_to_le32(key_of(i, chunk));

			KUNIT_ASSERT_EQ(test, te_seg_add_keys(f->seg, desc.id,
							      &key, 1), 0);
		}
		addr += desc.length;
	}
	f->nr_rmrs = i;
	te_seg_ready(f->seg);
}

struct core_fixture *core_fixture_create(struct kunit *test,
					 const struct core_side *local,
					 const struct core_side *remote,
					 u32 entries)
{
	struct core_fixture *f;

	f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f);
	f->nr_tasks = te_count_sum(TE_NR_TASKS);
	f->nr_slices = te_count_sum(TE_NR_SLICES);
	f->local = local;
	f->remote = remote;
	f->devs[1].id = 1;
	f->ring = te_ring_create(CORE_RING_ENTRIES, 2 * (CORE_NR_TASKS + 1));
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, f->ring);
	f->peer = te_peer_create(&init_net, &in6addr_loopback, 0);
	KUNIT_ASSERT_NOT_NULL(test, f->peer);
	f->seg = te_seg_create(f->peer, TE_ANY);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, f->seg);
	f->batch = te_batch_create(f->ring, CORE_NR_TASKS, NO_DEADLINE_MS,
				   entries);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, f->batch);
	add_mrs(test, f);
	add_rmrs(test, f);
	return f;
}

void core_fixture_destroy(struct kunit *test, struct core_fixture *f)
{
	u32 i;

	KUNIT_EXPECT_TRUE(test, te_batch_idle(f->batch));
	te_batch_free(f->batch);
	KUNIT_EXPECT_EQ(test, kref_read(&f->ring->ref), 1);
	te_ring_put(f->ring);
	KUNIT_EXPECT_EQ(test, kref_read(&f->seg->ref), 1);
	te_seg_put(f->seg);
	te_peer_put(f->peer);
	for (i = 0; i < f->nr_mrs; i++) {
		KUNIT_EXPECT_EQ(test, refcount_read(&f->mrs[i].refs), 1);
		xa_destroy(&f->mrs[i].maps);
	}
	KUNIT_EXPECT_EQ(test, te_count_sum(TE_NR_TASKS), f->nr_tasks);
	KUNIT_EXPECT_EQ(test, te_count_sum(TE_NR_SLICES), f->nr_slices);
}

static void take_mrs(struct kunit *test, struct core_fixture *f,
		     struct te_task *task)
{
	u32 i;

	task->nr_mrs = f->nr_mrs;
	if (f->nr_mrs == 1) {
		task->mr = f->mrs;
	} else {
		task->mrs = kcalloc(f->nr_mrs, sizeof(*task->mrs), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, task->mrs);
	}
	for (i = 0; i < f->nr_mrs; i++) {
		te_mr_get(&f->mrs[i]);
		if (f->nr_mrs > 1)
			task->mrs[i] = &f->mrs[i];
	}
}

static void take_rmrs(struct kunit *test, struct core_fixture *f,
		      struct te_task *task)
{
	struct te_rmr *rmr;
	u32 i;

	task->nr_rmrs = f->nr_rmrs;
	if (f->nr_rmrs > 1) {
		task->rmrs = kcalloc(f->nr_rmrs, sizeof(*task->rmrs),
				     GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, task->rmrs);
	}
	for (i = 0; i < f->nr_rmrs; i++) {
		rmr = xa_load(&f->seg->rmrs, i + 1);
		te_rmr_get(rmr);
		if (f->nr_rmrs == 1)
			task->rmr = rmr;
		else
			task->rmrs[i] = rmr;
	}
}

struct te_task *core_prepare(struct kunit *test, struct core_fixture *f, u32 n,
			     u64 length)
{
	struct te_task *task = &f->batch->tasks[f->batch->used + n];

	task->op = TE_WRITE;
	task->laddr = f->local->addr;
	task->raddr = f->remote->addr;
	task->length = length;
	task->user_data = 1000 + (task - f->batch->tasks);
	INIT_LIST_HEAD(&task->redo);
	if (length) {
		take_mrs(test, f, task);
		take_rmrs(test, f, task);
	}
	te_seg_get(f->seg);
	task->seg = f->seg;
	return task;
}

struct te_task *core_submit(struct kunit *test, struct core_fixture *f,
			    u64 length)
{
	struct te_task *task = core_prepare(test, f, 0, length);

	KUNIT_ASSERT_EQ(test, te_batch_admit(f->batch, 1), 0);
	return task;
}

enum te_cut core_cut(struct core_fixture *f, struct te_task *task, u32 dev_id,
		     struct te_slice **slice)
{
	return te_slice_cut(task, &f->devs[dev_id], CORE_REMOTE_DEV, slice);
}

static u32 side_key(const struct core_side *side, u64 addr, u32 shift)
{
	u64 start = side->addr;
	u32 i;

	for (i = 0; addr - start >= side->lens[i]; i++)
		start += side->lens[i];
	return key_of(i, (addr - (start & PAGE_MASK)) >> shift);
}

u32 core_lkey(const struct core_fixture *f, u32 dev_id, u64 addr)
{
	return side_key(f->local, addr, dev_id ? f->local->chunk_shift1 :
						 f->local->chunk_shift) |
	       dev_id << 31;
}

u32 core_rkey(const struct core_fixture *f, u64 addr)
{
	return side_key(f->remote, addr, f->remote->chunk_shift);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * mem/seg: a peer's segment as seen from here.
 *
 * A segment is made when a context opens it, filled by its session as pages of
 * the description come in, looked up by submitters, and freed when the context,
 * the session and the last task have dropped it. Everything the peer says is
 * checked here: ids, ranges, overlaps, counts. Memory grows with bytes that
 * came, never with numbers that were announced, is capped, and is charged to who
 * opened the segment.
 */
#include <linux/err.h>
#include <linux/interval_tree_generic.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "event/count.h"
#include "mem/mem.h"
#include "peer/peer.h"

#define RMR_START(rmr)	((rmr)->desc.base)
#define RMR_LAST(rmr)	((rmr)->last)

INTERVAL_TREE_DEFINE(struct te_rmr, rb, u64, subtree_last, RMR_START, RMR_LAST,
		     static, rmr_tree)

static void seg_free_work(struct work_struct *work)
{
	struct te_seg *seg = container_of(work, struct te_seg, free_work);
	struct te_rmr *rmr;
	unsigned long id;

	xa_for_each(&seg->rmrs, id, rmr) {
		te_rmr_put(rmr);
		cond_resched();
	}
	xa_destroy(&seg->rmrs);
	mutex_destroy(&seg->lock);
	atomic_dec(&seg->peer->nr_segs);
	te_peer_put(seg->peer);
	mem_cgroup_put(seg->memcg);
	te_count(TE_NR_SEGMENTS, -1);
	kfree(seg);
}

struct te_seg *te_seg_create(struct te_peer *peer, u32 transport)
{
	struct te_seg *seg;

	seg = kzalloc(sizeof(*seg), GFP_KERNEL_ACCOUNT);
	if (!seg)
		return ERR_PTR(-ENOMEM);
	kref_init(&seg->ref);
	te_peer_get(peer);
	atomic_inc(&peer->nr_segs);
	seg->peer = peer;
	seg->transport = transport;
	init_completion(&seg->settled);
	mutex_init(&seg->lock);
	xa_init(&seg->rmrs);
	seg->tree = RB_ROOT_CACHED;
	INIT_WORK(&seg->free_work, seg_free_work);
	seg->memcg = get_mem_cgroup_from_mm(current->mm);
	te_count(TE_NR_SEGMENTS, 1);
	return seg;
}

/* There may be a million regions, and the last put may be a mover's. */
static void seg_release(struct kref *ref)
{
	struct te_seg *seg = container_of(ref, struct te_seg, ref);

	queue_work(te_mem_wq, &seg->free_work);
}

void te_seg_get(struct te_seg *seg)
{
	kref_get(&seg->ref);
}

void te_seg_put(struct te_seg *seg)
{
	kref_put(&seg->ref, seg_release);
}

void te_rmr_get(struct te_rmr *rmr)
{
	refcount_inc(&rmr->refs);
}

void te_rmr_put(struct te_rmr *rmr)
{
	if (refcount_dec_and_test(&rmr->refs)) {
		kvfree(rmr->keys);
		kfree(rmr);
	}
}

int te_seg_add_dev(struct te_seg *seg, const struct te_rdev *rdev)
{
	int ret = 0;

	if (rdev->dev_id >= TE_MAX_DEVS || rdev->chunk_shift < 12 ||
	    rdev->chunk_shift > 40)
		return -EPROTO;

	mutex_lock(&seg->lock);
	/* Ascending ids: no dev twice, and keys come in this order. */
	if (seg->state != TE_SEG_OPENING || seg->nr_devs == TE_MAX_DEVS ||
	    !xa_empty(&seg->rmrs) ||
	    (seg->nr_devs &&
	     seg->devs[seg->nr_devs - 1].dev_id >= rdev->dev_id))
		ret = -EPROTO;
	else
		seg->devs[seg->nr_devs++] = *rdev;
	mutex_unlock(&seg->lock);
	return ret;
}

/* Count the keys that must come. Return: 0, -E2BIG too many. */
static int rmr_plan_keys(const struct te_seg *seg, struct te_rmr *rmr)
{
	u64 want = 0;
	u32 i;

	for (i = 0; i < seg->nr_devs; i++) {
		u32 shift = seg->devs[i].chunk_shift;

		rmr->key_start[i] = want;
		if (!(rmr->desc.dev_mask & BIT(seg->devs[i].dev_id)))
			continue;
		want += ((rmr->desc.page_off + rmr->desc.length - 1) >> shift) +
			1;
		if (want > TE_SEG_MAX_KEYS)
			return -E2BIG;
	}
	rmr->want_keys = want;
	return 0;
}

static int rmr_go_live_locked(struct te_seg *seg, struct te_rmr *rmr)
{
	lockdep_assert_held(&seg->lock);
	if (rmr_tree_iter_first(&seg->tree, rmr->desc.base, rmr->last))
		return -EPROTO;
	rmr_tree_insert(rmr, &seg->tree);
	rmr->live = true;
	seg->nr_live++;
	return 0;
}

static int seg_insert_rmr_locked(struct te_seg *seg, struct te_rmr *rmr)
{
	int ret;

	lockdep_assert_held(&seg->lock);
	if (seg->nr_rmrs == TE_SEG_MAX_RMRS)
		return -E2BIG;
	ret = xa_insert(&seg->rmrs, rmr->desc.id, rmr, GFP_KERNEL_ACCOUNT);
	if (ret)
		return ret == -EBUSY ? -EPROTO : ret;
	/* A region on none of our common devs has no keys to wait for. */
	if (!rmr->want_keys) {
		ret = rmr_go_live_locked(seg, rmr);
		if (ret) {
			xa_erase(&seg->rmrs, rmr->desc.id);
			return ret;
		}
	}
	seg->nr_rmrs++;
	return 0;
}

static int seg_add_mr(struct te_seg *seg, const struct te_mr_desc *desc)
{
	struct te_rmr *rmr;
	u64 end;
	int ret;

	if (!desc->length || check_add_overflow(desc->base, desc->length - 1, &end) ||
	    !desc->access || (desc->access & ~TE_ACCESS_REMOTE) ||
	    desc->page_off > SZ_64K || desc->length > S64_MAX)
		return -EPROTO;

	rmr = kzalloc(sizeof(*rmr), GFP_KERNEL_ACCOUNT);
	if (!rmr)
		return -ENOMEM;
	refcount_set(&rmr->refs, 1);
	rmr->desc = *desc;
	rmr->last = end;

	mutex_lock(&seg->lock);
	ret = rmr_plan_keys(seg, rmr);
	if (!ret)
		ret = seg_insert_rmr_locked(seg, rmr);
	mutex_unlock(&seg->lock);
	if (ret)
		te_rmr_put(rmr);
	return ret;
}

int te_seg_add_mr(struct te_seg *seg, const struct te_mr_desc *desc)
{
	struct mem_cgroup *old = set_active_memcg(seg->memcg);
	int ret = seg_add_mr(seg, desc);

	set_active_memcg(old);
	return ret;
}

/* Room for @nr more keys, at least doubling, never more than announced. */
static int rmr_grow(struct te_rmr *rmr, u32 nr)
{
	u32 need = rmr->nr_keys + nr;
	u32 *keys;
	u32 max;

	if (need <= rmr->max_keys)
		return 0;
	max = min(max(need, 2 * rmr->max_keys), rmr->want_keys);
	keys = kvmalloc_array(max, sizeof(*keys), GFP_KERNEL_ACCOUNT);
	if (!keys)
		return -ENOMEM;
	if (rmr->nr_keys)
		memcpy(keys, rmr->keys, rmr->nr_keys * sizeof(*keys));
	kvfree(rmr->keys);
	rmr->keys = keys;
	rmr->max_keys = max;
	return 0;
}

static int rmr_add_keys_locked(struct te_seg *seg, struct te_rmr *rmr,
			       const __le32 *keys, u32 nr)
{
	u32 i;
	int ret;

	lockdep_assert_held(&seg->lock);
	/* Keys of a live region are read without the lock: never touch them. */
	if (rmr->live || nr > rmr->want_keys - rmr->nr_keys)
		return -EPROTO;
	if (nr > TE_SEG_MAX_KEYS - seg->total_keys)
		return -E2BIG;
	ret = rmr_grow(rmr, nr);
	if (ret)
		return ret;
	for (i = 0; i < nr; i++)
		rmr->keys[rmr->nr_keys++] = le32_to_cpu(keys[i]);
	seg->total_keys += nr;
	return rmr->nr_keys == rmr->want_keys ? rmr_go_live_locked(seg, rmr) :
						0;
}

int te_seg_add_keys(struct te_seg *seg, u32 mr_id, const __le32 *keys, u32 nr)
{
	struct mem_cgroup *old = set_active_memcg(seg->memcg);
	struct te_rmr *rmr;
	int ret = -EPROTO;

	mutex_lock(&seg->lock);
	rmr = xa_load(&seg->rmrs, mr_id);
	if (rmr)
		ret = rmr_add_keys_locked(seg, rmr, keys, nr);
	mutex_unlock(&seg->lock);
	set_active_memcg(old);
	return ret;
}

int te_seg_del_mr(struct te_seg *seg, u32 mr_id)
{
	struct te_rmr *rmr;

	mutex_lock(&seg->lock);
	rmr = xa_erase(&seg->rmrs, mr_id);
	if (rmr) {
		WRITE_ONCE(rmr->gone, true);
		if (rmr->live) {
			rmr_tree_remove(rmr, &seg->tree);
			seg->nr_live--;
		}
		seg->nr_rmrs--;
		seg->total_keys -= rmr->nr_keys;
		te_rmr_put(rmr);
	}
	mutex_unlock(&seg->lock);
	return rmr ? 0 : -EPROTO;
}

void te_seg_ready(struct te_seg *seg)
{
	mutex_lock(&seg->lock);
	if (seg->state == TE_SEG_OPENING)
		WRITE_ONCE(seg->state, TE_SEG_READY);
	mutex_unlock(&seg->lock);
	complete_all(&seg->settled);
}

void te_seg_fail(struct te_seg *seg, int error)
{
	mutex_lock(&seg->lock);
	if (seg->state != TE_SEG_GONE) {
		seg->error = error;
		WRITE_ONCE(seg->state, TE_SEG_GONE);
	}
	mutex_unlock(&seg->lock);
	complete_all(&seg->settled);
}

struct te_rmr *te_rmr_lookup_locked(struct te_seg *seg, u64 addr)
{
	lockdep_assert_held(&seg->lock);
	return rmr_tree_iter_first(&seg->tree, addr, addr);
}

bool te_rmr_key(const struct te_seg *seg, const struct te_rmr *rmr,
		u32 rdev_index, u64 addr, u32 *key, u64 *room)
{
	const struct te_rdev *rdev = &seg->devs[rdev_index];
	u64 off, chunk, chunk_end;

	if (!(rmr->desc.dev_mask & BIT(rdev->dev_id)))
		return false;
	off = addr - rmr->desc.base + rmr->desc.page_off;
	chunk = off >> rdev->chunk_shift;
	chunk_end = (chunk + 1) << rdev->chunk_shift;
	*key = rmr->keys[rmr->key_start[rdev_index] + chunk];
	*room = min(chunk_end - off, rmr->last - addr + 1);
	return true;
}

u32 te_seg_buffers(struct te_seg *seg, u64 first, struct te_buffer *bufs,
		   u32 max)
{
	struct te_rmr *rmr;
	u32 n = 0;

	mutex_lock(&seg->lock);
	for (rmr = rmr_tree_iter_first(&seg->tree, first, U64_MAX);
	     rmr && n < max;
	     rmr = rmr_tree_iter_next(rmr, first, U64_MAX)) {
		bufs[n++] = (struct te_buffer) {
			.addr = rmr->desc.base,
			.length = rmr->desc.length,
			.access = rmr->desc.access,
		};
	}
	mutex_unlock(&seg->lock);
	return n;
}

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

	if (seg->opened)
		seg->ended(seg->opened);
	xa_for_each(&seg->rmrs, id, rmr) {
		te_rmr_put(rmr);
		cond_resched();
	}
	xa_destroy(&seg->rmrs);
	kfree(rcu_access_pointer(seg->devs));
	kfree(seg->next_devs);
	mutex_destroy(&seg->lock);
	atomic_dec(&seg->peer->nr_segs);
	te_peer_put(seg->peer);
	mem_cgroup_put(seg->memcg);
	te_count(TE_NR_SEGMENTS, -1);
	kfree(seg);
}

struct te_seg *te_seg_create(struct te_peer *peer, u32 transport)
{
	struct te_seg_devs *devs;
	struct te_seg *seg;

	seg = kzalloc(sizeof(*seg), GFP_KERNEL_ACCOUNT);
	devs = kzalloc(sizeof(*devs), GFP_KERNEL_ACCOUNT);
	if (!seg || !devs) {
		kfree(devs);
		kfree(seg);
		return ERR_PTR(-ENOMEM);
	}
	RCU_INIT_POINTER(seg->devs, devs);
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
	struct te_rmr_keys *keys;
	struct hlist_node *next;

	if (!refcount_dec_and_test(&rmr->refs))
		return;
	hlist_for_each_entry_safe(keys, next, &rmr->keys, link)
		kvfree(keys);
	kvfree(rmr->coming);
	kfree(rmr);
}

static const struct te_rdev *devs_find(const struct te_seg_devs *devs,
				       u32 dev_id)
{
	u32 i;

	for (i = 0; i < devs->nr; i++)
		if (devs->devs[i].dev_id == dev_id)
			return &devs->devs[i];
	return NULL;
}

bool te_seg_find_dev(const struct te_seg *seg, u32 dev_id,
		     struct te_rdev *rdev)
{
	const struct te_rdev *found;

	rcu_read_lock();
	found = devs_find(te_seg_devs(seg), dev_id);
	if (found)
		*rdev = *found;
	rcu_read_unlock();
	return found;
}

/* All that were described, though some may not be in use yet. */
static const struct te_seg_devs *seg_known_locked(const struct te_seg *seg)
{
	return seg->next_devs ?:
	       rcu_dereference_protected(seg->devs,
					 lockdep_is_held(&seg->lock));
}

/* Put one into @devs, which has room, or replace what is there. */
static int devs_put(struct te_seg_devs *devs, const struct te_rdev *rdev)
{
	struct te_rdev *at = devs->devs;
	struct te_rdev *end = devs->devs + devs->nr;

	while (at < end && at->dev_id < rdev->dev_id)
		at++;
	if (at < end && at->dev_id == rdev->dev_id) {
		/* It may get another address, but keys were counted by this. */
		if (at->chunk_shift != rdev->chunk_shift ||
		    at->transport != rdev->transport)
			return -EPROTO;
	} else {
		memmove(at + 1, at, (end - at) * sizeof(*at));
		devs->nr++;
	}
	*at = *rdev;
	return 0;
}

static int seg_add_devs_locked(struct te_seg *seg, const struct te_rdev *rdevs,
			       u32 nr)
{
	const struct te_seg_devs *old = seg_known_locked(seg);
	struct te_seg_devs *devs;
	int ret = 0;
	u32 i;

	lockdep_assert_held(&seg->lock);
	/* Not while keys come in: they come in the order of the devs. */
	if (seg->nr_live != seg->nr_rmrs)
		return -EPROTO;
	devs = kzalloc(struct_size(devs, devs, old->nr + nr),
		       GFP_KERNEL_ACCOUNT);
	if (!devs)
		return -ENOMEM;
	devs->nr = old->nr;
	memcpy(devs->devs, old->devs, old->nr * sizeof(*old->devs));
	for (i = 0; i < nr && !ret; i++)
		ret = devs_put(devs, &rdevs[i]);
	if (ret) {
		kfree(devs);
		return ret;
	}
	kfree(seg->next_devs);
	seg->next_devs = devs;
	return 0;
}

int te_seg_add_devs(struct te_seg *seg, const struct te_rdev *rdevs, u32 nr)
{
	struct mem_cgroup *old;
	int ret;
	u32 i;

	if (nr > TE_MAX_DEVS)
		return -EPROTO;
	for (i = 0; i < nr; i++) {
		if (rdevs[i].dev_id >= TE_MAX_DEVS ||
		    rdevs[i].chunk_shift < 12 || rdevs[i].chunk_shift > 40 ||
		    (i && rdevs[i].dev_id <= rdevs[i - 1].dev_id))
			return -EPROTO;
	}

	old = set_active_memcg(seg->memcg);
	mutex_lock(&seg->lock);
	ret = seg_add_devs_locked(seg, rdevs, nr);
	mutex_unlock(&seg->lock);
	set_active_memcg(old);
	return ret;
}

/* Keys of a region on a dev with chunks of this size. */
static u64 rmr_chunks(const struct te_rmr *rmr, u32 chunk_shift)
{
	return ((rmr->desc.page_off + rmr->desc.length - 1) >> chunk_shift) + 1;
}

/* Count the keys that must come. Return: 0, -E2BIG too many. */
static int rmr_plan_keys_locked(const struct te_seg *seg, struct te_rmr *rmr)
{
	const struct te_seg_devs *devs = seg_known_locked(seg);
	u64 want = 0;
	u32 i;

	for (i = 0; i < devs->nr; i++) {
		const struct te_rdev *rdev = &devs->devs[i];

		if (!(rmr->desc.dev_mask & BIT(rdev->dev_id)))
			continue;
		want += rmr_chunks(rmr, rdev->chunk_shift);
		if (want > TE_SEG_MAX_KEYS)
			return -E2BIG;
		rmr->due |= BIT(rdev->dev_id);
	}
	rmr->nr_due = want;
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
	if (!rmr->due) {
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
	ret = rmr_plan_keys_locked(seg, rmr);
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
static int rmr_make_room(struct te_rmr *rmr, const struct te_rdev *rdev, u32 nr)
{
	struct te_rmr_keys *old = rmr->coming;
	u32 have = old ? old->nr : 0;
	u32 max = old ? old->max : 0;
	struct te_rmr_keys *k;

	if (have + nr <= max)
		return 0;
	max = min_t(u64, max(have + nr, 2 * max),
		    rmr_chunks(rmr, rdev->chunk_shift));
	k = kvmalloc(struct_size(k, keys, max), GFP_KERNEL_ACCOUNT);
	if (!k)
		return -ENOMEM;
	k->dev_id = rdev->dev_id;
	k->chunk_shift = rdev->chunk_shift;
	k->nr = have;
	k->max = max;
	if (have)
		memcpy(k->keys, old->keys, have * sizeof(*k->keys));
	kvfree(old);
	rmr->coming = k;
	return 0;
}

/* All keys of a dev have come: they are found in place of those before. */
static void rmr_put_keys_locked(struct te_seg *seg, struct te_rmr *rmr)
{
	struct te_rmr_keys *k = rmr->coming;
	struct te_rmr_keys *old;

	lockdep_assert_held(&seg->lock);
	rmr->coming = NULL;
	hlist_for_each_entry(old, &rmr->keys, link) {
		if (old->dev_id == k->dev_id) {
			hlist_replace_rcu(&old->link, &k->link);
			seg->total_keys -= old->nr;
			kvfree_rcu(old, rcu);
			return;
		}
	}
	hlist_add_head_rcu(&k->link, &rmr->keys);
}

static void rmr_drop_coming_locked(struct te_seg *seg, struct te_rmr *rmr)
{
	lockdep_assert_held(&seg->lock);
	if (!rmr->coming)
		return;
	seg->total_keys -= rmr->coming->nr;
	kvfree(rmr->coming);
	rmr->coming = NULL;
}

/*
 * Keys of one dev, at most as many as are missing; the last one puts all of them
 * in place. Return: how many were taken, -ENOMEM.
 */
static int rmr_take_keys_locked(struct te_seg *seg, struct te_rmr *rmr,
				const struct te_rdev *rdev, const __le32 *keys,
				u32 nr)
{
	u64 want = rmr_chunks(rmr, rdev->chunk_shift);
	struct te_rmr_keys *k;
	u32 i;
	int ret;

	lockdep_assert_held(&seg->lock);
	nr = min_t(u64, nr, want - (rmr->coming ? rmr->coming->nr : 0));
	ret = rmr_make_room(rmr, rdev, nr);
	if (ret)
		return ret;
	k = rmr->coming;
	for (i = 0; i < nr; i++)
		k->keys[k->nr++] = le32_to_cpu(keys[i]);
	seg->total_keys += nr;
	if (k->nr == want)
		rmr_put_keys_locked(seg, rmr);
	return nr;
}

static int rmr_add_keys_locked(struct te_seg *seg, struct te_rmr *rmr,
			       const __le32 *keys, u32 nr)
{
	const struct te_seg_devs *devs = seg_known_locked(seg);
	u32 dev_id;
	int n;

	lockdep_assert_held(&seg->lock);
	if (nr > rmr->nr_due)
		return -EPROTO;
	if (nr > TE_SEG_MAX_KEYS - seg->total_keys)
		return -E2BIG;
	while (nr) {
		dev_id = __ffs(rmr->due);
		n = rmr_take_keys_locked(seg, rmr, devs_find(devs, dev_id),
					 keys, nr);
		if (n < 0)
			return n;
		if (!rmr->coming)
			rmr->due &= ~BIT(dev_id);
		keys += n;
		nr -= n;
		rmr->nr_due -= n;
	}
	return rmr->due ? 0 : rmr_go_live_locked(seg, rmr);
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

static int rmr_add_dev_keys_locked(struct te_seg *seg, struct te_rmr *rmr,
				   const struct te_rdev *rdev, u32 first,
				   const __le32 *keys, u32 nr)
{
	const struct te_rmr_keys *k = rmr->coming;

	lockdep_assert_held(&seg->lock);
	if (!first)
		rmr_drop_coming_locked(seg, rmr);
	else if (!k || k->dev_id != rdev->dev_id || k->nr != first)
		return 0;
	if (nr > rmr_chunks(rmr, rdev->chunk_shift) - first)
		return -EPROTO;
	if (nr > TE_SEG_MAX_KEYS - seg->total_keys ||
	    rmr_take_keys_locked(seg, rmr, rdev, keys, nr) < 0)
		rmr_drop_coming_locked(seg, rmr);
	return 0;
}

int te_seg_add_dev_keys(struct te_seg *seg, u32 mr_id, u32 dev_id, u32 first,
			const __le32 *keys, u32 nr)
{
	struct mem_cgroup *old = set_active_memcg(seg->memcg);
	const struct te_rdev *rdev;
	struct te_rmr *rmr;
	int ret = -EPROTO;

	mutex_lock(&seg->lock);
	rmr = xa_load(&seg->rmrs, mr_id);
	rdev = devs_find(seg_known_locked(seg), dev_id);
	if (rmr && rmr->live && rdev)
		ret = rmr_add_dev_keys_locked(seg, rmr, rdev, first, keys, nr);
	mutex_unlock(&seg->lock);
	set_active_memcg(old);
	return ret;
}

/* Ids of all that were described. */
static u32 seg_known_ids_locked(const struct te_seg *seg)
{
	const struct te_seg_devs *known = seg_known_locked(seg);
	u32 i, ids = 0;

	for (i = 0; i < known->nr; i++)
		ids |= BIT(known->devs[i].dev_id);
	return ids;
}

int te_seg_set_far(struct te_seg *seg, u32 mr_id, u32 mask)
{
	struct te_rmr *rmr;
	int ret = -EPROTO;

	mutex_lock(&seg->lock);
	rmr = xa_load(&seg->rmrs, mr_id);
	if (rmr && !(mask & ~seg_known_ids_locked(seg))) {
		WRITE_ONCE(rmr->far, mask);
		ret = 0;
	}
	mutex_unlock(&seg->lock);
	return ret;
}

/* Leave out of @devs, which nobody reads yet, those of @mask. */
static void devs_remove(struct te_seg_devs *devs, u32 mask)
{
	u32 i, nr = 0;

	for (i = 0; i < devs->nr; i++)
		if (!(mask & BIT(devs->devs[i].dev_id)))
			devs->devs[nr++] = devs->devs[i];
	devs->nr = nr;
}

static void seg_set_devs_locked(struct te_seg *seg, struct te_seg_devs *devs)
{
	struct te_seg_devs *old;

	old = rcu_replace_pointer(seg->devs, devs,
				  lockdep_is_held(&seg->lock));
	kfree_rcu(old, rcu);
}

static int seg_del_devs_locked(struct te_seg *seg, u32 mask)
{
	struct te_seg_devs *old, *devs;

	lockdep_assert_held(&seg->lock);
	/* Not while keys come in: some may be of these. */
	if (mask & ~seg_known_ids_locked(seg) || seg->nr_live != seg->nr_rmrs)
		return -EPROTO;

	old = rcu_dereference_protected(seg->devs, lockdep_is_held(&seg->lock));
	devs = kmemdup(old, struct_size(old, devs, old->nr),
		       GFP_KERNEL_ACCOUNT);
	if (!devs)
		return -ENOMEM;
	devs_remove(devs, mask);
	seg_set_devs_locked(seg, devs);
	if (seg->next_devs)
		devs_remove(seg->next_devs, mask);
	return 0;
}

static void rmr_del_devs_locked(struct te_seg *seg, struct te_rmr *rmr,
				u32 mask)
{
	struct hlist_node *next;
	struct te_rmr_keys *k;

	lockdep_assert_held(&seg->lock);
	/* Their ids may come again, as other devs. */
	WRITE_ONCE(rmr->far, rmr->far & ~mask);
	if (rmr->coming && mask & BIT(rmr->coming->dev_id))
		rmr_drop_coming_locked(seg, rmr);
	hlist_for_each_entry_safe(k, next, &rmr->keys, link) {
		if (mask & BIT(k->dev_id)) {
			hlist_del_rcu(&k->link);
			seg->total_keys -= k->nr;
			kvfree_rcu(k, rcu);
		}
	}
}

int te_seg_del_devs(struct te_seg *seg, u32 mask)
{
	struct mem_cgroup *old = set_active_memcg(seg->memcg);
	struct te_rmr *rmr;
	unsigned long id;
	int ret;

	mutex_lock(&seg->lock);
	ret = seg_del_devs_locked(seg, mask);
	mutex_unlock(&seg->lock);
	set_active_memcg(old);
	if (ret)
		return ret;
	/* Regions come and go by our caller only: submitters need not wait. */
	xa_for_each(&seg->rmrs, id, rmr) {
		mutex_lock(&seg->lock);
		rmr_del_devs_locked(seg, rmr, mask);
		mutex_unlock(&seg->lock);
		cond_resched();
	}
	return 0;
}

/* Keys that it holds. */
static u32 rmr_nr_keys(const struct te_rmr *rmr)
{
	const struct te_rmr_keys *k;
	u32 nr = rmr->coming ? rmr->coming->nr : 0;

	hlist_for_each_entry(k, &rmr->keys, link)
		nr += k->nr;
	return nr;
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
		seg->total_keys -= rmr_nr_keys(rmr);
		te_rmr_put(rmr);
	}
	mutex_unlock(&seg->lock);
	return rmr ? 0 : -EPROTO;
}

void te_seg_use_devs(struct te_seg *seg)
{
	mutex_lock(&seg->lock);
	if (seg->next_devs)
		seg_set_devs_locked(seg, seg->next_devs);
	seg->next_devs = NULL;
	mutex_unlock(&seg->lock);
}

void te_seg_ready(struct te_seg *seg)
{
	te_seg_use_devs(seg);
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

bool te_rmr_key(const struct te_rmr *rmr, u32 dev_id, u64 addr, u32 *key,
		u64 *room)
{
	const struct te_rmr_keys *k;
	u64 off, chunk, chunk_end;

	rcu_read_lock();
	hlist_for_each_entry_rcu(k, &rmr->keys, link) {
		if (k->dev_id != dev_id)
			continue;
		off = addr - rmr->desc.base + rmr->desc.page_off;
		chunk = off >> k->chunk_shift;
		chunk_end = (chunk + 1) << k->chunk_shift;
		*key = k->keys[chunk];
		*room = min(chunk_end - off, rmr->last - addr + 1);
		break;
	}
	rcu_read_unlock();
	return k;
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

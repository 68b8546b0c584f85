// SPDX-License-Identifier: GPL-2.0-only
/*
 * core/slice: lazy cutting of tasks, and what becomes of a slice.
 *
 * A slice is allocated when a mover has room to post it and freed when it has
 * moved, failed for good, or is dropped with its task; it is on exactly one list
 * at any time. Called by movers only; several may cut from one task. The pool
 * lets them go on when memory is short.
 */
#include <linux/mempool.h>
#include <linux/slab.h>

#include "core/core.h"
#include "core/task.h"
#include "event/count.h"

unsigned int te_retry_cnt = 9;

/* Enough for one mover's chain. */
#define TE_SLICE_RESERVE	64

static struct kmem_cache *te_slice_cache;
static mempool_t *te_slice_pool;

int te_slice_init(void)
{
	te_slice_cache = KMEM_CACHE(te_slice, 0);
	if (!te_slice_cache)
		return -ENOMEM;
	te_slice_pool = mempool_create_slab_pool(TE_SLICE_RESERVE,
						 te_slice_cache);
	if (!te_slice_pool) {
		kmem_cache_destroy(te_slice_cache);
		return -ENOMEM;
	}
	return 0;
}

void te_slice_exit(void)
{
	mempool_destroy(te_slice_pool);
	kmem_cache_destroy(te_slice_cache);
}

/* A mover must not sleep here: it alone gives its slices back. */
static struct te_slice *slice_alloc(void)
{
	struct te_slice *slice;

	slice = mempool_alloc(te_slice_pool, GFP_NOWAIT | __GFP_NOWARN);
	if (slice)
		te_count(TE_NR_SLICES, 1);
	return slice;
}

void te_slice_free(struct te_slice *slice)
{
	mempool_free(slice, te_slice_pool);
	te_count(TE_NR_SLICES, -1);
}

u32 te_slice_len(u64 left, u64 local_room, u64 remote_room)
{
	u64 len = left;

	if (left > TE_SLICE_BYTES + TE_TAIL_BYTES)
		len = TE_SLICE_BYTES;
	return min3(len, local_room, remote_room);
}

static struct te_mr *task_mr_at(struct te_task *task, u64 addr)
{
	u32 lo = 0, hi = task->nr_mrs;

	if (task->nr_mrs == 1)
		return task->mr;
	while (hi - lo > 1) {
		u32 mid = lo + (hi - lo) / 2;

		if (task->mrs[mid]->addr <= addr)
			lo = mid;
		else
			hi = mid;
	}
	return task->mrs[lo];
}

static struct te_rmr *task_rmr_at(struct te_task *task, u64 addr)
{
	u32 lo = 0, hi = task->nr_rmrs;

	if (task->nr_rmrs == 1)
		return task->rmr;
	while (hi - lo > 1) {
		u32 mid = lo + (hi - lo) / 2;

		if (task->rmrs[mid]->desc.base <= addr)
			lo = mid;
		else
			hi = mid;
	}
	return task->rmrs[lo];
}

/* Find keys at @offset; @slice->len is at most @left. Return: 0 or -errno. */
static int slice_resolve(struct te_slice *slice, struct te_task *task,
			 struct te_dev *dev, u32 rdev_id, u64 offset, u64 left)
{
	u64 laddr = task->laddr + offset, raddr = task->raddr + offset;
	struct te_rmr *rmr = task_rmr_at(task, raddr);
	u64 local_room, remote_room;

	if (READ_ONCE(rmr->gone))
		return -ESTALE;
	if (!te_mr_key(task_mr_at(task, laddr), dev->id, laddr, &slice->lkey,
		       &slice->laddr, &local_room) ||
	    !te_rmr_key(rmr, rdev_id, raddr, &slice->rkey, &remote_room))
		return -ENXIO;

	slice->task = task;
	slice->offset = offset;
	slice->raddr = raddr;
	slice->rmr_id = rmr->desc.id;
	slice->len = te_slice_len(left, local_room, remote_room);
	slice->error = 0;
	slice->first_error = 0;
	slice->tries = 0;
	slice->flushed = false;
	slice->alone = false;
	slice->garbled = false;
	return 0;
}

/*
 * Take the next range: what must be sent again first. A range of the redo list
 * may be too long for this dev's chunks: the rest stays there.
 */
static int slice_take_locked(struct te_slice *slice, struct te_task *task,
			     struct te_dev *dev, u32 rdev_id,
			     struct te_slice **spent)
{
	struct te_slice *redo;
	int ret;

	lockdep_assert_held(&task->batch->lock);
	if (te_task_doomed(task))
		return -ECANCELED;
	redo = list_first_entry_or_null(&task->redo, struct te_slice, link);
	if (!redo) {
		ret = slice_resolve(slice, task, dev, rdev_id, task->cursor,
				    task->length - task->cursor);
		if (!ret)
			task->cursor += slice->len;
		return ret;
	}

	ret = slice_resolve(slice, task, dev, rdev_id, redo->offset, redo->len);
	if (ret)
		return ret;
	slice->first_error = redo->first_error;
	slice->tries = redo->tries;
	slice->garbled = redo->garbled;
	redo->offset += slice->len;
	redo->len -= slice->len;
	if (!redo->len) {
		list_del(&redo->link);
		*spent = redo;
	}
	return 0;
}

static enum te_cut slice_cut_locked(struct te_slice *slice,
				    struct te_task *task, int ret)
{
	lockdep_assert_held(&task->batch->lock);
	if (ret == -ENXIO)
		return TE_CUT_MISFIT;
	if (ret) {
		if (ret != -ECANCELED)
			te_task_set_error_locked(task, ret);
		return TE_CUT_DOOMED;
	}
	task->inflight++;
	if (task->cursor < task->length || !list_empty(&task->redo))
		return TE_CUT_MORE;
	/* The slice keeps it until the caller has it off its list. */
	task->queued = false;
	return TE_CUT_LAST;
}

enum te_cut te_slice_cut(struct te_task *task, struct te_dev *dev, u32 rdev_id,
			 struct te_slice **slice)
{
	struct te_slice *new = slice_alloc();
	struct te_slice *spent = NULL;
	enum te_cut cut;
	int ret;

	*slice = NULL;
	if (!new)
		return TE_CUT_NOMEM;
	spin_lock(&task->batch->lock);
	ret = slice_take_locked(new, task, dev, rdev_id, &spent);
	cut = slice_cut_locked(new, task, ret);
	spin_unlock(&task->batch->lock);

	if (spent)
		te_slice_free(spent);
	if (ret)
		te_slice_free(new);
	else
		*slice = new;
	return cut;
}

u32 te_slice_bvecs(const struct te_slice *slice, u32 off, struct bio_vec *bv,
		   u32 max, u32 *bytes)
{
	u64 addr = slice->task->laddr + slice->offset + off;
	struct te_mr *mr = task_mr_at(slice->task, addr);

	return te_mr_bvecs(mr, addr - mr->addr, slice->len - off, bv, max,
			   bytes);
}

void te_slice_complete(struct te_slice *slice)
{
	struct te_task *task = slice->task;
	bool ended;

	spin_lock(&task->batch->lock);
	task->inflight--;
	te_task_progress_locked(task, slice->len);
	ended = te_task_settle_locked(task);
	spin_unlock(&task->batch->lock);
	te_slice_free(slice);
	if (ended)
		te_task_gone(task);
}

/*
 * Is the task over because of this slice? The peer's NIC cannot tell why it
 * refused one, the news of the session can.
 */
static int slice_verdict_locked(struct te_slice *slice)
{
	struct te_task *task = slice->task;
	bool once_more = slice->error == -EBADMSG && !slice->garbled;

	lockdep_assert_held(&task->batch->lock);
	if (!slice->error)
		return 0;
	if (!slice->first_error && !once_more)
		slice->first_error = slice->error;
	if (READ_ONCE(task_rmr_at(task, slice->raddr)->gone))
		return -ESTALE;
	if (te_seg_gone(task->seg))
		return READ_ONCE(task->seg->error) ?: -ESTALE;
	if (once_more) {
		slice->garbled = true;
		slice->error = 0;
		return 0;
	}
	if (slice->error == -EBADMSG)
		return -EBADMSG;
	if (slice->error == -EREMOTEIO || slice->tries >= te_retry_cnt)
		return slice->first_error;
	slice->tries++;
	slice->error = 0;
	return 0;
}

bool te_slice_redo(struct te_slice *slice)
{
	struct te_task *task = slice->task;
	bool ended = false, requeue = false;
	bool doomed;
	int error;

	spin_lock(&task->batch->lock);
	task->inflight--;
	error = slice_verdict_locked(slice);
	if (error)
		te_task_set_error_locked(task, error);
	doomed = te_task_doomed(task);
	if (doomed) {
		ended = te_task_settle_locked(task);
	} else {
		list_add_tail(&slice->link, &task->redo);
		requeue = !task->queued;
		task->queued = true;
	}
	spin_unlock(&task->batch->lock);
	if (doomed)
		te_slice_free(slice);
	if (ended)
		te_task_gone(task);
	return requeue;
}

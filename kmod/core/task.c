// SPDX-License-Identifier: GPL-2.0-only
/*
 * core/task: a request from its checks to its one terminal state.
 *
 * te_task_prepare() runs in the submitter, with the space and the segment
 * locked; it turns addresses into referenced regions. Everything after that
 * runs under te_batch.lock. te_task_settle_locked() is the only place where a
 * task ends.
 */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "core/core.h"
#include "core/task.h"
#include "event/count.h"
#include "fault/fault.h"

/* Count the regions that cover [addr, addr + len). Return: count or -errno. */
static int count_mrs(struct te_space *space, u64 addr, u64 len, u32 access)
{
	u64 last = addr + (len - 1);
	struct te_mr *mr;
	u32 n = 0;

	for (;;) {
		mr = te_mr_lookup_locked(space, addr);
		if (!mr)
			return -ERANGE;
		if (!(mr->access & access))
			return -EACCES;
		if (++n > TE_MAX_SPANS)
			return -E2BIG;
		if (last <= mr->last)
			return n;
		addr = mr->last + 1;
	}
}

static int count_rmrs(struct te_seg *seg, u64 addr, u64 len, u32 access)
{
	u64 last = addr + (len - 1);
	struct te_rmr *rmr;
	u32 n = 0;

	for (;;) {
		rmr = te_rmr_lookup_locked(seg, addr);
		if (!rmr)
			return -ERANGE;
		if (!(rmr->desc.access & access))
			return -EACCES;
		if (++n > TE_MAX_SPANS)
			return -E2BIG;
		if (last <= rmr->last)
			return n;
		addr = rmr->last + 1;
	}
}

static int take_mrs(struct te_task *task, struct te_space *space, u32 n)
{
	u64 addr = task->laddr;
	u32 i;

	if (n == 1) {
		task->mr = te_mr_lookup_locked(space, addr);
		te_mr_get(task->mr);
	} else {
		struct te_mr **mrs;

		mrs = kmalloc_array(n, sizeof(*mrs), GFP_KERNEL_ACCOUNT);
		if (!mrs)
			return -ENOMEM;
		for (i = 0; i < n; i++) {
			mrs[i] = te_mr_lookup_locked(space, addr);
			te_mr_get(mrs[i]);
			addr = mrs[i]->last + 1;
		}
		task->mrs = mrs;
	}
	task->nr_mrs = n;
	return 0;
}

static int take_rmrs(struct te_task *task, struct te_seg *seg, u32 n)
{
	u64 addr = task->raddr;
	u32 i;

	if (n == 1) {
		task->rmr = te_rmr_lookup_locked(seg, addr);
		te_rmr_get(task->rmr);
	} else {
		struct te_rmr **rmrs;

		rmrs = kmalloc_array(n, sizeof(*rmrs), GFP_KERNEL_ACCOUNT);
		if (!rmrs)
			return -ENOMEM;
		for (i = 0; i < n; i++) {
			rmrs[i] = te_rmr_lookup_locked(seg, addr);
			te_rmr_get(rmrs[i]);
			addr = rmrs[i]->last + 1;
		}
		task->rmrs = rmrs;
	}
	task->nr_rmrs = n;
	return 0;
}

static void put_mrs(struct te_task *task)
{
	u32 i;

	if (task->nr_mrs == 1) {
		te_mr_put(task->mr);
	} else if (task->nr_mrs) {
		for (i = 0; i < task->nr_mrs; i++)
			te_mr_put(task->mrs[i]);
		kfree(task->mrs);
	}
	task->nr_mrs = 0;
}

static void put_rmrs(struct te_task *task)
{
	u32 i;

	if (task->nr_rmrs == 1) {
		te_rmr_put(task->rmr);
	} else if (task->nr_rmrs) {
		for (i = 0; i < task->nr_rmrs; i++)
			te_rmr_put(task->rmrs[i]);
		kfree(task->rmrs);
	}
	task->nr_rmrs = 0;
}

static int task_take_regions(struct te_task *task, struct te_space *space,
			     struct te_seg *seg)
{
	bool read = task->op == TE_READ;
	int nr_mrs, nr_rmrs, ret;

	nr_mrs = count_mrs(space, task->laddr, task->length,
			   read ? TE_LOCAL_WRITE : TE_LOCAL_READ);
	if (nr_mrs < 0)
		return nr_mrs;
	nr_rmrs = count_rmrs(seg, task->raddr, task->length,
			     read ? TE_REMOTE_READ : TE_REMOTE_WRITE);
	if (nr_rmrs < 0)
		return nr_rmrs;

	ret = take_mrs(task, space, nr_mrs);
	if (ret)
		return ret;
	ret = take_rmrs(task, seg, nr_rmrs);
	if (ret)
		put_mrs(task);
	return ret;
}

int te_task_prepare(struct te_task *task, const struct te_request *req,
		    struct te_space *space, struct te_seg *seg)
{
	u64 end;
	int ret;

	task->op = req->opcode;
	task->laddr = req->local_addr;
	task->raddr = req->remote_addr;
	task->length = req->length;
	task->user_data = req->user_data;
	INIT_LIST_HEAD(&task->redo);

	if (task->length) {
		if (check_add_overflow(task->laddr, task->length - 1, &end) ||
		    check_add_overflow(task->raddr, task->length - 1, &end))
			return -EOVERFLOW;
		ret = task_take_regions(task, space, seg);
		if (ret)
			return ret;
	}
	te_seg_get(seg);
	task->seg = seg;
	return 0;
}

void te_task_release(struct te_task *task)
{
	put_mrs(task);
	put_rmrs(task);
	te_seg_put(task->seg);
	task->seg = NULL;
}

void te_task_set_error_locked(struct te_task *task, int error)
{
	lockdep_assert_held(&task->batch->lock);
	if (!task->error)
		task->error = error;
}

void te_task_progress_locked(struct te_task *task, u64 bytes)
{
	lockdep_assert_held(&task->batch->lock);
	task->done += bytes;
	WRITE_ONCE(task->slot->bytes, task->done);
}

bool te_task_doomed(struct te_task *task)
{
	return READ_ONCE(task->error) || READ_ONCE(task->end_state) ||
	       READ_ONCE(task->batch->end_state) || te_seg_gone(task->seg);
}

/* The state a quiet task ends in; 0: it does not end yet. */
static u8 task_verdict_locked(struct te_task *task)
{
	u8 end_state = task->end_state ?: task->batch->end_state;

	if (task->done == task->length) {
		task->error = 0;
		return TE_COMPLETED;
	}
	if (task->error)
		return TE_FAILED;
	if (end_state) {
		task->error = end_state == TE_TIMEOUT ? -ETIMEDOUT : -ECANCELED;
		return end_state;
	}
	if (te_seg_gone(task->seg)) {
		task->error = READ_ONCE(task->seg->error) ?: -ESTALE;
		return TE_FAILED;
	}
	return 0;
}

static void task_push_entry(struct te_task *task)
{
	struct te_completion cqe = {
		.user_data = task->user_data,
		.batch = task->batch->id,
		.state = task->state,
		.error = task->error,
		.task = task - task->batch->tasks,
		.bytes = task->done,
	};

	te_ring_push(task->batch->ring, &cqe);
}

bool te_task_settle_locked(struct te_task *task)
{
	lockdep_assert_held(&task->batch->lock);
	if (task->queued || task->inflight || task->ended)
		return false;
	task->state = task_verdict_locked(task);
	task->ended = task->state;
	return task->ended;
}

/*
 * First let go of regions and segment, then show the end: who sees it may
 * unregister at once. Entries come before the batch's own end for the same
 * reason.
 */
void te_task_gone(struct te_task *task)
{
	struct te_batch *batch = task->batch;
	struct te_slice *slice, *next;

	te_delay(TE_DELAY_TASK_END);
	list_for_each_entry_safe(slice, next, &task->redo, link)
		te_slice_free(slice);
	te_task_release(task);
	te_count(TE_NR_TASKS, -1);

	spin_lock(&batch->lock);
	if (batch->entries == TE_ENTRIES_TASK)
		task_push_entry(task);
	te_slot_write(task->slot, task->state, task->error, task->done);
	te_batch_count_locked(batch, task);
	spin_unlock(&batch->lock);

	te_delay(TE_DELAY_TASK_SHOWN);
	if (te_batch_idle(batch))
		te_batch_wake(batch);
	te_batch_put(batch);
}

void te_task_unqueue(struct te_task *task)
{
	bool ended;

	spin_lock(&task->batch->lock);
	task->queued = false;
	ended = te_task_settle_locked(task);
	spin_unlock(&task->batch->lock);
	if (ended)
		te_task_gone(task);
}

void te_task_fail(struct te_task *task, int error)
{
	bool ended;

	spin_lock(&task->batch->lock);
	task->queued = false;
	te_task_set_error_locked(task, error ?: -EIO);
	ended = te_task_settle_locked(task);
	spin_unlock(&task->batch->lock);
	if (ended)
		te_task_gone(task);
}

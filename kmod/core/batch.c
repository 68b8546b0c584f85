// SPDX-License-Identifier: GPL-2.0-only
/*
 * core/batch: groups of tasks: admission, counting down, deadline, cancel.
 *
 * A batch is made and looked up by its context. The context's table holds one
 * reference and each task that has not ended another, so that a closed
 * context's batches live exactly as long as the wire needs them.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "core/core.h"
#include "core/task.h"
#include "event/count.h"
#include "fault/fault.h"

/* Tasks looked at in one go under te_batch.lock. */
#define TE_WALK_STEP	1024U

/* Runs deadlines; each that is armed holds a reference of its batch. */
static struct workqueue_struct *te_core_wq;

int te_core_init(void)
{
	int ret;

	te_core_wq = alloc_workqueue("te_core", TE_WQ_FLAGS, 0);
	if (!te_core_wq)
		return -ENOMEM;
	ret = te_slice_init();
	if (ret)
		destroy_workqueue(te_core_wq);
	return ret;
}

void te_core_exit(void)
{
	destroy_workqueue(te_core_wq);
	te_slice_exit();
}

/*
 * Call @fn for each task that has not ended, under te_batch.lock, which is
 * dropped now and then. Return: whether any call returned true.
 */
static bool batch_walk(struct te_batch *batch,
		       bool (*fn)(struct te_task *task, void *arg), void *arg)
{
	bool any = false;
	u32 i;

	spin_lock(&batch->lock);
	for (i = 0; i < batch->used && batch->live; i++) {
		if (!batch->tasks[i].ended)
			any |= fn(&batch->tasks[i], arg);
		if (i % TE_WALK_STEP == TE_WALK_STEP - 1)
			cond_resched_lock(&batch->lock);
	}
	spin_unlock(&batch->lock);
	return any;
}

struct te_deadline_walk {
	unsigned long now;
	unsigned long next;
	bool more;
};

static bool task_check_deadline(struct te_task *task, void *arg)
{
	struct te_deadline_walk *walk = arg;

	if (task->end_state)
		return false;
	if (time_after_eq(walk->now, task->deadline)) {
		WRITE_ONCE(task->end_state, TE_TIMEOUT);
		return true;
	}
	if (!walk->more || time_before(task->deadline, walk->next))
		walk->next = task->deadline;
	walk->more = true;
	return false;
}

static void batch_deadline(struct work_struct *work)
{
	struct te_batch *batch = container_of(to_delayed_work(work),
					      struct te_batch, deadline);
	struct te_deadline_walk walk = { .now = jiffies };

	bool theirs = false, again = false;

	if (batch_walk(batch, task_check_deadline, &walk))
		te_xport_scan();

	/* A submit may have armed it for later than what is next. */
	spin_lock(&batch->lock);
	if (walk.more) {
		theirs = cancel_delayed_work(&batch->deadline);
		again = queue_delayed_work(te_core_wq, &batch->deadline,
					   walk.next - walk.now);
	}
	spin_unlock(&batch->lock);
	if (theirs)
		te_batch_put(batch);
	if (!again)
		te_batch_put(batch);
}

/* Not moved when armed already: an earlier deadline stands first. */
static void batch_arm_locked(struct te_batch *batch, unsigned long wait)
{
	lockdep_assert_held(&batch->lock);
	te_batch_get(batch);
	/* The caller has a reference: this put is not the last. */
	if (!queue_delayed_work(te_core_wq, &batch->deadline, wait))
		te_batch_put(batch);
}

static void batch_disarm(struct te_batch *batch)
{
	if (cancel_delayed_work_sync(&batch->deadline))
		te_batch_put(batch);
}

struct te_batch *te_batch_create(struct te_ring *ring, u32 capacity,
				 u32 deadline_ms, u32 entries)
{
	struct te_batch *batch;
	int ret;

	batch = kvzalloc(struct_size(batch, tasks, capacity),
			 GFP_KERNEL_ACCOUNT);
	if (!batch)
		return ERR_PTR(-ENOMEM);
	ret = te_slots_alloc(ring, capacity + 1, &batch->id);
	if (ret) {
		kvfree(batch);
		return ERR_PTR(ret);
	}
	kref_init(&batch->ref);
	batch->capacity = capacity;
	batch->deadline_ms = deadline_ms;
	batch->entries = entries;
	te_ring_get(ring);
	batch->ring = ring;
	init_waitqueue_head(&batch->wait);
	INIT_DELAYED_WORK(&batch->deadline, batch_deadline);
	spin_lock_init(&batch->lock);
	te_count(TE_NR_BATCHES, 1);
	return batch;
}

static void batch_release(struct kref *ref)
{
	struct te_batch *batch = container_of(ref, struct te_batch, ref);

	te_ring_put(batch->ring);
	te_count(TE_NR_BATCHES, -1);
	kvfree(batch);
}

void te_batch_get(struct te_batch *batch)
{
	kref_get(&batch->ref);
}

void te_batch_put(struct te_batch *batch)
{
	kref_put(&batch->ref, batch_release);
}

static u32 batch_entries_for(struct te_batch *batch, u32 nr)
{
	switch (batch->entries) {
	case TE_ENTRIES_TASK:
		return nr;
	case TE_ENTRIES_BATCH:
		return batch->live ? 0 : 1;
	default:
		return 0;
	}
}

/* The header slot; the batch's worst state once nothing is live. */
static void batch_show_locked(struct te_batch *batch)
{
	struct te_slot *slot = te_slot_at(batch->ring, batch->id);

	lockdep_assert_held(&batch->lock);
	te_slot_set_tasks(slot, batch->used);
	te_slot_write(slot, batch->live ? TE_PENDING : batch->worst,
		      batch->error, batch->bytes);
}

static void task_init_live(struct te_batch *batch, struct te_task *task,
			   unsigned long deadline)
{
	task->batch = batch;
	task->slot = te_slot_at(batch->ring, batch->id) + 1 +
		     (task - batch->tasks);
	task->deadline = deadline;
	task->queued = true;
	te_slot_write(task->slot, TE_PENDING, 0, 0);
}

int te_batch_admit(struct te_batch *batch, u32 nr)
{
	unsigned long wait = msecs_to_jiffies(batch->deadline_ms);
	unsigned long deadline = jiffies + wait;
	u32 first = batch->used;
	u32 i;
	int ret;

	/* Nobody looks at tasks from @used on. */
	for (i = first; i < first + nr; i++)
		task_init_live(batch, &batch->tasks[i], deadline);

	spin_lock(&batch->lock);
	ret = batch->end_state ? -ECANCELED :
	      te_ring_reserve(batch->ring, batch_entries_for(batch, nr));
	if (ret) {
		spin_unlock(&batch->lock);
		for (i = first; i < first + nr; i++)
			te_slot_write(batch->tasks[i].slot, TE_WAITING, 0, 0);
		return ret;
	}
	refcount_add(nr, &batch->ref.refcount);
	batch->used += nr;
	batch->live += nr;
	batch_show_locked(batch);
	batch_arm_locked(batch, wait);
	spin_unlock(&batch->lock);
	te_count(TE_NR_TASKS, nr);
	return 0;
}

static void batch_push_entry(struct te_batch *batch)
{
	struct te_completion cqe = {
		.user_data = batch->tasks[0].user_data,
		.batch = batch->id,
		.state = batch->worst,
		.error = batch->error,
		.task = U32_MAX,
		.bytes = batch->bytes,
	};

	te_ring_push(batch->ring, &cqe);
}

/* FAILED is worse than TIMEOUT, CANCELED and COMPLETED, in this order. */
static u8 state_badness(u8 state)
{
	static const u8 badness[] = {
		[TE_COMPLETED]	= 1,
		[TE_CANCELED]	= 2,
		[TE_TIMEOUT]	= 3,
		[TE_FAILED]	= 4,
	};

	return badness[state];
}

void te_batch_count_locked(struct te_batch *batch, struct te_task *task)
{
	lockdep_assert_held(&batch->lock);
	batch->bytes += task->done;
	if (!batch->error)
		batch->error = task->error;
	if (state_badness(task->state) > state_badness(batch->worst))
		batch->worst = task->state;
	if (batch->live == 1 && batch->entries == TE_ENTRIES_BATCH)
		batch_push_entry(batch);
	WRITE_ONCE(batch->live, batch->live - 1);
	batch_show_locked(batch);
}

void te_batch_wake(struct te_batch *batch)
{
	if (wq_has_sleeper(&batch->wait))
		wake_up_all(&batch->wait);
}

bool te_batch_idle(struct te_batch *batch)
{
	return !READ_ONCE(batch->live);
}

void te_batch_free(struct te_batch *batch)
{
	batch_disarm(batch);
	/* Whoever ended the last task has left the slots when we get the lock. */
	spin_lock(&batch->lock);
	spin_unlock(&batch->lock);
	te_slots_free(batch->ring, batch->id, batch->capacity + 1);
	te_batch_put(batch);
}

static void batch_doom(struct te_batch *batch)
{
	spin_lock(&batch->lock);
	WRITE_ONCE(batch->end_state, TE_CANCELED);
	spin_unlock(&batch->lock);
}

void te_batch_abandon(struct te_batch *batch)
{
	batch_doom(batch);
	batch_disarm(batch);
	te_batch_put(batch);
}

void te_batch_cancel(struct te_batch *batch)
{
	batch_doom(batch);
	if (!te_batch_idle(batch))
		te_xport_scan();
}

static bool task_cancel_if_uses(struct te_task *task, void *arg)
{
	bool uses = false;
	u32 i;

	if (task->nr_mrs == 1)
		uses = task->mr == arg;
	else
		for (i = 0; i < task->nr_mrs && !uses; i++)
			uses = task->mrs[i] == arg;
	if (uses)
		WRITE_ONCE(task->end_state, TE_CANCELED);
	return uses;
}

bool te_batch_cancel_mr(struct te_batch *batch, struct te_mr *mr)
{
	return batch_walk(batch, task_cancel_if_uses, mr);
}

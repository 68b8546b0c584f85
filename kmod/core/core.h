/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * core: batches, tasks and slices. Passive: it never sleeps on the wire and
 * starts no thread (a deadline is a delayed work item).
 *
 * A batch is one allocation with room for its tasks. A task is one request: a
 * cursor over its bytes. Slices are cut from it lazily by movers; one that must
 * be sent again goes to the task's redo list.
 *
 * A task ends exactly once, when it is on no queue, has no slice in flight, and
 * has nothing left to send or must not send it (failed, cancelled, timed out,
 * segment gone). So a terminal state means that nothing touches its buffers.
 *
 * te_batch.lock protects everything in a batch that changes after submit. It is
 * taken for a few lines at a time; ring.lock nests inside.
 */
#ifndef TE_CORE_H
#define TE_CORE_H

#include <linux/jiffies.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/te.h>

#include "mem/mem.h"
#include "ring/ring.h"
#include "xport/xport.h"

/* Defaults of Mooncake: slice size, and the tail that joins the last slice. */
#define TE_SLICE_BYTES	65536U
#define TE_TAIL_BYTES	16384U

/* Regions that one request may cross, on each side. */
#define TE_MAX_SPANS	256U

/**
 * struct te_task - one request in flight
 * @link: on a shard, an endpoint or a mover's list while @queued
 * @batch: it lives in
 * @slot: its status slot
 * @op: TE_READ or TE_WRITE
 * @rdev: id of the peer's dev that it goes to
 * @laddr: local address
 * @raddr: remote address
 * @length: bytes
 * @user_data: of the request
 * @seg: holds a reference until the task ends
 * @nr_mrs: local regions it crosses
 * @nr_rmrs: remote regions it crosses
 * @mr: with @nr_mrs 1: the region; holds a reference until the task ends
 * @mrs: else: an array of them by ascending address
 * @rmr: the same for remote regions
 * @rmrs: the same for remote regions
 * @deadline: jiffies
 * @cursor: next offset to cut
 * @done: bytes of finished slices
 * @redo: slices to send again
 * @inflight: slices with a transport
 * @queued: a mover has it on a list
 * @ended: it is over, in @state
 * @state: terminal state
 * @end_state: not 0: TE_CANCELED or TE_TIMEOUT as soon as it is quiet
 * @error: first failure, -errno
 */
struct te_task {
	struct list_head link;
	struct te_batch *batch;
	struct te_slot *slot;
	u32 op;
	u32 rdev;
	u64 laddr;
	u64 raddr;
	u64 length;
	u64 user_data;
	struct te_seg *seg;
	u32 nr_mrs;
	u32 nr_rmrs;
	union {
		struct te_mr *mr;
		struct te_mr **mrs;
	};
	union {
		struct te_rmr *rmr;
		struct te_rmr **rmrs;
	};
	unsigned long deadline;
	u64 cursor;
	u64 done;
	struct list_head redo;
	u32 inflight;
	bool queued;
	bool ended;
	u8 state;
	u8 end_state;
	int error;
};

/**
 * struct te_batch - a group of tasks with one fate to wait for
 * @ref: the context's table holds one, each task that has not ended another
 * @id: its own, see te_slots_alloc()
 * @capacity: entries of @tasks
 * @deadline_ms: of each submit
 * @entries: TE_ENTRIES_*
 * @ring: holds a reference
 * @wait: who waits for it to be terminal
 * @deadline: ends tasks whose time is up
 * @lock: protects all below and the changing part of the tasks
 * @used: tasks submitted
 * @live: tasks whose end has not been shown
 * @end_state: not 0: cancelled as a whole
 * @worst: worst terminal state so far
 * @error: first failure so far, -errno
 * @bytes: moved by all tasks
 * @tasks: @capacity entries in order of submission
 */
struct te_batch {
	struct kref ref;
	u32 id;
	u32 capacity;
	u32 deadline_ms;
	u32 entries;
	struct te_ring *ring;
	wait_queue_head_t wait;
	struct delayed_work deadline;
	spinlock_t lock; /* protects what follows, and the tasks' progress */
	u32 used;
	u32 live;
	u8 end_state;
	u8 worst;
	int error;
	u64 bytes;
	struct te_task tasks[];
};

/**
 * struct te_slice - part of a task sent as one wire operation
 * @link: on exactly one list: redo, chain, posted, finished
 * @task: it was cut from
 * @ep: it was posted on
 * @seq: the transport's: its place among what was posted
 * @offset: in the task
 * @laddr: local address, as the dev knows it
 * @raddr: remote address
 * @len: bytes
 * @lkey: local key
 * @rkey: remote key
 * @error: 0, or -errno of the failure
 * @flushed: not tried, through no fault of its own: send it again
 */
struct te_slice {
	struct list_head link;
	struct te_task *task;
	struct te_ep *ep;
	u32 seq;
	u64 offset;
	u64 laddr;
	u64 raddr;
	u32 len;
	u32 lkey;
	u32 rkey;
	int error;
	bool flushed;
};

int te_core_init(void);
void te_core_exit(void);

/**
 * te_batch_create() - an empty batch with its slots
 * @ring: takes an own reference
 * @capacity: tasks, 1 to nr_slots - 1
 * @deadline_ms: not 0
 * @entries: TE_ENTRIES_*
 *
 * Return: the batch with one reference, ERR_PTR(-ENOMEM), ERR_PTR(-EBUSY).
 */
struct te_batch *te_batch_create(struct te_ring *ring, u32 capacity,
				 u32 deadline_ms, u32 entries);
void te_batch_get(struct te_batch *batch);
void te_batch_put(struct te_batch *batch);

/**
 * te_batch_admit() - make tasks live that te_task_prepare() has filled
 * @batch: the batch; the caller serialises submits
 * @nr: tasks from te_batch.used on, with @seg, @mrs, @rmrs referenced
 *
 * Reserves their completion entries. The tasks are @queued from now on: the
 * caller puts each on a queue, or unqueues it at once when its length is 0.
 *
 * Return: 0, -EBUSY, -EBADFD, -ECANCELED; then nothing has changed.
 */
int te_batch_admit(struct te_batch *batch, u32 nr);

/*
 * The context lets go of its batch: both drop the table's reference, may sleep,
 * and come after the last submit. te_batch_free() is for an idle one: its slots
 * are free when it returns. te_batch_abandon() cancels what is in flight; the
 * slots stay taken, as the ring goes too.
 */
void te_batch_free(struct te_batch *batch);
void te_batch_abandon(struct te_batch *batch);

/* True when nothing of it is in flight. */
bool te_batch_idle(struct te_batch *batch);
/* End what is not done as TE_CANCELED. Does not wait. */
void te_batch_cancel(struct te_batch *batch);
/* The same for tasks that use @mr. */
void te_batch_cancel_mr(struct te_batch *batch, struct te_mr *mr);

/* Drop what te_task_prepare() took. */
void te_task_release(struct te_task *task);

/**
 * te_task_prepare() - resolve a request
 * @task: a free task of a batch; filled
 * @req: copied from the user; opcode, flags and reserved word checked
 * @space: local memory, te_space.lock held
 * @seg: open segment, te_seg.lock held; takes an own reference
 *
 * Return: 0 with references taken, -EOVERFLOW, -ERANGE, -EACCES, -E2BIG,
 * -ENOMEM.
 */
int te_task_prepare(struct te_task *task, const struct te_request *req,
		    struct te_space *space, struct te_seg *seg);

/* A mover takes the task off its list: ends it when it is quiet. */
void te_task_unqueue(struct te_task *task);
/* The same after a failure that is not of one slice. */
void te_task_fail(struct te_task *task, int error);
/* It must send no more: failed, cancelled, timed out, segment gone. */
bool te_task_doomed(struct te_task *task);

/**
 * te_slice_cut() - next slice of a task for a dev
 * @task: queued with the calling mover
 * @dev: whose keys to use
 * @more: false: nothing is left to cut now, the mover unqueues the task
 *
 * Return: the slice, counted as in flight, or NULL: with @more there is no memory
 * for one now.
 */
struct te_slice *te_slice_cut(struct te_task *task, struct te_dev *dev,
			      bool *more);
/* It was moved: free it. */
void te_slice_complete(struct te_slice *slice);
/* It failed with @slice->error: the task fails; free it. */
void te_slice_fail(struct te_slice *slice);
/*
 * It was flushed: to be sent again, unless the task is doomed. Return: true
 * when the task was on no queue and now is the caller's to queue.
 */
bool te_slice_redo(struct te_slice *slice);

/* Length of the next slice; pure. */
u32 te_slice_len(u64 left, u64 local_room, u64 remote_room);

/**
 * te_route_pick() - the rail for a segment
 * @seg: READY
 * @rdev: id of the peer's dev
 *
 * Return: the local dev with a reference, or ERR_PTR(-ENXIO) no common rail.
 */
struct te_dev *te_route_pick(struct te_seg *seg, u32 *rdev);
/* The choice alone: one of @devs or NULL, no reference. RCU read side held. */
struct te_dev *te_route_best(struct list_head *devs, const struct te_seg *seg,
			     u32 *rdev);

#endif /* TE_CORE_H */

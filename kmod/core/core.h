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

/* Failures that one slice survives; module parameter. */
extern unsigned int te_retry_cnt;

/* Regions that one request may cross, on each side. */
#define TE_MAX_SPANS	256U

/**
 * struct te_task - one request in flight
 * @link: in its peer's path while @queued
 * @batch: it lives in
 * @slot: its status slot
 * @op: TE_READ or TE_WRITE
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
 * @queued: it waits for movers to cut from it
 * @passed: ids of our devs whose rails have passed it by; te_path.lock
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
	u32 passed;
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
 * @posted: the mover's: jiffies, when
 * @offset: in the task
 * @laddr: local address, as the dev knows it
 * @raddr: remote address
 * @len: bytes
 * @lkey: local key
 * @rkey: remote key
 * @rmr_id: the peer's region
 * @error: 0, or -errno of the failure
 * @first_error: 0, or -errno of its first failure
 * @tries: failures so far
 * @flushed: not tried, through no fault of its own: send it again
 * @alone: with @error: its endpoint is as good as before
 * @garbled: its bytes have not matched their checksum, once
 */
struct te_slice {
	struct list_head link;
	struct te_task *task;
	struct te_ep *ep;
	u32 seq;
	unsigned long posted;
	u64 offset;
	u64 laddr;
	u64 raddr;
	u32 len;
	u32 lkey;
	u32 rkey;
	u32 rmr_id;
	int error;
	int first_error;
	u32 tries;
	bool flushed;
	bool alone;
	bool garbled;
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
 * slots stay taken, as the ring goes too. te_xport_scan() is to follow, once for
 * all of them: it goes through everything that waits.
 */
void te_batch_free(struct te_batch *batch);
void te_batch_abandon(struct te_batch *batch);

/* True when nothing of it is in flight. */
bool te_batch_idle(struct te_batch *batch);
/* End what is not done as TE_CANCELED. Does not wait. */
void te_batch_cancel(struct te_batch *batch);
/* The same for tasks that use @mr. True: te_xport_scan() is to follow. */
bool te_batch_cancel_mr(struct te_batch *batch, struct te_mr *mr);

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

/* It waits no longer, and is on no list: ends when it is quiet. */
void te_task_unqueue(struct te_task *task);
/* The same after a failure that is not of one slice. */
void te_task_fail(struct te_task *task, int error);
/* It must send no more: failed, cancelled, timed out, segment gone. */
bool te_task_doomed(struct te_task *task);

enum te_cut {
	TE_CUT_MORE,	/* a slice, and the task has more */
	TE_CUT_LAST,	/* a slice; nothing is left to cut now */
	TE_CUT_DOOMED,	/* no slice: it must send no more */
	TE_CUT_MISFIT,	/* no slice: it cannot go this way */
	TE_CUT_NOMEM,	/* no slice: there is no memory for one now */
};

/**
 * te_slice_cut() - next slice of a task for a rail
 * @task: queued; the caller holds the lock of its path
 * @dev: local end of the rail
 * @rdev_id: its other end, id of the peer's dev
 * @slice: the slice, counted as in flight, or NULL
 *
 * After LAST the task is not queued any more: the caller takes it off its list
 * before it drops the path's lock. So it does after DOOMED, and then calls
 * te_task_unqueue(): the task is queued till then, or it could end meanwhile.
 *
 * Return: enum te_cut.
 */
enum te_cut te_slice_cut(struct te_task *task, struct te_dev *dev, u32 rdev_id,
			 struct te_slice **slice);
/* Local pages of @len bytes from @off in the slice: see te_mr_bvecs(). */
u32 te_slice_bvecs(const struct te_slice *slice, u32 off, struct bio_vec *bv,
		   u32 max, u32 *bytes);
/* It was moved: free it. */
void te_slice_complete(struct te_slice *slice);
/*
 * It was flushed, or failed with @slice->error: it is sent again, unless the
 * task is doomed, the peer refused it, or it has failed too often: then the task
 * fails with the slice's first error. Bytes that do not match their checksum are
 * sent again once, which does not count; then the task fails with -EBADMSG. Return:
 * true when the task was not queued and now is: the caller puts it on its path.
 */
bool te_slice_redo(struct te_slice *slice);

/* Length of the next slice; pure. */
u32 te_slice_len(u64 left, u64 local_room, u64 remote_room);

/**
 * te_route_score() - how well a peer's dev suits a local one
 * @self: the local one
 * @rdev: the peer's
 * @named: the address that the peer was dialled by
 * @turn: place of @rdev among the peer's devs, counted from where @self has its
 *	place among ours
 *
 * Pure.
 * Return: the more the better, less than 0: not at all.
 */
int te_route_score(const struct te_rdev *self, const struct te_rdev *rdev,
		   const struct in6_addr *named, u32 turn);
/* Is there any rail between our devs that are up and the segment's? */
bool te_route_exists(struct te_seg *seg);

#endif /* TE_CORE_H */

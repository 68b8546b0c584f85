/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * worker/internal: what worker.c, queue.c and eps.c share and nobody else uses.
 */
#ifndef TE_WORKER_INTERNAL_H
#define TE_WORKER_INTERNAL_H

#include <linux/cache.h>
#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/spinlock.h>

#include "worker/worker.h"

/* How soon a mover looks again at starved or stuck work. */
#define TE_RETRY	msecs_to_jiffies(20)

/* te_worker.flags */
enum {
	TE_WORKER_KICKED,	/* go round once more before you sleep */
	TE_WORKER_LOOK,		/* look at endpoints and for doomed tasks */
	TE_WORKER_STOP,		/* end everything with -ENODEV */
};

/**
 * struct te_queue - one shard
 * @lock: protects the rest
 * @tasks: te_task.link, oldest first
 * @closed: the dev stops
 */
struct te_queue {
	spinlock_t lock; /* protects tasks, closed */
	struct list_head tasks;
	bool closed;
} ____cacheline_aligned_in_smp;

/**
 * struct te_worker - one mover
 * @mover: what the transport sees
 * @set: of the same dev
 * @thread: runs it
 * @flags: TE_WORKER_*
 * @stopped: completed when TE_WORKER_STOP has been obeyed
 * @eps: all its endpoints, te_ep.link
 * @active: those with tasks, te_ep.active_link
 * @requeue: tasks to be put on an endpoint, te_task.link
 * @starved: tasks that wait for room in the store, te_task.link
 * @finished: te_slice.link, from the transport
 * @stuck: an endpoint is stuck: look again in time
 * @no_slices: there was no memory to cut any: try again in time
 * @look_at: jiffies when to look again while @stuck, @no_slices, or with
 *	@starved tasks
 *
 * Only @flags is touched by others.
 */
struct te_worker {
	struct te_mover mover;
	struct te_workers *set;
	struct task_struct *thread;
	unsigned long flags;
	struct completion stopped;
	struct list_head eps;
	struct list_head active;
	struct list_head requeue;
	struct list_head starved;
	struct list_head finished;
	bool stuck;
	bool no_slices;
	unsigned long look_at;
};

/**
 * struct te_workers - all movers of a dev
 * @dev: the dev
 * @store: its endpoints
 * @nr: movers
 * @shards: queues
 * @worker: @nr entries
 */
struct te_workers {
	struct te_dev *dev;
	struct te_ep_store store;
	u32 nr;
	struct te_queue shards[TE_NR_SHARDS];
	struct te_worker worker[];
};

static inline const struct te_transport_ops *worker_ops(struct te_worker *w)
{
	return w->mover.dev->ops;
}

/* queue.c: take all tasks of a mover's shards over to @requeue. */
bool te_worker_take(struct te_worker *w);
void te_queue_init(struct te_queue *queue);
/* Nothing may be put on it any more. */
void te_queue_close(struct te_queue *queue);

/* eps.c */
/* Put a queued task on its endpoint, made if need be; or end it. */
void te_worker_attach(struct te_worker *w, struct te_task *task);
/* Look at every endpoint; act on what changed; end doomed tasks. */
void te_worker_look(struct te_worker *w);
/* No tasks and nothing in flight: it may be evicted, or is quiet. */
void te_worker_ep_idle(struct te_worker *w, struct te_ep *ep);

#endif /* TE_WORKER_INTERNAL_H */

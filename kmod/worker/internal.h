/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * worker/internal: what the files of this room share and nobody else uses.
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

/* Slices in one chain: one doorbell, one signalled work request. */
#define TE_CHAIN	16U

/* te_worker.flags */
enum {
	TE_WORKER_KICKED,	/* go round once more before you sleep */
	TE_WORKER_LOOK,		/* look at endpoints and rails */
	TE_WORKER_STOP,		/* take down everything */
};

/**
 * struct te_queue - one shard
 * @lock: protects the rest; nests inside te_path.lock
 * @rails: te_rail.queue_link, those that have something to pull
 * @closed: the dev stops
 */
struct te_queue {
	spinlock_t lock; /* protects rails, closed */
	struct list_head rails;
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
 * @rails: all its rails, te_rail.link
 * @active: those that pull, te_rail.active_link
 * @finished: te_slice.link, from the transport
 * @no_link: the dev had no link when it last looked
 * @waits: an endpoint connects, or is stuck: look again
 * @look_at: jiffies, when
 * @inflight: slices posted
 * @watches: what is posted may never come back: look again
 * @watch_at: jiffies, when
 * @no_slices: none could be cut though tasks wait: try again in time
 * @starved: a rail waits for room in the store: try again in time
 * @paused: some rail waits for its pause to end, at
 * @resume_at: jiffies
 * @idle_since: ns, when it last had something to do
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
	struct list_head rails;
	struct list_head active;
	struct list_head finished;
	bool no_link;
	bool waits;
	unsigned long look_at;
	u32 inflight;
	bool watches;
	unsigned long watch_at;
	bool no_slices;
	bool starved;
	bool paused;
	unsigned long resume_at;
	u64 idle_since;
};

/**
 * struct te_workers - all movers of a dev
 * @dev: the dev
 * @store: its endpoints
 * @nr: movers
 * @nr_eps: endpoints made and not freed
 * @shards: queues
 * @worker: @nr entries
 */
struct te_workers {
	struct te_dev *dev;
	struct te_ep_store store;
	u32 nr;
	atomic_t nr_eps;
	struct te_queue shards[TE_NR_SHARDS];
	struct te_worker worker[];
};

/**
 * struct te_health - how a rail did with one of the peer's devs
 * @fails: failures in a row, none of them long after the one before
 * @until: jiffies; it pauses until then
 * @worked: it has moved something, or failed for want of something here
 */
struct te_health {
	u32 fails;
	unsigned long until;
	bool worked;
};

/**
 * struct te_rail - a local dev's way to a peer
 * @w: its mover
 * @queue: its shard
 * @peer: other end; holds a reference
 * @path_link: in te_path.rails; te_path.lock
 * @queue_link: in te_queue.rails; te_queue.lock
 * @active: it is on its shard, or its mover pulls for it; te_path.lock
 * @recheck: ids of the peer's devs that have changed; te_path.lock
 * @is_short: it gets nothing to connect with, QPs or memory; te_path.lock
 * @open: it could take more at once: a hint for others
 * @able: see te_rail_able(): a hint for rails of transports that come after its own
 * @to: bit of the peer's dev that it goes to, or would when it was last connected; 0:
 *	it was not yet. A hint for others
 * @link: the mover's: with all its rails
 * @active_link: the mover's: with those that pull
 * @ep: the mover's: endpoint in use, or NULL
 * @better_at: the mover's: jiffies; a dev of the peer that suits better than that
 *	of @ep may have rested, or be connected, then
 * @nr_eps: the mover's: endpoints of it, those that drain too
 * @shortages: the mover's: failures in a row for want of something here
 * @health: the mover's: by id of the peer's dev
 *
 * Made by te_rail_create(), for ever its mover's, which frees it when the peer is
 * dead or the dev stops.
 */
struct te_rail {
	struct te_worker *w;
	struct te_queue *queue;
	struct te_peer *peer;
	struct list_head path_link;
	struct list_head queue_link;
	bool active;
	u32 recheck;
	bool is_short;
	bool open;
	bool able;
	u32 to;
	struct list_head link;
	struct list_head active_link;
	struct te_ep *ep;
	unsigned long better_at;
	u32 nr_eps;
	u32 shortages;
	struct te_health health[TE_MAX_DEVS];
};

/* The same dev of a peer, as it was: an endpoint to the one is to the other. */
bool te_same_rdev(const struct te_rdev *a, const struct te_rdev *b);

static inline u32 te_rail_transport(const struct te_rail *rail)
{
	return rail->w->mover.dev->ops->transport;
}

/* What comes first of the transports: the less the better. */
static inline u32 te_rail_rank(const struct te_rail *rail)
{
	switch (te_rail_transport(rail)) {
	case TE_LOCAL:
		return 0;
	case TE_RDMA:
		return 1;
	default:
		return 2;
	}
}

static inline const struct te_transport_ops *worker_ops(struct te_worker *w)
{
	return w->mover.dev->ops;
}

/* ---- queue.c: shards */
/* Of all rails to a peer, on each dev. */
u32 te_shard_of(u64 peer_id);
void te_queue_init(struct te_queue *queue);
/* Nothing may be put on it any more. */
void te_queue_close(struct te_queue *queue);
/* False: the dev stops. Kicks the mover otherwise. */
bool te_queue_rail(struct te_rail *rail);
void te_queue_forget(struct te_rail *rail);
/* Take all rails of a mover's shards over to @active. */
bool te_worker_take(struct te_worker *w);

/* ---- health.c: pure */
bool te_health_paused(const struct te_health *health, unsigned long now);
/* Something went over it: forget its failures, but for one. */
void te_health_good(struct te_health *health);
/**
 * te_health_fail() - it failed
 * @health: of the rail with that dev
 * @now: jiffies
 * @jitter: random number
 *
 * Return: jiffies that it pauses.
 */
unsigned long te_health_fail(struct te_health *health, unsigned long now,
			     u32 jitter);

/* ---- pace.c: pure */
void te_pace_init(struct te_pace *pace, unsigned long now);
/**
 * te_pace_done() - a slice has arrived
 * @pace: of its endpoint
 * @len: bytes
 * @posted: jiffies, when it was
 * @now: jiffies
 */
void te_pace_done(struct te_pace *pace, u32 len, unsigned long posted,
		  unsigned long now);

/* ---- path.c: what waits for a peer */
/**
 * te_path_cut() - pull slices for a rail
 * @rail: puller; calling mover's
 * @rdev_id: the peer's dev that its endpoint goes to
 * @max: slices
 * @chain: gets them, te_slice.link
 * @dry: nothing is left for this rail: it is not active any more
 *
 * Return: slices cut. 0 and not @dry: try again in time: there was no memory for
 * one, or there are too many tasks to look at that cannot go this way.
 */
u32 te_path_cut(struct te_rail *rail, u32 rdev_id, u32 max,
		struct list_head *chain, bool *dry);
/* Slices came back and their task is on no list: it goes first. */
void te_path_requeue(struct te_task *task);
/* Nothing waits: the rail, which cannot pull now, is not active any more. */
bool te_path_empty(struct te_rail *rail);
/*
 * The rail is @is_short, or not any more. What waits and could go over rails only
 * that are short ends with -ENOMEM: it would wait in vain. May sleep.
 */
void te_path_set_short(struct te_rail *rail, bool is_short);
/*
 * Might any of what waits go over the rail? It is not worth a connection else, and
 * is not active any more: whoever leaves it something wakes it.
 */
bool te_path_suits(struct te_rail *rail);
/* Let all rails of a peer look for work. */
void te_path_wake(struct te_peer *peer);
/* The same, those of @rail's rank only. */
void te_path_wake_rank(struct te_rail *rail);
bool te_path_add_rail(struct te_rail *rail);
void te_path_del_rail(struct te_rail *rail);
void te_path_scan_all(void);

/* ---- rail.c */
/* The dev is up: make rails to all peers that offer devs, wake those there are. */
void te_rail_create_all(struct te_dev *dev);
/* An endpoint on which slices may be posted now, or NULL. */
struct te_ep *te_rail_ready(struct te_worker *w, struct te_rail *rail);
/* It carries, or connects and has no reason to think that it will fail. */
bool te_rail_able(const struct te_rail *rail);
/* Its endpoint to @rdev ended without being told to, or was never made. */
void te_rail_failed(struct te_rail *rail, const struct te_rdev *rdev,
		    int error);
/* Something went over its endpoint to that dev of the peer. */
void te_rail_worked(struct te_rail *rail, u32 rdev_id);
/* Look at every rail; let go of those that have no use. */
void te_rail_look(struct te_worker *w);
/* Slices that it may post now on @ep, its own: one chain at most. */
u32 te_rail_room(const struct te_rail *rail, struct te_ep *ep);

/* ---- eps.c: endpoints */
/*
 * That of the store, or a new one. NULL: that of the store had failed, which the rail
 * knows now: look again in the next round. ERR_PTR(): -EBUSY there is none now, or why
 * none could be made.
 */
struct te_ep *te_worker_ep(struct te_worker *w, struct te_rail *rail,
			   const struct te_rdev *rdev);
/* Look again at @when, or before. */
static inline void te_worker_look_at(struct te_worker *w, unsigned long when)
{
	if (!w->waits || time_before(when, w->look_at))
		w->look_at = when;
	w->waits = true;
}

/* Something is posted on it: look in time whether anything comes back. */
void te_worker_watch(struct te_worker *w, struct te_ep *ep);
/* Nothing in flight and no use: it may be evicted, or is quiet. */
void te_worker_ep_idle(struct te_worker *w, struct te_ep *ep);
/* Look at every endpoint; act on what changed. */
void te_worker_look(struct te_worker *w);

#endif /* TE_WORKER_INTERNAL_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * worker: the only threads that move data.
 *
 * What waits for a peer stands in one queue, its path. Each local dev has a rail
 * to the peer, and each rail pulls slices from the path whenever it has room: a
 * fast one takes more by itself, a dead one takes none, and nobody decides
 * beforehand which way a task goes.
 *
 * A dev has 8 shards, chosen by peer, and a few movers. Mover i serves shards
 * i, i + n, i + 2n ...: the rails of a dev to one peer have one mover, which
 * alone posts to and polls their endpoints. Submitters put rails that have
 * something to pull on shards; everything behind that belongs to the mover.
 */
#ifndef TE_WORKER_H
#define TE_WORKER_H

#include <linux/list.h>

#include "endpoint/endpoint.h"

#define TE_NR_SHARDS	8U

#define TE_MAX_EP	1048576U

/* Module parameters; clamped when a dev starts. */
extern unsigned int te_workers_per_dev;
extern unsigned int te_max_ep;
/* Module parameter: microseconds that a mover polls before it sleeps. */
extern unsigned int te_busy_poll_us;

/* For te_xport_set_host(). */
extern const struct te_xport_host te_worker_host;

/**
 * te_worker_offer() - a segment's devs are known, or have changed
 * @seg: READY
 *
 * Its peer gets a rail from each dev that is up, and those that exist look again
 * at which of the peer's devs suits them best.
 *
 * Context: may sleep.
 * Return: 0, or -ENOMEM: there may be fewer rails than there could be.
 */
int te_worker_offer(struct te_seg *seg);

/**
 * te_worker_queue() - let admitted tasks be pulled
 * @seg: that all of them are for
 * @tasks: te_task.link, not empty, all of one context
 *
 * Those that cannot go, end: with -ENXIO when no dev has a rail to the peer,
 * with the peer's error, or as they were doomed meanwhile.
 */
void te_worker_queue(struct te_seg *seg, struct list_head *tasks);

/**
 * struct te_route - what carries requests of a segment, see struct te_ioc_segment_info
 * @transport: TE_RDMA ..., TE_ANY: nothing does
 * @known: bits of transports that have a rail
 * @able: those that can carry now
 */
struct te_route {
	u32 transport;
	u32 known;
	u32 able;
};

void te_worker_route(struct te_seg *seg, struct te_route *route);

/* Which dev may carry what has changed: all rails look at what waits. May sleep. */
void te_worker_wake(void);
/* The same for one peer. Does not sleep. */
void te_worker_wake_peer(struct te_peer *peer);

#endif /* TE_WORKER_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * xport: the transport contract. A transport registers its te_devs here; core,
 * endpoint and worker use them through te_transport_ops without knowing what is
 * behind.
 */
#ifndef TE_XPORT_H
#define TE_XPORT_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>

#include "mem/mem.h"
#include "peer/peer.h"
#include "topo/topo.h"

struct te_ep;
struct te_mover;
struct te_slice;
struct te_workers;

/**
 * struct te_transport_ops - what a transport does; only those that say so may be NULL
 * @transport: TE_RDMA ...
 * @name: for messages
 * @mr_map: make one region reachable through a dev. te_maps_mutex held, may
 *	sleep. gives the map, or ERR_PTR(-errno): the region then stays out of
 *	reach of this dev
 * @mover_start: give a mover what it polls (te_mover.xp). May sleep.
 *	0 or -errno
 * @mover_stop: undo; no endpoint of the mover is left
 * @ep_create: a new endpoint in state NEW, te_ep_init() done. Mover.
 *	Gives the endpoint with one reference, or ERR_PTR(-ENOMEM)
 * @ep_free: last put; process context
 * @ep_connect: state is CONNECTING: start; READY or FAILED follows. Mover; must
 *	not wait
 * @ep_close: state is DRAINING: stop it and give its resources back, in the
 *	background; wait for te_ep.quiet, though not for ever, before that; set
 *	DEAD and kick last. Mover; must not wait
 * @ep_reap: state is DEAD and @poll found nothing: hand slices that never came
 *	back to @finished. Mover
 * @ep_stuck: oldest posted slice whose task must end, or NULL. Mover
 * @ep_patience: when to give it up, in jiffies, if nothing more comes of what is
 *	posted; false: there is nothing that waits. Mover. NULL: the transport
 *	finds out by itself
 * @ep_idle_max: after how many jiffies without work to close one; 0: never. NULL: it
 *	costs the peer nothing to keep it. Mover
 * @ep_room: how many slices may be posted now. Mover
 * @post: post the slices of @slices as one chain; the endpoint is READY, and
 *	they are at most @ep_room. What cannot be posted goes to @finished with an error. Mover
 * @poll: move finished slices to @finished, te_slice.error set; gives how
 *	many completions were seen. Mover
 * @arm: ask to be kicked at the next completion. True when some may
 *	have come already: poll again. Mover
 */
struct te_transport_ops {
	u32 transport;
	const char *name;
	struct te_mr_map *(*mr_map)(struct te_dev *dev, struct te_mr *mr);
	int (*mover_start)(struct te_mover *mover);
	void (*mover_stop)(struct te_mover *mover);
	struct te_ep *(*ep_create)(struct te_mover *mover, struct te_peer *peer,
				   const struct te_rdev *rdev);
	void (*ep_free)(struct te_ep *ep);
	void (*ep_connect)(struct te_ep *ep);
	void (*ep_close)(struct te_ep *ep);
	void (*ep_reap)(struct te_ep *ep, struct list_head *finished);
	const struct te_slice *(*ep_stuck)(struct te_ep *ep);
	bool (*ep_patience)(struct te_ep *ep, unsigned long *until);
	unsigned long (*ep_idle_max)(void);
	u32 (*ep_room)(struct te_ep *ep);
	void (*post)(struct te_ep *ep, struct list_head *slices,
		     struct list_head *finished);
	u32 (*poll)(struct te_mover *mover, struct list_head *finished);
	bool (*arm)(struct te_mover *mover);
};

/**
 * struct te_mover - what a transport sees of one mover
 * @dev: whose mover it is
 * @index: below te_dev.nr_movers
 * @xp: the transport's: what this mover polls
 * @kick: wake it: there are completions or rails with work; any context
 * @look: wake it to look at its endpoints and rails; any context
 * @gone: an endpoint of it has been freed; process context
 */
struct te_mover {
	struct te_dev *dev;
	u32 index;
	void *xp;
	void (*kick)(struct te_mover *mover);
	void (*look)(struct te_mover *mover);
	void (*gone)(struct te_mover *mover);
};

/**
 * struct te_dev - one local NIC port with its movers
 * @ref: the transport holds one; whoever picked it on the submit path another
 * @ops: its transport
 * @id: below TE_MAX_DEVS; key of te_mr.maps
 * @name: of the device, for messages
 * @numa_node: NUMA_NO_NODE unknown
 * @max_ep: endpoints that it has room for, at least 1
 * @link: on te_devs while @up, RCU
 * @all_link: with all devs, from te_dev_add() to te_dev_del(), RCU
 * @maps: te_mr_map of this dev, protected by te_maps_mutex
 * @self: how peers reach it; set before te_dev_up()
 * @up: listed; written under te_maps_mutex
 * @no_link: its port has no link: nothing is posted, what is posted comes back
 * @moves: how often it has lost the address it had; written by te_dev_moved()
 * @workers: of the worker room; from dev_start to dev_free
 * @release: the transport's: frees what embeds it
 */
struct te_dev {
	struct kref ref;
	const struct te_transport_ops *ops;
	u32 id;
	char name[64];
	int numa_node;
	u32 max_ep;
	struct list_head link;
	struct list_head all_link;
	struct list_head maps;
	struct te_rdev self;
	bool up;
	bool no_link;
	u32 moves;
	struct te_workers *workers;
	void (*release)(struct te_dev *dev);
};

/**
 * struct te_xport_host - the room above: it runs the movers
 * @dev_start: start the movers of a dev; may sleep; 0 or -errno
 * @dev_stop: end all work of a dev with -ENODEV and stop its movers; may sleep
 * @dev_free: the last reference of the dev went
 * @dev_up: it may be used now, or more regions are mapped on it; may sleep
 * @dev_scan: make the movers of a dev look; any context
 * @dev_shed: evict an endpoint of a dev that has no work; does not sleep. False:
 *	there is none
 * @scan: end tasks that must end and wait for a mover; may sleep
 */
struct te_xport_host {
	int (*dev_start)(struct te_dev *dev);
	void (*dev_stop)(struct te_dev *dev);
	void (*dev_free)(struct te_dev *dev);
	void (*dev_up)(struct te_dev *dev);
	void (*dev_scan)(struct te_dev *dev);
	bool (*dev_shed)(struct te_dev *dev);
	void (*scan)(void);
};

/**
 * struct te_xport_news - the room above that tells peers of devs
 * @dev_up: it is up, maybe at another address, maybe with regions that were not
 *	@mapped on it before; may sleep
 * @dev_gone: it does not come back; its id is given away only after that; may
 *	sleep
 *
 * That a dev is down is no news: it keeps what peers know of it.
 */
struct te_xport_news {
	void (*dev_up)(u32 dev_id, bool mapped);
	void (*dev_gone)(u32 dev_id);
};

/* RCU list; writers hold te_maps_mutex. */
extern struct list_head te_devs;

void te_xport_set_news(const struct te_xport_news *news);
void te_xport_set_host(const struct te_xport_host *host);

/**
 * te_dev_add() - give a dev its id and movers
 * @dev: ops, name, numa_node, max_ep, release set; nobody sees it before te_dev_up().
 *	The caller's reference is the transport's, given back after te_dev_del()
 *
 * Context: may sleep.
 * Return: 0, -ENOSPC over TE_MAX_DEVS, -ENOMEM, or what mover_start said.
 */
int te_dev_add(struct te_dev *dev);
/**
 * te_dev_up() - it has an address, can register and connect: let it be used
 * @dev: added, @self set; or up already, with regions that were not mapped
 *
 * Regions that are there are mapped on it. One that cannot be is not reached
 * through it; it is worth another call later.
 *
 * Context: may sleep.
 * Return: 0, or why the first such region was not mapped: the dev is up anyway.
 */
int te_dev_up(struct te_dev *dev);
/* It cannot register now: nobody picks it until it is up again. May sleep. */
void te_dev_down(struct te_dev *dev);
/*
 * Its port lost its link, or has it again. Without one its endpoints end and
 * their slices go over other rails. Any context.
 */
void te_dev_link(struct te_dev *dev, bool link);
/*
 * The address that its endpoints were connected from is not its own any more: what
 * is posted on them goes elsewhere, and nothing more is. One caller at a time.
 */
void te_dev_moved(struct te_dev *dev);
/*
 * It has run out of something that endpoints have: one without work is evicted, and
 * gives that back a little later. Does not sleep. False: there is none.
 */
bool te_dev_shed(struct te_dev *dev);
/**
 * te_dev_del() - take a dev away
 * @dev: added; its work ends with -ENODEV, its maps are unmapped
 *
 * Context: may sleep; nobody uses the dev when it returns, but references may
 * be left.
 */
void te_dev_del(struct te_dev *dev);
void te_dev_get(struct te_dev *dev);
bool te_dev_tryget(struct te_dev *dev);
void te_dev_put(struct te_dev *dev);
/*
 * Devs without a device: TCP, local. One of a kind on a node; a region needs no more
 * than a key on it, by which its owner knows it again.
 */
#define TE_SOFT_CHUNK_SHIFT	40	/* one key for so much: the most there is */

/**
 * te_dev_add_soft() - such a dev, up from the start
 * @ops: its transport; te_soft_mr_map() is its @mr_map
 * @port: of its listener, or 0
 *
 * Context: may sleep.
 * Return: the dev, for te_dev_del_soft(), or ERR_PTR() as te_dev_add().
 */
struct te_dev *te_dev_add_soft(const struct te_transport_ops *ops, u16 port);
void te_dev_del_soft(struct te_dev *dev);
struct te_mr_map *te_soft_mr_map(struct te_dev *dev, struct te_mr *mr);
/* Fill @out with at most @max devs that are up. Return: how many. */
u32 te_dev_describe(struct te_rdev *out, u32 max);
/*
 * Map a new region, not visible yet, on every dev that is up. Return: 0, or the
 * first error: -ENOMEM, -EIO.
 */
int te_xport_map_mr(struct te_mr *mr);
/*
 * Tasks were doomed: end those that wait for a mover, and make movers look for
 * those that have slices in flight. May sleep.
 */
void te_xport_scan(void);

/**
 * te_topo_tier() - how near a dev is to a region
 * @location: te_mr.location; the caller keeps the region
 * @dev: the dev
 *
 * Context: any that may not sleep too.
 * Return: 0 preferred, 1 for when those are full or gone, TE_TIER_NONE not to be
 * used.
 */
static inline u32 te_topo_tier(u32 location, const struct te_dev *dev)
{
	return te_topo_tier_of(location, dev->name, dev->numa_node);
}

/**
 * te_dev_far() - which NICs are far from a region that others are nearer to
 * @location: any that te_mr.location has had
 * @mask: ids of the devs to choose from
 *
 * Near are those that are up and of the lowest tier that there is. The matrix and
 * NUMA nodes are of NICs: devs of other transports are never far.
 *
 * Context: any that may not sleep too.
 * Return: ids of devs that are up, a subset of @mask.
 */
u32 te_dev_far(u32 location, u32 mask);

/**
 * te_peer_kill() - the session is lost
 * @peer: the peer; may be killed more than once
 * @error: -errno for what still runs over it
 *
 * Unpublishes it, kills its connections and makes the movers look for tasks
 * that have lost their peer. May sleep.
 */
void te_peer_kill(struct te_peer *peer, int error);

#endif /* TE_XPORT_H */

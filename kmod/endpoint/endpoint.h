/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * endpoint: one dev's connection to one peer's dev, and the dev's cache of
 * them. Generic: the transport embeds te_ep as its first member.
 *
 * An endpoint is made by the one mover that serves its peer; that mover alone
 * posts on it, polls for it, and closes it. Others only change its state (the
 * transport's events) or ask for it to be closed (eviction by another mover).
 *
 *   NEW > CONNECTING > READY > DRAINING > DEAD
 *              \          \
 *               `-> FAILED `-> FAILED > DRAINING
 *
 * Two-step death: the mover takes it out of the store, sets DRAINING and calls
 * ep_close(); the transport stops it, waits until it is quiet, destroys it and
 * sets DEAD; the mover polls once more, takes back what never came, and drops
 * its reference. An endpoint that was READY once never comes back.
 */
#ifndef TE_ENDPOINT_H
#define TE_ENDPOINT_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/rhashtable.h>
#include <linux/spinlock.h>

#include "core/core.h"
#include "xport/xport.h"

struct te_ep_store;
struct te_rail;

enum te_ep_state {
	TE_EP_NEW,
	TE_EP_CONNECTING,
	TE_EP_READY,
	TE_EP_FAILED,
	TE_EP_DRAINING,
	TE_EP_DEAD,
	TE_EP_NR_STATES,
};

/**
 * struct te_ep_key - what an endpoint is found by
 * @peer_id: te_peer.id
 * @dev_id: of the peer's dev
 * @pad: zero
 */
struct te_ep_key {
	u64 peer_id;
	u32 dev_id;
	u32 pad;
};

/**
 * struct te_pace - how much may be on the way, see worker/pace.c
 * @window: bytes
 * @cut_at: jiffies, when it was last found to be too much
 */
struct te_pace {
	u32 window;
	unsigned long cut_at;
};

/**
 * struct te_ep - an endpoint
 * @ref: the mover holds one, the transport's connections hold one each
 * @key: in the store
 * @dev: whose it is; holds a reference
 * @mover: that serves it
 * @peer: it goes to; holds a reference
 * @rdev: the peer's dev
 * @node: in the store's hash
 * @store_link: in the store's eviction list, protected by te_ep_store.lock
 * @stored: in the store, protected by te_ep_store.lock
 * @evicted: the store gave it up: the mover closes it
 * @busy: the mover has work on it: not to be evicted; protected by
 *	te_ep_store.lock
 * @visited: used since the hand of SIEVE came by; protected by
 *	te_ep_store.lock
 * @quiet: completed by the mover when DRAINING and nothing is in flight
 * @lock: protects @state, @error, @was_ready
 * @state: te_ep_state
 * @error: with FAILED: -errno why
 * @was_ready: it carried data, or could have
 * @event_error: -errno, set from interrupts: the mover retires it
 * @moves: te_dev.moves when it was made
 * @link: the mover's: all its endpoints
 * @rail: the mover's: whose endpoint it is
 * @connect_by: the mover's: jiffies; CONNECTING takes no longer
 * @proven: the mover's: something has gone over it
 * @inflight: the mover's: slices posted
 * @bytes: the mover's: of the slices posted
 * @pace: the mover's: bytes that may be posted
 * @stuck: the mover's: oldest posted slice whose task must end, or NULL; only
 *	compared, never followed
 * @stuck_since: the mover's: jiffies since when it is @stuck
 * @idle_since: the mover's: jiffies, when the last of its slices came back, or it
 *	was made
 * @silent: the mover's: it was given up, as nothing came of what was posted
 */
struct te_ep {
	struct kref ref;
	struct te_ep_key key;
	struct te_dev *dev;
	struct te_mover *mover;
	struct te_peer *peer;
	struct te_rdev rdev;

	struct rhash_head node;
	struct list_head store_link;
	bool stored;
	bool evicted;
	bool busy;
	bool visited;
	struct completion quiet;

	spinlock_t lock; /* protects state, error, was_ready */
	enum te_ep_state state;
	int error;
	bool was_ready;
	int event_error;
	u32 moves;

	struct list_head link;
	struct te_rail *rail;
	unsigned long connect_by;
	bool proven;
	u32 inflight;
	u32 bytes;
	struct te_pace pace;
	const struct te_slice *stuck;
	unsigned long stuck_since;
	unsigned long idle_since;
	bool silent;
};

/**
 * te_ep_init() - generic part of a new endpoint
 * @ep: zeroed
 * @mover: that makes it
 * @peer: takes an own reference
 * @rdev: copied
 */
void te_ep_init(struct te_ep *ep, struct te_mover *mover, struct te_peer *peer,
		const struct te_rdev *rdev);
void te_ep_get(struct te_ep *ep);
void te_ep_put(struct te_ep *ep);

/**
 * te_ep_set_state() - the only writer of the state
 * @ep: the endpoint
 * @to: new state
 *
 * Context: process, does not sleep. Makes the mover look after a change.
 * Return: true when the table allows the move from the present state.
 */
bool te_ep_set_state(struct te_ep *ep, enum te_ep_state to);
/* The same to FAILED, with the reason. */
bool te_ep_fail(struct te_ep *ep, int error);
/* Its QP had a fatal event: the mover retires it. Any context. */
void te_ep_event(struct te_ep *ep, int error);

static inline enum te_ep_state te_ep_state(const struct te_ep *ep)
{
	return READ_ONCE(ep->state);
}

/* The address that it was connected from may be gone: it is of no use. */
static inline bool te_ep_moved(const struct te_ep *ep)
{
	return ep->moves != READ_ONCE(ep->dev->moves);
}

/**
 * struct te_store_policy - which endpoint goes when the store is full
 * @name: for messages
 * @victim: of @store->list (newest first, not empty), one that is not busy, or
 *	NULL; the caller evicts it. te_ep_store.lock held
 */
struct te_store_policy {
	const char *name;
	struct te_ep *(*victim)(struct te_ep_store *store);
};

/**
 * struct te_ep_store - a dev's cache of endpoints
 * @map: by te_ep_key; looked up under RCU
 * @capacity: at most so many
 * @lock: protects all below, and changes of @map
 * @list: newest first
 * @nr: entries
 * @nr_busy: those of them that have work
 * @hand: SIEVE's: where to look next, NULL for the oldest
 */
struct te_ep_store {
	struct rhashtable map;
	u32 capacity;
	spinlock_t lock; /* protects all below and te_ep's store fields */
	struct list_head list;
	u32 nr;
	u32 nr_busy;
	struct te_ep *hand;
};

extern const struct te_store_policy te_store_fifo;
extern const struct te_store_policy te_store_sieve;

/* Policy of all stores, old and new: -EINVAL when there is none of this name. */
int te_ep_store_set_policy(const char *name);
const char *te_ep_store_policy(void);

int te_ep_store_init(struct te_ep_store *store, u32 capacity);
void te_ep_store_destroy(struct te_ep_store *store);

/* For policies: the next newer entry, NULL behind the newest. Lock held. */
static inline struct te_ep *te_ep_store_newer(struct te_ep_store *store,
					      struct te_ep *ep)
{
	return list_is_first(&ep->store_link, &store->list) ?
		NULL : list_prev_entry(ep, store_link);
}

/*
 * Endpoint of this key, or NULL. Only for the mover that serves the key's peer:
 * it alone removes what it finds, so no reference is taken.
 */
struct te_ep *te_ep_store_lookup(struct te_ep_store *store, u64 peer_id,
				 u32 dev_id);
/**
 * te_ep_store_insert() - add a new endpoint
 * @store: the store
 * @ep: not in it
 *
 * It is busy from the start. When the store is full a victim is marked evicted
 * and its mover made to look.
 *
 * Return: 0, -ENOMEM, -EBUSY full and every entry has work.
 */
int te_ep_store_insert(struct te_ep_store *store, struct te_ep *ep);
/* Evict one that has no work, as if there were no room. False: there is none. */
bool te_ep_store_evict(struct te_ep_store *store);
void te_ep_store_remove(struct te_ep_store *store, struct te_ep *ep);
/* Would te_ep_store_insert() find room or a victim now? */
bool te_ep_store_has_room(struct te_ep_store *store);
/*
 * Mark that the mover has work on it, or none. When it had none this is a use: it
 * counts as a hit. Return: false when it has been evicted meanwhile: no work may
 * start on it.
 */
bool te_ep_store_set_busy(struct te_ep_store *store, struct te_ep *ep,
			  bool busy);

#endif /* TE_ENDPOINT_H */

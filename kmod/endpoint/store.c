// SPDX-License-Identifier: GPL-2.0-only
/*
 * endpoint/store: a dev's cache of endpoints, at most te_ep_store.capacity.
 *
 * Movers look up without a lock. Insert, evict and remove take the store's
 * lock. Eviction only marks: the victim's own mover closes it, so that nobody
 * else ever touches an endpoint's data path. The store holds no reference; the
 * mover removes an endpoint before it drops its own.
 *
 * A use of an endpoint is the time from when it gets work until it has none. What
 * the policies see, and the counters say, are uses: a rail keeps the endpoint that
 * it found, and looks up again only when that is of no use to it.
 */
#include <linux/string.h>

#include "endpoint/endpoint.h"
#include "event/count.h"

static const struct rhashtable_params ep_map_params = {
	.key_len		= sizeof(struct te_ep_key),
	.key_offset		= offsetof(struct te_ep, key),
	.head_offset		= offsetof(struct te_ep, node),
	.automatic_shrinking	= true,
};

static const struct te_store_policy *const te_store_policies[] = {
	&te_store_sieve,
	&te_store_fifo,
};

/* Asked for each victim, so that it can be switched at any time. */
static const struct te_store_policy *te_store_policy = &te_store_sieve;

int te_ep_store_set_policy(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(te_store_policies); i++) {
		if (sysfs_streq(name, te_store_policies[i]->name)) {
			WRITE_ONCE(te_store_policy, te_store_policies[i]);
			return 0;
		}
	}
	return -EINVAL;
}

const char *te_ep_store_policy(void)
{
	return READ_ONCE(te_store_policy)->name;
}

int te_ep_store_init(struct te_ep_store *store, u32 capacity)
{
	spin_lock_init(&store->lock);
	INIT_LIST_HEAD(&store->list);
	store->nr = 0;
	store->nr_busy = 0;
	store->hand = NULL;
	store->capacity = capacity;
	return rhashtable_init(&store->map, &ep_map_params);
}

void te_ep_store_destroy(struct te_ep_store *store)
{
	rhashtable_destroy(&store->map);
}

struct te_ep *te_ep_store_lookup(struct te_ep_store *store, u64 peer_id,
				 u32 dev_id)
{
	struct te_ep_key key = { .peer_id = peer_id, .dev_id = dev_id };

	return rhashtable_lookup_fast(&store->map, &key, ep_map_params);
}

static void store_set_busy_locked(struct te_ep_store *store, struct te_ep *ep,
				  bool busy)
{
	lockdep_assert_held(&store->lock);
	store->nr_busy += (int)busy - (int)ep->busy;
	ep->busy = busy;
}

static void store_remove_locked(struct te_ep_store *store, struct te_ep *ep)
{
	lockdep_assert_held(&store->lock);
	if (!ep->stored)
		return;
	ep->stored = false;
	if (store->hand == ep)
		store->hand = te_ep_store_newer(store, ep);
	store_set_busy_locked(store, ep, false);
	rhashtable_remove_fast(&store->map, &ep->node, ep_map_params);
	list_del_init(&ep->store_link);
	store->nr--;
	te_count(TE_NR_STORED, -1);
}

static bool store_evict_locked(struct te_ep_store *store)
{
	struct te_ep *victim = NULL;

	lockdep_assert_held(&store->lock);
	if (store->nr)
		victim = READ_ONCE(te_store_policy)->victim(store);
	if (!victim)
		return false;
	store_remove_locked(store, victim);
	victim->evicted = true;
	te_count(TE_NR_STORE_EVICTIONS, 1);
	/* The last touch: its mover may free it once the lock is free. */
	victim->mover->look(victim->mover);
	return true;
}

bool te_ep_store_evict(struct te_ep_store *store)
{
	bool evicted;

	spin_lock(&store->lock);
	evicted = store_evict_locked(store);
	spin_unlock(&store->lock);
	return evicted;
}

int te_ep_store_insert(struct te_ep_store *store, struct te_ep *ep)
{
	int ret;

	spin_lock(&store->lock);
	if (store->nr >= store->capacity && !store_evict_locked(store)) {
		ret = -EBUSY;
		goto out_unlock;
	}
	ret = rhashtable_insert_fast(&store->map, &ep->node, ep_map_params);
	if (ret)
		goto out_unlock;
	ep->stored = true;
	ep->visited = false;
	store_set_busy_locked(store, ep, true);
	list_add(&ep->store_link, &store->list);
	store->nr++;
	te_count(TE_NR_STORED, 1);
	te_count(TE_NR_STORE_MISSES, 1);
out_unlock:
	spin_unlock(&store->lock);
	return ret;
}

bool te_ep_store_has_room(struct te_ep_store *store)
{
	bool room;

	spin_lock(&store->lock);
	room = store->nr < store->capacity || store->nr_busy < store->nr;
	spin_unlock(&store->lock);
	return room;
}

void te_ep_store_remove(struct te_ep_store *store, struct te_ep *ep)
{
	spin_lock(&store->lock);
	store_remove_locked(store, ep);
	spin_unlock(&store->lock);
}

bool te_ep_store_set_busy(struct te_ep_store *store, struct te_ep *ep,
			  bool busy)
{
	bool ok;

	spin_lock(&store->lock);
	ok = ep->stored;
	if (ok && busy && !ep->busy) {
		ep->visited = true;
		te_count(TE_NR_STORE_HITS, 1);
	}
	if (ok)
		store_set_busy_locked(store, ep, busy);
	spin_unlock(&store->lock);
	return ok;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * worker/rail: a local dev's way to a peer: which of the peer's devs it goes to,
 * and when it rests.
 *
 * Rails are made where segments become known and where devs come up, in process
 * context; from then on they are their mover's, which frees them when the peer
 * is dead or the dev stops, after their last endpoint. A rail has one endpoint in
 * use, to the dev that suits best of those that did not just fail.
 */
#include <linux/err.h>
#include <linux/random.h>
#include <linux/rculist.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#include "fault/fault.h"
#include "worker/internal.h"

/* Longest rest of a rail that can reach nobody: until the peer's devs change. */
#define TE_REST		(3600 * HZ)
/*
 * Failures in a row for want of QPs or memory until the rail is short: more than
 * half a second, in which endpoints that were evicted for it have ended.
 */
#define TE_SHORTAGES	8U

/* On the way while an endpoint is new on a rail that has failed. */
#define TE_PROBE	1U

/* Creation: two at once would make two rails of one dev to one peer. */
static DEFINE_MUTEX(te_rails_mutex);

static bool path_has_dev(struct te_path *path, struct te_dev *dev)
{
	struct te_rail *rail;
	bool found = false;

	spin_lock(&path->lock);
	list_for_each_entry(rail, &path->rails, path_link)
		found |= rail->w->mover.dev == dev;
	spin_unlock(&path->lock);
	return found;
}

/* Has the peer a dev that the dev could talk to at all? */
static bool path_speaks(struct te_path *path, struct te_dev *dev)
{
	unsigned long mask;
	bool found = false;
	u32 id;

	spin_lock(&path->lock);
	mask = path->rdev_mask;
	for_each_set_bit(id, &mask, TE_MAX_DEVS)
		found |= path->rdevs[id].transport == dev->ops->transport;
	spin_unlock(&path->lock);
	return found;
}

/* A dev that stops, or a dead peer, needs none: no error. */
static int rail_create(struct te_dev *dev, struct te_peer *peer)
{
	struct te_workers *set = dev->workers;
	struct te_rail *rail;
	u32 shard = te_shard_of(peer->id);

	lockdep_assert_held(&te_rails_mutex);
	if (!path_speaks(&peer->path, dev) || path_has_dev(&peer->path, dev))
		return 0;
	rail = kzalloc(sizeof(*rail), GFP_KERNEL_ACCOUNT);
	if (!rail)
		return -ENOMEM;
	rail->queue = &set->shards[shard];
	rail->w = &set->worker[shard % set->nr];
	te_peer_get(peer);
	rail->peer = peer;
	INIT_LIST_HEAD(&rail->queue_link);
	INIT_LIST_HEAD(&rail->link);
	INIT_LIST_HEAD(&rail->active_link);
	rail->able = true;
	if (!te_path_add_rail(rail)) {
		te_peer_put(peer);
		kfree(rail);
	}
	return 0;
}

bool te_same_rdev(const struct te_rdev *a, const struct te_rdev *b)
{
	return a->dev_id == b->dev_id && a->port == b->port &&
	       a->transport == b->transport && a->mtu == b->mtu &&
	       ipv6_addr_equal(&a->addr, &b->addr);
}

/* The description of this segment is the newest: it tells of all devs. */
static void path_set_rdevs(struct te_path *path, struct te_seg *seg)
{
	const struct te_seg_devs *rdevs;
	struct te_rail *rail;
	u32 changed, i;

	spin_lock(&path->lock);
	rcu_read_lock();
	rdevs = te_seg_devs(seg);
	changed = path->rdev_mask;
	path->rdev_mask = 0;
	for (i = 0; i < rdevs->nr; i++) {
		u32 id = rdevs->devs[i].dev_id;

		changed ^= BIT(id);
		if (!te_same_rdev(&path->rdevs[id], &rdevs->devs[i]))
			changed |= BIT(id);
		path->rdevs[id] = rdevs->devs[i];
		path->rdev_mask |= BIT(id);
	}
	rcu_read_unlock();
	list_for_each_entry(rail, &path->rails, path_link) {
		if (!changed)
			break;
		rail->recheck |= changed;
		/* It may rest for long, for want of these devs. */
		rail->w->mover.look(&rail->w->mover);
	}
	spin_unlock(&path->lock);
}

int te_worker_offer(struct te_seg *seg)
{
	struct te_dev *devs[TE_MAX_DEVS];
	struct mem_cgroup *old;
	struct te_dev *dev;
	u32 nr = 0, i;
	int ret = 0;

	mutex_lock(&te_rails_mutex);
	path_set_rdevs(&seg->peer->path, seg);
	rcu_read_lock();
	list_for_each_entry_rcu(dev, &te_devs, link) {
		if (nr < TE_MAX_DEVS && te_dev_tryget(dev))
			devs[nr++] = dev;
	}
	rcu_read_unlock();
	old = set_active_memcg(seg->memcg);
	for (i = 0; i < nr; i++) {
		ret = ret ?: rail_create(devs[i], seg->peer);
		te_dev_put(devs[i]);
	}
	set_active_memcg(old);
	mutex_unlock(&te_rails_mutex);
	te_path_wake(seg->peer);
	return ret;
}

void te_rail_create_all(struct te_dev *dev)
{
	struct te_peer *peer = NULL;

	mutex_lock(&te_rails_mutex);
	while ((peer = te_peer_next(peer))) {
		if (READ_ONCE(peer->path.rdev_mask) && rail_create(dev, peer))
			pr_warn_ratelimited("te: %s: no memory for a rail to %pI6c\n",
					    dev->name, &peer->addr);
		te_path_wake(peer);
	}
	mutex_unlock(&te_rails_mutex);
}

static void rail_free(struct te_rail *rail)
{
	te_path_del_rail(rail);
	list_del(&rail->link);
	list_del(&rail->active_link);
	te_peer_put(rail->peer);
	kfree(rail);
}

/* Is there anybody but itself that the rail's dev could talk to? */
static bool rail_has_others(const struct te_rail *rail)
{
	const struct te_path *path = &rail->peer->path;
	const struct te_rdev *self = &rail->w->mover.dev->self;
	unsigned long mask = path->rdev_mask;
	u32 id;

	for_each_set_bit(id, &mask, TE_MAX_DEVS) {
		const struct te_rdev *rdev = &path->rdevs[id];

		if (!ipv6_addr_equal(&rdev->addr, &self->addr) &&
		    te_route_score(self, rdev, &rail->peer->addr, 0) >= 0)
			return true;
	}
	return false;
}

/*
 * What a dev of the peer is worth to the rail. Less than 0: nothing. Itself is a
 * way only where there is no other: it says nothing of the network.
 */
static int rail_score(const struct te_rail *rail, u32 id)
{
	const struct te_path *path = &rail->peer->path;
	const struct te_rdev *self = &rail->w->mover.dev->self;
	const struct te_rdev *rdev = &path->rdevs[id];
	u32 nr = hweight32(path->rdev_mask);
	u32 at = hweight32(path->rdev_mask & (BIT(id) - 1));

	if (ipv6_addr_equal(&rdev->addr, &self->addr) && rail_has_others(rail))
		return -1;
	return te_route_score(self, rdev, &rail->peer->addr,
			      (at + nr - self->dev_id % nr) % nr);
}

/*
 * The best of the peer's devs that does not rest. Return: false: all of them do,
 * or none can be reached from here. Those that would be better rest until @until.
 */
static bool rail_pick(struct te_rail *rail, struct te_rdev *best,
		      unsigned long *until)
{
	struct te_path *path = &rail->peer->path;
	unsigned long now = jiffies, mask;
	int best_score = -1;
	u32 id;

	*until = now + TE_REST;
	spin_lock(&path->lock);
	/* What failed before it changed says nothing of it. */
	mask = rail->recheck;
	for_each_set_bit(id, &mask, TE_MAX_DEVS)
		memset(&rail->health[id], 0, sizeof(rail->health[id]));
	rail->recheck = 0;
	mask = path->rdev_mask;
	for_each_set_bit(id, &mask, TE_MAX_DEVS) {
		if (!te_health_paused(&rail->health[id], now) &&
		    rail_score(rail, id) > best_score) {
			best_score = rail_score(rail, id);
			*best = path->rdevs[id];
		}
	}
	for_each_set_bit(id, &mask, TE_MAX_DEVS) {
		if (te_health_paused(&rail->health[id], now) &&
		    rail_score(rail, id) > best_score &&
		    time_before(rail->health[id].until, *until))
			*until = rail->health[id].until;
	}
	spin_unlock(&path->lock);
	return best_score >= 0;
}

static void rail_rest(struct te_worker *w, unsigned long until)
{
	if (!w->paused || time_before(until, w->resume_at))
		w->resume_at = until;
	w->paused = true;
}

/* Its endpoint, with work on it from now on. False: it is of no use. */
static bool rail_keeps_ep(struct te_worker *w, struct te_rail *rail)
{
	struct te_ep *ep = rail->ep;

	if (!ep)
		return false;
	switch (te_ep_state(ep)) {
	case TE_EP_CONNECTING:
	case TE_EP_READY:
		if (te_ep_moved(ep))
			return false;
		/* A busy one is not evicted. */
		if (ep->busy)
			return true;
		te_delay(TE_DELAY_EP_FOUND);
		return te_ep_store_set_busy(&w->set->store, ep, true);
	default:
		return false;
	}
}

static void rail_leave_ep(struct te_worker *w, struct te_rail *rail)
{
	struct te_ep *ep = rail->ep;

	rail->ep = NULL;
	if (ep && !ep->inflight)
		te_worker_ep_idle(w, ep);
}

/*
 * Look for a better endpoint than the one in use, which may be of no use at all.
 * One that works is left when the better one works too. Return: what to use, or
 * NULL.
 */
static struct te_ep *rail_change_ep(struct te_worker *w, struct te_rail *rail)
{
	bool keeps = rail_keeps_ep(w, rail);
	bool works = keeps && te_ep_state(rail->ep) == TE_EP_READY;
	struct te_rdev rdev;
	unsigned long until;
	struct te_ep *ep;

	if (!rail_pick(rail, &rdev, &until)) {
		rail_leave_ep(w, rail);
		rail_rest(w, until);
		return NULL;
	}
	rail->better_at = until;
	if (keeps && te_same_rdev(&rail->ep->rdev, &rdev))
		return rail->ep;
	if (!keeps)
		rail_leave_ep(w, rail);
	if (!rail->ep)
		WRITE_ONCE(rail->to, BIT(rdev.dev_id));
	/* Look again each time, until it is left. */
	if (works)
		rail->better_at = jiffies;
	/* What is connected may go on while the dev cannot register. */
	if (!READ_ONCE(w->mover.dev->up))
		return rail->ep;
	ep = te_worker_ep(w, rail, &rdev);
	/* It may have to rest now, or have no work any more; the next round knows. */
	if (!ep)
		return rail->ep;
	if (ep == ERR_PTR(-EBUSY)) {
		w->starved |= !rail->ep;
		return rail->ep;
	}
	if (IS_ERR(ep)) {
		te_rail_failed(rail, &rdev, PTR_ERR(ep));
		rail_rest(w, jiffies + TE_RETRY);
		return rail->ep;
	}
	if (works && te_ep_state(ep) != TE_EP_READY)
		return rail->ep;
	rail_leave_ep(w, rail);
	rail->better_at = until;
	rail->ep = ep;
	WRITE_ONCE(rail->to, BIT(rdev.dev_id));
	return ep;
}

struct te_ep *te_rail_ready(struct te_worker *w, struct te_rail *rail)
{
	struct te_ep *ep = rail->ep;

	if (test_bit(TE_WORKER_STOP, &w->flags) || w->no_link ||
	    te_peer_error(rail->peer))
		return NULL;
	if (READ_ONCE(rail->recheck) || !rail_keeps_ep(w, rail) ||
	    te_ep_state(ep) == TE_EP_CONNECTING ||
	    time_after_eq(jiffies, rail->better_at))
		ep = rail_change_ep(w, rail);
	if (!ep)
		return NULL;
	if (te_ep_state(ep) == TE_EP_READY)
		return ep;
	/* Before this one is connected one that suits better may have rested. */
	rail_rest(w, rail->better_at);
	return NULL;
}

bool te_rail_able(const struct te_rail *rail)
{
	const struct te_ep *ep = rail->ep;
	u32 id;

	if (!ep)
		return false;
	if (te_ep_state(ep) == TE_EP_READY)
		return ep->proven || !rail->health[ep->key.dev_id].fails;
	if (te_ep_state(ep) != TE_EP_CONNECTING)
		return false;
	for (id = 0; id < TE_MAX_DEVS; id++)
		if (rail->health[id].fails)
			return false;
	return true;
}

void te_rail_failed(struct te_rail *rail, const struct te_rdev *rdev,
		    int error)
{
	struct te_health *health = &rail->health[rdev->dev_id];
	bool shortage = error == -ENOMEM;
	unsigned long pause;
	/* A dev without an address of its own is where the peer is. */
	const struct in6_addr *addr = ipv6_addr_any(&rdev->addr) ?
				      &rail->peer->addr : &rdev->addr;

	/* That says nothing of the way: it pauses no longer than one that worked. */
	health->worked |= shortage;
	rail->shortages = shortage ? rail->shortages + 1 : 0;
	pause = te_health_fail(health, jiffies, get_random_u32());
	pr_info_ratelimited("te: %s: rail to %pI6c: %d, failure %u, again in %u ms\n",
			    rail->w->mover.dev->name, addr, error,
			    health->fails, jiffies_to_msecs(pause));
	te_path_set_short(rail, rail->shortages >= TE_SHORTAGES);
}

void te_rail_worked(struct te_rail *rail, u32 rdev_id)
{
	te_health_good(&rail->health[rdev_id]);
	rail->shortages = 0;
	te_path_set_short(rail, false);
}

/* The link is back: what failed for want of it may be tried at once. */
static void rail_forgive(struct te_rail *rail)
{
	u32 id;

	for (id = 0; id < TE_MAX_DEVS; id++)
		rail->health[id].fails = 0;
	te_path_wake(rail->peer);
}

void te_rail_look(struct te_worker *w)
{
	bool stop = test_bit(TE_WORKER_STOP, &w->flags);
	bool no_link = READ_ONCE(w->mover.dev->no_link);
	bool link_back = w->no_link && !no_link;
	struct te_rail *rail, *next;

	w->no_link = no_link;
	list_for_each_entry_safe(rail, next, &w->rails, link) {
		if (!stop && !te_peer_error(rail->peer)) {
			if (link_back)
				rail_forgive(rail);
		} else if (!rail->nr_eps) {
			rail_free(rail);
		}
	}
}

u32 te_rail_room(const struct te_rail *rail, struct te_ep *ep)
{
	u32 room = min(ep->dev->ops->ep_room(ep), TE_CHAIN);

	if (!ep->proven && rail->health[ep->key.dev_id].fails)
		return ep->inflight < TE_PROBE ? min(room, TE_PROBE) : 0;
	/* TCP has windows of its own, for networks of any length. */
	if (te_rail_transport(rail) == TE_TCP)
		return room;
	if (ep->bytes >= ep->pace.window)
		return 0;
	return min(room, (ep->pace.window - ep->bytes) / TE_SLICE_BYTES + 1);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * worker/eps: a mover's endpoints: making them, watching them, ending them.
 *
 * Runs in the mover's thread only. The mover holds one reference of each of its
 * endpoints, from ep_create() until it has reaped the dead one. When an endpoint
 * goes, its rail gets another one, and the slices that it held go back to their
 * tasks, for whichever rail is first.
 */
#include <linux/err.h>
#include <linux/jiffies.h>
#include <net/ipv6.h>

#include "event/count.h"
#include "fault/fault.h"
#include "worker/internal.h"

/*
 * How long slices of a task that must end may finish by themselves before the
 * endpoint, which other tasks use too, is taken down to make them quiet.
 */
#define TE_GRACE	msecs_to_jiffies(200)
/*
 * How long connecting may take the first time: rdma_cm itself gives up after a
 * minute, and repeats its request after 4 s. A peer with too much to accept is
 * given twice as long each time that it fails, up to eight times.
 */
#define TE_CONNECT	msecs_to_jiffies(3000)
#define TE_CONNECT_MAX	3U

/* Endpoints of a rail, all but one of which are about to end. */
#define TE_RAIL_EPS	8U

/* First step of its death: nobody finds it, nothing new is posted on it. */
static void ep_retire(struct te_worker *w, struct te_ep *ep, int error)
{
	te_ep_store_remove(&w->set->store, ep);
	te_ep_fail(ep, error);
	te_ep_set_state(ep, TE_EP_DRAINING);
	if (ep->rail->ep == ep)
		ep->rail->ep = NULL;
	if (!ep->inflight)
		complete(&ep->quiet);
	worker_ops(w)->ep_close(ep);
}

/* The same when it went by itself: its rail is to blame, unless the peer refused. */
static void ep_retire_failed(struct te_worker *w, struct te_ep *ep, int error)
{
	te_count(TE_NR_ENDPOINTS_FAILED, 1);
	if (error != -EREMOTEIO)
		te_rail_failed(ep->rail, &ep->rdev, error);
	ep_retire(w, ep, error);
}

static struct te_ep *ep_make(struct te_worker *w, struct te_rail *rail,
			     const struct te_rdev *rdev)
{
	int most = 2 * w->set->store.capacity;
	struct te_ep *ep;
	int ret;

	/* Only a hint, so that starved rails cost nothing. */
	if (!te_ep_store_has_room(&w->set->store))
		return ERR_PTR(-EBUSY);
	/* One that does not come to its end keeps its own peer waiting, not others. */
	if (rail->nr_eps >= TE_RAIL_EPS)
		return ERR_PTR(-EBUSY);
	/* No more than the store keeps may drain: they have QPs as well. */
	if (atomic_fetch_add_unless(&w->set->nr_eps, 1, most) == most)
		return ERR_PTR(-EBUSY);
	ep = worker_ops(w)->ep_create(&w->mover, rail->peer, rdev);
	if (IS_ERR(ep)) {
		atomic_dec(&w->set->nr_eps);
		return ep;
	}
	ret = te_ep_store_insert(&w->set->store, ep);
	if (ret) {
		te_ep_put(ep);
		return ERR_PTR(ret);
	}
	list_add(&ep->link, &w->eps);
	ep->rail = rail;
	ep->idle_since = jiffies;
	te_pace_init(&ep->pace, jiffies);
	ep->connect_by = jiffies +
			 (TE_CONNECT << min(rail->health[rdev->dev_id].fails,
					    TE_CONNECT_MAX));
	te_worker_look_at(w, ep->connect_by);
	rail->nr_eps++;
	te_ep_set_state(ep, TE_EP_CONNECTING);
	worker_ops(w)->ep_connect(ep);
	return ep;
}

struct te_ep *te_worker_ep(struct te_worker *w, struct te_rail *rail,
			   const struct te_rdev *rdev)
{
	struct te_ep *ep;
	enum te_ep_state state;

	ep = te_ep_store_lookup(&w->set->store, rail->peer->id, rdev->dev_id);
	if (!ep)
		return ep_make(w, rail, rdev);
	te_delay(TE_DELAY_EP_FOUND);
	state = te_ep_state(ep);
	/* A busy one is not evicted. */
	if ((state == TE_EP_CONNECTING || state == TE_EP_READY) &&
	    te_same_rdev(&ep->rdev, rdev) && !te_ep_moved(ep) &&
	    (ep->busy || te_ep_store_set_busy(&w->set->store, ep, true)))
		return ep;
	/* Not looked at yet. */
	if (state == TE_EP_FAILED) {
		ep_retire_failed(w, ep, ep->error);
		return NULL;
	}
	/* Evicted, or one of the devs has moved. */
	ep_retire(w, ep, -EADDRNOTAVAIL);
	return ep_make(w, rail, rdev);
}

/* 0: for ever. */
static unsigned long ep_idle_max(struct te_worker *w)
{
	return worker_ops(w)->ep_idle_max ? worker_ops(w)->ep_idle_max() : 0;
}

void te_worker_ep_idle(struct te_worker *w, struct te_ep *ep)
{
	unsigned long max = ep_idle_max(w);

	if (te_ep_state(ep) == TE_EP_DRAINING) {
		complete(&ep->quiet);
	} else if (ep->rail->ep != ep || list_empty(&ep->rail->active_link)) {
		/* All its room is free, and no run of the rail is to say so. */
		if (ep->rail->ep == ep && te_ep_state(ep) == TE_EP_READY)
			WRITE_ONCE(ep->rail->open, true);
		te_ep_store_set_busy(&w->set->store, ep, false);
		if (max)
			te_worker_look_at(w, ep->idle_since + max);
	}
}

static bool ep_idle_too_long(struct te_worker *w, struct te_ep *ep)
{
	unsigned long max = ep_idle_max(w);

	if (ep->busy || !max)
		return false;
	if (time_after_eq(jiffies, ep->idle_since + max))
		return true;
	te_worker_look_at(w, ep->idle_since + max);
	return false;
}

/* True when slices of doomed tasks have had their time. */
static bool ep_stuck_too_long(struct te_worker *w, struct te_ep *ep)
{
	const struct te_slice *stuck = worker_ops(w)->ep_stuck(ep);

	if (stuck != ep->stuck) {
		ep->stuck = stuck;
		ep->stuck_since = jiffies;
	}
	if (!stuck)
		return false;
	te_worker_look_at(w, jiffies + TE_RETRY);
	return time_after(jiffies, ep->stuck_since + TE_GRACE);
}

/*
 * When to give it up if nothing more comes of what is posted; false: it has nothing.
 * Some QPs hang without a word: soft-RoCE's when they may not send any more and what
 * they have sent is not answered (6.1: rxe_requester() goes to error and starts no
 * timer), others when their firmware does.
 */
static bool ep_patience(struct te_worker *w, struct te_ep *ep,
			unsigned long *until)
{
	return worker_ops(w)->ep_patience &&
	       worker_ops(w)->ep_patience(ep, until);
}

void te_worker_watch(struct te_worker *w, struct te_ep *ep)
{
	unsigned long until;

	if (!ep_patience(w, ep, &until))
		return;
	if (!w->watches || time_before(until, w->watch_at))
		w->watch_at = until;
	w->watches = true;
}

static bool ep_silent_too_long(struct te_worker *w, struct te_ep *ep)
{
	unsigned long until;

	ep->silent = ep_patience(w, ep, &until) &&
		     time_after_eq(jiffies, until);
	if (!ep->silent)
		te_worker_watch(w, ep);
	return ep->silent;
}

static bool ep_connects_too_long(struct te_worker *w, struct te_ep *ep)
{
	if (te_ep_state(ep) != TE_EP_CONNECTING)
		return false;
	if (time_after_eq(jiffies, ep->connect_by))
		return true;
	te_worker_look_at(w, ep->connect_by);
	return false;
}

/*
 * Something could go wrong with it. What has no work may find its address back, and
 * nobody need be told anything: soft-RoCE's GSI QP does not survive that without.
 */
static bool ep_is_used(const struct te_ep *ep)
{
	return ep->inflight || te_ep_state(ep) == TE_EP_CONNECTING;
}

static void look_at_live(struct te_worker *w, struct te_ep *ep)
{
	if (test_bit(TE_WORKER_STOP, &w->flags))
		ep_retire(w, ep, -ENODEV);
	else if (te_peer_error(ep->peer))
		ep_retire(w, ep, te_peer_error(ep->peer));
	else if (w->no_link)
		ep_retire(w, ep, -ENETDOWN);
	else if (READ_ONCE(ep->event_error))
		ep_retire_failed(w, ep, ep->event_error);
	else if (ep->evicted)
		ep_retire(w, ep, -ECONNRESET);
	else if (te_ep_moved(ep) && ep_is_used(ep))
		ep_retire(w, ep, -EADDRNOTAVAIL);
	else if (ep_connects_too_long(w, ep) || ep_silent_too_long(w, ep))
		ep_retire_failed(w, ep, -ETIMEDOUT);
	else if (ep_stuck_too_long(w, ep))
		ep_retire(w, ep, -ECANCELED);
	else if (ep_idle_too_long(w, ep))
		ep_retire(w, ep, -ECONNRESET);
	else if (te_ep_state(ep) == TE_EP_READY && !ep->inflight &&
		 (ep->rail->ep != ep || !ep->rail->open))
		te_worker_ep_idle(w, ep);
}

void te_worker_look(struct te_worker *w)
{
	struct te_ep *ep, *next;

	w->waits = false;
	w->watches = false;
	/* First: it says whether there is a link. */
	te_rail_look(w);
	list_for_each_entry_safe(ep, next, &w->eps, link) {
		switch (te_ep_state(ep)) {
		case TE_EP_CONNECTING:
		case TE_EP_READY:
			look_at_live(w, ep);
			break;
		case TE_EP_FAILED:
			ep_retire_failed(w, ep, ep->error);
			break;
		default:
			break;
		}
	}
}

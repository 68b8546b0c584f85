// SPDX-License-Identifier: GPL-2.0-only
/*
 * worker/eps: a mover's endpoints: making them, watching them, ending them.
 *
 * Runs in the mover's thread only. The mover holds one reference of each of its
 * endpoints, from ep_create() until it has reaped the dead one. When an endpoint
 * goes its tasks get another one, or fail with its error when it never was
 * READY.
 */
#include <linux/err.h>
#include <linux/jiffies.h>

#include "fault/fault.h"
#include "worker/internal.h"

/*
 * How long slices of a task that must end may finish by themselves before the
 * endpoint, which other tasks use too, is taken down to make them quiet.
 */
#define TE_GRACE	msecs_to_jiffies(200)

static void ep_drop_tasks(struct te_worker *w, struct te_ep *ep)
{
	struct te_task *task, *next;
	u32 i;

	list_del_init(&ep->active_link);
	for (i = 0; i < TE_NR_FLOWS; i++) {
		list_for_each_entry_safe(task, next, &ep->flows[i], link) {
			te_ep_dequeue(ep, task);
			if (ep->was_ready)
				list_add_tail(&task->link, &w->requeue);
			else
				te_task_fail(task, ep->error);
		}
	}
}

/* First step of its death: nobody finds it, nothing new is posted on it. */
static void ep_retire(struct te_worker *w, struct te_ep *ep, int error)
{
	te_ep_store_remove(&w->set->store, ep);
	te_ep_fail(ep, error);
	te_ep_set_state(ep, TE_EP_DRAINING);
	ep_drop_tasks(w, ep);
	if (!ep->inflight)
		complete(&ep->quiet);
	worker_ops(w)->ep_close(ep);
}

static struct te_ep *ep_make(struct te_worker *w, struct te_task *task)
{
	struct te_rdev rdev;
	struct te_ep *ep;
	int ret;

	if (!te_seg_find_dev(task->seg, task->rdev, &rdev))
		return ERR_PTR(-ENXIO);
	/* Only a hint, so that starved tasks cost nothing. */
	if (!te_ep_store_has_room(&w->set->store))
		return ERR_PTR(-EBUSY);
	ep = worker_ops(w)->ep_create(&w->mover, task->seg->peer, &rdev);
	if (IS_ERR(ep))
		return ep;
	ret = te_ep_store_insert(&w->set->store, ep);
	if (ret) {
		te_ep_put(ep);
		return ERR_PTR(ret);
	}
	list_add(&ep->link, &w->eps);
	te_ep_set_state(ep, TE_EP_CONNECTING);
	worker_ops(w)->ep_connect(ep);
	return ep;
}

static struct te_ep *ep_find(struct te_worker *w, struct te_task *task)
{
	struct te_ep *ep;
	enum te_ep_state state;

	ep = te_ep_store_lookup(&w->set->store, task->seg->peer->id,
				task->rdev);
	if (!ep)
		return NULL;
	te_delay(TE_DELAY_EP_FOUND);
	state = te_ep_state(ep);
	/* A busy one is not evicted. */
	if ((state == TE_EP_CONNECTING || state == TE_EP_READY) &&
	    (ep->busy || te_ep_store_set_busy(&w->set->store, ep, true)))
		return ep;
	/* Failed or evicted, and not looked at yet. */
	ep_retire(w, ep, -ECONNRESET);
	return NULL;
}

void te_worker_attach(struct te_worker *w, struct te_task *task)
{
	struct te_peer *peer = task->seg->peer;
	struct te_ep *ep;

	if (test_bit(TE_WORKER_STOP, &w->flags)) {
		te_task_fail(task, -ENODEV);
		return;
	}
	if (te_peer_error(peer)) {
		te_task_fail(task, te_peer_error(peer));
		return;
	}
	if (te_task_doomed(task)) {
		te_task_unqueue(task);
		return;
	}

	ep = ep_find(w, task);
	if (!ep) {
		ep = ep_make(w, task);
		if (ep == ERR_PTR(-EBUSY)) {
			list_add_tail(&task->link, &w->starved);
			return;
		}
		if (IS_ERR(ep)) {
			te_task_fail(task, PTR_ERR(ep));
			return;
		}
	}
	if (list_empty(&ep->active_link))
		list_add_tail(&ep->active_link, &w->active);
	te_ep_enqueue(ep, task);
}

void te_worker_ep_idle(struct te_worker *w, struct te_ep *ep)
{
	if (te_ep_state(ep) == TE_EP_DRAINING)
		complete(&ep->quiet);
	else if (!ep->nr_queued)
		te_ep_store_set_busy(&w->set->store, ep, false);
}

static void ep_end_doomed(struct te_worker *w, struct te_ep *ep)
{
	struct te_task *task, *next;
	u32 i;

	for (i = 0; i < TE_NR_FLOWS; i++) {
		list_for_each_entry_safe(task, next, &ep->flows[i], link) {
			if (te_task_doomed(task)) {
				te_ep_dequeue(ep, task);
				te_task_unqueue(task);
			}
		}
	}
	if (!ep->nr_queued) {
		list_del_init(&ep->active_link);
		if (!ep->inflight)
			te_worker_ep_idle(w, ep);
	}
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
	w->stuck = true;
	return time_after(jiffies, ep->stuck_since + TE_GRACE);
}

static void look_at_live(struct te_worker *w, struct te_ep *ep)
{
	if (test_bit(TE_WORKER_STOP, &w->flags))
		ep_retire(w, ep, -ENODEV);
	else if (te_peer_error(ep->peer))
		ep_retire(w, ep, te_peer_error(ep->peer));
	else if (READ_ONCE(ep->event_error))
		ep_retire(w, ep, ep->event_error);
	else if (ep->evicted)
		ep_retire(w, ep, -ECONNRESET);
	else if (ep_stuck_too_long(w, ep))
		ep_retire(w, ep, -ECANCELED);
	else
		ep_end_doomed(w, ep);
}

static void look_at_starved(struct te_worker *w)
{
	list_splice_tail_init(&w->starved, &w->requeue);
}

void te_worker_look(struct te_worker *w)
{
	struct te_ep *ep, *next;

	w->stuck = false;
	w->look_at = jiffies + TE_RETRY;
	list_for_each_entry_safe(ep, next, &w->eps, link) {
		switch (te_ep_state(ep)) {
		case TE_EP_CONNECTING:
		case TE_EP_READY:
			look_at_live(w, ep);
			break;
		case TE_EP_FAILED:
			ep_retire(w, ep, ep->error);
			break;
		default:
			break;
		}
	}
	look_at_starved(w);
}

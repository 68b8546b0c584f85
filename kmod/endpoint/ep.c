// SPDX-License-Identifier: GPL-2.0-only
/*
 * endpoint/ep: states of an endpoint. See endpoint.h for the life of one.
 */
#include <linux/mm.h>

#include "endpoint/endpoint.h"
#include "event/count.h"

/* Legal moves: te_ep_moves[from] has the bit of each state it may go to. */
static const u8 te_ep_moves[TE_EP_NR_STATES] = {
	[TE_EP_NEW]		= BIT(TE_EP_CONNECTING),
	[TE_EP_CONNECTING]	= BIT(TE_EP_READY) | BIT(TE_EP_FAILED),
	[TE_EP_READY]		= BIT(TE_EP_DRAINING) | BIT(TE_EP_FAILED),
	[TE_EP_FAILED]		= BIT(TE_EP_DRAINING),
	[TE_EP_DRAINING]	= BIT(TE_EP_DEAD),
};

void te_ep_init(struct te_ep *ep, struct te_mover *mover, struct te_peer *peer,
		const struct te_rdev *rdev)
{
	kref_init(&ep->ref);
	ep->key.peer_id = peer->id;
	ep->key.dev_id = rdev->dev_id;
	te_dev_get(mover->dev);
	ep->dev = mover->dev;
	ep->moves = READ_ONCE(ep->dev->moves);
	ep->mover = mover;
	te_peer_get(peer);
	ep->peer = peer;
	ep->rdev = *rdev;
	init_completion(&ep->quiet);
	spin_lock_init(&ep->lock);
	INIT_LIST_HEAD(&ep->store_link);
	INIT_LIST_HEAD(&ep->link);
	te_count(TE_NR_ENDPOINTS, 1);
}

void te_ep_get(struct te_ep *ep)
{
	kref_get(&ep->ref);
}

static void ep_release(struct kref *ref)
{
	struct te_ep *ep = container_of(ref, struct te_ep, ref);
	struct te_mover *mover = ep->mover;
	struct te_dev *dev = ep->dev;

	te_peer_put(ep->peer);
	te_count(TE_NR_ENDPOINTS, -1);
	dev->ops->ep_free(ep);
	/* It may have stopped, but is there as long as its dev is. */
	mover->gone(mover);
	te_dev_put(dev);
}

void te_ep_put(struct te_ep *ep)
{
	kref_put(&ep->ref, ep_release);
}

static bool ep_move(struct te_ep *ep, enum te_ep_state to, int error)
{
	bool legal;

	spin_lock(&ep->lock);
	legal = te_ep_moves[ep->state] & BIT(to);
	if (legal) {
		if (error)
			ep->error = error;
		if (to == TE_EP_READY)
			ep->was_ready = true;
		WRITE_ONCE(ep->state, to);
	}
	spin_unlock(&ep->lock);

	if (legal)
		ep->mover->look(ep->mover);
	return legal;
}

bool te_ep_set_state(struct te_ep *ep, enum te_ep_state to)
{
	return ep_move(ep, to, 0);
}

bool te_ep_fail(struct te_ep *ep, int error)
{
	return ep_move(ep, TE_EP_FAILED, error);
}

void te_ep_event(struct te_ep *ep, int error)
{
	WRITE_ONCE(ep->event_error, error);
	ep->mover->look(ep->mover);
}

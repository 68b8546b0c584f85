// SPDX-License-Identifier: GPL-2.0-only
/*
 * local: copies within the node, as a te_dev.
 *
 * A segment of our own is opened over a session with ourselves, as any other; the
 * token of that session finds its answering side here, and with it what it has
 * open. Each slice is checked against that and copied by the mover as it is
 * posted: there is nothing on the way, ever. The target's region is held for the
 * copy only.
 */
#include <linux/bvec.h>
#include <linux/err.h>
#include <linux/highmem.h>
#include <linux/slab.h>

#include "endpoint/endpoint.h"
#include "local/local.h"
#include "wire/lane.h"
#include "wire/wire.h"
#include "xport/xport.h"

/* Slices copied before the mover looks at something else. */
#define TE_LOCAL_ROOM		16U
/* Entries for a slice with its tail, at any offset in its first page. */
#define TE_LOCAL_BVECS		(TE_WIRE_LANE_MAX / SZ_4K + 1)

/**
 * struct te_local_ep - an endpoint
 * @ep: generic part
 * @owner: answering side of the session with ourselves; holds a reference
 * @rcu: frees it
 */
struct te_local_ep {
	struct te_ep ep;
	struct te_peer *owner;
	struct rcu_head rcu;
};

/**
 * struct te_local_mover - scratch of a mover
 * @here: pages of the task
 * @there: pages of the segment
 */
struct te_local_mover {
	struct bio_vec here[TE_LOCAL_BVECS];
	struct bio_vec there[TE_LOCAL_BVECS];
};

static struct te_dev *te_local_dev;

static struct te_local_ep *to_local_ep(struct te_ep *ep)
{
	return container_of(ep, struct te_local_ep, ep);
}

static int local_mover_start(struct te_mover *mover)
{
	struct te_local_mover *lm = kzalloc(sizeof(*lm), GFP_KERNEL);

	mover->xp = lm;
	return lm ? 0 : -ENOMEM;
}

static void local_mover_stop(struct te_mover *mover)
{
	kfree(mover->xp);
}

static struct te_ep *local_ep_create(struct te_mover *mover,
				     struct te_peer *peer,
				     const struct te_rdev *rdev)
{
	struct te_local_ep *lep;

	lep = kzalloc(sizeof(*lep), GFP_NOIO);
	if (!lep)
		return ERR_PTR(-ENOMEM);
	te_ep_init(&lep->ep, mover, peer, rdev);
	return &lep->ep;
}

static void local_ep_free(struct te_ep *ep)
{
	struct te_local_ep *lep = to_local_ep(ep);

	if (lep->owner)
		te_peer_put(lep->owner);
	/* Lookups in the store may still walk over it. */
	kfree_rcu(lep, rcu);
}

static void local_ep_connect(struct te_ep *ep)
{
	struct te_local_ep *lep = to_local_ep(ep);

	lep->owner = te_peer_find(ep->peer->token);
	if (lep->owner)
		te_ep_set_state(ep, TE_EP_READY);
	else
		te_ep_fail(ep, -ECONNRESET);
}

/* Nothing is ever on the way: no need to wait for anything, here or below. */
static void local_ep_close(struct te_ep *ep)
{
	te_ep_set_state(ep, TE_EP_DEAD);
}

static void local_ep_reap(struct te_ep *ep, struct list_head *finished)
{
}

static const struct te_slice *local_ep_stuck(struct te_ep *ep)
{
	return NULL;
}

static u32 local_ep_room(struct te_ep *ep)
{
	return TE_LOCAL_ROOM;
}

static void copy_bvecs(const struct bio_vec *to, const struct bio_vec *from,
		       u32 len)
{
	u32 to_off = 0, from_off = 0, step;

	while (len) {
		u32 t = to->bv_offset + to_off, f = from->bv_offset + from_off;

		step = min3(len, to->bv_len - to_off, from->bv_len - from_off);
		step = min3(step, (u32)(PAGE_SIZE - offset_in_page(t)),
			    (u32)(PAGE_SIZE - offset_in_page(f)));
		memcpy_page(nth_page(to->bv_page, t >> PAGE_SHIFT),
			    offset_in_page(t),
			    nth_page(from->bv_page, f >> PAGE_SHIFT),
			    offset_in_page(f), step);
		to_off += step;
		from_off += step;
		len -= step;
		if (to_off == to->bv_len) {
			to++;
			to_off = 0;
		}
		if (from_off == from->bv_len) {
			from++;
			from_off = 0;
		}
	}
}

/* Return: 0, -EREMOTEIO: the owner does not let us. */
static int local_copy(struct te_local_ep *lep, const struct te_slice *slice)
{
	struct te_local_mover *lm = lep->ep.mover->xp;
	bool reads = slice->task->op == TE_READ;
	struct te_space *space;
	struct te_mr *mr;
	u32 bytes;

	space = te_space_granted(lep->owner, slice->task->seg->handle);
	if (!space)
		return -EREMOTEIO;
	mr = te_mr_find_remote(space, slice->rmr_id,
			       reads ? TE_REMOTE_READ : TE_REMOTE_WRITE,
			       slice->raddr, slice->len);
	te_space_put(space);
	if (IS_ERR(mr))
		return -EREMOTEIO;
	te_mr_bvecs(mr, slice->raddr - mr->base, slice->len, lm->there,
		    TE_LOCAL_BVECS, &bytes);
	te_slice_bvecs(slice, 0, lm->here, TE_LOCAL_BVECS, &bytes);
	if (reads)
		copy_bvecs(lm->here, lm->there, bytes);
	else
		copy_bvecs(lm->there, lm->here, bytes);
	te_mr_put_remote(mr);
	return 0;
}

static void local_post(struct te_ep *ep, struct list_head *slices,
		       struct list_head *finished)
{
	struct te_slice *slice, *next;

	list_for_each_entry_safe(slice, next, slices, link) {
		slice->error = local_copy(to_local_ep(ep), slice);
		slice->alone = slice->error;
		list_move_tail(&slice->link, finished);
		cond_resched();
	}
}

static u32 local_poll(struct te_mover *mover, struct list_head *finished)
{
	return 0;
}

static bool local_arm(struct te_mover *mover)
{
	return false;
}

static const struct te_transport_ops te_local_ops = {
	.transport	= TE_LOCAL,
	.name		= "local",
	.mr_map		= te_soft_mr_map,
	.mover_start	= local_mover_start,
	.mover_stop	= local_mover_stop,
	.ep_create	= local_ep_create,
	.ep_free	= local_ep_free,
	.ep_connect	= local_ep_connect,
	.ep_close	= local_ep_close,
	.ep_reap	= local_ep_reap,
	.ep_stuck	= local_ep_stuck,
	.ep_room	= local_ep_room,
	.post		= local_post,
	.poll		= local_poll,
	.arm		= local_arm,
};

int te_local_init(void)
{
	te_local_dev = te_dev_add_soft(&te_local_ops, 0);
	return PTR_ERR_OR_ZERO(te_local_dev);
}

void te_local_exit(void)
{
	te_dev_del_soft(te_local_dev);
}

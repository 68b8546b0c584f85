// SPDX-License-Identifier: GPL-2.0-only
/*
 * rdma/post: slices become work requests, one chain and one doorbell at a time.
 *
 * Mover's thread only. A chain goes to the QP with the most room, so that large
 * work spreads over an endpoint's QPs.
 *
 * On iWARP the last of a chain is a READ, as proof of what comes before, see
 * proof.c: of the last slice, or else of the peer's word.
 */
#include "rdma/rdma.h"

static struct te_rdma_qp *roomiest(struct te_rdma_ep *rep)
{
	struct te_rdma_qp *best = &rep->qp[0];
	u32 i;

	for (i = 1; i < rep->nr_qps; i++) {
		if (rep->qp[i].room > best->room)
			best = &rep->qp[i];
	}
	return best;
}

u32 te_rdma_ep_room(struct te_ep *ep)
{
	struct te_rdma_mover *rm = ep->mover->xp;
	u32 room = min(roomiest(to_rdma_ep(ep))->room, rm->room);

	/* The last quarter of the completions is for endpoints with little. */
	if (rm->room < rm->depth / 4 && ep->inflight > 4 * TE_RDMA_CHAIN)
		return 0;
	/* A proof needs room too. */
	if (to_rdma_dev(ep->dev)->iwarp && room)
		room--;
	return min(room, TE_RDMA_CHAIN);
}

const struct te_slice *te_rdma_ep_stuck(struct te_ep *ep)
{
	struct te_rdma_ep *rep = to_rdma_ep(ep);
	struct te_slice *slice;
	u32 i;

	for (i = 0; i < rep->nr_qps; i++) {
		list_for_each_entry(slice, &rep->qp[i].posted, link) {
			if (te_task_doomed(slice->task))
				return slice;
		}
	}
	return NULL;
}

bool te_rdma_ep_patience(struct te_ep *ep, unsigned long *until)
{
	struct te_rdma_ep *rep = to_rdma_ep(ep);
	bool waits = false;
	u32 i;

	for (i = 0; i < rep->nr_qps; i++) {
		struct te_rdma_qp *qp = &rep->qp[i];
		unsigned long end = qp->heard + rep->patience;

		if (list_empty(&qp->posted))
			continue;
		if (!waits || time_before(end, *until))
			*until = end;
		waits = true;
	}
	return waits;
}

/* Work request @i of a chain: READ or WRITE of @len bytes. */
static void fill_wr(struct te_rdma_qp *qp, u32 i, enum ib_wr_opcode opcode,
		    u32 len, u64 laddr, u32 lkey, u64 raddr, u32 rkey)
{
	struct te_rdma_mover *rm = qp->ep->ep.mover->xp;
	struct ib_rdma_wr *wr = &rm->wr[i];
	struct ib_sge *sge = &rm->sge[i];

	sge->addr = laddr;
	sge->length = len;
	sge->lkey = lkey;

	wr->wr.next = NULL;
	wr->wr.wr_id = (u64)qp->nr << 32 | (u32)(qp->sent + 1 + i);
	wr->wr.sg_list = sge;
	wr->wr.num_sge = 1;
	wr->wr.opcode = opcode;
	wr->wr.send_flags = 0;
	wr->remote_addr = raddr;
	wr->rkey = rkey;
	if (i)
		rm->wr[i - 1].wr.next = &wr->wr;
}

static void fill_slice(struct te_rdma_qp *qp, u32 i, struct te_slice *slice)
{
	slice->seq = qp->sent + 1 + i;
	fill_wr(qp, i, slice->task->op == TE_READ ? IB_WR_RDMA_READ :
						    IB_WR_RDMA_WRITE,
		slice->len, slice->laddr, slice->lkey, slice->raddr,
		slice->rkey);
}

static void fill_proof(struct te_rdma_qp *qp, u32 i)
{
	struct te_rdma_dev *rdev = to_rdma_dev(qp->ep->ep.dev);

	fill_wr(qp, i, IB_WR_RDMA_READ, TE_RDMA_PROOF_BYTES, 0,
		rdev->proof.mr->lkey, 0, qp->proof_key);
}

int te_rdma_post_send(struct ib_qp *qp, const struct ib_send_wr *first,
		      const struct ib_send_wr **bad)
{
	return te_fault(TE_FAULT_POST) ?: ib_post_send(qp, first, bad);
}

/* A test wants it: see te_rdma_qp_fatal(). */
static void posted_fatal(struct ib_qp *qp)
{
	struct ib_event event = {
		.device	= qp->device,
		.event	= IB_EVENT_DEVICE_FATAL,
	};

	te_rdma_qp_fatal(qp, TE_FAULT_QP_FATAL);
	if (te_fault(TE_FAULT_DEVICE_FATAL))
		ib_dispatch_event(&event);
}

/* Return: how many work requests. */
static u32 fill_chain(struct te_rdma_qp *qp, struct list_head *slices)
{
	struct te_rdma_mover *rm = qp->ep->ep.mover->xp;
	struct te_slice *slice;
	u32 n = 0;

	list_for_each_entry(slice, slices, link)
		fill_slice(qp, n++, slice);
	if (to_rdma_dev(qp->ep->ep.dev)->iwarp &&
	    rm->wr[n - 1].wr.opcode != IB_WR_RDMA_READ)
		fill_proof(qp, n++);
	rm->wr[n - 1].wr.send_flags = IB_SEND_SIGNALED;
	return n;
}

void te_rdma_post(struct te_ep *ep, struct list_head *slices,
		  struct list_head *finished)
{
	struct te_rdma_mover *rm = ep->mover->xp;
	struct te_rdma_qp *qp = roomiest(to_rdma_ep(ep));
	const struct ib_send_wr *bad = NULL;
	struct te_slice *slice, *next;
	u32 n = fill_chain(qp, slices);
	int error = 0, ret;

	ret = te_rdma_post_send(qp->id->qp, &rm->wr[0].wr, &bad);
	if (ret) {
		error = ret == -ENOMEM ? ret : -EIO;
		te_ep_fail(ep, error);
		n = bad ? lower_32_bits(bad->wr_id) - qp->sent - 1 : 0;
	}
	if (list_empty(&qp->posted))
		qp->heard = jiffies;
	qp->sent += n;
	qp->room -= n;
	rm->room -= n;

	list_for_each_entry_safe(slice, next, slices, link) {
		if ((s32)(slice->seq - qp->sent) > 0) {
			/* One was refused, those behind it were not tried. */
			slice->error = error;
			slice->flushed = !error;
			error = 0;
			list_move_tail(&slice->link, finished);
			continue;
		}
		list_move_tail(&slice->link, &qp->posted);
	}
	posted_fatal(qp->id->qp);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * rdma/post: slices become work requests, one chain and one doorbell at a time.
 *
 * Mover's thread only. A chain goes to the QP with the most room, so that large
 * work spreads over an endpoint's QPs.
 */
#include "fault/fault.h"
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
	u32 share = to_rdma_dev(ep->dev)->cq_depth / 4;

	/* The last quarter of the completions is for endpoints with little. */
	if (rm->room < share && ep->inflight > 4 * TE_RDMA_CHAIN)
		return 0;
	return min3(roomiest(to_rdma_ep(ep))->room, rm->room, TE_RDMA_CHAIN);
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

static void fill_wr(struct te_rdma_mover *rm, u32 i, struct te_slice *slice)
{
	struct ib_rdma_wr *wr = &rm->wr[i];
	struct ib_sge *sge = &rm->sge[i];

	sge->addr = slice->laddr;
	sge->length = slice->len;
	sge->lkey = slice->lkey;

	wr->wr.next = NULL;
	wr->wr.wr_id = (uintptr_t)slice;
	wr->wr.sg_list = sge;
	wr->wr.num_sge = 1;
	wr->wr.opcode = slice->task->op == TE_READ ? IB_WR_RDMA_READ :
						     IB_WR_RDMA_WRITE;
	wr->wr.send_flags = 0;
	wr->remote_addr = slice->raddr;
	wr->rkey = slice->rkey;
	if (i)
		rm->wr[i - 1].wr.next = &wr->wr;
}

int te_rdma_post_send(struct ib_qp *qp, const struct ib_send_wr *first,
		      const struct ib_send_wr **bad)
{
	return te_fault(TE_FAULT_POST) ?: ib_post_send(qp, first, bad);
}

void te_rdma_post(struct te_ep *ep, struct list_head *slices,
		  struct list_head *finished)
{
	struct te_rdma_mover *rm = ep->mover->xp;
	struct te_rdma_qp *qp = roomiest(to_rdma_ep(ep));
	const struct ib_send_wr *bad = NULL;
	struct te_slice *slice, *next;
	bool refused = false;
	u32 n = 0;
	int ret;

	list_for_each_entry(slice, slices, link) {
		slice->conn = qp;
		fill_wr(rm, n++, slice);
	}
	rm->wr[n - 1].wr.send_flags = IB_SEND_SIGNALED;

	ret = te_rdma_post_send(qp->id->qp, &rm->wr[0].wr, &bad);
	if (ret)
		te_ep_fail(ep, ret == -ENOMEM ? ret : -EIO);

	list_for_each_entry_safe(slice, next, slices, link) {
		if (ret && bad && bad->wr_id == (uintptr_t)slice)
			refused = true;
		if (refused || (ret && !bad)) {
			slice->flushed = true;
			list_move_tail(&slice->link, finished);
			continue;
		}
		qp->room--;
		rm->room--;
		list_move_tail(&slice->link, &qp->posted);
	}
}

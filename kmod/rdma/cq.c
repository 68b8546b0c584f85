// SPDX-License-Identifier: GPL-2.0-only
/*
 * rdma/cq: completions of a mover's endpoints.
 *
 * Only the last work request of each chain is signalled. A QP completes in
 * order, so a success tells of all that were posted before it. An error tells
 * nothing of them: they are sent again, which READ and WRITE allow.
 *
 * A completion names its work request by QP and number, not by pointer: not each
 * has a slice (see post.c), and a device may flush late what another error has
 * ended already.
 *
 * The handler runs in any context and only kicks the mover.
 */
#include <linux/slab.h>

#include "rdma/rdma.h"

static void cq_event(struct ib_cq *cq, void *context)
{
	struct te_mover *mover = context;

	mover->kick(mover);
}

static struct ib_cq *create_cq(struct ib_device *ib, struct te_mover *mover,
			       const struct ib_cq_init_attr *attr)
{
	int ret = te_fault(TE_FAULT_CREATE_CQ);

	if (ret)
		return ERR_PTR(ret);
	return ib_create_cq(ib, cq_event, NULL, mover, attr);
}

/* As large as the device gives one; @depth says how large. */
static struct ib_cq *make_cq(struct te_rdma_dev *rdev, struct te_mover *mover,
			     u32 *depth)
{
	struct ib_cq_init_attr attr = {
		.cqe		= rdev->cq_depth,
		.comp_vector	= mover->index % rdev->ib->num_comp_vectors,
	};
	u32 least = min(rdev->cq_depth, TE_RDMA_CQ_LEAST);
	struct ib_cq *cq;

	for (;; attr.cqe = max(attr.cqe / 2, least)) {
		cq = create_cq(rdev->ib, mover, &attr);
		if (!IS_ERR(cq) || attr.cqe == least ||
		    !te_rdma_too_much(PTR_ERR(cq)))
			break;
	}
	*depth = attr.cqe;
	return cq;
}

/* A dev's movers start one after the other. */
int te_rdma_mover_start(struct te_mover *mover)
{
	struct te_rdma_dev *rdev = to_rdma_dev(mover->dev);
	struct te_rdma_mover *rm;
	struct ib_cq *cq;
	u32 depth;

	rm = kzalloc(sizeof(*rm), GFP_KERNEL);
	if (!rm)
		return -ENOMEM;
	cq = make_cq(rdev, mover, &depth);
	if (IS_ERR(cq)) {
		kfree(rm);
		return PTR_ERR(cq);
	}
	if (depth < rdev->cq_depth)
		pr_info("te: %s: CQs of %u completions, more are refused\n",
			rdev->dev.name, depth);
	/* The next mover need not ask for more. */
	rdev->cq_depth = depth;
	rm->cq = cq;
	rm->depth = depth;
	rm->room = depth;
	xa_init_flags(&rm->qps, XA_FLAGS_ALLOC1);
	mover->xp = rm;
	return 0;
}

void te_rdma_mover_stop(struct te_mover *mover)
{
	struct te_rdma_mover *rm = mover->xp;

	ib_destroy_cq(rm->cq);
	xa_destroy(&rm->qps);
	kfree(rm);
	mover->xp = NULL;
}

static int wc_errno(enum ib_wc_status status)
{
	switch (status) {
	case IB_WC_RETRY_EXC_ERR:
	case IB_WC_RNR_RETRY_EXC_ERR:
	case IB_WC_RESP_TIMEOUT_ERR:
		return -ETIMEDOUT;
	case IB_WC_REM_ACCESS_ERR:
		return -EREMOTEIO;
	/*
	 * IB_WC_REM_INV_REQ_ERR and others say that a connection is in disorder:
	 * soft-RoCE's may be when packets are lost. What te asks for is valid.
	 */
	default:
		return -EIO;
	}
}

static void slice_log(const struct te_slice *slice, enum ib_wc_status status)
{
	pr_info_ratelimited("te: %s: %s to %pI6c: %s\n", slice->ep->dev->name,
			    slice->task->op == TE_READ ? "READ" : "WRITE",
			    &slice->ep->rdev.addr, ib_wc_status_msg(status));
}

/*
 * Where no completion tells what was wrong the oldest slice is taken for it, so
 * that it is tried no more often than one that failed. A QP that hangs tells
 * nothing; no completion of iWARP says that the peer has refused something: it
 * ends the connection, and all is flushed, if it was not te that ended it.
 * Return: -errno, or 0: another one, or nothing, was to blame.
 */
static int flush_cause(struct te_rdma_qp *qp)
{
	struct te_rdma_ep *rep = qp->ep;

	if (rep->blamed)
		return 0;
	if (rep->ep.silent &&
	    time_after_eq(jiffies, qp->heard + rep->patience)) {
		rep->blamed = true;
		return -ETIMEDOUT;
	}
	if (!to_rdma_dev(rep->ep.dev)->iwarp)
		return 0;
	/* Who told us first, the flush or the connection manager, is chance. */
	rep->blamed = te_ep_fail(&rep->ep, -ECONNRESET) ||
		      READ_ONCE(rep->ep.error) == -ECONNRESET;
	return rep->blamed ? -ECONNRESET : 0;
}

/* Work requests up to number @seq have ended, that one with @status. */
static void qp_done(struct te_rdma_mover *rm, struct te_rdma_qp *qp, u32 seq,
		    enum ib_wc_status status, struct list_head *finished)
{
	bool flushed = status == IB_WC_WR_FLUSH_ERR;
	struct te_slice *slice, *next;
	u32 n = seq - qp->done;
	int cause = 0;

	if ((s32)n <= 0)
		return;
	if (flushed && !list_empty(&qp->posted))
		cause = flush_cause(qp);
	qp->heard = jiffies;
	qp->done = seq;
	qp->room += n;
	rm->room += n;
	list_for_each_entry_safe(slice, next, &qp->posted, link) {
		if ((s32)(slice->seq - seq) > 0)
			break;
		if (cause)
			slice->error = cause;
		else if (slice->seq != seq || flushed)
			slice->flushed = status != IB_WC_SUCCESS;
		else if (status != IB_WC_SUCCESS)
			slice->error = wc_errno(status);
		if (slice->error)
			slice_log(slice, status);
		cause = 0;
		list_move_tail(&slice->link, finished);
	}
}

static void wc_done(struct te_rdma_mover *rm, const struct ib_wc *wc,
		    struct list_head *finished)
{
	struct te_rdma_qp *qp = xa_load(&rm->qps, wc->wr_id >> 32);
	enum ib_wc_status status = wc->status;

	if (!qp || te_fault(TE_FAULT_COMPLETION))
		return;
	if (te_fault(TE_FAULT_INVALID_REQUEST))
		status = IB_WC_REM_INV_REQ_ERR;
	qp_done(rm, qp, lower_32_bits(wc->wr_id), status, finished);
}

u32 te_rdma_poll(struct te_mover *mover, struct list_head *finished)
{
	struct te_rdma_mover *rm = mover->xp;
	int n, i;

	n = ib_poll_cq(rm->cq, ARRAY_SIZE(rm->wc), rm->wc);
	for (i = 0; i < n; i++)
		wc_done(rm, &rm->wc[i], finished);
	return max(n, 0);
}

bool te_rdma_arm(struct te_mover *mover)
{
	struct te_rdma_mover *rm = mover->xp;

	return ib_req_notify_cq(rm->cq, IB_CQ_NEXT_COMP |
					IB_CQ_REPORT_MISSED_EVENTS) > 0;
}

/* Its QPs are destroyed: what is posted still will never complete. */
void te_rdma_ep_reap(struct te_ep *ep, struct list_head *finished)
{
	struct te_rdma_ep *rep = to_rdma_ep(ep);
	struct te_rdma_mover *rm = ep->mover->xp;
	u32 i;

	for (i = 0; i < rep->nr_qps; i++) {
		struct te_rdma_qp *qp = &rep->qp[i];

		qp_done(rm, qp, qp->sent, IB_WC_WR_FLUSH_ERR, finished);
		xa_erase(&rm->qps, qp->nr);
	}
}

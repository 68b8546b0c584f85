// SPDX-License-Identifier: GPL-2.0-only
/*
 * rdma/ep: the asking side: an endpoint's QPs, from connecting to the end.
 *
 * The mover starts and ends an endpoint; both are work items, as making and
 * destroying connections waits. Connection events move it on: address, route,
 * QP made and connect sent, established. It is READY when all its QPs are.
 *
 * Closing takes the QPs to error, waits until the mover has seen everything
 * flushed, and destroys them; a device that never flushes is not waited for
 * longer than TE_RDMA_DRAIN_MS: with the QP gone it cannot touch memory either.
 */
#include <linux/slab.h>

#include "rdma/rdma.h"
#include "wire/conn.h"

unsigned int te_rdma_num_qp = 2;
unsigned int te_rdma_qp_timeout = 14;

static void ep_qp_event(struct ib_event *event, void *context)
{
	struct te_rdma_qp *qp = context;

	if (event->event == IB_EVENT_QP_FATAL ||
	    event->event == IB_EVENT_QP_ACCESS_ERR ||
	    event->event == IB_EVENT_QP_REQ_ERR)
		te_ep_event(&qp->ep->ep, -EIO);
}

/* rdma_cm looks at our port alone: what is longer the peer's would drop. */
static void qp_fit_mtu(struct te_rdma_qp *qp)
{
	struct sa_path_rec *path = qp->id->route.path_rec;
	u8 mtu = qp->ep->ep.rdev.mtu;

	if (mtu && !to_rdma_dev(qp->ep->ep.dev)->iwarp)
		path->mtu = min(path->mtu, mtu);
}

static int qp_connect(struct te_rdma_qp *qp)
{
	struct te_rdma_ep *rep = qp->ep;
	struct te_rdma_dev *rdev = to_rdma_dev(rep->ep.dev);
	struct te_rdma_mover *rm = rep->ep.mover->xp;
	struct te_msg_conn_hello msg = {
		.kind		= TE_WIRE_CONN_DATA,
		.token		= rep->ep.peer->token,
		.boot_gen	= te_node.boot_gen,
		.dev_id		= rdev->dev.id,
		.qp_index	= qp->index,
		.nr_qps		= rep->nr_qps,
	};
	struct te_wire_conn_hello hello;
	struct rdma_conn_param param = {
		.private_data		= &hello,
		.private_data_len	= sizeof(hello),
		.responder_resources	= 1,
		.initiator_depth	= rdev->read_out,
		.retry_count		= TE_RDMA_QP_RETRY,
		.rnr_retry_count	= TE_RDMA_RNR_RETRY,
	};
	u32 depth = rdev->sq_depth;
	int ret = -ECANCELED;

	mutex_lock(&rep->lock);
	if (!rep->closing)
		ret = te_rdma_make_qp(rdev, qp->id, rm->cq, &depth, ep_qp_event,
				      qp);
	mutex_unlock(&rep->lock);
	if (ret)
		return ret;
	qp->room = depth;
	te_delay(TE_DELAY_EP_CONNECT);
	te_wire_conn_hello_encode(&hello, &msg);
	qp_fit_mtu(qp);
	return rdma_connect_locked(qp->id, &param);
}

static int qp_established(struct te_rdma_qp *qp, struct rdma_cm_event *event)
{
	struct te_rdma_ep *rep = qp->ep;
	struct te_msg_conn_reply reply;
	bool all;

	if (te_wire_conn_reply_decode(event->param.conn.private_data,
				      event->param.conn.private_data_len,
				      &reply) ||
	    (to_rdma_dev(rep->ep.dev)->iwarp && !reply.proof_key))
		return -EPROTO;
	qp->proof_key = reply.proof_key;
	mutex_lock(&rep->lock);
	all = ++rep->nr_connected == rep->nr_qps;
	mutex_unlock(&rep->lock);
	if (all)
		te_ep_set_state(&rep->ep, TE_EP_READY);
	return 0;
}

static int reject_errno(struct rdma_cm_event *event)
{
	struct te_msg_conn_reply reply;

	/* By its bytes: iWARP devices do not agree on the status. */
	if (!te_wire_conn_reply_decode(event->param.conn.private_data,
				       event->param.conn.private_data_len,
				       &reply))
		return te_wire_errno(reply.status) ?: -ECONNREFUSED;
	return -ECONNREFUSED;
}

/* What rdma_cm and verbs say, in words of the errno table. */
static int connect_errno(int error)
{
	switch (error) {
	case -ENETUNREACH:
	case -ETIMEDOUT:
	case -ENODEV:
	case -ENOMEM:
		return error;
	default:
		return -EHOSTUNREACH;
	}
}

static int event_errno(struct rdma_cm_event *event)
{
	switch (event->event) {
	case RDMA_CM_EVENT_REJECTED:
		return reject_errno(event);
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return -ENODEV;
	case RDMA_CM_EVENT_UNREACHABLE:
		return -EHOSTUNREACH;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		return connect_errno(event->status);
	default:
		return -ECONNRESET;
	}
}

static int qp_cm_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct te_rdma_qp *qp = id->context;
	int ret = 0;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		rdma_set_ack_timeout(id, clamp(te_rdma_qp_timeout, 8U, 31U));
		if (rdma_resolve_route(id, TE_RDMA_RESOLVE_MS))
			ret = -EHOSTUNREACH;
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		ret = qp_connect(qp);
		if (ret)
			ret = connect_errno(ret);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		ret = qp_established(qp, event);
		break;
	default:
		ret = event_errno(event);
		break;
	}
	if (ret)
		te_ep_fail(&qp->ep->ep, ret);
	return 0;
}

static int qp_start(struct te_rdma_qp *qp)
{
	struct te_ep *ep = &qp->ep->ep;
	struct te_rdma_dev *rdev = to_rdma_dev(ep->dev);
	struct sockaddr_storage src, dst;
	struct rdma_cm_id *id;

	id = te_rdma_make_id(qp_cm_event, qp);
	if (IS_ERR(id))
		return PTR_ERR(id);
	qp->id = id;
	spin_lock(&rdev->lock);
	te_rdma_sockaddr(&src, &ep->dev->self.addr, rdev->scope_id, 0);
	te_rdma_sockaddr(&dst, &ep->rdev.addr, rdev->scope_id, ep->rdev.port);
	spin_unlock(&rdev->lock);
	return rdma_resolve_addr(id, (struct sockaddr *)&src,
				 (struct sockaddr *)&dst, TE_RDMA_RESOLVE_MS);
}

static void ep_connect_work(struct work_struct *work)
{
	struct te_rdma_ep *rep = container_of(work, struct te_rdma_ep,
					      connect_work);
	u32 i;
	int ret;

	for (i = 0; i < rep->nr_qps; i++) {
		ret = qp_start(&rep->qp[i]);
		if (ret) {
			te_ep_fail(&rep->ep, connect_errno(ret));
			break;
		}
	}
	te_ep_put(&rep->ep);
}

void te_rdma_ep_connect(struct te_ep *ep)
{
	struct te_rdma_mover *rm = ep->mover->xp;
	struct te_rdma_ep *rep = to_rdma_ep(ep);
	u32 i;

	for (i = 0; i < rep->nr_qps; i++) {
		if (xa_alloc(&rm->qps, &rep->qp[i].nr, &rep->qp[i],
			     xa_limit_32b, GFP_NOIO)) {
			te_ep_fail(ep, -ENOMEM);
			return;
		}
	}
	te_ep_get(ep);
	queue_work(te_rdma_wq, &rep->connect_work);
}

static void qp_to_error(struct te_rdma_qp *qp)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	if (!qp->id || !qp->id->qp)
		return;
	ib_modify_qp(qp->id->qp, &attr, IB_QP_STATE);
	te_rdma_qp_fatal(qp->id->qp, TE_FAULT_DRAIN_FATAL);
}

static void qp_destroy(struct te_rdma_qp *qp)
{
	if (qp->id && qp->id->qp)
		rdma_destroy_qp(qp->id);
}

/* Tells the peer, if it is connected. */
static void qp_end(struct te_rdma_qp *qp)
{
	if (qp->id)
		rdma_destroy_id(qp->id);
	qp->id = NULL;
}

static void ep_close_work(struct work_struct *work)
{
	struct te_rdma_ep *rep = container_of(work, struct te_rdma_ep,
					      close_work);
	struct te_rdma_dev *rdev = to_rdma_dev(rep->ep.dev);
	u32 i;

	flush_work(&rep->connect_work);
	mutex_lock(&rep->lock);
	rep->closing = true;
	mutex_unlock(&rep->lock);

	for (i = 0; i < rep->nr_qps; i++)
		qp_to_error(&rep->qp[i]);
	wait_for_completion_timeout(&rep->ep.quiet,
				    msecs_to_jiffies(TE_RDMA_DRAIN_MS));
	te_delay(TE_DELAY_EP_FLUSHED);
	for (i = 0; i < rep->nr_qps; i++)
		qp_destroy(&rep->qp[i]);
	atomic_inc(&rdev->closed);
	wake_up_var(&rdev->closed);
	te_ep_set_state(&rep->ep, TE_EP_DEAD);

	rep->end_by = jiffies + msecs_to_jiffies(TE_RDMA_LINK_MS);
	queue_delayed_work(te_rdma_wq, &rep->end_work,
			   msecs_to_jiffies(TE_RDMA_NEWS_MS));
}

/*
 * Tell the peer. What failed may be how the loss of a link shows first: hence not
 * before the news of that has had time to come.
 */
static void ep_end_work(struct work_struct *work)
{
	struct te_rdma_ep *rep = container_of(to_delayed_work(work),
					      struct te_rdma_ep, end_work);
	struct te_rdma_dev *rdev = to_rdma_dev(rep->ep.dev);
	u32 i;

	if (te_rdma_cm_waits(rdev, rep->end_by)) {
		queue_delayed_work(te_rdma_wq, &rep->end_work,
				   msecs_to_jiffies(TE_RDMA_NEWS_MS));
		return;
	}
	for (i = 0; i < rep->nr_qps; i++)
		qp_end(&rep->qp[i]);
	if (atomic_dec_and_test(&rdev->closing))
		wake_up_var(&rdev->closing);
	te_ep_put(&rep->ep);
}

void te_rdma_ep_close(struct te_ep *ep)
{
	te_ep_get(ep);
	atomic_inc(&to_rdma_dev(ep->dev)->closing);
	queue_work(te_rdma_wq, &to_rdma_ep(ep)->close_work);
}

/*
 * A requester that is not answered may wait four times as long as it was asked to
 * each time (InfiniBand 1.4, 9.7.6.1.3), and then says so. Who is silent for twice
 * as long as all attempts for a packet may take will hardly say anything. Besides, a
 * QP has its turn among all others of its NIC: what 256 endpoints post at first, see
 * worker/pace.c, takes 100 Mbit/s ten seconds.
 */
static unsigned long ep_patience(void)
{
	u64 ns = 4096ULL << clamp(te_rdma_qp_timeout, 8U, 31U);

	return max_t(u64, nsecs_to_jiffies64(2 * 4 * (TE_RDMA_QP_RETRY + 1) * ns),
		     TE_RDMA_LEAST_PATIENCE);
}

struct te_ep *te_rdma_ep_create(struct te_mover *mover, struct te_peer *peer,
				const struct te_rdev *rdev)
{
	u32 nr_qps = te_rdma_nr_qps();
	struct te_rdma_ep *rep;
	u32 i;

	rep = kzalloc(struct_size(rep, qp, nr_qps), GFP_NOIO);
	if (!rep)
		return ERR_PTR(-ENOMEM);
	te_ep_init(&rep->ep, mover, peer, rdev);
	INIT_WORK(&rep->connect_work, ep_connect_work);
	INIT_WORK(&rep->close_work, ep_close_work);
	INIT_DELAYED_WORK(&rep->end_work, ep_end_work);
	mutex_init(&rep->lock);
	rep->nr_qps = nr_qps;
	rep->patience = ep_patience();
	for (i = 0; i < nr_qps; i++) {
		struct te_rdma_qp *qp = &rep->qp[i];

		qp->ep = rep;
		qp->index = i;
		INIT_LIST_HEAD(&qp->posted);
	}
	return &rep->ep;
}

void te_rdma_ep_free(struct te_ep *ep)
{
	/* Lookups in the store may still walk over it. */
	kfree_rcu(to_rdma_ep(ep), rcu);
}

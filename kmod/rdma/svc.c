// SPDX-License-Identifier: GPL-2.0-only
/*
 * rdma/svc: a dev's service connection to itself, where regions are registered.
 *
 * Registering is a work request, and needs a QP that is ready to send: so each
 * dev connects to its own listener by rdma_cm, which every kind of RDMA device
 * has. The dev's start work makes it and makes it anew when it broke; it ends
 * with the dev.
 */
#include <linux/random.h>

#include "rdma/rdma.h"

#define TE_SVC_CONNECT_MS	5000
#define TE_SVC_POST_MS		10000

static void svc_settle(struct te_rdma_dev *rdev, int error)
{
	if (error && !rdev->svc.error)
		rdev->svc.error = error;
	if (error)
		rdev->svc.ready = false;
	complete_all(&rdev->svc.done);
}

static void svc_qp_event(struct ib_event *event, void *context)
{
	pr_debug("te: service QP: %s\n", ib_event_msg(event->event));
}

static int svc_connect(struct te_rdma_dev *rdev, struct rdma_cm_id *id)
{
	struct te_msg_conn_hello msg = {
		.kind		= TE_WIRE_CONN_SERVICE,
		.token		= rdev->svc.cookie,
		.boot_gen	= te_node.boot_gen,
		.dev_id		= rdev->dev.id,
		.nr_qps		= 1,
	};
	struct te_wire_conn_hello hello;
	struct rdma_conn_param param = {
		.private_data		= &hello,
		.private_data_len	= sizeof(hello),
		.responder_resources	= 1,
		.initiator_depth	= 1,
		.retry_count		= TE_RDMA_QP_RETRY,
		.rnr_retry_count	= TE_RDMA_RNR_RETRY,
	};
	int ret;

	ret = te_rdma_make_qp(rdev, id, rdev->svc.cq, 2 * TE_RDMA_CHAIN,
			      svc_qp_event, NULL);
	if (ret)
		return ret;
	te_wire_conn_hello_encode(&hello, &msg);
	return rdma_connect_locked(id, &param);
}

static int svc_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct te_rdma_dev *rdev = id->context;
	int ret = 0;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		ret = rdma_resolve_route(id, TE_RDMA_RESOLVE_MS);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		ret = svc_connect(rdev, id);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		rdev->svc.ready = true;
		svc_settle(rdev, 0);
		break;
	default:
		ret = event->status < 0 ? event->status : -ECONNRESET;
		break;
	}
	if (ret)
		svc_settle(rdev, ret);
	return 0;
}

/* Events of the answering end; the asking end has its own. */
static int svc_peer_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	return 0;
}

int te_rdma_svc_accept(struct te_rdma_dev *rdev, struct rdma_cm_id *id)
{
	struct rdma_conn_param param = {
		.responder_resources	= 1,
		.initiator_depth	= 1,
		.rnr_retry_count	= TE_RDMA_RNR_RETRY,
	};
	int ret;

	/* Only the start work connects, and once at a time. */
	if (cmpxchg(&rdev->svc.peer_id, NULL, id))
		return -EBUSY;
	ret = te_rdma_make_qp(rdev, id, rdev->svc.cq, 1, svc_qp_event, NULL);
	if (ret)
		goto err_forget;
	id->event_handler = svc_peer_event;
	ret = rdma_accept(id, &param);
	if (ret)
		goto err_destroy_qp;
	return 0;

err_destroy_qp:
	rdma_destroy_qp(id);
err_forget:
	rdev->svc.peer_id = NULL;
	return ret;
}

static void svc_end(struct rdma_cm_id *id)
{
	if (!id)
		return;
	rdma_disconnect(id);
	if (id->qp)
		rdma_destroy_qp(id);
	rdma_destroy_id(id);
}

/* Start work, or the dev's end. */
void te_rdma_svc_stop(struct te_rdma_dev *rdev)
{
	struct te_rdma_svc *svc = &rdev->svc;
	struct rdma_cm_id *id, *peer_id;

	mutex_lock(&svc->lock);
	svc->ready = false;
	id = svc->id;
	svc->id = NULL;
	mutex_unlock(&svc->lock);

	svc_end(id);
	peer_id = xchg(&svc->peer_id, NULL);
	svc_end(peer_id);
}

int te_rdma_svc_start(struct te_rdma_dev *rdev)
{
	struct te_rdma_svc *svc = &rdev->svc;
	struct sockaddr_storage src, dst;
	struct rdma_cm_id *id;
	int ret;

	reinit_completion(&svc->done);
	svc->error = 0;
	svc->cookie = get_random_u64();
	id = rdma_create_id(&init_net, svc_event, rdev, RDMA_PS_TCP,
			    IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	svc->id = id;

	te_rdma_sockaddr(&src, &rdev->dev.self.addr, rdev->scope_id, 0);
	te_rdma_sockaddr(&dst, &rdev->dev.self.addr, rdev->scope_id,
			 rdev->dev.self.port);
	ret = rdma_resolve_addr(id, (struct sockaddr *)&src,
				(struct sockaddr *)&dst, TE_RDMA_RESOLVE_MS);
	if (!ret && !wait_for_completion_timeout(&svc->done,
						 msecs_to_jiffies(TE_SVC_CONNECT_MS)))
		ret = -ETIMEDOUT;
	if (!ret)
		ret = svc->error;
	if (ret)
		te_rdma_svc_stop(rdev);
	return ret;
}

static void svc_posted(struct ib_cq *cq, struct ib_wc *wc)
{
	struct te_rdma_svc *svc = container_of(wc->wr_cqe, struct te_rdma_svc,
					       cqe);

	svc->status = wc->status;
	complete(&svc->posted);
}

int te_rdma_svc_post(struct te_rdma_dev *rdev, struct ib_send_wr *first,
		     struct ib_send_wr *last)
{
	struct te_rdma_svc *svc = &rdev->svc;
	int ret;

	mutex_lock(&svc->lock);
	if (!svc->ready) {
		mutex_unlock(&svc->lock);
		return -ENETDOWN;
	}
	reinit_completion(&svc->posted);
	svc->cqe.done = svc_posted;
	last->wr_cqe = &svc->cqe;
	last->send_flags = IB_SEND_SIGNALED;

	ret = ib_post_send(svc->id->qp, first, NULL);
	if (!ret && !wait_for_completion_timeout(&svc->posted,
						 msecs_to_jiffies(TE_SVC_POST_MS)))
		ret = -ETIMEDOUT;
	if (!ret && svc->status != IB_WC_SUCCESS)
		ret = -EIO;
	if (ret) {
		/* Its state is unknown: never use this one again. */
		svc->ready = false;
		pr_warn_ratelimited("te: %s: cannot register memory: %d\n",
				    rdev->dev.name, ret);
		queue_work(te_rdma_wq, &rdev->start_work);
	}
	mutex_unlock(&svc->lock);
	return ret;
}

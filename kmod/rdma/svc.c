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
#include "wire/conn.h"

#define TE_SVC_CONNECT_MS	5000
#define TE_SVC_POST_MS		10000

/* The connection, or the attempt to make it, has ended. */
static void svc_lost(struct te_rdma_dev *rdev, int error)
{
	struct te_rdma_svc *svc = &rdev->svc;
	bool was_ready;

	mutex_lock(&svc->lock);
	was_ready = svc->ready;
	svc->ready = false;
	svc->error = error;
	mutex_unlock(&svc->lock);
	complete_all(&svc->done);
	if (was_ready)
		te_rdma_restart(rdev, 0);
}

static void svc_qp_event(struct ib_event *event, void *context)
{
	pr_debug("te: service QP: %s\n", ib_event_msg(event->event));
}

static int svc_connect(struct te_rdma_dev *rdev, struct rdma_cm_id *id)
{
	struct te_msg_conn_hello msg = {
		.kind		= TE_WIRE_CONN_SERVICE,
		.token		= rdev->svc.asked,
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
	u32 send_wrs = 2 * TE_RDMA_CHAIN;
	int ret;

	ret = te_rdma_make_qp(rdev, id, rdev->svc.cq, &send_wrs, svc_qp_event,
			      NULL);
	if (ret)
		return ret;
	te_wire_conn_hello_encode(&hello, &msg);
	return rdma_connect_locked(id, &param);
}

static int svc_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct te_rdma_dev *rdev = id->context;
	int ret = 0;

	/* te_rdma_svc_stop() has taken it away and will destroy it. */
	if (READ_ONCE(rdev->svc.id) != id)
		return 0;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		ret = rdma_resolve_route(id, TE_RDMA_RESOLVE_MS);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		ret = svc_connect(rdev, id);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		complete_all(&rdev->svc.done);
		break;
	default:
		ret = event->status < 0 ? event->status : -ECONNRESET;
		break;
	}
	if (ret)
		svc_lost(rdev, ret);
	return 0;
}

/* Events of the answering end; the asking end has its own. */
static int svc_peer_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	return 0;
}

static int svc_accept_locked(struct te_rdma_dev *rdev, struct rdma_cm_id *id)
{
	struct rdma_conn_param param = {
		.responder_resources	= 1,
		.initiator_depth	= 1,
		.rnr_retry_count	= TE_RDMA_RNR_RETRY,
	};
	u32 send_wrs = 1;
	int ret;

	lockdep_assert_held(&rdev->svc.accept_lock);
	ret = te_rdma_make_qp(rdev, id, rdev->svc.cq, &send_wrs, svc_qp_event,
			      NULL);
	if (ret)
		return ret;
	id->event_handler = svc_peer_event;
	ret = rdma_accept(id, &param);
	if (ret)
		rdma_destroy_qp(id);
	else
		rdev->svc.peer_id = id;
	return ret;
}

int te_rdma_svc_accept(struct te_rdma_dev *rdev, struct rdma_cm_id *id,
		       u64 cookie)
{
	struct te_rdma_svc *svc = &rdev->svc;
	int ret = -EACCES;

	mutex_lock(&svc->accept_lock);
	if (cookie && cookie == svc->cookie) {
		svc->cookie = 0; /* once */
		ret = svc_accept_locked(rdev, id);
	}
	mutex_unlock(&svc->accept_lock);
	return ret;
}

static void svc_end(struct rdma_cm_id *id)
{
	if (!id)
		return;
	/* A handler that runs may be making the QP. */
	rdma_lock_handler(id);
	rdma_unlock_handler(id);
	rdma_disconnect(id);
	if (id->qp)
		rdma_destroy_qp(id);
	rdma_destroy_id(id);
}

static void svc_set_cookie(struct te_rdma_svc *svc, u64 cookie)
{
	mutex_lock(&svc->accept_lock);
	svc->cookie = cookie;
	mutex_unlock(&svc->accept_lock);
}

/* Start work, or the dev's end. */
void te_rdma_svc_stop(struct te_rdma_dev *rdev)
{
	struct te_rdma_svc *svc = &rdev->svc;
	struct rdma_cm_id *id, *peer_id;

	mutex_lock(&svc->lock);
	svc->ready = false;
	id = svc->id;
	WRITE_ONCE(svc->id, NULL);
	mutex_unlock(&svc->lock);
	svc_end(id);

	mutex_lock(&svc->accept_lock);
	svc->cookie = 0;
	peer_id = svc->peer_id;
	svc->peer_id = NULL;
	mutex_unlock(&svc->accept_lock);
	svc_end(peer_id);
}

static int svc_resolve(struct te_rdma_dev *rdev, struct rdma_cm_id *id)
{
	struct sockaddr_storage src, dst;

	te_rdma_sockaddr(&src, &rdev->dev.self.addr, rdev->scope_id, 0);
	te_rdma_sockaddr(&dst, &rdev->dev.self.addr, rdev->scope_id,
			 rdev->dev.self.port);
	return rdma_resolve_addr(id, (struct sockaddr *)&src,
				 (struct sockaddr *)&dst, TE_RDMA_RESOLVE_MS);
}

static int svc_wait(struct te_rdma_svc *svc)
{
	int ret;

	if (!wait_for_completion_timeout(&svc->done,
					 msecs_to_jiffies(TE_SVC_CONNECT_MS)))
		return -ETIMEDOUT;
	mutex_lock(&svc->lock);
	ret = svc->error;
	svc->ready = !ret;
	mutex_unlock(&svc->lock);
	return ret;
}

int te_rdma_svc_start(struct te_rdma_dev *rdev)
{
	struct te_rdma_svc *svc = &rdev->svc;
	struct rdma_cm_id *id;
	int ret;

	id = te_rdma_make_id(svc_event, rdev);
	if (IS_ERR(id))
		return PTR_ERR(id);
	reinit_completion(&svc->done);
	svc->error = 0;
	svc->asked = get_random_u64() | 1;
	svc_set_cookie(svc, svc->asked);
	WRITE_ONCE(svc->id, id);

	ret = svc_resolve(rdev, id);
	if (!ret)
		ret = svc_wait(svc);
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

/*
 * Its state is unknown and work requests may still be queued that point to MRs:
 * only without its QP may the caller give those back. No completion of it comes
 * later either, so the next connection cannot take one for its own.
 */
static void svc_break_locked(struct te_rdma_dev *rdev, int error)
{
	lockdep_assert_held(&rdev->svc.lock);
	rdev->svc.ready = false;
	rdma_destroy_qp(rdev->svc.id);
	flush_work(&rdev->svc.cq->work);
	pr_warn_ratelimited("te: %s: cannot register memory: %d\n",
			    rdev->dev.name, error);
	te_rdma_restart(rdev, 0);
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

	ret = te_rdma_post_send(svc->id->qp, first, NULL);
	if (!ret && !wait_for_completion_timeout(&svc->posted,
						 msecs_to_jiffies(TE_SVC_POST_MS)))
		ret = -EIO;
	if (!ret && svc->status != IB_WC_SUCCESS)
		ret = -EIO;
	if (ret)
		svc_break_locked(rdev, ret);
	mutex_unlock(&svc->lock);
	return ret;
}

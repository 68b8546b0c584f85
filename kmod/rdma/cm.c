// SPDX-License-Identifier: GPL-2.0-only
/*
 * rdma/cm: the answering side: a dev's listener and the connections of peers.
 *
 * A request must show the token of a live session and its generation, else it
 * is rejected with a reason. The QP of an accepted connection posts nothing; it
 * is there for the peer's READs and WRITEs, and ends when the peer disconnects,
 * its session is lost, or the dev goes. Events come under the id's handler
 * mutex; taking down is a work item, as it destroys the id.
 */
#include <linux/slab.h>

#include "event/count.h"
#include "rdma/rdma.h"
#include "wire/conn.h"

/**
 * struct te_rdma_conn - a connection that a peer opened
 * @conn: on its peer's list
 * @rdev: whose listener accepted it
 * @peer: whose it is; holds a reference
 * @id: its QP is id->qp
 * @dev_link: on te_rdma_dev.conns
 * @closing: bit 0: @close_work is queued
 * @close_work: ends and frees it
 * @end_by: jiffies; @close_work waits no longer for a link
 */
struct te_rdma_conn {
	struct te_conn conn;
	struct te_rdma_dev *rdev;
	struct te_peer *peer;
	struct rdma_cm_id *id;
	struct list_head dev_link;
	unsigned long closing;
	struct delayed_work close_work;
	unsigned long end_by;
};

struct rdma_cm_id *te_rdma_make_id(rdma_cm_event_handler handler,
				   void *context)
{
	int ret = te_fault(TE_FAULT_CREATE_ID);

	if (ret)
		return ERR_PTR(ret);
	return rdma_create_id(&init_net, handler, context, RDMA_PS_TCP,
			      IB_QPT_RC);
}

static int create_qp(struct te_rdma_dev *rdev, struct rdma_cm_id *id,
		     struct ib_qp_init_attr *attr)
{
	return te_fault(TE_FAULT_CREATE_QP) ?:
	       rdma_create_qp(id, rdev->pd, attr);
}

/* Each QP asks for all anew: what is short now may be there next time. */
int te_rdma_make_qp(struct te_rdma_dev *rdev, struct rdma_cm_id *id,
		    struct ib_cq *cq, u32 *send_wrs,
		    void (*event)(struct ib_event *event, void *context),
		    void *context)
{
	struct ib_qp_init_attr attr = {
		.event_handler		= event,
		.qp_context		= context,
		.send_cq		= cq,
		.recv_cq		= cq,
		.cap.max_recv_wr	= 1,
		.cap.max_send_sge	= 1,
		.cap.max_recv_sge	= 1,
		.sq_sig_type		= IB_SIGNAL_REQ_WR,
		.qp_type		= IB_QPT_RC,
		.port_num		= id->port_num,
	};
	u32 least = min(*send_wrs, TE_RDMA_SQ_LEAST);
	u32 wrs = *send_wrs;
	int ret;

	/* Addresses may have moved to another device meanwhile. */
	if (id->device != rdev->ib || id->port_num != rdev->port)
		return -EHOSTUNREACH;
	for (;; wrs = max(wrs / 2, least)) {
		attr.cap.max_send_wr = wrs;
		ret = create_qp(rdev, id, &attr);
		if (wrs == least || !te_rdma_too_much(ret))
			break;
	}
	if (te_rdma_too_much(ret)) {
		pr_warn_ratelimited("te: %s: no QP is to be had: %d\n",
				    rdev->dev.name, ret);
		te_dev_shed(&rdev->dev);
		return -ENOMEM;
	}
	if (!ret && wrs < *send_wrs && !xchg(&rdev->told_depth, true))
		pr_info("te: %s: QPs of %u work requests, more are refused\n",
			rdev->dev.name, wrs);
	*send_wrs = wrs;
	return ret;
}

static void conn_kill(struct te_conn *conn)
{
	struct te_rdma_conn *rc = container_of(conn, struct te_rdma_conn, conn);

	if (test_and_set_bit(0, &rc->closing))
		return;
	rc->end_by = jiffies + msecs_to_jiffies(TE_RDMA_LINK_MS);
	queue_delayed_work(te_rdma_wq, &rc->close_work, 0);
}

static void conn_close_work(struct work_struct *work)
{
	struct te_rdma_conn *rc = container_of(to_delayed_work(work),
					       struct te_rdma_conn, close_work);
	struct te_rdma_dev *rdev = rc->rdev;

	/* At once: the peer has no business here any more. */
	if (rc->id->qp) {
		te_rdma_qp_fatal(rc->id->qp, TE_FAULT_DRAIN_FATAL);
		if (rdev->iwarp)
			rdma_disconnect(rc->id);
		rdma_destroy_qp(rc->id);
	}
	if (te_rdma_cm_waits(rdev, rc->end_by)) {
		queue_delayed_work(te_rdma_wq, &rc->close_work,
				   msecs_to_jiffies(TE_RDMA_NEWS_MS));
		return;
	}
	rdma_destroy_id(rc->id);
	te_peer_del_conn(rc->peer, &rc->conn);
	te_peer_put(rc->peer);
	te_count(TE_NR_CONNS, -1);

	/* Under the lock to the last: te_rdma_drop_conns() takes it once more. */
	spin_lock(&rdev->lock);
	list_del(&rc->dev_link);
	if (!--rdev->nr_conns)
		wake_up(&rdev->idle);
	spin_unlock(&rdev->lock);
	kfree(rc);
}

static void conn_qp_event(struct ib_event *event, void *context)
{
	struct te_rdma_conn *rc = context;

	if (event->event == IB_EVENT_QP_FATAL ||
	    event->event == IB_EVENT_QP_ACCESS_ERR ||
	    event->event == IB_EVENT_QP_REQ_ERR)
		conn_kill(&rc->conn);
}

void te_rdma_conns_fatal(struct te_rdma_dev *rdev)
{
	struct ib_event event = { .event = IB_EVENT_QP_FATAL };
	struct te_rdma_conn *rc;

	if (!te_fault(TE_FAULT_CONN_FATAL))
		return;
	spin_lock(&rdev->lock);
	list_for_each_entry(rc, &rdev->conns, dev_link)
		conn_qp_event(&event, rc);
	spin_unlock(&rdev->lock);
}

static int conn_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct te_rdma_conn *rc = id->context;

	if (event->event != RDMA_CM_EVENT_ESTABLISHED)
		conn_kill(&rc->conn);
	return 0;
}

static int conn_accept_id(struct te_rdma_conn *rc, struct rdma_cm_event *event)
{
	struct te_rdma_dev *rdev = rc->rdev;
	struct te_msg_conn_reply msg = {
		.status		= TE_WIRE_OK,
		.dev_id		= rdev->dev.id,
		.boot_gen	= te_node.boot_gen,
		.proof_key	= te_rdma_proof_key(rdev),
	};
	struct te_wire_conn_reply reply;
	struct rdma_conn_param param = {
		.private_data		= &reply,
		.private_data_len	= sizeof(reply),
		.responder_resources	= min(rdev->read_in,
					      event->param.conn.responder_resources),
		.initiator_depth	= 1,
		.rnr_retry_count	= TE_RDMA_RNR_RETRY,
	};
	u32 send_wrs = 1;
	int ret;

	ret = te_rdma_make_qp(rdev, rc->id, rdev->svc.cq, &send_wrs,
			      conn_qp_event, rc);
	if (ret)
		return ret;
	rc->id->context = rc;
	rc->id->event_handler = conn_event;
	te_wire_conn_reply_encode(&reply, &msg);
	ret = rdma_accept(rc->id, &param);
	if (ret)
		rdma_destroy_qp(rc->id);
	return ret;
}

/* Visible from here on; if its peer or dev goes already, it goes too. */
static void conn_publish(struct te_rdma_conn *rc)
{
	struct te_rdma_dev *rdev = rc->rdev;
	bool stopping;

	te_count(TE_NR_CONNS, 1);
	spin_lock(&rdev->lock);
	stopping = rdev->stopping;
	list_add(&rc->dev_link, &rdev->conns);
	rdev->nr_conns++;
	spin_unlock(&rdev->lock);
	if (!te_peer_add_conn(rc->peer, &rc->conn) || stopping)
		conn_kill(&rc->conn);
}

static enum te_wire_code conn_accept(struct te_rdma_dev *rdev,
				     struct rdma_cm_id *id,
				     struct rdma_cm_event *event,
				     const struct te_msg_conn_hello *hello)
{
	enum te_wire_code code = TE_WIRE_ERR_NOMEM;
	struct te_rdma_conn *rc;
	struct te_peer *peer;

	if (READ_ONCE(rdev->nr_conns) >= TE_RDMA_MAX_CONNS)
		return TE_WIRE_ERR_LIMIT;
	if (te_fault(TE_FAULT_ACCEPT))
		return code;
	peer = te_peer_find(hello->token);
	if (!peer)
		return TE_WIRE_ERR_TOKEN;
	if (peer->boot_gen != hello->boot_gen) {
		code = TE_WIRE_ERR_GENERATION;
		goto out_put;
	}
	rc = kzalloc(sizeof(*rc), GFP_KERNEL);
	if (!rc)
		goto out_put;
	rc->conn.kill = conn_kill;
	INIT_LIST_HEAD(&rc->conn.link);
	rc->rdev = rdev;
	rc->peer = peer;
	rc->id = id;
	INIT_DELAYED_WORK(&rc->close_work, conn_close_work);
	if (conn_accept_id(rc, event)) {
		kfree(rc);
		goto out_put;
	}
	te_delay(TE_DELAY_CONN_PUBLISH);
	conn_publish(rc);
	return TE_WIRE_OK;
out_put:
	te_peer_put(peer);
	return code;
}

static enum te_wire_code conn_request(struct te_rdma_dev *rdev,
				      struct rdma_cm_id *id,
				      struct rdma_cm_event *event)
{
	struct te_msg_conn_hello hello;

	if (te_wire_conn_hello_decode(event->param.conn.private_data,
				      event->param.conn.private_data_len,
				      &hello))
		return TE_WIRE_ERR_PROTO;
	switch (hello.kind) {
	case TE_WIRE_CONN_DATA:
		return conn_accept(rdev, id, event, &hello);
	case TE_WIRE_CONN_SERVICE:
		return te_rdma_svc_accept(rdev, id, hello.token) ?
		       TE_WIRE_ERR_TOKEN : TE_WIRE_OK;
	default:
		return TE_WIRE_ERR_PROTO;
	}
}

static int listen_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct te_rdma_dev *rdev = id->context;
	/* Strangers are told why, and nothing of us. */
	struct te_msg_conn_reply msg = {};
	struct te_wire_conn_reply reply;

	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;
	msg.status = conn_request(rdev, id, event);
	if (msg.status == TE_WIRE_OK)
		return 0;

	te_count(TE_NR_SESSIONS_REFUSED, 1);
	te_wire_conn_reply_encode(&reply, &msg);
	rdma_reject(id, &reply, sizeof(reply), IB_CM_REJ_CONSUMER_DEFINED);
	/* Not 0: the core destroys the new id. */
	return -ECONNREFUSED;
}

int te_rdma_listen(struct te_rdma_dev *rdev)
{
	struct sockaddr_storage ss;
	struct rdma_cm_id *id;
	int ret;

	id = te_rdma_make_id(listen_event, rdev);
	if (IS_ERR(id))
		return PTR_ERR(id);
	/* Any port: the segment's description tells it to peers. */
	te_rdma_sockaddr(&ss, &rdev->dev.self.addr, rdev->scope_id, 0);
	ret = rdma_bind_addr(id, (struct sockaddr *)&ss);
	if (!ret)
		ret = rdma_listen(id, TE_RDMA_BACKLOG);
	if (ret) {
		rdma_destroy_id(id);
		return ret;
	}
	rdev->dev.self.port =
		ntohs(((struct sockaddr_in *)&id->route.addr.src_addr)->sin_port);
	rdev->listen_id = id;
	return 0;
}

void te_rdma_unlisten(struct te_rdma_dev *rdev)
{
	if (rdev->listen_id)
		rdma_destroy_id(rdev->listen_id);
	rdev->listen_id = NULL;
}

void te_rdma_drop_conns(struct te_rdma_dev *rdev)
{
	struct te_rdma_conn *rc;

	spin_lock(&rdev->lock);
	rdev->stopping = true;
	list_for_each_entry(rc, &rdev->conns, dev_link)
		conn_kill(&rc->conn);
	spin_unlock(&rdev->lock);
	wait_event(rdev->idle, !READ_ONCE(rdev->nr_conns));
	/* The last closer has left the lock. */
	spin_lock(&rdev->lock);
	spin_unlock(&rdev->lock);
}

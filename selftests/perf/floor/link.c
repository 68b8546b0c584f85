// SPDX-License-Identifier: GPL-2.0-only
/*
 * floor/link: both devices, and QPs between them, connected by rdma_cm with what
 * te asks for.
 *
 * All steps are taken by the process that runs; handlers note what came and wake
 * it. Connections are made one after the other, so a request with our cookie
 * belongs to the one end that waits for it.
 */
#include <linux/random.h>

#include "floor.h"

static void note_error(struct floor_run *run, int error)
{
	cmpxchg(&run->error, 0, error);
	floor_kick(run);
}

static int event_errno(struct rdma_cm_event *event)
{
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
	case RDMA_CM_EVENT_ESTABLISHED:
		return 0;
	default:
		return event->status < 0 ? event->status : -ECONNRESET;
	}
}

static int end_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct floor_end *end = id->context;
	int error = event_errno(event);

	if (error)
		note_error(end->run, error);
	complete(&end->event);
	return 0;
}

/* Not 0: the core rejects and destroys the new id. */
static int listen_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct floor_run *run = id->context;
	struct floor_end *end;

	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;
	if (event->param.conn.private_data_len < sizeof(run->cookie) ||
	    memcmp(event->param.conn.private_data, &run->cookie,
		   sizeof(run->cookie)))
		return -ECONNREFUSED;
	end = xchg(&run->next, NULL);
	if (!end)
		return -ECONNREFUSED;
	id->context = end;
	id->event_handler = end_event;
	end->id = id;
	complete(&end->event);
	return 0;
}

static int end_wait(struct floor_end *end)
{
	long left;

	left = wait_for_completion_killable_timeout(&end->event,
						    msecs_to_jiffies(FLOOR_WAIT_MS));
	if (left <= 0)
		return left ? -EINTR : -ETIMEDOUT;
	return READ_ONCE(end->run->error);
}

static struct rdma_cm_id *make_id(rdma_cm_event_handler handler, void *context)
{
	return rdma_create_id(&init_net, handler, context, RDMA_PS_TCP,
			      IB_QPT_RC);
}

static void cq_event(struct ib_cq *cq, void *context)
{
	floor_kick(context);
}

static int side_open(struct floor_run *run, struct floor_side *side,
		     struct ib_device *ib)
{
	struct ib_cq_init_attr attr = {
		.cqe = min_t(u32, FLOOR_MAX_QP * FLOOR_MAX_DEPTH,
			     ib->attrs.max_cqe),
	};
	int ret;

	if (ib->attrs.max_fast_reg_page_list_len < FLOOR_CHUNK_PAGES)
		return -EOPNOTSUPP;
	if (!ib_device_try_get(ib))
		return -ENODEV;
	side->pd = ib_alloc_pd(ib, 0);
	if (IS_ERR(side->pd)) {
		ret = PTR_ERR(side->pd);
		goto err_put;
	}
	side->cq = ib_create_cq(ib, cq_event, NULL, run, &attr);
	if (IS_ERR(side->cq)) {
		ret = PTR_ERR(side->cq);
		goto err_dealloc_pd;
	}
	side->ib = ib;
	return 0;

err_dealloc_pd:
	ib_dealloc_pd(side->pd);
err_put:
	ib_device_put(ib);
	return ret;
}

static void side_close(struct floor_side *side)
{
	if (!side->ib)
		return;
	ib_destroy_cq(side->cq);
	ib_dealloc_pd(side->pd);
	ib_device_put(side->ib);
	side->ib = NULL;
}

static int make_qp(struct floor_side *side, struct rdma_cm_id *id, u32 depth)
{
	struct ib_qp_init_attr attr = {
		.send_cq		= side->cq,
		.recv_cq		= side->cq,
		.cap.max_send_wr	= depth,
		.cap.max_recv_wr	= 1,
		.cap.max_send_sge	= 1,
		.cap.max_recv_sge	= 1,
		.sq_sig_type		= IB_SIGNAL_REQ_WR,
		.qp_type		= IB_QPT_RC,
	};

	if (id->device != side->ib)
		return -EHOSTUNREACH;
	return rdma_create_qp(id, side->pd, &attr);
}

static int listen(struct floor_run *run)
{
	struct rdma_cm_id *id;
	int ret;

	id = make_id(listen_event, run);
	if (IS_ERR(id))
		return PTR_ERR(id);
	run->listen_id = id;
	ret = rdma_bind_addr(id, (struct sockaddr *)&run->addr[FLOOR_B]);
	if (ret)
		return ret;
	if (!id->device)
		return -ENODEV;
	ret = side_open(run, &run->side[FLOOR_B], id->device);
	if (ret)
		return ret;
	return rdma_listen(id, FLOOR_MAX_QP);
}

/* As far as the asking end has its QP. */
static int prepare(struct floor_run *run, struct floor_end *end)
{
	struct floor_side *side = &run->side[FLOOR_A];
	struct rdma_cm_id *id;
	int ret;

	id = make_id(end_event, end);
	if (IS_ERR(id))
		return PTR_ERR(id);
	end->id = id;
	ret = rdma_resolve_addr(id, (struct sockaddr *)&run->addr[FLOOR_A],
				(struct sockaddr *)
				&run->listen_id->route.addr.src_addr,
				FLOOR_WAIT_MS);
	ret = ret ?: end_wait(end);
	if (ret)
		return ret;
	if (!side->ib)
		ret = side_open(run, side, id->device);
	ret = ret ?: rdma_set_ack_timeout(id, FLOOR_QP_TIMEOUT);
	ret = ret ?: rdma_resolve_route(id, FLOOR_WAIT_MS);
	ret = ret ?: end_wait(end);
	return ret ?: make_qp(side, id, run->cmd.depth);
}

static u32 read_depth(struct floor_run *run)
{
	return min3(FLOOR_READ_DEPTH,
		    (u32)run->side[FLOOR_A].ib->attrs.max_qp_init_rd_atom,
		    (u32)run->side[FLOOR_B].ib->attrs.max_qp_rd_atom);
}

static int ask(struct floor_run *run, struct floor_qp *qp)
{
	struct rdma_conn_param param = {
		.private_data		= &run->cookie,
		.private_data_len	= sizeof(run->cookie),
		.responder_resources	= 1,
		.initiator_depth	= read_depth(run),
		.retry_count		= FLOOR_QP_RETRY,
		.rnr_retry_count	= 7,
	};

	WRITE_ONCE(run->next, &qp->end[FLOOR_B]);
	return rdma_connect(qp->end[FLOOR_A].id, &param);
}

static int answer(struct floor_run *run, struct floor_end *end)
{
	struct rdma_conn_param param = {
		.responder_resources	= read_depth(run),
		.initiator_depth	= 1,
		.rnr_retry_count	= 7,
	};
	int ret;

	/* Registrations are all that it posts. */
	ret = make_qp(&run->side[FLOOR_B], end->id, 1);
	if (ret)
		return ret;
	rdma_lock_handler(end->id);
	ret = rdma_accept(end->id, &param);
	rdma_unlock_handler(end->id);
	return ret;
}

static int qp_open(struct floor_run *run, struct floor_qp *qp)
{
	struct floor_end *a = &qp->end[FLOOR_A], *b = &qp->end[FLOOR_B];
	int ret;

	a->run = run;
	b->run = run;
	init_completion(&a->event);
	init_completion(&b->event);
	ret = prepare(run, a);
	ret = ret ?: ask(run, qp);
	ret = ret ?: end_wait(b);
	ret = ret ?: answer(run, b);
	ret = ret ?: end_wait(a);
	return ret ?: end_wait(b);
}

static void end_close(struct floor_end *end)
{
	if (!end->id)
		return;
	if (end->id->qp) {
		rdma_disconnect(end->id);
		rdma_destroy_qp(end->id);
	}
	rdma_destroy_id(end->id);
	end->id = NULL;
}

int floor_link_open(struct floor_run *run)
{
	u32 i;
	int ret;

	run->cookie = get_random_u64();
	ret = listen(run);
	for (i = 0; i < run->cmd.nr_qps && !ret; i++)
		ret = qp_open(run, &run->qp[i]);
	return ret;
}

void floor_link_close_qps(struct floor_run *run)
{
	u32 i;

	/* First, so that no end appears behind our back. */
	if (run->listen_id)
		rdma_destroy_id(run->listen_id);
	run->listen_id = NULL;
	for (i = 0; i < run->cmd.nr_qps; i++) {
		end_close(&run->qp[i].end[FLOOR_A]);
		end_close(&run->qp[i].end[FLOOR_B]);
	}
}

void floor_link_close_sides(struct floor_run *run)
{
	side_close(&run->side[FLOOR_A]);
	side_close(&run->side[FLOOR_B]);
}

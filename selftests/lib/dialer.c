// SPDX-License-Identifier: GPL-2.0-only
/* dialer: see dialer.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/dialer.h"

/* The next event, to be acknowledged; NULL: none came. */
static struct rdma_cm_event *next(struct dialer *d)
{
	struct pollfd pfd = { .fd = d->events->fd, .events = POLLIN };
	struct rdma_cm_event *event;

	if (poll(&pfd, 1, TE_WAIT_MS) != 1 ||
	    rdma_get_cm_event(d->events, &event))
		return NULL;
	return event;
}

static int await(struct dialer *d, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event = next(d);
	int ret = 0;

	if (!event)
		return -ETIME;
	if (event->event != type) {
		printf("# %s: %d\n", rdma_event_str(event->event),
		       event->status);
		ret = -EPIPE;
	}
	rdma_ack_cm_event(event);
	return ret;
}

/* rdma_cm finds no device for a client that does not say where it is. */
static int resolve(struct dialer *d, uint16_t port)
{
	struct sockaddr_in src = { .sin_family = AF_INET };
	struct sockaddr_in dst = {
		.sin_family = AF_INET, .sin_port = htons(port),
	};
	const char *own = getenv("TE_ADDR_A");

	inet_pton(AF_INET, own ?: te_peer_addr(), &src.sin_addr);
	inet_pton(AF_INET, te_peer_addr(), &dst.sin_addr);
	if (rdma_create_id(d->events, &d->id, d, RDMA_PS_TCP) ||
	    rdma_resolve_addr(d->id, (struct sockaddr *)&src,
			      (struct sockaddr *)&dst, TE_WAIT_MS))
		return -errno;
	return await(d, RDMA_CM_EVENT_ADDR_RESOLVED) ?:
	       rdma_resolve_route(d->id, TE_WAIT_MS) ? -errno :
	       await(d, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

static int make_qp(struct dialer *d)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = 4, .max_recv_wr = 1,
			.max_send_sge = 1, .max_recv_sge = 1,
		},
	};

	d->buf = mmap(NULL, DIALER_BYTES, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (d->buf == MAP_FAILED)
		d->buf = NULL;
	d->pd = ibv_alloc_pd(d->id->verbs);
	d->cq = ibv_create_cq(d->id->verbs, 8, NULL, NULL, 0);
	if (!d->buf || !d->pd || !d->cq)
		return -ENOMEM;
	d->mr = ibv_reg_mr(d->pd, d->buf, DIALER_BYTES,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	attr.send_cq = d->cq;
	attr.recv_cq = d->cq;
	if (!d->mr || rdma_create_qp(d->id, d->pd, &attr))
		return -errno;
	return 0;
}

struct lane_hello dialer_hello(const struct asker *t)
{
	struct lane_hello h = asker_hello(t);

	h.kind = 1;
	h.number = 0;
	return h;
}

int dialer_ask(struct dialer *d, const struct asker_nic *nic, const void *hello,
	       size_t len)
{
	struct rdma_conn_param param = {
		.private_data = len ? hello : NULL, .private_data_len = len,
		.responder_resources = 1, .initiator_depth = 1,
		.retry_count = 6,
	};
	int ret;

	memset(d, 0, sizeof(*d));
	d->events = rdma_create_event_channel();
	if (!d->events)
		return -errno;
	ret = resolve(d, nic->port) ?: make_qp(d);
	if (!ret && rdma_connect(d->id, &param))
		ret = -errno;
	if (ret)
		printf("# cannot ask: %s\n", strerror(-ret));
	return ret;
}

int dialer_hear(struct dialer *d)
{
	struct rdma_cm_event *event = next(d);
	int ret = -EPIPE;

	memset(&d->reply, 0xff, sizeof(d->reply));
	if (!event)
		return -EPIPE;
	if (event->param.conn.private_data &&
	    event->param.conn.private_data_len >= sizeof(d->reply))
		memcpy(&d->reply, event->param.conn.private_data,
		       sizeof(d->reply));
	if (event->event == RDMA_CM_EVENT_ESTABLISHED)
		ret = d->reply.status ? -EPIPE : 0;
	else if (event->event == RDMA_CM_EVENT_REJECTED && d->reply.status)
		ret = -(int)le32toh(d->reply.status);
	if (ret == -EPIPE || ret > 0)
		printf("# %s: %d\n", rdma_event_str(event->event),
		       event->status);
	rdma_ack_cm_event(event);
	return ret > 0 ? -EPIPE : ret;
}

int dialer_dial(struct dialer *d, const struct asker_nic *nic, const void *hello,
		size_t len)
{
	return dialer_ask(d, nic, hello, len) ? -EPIPE : dialer_hear(d);
}

int dialer_get_in(struct dialer *d, const struct asker *t)
{
	struct lane_hello h = dialer_hello(t);

	asker_ping(t);
	return dialer_dial(d, &t->nic, &h, sizeof(h));
}

int dialer_move(struct dialer *d, enum ibv_wr_opcode op, uint64_t addr,
		uint32_t key, uint32_t len)
{
	unsigned long long end = te_now_ms() + TE_WAIT_MS;
	struct ibv_sge sge = {
		.addr = (uintptr_t)d->buf, .length = len, .lkey = d->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = op,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	struct ibv_wc wc;
	int n;

	if (op == IBV_WR_SEND_WITH_INV) {
		wr.invalidate_rkey = key;
	} else if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = addr;
		wr.wr.atomic.rkey = key;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = addr;
		wr.wr.rdma.rkey = key;
	}
	n = ibv_post_send(d->id->qp, &wr, &bad);
	if (n)
		return -n;
	while (!(n = ibv_poll_cq(d->cq, 1, &wc)) && te_now_ms() < end)
		te_sleep_ms(1);
	return n == 1 ? (int)wc.status : -ETIME;
}

void dialer_wipe(struct dialer *d)
{
	memset(d->buf, 0xee, DIALER_BYTES);
}

int dialer_touched(const struct dialer *d)
{
	size_t i;

	for (i = 0; i < DIALER_BYTES; i++)
		if (d->buf[i] != 0xee)
			return 1;
	return 0;
}

int dialer_works(struct dialer *d, const struct asker *t, const struct pair *p)
{
	int ret;

	dialer_wipe(d);
	ret = dialer_move(d, IBV_WR_RDMA_READ, t->base + 100, t->nic.key, 5000);
	return ret ?: memcmp(d->buf, p->remote.p + p->margin + 100, 5000) ||
		      d->buf[5000] != 0xee;
}

int dialer_await_nr(uint64_t nr)
{
	return te_settle_one(offsetof(struct te_ioc_stats, endpoints), nr,
			     TE_WAIT_MS);
}

int dialer_await_end(struct dialer *d)
{
	return await(d, RDMA_CM_EVENT_DISCONNECTED);
}

void dialer_end(struct dialer *d)
{
	if (d->id && d->id->qp) {
		rdma_disconnect(d->id);
		rdma_destroy_qp(d->id);
	}
	if (d->mr)
		ibv_dereg_mr(d->mr);
	if (d->cq)
		ibv_destroy_cq(d->cq);
	if (d->pd)
		ibv_dealloc_pd(d->pd);
	if (d->id)
		rdma_destroy_id(d->id);
	if (d->events)
		rdma_destroy_event_channel(d->events);
	if (d->buf)
		munmap(d->buf, DIALER_BYTES);
	memset(d, 0, sizeof(*d));
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * tcp/ep: the asking side: an endpoint's lanes, from connecting to the end.
 *
 * A work item makes the sockets, as that may wait for memory; from then on the
 * mover alone uses the lanes, when their callbacks have queued the endpoint on its
 * list, until it closes it. Another work item then throws the connections away, so
 * that nothing of ours is sent or received any more. When no socket buffer refers to
 * a page of a slice, wherever it may be queued, or, within the node, nobody is left to
 * read one (near.c), the endpoint is DEAD; only now does the mover take back what was
 * on the way. That may take as long as somebody's queue holds a packet; nobody waits
 * for it but those tasks.
 *
 * Slices on a lane stand in the order in which they are sent, which is that of
 * the answers. One lane that is lost takes its endpoint with it: its first slice
 * counts that as a failure, the others are sent again for nothing.
 */
#include <linux/err.h>
#include <linux/net.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "event/count.h"
#include "fault/fault.h"
#include "tcp/tcp.h"
#include "wire/conn.h"

enum te_tcp_lane_state {
	TE_TCP_NONE,		/* no socket yet */
	TE_TCP_DIALING,
	TE_TCP_GREETING,	/* hello sent */
	TE_TCP_UP,
};

/**
 * struct te_tcp_asker - a lane, asking side
 * @lane: its socket
 * @near: of an endpoint to this node: for its other end
 * @ep: whose it is
 * @state: te_tcp_lane_state; NONE is left by the connect work, else the mover's
 * @posted: te_slice.link in the order of sending
 * @nr: of @posted
 * @bytes: of @posted
 * @asked: those of slices that have been sent
 * @next: of @posted, the one that is being sent, or to be sent next; NULL: all are
 * @tx_off: bytes of it that are sent
 * @rx_off: bytes of the first of @posted that have come
 * @answer: the answer that comes, while its bytes do
 * @tag: of the slice posted last
 * @crc: with checksums
 * @error: -errno why it broke, 0: it did not
 */
struct te_tcp_asker {
	struct te_tcp_lane lane;
	struct te_tcp_near near;
	struct te_tcp_ep *ep;
	enum te_tcp_lane_state state;
	struct list_head posted;
	u32 nr;
	u64 bytes;
	u64 asked;
	struct te_slice *next;
	u32 tx_off;
	u32 rx_off;
	struct te_msg_lane answer;
	u32 tag;
	bool crc;
	int error;
};

/**
 * struct te_tcp_ep - an endpoint
 * @ep: generic part
 * @ready_node: on te_tcp_mover.ready while bit 0 of @queued is set, with a
 *	reference
 * @queued: see there
 * @connect_work: makes the sockets
 * @close_work: ends them
 * @quiet_work: nobody refers to @ubuf any more
 * @ubuf: referenced by socket buffers that refer to pages of slices, by the answering
 *	ends of lanes within the node, and by us until all lanes are closed
 * @number: of this endpoint; later ones have larger ones
 * @nr_up: lanes
 * @nr_lanes: entries of @lanes
 * @rcu: frees it
 * @lanes: connections
 */
struct te_tcp_ep {
	struct te_ep ep;
	struct llist_node ready_node;
	unsigned long queued;
	struct work_struct connect_work;
	struct work_struct close_work;
	struct work_struct quiet_work;
	struct ubuf_info ubuf;
	u64 number;
	u32 nr_up;
	u32 nr_lanes;
	struct rcu_head rcu;
	struct te_tcp_asker lanes[];
};

static_assert(offsetof(struct te_tcp_ep, ep) == 0);

static atomic64_t te_tcp_nr_eps = ATOMIC64_INIT(0);

static struct te_tcp_ep *to_tcp_ep(struct te_ep *ep)
{
	return container_of(ep, struct te_tcp_ep, ep);
}

/* Let the mover look at its lanes. Context: any. */
static void ep_kick(struct te_tcp_ep *tep)
{
	struct te_tcp_mover *tm = tep->ep.mover->xp;

	if (test_and_set_bit(0, &tep->queued))
		return;
	te_ep_get(&tep->ep);
	llist_add(&tep->ready_node, &tm->ready);
	tep->ep.mover->kick(tep->ep.mover);
}

static void asker_call(struct sock *sk)
{
	struct te_tcp_asker *asker;

	read_lock_bh(&sk->sk_callback_lock);
	asker = sk->sk_user_data;
	if (asker)
		ep_kick(asker->ep);
	read_unlock_bh(&sk->sk_callback_lock);
}

static void ep_connect_work(struct work_struct *work)
{
	struct te_tcp_ep *tep = container_of(work, struct te_tcp_ep,
					     connect_work);
	struct te_ep *ep = &tep->ep;
	struct te_peer *peer = ep->peer;
	u32 i;
	int ret = 0;

	for (i = 0; i < tep->nr_lanes; i++) {
		struct te_tcp_asker *asker = &tep->lanes[i];

		ret = te_fault(TE_FAULT_CREATE_ID) ?:
		      te_sock_connect(peer->net, &peer->addr, peer->scope_id,
				      ep->rdev.port, &asker->lane.sock,
				      &asker->lane.calls, asker, asker_call);
		if (asker->lane.sock)
			te_tcp_tune(&asker->lane);
		if (ret)
			break;
		if (peer->own)
			te_tcp_near_add(&asker->near);
		/* Pairs with asker_run(): the mover may use it from here on. */
		smp_store_release(&asker->state, TE_TCP_DIALING);
	}
	if (ret)
		te_ep_fail(ep, te_sock_errno(ret));
	ep_kick(tep);
	te_ep_put(ep);
}

void te_tcp_ep_connect(struct te_ep *ep)
{
	te_ep_get(ep);
	queue_work(te_tcp_wq, &to_tcp_ep(ep)->connect_work);
}

/* Context: any. */
static void ep_put_pages(struct sk_buff *skb, struct ubuf_info *ubuf,
			 bool zerocopy)
{
	struct te_tcp_ep *tep = container_of(ubuf, struct te_tcp_ep, ubuf);

	if (refcount_dec_and_test(&ubuf->refcnt))
		queue_work(te_tcp_wq, &tep->quiet_work);
}

static const struct ubuf_info_ops te_tcp_ubuf_ops = {
	.complete = ep_put_pages,
};

static void ep_quiet_work(struct work_struct *work)
{
	struct te_tcp_ep *tep = container_of(work, struct te_tcp_ep,
					     quiet_work);

	te_ep_set_state(&tep->ep, TE_EP_DEAD);
	te_ep_put(&tep->ep);
}

static void ep_close_work(struct work_struct *work)
{
	struct te_tcp_ep *tep = container_of(work, struct te_tcp_ep,
					     close_work);
	u32 i;

	if (cancel_work_sync(&tep->connect_work))
		te_ep_put(&tep->ep);
	for (i = 0; i < tep->nr_lanes; i++) {
		te_tcp_near_del(&tep->lanes[i].near);
		te_tcp_close(&tep->lanes[i].lane);
		te_tcp_near_close(&tep->lanes[i].near);
	}
	/* Its reference to the endpoint goes on to ep_quiet_work(). */
	ep_put_pages(NULL, &tep->ubuf, true);
}

void te_tcp_ep_close(struct te_ep *ep)
{
	te_ep_get(ep);
	queue_work(te_tcp_wq, &to_tcp_ep(ep)->close_work);
}

struct te_ep *te_tcp_ep_create(struct te_mover *mover, struct te_peer *peer,
			       const struct te_rdev *rdev)
{
	u32 nr_lanes = clamp(te_tcp_lanes, 1U, TE_TCP_MAX_LANES);
	struct te_tcp_ep *tep;
	u32 i;

	tep = kzalloc(struct_size(tep, lanes, nr_lanes), GFP_NOIO);
	if (!tep)
		return ERR_PTR(-ENOMEM);
	te_ep_init(&tep->ep, mover, peer, rdev);
	INIT_WORK(&tep->connect_work, ep_connect_work);
	INIT_WORK(&tep->close_work, ep_close_work);
	INIT_WORK(&tep->quiet_work, ep_quiet_work);
	te_ubuf_set_ops(&tep->ubuf, &te_tcp_ubuf_ops);
	tep->ubuf.flags = SKBFL_ZEROCOPY_FRAG | SKBFL_DONT_ORPHAN;
	refcount_set(&tep->ubuf.refcnt, 1);
	tep->number = atomic64_inc_return(&te_tcp_nr_eps);
	tep->nr_lanes = nr_lanes;
	for (i = 0; i < nr_lanes; i++) {
		struct te_tcp_asker *asker = &tep->lanes[i];

		asker->ep = tep;
		INIT_LIST_HEAD(&asker->posted);
		te_tcp_near_init(&asker->near, &asker->lane, &tep->ubuf);
	}
	return &tep->ep;
}

void te_tcp_ep_free(struct te_ep *ep)
{
	/* Lookups in the store may still walk over it. */
	kfree_rcu(to_tcp_ep(ep), rcu);
}

/* ---- the mover's */

static int asker_greet(struct te_tcp_asker *asker)
{
	struct te_ep *ep = &asker->ep->ep;
	struct te_msg_conn_hello msg = {
		.kind		= TE_WIRE_CONN_LANE,
		.token		= ep->peer->token,
		.boot_gen	= te_node.boot_gen,
		.dev_id		= ep->dev->id,
		.qp_index	= asker - asker->ep->lanes,
		.nr_qps		= asker->ep->nr_lanes,
		.number		= asker->ep->number,
	};
	struct te_wire_conn_hello hello;
	int ret;

	ret = te_sock_connected(asker->lane.sock);
	if (ret)
		return ret == -EINPROGRESS ? -EAGAIN : ret;
	te_wire_conn_hello_encode(&hello, &msg);
	/* The first bytes: there is room for all of them. */
	ret = te_tcp_send(asker->lane.sock, &hello, sizeof(hello), false);
	if (ret < 0)
		return ret;
	asker->state = TE_TCP_GREETING;
	return 0;
}

static int asker_welcomed(struct te_tcp_asker *asker)
{
	struct te_tcp_lane *lane = &asker->lane;
	struct te_tcp_ep *tep = asker->ep;
	struct te_msg_conn_reply reply;
	int ret;

	/* It is shorter than a frame. */
	while (lane->rx_have < sizeof(struct te_wire_conn_reply)) {
		ret = te_tcp_recv(lane->sock,
				  (u8 *)&lane->rx + lane->rx_have,
				  sizeof(struct te_wire_conn_reply) -
				  lane->rx_have);
		if (ret < 0)
			return ret;
		lane->rx_have += ret;
	}
	if (te_wire_conn_reply_decode(&lane->rx, lane->rx_have, &reply))
		return -EPROTO;
	lane->rx_have = 0;
	if (reply.status != TE_WIRE_OK)
		return te_wire_errno(reply.status);
	if (reply.boot_gen != tep->ep.peer->boot_gen)
		return -ECONNRESET;
	lane->near = READ_ONCE(asker->near.found);
	asker->crc = reply.crc || READ_ONCE(te_tcp_crc);
	asker->state = TE_TCP_UP;
	if (++tep->nr_up == tep->nr_lanes)
		te_ep_set_state(&tep->ep, TE_EP_READY);
	return 0;
}

/* The first slice has its answer. */
static void asker_done(struct te_tcp_asker *asker, struct te_slice *slice,
		       int error, struct list_head *finished)
{
	asker->nr--;
	asker->bytes -= slice->len;
	asker->asked -= slice->len;
	slice->error = error;
	slice->alone = error;
	list_move_tail(&slice->link, finished);
}

/* Bytes of the answer to a READ. Return: 0 all have come, -EAGAIN, -errno. */
static int asker_fill(struct te_tcp_asker *asker, struct te_slice *slice)
{
	u32 nr, bytes;
	int ret;

	while (asker->rx_off < slice->len) {
		nr = te_slice_bvecs(slice, asker->rx_off, asker->lane.bv,
				    TE_TCP_BVECS, &bytes);
		ret = te_tcp_recv_pages(&asker->lane, nr, bytes);
		if (ret < 0)
			return ret;
		asker->rx_off += ret;
	}
	asker->rx_off = 0;
	return 0;
}

/* Do bytes come behind the answer? */
static bool asker_gets(const struct te_msg_lane *answer)
{
	return answer->type == TE_WIRE_LANE_READ_REPLY &&
	       answer->status == TE_WIRE_OK;
}

/* CRC-32C of the slice's bytes, as they are now. */
static u32 asker_crc(struct te_tcp_asker *asker, const struct te_slice *slice)
{
	u32 off, nr, bytes, crc = 0;

	for (off = 0; off < slice->len; off += bytes) {
		nr = te_slice_bvecs(slice, off, asker->lane.bv, TE_TCP_BVECS,
				    &bytes);
		crc = te_tcp_crc_pages(&asker->lane, nr, crc);
	}
	return crc;
}

/*
 * Is this what the first slice waits for, and has the peer got all of it? Who answers
 * before could read from the buffer what is put there later.
 */
static bool asker_expects(const struct te_tcp_asker *asker,
			  const struct te_slice *slice)
{
	const struct te_msg_lane *answer = &asker->answer;
	u8 type = slice->task->op == TE_READ ? TE_WIRE_LANE_READ_REPLY :
					       TE_WIRE_LANE_WRITE_REPLY;

	return slice != asker->next &&
	       !before(READ_ONCE(tcp_sk(asker->lane.sock->sk)->snd_una),
		       slice->lkey) &&
	       answer->crc_on == (asker->crc && asker_gets(answer)) &&
	       answer->type == type && answer->tag == slice->seq &&
	       answer->length == slice->len;
}

/*
 * Nothing more is to come, nor to go and to say that all has: say so at once. Who
 * unregisters what the peer has lent for it waits for that; within the node, its pages
 * are let go.
 */
static void asker_acknowledge(struct te_tcp_asker *asker)
{
	if (asker->answer.length >= TE_TCP_LEND && list_empty(&asker->posted) &&
	    asker_gets(&asker->answer) &&
	    (asker->lane.near || !asker->ep->ep.peer->own))
		tcp_sock_set_quickack(asker->lane.sock->sk, 1);
}

/* One answer. Return: 1, -EAGAIN, or what ends the lane. */
static int asker_hear(struct te_tcp_asker *asker, struct list_head *finished)
{
	struct te_msg_lane *answer = &asker->answer;
	struct te_slice *slice;
	int ret;

	slice = list_first_entry_or_null(&asker->posted, struct te_slice, link);
	if (!answer->length) {
		ret = te_tcp_recv_frame(&asker->lane, answer);
		if (ret < 0) {
			answer->length = 0;
			return ret;
		}
		if (!slice || !asker_expects(asker, slice))
			return -EPROTO;
	}
	if (asker_gets(answer)) {
		ret = asker_fill(asker, slice);
		if (ret)
			return ret;
		if (asker->lane.near)
			te_tcp_near_settle(&asker->near, answer->tag);
		if (answer->crc_on && asker_crc(asker, slice) != answer->crc) {
			te_count(TE_NR_CRC_ERRORS, 1);
			answer->status = TE_WIRE_ERR_CRC;
		}
	}
	asker_done(asker, slice, te_wire_errno(answer->status), finished);
	asker_acknowledge(asker);
	answer->length = 0;
	return 1;
}

static void asker_ask(struct te_tcp_asker *asker, struct te_slice *slice)
{
	te_tcp_set_frame(&asker->lane, &(struct te_msg_lane) {
		.type = slice->task->op == TE_READ ? TE_WIRE_LANE_READ :
						     TE_WIRE_LANE_WRITE,
		.tag = slice->seq,
		.segment = slice->task->seg->handle,
		.mr_id = slice->rmr_id,
		.key = slice->rkey,
		.length = slice->len,
		.addr = slice->raddr,
		.crc_on = asker->crc,
		.crc = asker->crc && slice->task->op == TE_WRITE ?
		       asker_crc(asker, slice) : 0,
	});
	asker->tx_off = slice->task->op == TE_READ ? slice->len : 0;
}

static struct te_slice *asker_after(struct te_tcp_asker *asker,
				    struct te_slice *slice)
{
	return list_is_last(&slice->link, &asker->posted) ?
		NULL : list_next_entry(slice, link);
}

/* Bytes on the way, at most. */
static u64 asker_window(const struct te_tcp_asker *asker)
{
	if (asker->lane.near)
		return TE_TCP_NEAR_WINDOW;
	return asker->ep->ep.peer->own ? TE_TCP_OWN_WINDOW : U64_MAX;
}

/* May the slice be sent while @asked bytes are on the way? */
static bool asker_may(const struct te_tcp_asker *asker, u64 asked,
		      const struct te_slice *slice)
{
	return !asked || asked + slice->len <= asker_window(asker);
}

/* For te_tcp_send_pages(). */
static int asker_how(const struct te_tcp_asker *asker,
		     const struct te_slice *slice)
{
	if (asker->lane.near && slice->len < TE_TCP_LEND)
		return 0;
	return te_tcp_how(asker->ep->ep.peer, &asker->lane);
}

/* All that may be sent. Return: 0, -EAGAIN, or what ends the lane. */
static int asker_say(struct te_tcp_asker *asker)
{
	struct te_tcp_ep *tep = asker->ep;
	struct te_slice *slice, *after;
	u32 nr, bytes;
	bool more;
	int ret;

	while ((slice = asker->next)) {
		if (!asker_may(asker, asker->asked, slice))
			return -EAGAIN;
		after = asker_after(asker, slice);
		more = slice->task->op == TE_WRITE ||
		       (after && asker_may(asker, asker->asked + slice->len,
					   after));
		ret = te_tcp_send_frame(&asker->lane, more);
		if (ret)
			return ret;
		while (asker->tx_off < slice->len) {
			nr = te_slice_bvecs(slice, asker->tx_off,
					    asker->lane.bv, TE_TCP_BVECS,
					    &bytes);
			ret = te_tcp_send_pages(&asker->lane, nr, bytes,
						asker_how(asker, slice),
						&tep->ubuf);
			if (ret < 0)
				return ret;
			asker->tx_off += ret;
		}
		asker->asked += slice->len;
		/* Sent up to here; TCP needs no key of the region. */
		slice->lkey = READ_ONCE(tcp_sk(asker->lane.sock->sk)->write_seq);
		asker->next = after;
		if (after)
			asker_ask(asker, after);
	}
	return 0;
}

/* Return: 0 nothing more to do now, 1 its turn is over, or what ends it. */
static int asker_run(struct te_tcp_asker *asker, struct list_head *finished)
{
	u32 budget = TE_TCP_DEPTH;
	int ret = 0, said;

	/* Pairs with ep_connect_work(): is there a socket? */
	if (smp_load_acquire(&asker->state) == TE_TCP_DIALING)
		ret = asker_greet(asker);
	if (!ret && asker->state == TE_TCP_GREETING)
		ret = asker_welcomed(asker);
	if (ret || asker->state != TE_TCP_UP)
		return ret == -EAGAIN ? 0 : ret;

	do {
		ret = asker_hear(asker, finished);
	} while (ret > 0 && --budget);
	if (ret < 0 && ret != -EAGAIN)
		return ret;
	/* Answers make room for what is next. */
	said = asker_say(asker);
	if (said && said != -EAGAIN)
		return said;
	return ret == -EAGAIN ? 0 : ret;
}

/* What ended it, in words of the errno table. */
static int asker_errno(int error)
{
	if (error != -EPROTO && error != -EBADMSG)
		return te_sock_errno(error);
	te_count(TE_NR_SESSIONS_BROKEN, 1);
	return -EPROTO;
}

static void ep_run(struct te_tcp_ep *tep, struct list_head *finished)
{
	bool again = false;
	u32 i;
	int ret;

	for (i = 0; i < tep->nr_lanes; i++) {
		enum te_ep_state state = te_ep_state(&tep->ep);

		/* Closed, or about to be: hands off. */
		if (state != TE_EP_CONNECTING && state != TE_EP_READY)
			return;
		ret = asker_run(&tep->lanes[i], finished);
		again |= ret > 0;
		if (ret < 0) {
			ret = asker_errno(ret);
			tep->lanes[i].error = ret;
			te_ep_fail(&tep->ep, ret);
		}
	}
	if (again)
		ep_kick(tep);
}

u32 te_tcp_poll(struct te_mover *mover, struct list_head *finished)
{
	struct te_tcp_mover *tm = mover->xp;
	struct llist_node *nodes = llist_del_all(&tm->ready);
	struct te_tcp_ep *tep, *next;
	u32 n = 0;

	llist_for_each_entry_safe(tep, next, nodes, ready_node) {
		clear_bit(0, &tep->queued);
		/* Queued again by whatever comes from here on: cleared first. */
		smp_mb__after_atomic();
		ep_run(tep, finished);
		te_ep_put(&tep->ep);
		n++;
	}
	return n;
}

bool te_tcp_arm(struct te_mover *mover)
{
	struct te_tcp_mover *tm = mover->xp;

	return !llist_empty(&tm->ready);
}

static struct te_tcp_asker *idlest(struct te_tcp_ep *tep)
{
	struct te_tcp_asker *best = &tep->lanes[0];
	u32 i;

	for (i = 1; i < tep->nr_lanes; i++) {
		if (tep->lanes[i].nr < TE_TCP_DEPTH &&
		    (best->nr == TE_TCP_DEPTH ||
		     tep->lanes[i].bytes < best->bytes))
			best = &tep->lanes[i];
	}
	return best;
}

u32 te_tcp_ep_room(struct te_ep *ep)
{
	struct te_tcp_ep *tep = to_tcp_ep(ep);
	u32 room = 0, i;

	for (i = 0; i < tep->nr_lanes; i++) {
		const struct te_tcp_asker *asker = &tep->lanes[i];

		/* More would wait here only, where others do not have turns. */
		if (asker->bytes / 2 < asker_window(asker))
			room += TE_TCP_DEPTH - asker->nr;
	}
	return room;
}

void te_tcp_post(struct te_ep *ep, struct list_head *slices,
		 struct list_head *finished)
{
	struct te_tcp_ep *tep = to_tcp_ep(ep);
	struct te_slice *slice, *next;
	struct te_tcp_asker *asker;
	int ret;
	u32 i;

	list_for_each_entry_safe(slice, next, slices, link) {
		asker = idlest(tep);
		slice->seq = ++asker->tag;
		list_move_tail(&slice->link, &asker->posted);
		asker->nr++;
		asker->bytes += slice->len;
		if (!asker->next) {
			asker->next = slice;
			asker_ask(asker, slice);
		}
	}
	for (i = 0; i < tep->nr_lanes; i++) {
		ret = asker_say(&tep->lanes[i]);
		if (ret && ret != -EAGAIN) {
			tep->lanes[i].error = te_sock_errno(ret);
			te_ep_fail(ep, tep->lanes[i].error);
		}
	}
}

const struct te_slice *te_tcp_ep_stuck(struct te_ep *ep)
{
	struct te_tcp_ep *tep = to_tcp_ep(ep);
	struct te_slice *slice;
	u32 i;

	for (i = 0; i < tep->nr_lanes; i++) {
		list_for_each_entry(slice, &tep->lanes[i].posted, link) {
			if (te_task_doomed(slice->task))
				return slice;
		}
	}
	return NULL;
}

void te_tcp_ep_reap(struct te_ep *ep, struct list_head *finished)
{
	struct te_tcp_ep *tep = to_tcp_ep(ep);
	struct te_slice *slice, *next;
	u32 i;

	for (i = 0; i < tep->nr_lanes; i++) {
		struct te_tcp_asker *asker = &tep->lanes[i];
		int error = asker->error;

		list_for_each_entry_safe(slice, next, &asker->posted, link) {
			slice->error = error;
			slice->flushed = !error;
			list_move_tail(&slice->link, finished);
			error = 0;
		}
		asker->next = NULL;
	}
}

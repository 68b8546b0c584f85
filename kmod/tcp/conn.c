// SPDX-License-Identifier: GPL-2.0-only
/*
 * tcp/conn: the answering side: lanes of peers.
 *
 * A lane must begin with the token of a live session and its generation, else it
 * is told why and closed. From then on it is served by a work item, one request
 * at a time, in turn with others. Its region is looked up anew for each step of it
 * and held for that step only, so that a region which is revoked is out of reach at
 * once, whatever the peer does; but for what answers a READ and is on its way: that is
 * lent, see loan.c.
 *
 * With checksums the bytes of a WRITE are looked at again when all are in place, those
 * of a READ before the answer: bytes that change meanwhile do not match.
 *
 * What a request may not have is refused and costs nothing else: the bytes that
 * came with it are read and forgotten. What is not a request ends the lane.
 *
 * An endpoint that its peer has given up may have sent bytes that are still on their
 * way, while the next one sends those again. So a lane is welcome only when all of
 * earlier endpoints of the same dev are gone: nothing arrives by those any more. (What
 * is sent again by RDMA has no such barrier.)
 *
 * The peer's death and the work itself end a lane; it is gone when the work has
 * run for the last time, and all that it has lent is back.
 */
#include <linux/err.h>
#include <linux/net.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "event/count.h"
#include "fault/fault.h"
#include "tcp/tcp.h"
#include "wire/conn.h"

/* Lanes of all peers. */
#define TE_TCP_MAX_CONNS	16384

/* Where a lane is with its request. */
enum te_tcp_step {
	TE_TCP_START,		/* nobody knows of it yet */
	TE_TCP_REQUEST,		/* it comes */
	TE_TCP_TAKE,		/* WRITE: its bytes come */
	TE_TCP_DROP,		/* refused WRITE: its bytes come */
	TE_TCP_ANSWER,		/* the answer goes out */
	TE_TCP_GIVE,		/* READ: its bytes go out */
};

/* Lanes that have ended and wait for what they have lent; from then on copies go out. */
#define TE_TCP_MAX_LATE		256

/* te_tcp_conn.bits */
#define TE_TCP_CLOSING		0

/**
 * struct te_tcp_conn - a lane, answering side
 * @conn: on its peer's list
 * @lane: its socket
 * @ref: the work's, until the lane has ended, and one for each loan
 * @peer: whose it is; holds a reference
 * @bits: TE_TCP_CLOSING
 * @work: serves it, and frees it in the end
 * @dev_id: of the peer's dev
 * @number: of the peer's endpoint
 * @step: te_tcp_step; the work's, like all below
 * @req: request that is served
 * @off: bytes of it that have come or gone
 * @loan: what its bytes go out with; NULL: copies of them do
 * @how: see te_tcp_send_pages()
 * @nr_recalled: loans that are to end soon
 * @recall_work: ends the lane if they have not; references it
 * @near: the asking end, if that is here; until our socket is closed
 * @crc: its requests shall have checksums
 */
struct te_tcp_conn {
	struct te_conn conn;
	struct te_tcp_lane lane;
	struct kref ref;
	struct te_peer *peer;
	unsigned long bits;
	struct delayed_work work;
	u32 dev_id;
	u64 number;
	enum te_tcp_step step;
	struct te_msg_lane req;
	u32 off;
	struct te_tcp_loan *loan;
	int how;
	atomic_t nr_recalled;
	struct delayed_work recall_work;
	struct te_tcp_near *near;
	bool crc;
};

static atomic_t te_tcp_conns = ATOMIC_INIT(0);
static atomic_t te_tcp_late = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(te_tcp_conns_gone);

static void conn_kick(struct te_tcp_conn *tc)
{
	queue_delayed_work(te_tcp_conn_wq, &tc->work, 0);
}

static void conn_call(struct sock *sk)
{
	struct te_tcp_conn *tc;

	read_lock_bh(&sk->sk_callback_lock);
	tc = sk->sk_user_data;
	if (tc)
		conn_kick(tc);
	read_unlock_bh(&sk->sk_callback_lock);
}

/* Context: te_peer.lock or te_tcp_near.lock held. */
static void conn_kill(struct te_conn *conn)
{
	struct te_tcp_conn *tc = container_of(conn, struct te_tcp_conn, conn);

	set_bit(TE_TCP_CLOSING, &tc->bits);
	conn_kick(tc);
}

static void conn_destroy(struct te_tcp_conn *tc)
{
	te_peer_put(tc->peer);
	kfree(tc);
	te_count(TE_NR_CONNS, -1);
	if (atomic_dec_and_test(&te_tcp_conns))
		wake_up(&te_tcp_conns_gone);
}

/* By its work. Nobody is left that could queue it again. */
static void conn_release(struct kref *ref)
{
	struct te_tcp_conn *tc = container_of(ref, struct te_tcp_conn, ref);

	cancel_delayed_work(&tc->work);
	atomic_dec(&te_tcp_late);
	conn_destroy(tc);
}

/* By a loan's, or the recall's. The lane has ended. */
static void conn_release_late(struct kref *ref)
{
	struct te_tcp_conn *tc = container_of(ref, struct te_tcp_conn, ref);

	cancel_delayed_work_sync(&tc->work);
	atomic_dec(&te_tcp_late);
	conn_destroy(tc);
}

static void conn_settle_loan(struct te_tcp_conn *tc)
{
	if (tc->loan)
		te_tcp_loan_put(tc->loan);
	tc->loan = NULL;
	tc->how = 0;
}

/* From the work, which has nothing to do afterwards, should somebody queue it. */
static void conn_end(struct te_tcp_conn *tc)
{
	te_tcp_close(&tc->lane);
	te_peer_del_conn(tc->peer, &tc->conn);
	if (tc->near)
		te_tcp_near_put(tc->near);
	tc->near = NULL;
	conn_settle_loan(tc);
	/* Undone when it turns out to be the last, or by whoever is. */
	atomic_inc(&te_tcp_late);
	kref_put(&tc->ref, conn_release);
}

static void conn_recall_work(struct work_struct *work)
{
	struct te_tcp_conn *tc = container_of(work, struct te_tcp_conn,
					      recall_work.work);

	if (atomic_read(&tc->nr_recalled))
		conn_kill(&tc->conn);
	kref_put(&tc->ref, conn_release_late);
}

/* The peer may have it all, and not have said so yet. */
static void conn_loan_recall(void *owner)
{
	struct te_tcp_conn *tc = owner;

	atomic_inc(&tc->nr_recalled);
	kref_get(&tc->ref);
	/* The loan has a reference. */
	if (!queue_delayed_work(te_tcp_wq, &tc->recall_work, TE_TCP_RECALL))
		kref_put(&tc->ref, conn_release_late);
}

static void conn_loan_ended(void *owner, bool recalled)
{
	struct te_tcp_conn *tc = owner;

	if (recalled)
		atomic_dec(&tc->nr_recalled);
	kref_put(&tc->ref, conn_release_late);
}

static const struct te_tcp_loan_ops conn_loan_ops = {
	.recall = conn_loan_recall,
	.ended = conn_loan_ended,
};

static u32 refusal(long error)
{
	switch (error) {
	case -ENOENT:
		return TE_WIRE_ERR_GONE;
	default:
		return TE_WIRE_ERR_REFUSED;
	}
}

/*
 * The region of the request, for one step. Return: it, to be given back with
 * te_mr_put_remote(), or ERR_PTR: what the peer asked for it cannot have.
 */
static struct te_mr *conn_find_mr(struct te_tcp_conn *tc)
{
	const struct te_msg_lane *req = &tc->req;
	struct te_space *space;
	struct te_mr *mr;

	space = te_space_granted(tc->peer, req->segment);
	if (!space)
		return ERR_PTR(-ENOENT);
	mr = te_mr_find_remote(space, req->mr_id,
			       req->type == TE_WIRE_LANE_READ ? TE_REMOTE_READ :
								TE_REMOTE_WRITE,
			       req->addr, req->length);
	te_space_put(space);
	if (!IS_ERR(mr) && !te_tcp_key_fits(mr, req->key)) {
		te_mr_put_remote(mr);
		mr = ERR_PTR(-ENOENT);
	}
	return mr;
}

/* Of all bytes of the request, where they are now. */
static u32 conn_crc(struct te_tcp_conn *tc, struct te_mr *mr)
{
	const struct te_msg_lane *req = &tc->req;
	u32 off, nr, bytes, crc = 0;

	for (off = 0; off < req->length; off += bytes) {
		nr = te_mr_bvecs(mr, req->addr - mr->base + off,
				 req->length - off, tc->lane.bv, TE_TCP_BVECS,
				 &bytes);
		crc = te_tcp_crc_pages(&tc->lane, nr, crc);
	}
	return crc;
}

/* @crc: of the bytes that follow, if there shall be one. */
static void conn_answer(struct te_tcp_conn *tc, u32 status, u32 crc)
{
	bool gives = status == TE_WIRE_OK && tc->req.type == TE_WIRE_LANE_READ;

	te_tcp_set_frame(&tc->lane, &(struct te_msg_lane) {
		.type = tc->req.type + 1,
		.crc_on = gives && tc->req.crc_on,
		.tag = tc->req.tag,
		.status = status,
		.length = tc->req.length,
		.crc = crc,
	});
	tc->off = status == TE_WIRE_OK ? 0 : tc->req.length;
	tc->step = TE_TCP_ANSWER;
}

/* Strangers are told why, and nothing of us. Return: bytes, or -errno. */
static int hello_answer(struct socket *sock, u32 status, bool crc)
{
	struct te_msg_conn_reply msg = {
		.crc = crc,
		.status = status,
		.boot_gen = status == TE_WIRE_OK ? te_node.boot_gen : 0,
	};
	struct te_wire_conn_reply reply;

	te_wire_conn_reply_encode(&reply, &msg);
	return te_tcp_send(sock, &reply, sizeof(reply), false);
}

static bool conn_is_earlier(struct te_conn *conn, void *arg)
{
	struct te_tcp_conn *tc = container_of(conn, struct te_tcp_conn, conn);
	struct te_tcp_conn *than = arg;

	return conn->kill == conn_kill && tc->dev_id == than->dev_id &&
	       tc->number < than->number;
}

/* The steps. Return: bytes it cost, -EAGAIN, or what ends the lane. */

/*
 * Only here can others get hold of it, and end it: but that is done by this work,
 * which does not run twice at once. What has come already is read next.
 */
static int conn_begin(struct te_tcp_conn *tc)
{
	int ret;

	if (te_peer_error(tc->peer))
		return -ECONNRESET;
	if (te_peer_kill_conns(tc->peer, conn_is_earlier, tc)) {
		queue_delayed_work(te_tcp_conn_wq, &tc->work, 1);
		return -EAGAIN;
	}
	if (!te_peer_add_conn(tc->peer, &tc->conn)) {
		te_count(TE_NR_SESSIONS_REFUSED, 1);
		hello_answer(tc->lane.sock, TE_WIRE_ERR_LIMIT, false);
		return -ECONNRESET;
	}
	te_delay(TE_DELAY_CONN_PUBLISH);
	te_sock_own(tc->lane.sock, tc, conn_call);
	tc->near = te_tcp_near_find(tc->lane.sock, &tc->conn);
	tc->lane.near = tc->near;
	tc->step = TE_TCP_REQUEST;
	/* Nothing was sent yet: if there is no room for it, there is no memory. */
	ret = hello_answer(tc->lane.sock, TE_WIRE_OK, tc->crc);
	return ret == sizeof(struct te_wire_conn_reply) ? 0 : -ECONNRESET;
}

static int conn_request(struct te_tcp_conn *tc)
{
	struct te_mr *mr;
	u32 crc;
	int ret;

	ret = te_tcp_recv_frame(&tc->lane, &tc->req);
	if (ret < 0)
		return ret;
	if ((tc->req.type != TE_WIRE_LANE_READ &&
	     tc->req.type != TE_WIRE_LANE_WRITE) ||
	    (tc->crc && !tc->req.crc_on))
		return -EBADMSG;
	tc->off = 0;
	if (tc->req.type == TE_WIRE_LANE_WRITE) {
		tc->step = TE_TCP_TAKE;
		return sizeof(tc->lane.rx);
	}
	mr = conn_find_mr(tc);
	if (IS_ERR(mr)) {
		conn_answer(tc, refusal(PTR_ERR(mr)), 0);
		return sizeof(tc->lane.rx);
	}
	crc = tc->req.crc_on ? conn_crc(tc, mr) : 0;
	te_mr_put_remote(mr);
	conn_answer(tc, TE_WIRE_OK, crc);
	return sizeof(tc->lane.rx);
}

/* All bytes of a WRITE are in place. */
static void conn_taken(struct te_tcp_conn *tc, struct te_mr *mr)
{
	u32 status = TE_WIRE_OK;

	if (tc->req.crc_on && conn_crc(tc, mr) != tc->req.crc) {
		te_count(TE_NR_CRC_ERRORS, 1);
		status = TE_WIRE_ERR_CRC;
	}
	conn_answer(tc, status, 0);
}

static int conn_take(struct te_tcp_conn *tc)
{
	u32 left = tc->req.length - tc->off;
	struct te_mr *mr = conn_find_mr(tc);
	u32 nr, bytes;
	int ret;

	if (IS_ERR(mr)) {
		tc->req.status = refusal(PTR_ERR(mr));
		tc->step = TE_TCP_DROP;
		return 0;
	}
	nr = te_mr_bvecs(mr, tc->req.addr - mr->base + tc->off, left,
			 tc->lane.bv, TE_TCP_BVECS, &bytes);
	ret = te_tcp_recv_pages(&tc->lane, nr, bytes);
	if (ret > 0)
		tc->off += ret;
	if (tc->off == tc->req.length)
		conn_taken(tc, mr);
	te_mr_put_remote(mr);
	return ret;
}

static int conn_drop(struct te_tcp_conn *tc)
{
	int ret;

	ret = te_tcp_skip(&tc->lane, tc->req.length - tc->off);
	if (ret < 0)
		return ret;
	tc->off += ret;
	if (tc->off == tc->req.length)
		conn_answer(tc, tc->req.status, 0);
	return ret;
}

static int conn_say(struct te_tcp_conn *tc)
{
	bool gives = tc->req.type == TE_WIRE_LANE_READ &&
		     tc->off < tc->req.length;
	int ret;

	ret = te_tcp_send_frame(&tc->lane, gives);
	if (ret)
		return ret;
	tc->step = gives ? TE_TCP_GIVE : TE_TCP_REQUEST;
	return sizeof(tc->lane.tx);
}

/* For an answer that is long enough, if the socket may be given pages. */
static void conn_lend(struct te_tcp_conn *tc, struct te_mr *mr)
{
	int how = te_tcp_how(tc->peer, &tc->lane);

	if (tc->req.length < TE_TCP_LEND || !how ||
	    atomic_read(&te_tcp_late) >= TE_TCP_MAX_LATE)
		return;
	tc->loan = te_tcp_loan_make(mr, tc, &conn_loan_ops);
	if (!tc->loan)
		return;
	kref_get(&tc->ref);
	tc->how = how;
	/* There is nobody to read it any more. */
	if (tc->near && !te_tcp_near_lend(tc->near, tc->loan, tc->req.tag))
		conn_settle_loan(tc);
}

/* A region that went after the answer began cannot be taken back: end the lane. */
static int conn_give(struct te_tcp_conn *tc)
{
	u32 left = tc->req.length - tc->off;
	struct te_mr *mr = conn_find_mr(tc);
	u32 nr, bytes;
	int ret;

	if (IS_ERR(mr))
		return -ESTALE;
	nr = te_mr_bvecs(mr, tc->req.addr - mr->base + tc->off, left,
			 tc->lane.bv, TE_TCP_BVECS, &bytes);
	if (!tc->off && !tc->loan)
		conn_lend(tc, mr);
	ret = te_tcp_send_pages(&tc->lane, nr, bytes, tc->how,
				tc->loan ? &tc->loan->ubuf : NULL);
	te_mr_put_remote(mr);
	if (ret < 0)
		return ret;
	tc->off += ret;
	if (tc->off == tc->req.length) {
		conn_settle_loan(tc);
		tc->step = TE_TCP_REQUEST;
	}
	return ret;
}

static int conn_step(struct te_tcp_conn *tc)
{
	/*
	 * Who asked has given up: what it sent is sent again elsewhere, and must not
	 * overwrite what came after that. No asker closes one direction only.
	 */
	if (inet_sk_state_load(tc->lane.sock->sk) != TCP_ESTABLISHED)
		return -ECONNRESET;
	switch (tc->step) {
	case TE_TCP_START:
		return conn_begin(tc);
	case TE_TCP_REQUEST:
		return conn_request(tc);
	case TE_TCP_TAKE:
		return conn_take(tc);
	case TE_TCP_DROP:
		return conn_drop(tc);
	case TE_TCP_ANSWER:
		return conn_say(tc);
	case TE_TCP_GIVE:
		return conn_give(tc);
	}
	return -EPROTO;
}

/* Has a request begun, and not ended? What has come may not have been read. */
static bool conn_is_amid(const struct te_tcp_conn *tc)
{
	return tc->step > TE_TCP_REQUEST || tc->lane.rx_have ||
	       tcp_inq(tc->lane.sock->sk);
}

/* Who is to blame for its end: the peer, the network, or nobody. */
static void conn_account(struct te_tcp_conn *tc, int error)
{
	if (error == -EBADMSG) {
		te_count(TE_NR_SESSIONS_BROKEN, 1);
		pr_notice_ratelimited("te: lane of %pI6c: not what we speak\n",
				      &tc->peer->addr);
	} else if (error != -ESTALE && tc->step != TE_TCP_START &&
		   conn_is_amid(tc)) {
		te_count(TE_NR_SESSIONS_LOST, 1);
	}
}

static void conn_work(struct work_struct *work)
{
	struct te_tcp_conn *tc = container_of(work, struct te_tcp_conn,
					      work.work);
	u32 cost = 0;
	int ret;

	/* It has ended, and somebody was late. */
	if (!tc->lane.sock)
		return;
	while (cost < TE_TCP_BUDGET) {
		if (test_bit(TE_TCP_CLOSING, &tc->bits)) {
			conn_end(tc);
			return;
		}
		ret = conn_step(tc);
		if (ret == -EAGAIN)
			return;
		if (ret < 0) {
			conn_account(tc, ret);
			conn_end(tc);
			return;
		}
		cost += ret;
		cond_resched();
	}
	/* Others have their turn. */
	conn_kick(tc);
}

/* Return: TE_WIRE_OK with @peer referenced, or why not. */
static u32 hello_check(const void *buf, int len,
		       struct te_msg_conn_hello *hello, struct te_peer **peer)
{
	if (te_wire_conn_hello_decode(buf, len, hello) ||
	    hello->kind != TE_WIRE_CONN_LANE)
		return TE_WIRE_ERR_PROTO;
	if (atomic_read(&te_tcp_conns) >= TE_TCP_MAX_CONNS)
		return TE_WIRE_ERR_LIMIT;
	*peer = te_peer_find(hello->token);
	if (!*peer)
		return TE_WIRE_ERR_TOKEN;
	if ((*peer)->boot_gen != hello->boot_gen) {
		te_peer_put(*peer);
		return TE_WIRE_ERR_GENERATION;
	}
	return TE_WIRE_OK;
}

static struct te_tcp_conn *conn_create(struct te_peer *peer,
				       const struct te_msg_conn_hello *hello,
				       struct socket *sock)
{
	struct te_tcp_conn *tc;

	tc = kzalloc(sizeof(*tc), GFP_KERNEL);
	if (!tc)
		return NULL;
	kref_init(&tc->ref);
	tc->conn.kill = conn_kill;
	INIT_LIST_HEAD(&tc->conn.link);
	tc->peer = peer;
	INIT_DELAYED_WORK(&tc->work, conn_work);
	INIT_DELAYED_WORK(&tc->recall_work, conn_recall_work);
	tc->lane.sock = sock;
	tc->dev_id = hello->dev_id;
	tc->number = hello->number;
	tc->crc = READ_ONCE(te_tcp_crc);
	te_sock_save(sock, &tc->lane.calls);
	te_tcp_tune(&tc->lane);
	atomic_inc(&te_tcp_conns);
	te_count(TE_NR_CONNS, 1);
	return tc;
}

void te_tcp_accept(struct socket *sock)
{
	struct te_wire_conn_hello wire;
	struct te_msg_conn_hello hello;
	struct te_tcp_conn *tc = NULL;
	struct te_peer *peer;
	u32 status;
	int n;

	n = te_tcp_recv(sock, &wire, sizeof(wire));
	status = hello_check(&wire, max(n, 0), &hello, &peer);
	if (status == TE_WIRE_OK) {
		tc = conn_create(peer, &hello, sock);
		if (!tc) {
			te_peer_put(peer);
			status = TE_WIRE_ERR_NOMEM;
		}
	}
	/* From here on it is its work's, which welcomes it. */
	if (tc) {
		conn_kick(tc);
		return;
	}
	te_count(TE_NR_SESSIONS_REFUSED, 1);
	hello_answer(sock, status, false);
	sock_release(sock);
}

void te_tcp_wait_conns(void)
{
	wait_event(te_tcp_conns_gone, !atomic_read(&te_tcp_conns));
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tcp: data over TCP. One te_dev for the node, whose endpoints are a few lanes
 * each: connections to the listener of the peer's sessions.
 *
 *   dev.c   the dev and its movers
 *   lane.c  a lane's socket: headers and pages in and out, either side
 *   ep.c    asking: endpoints; the mover alone reads and writes their lanes
 *   conn.c  answering: lanes of peers; a work item each, one at a time
 *   loan.c  answering: regions whose pages are on their way
 *   near.c  lanes that lead from this node to itself
 *
 * A lane carries requests one way and answers the other, in the same order, see
 * struct te_wire_lane. What is sent is not copied, as a rule. The answer to a WRITE
 * says that the peer has read it all, and an endpoint that is given up is dead only
 * when no socket buffer on this node refers to a page of it (struct ubuf_info), or, for
 * one to the node itself, when nobody is left who could read one (near.c). After a good
 * answer a copy of a packet that TCP sent twice may still do, which the peer throws
 * away unseen. What answers a READ is lent by its region, which is not unregistered
 * before it has all back; so as not to wait for a peer for long, lanes that still hold
 * some after TE_TCP_RECALL end then.
 */
#ifndef TE_TCP_H
#define TE_TCP_H

#include <linux/bvec.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/sizes.h>
#include <linux/workqueue.h>

#include "endpoint/endpoint.h"
#include "sock/sock.h"
#include "wire/lane.h"
#include "wire/wire.h"
#include "xport/xport.h"

/* Module parameter: lanes of an endpoint, 1 to TE_TCP_MAX_LANES. */
extern unsigned int te_tcp_lanes;
/*
 * Module parameter: endpoints without work are closed after so many seconds; 0: never.
 * Another value counts from the next work of each on.
 */
extern unsigned int te_tcp_idle;
/* Of the listeners of this node; set before te_tcp_init(). */
extern unsigned short te_tcp_port;

/* Module parameter: checksums on lanes that connect from now on, both ways. */
extern bool te_tcp_crc;

#define TE_TCP_MAX_LANES	16U
/* Requests on the way on one lane. */
#define TE_TCP_DEPTH		64U
/*
 * Bytes on the way on one lane to the node itself, of more than one slice: what its CPUs
 * copy twice they find in their caches the second time when it is no more than that.
 * Pages that are sent themselves are copied once, but read and written.
 */
#define TE_TCP_OWN_WINDOW	SZ_256K
#define TE_TCP_NEAR_WINDOW	SZ_1M
/* What one lane may read or write before others get their turn. */
#define TE_TCP_BUDGET		SZ_1M
/* A slice with its tail, at any offset in its first page. */
#define TE_TCP_BVECS		(TE_WIRE_LANE_MAX / SZ_4K + 1)
/*
 * Shorter answers are copied: that costs less than a loan (msg_zerocopy.rst). So is what
 * is shorter within the node: that costs less than to keep its pages.
 */
#define TE_TCP_LEND		SZ_16K
/*
 * What is lent of a region that is being unregistered is to be back within: more than
 * the peer may put off saying what it has (TCP_DELACK_MAX, 200 ms).
 */
#define TE_TCP_RECALL		msecs_to_jiffies(250)
/* Unacknowledged for so long, a lane is lost. */
#define TE_TCP_UNACKED_MS	5000

/**
 * struct te_tcp_lane - a socket, and the frames that come and go
 * @sock: NULL: none yet, or not any more
 * @calls: its original callbacks
 * @rx: header that comes in
 * @rx_have: bytes of it
 * @tx: header that goes out
 * @tx_left: bytes of it that are not sent
 * @near: both its ends are here, see near.c
 * @bv: scratch: pages that bytes come from or go to
 *
 * Its user's alone.
 */
struct te_tcp_lane {
	struct socket *sock;
	struct te_sock_calls calls;
	struct te_wire_lane rx;
	u32 rx_have;
	struct te_wire_lane tx;
	u32 tx_left;
	bool near;
	struct bio_vec bv[TE_TCP_BVECS];
};

/* ---- lane.c. They never wait. -EAGAIN: the callback will tell. */
/**
 * te_tcp_send() - bytes of our own
 * @sock: connected
 * @buf: copied
 * @len: bytes
 * @more: others follow at once
 *
 * Return: bytes, -EAGAIN, or what the socket says.
 */
int te_tcp_send(struct socket *sock, const void *buf, u32 len, bool more);
/**
 * te_tcp_send_pages() - bytes in pages
 * @lane: the first @nr of its bv are the pages
 * @nr: of them
 * @len: bytes, in all of them
 * @how: 0: copied; else, where the device can gather, the pages themselves:
 *	MSG_ZEROCOPY: socket buffers that refer to them refer to @ubuf, too;
 *	MSG_SPLICE_PAGES: nobody knows how many do
 * @ubuf: for MSG_ZEROCOPY
 *
 * Return: bytes, -EAGAIN, or what the socket says.
 */
int te_tcp_send_pages(struct te_tcp_lane *lane, u32 nr, u32 len, int how,
		      struct ubuf_info *ubuf);
/*
 * How pages are sent that are worth it: MSG_SPLICE_PAGES on a near lane, MSG_ZEROCOPY to
 * another node. Copies, 0, are sent to a peer that says it is this node, and by a lane
 * that is not near; in namespaces of users, who may build queues as they like; with MTU
 * probing, which takes pages over without telling (tcp_mtu_probe()), whether it is on
 * for the namespace or still for the lane.
 */
int te_tcp_how(const struct te_peer *peer, const struct te_tcp_lane *lane);
/* Return: bytes, -EAGAIN, -ECONNRESET also for the end of the stream. */
int te_tcp_recv(struct socket *sock, void *buf, u32 len);
/* The same into the first @nr pages of @lane->bv. */
int te_tcp_recv_pages(struct te_tcp_lane *lane, u32 nr, u32 len);
/* CRC-32C of the first @nr pages of @lane->bv, behind @crc; begins with 0. */
u32 te_tcp_crc_pages(struct te_tcp_lane *lane, u32 nr, u32 crc);
/* Read and forget. */
int te_tcp_skip(struct te_tcp_lane *lane, u32 len);
/* Return: 1 with @msg, -EAGAIN, -EBADMSG, or what the socket says. */
int te_tcp_recv_frame(struct te_tcp_lane *lane, struct te_msg_lane *msg);
/* A frame is to go out; te_tcp_send_frame() until it returns 0. */
void te_tcp_set_frame(struct te_tcp_lane *lane, const struct te_msg_lane *msg);
int te_tcp_send_frame(struct te_tcp_lane *lane, bool more);
/* What is on its way is thrown away, and no callback comes any more. */
void te_tcp_close(struct te_tcp_lane *lane);
/* As all lanes are set up; connected, or about to be. */
void te_tcp_tune(struct te_tcp_lane *lane);

/**
 * struct te_tcp_mover - what a mover polls
 * @ready: te_tcp_ep.ready_node: something happened on one of its lanes
 */
struct te_tcp_mover {
	struct llist_head ready;
};

/* ---- dev.c */
/* Endpoints come and go; lanes of peers, which must not hold those up. */
extern struct workqueue_struct *te_tcp_wq;
extern struct workqueue_struct *te_tcp_conn_wq;
int te_tcp_init(void);
void te_tcp_exit(void);
/* Is it the one that the key was given for? The caller keeps the region. */
bool te_tcp_key_fits(struct te_mr *mr, u32 key);

/* ---- ep.c */
struct te_ep *te_tcp_ep_create(struct te_mover *mover, struct te_peer *peer,
			       const struct te_rdev *rdev);
void te_tcp_ep_free(struct te_ep *ep);
void te_tcp_ep_connect(struct te_ep *ep);
void te_tcp_ep_close(struct te_ep *ep);
void te_tcp_ep_reap(struct te_ep *ep, struct list_head *finished);
const struct te_slice *te_tcp_ep_stuck(struct te_ep *ep);
u32 te_tcp_ep_room(struct te_ep *ep);
void te_tcp_post(struct te_ep *ep, struct list_head *slices,
		 struct list_head *finished);
u32 te_tcp_poll(struct te_mover *mover, struct list_head *finished);
bool te_tcp_arm(struct te_mover *mover);

/* ---- loan.c */
/**
 * struct te_tcp_loan_ops - what the owner of a loan is told
 * @recall: the region is being unregistered: the pages are to be back soon, whatever
 *	the peer does; must not sleep
 * @ended: nobody will read the pages any more, and there is no recall from now on,
 *	but there may have been one; may sleep
 */
struct te_tcp_loan_ops {
	void (*recall)(void *owner);
	void (*ended)(void *owner, bool recalled);
};

/**
 * struct te_tcp_loan - a region's pages in socket buffers
 * @ubuf: referenced by those, or by the asking end of a lane within the node, and by
 *	the lane that answers until it has sent all
 * @loan: of the region
 * @recalled: the owner knows that it is to end
 * @owner: the lane, referenced
 * @ops: what it does
 * @work: ends the loan, where it may wait
 * @link: on te_tcp_near.loans
 * @tag: there: of the request
 */
struct te_tcp_loan {
	struct ubuf_info ubuf;
	struct te_mr_loan loan;
	bool recalled;
	void *owner;
	const struct te_tcp_loan_ops *ops;
	struct work_struct work;
	struct list_head link;
	u32 tag;
};

/**
 * te_tcp_loan_make() - pages of a region that will be on their way
 * @mr: the region; the caller keeps a reference meanwhile
 * @owner: for @ops; exists until te_tcp_loan_ops.ended
 * @ops: of the owner
 *
 * Context: may sleep.
 * Return: a loan for te_tcp_loan_put(), or NULL: no memory, or the region is going.
 */
struct te_tcp_loan *te_tcp_loan_make(struct te_mr *mr, void *owner,
				     const struct te_tcp_loan_ops *ops);
void te_tcp_loan_get(struct te_tcp_loan *loan);
/* Context: any. */
void te_tcp_loan_put(struct te_tcp_loan *loan);

/* ---- near.c */
/**
 * struct te_tcp_near - asking end of a lane that may lead to the node itself
 * @node: in the table, from te_tcp_near_add() to te_tcp_near_del()
 * @lane: has a socket meanwhile
 * @quiet: referenced by the answering end until its socket is closed
 * @found: by the answering end; set once, before that answers anything
 * @lock: protects all below; te_tcp_near_lock is taken outside of it
 * @conn: the answering end, until its socket is closed
 * @closed: the asking end's socket is
 * @loans: te_tcp_loan.link, referenced: what the asking end has not read yet
 */
struct te_tcp_near {
	struct hlist_node node;
	struct te_tcp_lane *lane;
	struct ubuf_info *quiet;
	bool found;
	spinlock_t lock; /* protects all below */
	struct te_conn *conn;
	bool closed;
	struct list_head loans;
};

/* The asking end's. */
void te_tcp_near_init(struct te_tcp_near *near, struct te_tcp_lane *lane,
		      struct ubuf_info *quiet);
/* Before the first byte is sent. */
void te_tcp_near_add(struct te_tcp_near *near);
/* Also if it was never added. From now on it is not found. */
void te_tcp_near_del(struct te_tcp_near *near);
/* All bytes of the answer to the request with @tag have been read. */
void te_tcp_near_settle(struct te_tcp_near *near, u32 tag);
/* After its socket is closed: nothing will be read any more. Ends the other end. */
void te_tcp_near_close(struct te_tcp_near *near);

/* The answering end's. */
/**
 * te_tcp_near_find() - the asking end that an accepted socket leads to
 * @sock: nothing was answered yet
 * @conn: the answering end: killed when the other one is closed
 *
 * Return: for te_tcp_near_put() when @sock is closed; NULL: it is not here, or in a
 * namespace of users, who may build queues as they like.
 */
struct te_tcp_near *te_tcp_near_find(struct socket *sock, struct te_conn *conn);
void te_tcp_near_put(struct te_tcp_near *near);
/**
 * te_tcp_near_lend() - pages of a region will be sent to the asking end
 * @near: the asking end
 * @loan: referenced until te_tcp_near_settle() with @tag, or te_tcp_near_close()
 * @tag: of the request that they answer; tags come in the order of requests
 *
 * Return: false: it is closed.
 */
bool te_tcp_near_lend(struct te_tcp_near *near, struct te_tcp_loan *loan,
		      u32 tag);

/* ---- conn.c */
/* For te_session_set_lane(). */
void te_tcp_accept(struct socket *sock);
/* All peers are dead: wait until their lanes are gone. */
void te_tcp_wait_conns(void);

#endif /* TE_TCP_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * session/priv: what the files of this room share; nobody else includes it.
 *
 *   session.c  te_session: its actor, what time brings, how it ends
 *   table.c    all te_sessions: made, found, counted, freed
 *   talk.c     who may say what when; hello, PING, BYE
 *   sock.c     te_sock: a socket, its callbacks, frames in and out
 *   listen.c   te_listener: accept and admission, one for each namespace
 *   open.c     te_open: the asking side of one open segment
 *   hear.c     what it is told
 *   serve.c    te_serve: the answering side of one open segment
 *   say.c      what it tells its peer
 *
 * The actor is a work item: everything of a session marked "actor" is touched by
 * it alone and needs no lock. It never waits for a peer. Others leave orders
 * under te_session.lock (or a bit) and kick.
 */
#ifndef TE_SESSION_PRIV_H
#define TE_SESSION_PRIV_H

#include <linux/jiffies.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "mem/mem.h"
#include "peer/peer.h"
#include "session/session.h"
#include "sock/sock.h"
#include "wire/wire.h"

struct sock;
struct socket;

/* From dialling or accepting until both have said hello. */
#define TE_SESSION_HELLO_MS	5000
/* Silence before a PING, and PINGs without an answer before it is lost. */
#define TE_SESSION_PING_MS	5000
#define TE_SESSION_MAX_PINGS	3
/* What TCP may keep unacknowledged: as long as the PINGs would take. */
#define TE_SESSION_UNACKED_MS	20000
/* Without any segment: the asking side hangs up, reopening is common. */
#define TE_SESSION_IDLE_MS	2000
/* The answering side leaves that to the asking one, but not for ever. */
#define TE_SESSION_SERVE_IDLE_MS	30000
/* ... unless nothing is exported any more. */
#define TE_SESSION_FADE_MS	500
/* No open segment, but requests go on: how often to look. */
#define TE_SESSION_POLL_MS	250
/* For the last bytes to get through and the peer to hang up. */
#define TE_SESSION_CLOSE_MS	1000
/* Connections without a hello; one more and the oldest must go. */
#define TE_SESSION_MAX_HALF_OPEN	64
/* Segments open over one session; for more the asking side dials another. */
#define TE_SESSION_MAX_SEGS	1024
/* Answering sessions of the node: what strangers can make us keep is bounded. */
#define TE_SESSION_MAX_ANSWERING	4096
/* Who answers hears SEG_OPEN at most, and says descriptions; and the reverse. */
#define TE_SESSION_SHORT_RX	512
#define TE_SESSION_SHORT_TX	1024
#define TE_SESSION_LONG_TX	16128
/* Frames per run of the actor, each direction; then others get their turn. */
#define TE_SESSION_RX_BUDGET	64
#define TE_SESSION_TX_BUDGET	256

extern struct workqueue_struct *te_session_wq;

/**
 * struct te_sock - a connected or connecting socket
 * @sock: NULL before dialling and after closing; holds its namespace
 * @kick: told of every event, in softirq context, until te_sock_close()
 * @calls: given back to the socket when we let go of it
 * @heard: something came since it was cleared
 * @rx_hdr: header of the frame that comes in
 * @rx_msg: the same, checked, once it is complete
 * @rx_have: bytes of header and payload that have come
 * @rx_room: bytes at @rx_buf
 * @rx_buf: payload
 * @tx_room: bytes at @tx_buf for all but the very last frame
 * @tx_len: bytes to send
 * @tx_off: of them sent
 * @tx_buf: whole frames
 *
 * Lives in its te_session; actor only, but for @kick.
 */
struct te_sock {
	struct socket *sock;
	void (*kick)(struct te_sock *ts);
	struct te_sock_calls calls;
	bool heard;
	struct te_wire_hdr rx_hdr;
	struct te_msg_hdr rx_msg;
	u32 rx_have;
	u32 rx_room;
	void *rx_buf;
	u32 tx_room;
	u32 tx_len;
	u32 tx_off;
	void *tx_buf;
};

int te_sock_init(struct te_sock *ts, void (*kick)(struct te_sock *ts));
void te_sock_destroy(struct te_sock *ts);
int te_sock_grow(struct te_sock *ts, u32 rx_room, u32 tx_room);
int te_sock_dial(struct te_sock *ts, struct net *net,
		 const struct te_session_addr *addr);
void te_sock_adopt(struct te_sock *ts, struct socket *sock,
		   const struct te_sock_calls *calls);
void te_sock_close(struct te_sock *ts);
int te_sock_recv(struct te_sock *ts, struct te_msg_hdr *msg);
int te_sock_discard(struct te_sock *ts);
int te_sock_peek(struct te_sock *ts, void *buf, u32 len);
struct socket *te_sock_take(struct te_sock *ts);
void *te_sock_reserve(struct te_sock *ts, u32 bytes, bool last);
u32 te_sock_left(const struct te_sock *ts);
void te_sock_push(struct te_sock *ts, u32 bytes);
int te_sock_flush(struct te_sock *ts);
void te_sock_shut(struct te_sock *ts);

/* States of a session, in the order of its life; CLOSING and DEAD are last. */
enum te_session_state {
	TE_SESSION_DIALING,	/* asking: no connection yet */
	TE_SESSION_GREETING,	/* asking: HELLO sent */
	TE_SESSION_ACCEPTED,	/* answering: no HELLO yet */
	TE_SESSION_ASKING,
	TE_SESSION_ANSWERING,
	TE_SESSION_CLOSING,	/* last words; nobody uses it any more */
	TE_SESSION_DEAD,	/* socket released */
};

/* te_session.bits, set by anyone. */
#define TE_SESSION_KICKED	0	/* the actor will run and has not begun */
#define TE_SESSION_STOP		1	/* the module goes away */
#define TE_SESSION_EVICT	2	/* others want to say hello too */
#define TE_SESSION_FADE		3	/* nothing is exported any more */

/**
 * struct te_session - a control connection
 * @ref: one for the table until DEAD, one for each te_open, and each caller
 * @bits: TE_SESSION_KICKED ...
 * @asking: we dialled
 * @net: holds a reference
 * @addr: of the peer
 * @link: in the table, protected by te_sessions_lock
 * @half_link: among those without a hello, protected by te_sessions_lock
 * @counted: as an answering one, protected by te_sessions_lock
 * @actor: runs the session
 * @free_work: frees it
 * @lock: protects the next eight, and what te_serve says
 * @closed: takes no orders any more
 * @nr_opens: places taken, each by a te_open
 * @orders: te_open that somebody wants something of
 * @news: te_serve whose space has news
 * @devs_news: there is news of devs
 * @devs_mapped: ids of devs that regions were mapped on since
 * @devs_gone: ids of devs that went since
 * @far_news: which devs are far from regions may have changed
 * @state: actor
 * @sock: actor
 * @peer: holds a reference; killed when the session goes down. Asking: there
 *	from the start; answering: from the hello. Actor, but asking ones read it
 * @page_shift: of the peer, actor
 * @features: TE_WIRE_FEAT_* that both have, actor
 * @deadline: of DIALING, GREETING, ACCEPTED and CLOSING, jiffies, actor
 * @quiet_since: when we heard or PINGed the peer last, jiffies, actor
 * @nr_pings: since we heard the peer, actor
 * @ping_due: actor
 * @pong_due: actor
 * @pong_stamp: of the last PING, actor
 * @idle: no segment since @idle_since, actor
 * @idle_since: jiffies, actor
 * @shut: CLOSING and everything is sent, actor
 * @opens: asking: te_open by cookie, actor
 * @asks: te_open to be asked for, actor
 * @closes: te_open to be closed, actor
 * @serves: answering: te_serve by handle, actor
 * @busy: te_serve with something to say, actor
 * @next_id: for xa_alloc_cyclic(), actor
 * @nr_segs: entries of @opens or @serves, actor
 * @nr_ended: of @serves, those whose SEG_GONE is said: only the peer has to let
 *	go of them, actor
 */
struct te_session {
	struct kref ref;
	unsigned long bits;
	bool asking;
	struct net *net;
	struct te_session_addr addr;
	struct list_head link;
	struct list_head half_link;
	bool counted;
	struct delayed_work actor;
	struct work_struct free_work;

	spinlock_t lock; /* protects closed, nr_opens, orders, news of all kinds */
	bool closed;
	u32 nr_opens;
	struct list_head orders;
	struct list_head news;
	bool devs_news;
	u32 devs_mapped;
	u32 devs_gone;
	bool far_news;

	enum te_session_state state;
	struct te_sock sock;
	struct te_peer *peer;
	u16 page_shift;
	u64 features;
	unsigned long deadline;
	unsigned long quiet_since;
	u32 nr_pings;
	bool ping_due;
	bool pong_due;
	u64 pong_stamp;
	bool idle;
	unsigned long idle_since;
	bool shut;

	struct xarray opens;
	struct list_head asks;
	struct list_head closes;
	struct xarray serves;
	struct list_head busy;
	u32 next_id;
	u32 nr_segs;
	u32 nr_ended;
};

/* session.c: actor */
void te_session_actor(struct work_struct *work);
void te_session_close(struct te_session *s, u32 code, int error);
void te_session_lost(struct te_session *s, int error);
void te_session_hand_over(struct te_session *s);
int te_session_tick(struct te_session *s);
unsigned long te_session_next(const struct te_session *s);

/* table.c */
struct te_session *te_session_find_or_dial(struct net *net,
					   const struct te_session_addr *addr,
					   bool *fresh);
void te_session_leave(struct te_session *s);
void te_session_accept(struct net *net, const struct te_session_addr *addr,
		       struct socket *sock, const struct te_sock_calls *calls);
bool te_session_crowded(void);
void te_session_fade(struct net *net, bool fade);
void te_session_kick(struct te_session *s);
void te_session_get(struct te_session *s);
void te_session_put(struct te_session *s);
/* ... and for the actor */
bool te_session_count_answering(struct te_session *s);
void te_session_leave_half_open(struct te_session *s);
void te_session_unlink(struct te_session *s);

/* talk.c: actor */
int te_session_dial(struct te_session *s);
bool te_session_may_hear(enum te_session_state state, u8 type);
int te_session_receive(struct te_session *s, bool *again);
int te_session_send(struct te_session *s, bool *again);
void te_session_last_words(struct te_session *s, u32 code);

/* listen.c */
void te_listen_resume(void);
void te_listen_exit(void);

/* open.c: actor, but te_session_open_segment() and te_session_close_segment() */
void te_open_obey(struct te_session *s);
int te_open_produce(struct te_session *s);
void te_open_fail_all(struct te_session *s, int error);

/* hear.c: actor */
int te_open_hear_opened(struct te_session *s, const void *buf, u32 len);
int te_open_hear_devs(struct te_session *s, const void *buf, u32 len);
int te_open_hear_mrs(struct te_session *s, const void *buf, u32 len);
int te_open_hear_keys(struct te_session *s, const void *buf, u32 len);
int te_open_hear_dev_keys(struct te_session *s, const void *buf, u32 len);
int te_open_hear_dev_gone(struct te_session *s, const void *buf, u32 len);
int te_open_hear_far(struct te_session *s, const void *buf, u32 len);
int te_open_hear_ready(struct te_session *s, const void *buf, u32 len);
int te_open_hear_mr_gone(struct te_session *s, const void *buf, u32 len);
int te_open_hear_gone(struct te_session *s, const void *buf, u32 len);

/* serve.c: actor */
void te_serve_obey(struct te_session *s);
int te_serve_produce(struct te_session *s);
void te_serve_drop_all(struct te_session *s);
int te_serve_hear_open(struct te_session *s, const void *buf, u32 len);
int te_serve_hear_close(struct te_session *s, const void *buf, u32 len);

#endif /* TE_SESSION_PRIV_H */

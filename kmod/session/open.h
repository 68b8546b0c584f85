/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * session/open: the asking side of one open segment, for open.c, which asks for it
 * and closes it, and hear.c, which takes in what is said of it. Nobody else includes
 * it.
 */
#ifndef TE_SESSION_OPEN_H
#define TE_SESSION_OPEN_H

#include "session/priv.h"

enum te_open_state {
	TE_OPEN_NEW,		/* the actor has not seen it */
	TE_OPEN_ASK,		/* on te_session.asks */
	TE_OPEN_ASKED,		/* SEG_OPEN sent */
	TE_OPEN_OPEN,		/* SEG_OPENED came */
	TE_OPEN_CLOSED,		/* SEG_CLOSE sent, SEG_GONE has not come */
};

/**
 * struct te_open - an open segment, asking side
 * @ref: one for te_seg.opened, one for the session, one on its orders
 * @lock: protects @seg, @session
 * @seg: holds a reference; NULL when closed or ended
 * @session: holds a reference; NULL when ended
 * @order: on te_session.orders, protected by te_session.lock
 * @unwanted: nothing uses it any more, protected by te_session.lock
 * @state: actor, like all below
 * @closing: the actor knows that it is unwanted
 * @gone: SEG_GONE has come
 * @link: on te_session.asks or te_session.closes
 * @cookie: our number, 0 before SEG_OPEN
 * @handle: the peer's number, from SEG_OPENED
 * @transport: TE_ANY ...
 * @name_len: bytes
 * @name: of the segment
 */
struct te_open {
	struct kref ref;
	spinlock_t lock; /* protects seg, session */
	struct te_seg *seg;
	struct te_session *session;
	struct list_head order;
	bool unwanted;

	enum te_open_state state;
	bool closing;
	bool gone;
	struct list_head link;
	u32 cookie;
	u32 handle;
	u32 transport;
	u16 name_len;
	u8 name[];
};

/* Its te_seg, with a reference, or NULL when nobody cares any more. */
struct te_seg *te_open_seg_get(struct te_open *o);
/* It has failed: who waits for it is told, what uses it is doomed. Actor. */
void te_open_fail_seg(struct te_open *o, int error);
/*
 * It has ended, or never began: the session lets go. Actor, or whoever made it
 * when the session never saw it.
 */
void te_open_drop(struct te_session *s, struct te_open *o);
/* SEG_CLOSE is due. Actor. */
void te_open_close(struct te_session *s, struct te_open *o);

#endif /* TE_SESSION_OPEN_H */

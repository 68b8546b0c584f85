// SPDX-License-Identifier: GPL-2.0-only
/*
 * session/open: the asking side of open segments: how they begin and end.
 *
 * A te_open ties a context's te_seg to a session. Two hold it: the te_seg, as long
 * as anything uses it, and the session, until the segment has ended on the wire or
 * the session is down. Whoever lets go first cuts the tie (under te_open.lock), so
 * neither waits for the other: a te_seg that outlives its session keeps nothing of
 * it, and the session none that the context has closed. SEG_CLOSE is said when the
 * last request is done: until then the peer serves it.
 *
 * The actor asks for segments and closes them; callers only leave orders. What is
 * said of them meanwhile is hear.c's.
 */
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/slab.h>

#include "session/open.h"
#include "xport/xport.h"

/* A session that was there may turn out stale: then find another, or dial. */
#define TE_OPEN_MAX_TRIES	3

static void open_release(struct kref *ref)
{
	kfree(container_of(ref, struct te_open, ref));
}

static void open_put(struct te_open *o)
{
	kref_put(&o->ref, open_release);
}

/* With two references: the te_seg's and the session's. Takes a place on @s. */
static struct te_open *open_create(struct te_session *s, struct te_seg *seg,
				   const char *name, size_t len)
{
	struct te_open *o;

	o = kzalloc(struct_size(o, name, len), GFP_KERNEL_ACCOUNT);
	if (!o)
		return NULL;
	kref_init(&o->ref);
	kref_get(&o->ref);
	spin_lock_init(&o->lock);
	te_seg_get(seg);
	o->seg = seg;
	te_session_get(s);
	o->session = s;
	INIT_LIST_HEAD(&o->order);
	INIT_LIST_HEAD(&o->link);
	o->transport = seg->transport;
	o->name_len = len;
	memcpy(o->name, name, len);
	return o;
}

struct te_seg *te_open_seg_get(struct te_open *o)
{
	struct te_seg *seg;

	spin_lock(&o->lock);
	seg = o->seg;
	if (seg)
		te_seg_get(seg);
	spin_unlock(&o->lock);
	return seg;
}

/* Nothing that is said of it from now on matters. */
static void open_forget_seg(struct te_open *o)
{
	struct te_seg *seg;

	spin_lock(&o->lock);
	seg = o->seg;
	o->seg = NULL;
	spin_unlock(&o->lock);
	if (seg)
		te_seg_put(seg);
}

/* Tasks that use it are doomed: whoever calls makes the movers look. */
static void open_fail_quietly(struct te_open *o, int error)
{
	struct te_seg *seg = te_open_seg_get(o);

	if (!seg)
		return;
	te_seg_fail(seg, error);
	te_seg_put(seg);
	open_forget_seg(o);
}

void te_open_fail_seg(struct te_open *o, int error)
{
	open_fail_quietly(o, error);
	te_xport_scan();
}

void te_open_drop(struct te_session *s, struct te_open *o)
{
	list_del_init(&o->link);
	if (o->cookie) {
		xa_erase(&s->opens, o->cookie);
		s->nr_segs--;
	}
	open_forget_seg(o);
	spin_lock(&o->lock);
	o->session = NULL;
	spin_unlock(&o->lock);
	te_session_leave(s);
	te_session_put(s);
	open_put(o);
}

/* Return: 0, -ESHUTDOWN the session takes no orders any more. */
static int open_order(struct te_session *s, struct te_open *o, bool unwanted)
{
	int ret = 0;

	spin_lock(&s->lock);
	o->unwanted = unwanted;
	if (s->closed) {
		ret = -ESHUTDOWN;
	} else if (list_empty(&o->order)) {
		kref_get(&o->ref);
		list_add_tail(&o->order, &s->orders);
	}
	spin_unlock(&s->lock);
	if (!ret)
		te_session_kick(s);
	return ret;
}

/* Next order, with its reference. */
static struct te_open *open_next_order(struct te_session *s, bool *unwanted)
{
	struct te_open *o;

	spin_lock(&s->lock);
	o = list_first_entry_or_null(&s->orders, struct te_open, order);
	if (o) {
		list_del_init(&o->order);
		*unwanted = o->unwanted;
	}
	spin_unlock(&s->lock);
	return o;
}

void te_open_close(struct te_session *s, struct te_open *o)
{
	if (list_empty(&o->link))
		list_add_tail(&o->link, &s->closes);
}

static void open_obey_close(struct te_session *s, struct te_open *o)
{
	o->closing = true;
	switch (o->state) {
	case TE_OPEN_NEW:
	case TE_OPEN_ASK:
		te_open_drop(s, o);
		break;
	case TE_OPEN_OPEN:
		te_open_close(s, o);
		break;
	case TE_OPEN_ASKED:	/* when SEG_OPENED comes */
	case TE_OPEN_CLOSED:
		break;
	}
}

/* Take the orders that others have left. Actor. */
void te_open_obey(struct te_session *s)
{
	struct te_open *o;
	bool unwanted;

	while ((o = open_next_order(s, &unwanted))) {
		/* Ended since: the tie is cut already. */
		if (!READ_ONCE(o->session)) {
			open_put(o);
			continue;
		}
		if (unwanted) {
			open_obey_close(s, o);
		} else if (o->state == TE_OPEN_NEW) {
			o->state = TE_OPEN_ASK;
			list_add_tail(&o->link, &s->asks);
		}
		open_put(o);
	}
}

/* The session is down and takes no orders any more. Actor. */
void te_open_fail_all(struct te_session *s, int error)
{
	struct te_open *o, *next;
	unsigned long cookie;

	te_open_obey(s);
	list_for_each_entry_safe(o, next, &s->asks, link) {
		open_fail_quietly(o, error);
		te_open_drop(s, o);
	}
	xa_for_each(&s->opens, cookie, o) {
		open_fail_quietly(o, error);
		te_open_drop(s, o);
		cond_resched();
	}
	te_xport_scan();
}

static int open_say_close(struct te_session *s, struct te_open *o)
{
	void *buf;
	u32 n;

	buf = te_sock_reserve(&s->sock,
			      TE_WIRE_FRAME(sizeof(struct te_wire_seg_end)),
			      false);
	if (!buf)
		return -ENOBUFS;
	n = te_wire_seg_end_encode(buf, TE_WIRE_SEG_CLOSE, o->handle, 0);
	te_sock_push(&s->sock, n);
	list_del_init(&o->link);
	o->state = TE_OPEN_CLOSED;
	if (o->gone)
		te_open_drop(s, o);
	return n;
}

static int open_say_open(struct te_session *s, struct te_open *o)
{
	struct te_msg_seg_open msg = {
		.transport = o->transport,
		.name = o->name,
		.name_len = o->name_len,
	};
	u32 cookie;
	void *buf;
	u32 n;
	int ret;

	buf = te_sock_reserve(&s->sock,
			      TE_WIRE_FRAME(sizeof(struct te_wire_seg_open) +
					    o->name_len), false);
	if (!buf)
		return -ENOBUFS;
	/* It writes the number also when it fails: not to o->cookie. */
	ret = xa_alloc_cyclic(&s->opens, &cookie, o, xa_limit_31b,
			      &s->next_id, GFP_KERNEL);
	if (ret < 0) {
		te_open_fail_seg(o, -ENOMEM);
		te_open_drop(s, o);
		return -EAGAIN;
	}
	s->nr_segs++;
	list_del_init(&o->link);
	o->cookie = cookie;
	msg.cookie = cookie;
	n = te_wire_seg_open_encode(buf, &msg);
	te_sock_push(&s->sock, n);
	o->state = TE_OPEN_ASKED;
	return n;
}

/*
 * Next frame: closing first, since that makes room for the others. Actor.
 * Return: bytes, 0 nothing to say, -ENOBUFS flush first, -EAGAIN call again.
 */
int te_open_produce(struct te_session *s)
{
	struct te_open *o;

	o = list_first_entry_or_null(&s->closes, struct te_open, link);
	if (o)
		return open_say_close(s, o);
	o = list_first_entry_or_null(&s->asks, struct te_open, link);
	return o ? open_say_open(s, o) : 0;
}

/* To what te_session_open_segment() may return. */
static int open_errno(int error)
{
	switch (error) {
	case -ESTALE:		/* went while it was described */
		return -ENOENT;
	case -ESHUTDOWN:
		return -ECONNRESET;
	default:
		return error;
	}
}

/* Wait until @seg is READY or has failed. */
static int open_wait(struct te_seg *seg, unsigned long end)
{
	unsigned long now = jiffies;
	int error = 0;
	long left;

	left = time_before(now, end) ? end - now : 0;
	left = wait_for_completion_interruptible_timeout(&seg->settled, left);
	if (left < 0)
		return -EINTR;
	if (!left)
		return -ETIMEDOUT;
	mutex_lock(&seg->lock);
	if (seg->state == TE_SEG_GONE)
		error = seg->error;
	mutex_unlock(&seg->lock);
	return error;
}

/*
 * Nobody uses the segment any more, its last request neither: only now may the peer
 * forget what we have open. Context: work item.
 */
static void open_ended(struct te_open *o)
{
	struct te_session *s;

	spin_lock(&o->lock);
	s = o->session;
	if (s)
		te_session_get(s);
	spin_unlock(&o->lock);

	/* Too late is fine: the session is down, and all ends with it. */
	if (s) {
		open_order(s, o, true);
		te_session_put(s);
	}
	open_put(o);
}

/*
 * Over this session, on which a place is ours. Return: the segment, or ERR_PTR,
 * -ESHUTDOWN: too late.
 */
static struct te_seg *open_over(struct te_session *s, const char *name,
				size_t len, u32 transport, unsigned long end)
{
	struct te_open *o;
	struct te_seg *seg;
	int ret;

	seg = te_seg_create(s->peer, transport);
	if (IS_ERR(seg)) {
		te_session_leave(s);
		return seg;
	}
	o = open_create(s, seg, name, len);
	if (!o) {
		te_session_leave(s);
		te_seg_put(seg);
		return ERR_PTR(-ENOMEM);
	}
	seg->opened = o;
	seg->ended = open_ended;

	ret = open_order(s, o, false);
	if (ret)
		te_open_drop(s, o);
	else
		ret = open_wait(seg, end);
	if (ret) {
		te_session_close_segment(seg);
		te_seg_put(seg);
		return ERR_PTR(ret);
	}
	return seg;
}

/* May an older session have been the reason? */
static bool open_may_retry(long error)
{
	return error == -ESHUTDOWN || error == -ECONNRESET ||
	       error == -ETIMEDOUT;
}

struct te_seg *te_session_open_segment(struct net *net,
				       const struct te_session_addr *addr,
				       const char *name, size_t len,
				       u32 transport, unsigned int timeout_ms)
{
	unsigned long end = jiffies + msecs_to_jiffies(timeout_ms);
	struct te_session *s;
	struct te_seg *seg;
	int tries = 0;
	bool fresh;

	do {
		s = te_session_find_or_dial(net, addr, &fresh);
		if (IS_ERR(s))
			return ERR_CAST(s);
		seg = open_over(s, name, len, transport, end);
		/* It went down before it took the order: it knows why. */
		if (fresh && seg == ERR_PTR(-ESHUTDOWN))
			seg = ERR_PTR(te_peer_error(s->peer) ?: -ECONNRESET);
		te_session_put(s);
	} while (IS_ERR(seg) && !fresh && open_may_retry(PTR_ERR(seg)) &&
		 ++tries < TE_OPEN_MAX_TRIES && time_before(jiffies, end));

	return IS_ERR(seg) ? ERR_PTR(open_errno(PTR_ERR(seg))) : seg;
}

void te_session_close_segment(struct te_seg *seg)
{
	open_forget_seg(seg->opened);
}

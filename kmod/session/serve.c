// SPDX-License-Identifier: GPL-2.0-only
/*
 * session/serve: the answering side of open segments: how they begin and end, and
 * what they take note of.
 *
 * A te_serve describes one exported space to one peer and then follows it. It
 * belongs to its session's actor and dies when both SEG_CLOSE was heard and
 * SEG_GONE was said, when opening failed, or with the session. Regions that went
 * are noted by id, of devs what came and went; say.c makes frames of it.
 *
 * The space calls back under its lock. That only notes things down under
 * te_session.lock and kicks; te_space_unwatch() waits for a call that runs.
 */
#include <linux/bitops.h>
#include <linux/err.h>
#include <linux/slab.h>

#include "event/count.h"
#include "session/serve.h"

static_assert(TE_WIRE_MAX_NAME == TE_MAX_NAME);
static_assert(TE_WIRE_MAX_TOKEN == TE_MAX_TOKEN);

static void serve_news_locked(struct te_serve *v)
{
	lockdep_assert_held(&v->session->lock);
	if (list_empty(&v->news))
		list_add_tail(&v->news, &v->session->news);
}

void te_serve_redo_locked(struct te_serve *v, u32 id)
{
	lockdep_assert_held(&v->session->lock);
	/* A batch cannot fill it; ids that wrap could, in two thousand million. */
	if (v->nr_redo < TE_SERVE_MAX_REDO)
		v->redo[v->nr_redo++] = id;
}

/* Context: te_space.lock held. */
static void serve_mr_news(struct te_watch *watch, u32 mr_id, bool gone)
{
	struct te_serve *v = container_of(watch, struct te_serve, watch);
	struct te_session *s = v->session;

	spin_lock(&s->lock);
	if (!gone && mr_id >= v->cursor) {
		v->came = true;
	} else if (!gone) {
		/* Ids have wrapped. */
		te_serve_redo_locked(v, mr_id);
	} else if (v->nr_went < TE_SERVE_MAX_WENT) {
		v->went[v->nr_went++] = mr_id;
	} else {
		v->sweep = true;
	}
	serve_news_locked(v);
	spin_unlock(&s->lock);
	te_session_kick(s);
}

/* Context: te_space.lock held; the watch is off the space. */
static void serve_space_gone(struct te_watch *watch)
{
	struct te_serve *v = container_of(watch, struct te_serve, watch);
	struct te_session *s = v->session;

	spin_lock(&s->lock);
	v->dead = true;
	serve_news_locked(v);
	spin_unlock(&s->lock);
	te_session_kick(s);
}

/* No news come afterwards. */
static void serve_leave_space(struct te_serve *v)
{
	if (!v->space)
		return;
	te_space_unwatch(v->space, &v->watch);
	te_space_revoke(v->session->peer, v->handle);
	te_space_put(v->space);
	v->space = NULL;
}

void te_serve_destroy(struct te_serve *v)
{
	struct te_session *s = v->session;

	serve_leave_space(v);
	spin_lock(&s->lock);
	list_del_init(&v->news);
	spin_unlock(&s->lock);
	list_del(&v->busy);
	xa_erase(&s->serves, v->handle);
	s->nr_segs--;
	if (v->gone_said)
		s->nr_ended--;
	kfree(v);
}

static struct te_serve *serve_create(struct te_session *s, u32 cookie)
{
	struct te_serve *v;

	v = kzalloc(sizeof(*v), GFP_KERNEL);
	if (!v)
		return NULL;
	if (xa_alloc_cyclic(&s->serves, &v->handle, v, xa_limit_31b,
			    &s->next_id, GFP_KERNEL) < 0) {
		kfree(v);
		return NULL;
	}
	s->nr_segs++;
	v->watch.mr_news = serve_mr_news;
	v->watch.space_gone = serve_space_gone;
	INIT_LIST_HEAD(&v->watch.link);
	v->session = s;
	INIT_LIST_HEAD(&v->news);
	v->cookie = cookie;
	v->devs_due = true;
	v->walking = true;
	/* There is something to say from the start. */
	list_add_tail(&v->busy, &s->busy);
	return v;
}

static void serve_busy(struct te_serve *v)
{
	if (list_empty(&v->busy))
		list_add_tail(&v->busy, &v->session->busy);
}

/* Find and follow the space. Return: TE_WIRE_*. */
static u32 serve_open(struct te_serve *v, const struct te_msg_seg_open *msg)
{
	struct te_space *space;

	if (msg->token_len)
		return TE_WIRE_ERR_UNSUPPORTED;
	space = te_space_find(v->session->net, msg->name, msg->name_len);
	if (IS_ERR(space))
		return TE_WIRE_ERR_NOENT;
	if (te_space_watch(space, &v->watch)) {
		te_space_put(space);
		return TE_WIRE_ERR_NOENT;
	}
	v->space = space;
	if (te_space_grant(space, v->session->peer, v->handle)) {
		serve_leave_space(v);
		return TE_WIRE_ERR_NOMEM;
	}
	return TE_WIRE_OK;
}

int te_serve_hear_open(struct te_session *s, const void *buf, u32 len)
{
	struct te_msg_seg_open msg;
	struct te_serve *v;
	int ret;

	ret = te_wire_seg_open_decode(buf, len, &msg);
	if (ret)
		return ret;
	if (s->nr_segs == TE_SESSION_MAX_SEGS) {
		te_count(TE_NR_SESSIONS_BROKEN, 1);
		te_session_close(s, TE_WIRE_ERR_LIMIT, -ECONNRESET);
		return 0;
	}
	v = serve_create(s, msg.cookie);
	if (!v)
		return -ENOMEM;
	v->status = serve_open(v, &msg);
	return 0;
}

/* The end has begun; what is not said yet need not be said. */
static void serve_end(struct te_serve *v, u32 code)
{
	if (v->end_code == TE_WIRE_OK)
		v->end_code = code;
	serve_leave_space(v);
	serve_busy(v);
}

int te_serve_hear_close(struct te_session *s, const void *buf, u32 len)
{
	u32 handle, reason;
	struct te_serve *v;
	int ret;

	ret = te_wire_seg_end_decode(buf, len, TE_WIRE_SEG_CLOSE, &handle,
				     &reason);
	if (ret)
		return ret;
	v = xa_load(&s->serves, handle);
	if (!v || !v->opened_said || v->close_heard)
		return -EPROTO;
	v->close_heard = true;
	if (v->gone_said)
		te_serve_destroy(v);
	else
		serve_end(v, TE_WIRE_ERR_CLOSED);
	return 0;
}

/* From the first region on: what was said of keys is said once more. */
void te_serve_rekey(struct te_serve *v, u32 devs)
{
	if (!devs)
		return;
	v->rekey |= devs;
	v->rekey_id = 0;
	v->rekey_devs = 0;
}

void te_serve_refar(struct te_serve *v)
{
	/* Those that are described later are told of then. */
	v->refar = v->cursor && v->session->features & TE_WIRE_FEAT_FAR;
	v->far_id = 0;
}

static void serve_obey_far(struct te_session *s)
{
	unsigned long handle;
	struct te_serve *v;
	bool news;

	spin_lock(&s->lock);
	news = s->far_news;
	s->far_news = false;
	spin_unlock(&s->lock);
	if (!news)
		return;
	xa_for_each(&s->serves, handle, v) {
		if (v->end_code != TE_WIRE_OK || v->status != TE_WIRE_OK)
			continue;
		te_serve_refar(v);
		serve_busy(v);
	}
}

static void serve_obey_devs(struct te_session *s)
{
	unsigned long handle;
	u32 mapped, gone;
	struct te_serve *v;
	bool news;

	spin_lock(&s->lock);
	news = s->devs_news;
	mapped = s->devs_mapped;
	gone = s->devs_gone;
	s->devs_news = false;
	s->devs_mapped = 0;
	s->devs_gone = 0;
	spin_unlock(&s->lock);
	if (!news || !(s->features & TE_WIRE_FEAT_DEV_NEWS))
		return;
	xa_for_each(&s->serves, handle, v) {
		if (v->end_code != TE_WIRE_OK || v->status != TE_WIRE_OK)
			continue;
		v->devs_due = true;
		v->devs_gone |= gone & v->dev_mask;
		te_serve_rekey(v, mapped & v->dev_mask);
		serve_busy(v);
	}
}

/* Take note of who has news. Actor. */
void te_serve_obey(struct te_session *s)
{
	struct te_serve *v;
	bool dead;

	serve_obey_devs(s);
	serve_obey_far(s);
	for (;;) {
		spin_lock(&s->lock);
		v = list_first_entry_or_null(&s->news, struct te_serve, news);
		if (v) {
			list_del_init(&v->news);
			dead = v->dead;
			if (v->came)
				v->walking = true;
			v->came = false;
		}
		spin_unlock(&s->lock);
		if (!v)
			return;
		if (dead && !v->gone_said)
			serve_end(v, TE_WIRE_ERR_GONE);
		else if (!v->gone_said)
			serve_busy(v);
	}
}

/* The session is down. Actor. */
void te_serve_drop_all(struct te_session *s)
{
	struct te_serve *v;
	unsigned long handle;

	xa_for_each(&s->serves, handle, v)
		te_serve_destroy(v);
}

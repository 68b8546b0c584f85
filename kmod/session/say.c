// SPDX-License-Identifier: GPL-2.0-only
/*
 * session/say: what an answering segment tells its peer, and in which order.
 *
 * Nothing is queued for a slow peer: what to say next is worked out when there is
 * room for it, from a cursor over the space's regions and a short list of ids that
 * went. Runs in the session's actor only.
 *
 * Regions that come need no list: ids only grow, so the cursor will get there.
 * When the list of those that went is full all ids behind the cursor are compared
 * with the space once ("sweep"). What has gone is told before what comes after it,
 * so a peer never sees two regions overlap.
 *
 * Devs that came or changed are described again, all that are up; regions behind
 * the cursor are walked once more for their keys on those that are new, or that
 * some were mapped on only later ("rekey"), and for what is far from them ("refar"),
 * as it is when an admin loads another matrix. All of that is worked out from what
 * is there when it is said: changes that come quickly are told as one.
 */
#include <linux/bitops.h>
#include <linux/err.h>
#include <linux/slab.h>

#include "session/serve.h"
#include "xport/xport.h"

/* Ranges in one SEG_MR_GONE. */
#define TE_SERVE_RANGES		64
/* Regions looked at by one call of a sweep. */
#define TE_SERVE_SWEEP		256
/* Regions in one SEG_FAR. */
#define TE_SERVE_FARS		64
/* Keys read at once. */
#define TE_SERVE_KEYS		64
/* Least room for a frame: all devs of a node is the longest but for keys. */
#define TE_SERVE_ROOM							\
	TE_WIRE_FRAME(sizeof(struct te_wire_seg_array) +		\
		      TE_WIRE_MAX_DEVS * sizeof(struct te_wire_dev))

static_assert(TE_WIRE_MAX_DEVS == TE_MAX_DEVS);
static_assert(TE_SERVE_ROOM >=
	      TE_WIRE_FRAME(sizeof(struct te_wire_seg_array) +
			    TE_SERVE_RANGES * sizeof(struct te_wire_range)));
static_assert(TE_SERVE_ROOM >=
	      TE_WIRE_FRAME(sizeof(struct te_wire_seg_array) +
			    TE_SERVE_FARS * sizeof(struct te_wire_far)));
static_assert(TE_SERVE_FARS >= TE_SERVE_BATCH);
static_assert(TE_SERVE_ROOM >=
	      TE_WIRE_FRAME(sizeof(struct te_wire_seg_array) +
			    TE_SERVE_BATCH * sizeof(struct te_wire_mr)));
static_assert(TE_SERVE_ROOM >=
	      TE_WIRE_FRAME(sizeof(struct te_wire_seg_dev_keys) +
			    TE_SERVE_KEYS * sizeof(__le32)));

static int serve_say_opened(struct te_serve *v, void *buf)
{
	v->opened_said = true;
	return te_wire_seg_opened_encode(buf, &(struct te_msg_seg_opened) {
		.cookie = v->cookie,
		.status = v->status,
		.handle = v->status == TE_WIRE_OK ? v->handle : 0,
	});
}

/* Does the peer understand what it is, and can it use it? */
static bool serve_tells_dev(const struct te_session *s,
			    const struct te_rdev *rdev)
{
	if (rdev->transport == TE_RDMA)
		return true;
	if (!(s->features & TE_WIRE_FEAT_TRANSPORTS))
		return false;
	return rdev->transport == TE_TCP || s->peer->own;
}

static u8 wire_transport(const struct te_rdev *rdev)
{
	switch (rdev->transport) {
	case TE_TCP:
		return TE_WIRE_DEV_TCP;
	case TE_LOCAL:
		return TE_WIRE_DEV_LOCAL;
	default:
		return TE_WIRE_DEV_RDMA;
	}
}

static int serve_say_devs(struct te_serve *v, void *buf)
{
	u32 id, i, nr, n = 0, mask = 0;
	struct te_msg_dev dev;
	struct te_rdev *rdevs;

	rdevs = kmalloc_array(TE_MAX_DEVS, sizeof(*rdevs), GFP_KERNEL);
	if (!rdevs)
		return -ENOMEM;
	nr = te_dev_describe(rdevs, TE_MAX_DEVS);
	/* By ascending id, each once: the peer relies on it. */
	for (id = 0; id < TE_MAX_DEVS; id++) {
		for (i = 0; i < nr && rdevs[i].dev_id != id; i++)
			;
		if (i == nr || !serve_tells_dev(v->session, &rdevs[i]))
			continue;
		dev = (struct te_msg_dev) {
			.addr = rdevs[i].addr,
			.port = rdevs[i].port,
			.chunk_shift = rdevs[i].chunk_shift,
			.dev_id = id,
			.numa_node = rdevs[i].numa_node,
			.transport = wire_transport(&rdevs[i]),
			.mtu = rdevs[i].mtu,
		};
		te_wire_dev_set(buf, n++, &dev);
		mask |= BIT(id);
	}
	kfree(rdevs);
	te_serve_rekey(v, mask & ~v->dev_mask);
	te_serve_refar(v);
	v->dev_mask |= mask;
	v->devs_due = false;
	v->ready_said = false;
	return te_wire_seg_array_encode(buf, TE_WIRE_SEG_DEVS, v->cookie, n);
}

static int serve_say_dev_gone(struct te_serve *v, void *buf)
{
	u32 gone = v->devs_gone;

	v->devs_gone = 0;
	v->dev_mask &= ~gone;
	v->rekey &= ~gone;
	v->rekey_devs &= ~gone;
	v->rekey_first = 0;
	return te_wire_seg_dev_gone_encode(buf, v->cookie, gone);
}

/* Regions went since we looked? Then that is to be told first. */
static bool serve_has_went(struct te_serve *v)
{
	bool ret;

	spin_lock(&v->session->lock);
	ret = v->nr_went || v->sweep;
	spin_unlock(&v->session->lock);
	return ret;
}

static void serve_set_cursor(struct te_serve *v, u32 cursor)
{
	spin_lock(&v->session->lock);
	v->cursor = cursor;
	spin_unlock(&v->session->lock);
}

static int serve_say_batch(struct te_serve *v, void *buf)
{
	u32 i;

	for (i = 0; i < v->nr_batch; i++) {
		struct te_mr_desc *desc = &v->batch[i];

		/* A dev that came later the peer does not know. */
		desc->dev_mask &= v->dev_mask;
		te_wire_mr_set(buf, i, &(struct te_msg_mr) {
			.base = desc->base,
			.length = desc->length,
			.id = desc->id,
			.access = desc->access,
			.page_off = desc->page_off,
			.dev_mask = desc->dev_mask,
		});
	}
	v->far_due = v->session->features & TE_WIRE_FEAT_FAR;
	v->at = 0;
	v->key_devs = v->batch[0].dev_mask;
	v->key_first = 0;
	return te_wire_seg_array_encode(buf, TE_WIRE_SEG_MRS, v->cookie,
					v->nr_batch);
}

/* Next regions. Return: bytes, 0 none left, -EAGAIN look again. */
static int serve_say_mrs(struct te_serve *v, void *buf)
{
	u32 start = v->cursor;
	u32 cursor = start;
	u32 n;

	if (!v->walking)
		return 0;
	for (n = 0; n < TE_SERVE_BATCH; n++) {
		if (te_space_next_mr(v->space, cursor, &v->batch[n]))
			break;
		cursor = v->batch[n].id + 1;
		serve_set_cursor(v, cursor);
	}
	if (serve_has_went(v)) {
		serve_set_cursor(v, start);
		return -EAGAIN;
	}
	if (!n) {
		v->walking = false;
		return 0;
	}
	v->nr_batch = n;
	return serve_say_batch(v, buf);
}

/* One region again. Return: as above. */
static int serve_say_redo(struct te_serve *v, void *buf)
{
	struct te_session *s = v->session;
	u32 id = 0;

	spin_lock(&s->lock);
	if (v->nr_redo)
		id = v->redo[--v->nr_redo];
	spin_unlock(&s->lock);
	if (!id)
		return 0;
	if (te_space_next_mr(v->space, id, &v->batch[0]) ||
	    v->batch[0].id != id)
		return -EAGAIN;
	if (serve_has_went(v)) {
		spin_lock(&s->lock);
		te_serve_redo_locked(v, id);
		spin_unlock(&s->lock);
		return -EAGAIN;
	}
	v->nr_batch = 1;
	return serve_say_batch(v, buf);
}

/* Its keys are gone while we read them: it is gone, or a dev of it. */
static int serve_say_lost(struct te_serve *v, void *buf)
{
	u32 id = v->batch[v->at].id;

	spin_lock(&v->session->lock);
	te_serve_redo_locked(v, id);
	spin_unlock(&v->session->lock);
	te_wire_range_set(buf, 0, id, id);
	return te_wire_seg_array_encode(buf, TE_WIRE_SEG_MR_GONE, v->cookie, 1);
}

static void serve_next_in_batch(struct te_serve *v)
{
	if (++v->at < v->nr_batch)
		v->key_devs = v->batch[v->at].dev_mask;
	v->key_first = 0;
}

/* Next keys of the region whose turn it is. Return: bytes, 0 none are due. */
static int serve_say_keys(struct te_serve *v, void *buf, u32 room)
{
	const u32 max = TE_WIRE_KEYS_ROOM(room);
	u32 keys[TE_SERVE_KEYS];
	u32 id, nr = 0;
	int i, n;

	while (v->at < v->nr_batch) {
		id = v->batch[v->at].id;
		while (v->key_devs && nr < max) {
			n = te_space_mr_keys(v->space, id, __ffs(v->key_devs),
					     v->key_first, keys,
					     min_t(u32, max - nr,
						   TE_SERVE_KEYS));
			if (n < 0) {
				n = serve_say_lost(v, buf);
				serve_next_in_batch(v);
				return n;
			}
			if (!n) {
				v->key_devs &= v->key_devs - 1;
				v->key_first = 0;
				continue;
			}
			for (i = 0; i < n; i++)
				te_wire_key_set(buf, nr++, keys[i]);
			v->key_first += n;
		}
		if (!v->key_devs)
			serve_next_in_batch(v);
		if (nr)
			return te_wire_seg_keys_encode(buf, v->cookie, id, nr);
	}
	return 0;
}

/*
 * Entry @n of SEG_FAR, if the peer does not take it for granted that nothing is far
 * from the region. Return: entries then.
 */
static u32 serve_put_far(struct te_serve *v, void *buf, u32 n,
			 const struct te_mr_desc *desc)
{
	u32 far = te_dev_far(desc->location, desc->dev_mask & v->dev_mask);

	if (!far && !v->far_said)
		return n;
	v->far_said = true;
	te_wire_far_set(buf, n, desc->id, far);
	return n + 1;
}

/* What is far from the regions just described. Return: bytes, 0 nothing. */
static int serve_say_far(struct te_serve *v, void *buf)
{
	u32 i, n = 0;

	if (!v->far_due)
		return 0;
	v->far_due = false;
	for (i = 0; i < v->nr_batch; i++)
		n = serve_put_far(v, buf, n, &v->batch[i]);
	return n ? te_wire_seg_array_encode(buf, TE_WIRE_SEG_FAR, v->cookie,
					    n) : 0;
}

/* Is one to be described first? */
static bool serve_has_redo(struct te_serve *v)
{
	bool ret;

	spin_lock(&v->session->lock);
	ret = v->nr_redo;
	spin_unlock(&v->session->lock);
	return ret;
}

/* Find the next region with keys to say again. */
static void serve_next_rekey(struct te_serve *v)
{
	struct te_mr_desc desc;
	u32 i;

	for (i = 0; i < TE_SERVE_SWEEP && !v->rekey_devs; i++) {
		if (te_space_next_mr(v->space, v->rekey_id, &desc) ||
		    desc.id >= v->cursor) {
			v->rekey = 0;
			return;
		}
		/* It may be this one. */
		if (serve_has_redo(v))
			return;
		v->rekey_devs = desc.dev_mask & v->rekey;
		v->rekey_first = 0;
		v->rekey_id = desc.id + !v->rekey_devs;
	}
}

/* Next keys of a region that the peer knows. Return: bytes, 0 done, -EAGAIN. */
static int serve_say_dev_keys(struct te_serve *v, void *buf, u32 room)
{
	const u32 max = TE_WIRE_DEV_KEYS_ROOM(room);
	struct te_msg_seg_dev_keys msg = { .cookie = v->cookie };
	u32 keys[TE_SERVE_KEYS];
	int i, n;

	if (!v->rekey)
		return 0;
	if (!v->rekey_devs)
		serve_next_rekey(v);
	if (!v->rekey_devs)
		return v->rekey ? -EAGAIN : 0;

	msg.mr_id = v->rekey_id;
	msg.dev_id = __ffs(v->rekey_devs);
	msg.first = v->rekey_first;
	do {
		n = te_space_mr_keys(v->space, msg.mr_id, msg.dev_id,
				     msg.first + msg.nr, keys,
				     min_t(u32, max - msg.nr, TE_SERVE_KEYS));
		for (i = 0; i < n; i++)
			te_wire_dev_key_set(buf, msg.nr++, keys[i]);
	} while (n > 0 && msg.nr < max);
	v->rekey_first += msg.nr;
	/* That was all, or what is gone is told of by other news. */
	if (n <= 0) {
		v->rekey_devs &= v->rekey_devs - 1;
		v->rekey_first = 0;
		v->rekey_id += !v->rekey_devs;
	}
	return msg.nr ? te_wire_seg_dev_keys_encode(buf, &msg) : -EAGAIN;
}

/* The same of regions that the peer knows. Return: bytes, 0 done, -EAGAIN. */
static int serve_say_far_again(struct te_serve *v, void *buf)
{
	struct te_mr_desc desc;
	u32 i, n = 0;

	for (i = 0; i < TE_SERVE_SWEEP && n < TE_SERVE_FARS && v->refar; i++) {
		if (te_space_next_mr(v->space, v->far_id, &desc) ||
		    desc.id >= v->cursor) {
			v->refar = false;
			break;
		}
		/* It may be this one. */
		if (serve_has_redo(v))
			break;
		n = serve_put_far(v, buf, n, &desc);
		v->far_id = desc.id + 1;
	}
	if (n)
		return te_wire_seg_array_encode(buf, TE_WIRE_SEG_FAR,
						v->cookie, n);
	return v->refar ? -EAGAIN : 0;
}

static int serve_say_went(struct te_serve *v, void *buf)
{
	struct te_session *s = v->session;
	u32 n = 0;

	spin_lock(&s->lock);
	while (v->nr_went && n < TE_SERVE_RANGES) {
		u32 id = v->went[--v->nr_went];

		te_wire_range_set(buf, n++, id, id);
	}
	if (!v->nr_went && v->sweep) {
		v->sweep = false;
		v->sweeping = true;
		v->sweep_id = 0;
	}
	spin_unlock(&s->lock);
	return n ? te_wire_seg_array_encode(buf, TE_WIRE_SEG_MR_GONE,
					    v->cookie, n) : 0;
}

/* Holes between regions that are there. Return: bytes, 0 done, -EAGAIN. */
static int serve_say_swept(struct te_serve *v, void *buf)
{
	struct te_mr_desc desc;
	u32 i, next, n = 0;

	for (i = 0; i < TE_SERVE_SWEEP && n < TE_SERVE_RANGES; i++) {
		if (!v->sweeping || v->sweep_id >= v->cursor) {
			v->sweeping = false;
			break;
		}
		next = v->cursor;
		if (!te_space_next_mr(v->space, v->sweep_id, &desc))
			next = min(next, desc.id);
		if (next > v->sweep_id)
			te_wire_range_set(buf, n++, v->sweep_id, next - 1);
		v->sweep_id = next + 1;
	}
	if (n)
		return te_wire_seg_array_encode(buf, TE_WIRE_SEG_MR_GONE,
						v->cookie, n);
	return v->sweeping ? -EAGAIN : 0;
}

static int serve_say_end(struct te_serve *v, void *buf, u8 type, u32 code)
{
	if (type == TE_WIRE_SEG_READY) {
		v->ready_said = true;
	} else {
		v->gone_said = true;
		v->session->nr_ended++;
	}
	return te_wire_seg_end_encode(buf, type, v->cookie, code);
}

/*
 * What comes next for this segment, into @room bytes at @buf.
 * Return: bytes, 0 nothing now, -EAGAIN call again, -ENOMEM.
 */
static int serve_say(struct te_serve *v, void *buf, u32 room)
{
	int n;

	if (!v->opened_said)
		return serve_say_opened(v, buf);
	if (v->gone_said)
		return 0;
	if (v->end_code != TE_WIRE_OK)
		return serve_say_end(v, buf, TE_WIRE_SEG_GONE, v->end_code);
	n = serve_say_far(v, buf);
	if (n)
		return n;
	n = serve_say_keys(v, buf, room);
	if (n)
		return n;
	if (v->devs_gone)
		return serve_say_dev_gone(v, buf);
	if (v->devs_due)
		return serve_say_devs(v, buf);
	n = serve_say_went(v, buf);
	if (n)
		return n;
	n = serve_say_swept(v, buf);
	if (n)
		return n;
	n = serve_say_redo(v, buf);
	if (n)
		return n;
	n = serve_say_dev_keys(v, buf, room);
	if (n)
		return n;
	n = serve_say_mrs(v, buf);
	if (n)
		return n;
	if (!v->ready_said)
		return serve_say_end(v, buf, TE_WIRE_SEG_READY, 0);
	/* Of all regions: nothing else waits for that. */
	return serve_say_far_again(v, buf);
}

/* All that there ever was to say has been said. */
static bool serve_over(const struct te_serve *v)
{
	if (v->status != TE_WIRE_OK)
		return v->opened_said;
	return v->gone_said && v->close_heard;
}

/*
 * Next frame, of each busy segment in turn. Actor.
 * Return: bytes, 0 nothing to say, -ENOBUFS flush first, -EAGAIN call again,
 * -ENOMEM.
 */
int te_serve_produce(struct te_session *s)
{
	struct te_serve *v;
	void *buf;
	int n;

	while ((v = list_first_entry_or_null(&s->busy, struct te_serve, busy))) {
		buf = te_sock_reserve(&s->sock, TE_SERVE_ROOM, false);
		if (!buf)
			return -ENOBUFS;
		n = serve_say(v, buf, te_sock_left(&s->sock));
		if (n > 0)
			te_sock_push(&s->sock, n);
		if (serve_over(v))
			te_serve_destroy(v);
		else if (n)
			list_move_tail(&v->busy, &s->busy);
		else
			list_del_init(&v->busy);
		if (n)
			return n;
	}
	return 0;
}

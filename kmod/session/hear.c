// SPDX-License-Identifier: GPL-2.0-only
/*
 * session/hear: what the answering side says of open segments, as it comes in.
 *
 * Runs in the session's actor only. Each frame names a te_open by its cookie; what
 * is said of one that nobody here wants any more is checked for its turn, and
 * forgotten. mem/seg.c checks and keeps the rest.
 */
#include <linux/slab.h>

#include "session/open.h"
#include "worker/worker.h"

/* Named by a frame that may only come between SEG_OPENED and SEG_GONE. */
static struct te_open *open_lookup(struct te_session *s, u32 cookie)
{
	struct te_open *o = xa_load(&s->opens, cookie);

	return o && o->state >= TE_OPEN_OPEN && !o->gone ? o : NULL;
}

/*
 * The same, and its segment with a reference, or NULL: nobody here is interested
 * any more. Return: 0, -EPROTO.
 */
static int open_find(struct te_session *s, u32 cookie, struct te_open **o,
		     struct te_seg **seg)
{
	*o = open_lookup(s, cookie);
	if (!*o)
		return -EPROTO;
	*seg = te_open_seg_get(*o);
	return 0;
}

/*
 * Something could not be applied. What the peer must not say ends the session;
 * our lack of memory, or a segment too large for us, ends this segment only.
 */
static int open_applied(struct te_session *s, struct te_open *o, int ret)
{
	if (ret != -ENOMEM && ret != -E2BIG)
		return ret;
	te_open_fail_seg(o, ret);
	if (o->state == TE_OPEN_OPEN)
		te_open_close(s, o);
	return 0;
}

int te_open_hear_opened(struct te_session *s, const void *buf, u32 len)
{
	struct te_msg_seg_opened msg;
	struct te_open *o;
	struct te_seg *seg;
	int ret;

	ret = te_wire_seg_opened_decode(buf, len, &msg);
	if (ret)
		return ret;
	o = xa_load(&s->opens, msg.cookie);
	if (!o || o->state != TE_OPEN_ASKED)
		return -EPROTO;
	if (msg.status != TE_WIRE_OK) {
		te_open_fail_seg(o, te_wire_errno(msg.status));
		te_open_drop(s, o);
		return 0;
	}
	o->handle = msg.handle;
	o->state = TE_OPEN_OPEN;
	seg = te_open_seg_get(o);
	if (seg) {
		seg->handle = msg.handle;
		te_seg_put(seg);
	}
	if (o->closing)
		te_open_close(s, o);
	return 0;
}

static u32 dev_transport(const struct te_msg_dev *dev)
{
	static const u32 transports[TE_WIRE_NR_TRANSPORTS] = {
		[TE_WIRE_DEV_RDMA] = TE_RDMA,
		[TE_WIRE_DEV_TCP] = TE_TCP,
		[TE_WIRE_DEV_LOCAL] = TE_LOCAL,
	};

	return transports[dev->transport];
}

int te_open_hear_devs(struct te_session *s, const void *buf, u32 len)
{
	struct te_msg_array msg;
	struct te_msg_dev dev;
	struct te_rdev *rdevs;
	struct te_open *o;
	struct te_seg *seg;
	u32 i;
	int ret;

	ret = te_wire_seg_devs_decode(buf, len, &msg);
	ret = ret ?: open_find(s, msg.cookie, &o, &seg);
	if (ret || !seg)
		return ret;
	rdevs = kmalloc_array(TE_MAX_DEVS, sizeof(*rdevs), GFP_KERNEL);
	if (!rdevs)
		ret = -ENOMEM;
	for (i = 0; i < msg.nr && !ret; i++) {
		te_wire_dev_get(&msg, i, &dev);
		/* Registrations are made of whole pages. */
		if (dev.chunk_shift < s->page_shift ||
		    (dev.transport == TE_WIRE_DEV_LOCAL && !s->peer->own))
			ret = -EPROTO;
		rdevs[i] = (struct te_rdev) {
			.addr = dev.addr,
			.port = dev.port,
			.chunk_shift = dev.chunk_shift,
			.dev_id = dev.dev_id,
			.numa_node = dev.numa_node,
			.transport = dev_transport(&dev),
			.mtu = dev.mtu,
		};
	}
	if (!ret)
		ret = te_seg_add_devs(seg, rdevs, msg.nr);
	kfree(rdevs);
	te_seg_put(seg);
	return open_applied(s, o, ret);
}

int te_open_hear_mrs(struct te_session *s, const void *buf, u32 len)
{
	struct te_msg_array msg;
	struct te_msg_mr mr;
	struct te_open *o;
	struct te_seg *seg;
	u32 i;
	int ret;

	ret = te_wire_seg_mrs_decode(buf, len, &msg);
	ret = ret ?: open_find(s, msg.cookie, &o, &seg);
	if (ret || !seg)
		return ret;
	for (i = 0; i < msg.nr && !ret; i++) {
		te_wire_mr_get(&msg, i, &mr);
		if (mr.page_off >> s->page_shift) {
			ret = -EPROTO;
			break;
		}
		ret = te_seg_add_mr(seg, &(struct te_mr_desc) {
			.id = mr.id,
			.access = mr.access,
			.base = mr.base,
			.length = mr.length,
			.page_off = mr.page_off,
			.dev_mask = mr.dev_mask,
		});
	}
	te_seg_put(seg);
	return open_applied(s, o, ret);
}

int te_open_hear_keys(struct te_session *s, const void *buf, u32 len)
{
	struct te_msg_seg_keys msg;
	struct te_open *o;
	struct te_seg *seg;
	int ret;

	ret = te_wire_seg_keys_decode(buf, len, &msg);
	ret = ret ?: open_find(s, msg.cookie, &o, &seg);
	if (ret || !seg)
		return ret;
	ret = te_seg_add_keys(seg, msg.mr_id, msg.keys, msg.nr);
	te_seg_put(seg);
	return open_applied(s, o, ret);
}

int te_open_hear_dev_keys(struct te_session *s, const void *buf, u32 len)
{
	struct te_msg_seg_dev_keys msg;
	struct te_open *o;
	struct te_seg *seg;
	int ret;

	ret = te_wire_seg_dev_keys_decode(buf, len, &msg);
	ret = ret ?: open_find(s, msg.cookie, &o, &seg);
	if (ret || !seg)
		return ret;
	ret = te_seg_add_dev_keys(seg, msg.mr_id, msg.dev_id, msg.first,
				  msg.keys, msg.nr);
	te_seg_put(seg);
	return ret;
}

int te_open_hear_dev_gone(struct te_session *s, const void *buf, u32 len)
{
	u32 cookie, dev_mask;
	struct te_open *o;
	struct te_seg *seg;
	int ret;

	ret = te_wire_seg_dev_gone_decode(buf, len, &cookie, &dev_mask);
	ret = ret ?: open_find(s, cookie, &o, &seg);
	if (ret || !seg)
		return ret;
	ret = te_seg_del_devs(seg, dev_mask);
	if (!ret)
		te_worker_offer(seg);
	te_seg_put(seg);
	return open_applied(s, o, ret);
}

int te_open_hear_far(struct te_session *s, const void *buf, u32 len)
{
	u32 i, mr_id, dev_mask;
	struct te_msg_array msg;
	struct te_open *o;
	struct te_seg *seg;
	int ret;

	if (!(s->features & TE_WIRE_FEAT_FAR))
		return -EPROTO;
	ret = te_wire_seg_far_decode(buf, len, &msg);
	ret = ret ?: open_find(s, msg.cookie, &o, &seg);
	if (ret || !seg)
		return ret;
	for (i = 0; i < msg.nr && !ret; i++) {
		te_wire_far_get(&msg, i, &mr_id, &dev_mask);
		ret = te_seg_set_far(seg, mr_id, dev_mask);
		cond_resched();
	}
	if (!ret)
		te_worker_wake_peer(seg->peer);
	te_seg_put(seg);
	return ret;
}

int te_open_hear_ready(struct te_session *s, const void *buf, u32 len)
{
	u32 cookie, reason;
	struct te_open *o;
	struct te_seg *seg;
	int ret;

	ret = te_wire_seg_end_decode(buf, len, TE_WIRE_SEG_READY, &cookie,
				     &reason);
	ret = ret ?: open_find(s, cookie, &o, &seg);
	if (ret || !seg)
		return ret;
	/* Before anybody can submit: without a rail that would fail. */
	te_seg_use_devs(seg);
	ret = te_worker_offer(seg);
	if (!ret)
		te_seg_ready(seg);
	te_seg_put(seg);
	return open_applied(s, o, ret);
}

/* Only what is there costs anything, however wide the peer's range is. */
static int open_del_range(struct te_seg *seg, u32 first, u32 last)
{
	unsigned long id = first;
	int ret;

	while (xa_find(&seg->rmrs, &id, last, XA_PRESENT)) {
		ret = te_seg_del_mr(seg, id);
		if (ret)
			return ret;
		cond_resched();
	}
	return 0;
}

int te_open_hear_mr_gone(struct te_session *s, const void *buf, u32 len)
{
	u32 i, first, last;
	struct te_msg_array msg;
	struct te_open *o;
	struct te_seg *seg;
	int ret;

	ret = te_wire_seg_mr_gone_decode(buf, len, &msg);
	ret = ret ?: open_find(s, msg.cookie, &o, &seg);
	if (ret || !seg)
		return ret;
	for (i = 0; i < msg.nr && !ret; i++) {
		te_wire_range_get(&msg, i, &first, &last);
		ret = open_del_range(seg, first, last);
	}
	te_seg_put(seg);
	return ret;
}

int te_open_hear_gone(struct te_session *s, const void *buf, u32 len)
{
	u32 cookie, reason;
	struct te_open *o;
	int ret;

	ret = te_wire_seg_end_decode(buf, len, TE_WIRE_SEG_GONE, &cookie,
				     &reason);
	if (ret)
		return ret;
	o = open_lookup(s, cookie);
	if (!o)
		return -EPROTO;
	te_open_fail_seg(o, te_wire_errno(reason));
	o->gone = true;
	if (o->state == TE_OPEN_CLOSED)
		te_open_drop(s, o);
	else
		te_open_close(s, o);
	return 0;
}

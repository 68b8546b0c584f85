// SPDX-License-Identifier: GPL-2.0-only
/*
 * wire/lane: frames of TCP lanes. See lane.h.
 */
#include <linux/errno.h>

#include "wire/lane.h"
#include "wire/wire.h"

void te_wire_lane_encode(struct te_wire_lane *wire,
			 const struct te_msg_lane *msg)
{
	*wire = (struct te_wire_lane) {
		.magic = cpu_to_le32(TE_WIRE_LANE_MAGIC),
		.type = msg->type,
		.flags = msg->crc_on ? TE_WIRE_LANE_CRC : 0,
		.tag = cpu_to_le32(msg->tag),
		.status = cpu_to_le32(msg->status),
		.segment = cpu_to_le32(msg->segment),
		.mr_id = cpu_to_le32(msg->mr_id),
		.key = cpu_to_le32(msg->key),
		.length = cpu_to_le32(msg->length),
		.addr = cpu_to_le64(msg->addr),
		.crc = cpu_to_le32(msg->crc),
	};
}

/* Fields that only the other kind of frame has are zero. */
static bool lane_kind_ok(const struct te_wire_lane *w)
{
	if (w->type & 1)
		return !w->segment && !w->mr_id && !w->key && !w->addr &&
		       le32_to_cpu(w->status) < TE_WIRE_NR_CODES;
	return !w->status && w->segment &&
	       le64_to_cpu(w->addr) <= U64_MAX - (le32_to_cpu(w->length) - 1);
}

int te_wire_lane_decode(const struct te_wire_lane *w, struct te_msg_lane *msg)
{
	if (w->magic != cpu_to_le32(TE_WIRE_LANE_MAGIC) ||
	    w->type >= TE_WIRE_LANE_NR_TYPES ||
	    (w->flags & ~TE_WIRE_LANE_CRC) || w->reserved || w->reserved1 ||
	    (!(w->flags & TE_WIRE_LANE_CRC) && w->crc) ||
	    !w->length || le32_to_cpu(w->length) > TE_WIRE_LANE_MAX ||
	    !lane_kind_ok(w))
		return -EBADMSG;

	*msg = (struct te_msg_lane) {
		.type = w->type,
		.crc_on = w->flags & TE_WIRE_LANE_CRC,
		.tag = le32_to_cpu(w->tag),
		.status = le32_to_cpu(w->status),
		.segment = le32_to_cpu(w->segment),
		.mr_id = le32_to_cpu(w->mr_id),
		.key = le32_to_cpu(w->key),
		.length = le32_to_cpu(w->length),
		.addr = le64_to_cpu(w->addr),
		.crc = le32_to_cpu(w->crc),
	};
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * wire/lane: frames of TCP lanes. As pure and as strict as wire.h, whose hello of
 * data connections comes before them.
 */
#ifndef TE_WIRE_LANE_H
#define TE_WIRE_LANE_H

#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/stddef.h>
#include <linux/types.h>

#define TE_WIRE_LANE_MAGIC	0x6c742d74U	/* "t-tl" */
/* Bytes that one request of a lane may move: a slice with its tail. */
#define TE_WIRE_LANE_MAX	(128U * 1024)

/* Requests of a lane are even, their answers one more. */
enum te_wire_lane_type {
	TE_WIRE_LANE_READ = 0,
	TE_WIRE_LANE_READ_REPLY = 1,	/* with @length bytes, if @status is OK */
	TE_WIRE_LANE_WRITE = 2,		/* with @length bytes */
	TE_WIRE_LANE_WRITE_REPLY = 3,
	TE_WIRE_LANE_NR_TYPES = 4,
};

#define TE_WIRE_LANE_CRC	BIT(0)	/* @crc covers the bytes, or shall */

/*
 * Frame of a lane. Who connected asks, after the hello and its reply; answers come
 * in the order of the requests.
 */
struct te_wire_lane {
	__le32 magic;		/* TE_WIRE_LANE_MAGIC */
	u8 type;		/* enum te_wire_lane_type */
	u8 flags;		/* TE_WIRE_LANE_CRC */
	__le16 reserved;
	__le32 tag;		/* chosen by who asks */
	__le32 status;		/* answer: enum te_wire_code */
	__le32 segment;		/* request: handle of SEG_OPENED */
	__le32 mr_id;		/* request: region */
	__le32 key;		/* request: of the region on this dev */
	__le32 length;		/* bytes to move, 1 to TE_WIRE_LANE_MAX */
	__le64 addr;		/* request: address in the region */
	__le32 crc;		/* CRC-32C of the bytes */
	__le32 reserved1;
};

static_assert(offsetof(struct te_wire_lane, tag) == 8);
static_assert(offsetof(struct te_wire_lane, length) == 28);
static_assert(offsetof(struct te_wire_lane, addr) == 32);
static_assert(sizeof(struct te_wire_lane) == 48);

/**
 * struct te_msg_lane - frame of a lane
 * @type: enum te_wire_lane_type
 * @crc_on: @crc counts; READ: the answer's shall
 * @tag: of the request
 * @status: answer: TE_WIRE_*
 * @segment: request: number of the open segment, not 0
 * @mr_id: request: region
 * @key: request: what the region's owner told of it
 * @length: 1 to TE_WIRE_LANE_MAX, in the answer too
 * @addr: request: the range does not wrap
 * @crc: CRC-32C (Castagnoli) of the bytes that follow
 */
struct te_msg_lane {
	u8 type;
	bool crc_on;
	u32 tag;
	u32 status;
	u32 segment;
	u32 mr_id;
	u32 key;
	u32 length;
	u64 addr;
	u32 crc;
};

void te_wire_lane_encode(struct te_wire_lane *wire,
			 const struct te_msg_lane *msg);
/* Return: 0, -EBADMSG; @msg is filled on success. */
int te_wire_lane_decode(const struct te_wire_lane *wire,
			struct te_msg_lane *msg);

#endif /* TE_WIRE_LANE_H */

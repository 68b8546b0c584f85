// SPDX-License-Identifier: GPL-2.0-only
/*
 * wire/tests/lane: frames of lanes: their bytes, their edges, and that no byte can
 * be changed without being refused or meaning something in bounds.
 */
#include <kunit/test.h>

#include "wire/lane.h"
#include "wire/wire.h"

static const struct te_msg_lane write_msg = {
	.type = TE_WIRE_LANE_WRITE,
	.crc_on = true,
	.tag = 0x01020304,
	.segment = 0x11121314,
	.mr_id = 0x21222324,
	.key = 0x31323334,
	.length = 0x00010203,
	.addr = 0x4142434445464748,
	.crc = 0x51525354,
};

static const u8 write_bytes[] = {
	't', '-', 't', 'l', 0x02, 0x01, 0x00, 0x00,
	0x04, 0x03, 0x02, 0x01, 0x00, 0x00, 0x00, 0x00,
	0x14, 0x13, 0x12, 0x11, 0x24, 0x23, 0x22, 0x21,
	0x34, 0x33, 0x32, 0x31, 0x03, 0x02, 0x01, 0x00,
	0x48, 0x47, 0x46, 0x45, 0x44, 0x43, 0x42, 0x41,
	0x54, 0x53, 0x52, 0x51, 0x00, 0x00, 0x00, 0x00,
};

static const struct te_msg_lane reply_msg = {
	.type = TE_WIRE_LANE_READ_REPLY,
	.tag = 7,
	.status = TE_WIRE_ERR_REFUSED,
	.length = 1,
};

static void bytes_are_these(struct kunit *test)
{
	struct te_wire_lane wire;
	struct te_msg_lane msg;

	KUNIT_ASSERT_EQ(test, sizeof(wire), sizeof(write_bytes));
	te_wire_lane_encode(&wire, &write_msg);
	KUNIT_EXPECT_EQ(test, 0, memcmp(&wire, write_bytes, sizeof(wire)));
	KUNIT_EXPECT_EQ(test, 0, te_wire_lane_decode(&wire, &msg));
	KUNIT_EXPECT_EQ(test, msg.addr, write_msg.addr);
	KUNIT_EXPECT_EQ(test, msg.crc, write_msg.crc);
	KUNIT_EXPECT_TRUE(test, msg.crc_on);
}

static const struct edge {
	const char *desc;
	const struct te_msg_lane *msg;
	u32 at;
	u32 len;
	u64 value;
	int want;
} edges[] = {
	{ "as it is", &write_msg, 0, 0, 0, 0 },
	{ "magic of a hello", &write_msg, 0, 4, TE_WIRE_CONN_MAGIC, -EBADMSG },
	{ "READ", &write_msg, 4, 1, TE_WIRE_LANE_READ, 0 },
	{ "no such type", &write_msg, 4, 1, TE_WIRE_LANE_NR_TYPES, -EBADMSG },
	{ "no such flag", &write_msg, 5, 1, 3, -EBADMSG },
	{ "checksum without flag", &write_msg, 5, 1, 0, -EBADMSG },
	{ "reserved", &write_msg, 6, 2, 0x100, -EBADMSG },
	{ "status of a request", &write_msg, 12, 4, 1, -EBADMSG },
	{ "no segment", &write_msg, 16, 4, 0, -EBADMSG },
	{ "no bytes", &write_msg, 28, 4, 0, -EBADMSG },
	{ "one byte", &write_msg, 28, 4, 1, 0 },
	{ "most bytes", &write_msg, 28, 4, TE_WIRE_LANE_MAX, 0 },
	{ "more", &write_msg, 28, 4, TE_WIRE_LANE_MAX + 1, -EBADMSG },
	{ "all of them", &write_msg, 28, 4, U32_MAX, -EBADMSG },
	{ "last address", &write_msg, 32, 8, U64_MAX - 0x10202, 0 },
	{ "it wraps", &write_msg, 32, 8, U64_MAX - 0x10201, -EBADMSG },
	{ "behind", &write_msg, 44, 4, 1, -EBADMSG },
	{ "answer", &reply_msg, 0, 0, 0, 0 },
	{ "last status", &reply_msg, 12, 4, TE_WIRE_NR_CODES - 1, 0 },
	{ "no such status", &reply_msg, 12, 4, TE_WIRE_NR_CODES, -EBADMSG },
	{ "segment of an answer", &reply_msg, 16, 4, 1, -EBADMSG },
	{ "region of an answer", &reply_msg, 20, 4, 1, -EBADMSG },
	{ "key of an answer", &reply_msg, 24, 4, 1, -EBADMSG },
	{ "address of an answer", &reply_msg, 32, 8, 1, -EBADMSG },
};

static void edge_desc(const struct edge *e, char *desc)
{
	strscpy(desc, e->desc, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(edge, edges, edge_desc);

static void edges_hold(struct kunit *test)
{
	const struct edge *e = test->param_value;
	__le64 value = cpu_to_le64(e->value);
	struct te_wire_lane wire;
	struct te_msg_lane msg;

	te_wire_lane_encode(&wire, e->msg);
	memcpy((u8 *)&wire + e->at, &value, e->len);
	KUNIT_EXPECT_EQ(test, e->want, te_wire_lane_decode(&wire, &msg));
}

static void any_byte(struct kunit *test)
{
	struct te_wire_lane wire, again;
	struct te_msg_lane msg;
	u32 at, bit;

	for (at = 0; at < sizeof(wire); at++) {
		for (bit = 0; bit < 8; bit++) {
			memcpy(&wire, write_bytes, sizeof(wire));
			((u8 *)&wire)[at] ^= BIT(bit);
			if (te_wire_lane_decode(&wire, &msg))
				continue;
			KUNIT_EXPECT_LT(test, msg.type, TE_WIRE_LANE_NR_TYPES);
			KUNIT_EXPECT_NE(test, msg.length, 0);
			KUNIT_EXPECT_LE(test, msg.length, TE_WIRE_LANE_MAX);
			KUNIT_EXPECT_GE(test, msg.addr + (msg.length - 1),
					msg.addr);
			te_wire_lane_encode(&again, &msg);
			KUNIT_EXPECT_EQ(test, 0, memcmp(&wire, &again,
							sizeof(wire)));
		}
	}
}

static struct kunit_case lane_cases[] = {
	KUNIT_CASE(bytes_are_these),
	KUNIT_CASE_PARAM(edges_hold, edge_gen_params),
	KUNIT_CASE(any_byte),
	{}
};

static struct kunit_suite lane_suite = {
	.name = "te_wire_lane",
	.test_cases = lane_cases,
};

kunit_test_suite(lane_suite);

// SPDX-License-Identifier: GPL-2.0-only
/*
 * wire/tests/samples: see samples.h. The bytes were not made by the encoders:
 * they are what other builds of te send.
 */
#include <linux/string.h>
#include <linux/te.h>

#include "wire/tests/samples.h"
#include "wire/conn.h"

#define POISON	0xa5

/* What a decoder refuses must leave @msg, poisoned before, alone. */
static bool refused(struct kunit *test, int ret, const void *msg, size_t size)
{
	if (ret)
		KUNIT_EXPECT_NULL(test, memchr_inv(msg, POISON, size));
	return ret;
}

#define NODE_ID	{							\
	0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27,			\
	0x28, 0x29, 0x2a, 0x2b, 0x2c, 0x2d, 0x2e, 0x2f,			\
}

/* ---- hello */

static const struct te_msg_hello hello = {
	.version_min = 0x0102,
	.version_max = 0x0304,
	.page_shift = 16,
	.auth_method = 0x0506,
	.features = 0x1112131415161718,
	.node_id = NODE_ID,
	.boot_gen = 0x3132333435363738,
	.auth_len = 3,
	.auth = { 0x41, 0x42, 0x43 },
};

static const u8 hello_bytes[120] = {
	0x02, 0x01, 0x04, 0x03, 0x10, 0x00, 0x06, 0x05,
	0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11,
	0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27,
	0x28, 0x29, 0x2a, 0x2b, 0x2c, 0x2d, 0x2e, 0x2f,
	0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31,
	0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x41, 0x42, 0x43,
};

static size_t hello_encode(void *buf)
{
	return te_wire_hello_encode(buf, &hello);
}

static void expect_page_shift(struct kunit *test, u16 shift)
{
	KUNIT_EXPECT_GE(test, shift, TE_WIRE_MIN_PAGE_SHIFT);
	KUNIT_EXPECT_LE(test, shift, TE_WIRE_MAX_PAGE_SHIFT);
}

static int hello_recode(struct kunit *test, const void *buf, size_t len,
			void *out)
{
	struct te_msg_hello msg;
	int ret;

	memset(&msg, POISON, sizeof(msg));
	ret = te_wire_hello_decode(buf, len, &msg);
	if (refused(test, ret, &msg, sizeof(msg)))
		return ret;
	KUNIT_EXPECT_NE(test, msg.version_min, 0);
	KUNIT_EXPECT_LE(test, msg.version_min, msg.version_max);
	expect_page_shift(test, msg.page_shift);
	KUNIT_EXPECT_LE(test, msg.auth_len, TE_WIRE_MAX_AUTH);
	return te_wire_hello_encode(out, &msg);
}

static const struct te_msg_hello_reply hello_reply = {
	.status = TE_WIRE_OK,
	.version = 1,
	.page_shift = 12,
	.auth_method = 0x0708,
	.features = 0x1112131415161718,
	.node_id = NODE_ID,
	.boot_gen = 0x3132333435363738,
	.token = 0x5152535455565758,
	.auth_len = TE_WIRE_MAX_AUTH,
	.auth = { [0] = 0x41, [63] = 0x42 },
};

static const u8 hello_reply_bytes[128] = {
	0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x0c, 0x00,
	0x08, 0x07, 0x00, 0x00, 0x40, 0x00, 0x00, 0x00,
	0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11,
	0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27,
	0x28, 0x29, 0x2a, 0x2b, 0x2c, 0x2d, 0x2e, 0x2f,
	0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31,
	0x58, 0x57, 0x56, 0x55, 0x54, 0x53, 0x52, 0x51,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x41, [127] = 0x42,
};

static size_t hello_reply_encode(void *buf)
{
	return te_wire_hello_reply_encode(buf, &hello_reply);
}

/* No version in common: it tells its highest, and nothing else. */
static const u8 hello_refused_bytes[128] = {
	0x01, 0x00, 0x00, 0x00, 0x34, 0x12,
};

static size_t hello_refused_encode(void *buf)
{
	static const struct te_msg_hello_reply refused = {
		.status = TE_WIRE_ERR_VERSION,
		.version = 0x1234,
	};

	return te_wire_hello_reply_encode(buf, &refused);
}

static int hello_reply_recode(struct kunit *test, const void *buf, size_t len,
			      void *out)
{
	struct te_msg_hello_reply msg;
	int ret;

	memset(&msg, POISON, sizeof(msg));
	ret = te_wire_hello_reply_decode(buf, len, &msg);
	if (refused(test, ret, &msg, sizeof(msg)))
		return ret;
	KUNIT_EXPECT_LE(test, msg.auth_len, TE_WIRE_MAX_AUTH);
	if (msg.status == TE_WIRE_OK) {
		expect_page_shift(test, msg.page_shift);
		KUNIT_EXPECT_GE(test, msg.version, TE_WIRE_VERSION_MIN);
		KUNIT_EXPECT_LE(test, msg.version, TE_WIRE_VERSION_MAX);
		KUNIT_EXPECT_NE(test, msg.token, 0);
	}
	return te_wire_hello_reply_encode(out, &msg);
}

/* ---- the session itself */

static const u8 ping_bytes[8] = {
	0x68, 0x67, 0x66, 0x65, 0x64, 0x63, 0x62, 0x61,
};

static size_t ping_encode(void *buf)
{
	return te_wire_ping_encode(buf, TE_WIRE_PING, 0x6162636465666768);
}

static size_t pong_encode(void *buf)
{
	return te_wire_ping_encode(buf, TE_WIRE_PONG, 0x6162636465666768);
}

static int ping_or_pong_recode(struct kunit *test, const void *buf, size_t len,
			       u8 type, void *out)
{
	u64 stamp;
	int ret;

	memset(&stamp, POISON, sizeof(stamp));
	ret = te_wire_ping_decode(buf, len, &stamp);
	if (refused(test, ret, &stamp, sizeof(stamp)))
		return ret;
	return te_wire_ping_encode(out, type, stamp);
}

static int ping_recode(struct kunit *test, const void *buf, size_t len,
		       void *out)
{
	return ping_or_pong_recode(test, buf, len, TE_WIRE_PING, out);
}

static int pong_recode(struct kunit *test, const void *buf, size_t len,
		       void *out)
{
	return ping_or_pong_recode(test, buf, len, TE_WIRE_PONG, out);
}

static const u8 bye_bytes[8] = { TE_WIRE_ERR_SHUTDOWN };

static size_t bye_encode(void *buf)
{
	return te_wire_bye_encode(buf, TE_WIRE_ERR_SHUTDOWN);
}

static int bye_recode(struct kunit *test, const void *buf, size_t len,
		      void *out)
{
	u32 reason;
	int ret;

	memset(&reason, POISON, sizeof(reason));
	ret = te_wire_bye_decode(buf, len, &reason);
	if (refused(test, ret, &reason, sizeof(reason)))
		return ret;
	KUNIT_EXPECT_NE(test, reason, TE_WIRE_OK);
	return te_wire_bye_encode(out, reason);
}

/* ---- opening and closing a segment */

static const u8 seg_open_bytes[] = {
	0x04, 0x03, 0x02, 0x01, 0x01, 0x00, 0x00, 0x00,
	0x02, 0x00, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00,
	'k', 'v', 't', 'o', 'k',
};

static size_t seg_open_encode(void *buf)
{
	static const struct te_msg_seg_open msg = {
		.cookie = 0x01020304,
		.transport = TE_RDMA,
		.name = "kv",
		.name_len = 2,
		.token = "tok",
		.token_len = 3,
	};

	return te_wire_seg_open_encode(buf, &msg);
}

static const u8 seg_open_no_token_bytes[] = {
	0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0xff,
};

static size_t seg_open_no_token_encode(void *buf)
{
	static const struct te_msg_seg_open msg = {
		.cookie = 1,
		.transport = TE_ANY,
		.name = "\xff",
		.name_len = 1,
	};

	return te_wire_seg_open_encode(buf, &msg);
}

static int seg_open_recode(struct kunit *test, const void *buf, size_t len,
			   void *out)
{
	const void *end = buf + len;
	struct te_msg_seg_open msg;
	int ret;

	memset(&msg, POISON, sizeof(msg));
	ret = te_wire_seg_open_decode(buf, len, &msg);
	if (refused(test, ret, &msg, sizeof(msg)))
		return ret;
	KUNIT_EXPECT_NE(test, msg.cookie, 0);
	KUNIT_EXPECT_LE(test, msg.transport, TE_LOCAL);
	KUNIT_EXPECT_GE(test, msg.name_len, 1);
	KUNIT_EXPECT_LE(test, msg.name_len, TE_WIRE_MAX_NAME);
	KUNIT_EXPECT_LE(test, msg.token_len, TE_WIRE_MAX_TOKEN);
	KUNIT_EXPECT_PTR_EQ(test, (const void *)msg.name + msg.name_len,
			    (const void *)msg.token);
	KUNIT_EXPECT_PTR_EQ(test, (const void *)msg.token + msg.token_len, end);
	return te_wire_seg_open_encode(out, &msg);
}

static const u8 seg_opened_bytes[16] = {
	0x04, 0x03, 0x02, 0x01, 0x00, 0x00, 0x00, 0x00,
	0x08, 0x07, 0x06, 0x05,
};

static size_t seg_opened_encode(void *buf)
{
	static const struct te_msg_seg_opened msg = {
		.cookie = 0x01020304,
		.status = TE_WIRE_OK,
		.handle = 0x05060708,
	};

	return te_wire_seg_opened_encode(buf, &msg);
}

static const u8 seg_open_failed_bytes[16] = {
	0x04, 0x03, 0x02, 0x01, TE_WIRE_ERR_NOENT,
};

static size_t seg_open_failed_encode(void *buf)
{
	static const struct te_msg_seg_opened msg = {
		.cookie = 0x01020304,
		.status = TE_WIRE_ERR_NOENT,
	};

	return te_wire_seg_opened_encode(buf, &msg);
}

static int seg_opened_recode(struct kunit *test, const void *buf, size_t len,
			     void *out)
{
	struct te_msg_seg_opened msg;
	int ret;

	memset(&msg, POISON, sizeof(msg));
	ret = te_wire_seg_opened_decode(buf, len, &msg);
	if (refused(test, ret, &msg, sizeof(msg)))
		return ret;
	KUNIT_EXPECT_NE(test, msg.cookie, 0);
	KUNIT_EXPECT_EQ(test, !msg.status, !!msg.handle);
	return te_wire_seg_opened_encode(out, &msg);
}

static const u8 seg_end_bytes[8] = { 0x04, 0x03, 0x02, 0x01 };

static size_t seg_ready_encode(void *buf)
{
	return te_wire_seg_end_encode(buf, TE_WIRE_SEG_READY, 0x01020304, 0);
}

static size_t seg_close_encode(void *buf)
{
	return te_wire_seg_end_encode(buf, TE_WIRE_SEG_CLOSE, 0x01020304, 0);
}

static const u8 seg_gone_bytes[8] = {
	0x04, 0x03, 0x02, 0x01, TE_WIRE_ERR_GONE,
};

static size_t seg_gone_encode(void *buf)
{
	return te_wire_seg_end_encode(buf, TE_WIRE_SEG_GONE, 0x01020304,
				      TE_WIRE_ERR_GONE);
}

static int seg_end_recode(struct kunit *test, const void *buf, size_t len,
			  u8 type, void *out)
{
	struct {
		u32 number;
		u32 reason;
	} msg;
	int ret;

	memset(&msg, POISON, sizeof(msg));
	ret = te_wire_seg_end_decode(buf, len, type, &msg.number, &msg.reason);
	if (refused(test, ret, &msg, sizeof(msg)))
		return ret;
	KUNIT_EXPECT_NE(test, msg.number, 0);
	KUNIT_EXPECT_EQ(test, !!msg.reason, type == TE_WIRE_SEG_GONE);
	return te_wire_seg_end_encode(out, type, msg.number, msg.reason);
}

static int seg_ready_recode(struct kunit *test, const void *buf, size_t len,
			    void *out)
{
	return seg_end_recode(test, buf, len, TE_WIRE_SEG_READY, out);
}

static int seg_gone_recode(struct kunit *test, const void *buf, size_t len,
			   void *out)
{
	return seg_end_recode(test, buf, len, TE_WIRE_SEG_GONE, out);
}

static int seg_close_recode(struct kunit *test, const void *buf, size_t len,
			    void *out)
{
	return seg_end_recode(test, buf, len, TE_WIRE_SEG_CLOSE, out);
}

/* ---- its description */

static const struct te_msg_dev devs[] = {
	{
		.addr = { { NODE_ID } },
		.port = 0x7172,
		.chunk_shift = 12,
		.dev_id = 3,
		.numa_node = -1,
	}, {
		.addr = { { { [10] = 0xff, 0xff, 10, 0, 0, 1 } } },
		.port = 0x7374,
		.chunk_shift = 40,
		.dev_id = 31,
		.numa_node = 0x01020304,
		.mtu = 5,
	},
};

static const u8 seg_devs_bytes[] = {
	0x04, 0x03, 0x02, 0x01, 0x02, 0x00, 0x00, 0x00,
	0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27,
	0x28, 0x29, 0x2a, 0x2b, 0x2c, 0x2d, 0x2e, 0x2f,
	0x72, 0x71, 0x0c, 0x00, 0x03, 0x00, 0x00, 0x00,
	0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0xff, 0xff, 0x0a, 0x00, 0x00, 0x01,
	0x74, 0x73, 0x28, 0x00, 0x1f, 0x00, 0x00, 0x00,
	0x04, 0x03, 0x02, 0x01, 0x00, 0x05, 0x00, 0x00,
};

static size_t seg_devs_encode(void *buf)
{
	te_wire_dev_set(buf, 0, &devs[0]);
	te_wire_dev_set(buf, 1, &devs[1]);
	return te_wire_seg_array_encode(buf, TE_WIRE_SEG_DEVS, 0x01020304, 2);
}

static const u8 seg_devs_none_bytes[8] = { 0x04, 0x03, 0x02, 0x01 };

static size_t seg_devs_none_encode(void *buf)
{
	return te_wire_seg_array_encode(buf, TE_WIRE_SEG_DEVS, 0x01020304, 0);
}

static int seg_devs_recode(struct kunit *test, const void *buf, size_t len,
			   void *out)
{
	struct te_msg_array msg;
	struct te_msg_dev dev;
	s64 last = -1;
	u32 i;
	int ret;

	memset(&msg, POISON, sizeof(msg));
	ret = te_wire_seg_devs_decode(buf, len, &msg);
	if (refused(test, ret, &msg, sizeof(msg)))
		return ret;
	KUNIT_EXPECT_NE(test, msg.cookie, 0);
	for (i = 0; i < msg.nr; i++) {
		te_wire_dev_get(&msg, i, &dev);
		KUNIT_EXPECT_GE(test, dev.chunk_shift, TE_WIRE_MIN_PAGE_SHIFT);
		KUNIT_EXPECT_LE(test, dev.chunk_shift, TE_WIRE_MAX_CHUNK_SHIFT);
		KUNIT_EXPECT_LT(test, dev.dev_id, TE_WIRE_MAX_DEVS);
		KUNIT_EXPECT_GT(test, (s64)dev.dev_id, last);
		KUNIT_EXPECT_GE(test, dev.numa_node, -1);
		last = dev.dev_id;
		te_wire_dev_set(out, i, &dev);
	}
	return te_wire_seg_array_encode(out, TE_WIRE_SEG_DEVS, msg.cookie,
					msg.nr);
}

static const struct te_msg_mr mrs[] = {
	{
		.base = 0x1112131415161718,
		.length = 1,
		.id = 0x01020304,
		.access = TE_REMOTE_READ,
		.page_off = 0x0fff,
		.dev_mask = 0x80000001,
	}, {
		.base = 0,
		.length = S64_MAX,
		.id = 0,
		.access = TE_REMOTE_READ | TE_REMOTE_WRITE,
		.page_off = 0,
		.dev_mask = 0,
	},
};

static const u8 seg_mrs_bytes[] = {
	0x04, 0x03, 0x02, 0x01, 0x02, 0x00, 0x00, 0x00,
	0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11,
	0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x04, 0x03, 0x02, 0x01, 0x04, 0x00, 0x00, 0x00,
	0xff, 0x0f, 0x00, 0x00, 0x01, 0x00, 0x00, 0x80,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f,
	0x00, 0x00, 0x00, 0x00, 0x0c, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
};

static size_t seg_mrs_encode(void *buf)
{
	te_wire_mr_set(buf, 0, &mrs[0]);
	te_wire_mr_set(buf, 1, &mrs[1]);
	return te_wire_seg_array_encode(buf, TE_WIRE_SEG_MRS, 0x01020304, 2);
}

static int seg_mrs_recode(struct kunit *test, const void *buf, size_t len,
			  void *out)
{
	struct te_msg_array msg;
	struct te_msg_mr mr;
	u32 i;
	int ret;

	memset(&msg, POISON, sizeof(msg));
	ret = te_wire_seg_mrs_decode(buf, len, &msg);
	if (refused(test, ret, &msg, sizeof(msg)))
		return ret;
	KUNIT_EXPECT_NE(test, msg.cookie, 0);
	KUNIT_EXPECT_NE(test, msg.nr, 0);
	for (i = 0; i < msg.nr; i++) {
		te_wire_mr_get(&msg, i, &mr);
		KUNIT_EXPECT_NE(test, mr.length, 0);
		KUNIT_EXPECT_LE(test, mr.length, (u64)S64_MAX);
		KUNIT_EXPECT_GE(test, mr.base + (mr.length - 1), mr.base);
		KUNIT_EXPECT_NE(test, mr.access, 0);
		KUNIT_EXPECT_EQ(test, mr.access & ~(TE_REMOTE_READ |
						    TE_REMOTE_WRITE), 0);
		KUNIT_EXPECT_LT(test, mr.page_off,
				1U << TE_WIRE_MAX_PAGE_SHIFT);
		te_wire_mr_set(out, i, &mr);
	}
	return te_wire_seg_array_encode(out, TE_WIRE_SEG_MRS, msg.cookie,
					msg.nr);
}

static const u8 seg_mr_gone_bytes[] = {
	0x04, 0x03, 0x02, 0x01, 0x02, 0x00, 0x00, 0x00,
	0x05, 0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff,
};

static size_t seg_mr_gone_encode(void *buf)
{
	te_wire_range_set(buf, 0, 5, 5);
	te_wire_range_set(buf, 1, 0, U32_MAX);
	return te_wire_seg_array_encode(buf, TE_WIRE_SEG_MR_GONE, 0x01020304,
					2);
}

static int seg_mr_gone_recode(struct kunit *test, const void *buf, size_t len,
			      void *out)
{
	u32 i, first, last;
	struct te_msg_array msg;
	int ret;

	memset(&msg, POISON, sizeof(msg));
	ret = te_wire_seg_mr_gone_decode(buf, len, &msg);
	if (refused(test, ret, &msg, sizeof(msg)))
		return ret;
	KUNIT_EXPECT_NE(test, msg.cookie, 0);
	KUNIT_EXPECT_NE(test, msg.nr, 0);
	for (i = 0; i < msg.nr; i++) {
		te_wire_range_get(&msg, i, &first, &last);
		KUNIT_EXPECT_LE(test, first, last);
		te_wire_range_set(out, i, first, last);
	}
	return te_wire_seg_array_encode(out, TE_WIRE_SEG_MR_GONE, msg.cookie,
					msg.nr);
}

static const u8 seg_keys_bytes[] = {
	0x04, 0x03, 0x02, 0x01, 0x08, 0x07, 0x06, 0x05,
	0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x14, 0x13, 0x12, 0x11, 0x00, 0x00, 0x00, 0x00,
	0xff, 0xff, 0xff, 0xff,
};

static size_t seg_keys_encode(void *buf)
{
	te_wire_key_set(buf, 0, 0x11121314);
	te_wire_key_set(buf, 1, 0);
	te_wire_key_set(buf, 2, U32_MAX);
	return te_wire_seg_keys_encode(buf, 0x01020304, 0x05060708, 3);
}

static int seg_keys_recode(struct kunit *test, const void *buf, size_t len,
			   void *out)
{
	struct te_msg_seg_keys msg;
	u32 i;
	int ret;

	memset(&msg, POISON, sizeof(msg));
	ret = te_wire_seg_keys_decode(buf, len, &msg);
	if (refused(test, ret, &msg, sizeof(msg)))
		return ret;
	KUNIT_EXPECT_NE(test, msg.cookie, 0);
	KUNIT_EXPECT_NE(test, msg.nr, 0);
	for (i = 0; i < msg.nr; i++)
		te_wire_key_set(out, i, le32_to_cpu(msg.keys[i]));
	return te_wire_seg_keys_encode(out, msg.cookie, msg.mr_id, msg.nr);
}

/* ---- news of devs */

static const u8 seg_dev_gone_bytes[] = {
	0x04, 0x03, 0x02, 0x01, 0x01, 0x00, 0x00, 0x80,
};

static size_t seg_dev_gone_encode(void *buf)
{
	return te_wire_seg_dev_gone_encode(buf, 0x01020304, 0x80000001);
}

static int seg_dev_gone_recode(struct kunit *test, const void *buf, size_t len,
			       void *out)
{
	struct {
		u32 cookie;
		u32 dev_mask;
	} msg;
	int ret;

	memset(&msg, POISON, sizeof(msg));
	ret = te_wire_seg_dev_gone_decode(buf, len, &msg.cookie, &msg.dev_mask);
	if (refused(test, ret, &msg, sizeof(msg)))
		return ret;
	KUNIT_EXPECT_NE(test, msg.cookie, 0);
	KUNIT_EXPECT_NE(test, msg.dev_mask, 0);
	return te_wire_seg_dev_gone_encode(out, msg.cookie, msg.dev_mask);
}

static const u8 seg_dev_keys_bytes[] = {
	0x04, 0x03, 0x02, 0x01, 0x08, 0x07, 0x06, 0x05,
	0x1f, 0x00, 0x00, 0x00, 0x18, 0x17, 0x16, 0x15,
	0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x14, 0x13, 0x12, 0x11, 0x00, 0x00, 0x00, 0x00,
	0xff, 0xff, 0xff, 0xff,
};

static size_t seg_dev_keys_encode(void *buf)
{
	static const struct te_msg_seg_dev_keys msg = {
		.cookie = 0x01020304,
		.mr_id = 0x05060708,
		.dev_id = 31,
		.first = 0x15161718,
		.nr = 3,
	};

	te_wire_dev_key_set(buf, 0, 0x11121314);
	te_wire_dev_key_set(buf, 1, 0);
	te_wire_dev_key_set(buf, 2, U32_MAX);
	return te_wire_seg_dev_keys_encode(buf, &msg);
}

static int seg_dev_keys_recode(struct kunit *test, const void *buf, size_t len,
			       void *out)
{
	struct te_msg_seg_dev_keys msg;
	u32 i;
	int ret;

	memset(&msg, POISON, sizeof(msg));
	ret = te_wire_seg_dev_keys_decode(buf, len, &msg);
	if (refused(test, ret, &msg, sizeof(msg)))
		return ret;
	KUNIT_EXPECT_NE(test, msg.cookie, 0);
	KUNIT_EXPECT_LT(test, msg.dev_id, TE_WIRE_MAX_DEVS);
	KUNIT_EXPECT_NE(test, msg.nr, 0);
	KUNIT_EXPECT_GT(test, msg.first + msg.nr, msg.first);
	for (i = 0; i < msg.nr; i++)
		te_wire_dev_key_set(out, i, le32_to_cpu(msg.keys[i]));
	return te_wire_seg_dev_keys_encode(out, &msg);
}

/* ---- what is far */

static const u8 seg_far_bytes[] = {
	0x04, 0x03, 0x02, 0x01, 0x02, 0x00, 0x00, 0x00,
	0x08, 0x07, 0x06, 0x05, 0x01, 0x00, 0x00, 0x80,
	0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00,
};

static size_t seg_far_encode(void *buf)
{
	te_wire_far_set(buf, 0, 0x05060708, 0x80000001);
	te_wire_far_set(buf, 1, U32_MAX, 0);
	return te_wire_seg_array_encode(buf, TE_WIRE_SEG_FAR, 0x01020304, 2);
}

static int seg_far_recode(struct kunit *test, const void *buf, size_t len,
			  void *out)
{
	u32 i, mr_id, dev_mask;
	struct te_msg_array msg;
	int ret;

	memset(&msg, POISON, sizeof(msg));
	ret = te_wire_seg_far_decode(buf, len, &msg);
	if (refused(test, ret, &msg, sizeof(msg)))
		return ret;
	KUNIT_EXPECT_NE(test, msg.cookie, 0);
	KUNIT_EXPECT_NE(test, msg.nr, 0);
	for (i = 0; i < msg.nr; i++) {
		te_wire_far_get(&msg, i, &mr_id, &dev_mask);
		te_wire_far_set(out, i, mr_id, dev_mask);
	}
	return te_wire_seg_array_encode(out, TE_WIRE_SEG_FAR, msg.cookie,
					msg.nr);
}

/* ---- private data of data connections */

static const u8 conn_hello_bytes[48] = {
	't', '-', 't', 'c', 0x01, 0x03, 0x30, 0x00,
	0x58, 0x57, 0x56, 0x55, 0x54, 0x53, 0x52, 0x51,
	0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31,
	0x1f, 0x00, 0x00, 0x00, 0x02, 0x01, 0x04, 0x03,
	0x68, 0x67, 0x66, 0x65, 0x64, 0x63, 0x62, 0x61,
};

static size_t conn_hello_encode(void *buf)
{
	static const struct te_msg_conn_hello msg = {
		.kind = TE_WIRE_CONN_LANE,
		.token = 0x5152535455565758,
		.boot_gen = 0x3132333435363738,
		.dev_id = 31,
		.qp_index = 0x0102,
		.nr_qps = 0x0304,
		.number = 0x6162636465666768,
	};

	te_wire_conn_hello_encode(buf, &msg);
	return sizeof(struct te_wire_conn_hello);
}

static int conn_hello_recode(struct kunit *test, const void *buf, size_t len,
			     void *out)
{
	struct te_msg_conn_hello msg;
	int ret;

	memset(&msg, POISON, sizeof(msg));
	ret = te_wire_conn_hello_decode(buf, len, &msg);
	if (refused(test, ret, &msg, sizeof(msg)))
		return ret;
	KUNIT_EXPECT_GE(test, msg.kind, TE_WIRE_CONN_DATA);
	KUNIT_EXPECT_LE(test, msg.kind, TE_WIRE_CONN_LANE);
	KUNIT_EXPECT_LT(test, msg.dev_id, TE_WIRE_MAX_DEVS);
	KUNIT_EXPECT_LT(test, msg.qp_index, msg.nr_qps);
	KUNIT_EXPECT_EQ(test, !msg.number, msg.kind != TE_WIRE_CONN_LANE);
	te_wire_conn_hello_encode(out, &msg);
	return sizeof(struct te_wire_conn_hello);
}

static const u8 conn_reply_bytes[32] = {
	't', '-', 't', 'c', 0x01, 0x01, 0x20, 0x00,
	0x04, 0x03, 0x02, 0x01, 0x1f, 0x00, 0x00, 0x00,
	0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31,
	0x44, 0x43, 0x42, 0x41,
};

static size_t conn_reply_encode(void *buf)
{
	static const struct te_msg_conn_reply msg = {
		.crc = true,
		.status = 0x01020304,
		.dev_id = 31,
		.boot_gen = 0x3132333435363738,
		.proof_key = 0x41424344,
	};

	te_wire_conn_reply_encode(buf, &msg);
	return sizeof(struct te_wire_conn_reply);
}

static int conn_reply_recode(struct kunit *test, const void *buf, size_t len,
			     void *out)
{
	struct te_msg_conn_reply msg;
	int ret;

	memset(&msg, POISON, sizeof(msg));
	ret = te_wire_conn_reply_decode(buf, len, &msg);
	if (refused(test, ret, &msg, sizeof(msg)))
		return ret;
	KUNIT_EXPECT_LT(test, msg.dev_id, TE_WIRE_MAX_DEVS);
	te_wire_conn_reply_encode(out, &msg);
	return sizeof(struct te_wire_conn_reply);
}

#define SAMPLE(id, _type, _bytes, _encode, _recode)			\
	[SAMPLE_##id] = {						\
		.desc = #id,						\
		.type = _type,						\
		.len = sizeof(_bytes),					\
		.bytes = _bytes,					\
		.encode = _encode,					\
		.recode = _recode,					\
	}

const struct te_wire_sample te_wire_samples[NR_SAMPLES] = {
	SAMPLE(HELLO, TE_WIRE_HELLO, hello_bytes, hello_encode, hello_recode),
	SAMPLE(HELLO_REPLY, TE_WIRE_HELLO_REPLY, hello_reply_bytes,
	       hello_reply_encode, hello_reply_recode),
	SAMPLE(HELLO_REFUSED, TE_WIRE_HELLO_REPLY, hello_refused_bytes,
	       hello_refused_encode, hello_reply_recode),
	SAMPLE(PING, TE_WIRE_PING, ping_bytes, ping_encode, ping_recode),
	SAMPLE(PONG, TE_WIRE_PONG, ping_bytes, pong_encode, pong_recode),
	SAMPLE(BYE, TE_WIRE_BYE, bye_bytes, bye_encode, bye_recode),
	SAMPLE(SEG_OPEN, TE_WIRE_SEG_OPEN, seg_open_bytes, seg_open_encode,
	       seg_open_recode),
	SAMPLE(SEG_OPEN_NO_TOKEN, TE_WIRE_SEG_OPEN, seg_open_no_token_bytes,
	       seg_open_no_token_encode, seg_open_recode),
	SAMPLE(SEG_OPENED, TE_WIRE_SEG_OPENED, seg_opened_bytes,
	       seg_opened_encode, seg_opened_recode),
	SAMPLE(SEG_OPEN_FAILED, TE_WIRE_SEG_OPENED, seg_open_failed_bytes,
	       seg_open_failed_encode, seg_opened_recode),
	SAMPLE(SEG_DEVS, TE_WIRE_SEG_DEVS, seg_devs_bytes, seg_devs_encode,
	       seg_devs_recode),
	SAMPLE(SEG_DEVS_NONE, TE_WIRE_SEG_DEVS, seg_devs_none_bytes,
	       seg_devs_none_encode, seg_devs_recode),
	SAMPLE(SEG_MRS, TE_WIRE_SEG_MRS, seg_mrs_bytes, seg_mrs_encode,
	       seg_mrs_recode),
	SAMPLE(SEG_KEYS, TE_WIRE_SEG_KEYS, seg_keys_bytes, seg_keys_encode,
	       seg_keys_recode),
	SAMPLE(SEG_READY, TE_WIRE_SEG_READY, seg_end_bytes, seg_ready_encode,
	       seg_ready_recode),
	SAMPLE(SEG_MR_GONE, TE_WIRE_SEG_MR_GONE, seg_mr_gone_bytes,
	       seg_mr_gone_encode, seg_mr_gone_recode),
	SAMPLE(SEG_GONE, TE_WIRE_SEG_GONE, seg_gone_bytes, seg_gone_encode,
	       seg_gone_recode),
	SAMPLE(SEG_CLOSE, TE_WIRE_SEG_CLOSE, seg_end_bytes, seg_close_encode,
	       seg_close_recode),
	SAMPLE(SEG_DEV_GONE, TE_WIRE_SEG_DEV_GONE, seg_dev_gone_bytes,
	       seg_dev_gone_encode, seg_dev_gone_recode),
	SAMPLE(SEG_DEV_KEYS, TE_WIRE_SEG_DEV_KEYS, seg_dev_keys_bytes,
	       seg_dev_keys_encode, seg_dev_keys_recode),
	SAMPLE(SEG_FAR, TE_WIRE_SEG_FAR, seg_far_bytes, seg_far_encode,
	       seg_far_recode),
	SAMPLE(CONN_HELLO, 0, conn_hello_bytes, conn_hello_encode,
	       conn_hello_recode),
	SAMPLE(CONN_REPLY, 0, conn_reply_bytes, conn_reply_encode,
	       conn_reply_recode),
};

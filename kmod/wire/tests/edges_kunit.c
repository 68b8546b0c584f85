// SPDX-License-Identifier: GPL-2.0-only
/*
 * wire/tests/edges: each field at the edges of its range, each count against
 * the bytes that are there, and the largest frames that may come.
 */
#include <linux/errno.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <linux/te.h>
#include <linux/unaligned.h>

#include "wire/tests/samples.h"
#include "wire/conn.h"

/* ---- a field of a sample is changed */

struct poke {
	u8 off;
	u8 size;	/* bytes, or 0: none */
	u64 value;
};

struct edge {
	const char *desc;
	enum te_wire_sample_id sample;
	struct poke poke[2];
	int ret;
};

#define EDGE(_sample, _desc, _ret, ...)					\
	{								\
		.desc = #_sample ": " _desc,				\
		.sample = SAMPLE_##_sample,				\
		.ret = _ret,						\
		.poke = { __VA_ARGS__ },				\
	}

static const struct edge edges[] = {
	EDGE(HELLO, "lowest version 0", -EBADMSG, { 0, 2, 0 }),
	EDGE(HELLO, "lowest version 1", 0, { 0, 2, 1 }),
	EDGE(HELLO, "one version", 0, { 0, 2, 0x0304 }),
	EDGE(HELLO, "lowest above highest", -EBADMSG, { 0, 2, 0x0305 }),
	EDGE(HELLO, "highest version 0", -EBADMSG, { 2, 2, 0 }),
	EDGE(HELLO, "all versions", 0, { 0, 2, 1 }, { 2, 2, U16_MAX }),
	EDGE(HELLO, "pages too small", -EBADMSG, { 4, 2, 11 }),
	EDGE(HELLO, "smallest pages", 0, { 4, 2, 12 }),
	EDGE(HELLO, "largest pages", 0, { 4, 2, 30 }),
	EDGE(HELLO, "pages too large", -EBADMSG, { 4, 2, 31 }),
	EDGE(HELLO, "page shift -1", -EBADMSG, { 4, 2, U16_MAX }),
	EDGE(HELLO, "features we never heard of", 0, { 8, 8, U64_MAX }),
	EDGE(HELLO, "authentication shorter than its bytes", -EBADMSG,
	     { 40, 4, 2 }),
	EDGE(HELLO, "authentication of 64", 0, { 40, 4, 64 }),
	EDGE(HELLO, "authentication of 65", -EBADMSG, { 40, 4, 65 }),
	EDGE(HELLO, "authentication of -1", -EBADMSG, { 40, 4, U32_MAX }),
	EDGE(HELLO, "byte behind no authentication", -EBADMSG,
	     { 40, 4, 0 }),
	EDGE(HELLO, "no authentication", 0, { 40, 4, 0 }, { 56, 4, 0 }),
	EDGE(HELLO, "last byte, not in 63", -EBADMSG,
	     { 40, 4, 63 }, { 119, 1, 1 }),
	EDGE(HELLO, "last byte, in 64", 0, { 40, 4, 64 }, { 119, 1, 1 }),

	EDGE(HELLO_REPLY, "version N - 1", -EPROTO,
	     { 4, 2, TE_WIRE_VERSION_MIN - 1 }),
	EDGE(HELLO_REPLY, "version N + 1", -EPROTO,
	     { 4, 2, TE_WIRE_VERSION_MAX + 1 }),
	EDGE(HELLO_REPLY, "version -1", -EPROTO, { 4, 2, U16_MAX }),
	EDGE(HELLO_REPLY, "welcome without token", -EBADMSG, { 48, 8, 0 }),
	EDGE(HELLO_REPLY, "half a token", 0, { 48, 8, 1ULL << 63 }),
	EDGE(HELLO_REPLY, "pages too small", -EBADMSG, { 6, 2, 11 }),
	EDGE(HELLO_REPLY, "pages too large", -EBADMSG, { 6, 2, 31 }),
	EDGE(HELLO_REPLY, "refused, with a version of its own", 0,
	     { 0, 4, TE_WIRE_ERR_VERSION }, { 4, 2, U16_MAX }),
	EDGE(HELLO_REPLY, "refused, a reason of the future", 0,
	     { 0, 4, U32_MAX }),
	EDGE(HELLO_REPLY, "authentication of 65", -EBADMSG, { 12, 4, 65 }),
	EDGE(HELLO_REPLY, "authentication shorter than its bytes", -EBADMSG,
	     { 12, 4, 63 }),
	EDGE(HELLO_REFUSED, "authentication of -1", -EBADMSG,
	     { 12, 4, U32_MAX }),
	EDGE(HELLO_REFUSED, "welcome with nothing", -EBADMSG, { 0, 4, 0 }),

	EDGE(BYE, "for no reason", -EBADMSG, { 0, 4, 0 }),
	EDGE(BYE, "a reason of the future", 0, { 0, 4, U32_MAX }),

	EDGE(SEG_OPEN, "cookie 0", -EBADMSG, { 0, 4, 0 }),
	EDGE(SEG_OPEN, "any transport", 0, { 4, 4, TE_ANY }),
	EDGE(SEG_OPEN, "last transport", 0, { 4, 4, TE_LOCAL }),
	EDGE(SEG_OPEN, "no such transport", -EBADMSG, { 4, 4, TE_LOCAL + 1 }),
	EDGE(SEG_OPEN, "transport -1", -EBADMSG, { 4, 4, U32_MAX }),
	EDGE(SEG_OPEN, "no name, all token", -EBADMSG, { 8, 2, 0 }, { 10, 2, 5 }),
	EDGE(SEG_OPEN, "all name, no token", 0, { 8, 2, 5 }, { 10, 2, 0 }),
	EDGE(SEG_OPEN, "one byte not claimed", -EBADMSG, { 8, 2, 1 }),
	EDGE(SEG_OPEN, "name past the end", -EBADMSG, { 8, 2, 3 }),
	EDGE(SEG_OPEN, "token past the end", -EBADMSG, { 10, 2, 4 }),
	EDGE(SEG_OPEN, "name and token wrap to what is there", -EBADMSG,
	     { 8, 2, 6 }, { 10, 2, U16_MAX }),
	EDGE(SEG_OPEN, "name of -1", -EBADMSG, { 8, 2, U16_MAX }),

	EDGE(SEG_OPENED, "cookie 0", -EBADMSG, { 0, 4, 0 }),
	EDGE(SEG_OPENED, "without handle", -EBADMSG, { 8, 4, 0 }),
	EDGE(SEG_OPENED, "failed, with handle", -EBADMSG, { 4, 4, 1 }),
	EDGE(SEG_OPEN_FAILED, "a reason of the future", 0, { 4, 4, U32_MAX }),

	EDGE(SEG_READY, "cookie 0", -EBADMSG, { 0, 4, 0 }),
	EDGE(SEG_READY, "with a reason", -EBADMSG, { 4, 4, 1 }),
	EDGE(SEG_GONE, "without a reason", -EBADMSG, { 4, 4, 0 }),
	EDGE(SEG_GONE, "a reason of the future", 0, { 4, 4, U32_MAX }),
	EDGE(SEG_CLOSE, "handle 0", -EBADMSG, { 0, 4, 0 }),
	EDGE(SEG_CLOSE, "with a reason", -EBADMSG, { 4, 4, 1 }),

	EDGE(SEG_DEVS, "cookie 0", -EBADMSG, { 0, 4, 0 }),
	EDGE(SEG_DEVS, "chunk too small", -EBADMSG, { 26, 2, 11 }),
	EDGE(SEG_DEVS, "largest chunk", 0, { 26, 2, 40 }),
	EDGE(SEG_DEVS, "chunk too large", -EBADMSG, { 26, 2, 41 }),
	EDGE(SEG_DEVS, "the same dev twice", -EBADMSG, { 28, 4, 31 }),
	EDGE(SEG_DEVS, "devs that descend", -EBADMSG, { 60, 4, 2 }),
	EDGE(SEG_DEVS, "dev 32", -EBADMSG, { 60, 4, 32 }),
	EDGE(SEG_DEVS, "dev -1", -EBADMSG, { 60, 4, U32_MAX }),
	EDGE(SEG_DEVS, "no such MTU", -EBADMSG, { 37, 1, 6 }),
	EDGE(SEG_DEVS, "largest MTU", 0, { 37, 1, 5 }),
	EDGE(SEG_DEVS, "behind a dev", -EBADMSG, { 38, 1, 1 }),
	EDGE(SEG_DEVS, "node 0", 0, { 32, 4, 0 }),
	EDGE(SEG_DEVS, "node -2", -EBADMSG, { 32, 4, (u32)-2 }),
	EDGE(SEG_DEVS, "node below all", -EBADMSG, { 32, 4, 0x80000000 }),

	EDGE(SEG_MRS, "cookie 0", -EBADMSG, { 0, 4, 0 }),
	EDGE(SEG_MRS, "length 0", -EBADMSG, { 16, 8, 0 }),
	EDGE(SEG_MRS, "longer than half of all", -EBADMSG,
	     { 48, 8, 1ULL << 63 }),
	EDGE(SEG_MRS, "length -1", -EBADMSG, { 48, 8, U64_MAX }),
	EDGE(SEG_MRS, "last byte of all", 0, { 8, 8, U64_MAX }),
	EDGE(SEG_MRS, "up to the last byte of all", 0,
	     { 8, 8, U64_MAX - 0xff }, { 16, 8, 0x100 }),
	EDGE(SEG_MRS, "one byte round the end", -EBADMSG,
	     { 8, 8, U64_MAX - 0xff }, { 16, 8, 0x101 }),
	EDGE(SEG_MRS, "no access", -EBADMSG, { 28, 4, 0 }),
	EDGE(SEG_MRS, "write only", 0, { 28, 4, TE_REMOTE_WRITE }),
	EDGE(SEG_MRS, "local access", -EBADMSG,
	     { 28, 4, TE_REMOTE_READ | TE_LOCAL_READ }),
	EDGE(SEG_MRS, "access of the future", -EBADMSG,
	     { 28, 4, TE_REMOTE_READ << 2 | TE_REMOTE_READ }),
	EDGE(SEG_MRS, "far into a page", 0, { 32, 4, (1U << 30) - 1 }),
	EDGE(SEG_MRS, "not in the page", -EBADMSG, { 32, 4, 1U << 30 }),
	EDGE(SEG_MRS, "page offset -1", -EBADMSG, { 32, 4, U32_MAX }),
	EDGE(SEG_MRS, "on all devs", 0, { 36, 4, U32_MAX }),

	EDGE(SEG_MR_GONE, "cookie 0", -EBADMSG, { 0, 4, 0 }),
	EDGE(SEG_MR_GONE, "two", 0, { 12, 4, 6 }),
	EDGE(SEG_MR_GONE, "less than none", -EBADMSG, { 12, 4, 4 }),
	EDGE(SEG_MR_GONE, "the second is less than none", -EBADMSG,
	     { 16, 4, U32_MAX }, { 20, 4, 0 }),
	EDGE(SEG_KEYS, "cookie 0", -EBADMSG, { 0, 4, 0 }),
	EDGE(SEG_KEYS, "of region 0", 0, { 4, 4, 0 }),

	EDGE(SEG_DEV_GONE, "cookie 0", -EBADMSG, { 0, 4, 0 }),
	EDGE(SEG_DEV_GONE, "none", -EBADMSG, { 4, 4, 0 }),
	EDGE(SEG_DEV_GONE, "all", 0, { 4, 4, U32_MAX }),
	EDGE(SEG_DEV_KEYS, "cookie 0", -EBADMSG, { 0, 4, 0 }),
	EDGE(SEG_DEV_KEYS, "of region 0", 0, { 4, 4, 0 }),
	EDGE(SEG_DEV_KEYS, "dev 0", 0, { 8, 4, 0 }),
	EDGE(SEG_DEV_KEYS, "dev 32", -EBADMSG, { 8, 4, 32 }),
	EDGE(SEG_DEV_KEYS, "dev -1", -EBADMSG, { 8, 4, U32_MAX }),
	EDGE(SEG_DEV_KEYS, "from the first chunk on", 0, { 12, 4, 0 }),
	EDGE(SEG_DEV_KEYS, "up to the last chunk", 0,
	     { 12, 4, U32_MAX - 3 }),
	EDGE(SEG_DEV_KEYS, "round the end", -EBADMSG, { 12, 4, U32_MAX - 2 }),
	EDGE(SEG_FAR, "cookie 0", -EBADMSG, { 0, 4, 0 }),
	EDGE(SEG_FAR, "region 0", 0, { 8, 4, 0 }),
	EDGE(SEG_FAR, "all devs", 0, { 12, 4, U32_MAX }),
	EDGE(SEG_FAR, "the same region twice", 0, { 16, 4, 0x05060708 }),

	EDGE(CONN_HELLO, "version N - 1", -EPROTO,
	     { 4, 1, TE_WIRE_VERSION_MIN - 1 }),
	EDGE(CONN_HELLO, "version N + 1", -EPROTO,
	     { 4, 1, TE_WIRE_VERSION_MAX + 1 }),
	EDGE(CONN_HELLO, "magic of frames", -EBADMSG, { 0, 4, TE_WIRE_MAGIC }),
	EDGE(CONN_HELLO, "kind 0", -EBADMSG, { 5, 1, 0 }),
	EDGE(CONN_HELLO, "service", 0, { 5, 1, TE_WIRE_CONN_SERVICE },
	     { 32, 8, 0 }),
	EDGE(CONN_HELLO, "service with a number", -EBADMSG,
	     { 5, 1, TE_WIRE_CONN_SERVICE }),
	EDGE(CONN_HELLO, "lane without a number", -EBADMSG, { 32, 8, 0 }),
	EDGE(CONN_HELLO, "first lane", 0, { 32, 8, 1 }),
	EDGE(CONN_HELLO, "kind 4", -EBADMSG, { 5, 1, 4 }),
	EDGE(CONN_HELLO, "shorter", -EBADMSG, { 6, 1, 47 }),
	EDGE(CONN_HELLO, "as much as fits", -EBADMSG, { 6, 1, 56 }),
	EDGE(CONN_HELLO, "any token", 0, { 8, 8, 0 }),
	EDGE(CONN_HELLO, "dev 0", 0, { 24, 4, 0 }),
	EDGE(CONN_HELLO, "dev 32", -EBADMSG, { 24, 4, 32 }),
	EDGE(CONN_HELLO, "first QP", 0, { 28, 2, 0 }),
	EDGE(CONN_HELLO, "last QP", 0, { 28, 2, 0x0303 }),
	EDGE(CONN_HELLO, "QP behind the last", -EBADMSG, { 28, 2, 0x0304 }),
	EDGE(CONN_HELLO, "behind", -EBADMSG, { 40, 1, 1 }),
	EDGE(CONN_HELLO, "no QPs", -EBADMSG, { 28, 2, 0 }, { 30, 2, 0 }),

	EDGE(CONN_REPLY, "version N - 1", -EPROTO,
	     { 4, 1, TE_WIRE_VERSION_MIN - 1 }),
	EDGE(CONN_REPLY, "version N + 1", -EPROTO,
	     { 4, 1, TE_WIRE_VERSION_MAX + 1 }),
	EDGE(CONN_REPLY, "magic of frames", -EBADMSG, { 0, 4, TE_WIRE_MAGIC }),
	EDGE(CONN_REPLY, "no flags", 0, { 5, 1, 0 }),
	EDGE(CONN_REPLY, "no such flag", -EBADMSG, { 5, 1, 2 }),
	EDGE(CONN_REPLY, "longer", -EBADMSG, { 6, 1, 33 }),
	EDGE(CONN_REPLY, "a reason of the future", 0, { 8, 4, U32_MAX }),
	EDGE(CONN_REPLY, "dev 32", -EBADMSG, { 12, 4, 32 }),
};

KUNIT_ARRAY_PARAM_DESC(edge, edges, desc);

static void poke_bytes(u8 *payload, const struct poke *poke)
{
	u32 i;

	for (i = 0; i < poke->size; i++)
		payload[poke->off + i] = poke->value >> 8 * i;
}

static void decode_edge(struct kunit *test)
{
	const struct edge *edge = test->param_value;
	const struct te_wire_sample *sample = &te_wire_samples[edge->sample];
	size_t head = te_wire_sample_head(sample);
	u8 *payload = kunit_kmalloc(test, sample->len, GFP_KERNEL);
	u8 *frame = kunit_kmalloc(test, head + sample->len, GFP_KERNEL);
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, payload);
	KUNIT_ASSERT_NOT_NULL(test, frame);
	memcpy(payload, sample->bytes, sample->len);
	poke_bytes(payload, &edge->poke[0]);
	poke_bytes(payload, &edge->poke[1]);

	ret = sample->recode(test, payload, sample->len, frame);
	if (edge->ret) {
		KUNIT_EXPECT_EQ(test, ret, edge->ret);
		return;
	}
	KUNIT_EXPECT_EQ(test, ret, head + sample->len);
	KUNIT_EXPECT_MEMEQ(test, frame + head, payload, sample->len);
}

/* ---- a count, against the entries that are there */

struct array {
	const char *desc;
	enum te_wire_sample_id sample;
	u32 nr_off;	/* where its count stands */
	u32 head;	/* bytes in front of the entries */
	u32 entry;	/* bytes of each */
	bool may_be_empty;
};

static const struct array arrays[] = {
	{ "SEG_DEVS", SAMPLE_SEG_DEVS, 4, 8, 32, true },
	{ "SEG_MRS", SAMPLE_SEG_MRS, 4, 8, 32 },
	{ "SEG_MR_GONE", SAMPLE_SEG_MR_GONE, 4, 8, 8 },
	{ "SEG_KEYS", SAMPLE_SEG_KEYS, 8, 16, 4 },
	{ "SEG_DEV_KEYS", SAMPLE_SEG_DEV_KEYS, 16, 24, 4 },
	{ "SEG_FAR", SAMPLE_SEG_FAR, 4, 8, 8 },
};

KUNIT_ARRAY_PARAM_DESC(array, arrays, desc);

static int decode_counted(struct kunit *test, const struct array *array, u32 nr,
			  size_t len)
{
	const struct te_wire_sample *sample = &te_wire_samples[array->sample];
	u8 *payload = kunit_kzalloc(test, len, GFP_KERNEL);
	u8 *frame = kunit_kmalloc(test, TE_WIRE_FRAME(len), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, payload);
	KUNIT_ASSERT_NOT_NULL(test, frame);
	memcpy(payload, sample->bytes, min_t(size_t, len, sample->len));
	put_unaligned_le32(nr, payload + array->nr_off);
	return sample->recode(test, payload, len, frame);
}

static void decode_counts(struct kunit *test)
{
	const struct array *array = test->param_value;
	/* So many entries have a multiple of 2^32 bytes. */
	const u32 wrap = (1ULL << 32) / array->entry;
	const struct {
		u32 nr;		/* announced */
		u32 there;	/* bytes of entries */
		bool good;
	} rows[] = {
		{ 2, 2 * array->entry, true },
		{ 1, 1 * array->entry, true },
		{ 0, 0, array->may_be_empty },
		{ 1, 2 * array->entry },
		{ 3, 2 * array->entry },
		{ 2, 2 * array->entry + 1 },
		{ 2, 2 * array->entry - 1 },
		{ 0, 2 * array->entry },
		{ 1, 0 },
		{ U32_MAX, 2 * array->entry },
		{ 1U << 31, 2 * array->entry },
		{ wrap, 0 },
		{ wrap + 2, 2 * array->entry },
		{ wrap - 1, 2 * array->entry },
	};
	size_t i, len;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		len = array->head + rows[i].there;
		KUNIT_EXPECT_EQ_MSG(test,
				    decode_counted(test, array, rows[i].nr, len),
				    rows[i].good ? (int)TE_WIRE_FRAME(len) :
						   -EBADMSG,
				    "%u in %u bytes", rows[i].nr,
				    rows[i].there);
	}
}

/* ---- as much as there may be */

static void decode_full_frames(struct kunit *test)
{
	static const struct {
		const char *desc;
		enum te_wire_sample_id sample;
		u8 type;
		u32 nr;
		int ret;
	} rows[] = {
		{ "32 devs", SAMPLE_SEG_DEVS, TE_WIRE_SEG_DEVS, 32, 0 },
		{ "33 devs", SAMPLE_SEG_DEVS, TE_WIRE_SEG_DEVS, 33, -EBADMSG },
		{ "mrs", SAMPLE_SEG_MRS, TE_WIRE_SEG_MRS, 2047, 0 },
		{ "ranges", SAMPLE_SEG_MR_GONE, TE_WIRE_SEG_MR_GONE, 8191, 0 },
		{ "keys", SAMPLE_SEG_KEYS, TE_WIRE_SEG_KEYS, 16380, 0 },
		{ "keys of a dev", SAMPLE_SEG_DEV_KEYS, TE_WIRE_SEG_DEV_KEYS,
		  16378, 0 },
		{ "far devs", SAMPLE_SEG_FAR, TE_WIRE_SEG_FAR, 8191, 0 },
	};
	struct te_msg_seg_dev_keys dev_keys = { .cookie = 1 };
	const size_t room = TE_WIRE_FRAME(TE_WIRE_MAX_PAYLOAD);
	u8 *frame = kunit_kzalloc(test, room, GFP_KERNEL);
	u8 *again = kunit_kzalloc(test, room, GFP_KERNEL);
	struct te_msg_hdr hdr;
	size_t i, len;
	u32 n;
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, frame);
	KUNIT_ASSERT_NOT_NULL(test, again);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		dev_keys.nr = rows[i].nr;
		for (n = 0; n < rows[i].nr; n++) {
			switch (rows[i].type) {
			case TE_WIRE_SEG_DEVS:
				te_wire_dev_set(frame, n, &(struct te_msg_dev) {
					.chunk_shift = 21,
					.dev_id = n,
				});
				break;
			case TE_WIRE_SEG_MRS:
				te_wire_mr_set(frame, n, &(struct te_msg_mr) {
					.id = n,
					.length = n + 1,
					.access = TE_REMOTE_READ,
				});
				break;
			case TE_WIRE_SEG_MR_GONE:
				te_wire_range_set(frame, n, n, n + 1);
				break;
			case TE_WIRE_SEG_FAR:
				te_wire_far_set(frame, n, n, ~n);
				break;
			case TE_WIRE_SEG_DEV_KEYS:
				te_wire_dev_key_set(frame, n, n);
				break;
			default:
				te_wire_key_set(frame, n, n);
			}
		}
		if (rows[i].type == TE_WIRE_SEG_KEYS)
			len = te_wire_seg_keys_encode(frame, 1, 1, rows[i].nr);
		else if (rows[i].type == TE_WIRE_SEG_DEV_KEYS)
			len = te_wire_seg_dev_keys_encode(frame, &dev_keys);
		else
			len = te_wire_seg_array_encode(frame, rows[i].type, 1,
						       rows[i].nr);
		KUNIT_ASSERT_LE_MSG(test, len, room, "%s", rows[i].desc);
		KUNIT_EXPECT_EQ(test, te_wire_hdr_decode(frame, sizeof(struct te_wire_hdr),
							 &hdr), 0);
		KUNIT_EXPECT_EQ(test, TE_WIRE_FRAME(hdr.length), len);

		ret = te_wire_samples[rows[i].sample].recode(test,
				frame + sizeof(struct te_wire_hdr), hdr.length,
				again);
		KUNIT_EXPECT_EQ_MSG(test, ret, rows[i].ret ?: (int)len, "%s",
				    rows[i].desc);
		if (ret > 0)
			KUNIT_EXPECT_MEMEQ(test, frame, again, len);
	}
}

/* Names and tokens at their edges, in frames of just their length. */
static void decode_names(struct kunit *test)
{
	static const struct {
		u16 name_len, token_len;
		int more;	/* bytes there, beyond what is announced */
		int ret;
	} rows[] = {
		{ 0, 0, 0, -EBADMSG },
		{ 0, 64, 0, -EBADMSG },
		{ 1, 0, 0, 0 },
		{ 1, 0, -1, -EBADMSG },
		{ 1, 1, 0, 0 },
		{ 254, 63, 0, 0 },
		{ 255, 64, 0, 0 },
		{ 255, 64, 1, -EBADMSG },
		{ 255, 64, -1, -EBADMSG },
		{ 255, 65, 0, -EBADMSG },
		{ 256, 64, 0, -EBADMSG },
		{ 256, 0, 0, -EBADMSG },
		{ U16_MAX, 0, 0, -EBADMSG },
		{ 1, U16_MAX, 0, -EBADMSG },
		{ U16_MAX, U16_MAX, 0, -EBADMSG },
		{ U16_MAX, 2, -65536, -EBADMSG },
	};
	const struct te_wire_sample *sample = &te_wire_samples[SAMPLE_SEG_OPEN];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t len = sizeof(struct te_wire_seg_open) +
			     rows[i].name_len + rows[i].token_len +
			     rows[i].more;
		u8 *payload = kvzalloc(len, GFP_KERNEL);
		u8 *frame = kvzalloc(TE_WIRE_FRAME(len), GFP_KERNEL);
		int ret = -ENOMEM;

		if (payload && frame) {
			memset(payload, 'n', len);
			memcpy(payload, sample->bytes,
			       sizeof(struct te_wire_seg_open));
			put_unaligned_le16(rows[i].name_len, payload + 8);
			put_unaligned_le16(rows[i].token_len, payload + 10);
			ret = sample->recode(test, payload, len, frame);
		}
		KUNIT_EXPECT_EQ_MSG(test, ret,
				    rows[i].ret ?: (int)TE_WIRE_FRAME(len),
				    "name %u token %u %+d", rows[i].name_len,
				    rows[i].token_len, rows[i].more);
		kvfree(payload);
		kvfree(frame);
	}
}

/* ---- the header of each frame */

static const u8 header[16] = { 't', '-', 't', 'e', TE_WIRE_PING, 0, 0, 0, 8 };

static void hdr_any_byte(struct kunit *test)
{
	u8 *buf = kunit_kmalloc(test, sizeof(header), GFP_KERNEL);
	struct te_msg_hdr msg;
	u32 i, value, length;
	bool good;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	for (i = 0; i < sizeof(header); i++) {
		for (value = 0; value <= U8_MAX; value++) {
			memcpy(buf, header, sizeof(header));
			buf[i] = value;
			length = get_unaligned_le32(buf + 8);
			good = value == header[i] ||
			       (i == 4 && value < TE_WIRE_NR_TYPES) ||
			       (i >= 8 && i < 12 &&
				length <= TE_WIRE_MAX_PAYLOAD);
			msg = (struct te_msg_hdr) { .type = 77, .length = 77 };
			KUNIT_EXPECT_EQ_MSG(test, te_wire_hdr_decode(buf, 16, &msg),
					    good ? 0 : -EBADMSG,
					    "byte %u as %#x", i, value);
			KUNIT_EXPECT_EQ(test, msg.type, good ? buf[4] : 77);
			KUNIT_EXPECT_EQ(test, msg.length, good ? length : 77);
		}
	}
}

static void hdr_lengths(struct kunit *test)
{
	static const struct {
		u32 length;	/* announced */
		u32 len;	/* of the header itself */
		int ret;
	} rows[] = {
		{ 0, 16, 0 },
		{ 1, 16, 0 },
		{ TE_WIRE_MAX_PAYLOAD - 1, 16, 0 },
		{ TE_WIRE_MAX_PAYLOAD, 16, 0 },
		{ TE_WIRE_MAX_PAYLOAD + 1, 16, -EBADMSG },
		{ S32_MAX, 16, -EBADMSG },
		{ 1U << 31, 16, -EBADMSG },
		{ U32_MAX, 16, -EBADMSG },
		{ 8, 0, -EBADMSG },
		{ 8, 15, -EBADMSG },
		{ 8, 17, -EBADMSG },
	};
	struct te_msg_hdr msg;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		u8 *buf = kunit_kzalloc(test, rows[i].len, GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, buf);
		memcpy(buf, header, min_t(u32, rows[i].len, sizeof(header)));
		if (rows[i].len >= 12)
			put_unaligned_le32(rows[i].length, buf + 8);
		KUNIT_EXPECT_EQ_MSG(test,
				    te_wire_hdr_decode(buf, rows[i].len, &msg),
				    rows[i].ret, "%u of %u", rows[i].length,
				    rows[i].len);
	}
}

/* ---- versions, and what codes mean */

static void common_versions(struct kunit *test)
{
	const u16 lo = TE_WIRE_VERSION_MIN, hi = TE_WIRE_VERSION_MAX;
	const struct {
		const char *desc;
		u16 min, max, version;
	} rows[] = {
		{ "the same build", lo, hi, hi },
		{ "only our lowest", lo, lo, lo },
		{ "only our highest", hi, hi, hi },
		{ "a newer one that speaks ours", lo, hi + 1, hi },
		{ "a newer one that speaks our highest", hi, hi + 1, hi },
		{ "a newer one that does not", hi + 1, hi + 2, 0 },
		{ "an older one that speaks our lowest", lo - 1, lo, lo },
		{ "an older one that does not", lo - 1, lo - 1, 0 },
		{ "all there will ever be", 1, U16_MAX, hi },
		{ "the last", U16_MAX, U16_MAX, 0 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct te_msg_hello msg = {
			.version_min = rows[i].min,
			.version_max = rows[i].max,
		};

		KUNIT_EXPECT_EQ_MSG(test, te_wire_common_version(&msg),
				    rows[i].version, "%s", rows[i].desc);
	}
}

static void code_errnos(struct kunit *test)
{
	u32 code;
	int error;

	KUNIT_EXPECT_EQ(test, te_wire_errno(TE_WIRE_OK), 0);
	for (code = 1; code < TE_WIRE_NR_CODES; code++) {
		error = te_wire_errno(code);
		KUNIT_EXPECT_LT_MSG(test, error, 0, "code %u", code);
	}
	KUNIT_EXPECT_EQ(test, te_wire_errno(TE_WIRE_NR_CODES), -EPROTO);
	KUNIT_EXPECT_EQ(test, te_wire_errno(S32_MAX), -EPROTO);
	KUNIT_EXPECT_EQ(test, te_wire_errno(U32_MAX), -EPROTO);
}

/* rdma_cm leaves 56 bytes on RoCE. */
static_assert(sizeof(struct te_wire_conn_hello) <= 56);

static struct kunit_case te_wire_edges_cases[] = {
	KUNIT_CASE_PARAM(decode_edge, edge_gen_params),
	KUNIT_CASE_PARAM(decode_counts, array_gen_params),
	KUNIT_CASE(decode_full_frames),
	KUNIT_CASE(decode_names),
	KUNIT_CASE(hdr_any_byte),
	KUNIT_CASE(hdr_lengths),
	KUNIT_CASE(common_versions),
	KUNIT_CASE(code_errnos),
	{}
};

static struct kunit_suite te_wire_edges_suite = {
	.name = "te_wire_edges",
	.test_cases = te_wire_edges_cases,
};

kunit_test_suite(te_wire_edges_suite);

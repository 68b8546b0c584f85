// SPDX-License-Identifier: GPL-2.0-only
/*
 * wire/tests/wire: what holds for every kind of message, one case for each.
 *
 * No accepted byte is without meaning: whatever a decoder lets through must, by
 * encoding what came out, give the same bytes again. Every buffer is an
 * allocation of just its size, so that KASAN sees who reads past its end.
 */
#include <linux/errno.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "wire/tests/samples.h"

KUNIT_ARRAY_PARAM_DESC(sample, te_wire_samples, desc);

static void *frame_alloc(struct kunit *test,
			 const struct te_wire_sample *sample)
{
	void *frame = kunit_kzalloc(test,
				    te_wire_sample_head(sample) + sample->len,
				    GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, frame);
	return frame;
}

static void *payload_dup(struct kunit *test,
			 const struct te_wire_sample *sample)
{
	void *payload = kunit_kmalloc(test, sample->len, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, payload);
	return memcpy(payload, sample->bytes, sample->len);
}

static void encode_gives_bytes(struct kunit *test)
{
	const struct te_wire_sample *sample = test->param_value;
	size_t head = te_wire_sample_head(sample);
	u8 *frame = frame_alloc(test, sample);
	struct te_msg_hdr hdr;

	/* What was there before must not show. */
	memset(frame, 0xff, head + sample->len);
	KUNIT_EXPECT_EQ(test, sample->encode(frame), head + sample->len);
	KUNIT_EXPECT_MEMEQ(test, frame + head, sample->bytes, sample->len);
	if (!head)
		return;
	KUNIT_ASSERT_EQ(test, te_wire_hdr_decode(frame, head, &hdr), 0);
	KUNIT_EXPECT_EQ(test, hdr.type, sample->type);
	KUNIT_EXPECT_EQ(test, hdr.length, sample->len);
}

static void decode_gives_message(struct kunit *test)
{
	const struct te_wire_sample *sample = test->param_value;
	size_t head = te_wire_sample_head(sample);
	u8 *frame = frame_alloc(test, sample);

	KUNIT_EXPECT_EQ(test, sample->recode(test, payload_dup(test, sample),
					     sample->len, frame),
			head + sample->len);
	KUNIT_EXPECT_MEMEQ(test, frame + head, sample->bytes, sample->len);
}

/* Refused with one of the two errors, or the same bytes come out again. */
static bool refused_or_same(struct kunit *test,
			    const struct te_wire_sample *sample,
			    const u8 *payload, u8 *frame)
{
	size_t head = te_wire_sample_head(sample);
	int ret = sample->recode(test, payload, sample->len, frame);

	if (ret < 0)
		return ret == -EBADMSG || ret == -EPROTO;
	return ret == head + sample->len &&
	       !memcmp(frame + head, payload, sample->len);
}

static void decode_any_byte(struct kunit *test)
{
	const struct te_wire_sample *sample = test->param_value;
	u8 *payload = payload_dup(test, sample);
	u8 *frame = frame_alloc(test, sample);
	u32 i, flip;

	for (i = 0; i < sample->len; i++) {
		for (flip = 1; flip <= U8_MAX; flip++) {
			payload[i] ^= flip;
			if (!refused_or_same(test, sample, payload, frame))
				KUNIT_FAIL(test, "byte %u as %#x", i,
					   payload[i]);
			payload[i] ^= flip;
		}
	}
}

static int recode_len(struct kunit *test, const struct te_wire_sample *sample,
		      u32 len, u8 *frame)
{
	u8 *payload = kmalloc(len, GFP_KERNEL);
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, payload);
	memset(payload, 0, len);
	memcpy(payload, sample->bytes, min(len, sample->len));
	ret = sample->recode(test, payload, len, frame);
	kfree(payload);
	return ret;
}

static void decode_truncated(struct kunit *test)
{
	const struct te_wire_sample *sample = test->param_value;
	u8 *frame = frame_alloc(test, sample);
	u32 len;

	for (len = 0; len < sample->len; len++)
		KUNIT_EXPECT_EQ_MSG(test, recode_len(test, sample, len, frame),
				    -EBADMSG, "%u bytes", len);
}

static void decode_trailing(struct kunit *test)
{
	const struct te_wire_sample *sample = test->param_value;
	u8 *frame = frame_alloc(test, sample);
	u32 more;

	/* rdma_cm pads private data: it tells its own length. */
	for (more = 1; more <= 64; more++)
		KUNIT_EXPECT_EQ_MSG(test,
				    recode_len(test, sample, sample->len + more,
					       frame),
				    sample->type ? -EBADMSG : (int)sample->len,
				    "%u bytes more", more);
}

/* Private data may start anywhere, and there may be none. */
static void conn_decode_anywhere(struct kunit *test)
{
	u32 id;

	for (id = SAMPLE_CONN_HELLO; id <= SAMPLE_CONN_REPLY; id++) {
		const struct te_wire_sample *sample = &te_wire_samples[id];
		u8 *frame = frame_alloc(test, sample);
		u8 *payload;

		payload = kunit_kmalloc(test, sample->len + 1, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, payload);
		memcpy(payload + 1, sample->bytes, sample->len);
		KUNIT_EXPECT_EQ(test,
				sample->recode(test, payload + 1, sample->len,
					       frame), sample->len);
		KUNIT_EXPECT_EQ(test, sample->recode(test, NULL, 0, frame),
				-EBADMSG);
	}
}

static struct kunit_case te_wire_cases[] = {
	KUNIT_CASE_PARAM(encode_gives_bytes, sample_gen_params),
	KUNIT_CASE_PARAM(decode_gives_message, sample_gen_params),
	KUNIT_CASE_PARAM(decode_any_byte, sample_gen_params),
	KUNIT_CASE_PARAM(decode_truncated, sample_gen_params),
	KUNIT_CASE_PARAM(decode_trailing, sample_gen_params),
	KUNIT_CASE(conn_decode_anywhere),
	{}
};

static struct kunit_suite te_wire_suite = {
	.name = "te_wire",
	.test_cases = te_wire_cases,
};

kunit_test_suite(te_wire_suite);

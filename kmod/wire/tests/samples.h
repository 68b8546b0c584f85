/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * wire/tests/samples: one message of each kind, and its bytes written down by
 * hand. Constant; borrowed by all suites of this room.
 */
#ifndef TE_WIRE_SAMPLES_H
#define TE_WIRE_SAMPLES_H

#include <kunit/test.h>

#include "wire/wire.h"

enum te_wire_sample_id {
	SAMPLE_HELLO,
	SAMPLE_HELLO_REPLY,
	SAMPLE_HELLO_REFUSED,
	SAMPLE_PING,
	SAMPLE_PONG,
	SAMPLE_BYE,
	SAMPLE_SEG_OPEN,
	SAMPLE_SEG_OPEN_NO_TOKEN,
	SAMPLE_SEG_OPENED,
	SAMPLE_SEG_OPEN_FAILED,
	SAMPLE_SEG_DEVS,
	SAMPLE_SEG_DEVS_NONE,
	SAMPLE_SEG_MRS,
	SAMPLE_SEG_KEYS,
	SAMPLE_SEG_READY,
	SAMPLE_SEG_MR_GONE,
	SAMPLE_SEG_GONE,
	SAMPLE_SEG_CLOSE,
	SAMPLE_SEG_DEV_GONE,
	SAMPLE_SEG_DEV_KEYS,
	SAMPLE_SEG_FAR,
	SAMPLE_CONN_HELLO,
	SAMPLE_CONN_REPLY,
	NR_SAMPLES,
};

/**
 * struct te_wire_sample - a message
 * @desc: name of the case
 * @type: of its frame, or 0 for private data, which has no header and may have
 *	anything behind it
 * @len: of @bytes
 * @bytes: payload, as it must be on the wire
 * @encode: write the message, with its header, to @buf; gives all bytes
 * @recode: decode @len bytes of payload at @buf, expect every value to be in
 *	the bounds that wire.h promises, and encode what came out to @out, which
 *	has room for as much and a header. Gives the bytes written, or what the
 *	decoder said
 */
struct te_wire_sample {
	const char *desc;
	u8 type;
	u32 len;
	const u8 *bytes;
	size_t (*encode)(void *buf);
	int (*recode)(struct kunit *test, const void *buf, size_t len,
		      void *out);
};

extern const struct te_wire_sample te_wire_samples[NR_SAMPLES];

/* Bytes in front of the payload. */
static inline size_t te_wire_sample_head(const struct te_wire_sample *sample)
{
	return sample->type ? sizeof(struct te_wire_hdr) : 0;
}

#endif /* TE_WIRE_SAMPLES_H */

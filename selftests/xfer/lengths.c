// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every length at which something changes: NIC packets, slices and their tail,
 * chunks of a registration, and one that is large. Both operations; all bytes
 * of both areas are compared each time, so a byte outside a range counts.
 */
#include "lib/test.h"
#include "lib/pair.h"

#define TAIL	(16 * KIB)	/* joins the last slice */
#define CHUNK	(2 * MIB)	/* rxe registers so much at a time */

FIXTURE(lengths)
{
	struct pair p;
};

FIXTURE_VARIANT(lengths)
{
	uint32_t op;
};

FIXTURE_VARIANT_ADD(lengths, read) { .op = TE_READ };
FIXTURE_VARIANT_ADD(lengths, write) { .op = TE_WRITE };

FIXTURE_SETUP(lengths)
{
	ASSERT_EQ(0, te_settle());
}

FIXTURE_TEARDOWN(lengths)
{
	pair_close(&self->p);
	CLEAN();
}

TEST_F_TIMEOUT(lengths, small, SLOW)
{
	static const size_t rows[] = {
		1, 2, 63, 64, 65, 255, 256, 1023, 1024, 1025,
		4095, 4096, 4097, 65535, 65536, 65537,
	};
	struct pair_opts o = { .local = 128 * KIB, .remote = 128 * KIB };
	size_t i;

	ASSERT_EQ(0, pair_open(&self->p, &o));
	for (i = 0; i < ROWS(rows); i++)
		EXPECT_ROW(0, pair_xfer(&self->p, variant->op, 8 * KIB + i,
					8 * KIB + 2 * i, rows[i]),
			   "%zu bytes", rows[i]);
}

TEST_F_TIMEOUT(lengths, slices, SLOW)
{
	struct pair_opts o = { .local = MIB, .remote = MIB };
	struct te_ioc_info info;
	long d;
	int n;

	ASSERT_EQ(0, raw_info(&info));
	ASSERT_LE(4096, info.slice_bytes);
	ASSERT_GE(256 * KIB, info.slice_bytes);
	ASSERT_EQ(0, pair_open(&self->p, &o));

	for (n = 1; n <= 3; n++) {
		for (d = -1; d <= 1; d++) {
			size_t len = n * info.slice_bytes + d;

			EXPECT_ROW(0, pair_xfer(&self->p, variant->op,
						16 * KIB, 20 * KIB, len),
				   "%d slices and %ld bytes", n, d);
			EXPECT_ROW(0, pair_xfer(&self->p, variant->op,
						16 * KIB + 1, 20 * KIB + 5,
						len + TAIL),
				   "%d slices, a tail and %ld bytes", n, d);
		}
	}
}

TEST_F_TIMEOUT(lengths, chunks, SLOW)
{
	struct pair_opts o = {
		.local = 2 * CHUNK + 64 * KIB,
		.remote = 2 * CHUNK + 64 * KIB,
	};
	long d;

	ASSERT_EQ(0, pair_open(&self->p, &o));
	for (d = -1; d <= 1; d++) {
		EXPECT_ROW(0, pair_xfer(&self->p, variant->op, 8 * KIB, 8 * KIB,
					CHUNK + d),
			   "first chunk and %ld bytes", d);
		EXPECT_ROW(0, pair_xfer(&self->p, variant->op, 12 * KIB + 7,
					8 * KIB + CHUNK + d, CHUNK - 1),
			   "second chunk, from %ld bytes off its start", d);
		EXPECT_ROW(0, pair_xfer(&self->p, variant->op,
					8 * KIB + CHUNK + d, 8 * KIB + 3, 2),
			   "two bytes around the border, %ld off", d);
	}
}

/* What registers in more than one chunk may start and end anywhere. */
TEST_F_TIMEOUT(lengths, chunks_of_odd_memory, SLOW)
{
	struct pair_opts o = {
		.local = 2 * CHUNK + 64 * KIB,
		.remote = 2 * CHUNK + 64 * KIB,
		.margin = 8 * KIB + 4093,
	};
	size_t all = o.local - 2 * o.margin;

	ASSERT_EQ(0, pair_open(&self->p, &o));
	EXPECT_EQ(0, pair_xfer(&self->p, variant->op, o.margin, o.margin, all));
	EXPECT_EQ(0, pair_xfer(&self->p, variant->op, o.margin + all - 1,
			       o.margin, 1));
	EXPECT_EQ(0, pair_xfer(&self->p, variant->op, o.margin,
			       o.margin + all - 1, 1));
}

TEST_F_TIMEOUT(lengths, large, SLOW)
{
	struct pair_opts o = {
		.local = 64 * MIB + 16 * KIB,
		.remote = 64 * MIB + 16 * KIB,
	};

	ASSERT_EQ(0, pair_open(&self->p, &o));
	EXPECT_EQ(0, pair_xfer(&self->p, variant->op, 8 * KIB, 8 * KIB,
			       64 * MIB));
}

TEST_HARNESS_MAIN

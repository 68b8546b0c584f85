// SPDX-License-Identifier: GPL-2.0-only
/*
 * Alignments 0 to 63 of both addresses, sampled so that every residue of each
 * side and many of their differences occur, with lengths around packets. One
 * batch holds them all, in 64 neighbouring cells; what lies between is compared
 * too.
 */
#include "lib/test.h"
#include "lib/pair.h"

#define CELLS	64
#define CELL	(16 * KIB)

FIXTURE(align)
{
	struct pair p;
};

FIXTURE_VARIANT(align)
{
	uint32_t op;
	size_t step;	/* remote residue grows by this: odd, so it meets all */
	size_t length;
};

FIXTURE_VARIANT_ADD(align, read_equal) { TE_READ, 1, 4096 };
FIXTURE_VARIANT_ADD(align, write_equal) { TE_WRITE, 1, 4096 };
FIXTURE_VARIANT_ADD(align, read_short) { TE_READ, 7, 1 };
FIXTURE_VARIANT_ADD(align, write_short) { TE_WRITE, 13, 1 };
FIXTURE_VARIANT_ADD(align, read_mixed) { TE_READ, 37, 4000 };
FIXTURE_VARIANT_ADD(align, write_mixed) { TE_WRITE, 37, 4000 };
FIXTURE_VARIANT_ADD(align, read_long) { TE_READ, 63, 12000 };
FIXTURE_VARIANT_ADD(align, write_long) { TE_WRITE, 63, 12000 };

FIXTURE_SETUP(align)
{
	struct pair_opts o = {
		.local = CELLS * CELL + 16 * KIB,
		.remote = CELLS * CELL + 16 * KIB,
	};

	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, pair_open(&self->p, &o));
}

FIXTURE_TEARDOWN(align)
{
	pair_close(&self->p);
	CLEAN();
}

TEST_F_TIMEOUT(align, all, SLOW)
{
	struct te_request r[CELLS];
	size_t i;

	for (i = 0; i < CELLS; i++)
		r[i] = pair_req(&self->p, variant->op,
				8 * KIB + i * CELL + i,
				8 * KIB + i * CELL + i * variant->step % 64,
				variant->length + i * 5 % 67);
	EXPECT_EQ(0, pair_run(&self->p, r, CELLS));
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0-only
/*
 * A mover on its way to sleep, held there: what comes in that moment, a completion
 * or a request, is done all the same. Nothing else would ever wake it.
 */
#include "lib/test.h"
#include "lib/fault.h"
#include "lib/pair.h"

/*
 * Many completions: the first one wakes the mover, others come when it has seen
 * that and no interrupt tells of them.
 */
#define LEN	(16 * MIB)
#define AT	(8 * KIB)
#define ROUNDS	30
/* Long enough for all of them, but for slow machines. */
#define MS	20

FIXTURE(race_sleep)
{
	struct pair p;
};

FIXTURE_SETUP(race_sleep)
{
	struct pair_opts o = {
		.local = LEN + 2 * AT,
		.remote = LEN + 2 * AT,
	};

	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, pair_open(&self->p, &o));
	ASSERT_EQ(0, pair_xfer(&self->p, TE_READ, AT, AT, LEN));
}

FIXTURE_TEARDOWN(race_sleep)
{
	pair_close(&self->p);
	CLEAN();
}

static const char *const points[] = { "mover_arm", "mover_sleep" };

TEST_F_TIMEOUT(race_sleep, on_the_way, SLOW)
{
	struct pair *p = &self->p;
	int n, rounds = watched() ? ROUNDS / 5 : ROUNDS, ret = 0;
	size_t i;

	for (i = 0; i < ROWS(points); i++) {
		te_delay_arm(points[i], MS, ~0U);
		for (n = 0; n < rounds && !ret; n++) {
			/* Held already, or not yet, or posting. */
			te_sleep_ms(n % 3 * MS / 2);
			ret = pair_xfer(p, n & 1, AT, AT, LEN);
			EXPECT_ROW(0, ret, "%s, round %d", points[i], n);
		}
		te_delay_release(points[i]);
	}
}

TEST_HARNESS_MAIN

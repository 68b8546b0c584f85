// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections that nobody needs are closed, on both sides, after tcp_idle seconds;
 * the session stays, and the next request finds the way as the first one did.
 */
#include <stddef.h>
#include <stdlib.h>

#include "lib/test.h"
#include "lib/module.h"
#include "lib/pair.h"

#define LEN	100000

FIXTURE(idle)
{
	struct pair p;
};

FIXTURE_SETUP(idle)
{
	ASSERT_EQ(0, setenv("TE_TRANSPORT", "tcp", 1));
	ASSERT_EQ(0, te_settle_all());
	ASSERT_EQ(0, pair_open(&self->p, NULL));
}

FIXTURE_TEARDOWN(idle)
{
	EXPECT_EQ(0, module_set("tcp_idle", "60"));
	pair_close(&self->p);
	CLEAN();
	EXPECT_EQ(0, te_settle_all());
}

static int both_ways(struct pair *p)
{
	return pair_xfer(p, TE_WRITE, 9 * KIB, 8 * KIB, LEN) ?:
	       pair_xfer(p, TE_READ, 9 * KIB, 8 * KIB, LEN);
}

TEST_F_TIMEOUT(idle, closed_and_made_again, SLOW)
{
	struct te_ioc_stats before, s;
	int i;

	ASSERT_EQ(0, module_set("tcp_idle", "1"));
	ASSERT_EQ(0, te_stats(&before));
	for (i = 1; i <= 3; i++) {
		MUST(both_ways(&self->p));
		MUST(te_settle_one(offsetof(struct te_ioc_stats, endpoints), 0,
				   10000));
		MUST(te_stats(&s));
		EXPECT_EQ(before.sessions, s.sessions);
		EXPECT_EQ(before.store_misses + i, s.store_misses);
	}
	/* Nobody made room, and nobody is to blame. */
	EXPECT_EQ(before.store_evictions, s.store_evictions);
	EXPECT_EQ(before.sessions_broken, s.sessions_broken);
}

/* What has some work now and then is kept. */
TEST_F_TIMEOUT(idle, kept_while_used, SLOW)
{
	unsigned long long until = te_now_ms() + 7000;
	struct te_ioc_stats before, s;

	ASSERT_EQ(0, module_set("tcp_idle", "3"));
	MUST(both_ways(&self->p));
	ASSERT_EQ(0, te_stats(&before));
	while (te_now_ms() < until) {
		MUST(both_ways(&self->p));
		te_sleep_ms(200);
	}
	ASSERT_EQ(0, te_stats(&s));
	EXPECT_EQ(before.store_misses, s.store_misses);
	EXPECT_EQ(0, te_settle_one(offsetof(struct te_ioc_stats, endpoints), 0,
				   15000));
}

TEST_F_TIMEOUT(idle, for_ever, SLOW)
{
	struct te_ioc_stats before, s;

	ASSERT_EQ(0, module_set("tcp_idle", "0"));
	MUST(both_ways(&self->p));
	ASSERT_EQ(0, te_stats(&before));
	EXPECT_LT(0, before.endpoints);
	te_sleep_ms(4000);
	ASSERT_EQ(0, te_stats(&s));
	EXPECT_EQ(before.endpoints, s.endpoints);
}

TEST_HARNESS_MAIN

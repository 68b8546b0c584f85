// SPDX-License-Identifier: GPL-2.0-only
/*
 * worker/tests/health: how long a rail pauses after each of its failures.
 */
#include <kunit/test.h>
#include <linux/jiffies.h>

#include "worker/internal.h"

/* After @fails in a row at pauses' ends, @jitter with each. */
static const struct health_case {
	const char *desc;
	u32 fails;
	bool worked;
	u32 jitter;
	u32 want_ms;
} health_cases[] = {
	{ "the first is free", 1, true, U32_MAX, 0 },
	{ "the first is free, where nothing ever went", 1, false, U32_MAX, 0 },
	{ "the second", 2, true, 0, 10 },
	{ "the third", 3, true, 0, 20 },
	{ "the fourth", 4, true, 0, 40 },
	{ "the last below the bound", 9, true, 0, 1280 },
	{ "the bound", 10, true, 0, 2000 },
	{ "the bound and all jitter", 10, true, 499, 2499 },
	{ "jitter goes round", 10, true, 500, 2000 },
	{ "never worked, the bound of those that did", 10, false, 0, 2560 },
	{ "never worked, the last below the bound", 13, false, 0, 20480 },
	{ "never worked, the bound", 14, false, 0, 30000 },
	{ "never worked, all jitter", 14, false, 7499, 37499 },
	{ "a thousand", 1000, true, 0, 2000 },
	{ "a thousand, never worked", 1000, false, 0, 30000 },
};

KUNIT_ARRAY_PARAM_DESC(health, health_cases, desc);

static void pauses(struct kunit *test)
{
	const struct health_case *c = test->param_value;
	/* Over the wrap. */
	unsigned long now = -2UL, pause = 0;
	struct te_health health = { .worked = c->worked };
	u32 i;

	KUNIT_EXPECT_FALSE(test, te_health_paused(&health, now));
	for (i = 0; i < c->fails; i++) {
		now += pause;
		KUNIT_EXPECT_FALSE(test, te_health_paused(&health, now));
		pause = te_health_fail(&health, now, c->jitter);
		KUNIT_EXPECT_EQ(test, te_health_paused(&health, now), i > 0);
	}
	KUNIT_EXPECT_EQ(test, pause, msecs_to_jiffies(c->want_ms));
	if (pause)
		KUNIT_EXPECT_TRUE(test,
				  te_health_paused(&health, now + pause - 1));

	/* The next one soon after is the second, whatever there was before. */
	te_health_good(&health);
	KUNIT_EXPECT_FALSE(test, te_health_paused(&health, now));
	KUNIT_EXPECT_EQ(test, te_health_fail(&health, now, 0),
			msecs_to_jiffies(10));
}

/* It takes a little and hangs up, again and again: from the second time on it rests. */
static void success_forgives_but_one(struct kunit *test)
{
	struct te_health health = {};
	unsigned long now = 1000;
	u32 i;

	te_health_good(&health);
	KUNIT_EXPECT_EQ(test, health.fails, 0);
	KUNIT_EXPECT_EQ(test, te_health_fail(&health, now, 0), 0);
	for (i = 0; i < 100; i++) {
		te_health_good(&health);
		KUNIT_EXPECT_EQ(test, health.fails, 1);
		KUNIT_EXPECT_EQ(test, te_health_fail(&health, now, 0),
				msecs_to_jiffies(10));
		KUNIT_EXPECT_TRUE(test, te_health_paused(&health, now));
		now = health.until;
	}
}

/* The window counts from the end of the pause. */
static void old_failures_do_not_count(struct kunit *test)
{
	struct te_health health = { .worked = true };
	unsigned long now = 1000, pause;

	te_health_fail(&health, now, 0);
	pause = te_health_fail(&health, now, 0);
	now += pause + 10 * HZ;
	pause = te_health_fail(&health, now, 0);
	KUNIT_EXPECT_EQ(test, health.fails, 3);
	KUNIT_EXPECT_EQ(test, pause, msecs_to_jiffies(20));
	now += pause + 10 * HZ + 1;
	KUNIT_EXPECT_EQ(test, te_health_fail(&health, now, 0), 0);
	KUNIT_EXPECT_EQ(test, health.fails, 1);
	KUNIT_EXPECT_TRUE(test, health.worked);
}

static struct kunit_case te_health_cases[] = {
	KUNIT_CASE_PARAM(pauses, health_gen_params),
	KUNIT_CASE(success_forgives_but_one),
	KUNIT_CASE(old_failures_do_not_count),
	{}
};

static struct kunit_suite te_health_suite = {
	.name = "te_health",
	.test_cases = te_health_cases,
};

kunit_test_suite(te_health_suite);

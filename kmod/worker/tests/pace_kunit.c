// SPDX-License-Identifier: GPL-2.0-only
/*
 * worker/tests/pace: how an endpoint's window follows the speed of its network.
 */
#include <kunit/test.h>
#include <linux/jiffies.h>

#include "worker/internal.h"

#define KB	1024U
#define MB	(1024U * 1024)
#define SLICE	TE_SLICE_BYTES

static const struct pace_case {
	const char *desc;
	u32 window, took_ms, want;
} pace_cases[] = {
	{ "at once", MB / 2, 0, MB / 2 + SLICE },
	{ "nearly as much as there may be", MB - 1, 0, MB },
	{ "as much as there may be", MB, 0, MB },
	{ "with time to spare", MB / 2, 10, MB / 2 + SLICE },
	{ "in time", MB / 2, 50, MB / 2 + SLICE / 8 },
	{ "in time, as much as there may be", MB, 50, MB },
	{ "a little late", MB, 60, MB / 2 },
	{ "five times too late", MB, 250, MB / 5 },
	{ "a little late, and little", 128 * KB, 60, 128 * KB },
	{ "for ever", MB, 1000000, 128 * KB },
};

KUNIT_ARRAY_PARAM_DESC(pace, pace_cases, desc);

static void one_slice(struct kunit *test)
{
	const struct pace_case *c = test->param_value;
	/* Over the wrap. */
	unsigned long posted = -1UL;
	unsigned long now = posted + msecs_to_jiffies(c->took_ms);
	struct te_pace pace = { .window = c->window, .cut_at = posted };

	te_pace_done(&pace, SLICE, posted, now);
	KUNIT_EXPECT_EQ(test, pace.window, c->want);
	/* One that was posted with it says nothing new if it is late, too. */
	if (now - posted > msecs_to_jiffies(50)) {
		te_pace_done(&pace, SLICE, posted, now + 1);
		KUNIT_EXPECT_EQ(test, pace.window, c->want);
		te_pace_done(&pace, SLICE, now, now + HZ);
		KUNIT_EXPECT_LE(test, pace.window, max(c->want / 2, 2 * SLICE));
	}
}

/* All of both windows goes over what they share, at @kb_per_s, so many times. */
static void share(struct te_pace *a, struct te_pace *b, unsigned long *clock,
		  u32 kb_per_s, u32 times)
{
	u32 i, wa, wb, done;

	for (i = 0; i < times; i++) {
		unsigned long posted = *clock, now;

		wa = a->window;
		wb = b->window;
		now = posted + msecs_to_jiffies((wa + wb) / KB * 1000 / kb_per_s);
		for (done = 0; done < wa; done += SLICE)
			te_pace_done(a, SLICE, posted, now);
		for (done = 0; done < wb; done += SLICE)
			te_pace_done(b, SLICE, posted, now);
		*clock = now + 1;
	}
}

static void equal_shares(struct kunit *test)
{
	struct te_pace a = { .window = MB }, b = { .window = 128 * KB };
	unsigned long clock = 0;

	share(&a, &b, &clock, 25000, 500);
	KUNIT_EXPECT_LT(test, a.window, b.window + b.window / 4);
	KUNIT_EXPECT_LT(test, b.window, a.window + a.window / 4);
	/* A fast one is held up by nothing. */
	share(&a, &b, &clock, 10000000, 100);
	KUNIT_EXPECT_EQ(test, a.window, MB);
	KUNIT_EXPECT_EQ(test, b.window, MB);
	/* It slows down: about 50 ms of it, both together. */
	share(&a, &b, &clock, 10000, 100);
	KUNIT_EXPECT_LE(test, a.window + b.window, 1024 * KB);
	KUNIT_EXPECT_GE(test, a.window + b.window, 256 * KB);
}

static void first_window(struct kunit *test)
{
	struct te_pace pace;

	te_pace_init(&pace, 1000);
	KUNIT_EXPECT_GE(test, pace.window, 2 * SLICE);
	KUNIT_EXPECT_LE(test, pace.window, MB);
	te_pace_done(&pace, SLICE, 1000, 1000 + HZ);
	KUNIT_EXPECT_EQ(test, pace.window, 2 * SLICE);
}

static struct kunit_case te_pace_cases[] = {
	KUNIT_CASE_PARAM(one_slice, pace_gen_params),
	KUNIT_CASE(equal_shares),
	KUNIT_CASE(first_window),
	{}
};

static struct kunit_suite te_pace_suite = {
	.name = "te_pace",
	.test_cases = te_pace_cases,
};

kunit_test_suite(te_pace_suite);

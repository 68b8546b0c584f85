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
	{ "at once", MB, 0, MB + SLICE },
	{ "nearly as much as there may be", 2 * MB - 1, 0, 2 * MB },
	{ "as much as there may be", 2 * MB, 0, 2 * MB },
	{ "with time to spare", MB, 10, MB + SLICE },
	{ "in time", MB, 50, MB + SLICE / 16 },
	{ "in time, as much as there may be", 2 * MB, 50, 2 * MB },
	{ "a little late", MB, 60, 512 * KB },
	{ "ten times too late", 2 * MB, 500, 2 * MB / 10 },
	{ "a little late, and little", 128 * KB, 60, 128 * KB },
	{ "for ever", 2 * MB, 1000000, 128 * KB },
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
static void share(struct te_pace *a, struct te_pace *b, u32 kb_per_s, u32 times)
{
	unsigned long now = 0;
	u32 i, wa, wb, done;

	for (i = 0; i < times; i++) {
		unsigned long posted = now;

		wa = a->window;
		wb = b->window;
		now += msecs_to_jiffies((wa + wb) / KB * 1000 / kb_per_s);
		for (done = 0; done < wa; done += SLICE)
			te_pace_done(a, SLICE, posted, now);
		for (done = 0; done < wb; done += SLICE)
			te_pace_done(b, SLICE, posted, now);
		now++;
	}
}

static void equal_shares(struct kunit *test)
{
	struct te_pace a = { .window = 2 * MB }, b = { .window = 128 * KB };

	share(&a, &b, 50000, 500);
	KUNIT_EXPECT_LT(test, a.window, b.window + b.window / 4);
	KUNIT_EXPECT_LT(test, b.window, a.window + a.window / 4);
	/* A fast one is held up by nothing. */
	share(&a, &b, 10000000, 100);
	KUNIT_EXPECT_EQ(test, a.window, 2 * MB);
	KUNIT_EXPECT_EQ(test, b.window, 2 * MB);
	/* It slows down: about 50 ms of it, both together. */
	share(&a, &b, 10000, 100);
	KUNIT_EXPECT_LE(test, a.window + b.window, 1024 * KB);
	KUNIT_EXPECT_GE(test, a.window + b.window, 256 * KB);
}

static void first_window(struct kunit *test)
{
	struct te_pace pace;

	te_pace_init(&pace, 1000);
	KUNIT_EXPECT_GE(test, pace.window, 2 * SLICE);
	KUNIT_EXPECT_LE(test, pace.window, 2 * MB);
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

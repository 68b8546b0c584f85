// SPDX-License-Identifier: GPL-2.0-only
/*
 * One of two wires is slowed to a quarter of the other: together they carry at
 * least nine tenths of what each carries alone. Two that are not, nearly twice as much. `--net rails`.
 *
 * The rates are so low that no CPU is the limit, so the figures say the same on
 * any machine. One NIC of each wire carries, the others only answer.
 */
#include "lib/test.h"
#include "lib/wires.h"

#define LEN	(4 * MIB)
/* 10000 and 2500 KB/s. */
#define FAST_RATE "rate 80mbit"
#define SLOW_RATE "rate 20mbit"
#define SET(ab, cd) NETEM("a") ab " && " NETEM("b") ab " && " \
		    NETEM("c") cd " && " NETEM("d") cd

FIXTURE(slow)
{
	struct pair p;
};

FIXTURE_SETUP(slow)
{
	struct pair_opts o = {
		.local = LEN, .remote = LEN, .margin = ~0UL,
	};

	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, pair_open(&self->p, &o));
	ASSERT_EQ(0, system(SET(FAST_RATE, SLOW_RATE)));
}

FIXTURE_TEARDOWN(slow)
{
	EXPECT_EQ(0, system(SET("rate 0", "rate 0")));
	EXPECT_EQ(0, pair_carry_only(&self->p, NULL));
	pair_close(&self->p);
	CLEAN();
}

/* KB/s of @nr tasks over @devs; -errno. */
static long long speed(struct pair *p, uint32_t op, const char *devs,
		       uint32_t nr)
{
	unsigned long long from;
	struct load l;
	int ret;

	ret = pair_carry_only(p, devs);
	/* Connects, so that the clock starts with everything in place. */
	ret = ret ?: load_start(&l, p, op, 1, LEN);
	ret = ret ?: load_end(&l);
	if (ret < 0)
		return ret;
	from = te_now_ms();
	ret = load_start(&l, p, op, nr, LEN) ?: load_drain(&l, 0);
	from = te_now_ms() - from;
	ret = ret < 0 ? ret : load_end(&l);
	return ret < 0 ? ret : (long long)(nr * LEN / from);
}

static void compare(struct __test_metadata *_metadata, FIXTURE_DATA(slow) *self,
		    uint32_t op)
{
	struct pair *p = &self->p;
	long long fast, slow, both;

	fast = speed(p, op, "rxe_a", 8);
	slow = speed(p, op, "rxe_c", 2);
	both = speed(p, op, "rxe_a rxe_c", 10);
	TH_LOG("KB/s: %lld and %lld alone, %lld together: %lld %% of the sum",
	       fast, slow, both, both * 100 / (fast + slow));
	/* Nothing but the wires holds them up. */
	EXPECT_LT(10000 * 8 / 10, fast);
	EXPECT_LT(2500 * 8 / 10, slow);
	EXPECT_LE((fast + slow) * 9, both * 10);
}

TEST_F_TIMEOUT(slow, write, SLOW)
{
	compare(_metadata, self, TE_WRITE);
}

TEST_F_TIMEOUT(slow, read, SLOW)
{
	compare(_metadata, self, TE_READ);
}

/* Wires that are as fast as each other carry nearly twice what one does. */
TEST_F_TIMEOUT(slow, equal, SLOW)
{
	struct pair *p = &self->p;
	long long one, both;
	uint32_t op;

	ASSERT_EQ(0, system(SET(FAST_RATE, FAST_RATE)));
	for (op = TE_READ; op <= TE_WRITE; op++) {
		one = speed(p, op, "rxe_a", 8);
		both = speed(p, op, "rxe_a rxe_c", 16);
		TH_LOG("%s, KB/s: %lld alone, %lld together: %lld.%02lld",
		       op == TE_READ ? "read" : "write", one, both, both / one,
		       both * 100 / one % 100);
		EXPECT_LE(one * 16, both * 10);
	}
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0-only
/*
 * One of two wires fails under work: no task fails, no byte is wrong, and when it
 * is whole again it carries its share. The longest gap between two completions, and
 * the time until it is used again, are printed and bounded. `--net rails`.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "lib/go.h"
#include "lib/test.h"
#include "lib/wires.h"

#define LEN	(200 * KIB)
/* Tasks of a batch: seconds. */
#define NR	(native() ? 3000U : 750U)
/* The design's words: the longest gap, and used again within. */
#define GAP_MS	1000
#define BACK_MS	5000
/*
 * Percent of the other's share, after that: what is new takes some round trips to
 * come to as much on the way as the others have.
 */
#define SHARE	(native() ? 70 : 50)

FIXTURE(failover)
{
	struct pair p;
	struct load load;
};

FIXTURE_SETUP(failover)
{
	struct pair_opts o = { .cq_entries = 8192, .task_slots = 8192 };

	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, pair_open(&self->p, &o));
}

FIXTURE_TEARDOWN(failover)
{
	pair_close(&self->p);
	CLEAN();
}

static const struct row {
	const char *desc, *away, *back;
} rows[] = {
	{ "link", "ip link set vd down",
	  "ip link set vd up && " SETTLED " && " ANEW },
	{ "NIC, here", DEL("c"), MEND },
	{ "NIC, there", DEL("d"), MEND },
	{ "both NICs of a wire", DEL("c") " && " DEL("d"), MEND },
	{ "address", "ip addr del 10.78.0.2/32 dev vd", ANEW },
	{ "all that is sent is lost",
	  NETEM("c") "loss 100% && " NETEM("d") "loss 100%",
	  NETEM("c") "loss 0 && " NETEM("d") "loss 0" },
};

/*
 * Emulated, with soft-RoCE of 6.1: whose tasklet runs beside its mover is ahead
 * for a second, now this NIC, now that one.
 */
static bool uneven(void)
{
	struct utsname u;

	return !native() && !uname(&u) && !strncmp(u.release, "6.1.", 4);
}

static bool equal(unsigned long long a, unsigned long long b, unsigned int least)
{
	return a * least <= b * 100 && b * least <= a * 100;
}

/*
 * Each wire carries at least @least percent of what the other does. An emulated guest's
 * wires share its CPUs as well, and for many seconds one of them may have the better of
 * it, now this, now that one: there it is so in one of six loads, or in their sum.
 */
static void share(struct __test_metadata *_metadata,
		  FIXTURE_DATA(failover) *self, uint32_t op, uint32_t nr,
		  unsigned int least)
{
	unsigned long long ab, cd, sum_ab = 0, sum_cd = 0;
	int loads = native() ? 1 : 6;
	bool is = false;

	if (uneven()) {
		nr = NR;
		least = 50;
	}
	while (!is && loads--) {
		ab = wire_carried("ab");
		cd = wire_carried("cd");
		EXPECT_EQ(0, load_start(&self->load, &self->p, op, nr, LEN));
		EXPECT_LE(0, load_end(&self->load));
		ab = wire_carried("ab") - ab;
		cd = wire_carried("cd") - cd;
		printf("# %llu and %llu bytes\n", ab, cd);
		sum_ab += ab;
		sum_cd += cd;
		is = equal(ab, cd, least) || equal(sum_ab, sum_cd, least);
	}
	EXPECT_TRUE(is);
}

static int do_system(void *arg)
{
	return system(arg) ? -EIO : 0;
}

static void fail_one(struct __test_metadata *_metadata,
		     FIXTURE_DATA(failover) *self, uint32_t op)
{
	size_t i;

	for (i = 0; i < ROWS(rows); i++) {
		int gap, back;
		struct go away;

		ASSERT_LE(0, wire_await(&self->p, "cd"));
		ASSERT_EQ(0, load_start(&self->load, &self->p, op, NR, LEN));
		EXPECT_LE(0, load_drain(&self->load, NR - NR / 8));
		/* What is taken away may hold up the others while it goes. */
		ASSERT_EQ(0, go_start(&away, do_system, (void *)rows[i].away));
		gap = load_end(&self->load);
		EXPECT_ROW(0, go_wait(&away), "%s", rows[i].desc);
		EXPECT_ROW(true, gap >= 0 && (gap < GAP_MS || !native()),
			   "%s: gap %d", rows[i].desc, gap);

		ASSERT_EQ(0, system(rows[i].back));
		back = wire_await(&self->p, "cd");
		EXPECT_ROW(true, back >= 0 &&
			   back <= BACK_MS * (native() ? 1 : 4),
			   "%s is back: %d", rows[i].desc, back);
		printf("# %s: gap %d ms, used again after %d ms (%d)\n",
		       rows[i].desc, gap, back, BACK_MS);
		EXPECT_ROW(0, pair_check(&self->p), "%s is back", rows[i].desc);
		/* Full speed is that of both its NICs. */
		EXPECT_LE(0, wire_await(&self->p, "c"));
		EXPECT_LE(0, wire_await(&self->p, "d"));
		share(_metadata, self, op, NR / 2, SHARE);
	}
}

TEST_F_TIMEOUT(failover, write, SLOW)
{
	fail_one(_metadata, self, TE_WRITE);
}

TEST_F_TIMEOUT(failover, read, SLOW)
{
	fail_one(_metadata, self, TE_READ);
}

TEST_F_TIMEOUT(failover, shares, SLOW)
{
	ASSERT_LE(0, wire_await(&self->p, "ab"));
	ASSERT_LE(0, wire_await(&self->p, "cd"));
	share(_metadata, self, TE_WRITE, NR, 80);
}

TEST_HARNESS_MAIN

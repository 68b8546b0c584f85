// SPDX-License-Identifier: GPL-2.0-only
/*
 * A NIC that reaches none of the peer's: that is found out by trying, a few times
 * and less and less often, while work goes on over the others at once. When there
 * is a way it is used again. `--net rails`.
 */
#include <stdio.h>

#include "lib/test.h"
#include "lib/module.h"
#include "lib/wires.h"

#define LEN	(200 * KIB)
#define NR	100
#define FOR_MS	10000
/* Of one NIC: three addresses, each of which takes 3 s to fail, then 6 s. */
#define TRIES	9

FIXTURE(reach)
{
	struct pair p;
};

FIXTURE_SETUP(reach)
{
	ASSERT_EQ(0, te_settle());
	/* What earlier tests made it say too often would be told in this one. */
	ASSERT_EQ(0, module_reload(""));
	ASSERT_EQ(0, pair_open(&self->p, NULL));
}

FIXTURE_TEARDOWN(reach)
{
	pair_close(&self->p);
	CLEAN();
}

/* Lines of the kernel log in which te says that rxe_c failed to reach somebody. */
static int failures(void)
{
	FILE *f = popen("dmesg", "re");
	char line[512];
	int n = 0;

	while (f && fgets(line, sizeof(line), f)) {
		if (strstr(line, "te: rxe_c/1: rail to"))
			n++;
		/* More than it may say. */
		if (strstr(line, "te_rail_failed: "))
			n += 2 * TRIES;
	}
	if (f)
		pclose(f);
	return n;
}

static const struct row {
	const char *desc, *away, *back;
} rows[] = {
	{ "the only NIC of that network is gone", DEL("d"),
	  DEL("c") " && " MEND },
	{ "all is lost on the way there",
	  NETEM("c") "loss 100% && " NETEM("d") "loss 100%",
	  NETEM("c") "loss 0 && " NETEM("d") "loss 0 && " ANEW },
};

TEST_F_TIMEOUT(reach, few_tries, SLOW)
{
	unsigned long long end, from, longest;
	unsigned int batches;
	struct load l;
	int tries;
	size_t i;

	for (i = 0; i < ROWS(rows); i++) {
		ASSERT_LE(0, wire_await(&self->p, "cd"));
		tries = failures();
		ASSERT_EQ(0, system(rows[i].away));
		longest = 0;
		end = te_now_ms() + FOR_MS;
		for (batches = 0; te_now_ms() < end; batches++) {
			from = te_now_ms();
			MUST(load_start(&l, &self->p, batches & 1, NR, LEN));
			EXPECT_LE(0, load_end(&l));
			if (te_now_ms() - from > longest)
				longest = te_now_ms() - from;
		}
		tries = failures() - tries;
		TH_LOG("%s: %u batches, the longest took %llu ms; %d tries",
		       rows[i].desc, batches, longest, tries);
		EXPECT_ROW(true, tries > 0 && tries <= TRIES, "%s: %d tries",
			   rows[i].desc, tries);
		ASSERT_EQ(0, system(rows[i].back));
	}
	EXPECT_LE(0, wire_await(&self->p, "cd"));
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0-only
/*
 * More peers than a device may have endpoints: what its store keeps, whom it gives
 * up, and that those are gone soon. Each address of this node is a peer.
 */
#include "lib/test.h"
#include "lib/module.h"
#include "lib/nic.h"
#include "lib/pair.h"

#define CAPACITY	4

/* What happened at the stores since @from. */
static void stats_since(const struct te_ioc_stats *from, struct te_ioc_stats *s)
{
	te_stats(s);
	s->store_hits -= from->store_hits;
	s->store_misses -= from->store_misses;
	s->store_evictions -= from->store_evictions;
}

/* One device, which talks to itself, and one mover: all comes one by one. */
FIXTURE(counts)
{
	struct pair p;
	struct te_ioc_stats base;
};

FIXTURE_SETUP(counts)
{
	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, module_unload_soon());
	ASSERT_EQ(0, nic_delete(1));
}

FIXTURE_TEARDOWN(counts)
{
	pair_close(&self->p);
	CLEAN();
	ASSERT_EQ(0, module_unload_soon());
	ASSERT_EQ(0, nic_add(1));
	ASSERT_EQ(0, module_load(""));
}

/*
 * One request to each peer of @uses in turn. What was used last may still have work
 * when a victim is looked for: it never is the one here, nor is it used again next.
 */
static const struct {
	const char *policy, *uses;
	unsigned int hits, misses, evictions;
} counts[] = {
	{ "sieve", "abcd", 0, 4, 0 },
	{ "sieve", "abcdabcd", 4, 4, 0 },
	{ "sieve", "abcdeabcd", 0, 9, 5 },
	/* Used again: it is spared */
	{ "sieve", "abcdaea", 2, 5, 1 },
	/* The hand goes on from where it was */
	{ "sieve", "abcdaefgha", 2, 8, 4 },
	{ "fifo", "abcdabcd", 4, 4, 0 },
	{ "fifo", "abcdeabcd", 0, 9, 5 },
	{ "fifo", "abcdaea", 1, 6, 2 },
	{ "fifo", "abcdebcdae", 4, 6, 2 },
};

TEST_F_TIMEOUT(counts, exact, SLOW)
{
	unsigned int op = TE_WRITE, len = 8 * KIB;
	struct te_ioc_stats before, s;
	char params[80];
	const char *use;
	size_t i;

	for (i = 0; i < ROWS(counts); i++) {
		uint32_t own, seg[26] = {};

		snprintf(params, sizeof(params),
			 "max_ep=%d workers_per_dev=1 store=%s", CAPACITY,
			 counts[i].policy);
		MUST(module_load(params));
		MUST(pair_open(&self->p, NULL));
		own = self->p.seg;
		MUST(te_stats(&before));
		for (use = counts[i].uses; *use; use++) {
			uint32_t *to = &seg[*use - 'a'];

			if (!*to)
				MUST(te_open_segment_at(self->p.ini, *use,
							self->p.name, to));
			self->p.seg = *to;
			MUST(pair_xfer(&self->p, op, 8 * KIB, 9 * KIB, len++));
			op = op == TE_WRITE ? TE_READ : TE_WRITE;
		}
		stats_since(&before, &s);
		EXPECT_ROW(counts[i].hits, s.store_hits, "%s %s",
			   counts[i].policy, counts[i].uses);
		EXPECT_ROW(counts[i].misses, s.store_misses, "%s %s",
			   counts[i].policy, counts[i].uses);
		EXPECT_ROW(counts[i].evictions, s.store_evictions, "%s %s",
			   counts[i].policy, counts[i].uses);
		EXPECT_ROW(CAPACITY, s.endpoints_stored, "%s %s",
			   counts[i].policy, counts[i].uses);
		self->p.seg = own;
		pair_close(&self->p);
		EXPECT_ROW(0, te_settle_all(), "%s %s", counts[i].policy,
			   counts[i].uses);
		MUST(module_unload_soon());
	}
	ASSERT_EQ(0, module_load(""));
}

FIXTURE(store)
{
	struct pair p;
};

FIXTURE_SETUP(store)
{
	ASSERT_EQ(0, te_settle());
}

FIXTURE_TEARDOWN(store)
{
	pair_close(&self->p);
	CLEAN();
	ASSERT_EQ(0, module_reload(""));
}

/*
 * 100 peers in turn, 4 endpoints for each device. On one node both ends of an
 * endpoint count, the answering one with each of its QPs.
 */
TEST_F_TIMEOUT(store, in_turn, SLOW)
{
	enum { NR = 100, BOUND = 2 * 4 * (1 + 2) };
	unsigned long long end, most = 0;
	uint32_t seg[NR], own;
	struct te_ioc_stats s;
	unsigned int i, round;

	ASSERT_EQ(0, module_reload("max_ep=4 num_qp=2"));
	ASSERT_EQ(0, pair_open(&self->p, NULL));
	own = self->p.seg;
	for (i = 0; i < NR; i++)
		MUST(te_open_segment_at(self->p.ini, i, self->p.name, &seg[i]));
	for (round = 0; round < 2; round++) {
		for (i = 0; i < NR; i++) {
			self->p.seg = seg[i];
			ASSERT_EQ(0, pair_xfer(&self->p, i & 1, 8 * KIB + i,
					       9 * KIB + round, 5000 + i));
			ASSERT_EQ(0, te_stats(&s));
			most = s.endpoints > most ? s.endpoints : most;
		}
	}
	TH_LOG("at most %llu of %d, draining ones included", most, BOUND);
	/* Those that drain go by themselves, with nothing new coming. */
	end = te_now_ms() + 20000;
	do {
		te_sleep_ms(20);
		ASSERT_EQ(0, te_stats(&s));
	} while (s.endpoints > BOUND && te_now_ms() < end);
	EXPECT_GE(BOUND, s.endpoints);
	self->p.seg = own;
	EXPECT_EQ(0, pair_xfer(&self->p, TE_READ, 8 * KIB, 9 * KIB, 5000));
}

TEST_HARNESS_MAIN

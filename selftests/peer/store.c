// SPDX-License-Identifier: GPL-2.0-only
/*
 * More peers than a device may have endpoints: what its store keeps, whom it gives
 * up, and that those are gone soon. Each address of this node is a peer.
 */
#include <pthread.h>
#include <sys/param.h>
#include <unistd.h>

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
	s->endpoints_failed -= from->endpoints_failed;
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
 * Two devices; of the endpoints of each no more drain than are kept. Both ends of
 * each have NUM_QP QPs.
 */
#define KEPT		(2 * CAPACITY)
#define ALIVE		(2 * KEPT)
#define NUM_QP		2

/* Design: back at the bound within; ten times as long where all is slow. */
static unsigned int soon_ms(void)
{
	return strcmp(getenv("TE_KERNEL") ?: "", "um") ? 20000 : 2000;
}

/*
 * Waits until nothing drains and the devices hold the QPs of what is kept and no
 * more: both ends of an endpoint are on this node. Some QPs of soft-iWARP are not
 * shown: it gives a number away again before the core has forgotten it. 0 or -ETIME,
 * printed.
 */
static int drained(const struct te_rdma *idle)
{
	unsigned long long from = te_now_ms();
	struct te_ioc_stats s;
	struct te_rdma r;
	long want;

	do {
		te_sleep_ms(20);
		if (te_stats(&s) || te_rdma(&r))
			return -EIO;
		want = idle->qp + s.endpoints_stored * NUM_QP * 2;
		if (!s.endpoints_draining &&
		    (nic_is_siw() ? r.qp <= want : r.qp == want) &&
		    s.endpoints == s.endpoints_stored * (1 + NUM_QP)) {
			printf("# drained after %llu ms\n", te_now_ms() - from);
			return 0;
		}
	} while (te_now_ms() - from < soon_ms());
	printf("# stored %llu draining %llu endpoints %llu, QPs %ld, not %ld\n",
	       s.endpoints_stored, s.endpoints_draining, s.endpoints, r.qp,
	       want);
	return -ETIME;
}

#define PEERS	100

static int open_all(struct pair *p, uint32_t *seg, unsigned int nr)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < nr && !ret; i++)
		ret = te_open_segment_at(p->ini, i, p->name, &seg[i]);
	return ret;
}

/* 100 peers in turn, 4 endpoints for each device. */
TEST_F_TIMEOUT(store, in_turn, SLOW)
{
	unsigned int i, round, kept = 0, alive = 0;
	struct te_ioc_stats before, s;
	uint32_t seg[PEERS], own;
	struct te_rdma idle, r;
	long qps = 0;

	ASSERT_EQ(0, module_reload("max_ep=4 num_qp=2"));
	ASSERT_EQ(0, te_rdma(&idle));
	ASSERT_EQ(0, te_stats(&before));
	ASSERT_EQ(0, pair_open(&self->p, NULL));
	own = self->p.seg;
	ASSERT_EQ(0, open_all(&self->p, seg, PEERS));
	for (round = 0; round < 2; round++) {
		for (i = 0; i < PEERS; i++) {
			self->p.seg = seg[i];
			ASSERT_EQ(0, pair_xfer(&self->p, i & 1, 8 * KIB + i,
					       9 * KIB + round, 5000 + i));
			ASSERT_EQ(0, te_stats(&s));
			kept = MAX(kept, s.endpoints_stored);
			alive = MAX(alive, s.endpoints_stored +
					   s.endpoints_draining);
			if (i % 10)
				continue;
			ASSERT_EQ(0, te_rdma(&r));
			qps = MAX(qps, r.qp - idle.qp);
		}
	}
	TH_LOG("at most %u kept, %u with those that drain, %ld QPs on both ends",
	       kept, alive, qps);
	EXPECT_EQ(KEPT, kept);
	EXPECT_GE(ALIVE, alive);
	EXPECT_LT(0, qps);
	EXPECT_GE(ALIVE * NUM_QP * 2, qps);
	/* Those that drain go by themselves, with nothing new coming. */
	EXPECT_EQ(0, drained(&idle));
	stats_since(&before, &s);
	/* One that fails by itself is not evicted; soft-iWARP has such. */
	EXPECT_GE(KEPT, s.endpoints_stored);
	EXPECT_LE(KEPT, s.endpoints_stored + s.endpoints_failed);
	EXPECT_EQ(s.store_misses - s.store_evictions,
		  s.endpoints_stored + s.endpoints_failed);
	EXPECT_LE(2 * PEERS - KEPT, s.store_misses);
	self->p.seg = own;
	EXPECT_EQ(0, pair_xfer(&self->p, TE_READ, 8 * KIB, 9 * KIB, 5000));
}

#define PARAM "/sys/module/te/parameters/store"

/* Writes and reads back one policy after the other until told to stop. */
struct switcher {
	pthread_t thread;
	volatile bool stop;
	unsigned int nr;
	int ret;
};

static void *switch_thread(void *arg)
{
	struct switcher *sw = arg;
	const char *policy = "";
	char is[16] = "";
	FILE *f;

	while (!sw->stop && !sw->ret) {
		policy = sw->nr++ & 1 ? "fifo\n" : "sieve\n";
		sw->ret = module_set("store", policy);
		if (sw->ret)
			break;
		f = fopen(PARAM, "r");
		if (!f || !fgets(is, sizeof(is), f) || strcmp(is, policy))
			sw->ret = -EBADMSG;
		if (f)
			fclose(f);
		usleep(500);
	}
	return NULL;
}

/* The policy changes all the time under work to more peers than there is room for. */
TEST_F_TIMEOUT(store, switched_under_load, SLOW)
{
	enum { NR = 24, ROUNDS = 20, LEN = 6 * KIB };
	struct switcher sw = {};
	struct te_ioc_stats before, s;
	struct te_request r[NR];
	struct te_rdma idle;
	uint32_t seg[NR];
	unsigned int i, round;

	ASSERT_EQ(0, module_reload("max_ep=4 num_qp=2"));
	ASSERT_EQ(0, te_rdma(&idle));
	ASSERT_EQ(0, te_stats(&before));
	ASSERT_EQ(0, pair_open(&self->p, NULL));
	ASSERT_EQ(0, open_all(&self->p, seg, NR));
	ASSERT_EQ(0, pthread_create(&sw.thread, NULL, switch_thread, &sw));
	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < NR; i++) {
			r[i] = pair_req(&self->p,
					round & 1 ? TE_READ : TE_WRITE,
					8 * KIB + i * LEN + round,
					9 * KIB + i * LEN, LEN - round);
			r[i].segment = seg[i];
		}
		EXPECT_ROW(0, pair_run(&self->p, r, NR), "round %u", round);
		MUST(te_stats(&s));
		EXPECT_GE(KEPT, s.endpoints_stored);
		EXPECT_GE(ALIVE, s.endpoints_stored + s.endpoints_draining);
	}
	sw.stop = true;
	pthread_join(sw.thread, NULL);
	EXPECT_EQ(0, sw.ret);
	EXPECT_LT(ROUNDS, sw.nr);
	EXPECT_EQ(0, drained(&idle));
	stats_since(&before, &s);
	TH_LOG("switched %u times; %llu hits, %llu misses, %llu evictions",
	       sw.nr, s.store_hits, s.store_misses, s.store_evictions);
	EXPECT_EQ(s.store_misses - s.store_evictions,
		  s.endpoints_stored + s.endpoints_failed);
	/* Each task was a use of some endpoint. */
	EXPECT_LE(NR * ROUNDS, s.store_hits + s.store_misses);
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0-only
/*
 * endpoint/tests: which endpoint goes. Scripted traces name each victim; traces
 * of 1000 peers whose popularity follows Zipf's law (exponent 1) must miss as
 * often as the policies do in a simulation: .555, .436, .307 for FIFO and .390,
 * .295, .201 for SIEVE at capacities of 64, 128, 256.
 *
 * Endpoints here are bare: nobody posts, and a mover that only counts calls.
 */
#include <kunit/test.h>
#include <linux/prandom.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "endpoint/endpoint.h"
#include "event/count.h"

#define NR_PEERS	1000U
#define NR_FIRST	12000U	/* requests until the store is as it stays */
#define NR_REQUESTS	20000U	/* that count: standard error 6 thousandths */
#define SCRIPT_CAPACITY	3U

struct policy_ctx {
	struct te_ep_store store;
	struct te_mover mover;
	struct te_ep *eps;	/* NR_PEERS, by peer */
	const char *was;
	u32 nr_evicted;
};

static void mover_look(struct te_mover *mover)
{
	container_of(mover, struct policy_ctx, mover)->nr_evicted++;
}

static int policy_init(struct kunit *test)
{
	struct policy_ctx *ctx = kunit_kzalloc(test, sizeof(*ctx), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, ctx);
	ctx->eps = kvcalloc(NR_PEERS, sizeof(*ctx->eps), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, ctx->eps);
	ctx->mover.look = mover_look;
	for (i = 0; i < NR_PEERS; i++) {
		ctx->eps[i].key.peer_id = i;
		ctx->eps[i].mover = &ctx->mover;
	}
	ctx->was = te_ep_store_policy();
	KUNIT_ASSERT_EQ(test, 0, te_ep_store_init(&ctx->store, 1));
	test->priv = ctx;
	return 0;
}

static void policy_exit(struct kunit *test)
{
	struct policy_ctx *ctx = test->priv;
	u32 i;

	for (i = 0; i < NR_PEERS; i++)
		te_ep_store_remove(&ctx->store, &ctx->eps[i]);
	te_ep_store_destroy(&ctx->store);
	te_ep_store_set_policy(ctx->was);
	kvfree(ctx->eps);
}

/* As a mover does: look up and use, else make room. True on a hit. */
static bool policy_use(struct kunit *test, u32 peer)
{
	struct policy_ctx *ctx = test->priv;
	struct te_ep *ep = &ctx->eps[peer];

	if (te_ep_store_lookup(&ctx->store, peer, 0)) {
		KUNIT_EXPECT_TRUE(test, te_ep_store_set_busy(&ctx->store, ep,
							     true));
		te_ep_store_set_busy(&ctx->store, ep, false);
		return true;
	}
	ep->evicted = false;
	KUNIT_ASSERT_EQ(test, 0, te_ep_store_insert(&ctx->store, ep));
	te_ep_store_set_busy(&ctx->store, ep, false);
	return false;
}

/*
 * A script of one-letter steps over peers a, b, c ...: "a" use it; "-a" it is
 * closed by its mover; "+a" and "!a" it gets work, has none left. @left are
 * those still stored, newest first.
 */
struct script_case {
	const char *desc;
	const char *policy;
	const char *script;
	const char *left;
};

static const struct script_case script_cases[] = {
	{ "room for all", "fifo", "abc", "cba" },
	{ "the oldest goes", "fifo", "abcd", "dcb" },
	{ "use does not help", "fifo", "abcaaad", "dcb" },
	{ "one with work stays", "fifo", "abc+ad", "dca" },
	{ "again when the work is done", "fifo", "abc+ad!ae", "edc" },
	{ "the oldest goes", "sieve", "abcd", "dcb" },
	{ "used ones are spared", "sieve", "abcad", "dca" },
	{ "a mark is good for one visit", "sieve", "abcadef", "fea" },
	{ "all used: the oldest goes", "sieve", "abcabcd", "dcb" },
	{ "the hand stays where it was", "sieve", "abcabdbe", "edb" },
	{ "one with work stays", "sieve", "abc+ad", "dca" },
	{ "the one under the hand is closed", "sieve", "abcbcad-bef", "fed" },
	{ "the newest was the victim: from the oldest again", "sieve",
	  "abcabd-def", "feb" },
	{ "the newest is under the hand and is closed", "sieve",
	  "abcadef-f-eghi", "ihg" },
};

static void script_desc(const struct script_case *c, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s: %s", c->policy, c->desc);
}

KUNIT_ARRAY_PARAM(script, script_cases, script_desc);

static void script(struct kunit *test)
{
	const struct script_case *c = test->param_value;
	struct policy_ctx *ctx = test->priv;
	char left[SCRIPT_CAPACITY + 1] = "";
	const char *step;
	struct te_ep *ep;
	u32 n = 0;

	ctx->store.capacity = SCRIPT_CAPACITY;
	KUNIT_ASSERT_EQ(test, 0, te_ep_store_set_policy(c->policy));
	for (step = c->script; *step; step++) {
		switch (*step) {
		case '-':
			ep = &ctx->eps[*++step - 'a'];
			te_ep_store_remove(&ctx->store, ep);
			break;
		case '+':
		case '!':
			ep = &ctx->eps[step[1] - 'a'];
			te_ep_store_set_busy(&ctx->store, ep, *step++ == '+');
			break;
		default:
			policy_use(test, *step - 'a');
		}
	}
	list_for_each_entry(ep, &ctx->store.list, store_link) {
		KUNIT_ASSERT_LT(test, n, SCRIPT_CAPACITY);
		left[n++] = 'a' + ep->key.peer_id;
	}
	KUNIT_EXPECT_STREQ(test, left, c->left);
}

/* Thousandths. */
struct zipf_case {
	const char *policy;
	u32 capacity;
	u32 misses;
	u32 tolerance;
};

static const struct zipf_case zipf_cases[] = {
	{ "fifo", 64, 555, 10 },
	{ "fifo", 128, 436, 10 },
	{ "fifo", 256, 307, 10 },
	{ "sieve", 64, 390, 20 },
	{ "sieve", 128, 295, 20 },
	{ "sieve", 256, 201, 20 },
};

static void zipf_desc(const struct zipf_case *c, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s %u", c->policy, c->capacity);
}

KUNIT_ARRAY_PARAM(zipf, zipf_cases, zipf_desc);

/* @sums: running sums of 1/k, scaled. Return: a peer, 0 the most popular. */
static u32 zipf_draw(struct rnd_state *rnd, const u64 *sums)
{
	u64 point = prandom_u32_state(rnd);
	u32 lo = 0, hi = NR_PEERS - 1;

	point = (point * sums[NR_PEERS - 1]) >> 32;
	while (lo < hi) {
		u32 mid = (lo + hi) / 2;

		if (sums[mid] > point)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

static void zipf(struct kunit *test)
{
	const struct zipf_case *c = test->param_value;
	struct policy_ctx *ctx = test->priv;
	long hits_before = te_count_sum(TE_NR_STORE_HITS);
	struct rnd_state rnd;
	u32 i, misses = 0;
	u64 *sums, sum = 0;

	sums = kunit_kcalloc(test, NR_PEERS, sizeof(*sums), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, sums);
	for (i = 0; i < NR_PEERS; i++) {
		sum += BIT(24) / (i + 1);
		sums[i] = sum;
	}
	ctx->store.capacity = c->capacity;
	KUNIT_ASSERT_EQ(test, 0, te_ep_store_set_policy(c->policy));

	prandom_seed_state(&rnd, 20240416);
	for (i = 0; i < NR_FIRST; i++)
		hits_before += policy_use(test, zipf_draw(&rnd, sums));
	for (i = 0; i < NR_REQUESTS; i++)
		misses += !policy_use(test, zipf_draw(&rnd, sums));

	KUNIT_EXPECT_EQ(test, te_count_sum(TE_NR_STORE_HITS) - hits_before,
			NR_REQUESTS - misses);
	misses = misses * 1000 / NR_REQUESTS;
	KUNIT_EXPECT_GE(test, misses, c->misses - c->tolerance);
	KUNIT_EXPECT_LE(test, misses, c->misses + c->tolerance);
	KUNIT_EXPECT_LE(test, ctx->store.nr, c->capacity);
}

/* Switched while it runs: no more than the capacity, and the new one decides. */
static void switched(struct kunit *test)
{
	struct policy_ctx *ctx = test->priv;
	u32 i;

	ctx->store.capacity = 4;
	for (i = 0; i < 100; i++) {
		te_ep_store_set_policy(i % 2 ? "fifo" : "sieve");
		policy_use(test, i % 7);
		KUNIT_EXPECT_LE(test, ctx->store.nr, 4U);
	}
	KUNIT_EXPECT_EQ(test, -EINVAL, te_ep_store_set_policy("lru"));
	KUNIT_EXPECT_STREQ(test, te_ep_store_policy(), "fifo");
}

/* Full of endpoints with work: nobody goes, whoever asks. */
static void all_busy(struct kunit *test)
{
	struct policy_ctx *ctx = test->priv;
	u32 i;

	ctx->store.capacity = 4;
	for (i = 0; i < 4; i++) {
		policy_use(test, i);
		te_ep_store_set_busy(&ctx->store, &ctx->eps[i], true);
	}
	KUNIT_EXPECT_FALSE(test, te_ep_store_has_room(&ctx->store));
	for (i = 0; i < 2; i++) {
		te_ep_store_set_policy(i ? "fifo" : "sieve");
		KUNIT_EXPECT_EQ(test, -EBUSY,
				te_ep_store_insert(&ctx->store, &ctx->eps[9]));
	}
	KUNIT_EXPECT_EQ(test, 0U, ctx->nr_evicted);
	te_ep_store_remove(&ctx->store, &ctx->eps[2]);
	KUNIT_EXPECT_TRUE(test, te_ep_store_has_room(&ctx->store));
}

static struct kunit_case policy_cases[] = {
	KUNIT_CASE_PARAM(script, script_gen_params),
	KUNIT_CASE_PARAM(zipf, zipf_gen_params),
	KUNIT_CASE(switched),
	KUNIT_CASE(all_busy),
	{}
};

static struct kunit_suite policy_suite = {
	.name = "te_store_policy",
	.init = policy_init,
	.exit = policy_exit,
	.test_cases = policy_cases,
};

kunit_test_suites(&policy_suite);

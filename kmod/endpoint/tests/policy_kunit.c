// SPDX-License-Identifier: GPL-2.0-only
/*
 * endpoint/tests: which endpoint goes. Scripted traces name each victim; random ones
 * must leave what a model leaves that is written in another way, after each step;
 * traces of 1000 peers whose popularity follows Zipf's law (exponent 1) must miss as
 * often as the policies do in a simulation: .555, .436, .307 for FIFO, to one in a
 * hundred of that, and .390, .295, .201 for SIEVE, to two, at capacities of 64, 128,
 * 256.
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
#define NR_REQUESTS	200000U	/* that count */
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

#define MODEL_PEERS	12U
#define MODEL_CAPACITY	5U
#define MODEL_STEPS	8000U

/*
 * Peers by age, and the rules as their paper has them: @hand is the peer to be looked
 * at next, or NOBODY: the oldest.
 */
#define NOBODY		MODEL_PEERS
struct model {
	bool sieve;
	u32 peers[MODEL_CAPACITY];	/* the oldest first */
	u32 nr;
	u32 hand;
	bool used[MODEL_PEERS];
	bool busy[MODEL_PEERS];
};

static u32 model_find(const struct model *m, u32 peer)
{
	u32 i;

	for (i = 0; i < m->nr && m->peers[i] != peer; i++)
		;
	return i;
}

static void model_close(struct model *m, u32 peer)
{
	u32 at = model_find(m, peer);

	if (at == m->nr)
		return;
	if (m->hand == peer)
		m->hand = at + 1 < m->nr ? m->peers[at + 1] : NOBODY;
	m->nr--;
	memmove(&m->peers[at], &m->peers[at + 1],
		(m->nr - at) * sizeof(m->peers[0]));
}

static bool model_evict(struct model *m)
{
	u32 at, round;

	at = m->sieve && m->hand != NOBODY ? model_find(m, m->hand) : 0;
	for (round = 0; round < 3 * m->nr; round++, at++) {
		u32 peer = m->peers[at % m->nr];

		if (m->busy[peer])
			continue;
		if (m->sieve && m->used[peer]) {
			m->used[peer] = false;
			continue;
		}
		if (m->sieve)
			m->hand = peer;
		model_close(m, peer);
		return true;
	}
	return false;
}

/* False: there is no room for it. */
static bool model_use(struct model *m, u32 peer)
{
	if (model_find(m, peer) < m->nr) {
		m->used[peer] |= !m->busy[peer];
	} else {
		if (m->nr == MODEL_CAPACITY && !model_evict(m))
			return false;
		m->peers[m->nr++] = peer;
		m->used[peer] = false;
	}
	m->busy[peer] = true;
	return true;
}

/* The same with the store. */
static bool store_use(struct kunit *test, u32 peer)
{
	struct policy_ctx *ctx = test->priv;
	struct te_ep *ep = &ctx->eps[peer];

	if (te_ep_store_lookup(&ctx->store, peer, 0))
		return te_ep_store_set_busy(&ctx->store, ep, true);
	ep->evicted = false;
	return !te_ep_store_insert(&ctx->store, ep);
}

static void random_steps(struct kunit *test)
{
	struct policy_ctx *ctx = test->priv;
	struct model m = { .hand = NOBODY };
	struct rnd_state rnd;
	struct te_ep *ep;
	u32 i, n, peer;

	ctx->store.capacity = MODEL_CAPACITY;
	prandom_seed_state(&rnd, 20241130);
	for (i = 0; i < MODEL_STEPS; i++) {
		/* The hand is SIEVE's; FIFO leaves it where it was. */
		if (i % 1000 == 0) {
			m.sieve = i % 2000 == 0;
			te_ep_store_set_policy(m.sieve ? "sieve" : "fifo");
		}
		peer = prandom_u32_state(&rnd) % MODEL_PEERS;
		switch (prandom_u32_state(&rnd) % 16) {
		case 0:
			model_close(&m, peer);
			te_ep_store_remove(&ctx->store, &ctx->eps[peer]);
			break;
		case 1 ... 8:
			m.busy[peer] = false;
			te_ep_store_set_busy(&ctx->store, &ctx->eps[peer],
					     false);
			break;
		default:
			KUNIT_ASSERT_EQ(test, model_use(&m, peer),
					store_use(test, peer));
		}
		n = 0;
		list_for_each_entry_reverse(ep, &ctx->store.list, store_link) {
			KUNIT_ASSERT_LT(test, n, m.nr);
			KUNIT_ASSERT_EQ(test, ep->key.peer_id, m.peers[n]);
			n++;
		}
		KUNIT_ASSERT_EQ(test, n, m.nr);
	}
	KUNIT_EXPECT_LT(test, MODEL_STEPS / 20, ctx->nr_evicted);
}

/* Misses in thousandths, and hundredths of them. */
struct zipf_case {
	const char *policy;
	u32 capacity;
	u32 misses;
	u32 percent;
};

static const struct zipf_case zipf_cases[] = {
	{ "fifo", 64, 555, 1 },
	{ "fifo", 128, 436, 1 },
	{ "fifo", 256, 307, 1 },
	{ "sieve", 64, 390, 2 },
	{ "sieve", 128, 295, 2 },
	{ "sieve", 256, 201, 2 },
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
	misses = (u64)misses * 100000 / NR_REQUESTS;
	kunit_info(test, "0.%05u of the requests miss", misses);
	KUNIT_EXPECT_GE(test, misses, c->misses * (100 - c->percent));
	KUNIT_EXPECT_LE(test, misses, c->misses * (100 + c->percent));
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
	KUNIT_CASE(random_steps),
	/* A million requests and more: not where the CPU is emulated. */
	KUNIT_CASE_PARAM_ATTR(zipf, zipf_gen_params,
			      {.speed = KUNIT_SPEED_SLOW}),
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

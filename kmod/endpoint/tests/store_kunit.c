// SPDX-License-Identifier: GPL-2.0-only
/*
 * endpoint/tests: the store: who is found, who goes when it is full. Scripts with
 * known victims, then long random ones against a model that keeps a plain array.
 */
#include <kunit/test.h>
#include <linux/prandom.h>

#include "endpoint/endpoint.h"

/* Endpoints 'a' to 'z' of one peer's devs 0 to 25. */
#define NR_EPS		26
#define PEER_ID		99

/**
 * struct store_fixture - a store and all endpoints that may be in it
 * @store: of the capacity that the case asks for
 * @mover: its looks are counted
 * @looks: calls of te_mover.look
 * @eps: by name; zeroed again each time one is made
 * @policy: what it was before; the victims here are FIFO's
 */
struct store_fixture {
	struct te_ep_store store;
	struct te_mover mover;
	u32 looks;
	struct te_ep eps[NR_EPS];
	const char *policy;
};

static void fixture_look(struct te_mover *mover)
{
	container_of(mover, struct store_fixture, mover)->looks++;
}

static int store_init(struct kunit *test)
{
	struct store_fixture *f;

	f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f);
	f->mover.look = fixture_look;
	KUNIT_ASSERT_EQ(test, te_ep_store_init(&f->store, 0), 0);
	f->policy = te_ep_store_policy();
	te_ep_store_set_policy("fifo");
	test->priv = f;
	return 0;
}

static void store_exit(struct kunit *test)
{
	struct store_fixture *f = test->priv;
	u32 i;

	if (!f)
		return;
	for (i = 0; i < NR_EPS; i++)
		te_ep_store_remove(&f->store, &f->eps[i]);
	te_ep_store_destroy(&f->store);
	te_ep_store_set_policy(f->policy);
}

static int fixture_insert(struct store_fixture *f, u32 i)
{
	f->eps[i] = (struct te_ep) {
		.key = { .peer_id = PEER_ID, .dev_id = i },
		.mover = &f->mover,
	};
	return te_ep_store_insert(&f->store, &f->eps[i]);
}

static struct te_ep *fixture_lookup(struct store_fixture *f, u32 i)
{
	return te_ep_store_lookup(&f->store, PEER_ID, i);
}

/*
 * A script of two letters a step: +x a new endpoint x, -x remove it, .x it has no
 * work, !x it has. @victims: in order of eviction. @left: oldest first.
 */
static const struct store_case {
	const char *desc;
	u32 capacity;
	const char *script;
	const char *victims;
	const char *left;
	u32 refused;
} store_cases[] = {
	{ "room for all", 3, "+a+b+c", "", "abc", 0 },
	{ "the oldest goes", 3, "+a+b+c.a.b.c+d", "a", "bcd", 0 },
	{ "one after the other", 3, "+a+b+c.a.b.c+d+e+f", "abc", "def", 0 },
	{ "new ones have work", 2, "+a+b+c", "", "ab", 1 },
	{ "the oldest has work", 3, "+a+b+c.b.c+d", "b", "acd", 0 },
	{ "only the newest has none", 3, "+a+b+c.c+d", "c", "abd", 0 },
	{ "all have work", 3, "+a+b+c.a!a+d+e", "", "abc", 2 },
	{ "work again, then none", 3, "+a+b+c.a.b!a+d.a+e", "ba", "cde", 0 },
	{ "having had work makes nobody younger", 3,
	  "+a+b+c.a.b.c!a.a+d", "a", "bcd", 0 },
	{ "what was removed makes room", 2, "+a+b-a+c", "", "bc", 0 },
	{ "removed twice is removed once", 2, "+a+b-a-a+c+d", "", "bc", 1 },
	{ "the victim of the policy is gone already", 3,
	  "+a+b+c.a.b.c-a+d+e", "b", "cde", 0 },
	{ "evicted, then removed by its mover", 2, "+a+b.a+c-a.b+d",
	  "ab", "cd", 0 },
	{ "comes back as the youngest", 3, "+a+b+c.a.b.c+d+a.d+e",
	  "abc", "dae", 0 },
	{ "room for one", 1, "+a.a+b.b+c", "ab", "c", 0 },
	{ "room for one, with work", 1, "+a+b+c", "", "a", 2 },
};

KUNIT_ARRAY_PARAM_DESC(store, store_cases, desc);

/* What one insertion evicted goes to @victims. */
static void note_victims(struct store_fixture *f, char *victims, u32 *known)
{
	u32 i;

	for (i = 0; i < NR_EPS; i++) {
		if (f->eps[i].evicted && !(*known & BIT(i))) {
			*known |= BIT(i);
			victims[strlen(victims)] = 'a' + i;
		}
	}
}

static void store_scripted(struct kunit *test)
{
	const struct store_case *c = test->param_value;
	struct store_fixture *f = test->priv;
	u32 known = 0, refused = 0, nr = 0;
	char victims[NR_EPS] = "", left[NR_EPS + 1] = "";
	struct te_ep *ep;
	const char *s;
	bool room;
	int ret;

	f->store.capacity = c->capacity;
	for (s = c->script; *s; s += 2) {
		u32 i = s[1] - 'a';

		switch (*s) {
		case '+':
			known &= ~BIT(i);
			room = te_ep_store_has_room(&f->store);
			ret = fixture_insert(f, i);
			KUNIT_EXPECT_EQ(test, ret, room ? 0 : -EBUSY);
			refused += ret == -EBUSY;
			note_victims(f, victims, &known);
			break;
		case '-':
			te_ep_store_remove(&f->store, &f->eps[i]);
			break;
		default:
			te_ep_store_set_busy(&f->store, &f->eps[i], *s == '!');
		}
	}

	list_for_each_entry_reverse(ep, &f->store.list, store_link) {
		left[nr++] = 'a' + ep->key.dev_id;
		KUNIT_EXPECT_PTR_EQ(test, fixture_lookup(f, ep->key.dev_id), ep);
	}
	KUNIT_EXPECT_STREQ(test, victims, c->victims);
	KUNIT_EXPECT_STREQ(test, left, c->left);
	KUNIT_EXPECT_EQ(test, f->store.nr, nr);
	KUNIT_EXPECT_EQ(test, f->looks, strlen(c->victims));
	KUNIT_EXPECT_EQ(test, refused, c->refused);
}

/* First in, first out, without those that have work. */
struct store_model {
	u32 capacity;
	u32 nr;
	u32 order[NR_EPS]; /* oldest first */
	bool busy[NR_EPS];
};

static int model_find(const struct store_model *m, u32 i)
{
	u32 at;

	for (at = 0; at < m->nr; at++)
		if (m->order[at] == i)
			return at;
	return -1;
}

static void model_remove(struct store_model *m, u32 i)
{
	int at = model_find(m, i);

	if (at < 0)
		return;
	for (m->nr--; at < m->nr; at++)
		m->order[at] = m->order[at + 1];
}

/* Return: who is evicted, -1 nobody, -EBUSY it does not fit. */
static int model_insert(struct store_model *m, u32 i)
{
	int victim = -1;
	u32 at;

	if (m->nr == m->capacity) {
		for (at = 0; at < m->nr && m->busy[m->order[at]]; at++)
			;
		if (at == m->nr)
			return -EBUSY;
		victim = m->order[at];
		model_remove(m, victim);
	}
	m->order[m->nr++] = i;
	m->busy[i] = true;
	return victim;
}

static void model_compare(struct kunit *test, const struct store_model *m)
{
	struct store_fixture *f = test->priv;
	struct te_ep *ep;
	u32 at = 0, i;

	list_for_each_entry_reverse(ep, &f->store.list, store_link)
		KUNIT_ASSERT_EQ(test, ep->key.dev_id, m->order[at++]);
	KUNIT_ASSERT_EQ(test, at, m->nr);
	KUNIT_ASSERT_EQ(test, f->store.nr, m->nr);
	for (i = 0; i < NR_EPS; i++)
		KUNIT_ASSERT_PTR_EQ(test, fixture_lookup(f, i),
				    model_find(m, i) < 0 ? NULL : &f->eps[i]);
}

static const struct store_random_case {
	const char *desc;
	u32 capacity;
	u32 idle_percent; /* of the steps that make a busy one idle or back */
} store_random_cases[] = {
	{ "1 of 26", 1, 50 },
	{ "2 of 26, mostly busy", 2, 20 },
	{ "8 of 26", 8, 50 },
	{ "8 of 26, mostly idle", 8, 90 },
	{ "8 of 26, mostly busy", 8, 20 },
	{ "25 of 26", 25, 60 },
	{ "never full", 26, 60 },
};

KUNIT_ARRAY_PARAM_DESC(store_random, store_random_cases, desc);

static void store_random_insert(struct kunit *test, struct store_model *m, u32 i)
{
	struct store_fixture *f = test->priv;
	u32 looks = f->looks;
	int victim;

	if (model_find(m, i) >= 0)
		return;
	victim = model_insert(m, i);
	KUNIT_ASSERT_EQ(test, fixture_insert(f, i),
			victim == -EBUSY ? -EBUSY : 0);
	KUNIT_ASSERT_EQ(test, f->looks, looks + (victim >= 0));
	if (victim >= 0)
		KUNIT_ASSERT_TRUE(test, f->eps[victim].evicted);
}

static void store_random(struct kunit *test)
{
	const struct store_random_case *c = test->param_value;
	struct store_model m = { .capacity = c->capacity };
	struct store_fixture *f = test->priv;
	struct rnd_state rnd;
	u32 step;

	prandom_seed_state(&rnd, 4711);
	f->store.capacity = c->capacity;
	for (step = 0; step < 2000; step++) {
		u32 i = prandom_u32_state(&rnd) % NR_EPS;
		u32 dice = prandom_u32_state(&rnd) % 100;
		bool busy = prandom_u32_state(&rnd) % 100 >= c->idle_percent;

		if (dice < 40) {
			store_random_insert(test, &m, i);
		} else if (dice < 50) {
			te_ep_store_remove(&f->store, &f->eps[i]);
			model_remove(&m, i);
		} else if (model_find(&m, i) >= 0) {
			KUNIT_ASSERT_TRUE(test,
					  te_ep_store_set_busy(&f->store,
							       &f->eps[i],
							       busy));
			m.busy[i] = busy;
		}
		model_compare(test, &m);
	}
}

/* No work may start on an evicted endpoint, however late its mover looks. */
static void store_evicted_stays_idle(struct kunit *test)
{
	struct store_fixture *f = test->priv;
	struct te_ep *a = &f->eps[0];

	f->store.capacity = 1;
	KUNIT_ASSERT_EQ(test, fixture_insert(f, 0), 0);
	KUNIT_EXPECT_TRUE(test, a->busy);
	KUNIT_EXPECT_TRUE(test, te_ep_store_set_busy(&f->store, a, false));
	KUNIT_EXPECT_FALSE(test, a->busy);
	KUNIT_ASSERT_EQ(test, fixture_insert(f, 1), 0);
	KUNIT_EXPECT_TRUE(test, a->evicted);
	KUNIT_EXPECT_FALSE(test, a->stored);
	KUNIT_EXPECT_FALSE(test, te_ep_store_set_busy(&f->store, a, true));
	KUNIT_EXPECT_FALSE(test, a->busy);
	KUNIT_EXPECT_NULL(test, fixture_lookup(f, 0));
}

/* Keys are told apart by both of their parts, and found by both. */
static void store_keys(struct kunit *test)
{
	static const struct te_ep_key keys[] = {
		{ 1, 0 }, { 1, 1 }, { 2, 0 }, { 0, 1 }, { 1ULL << 32, 1 },
		{ U64_MAX, U32_MAX },
	};
	struct store_fixture *f = test->priv;
	u32 i;

	f->store.capacity = NR_EPS;
	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		f->eps[i].key = keys[i];
		f->eps[i].mover = &f->mover;
		KUNIT_EXPECT_NULL(test, te_ep_store_lookup(&f->store,
							   keys[i].peer_id,
							   keys[i].dev_id));
		KUNIT_ASSERT_EQ(test, te_ep_store_insert(&f->store, &f->eps[i]),
				0);
	}
	for (i = 0; i < ARRAY_SIZE(keys); i++)
		KUNIT_EXPECT_PTR_EQ(test, te_ep_store_lookup(&f->store,
							     keys[i].peer_id,
							     keys[i].dev_id),
				    &f->eps[i]);
	KUNIT_EXPECT_NULL(test, te_ep_store_lookup(&f->store, 2, 1));
}

static struct kunit_case store_suite_cases[] = {
	KUNIT_CASE_PARAM(store_scripted, store_gen_params),
	KUNIT_CASE_PARAM(store_random, store_random_gen_params),
	KUNIT_CASE(store_evicted_stays_idle),
	KUNIT_CASE(store_keys),
	{}
};

static struct kunit_suite store_suite = {
	.name = "te_store",
	.init = store_init,
	.exit = store_exit,
	.test_cases = store_suite_cases,
};

kunit_test_suite(store_suite);

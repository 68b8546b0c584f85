// SPDX-License-Identifier: GPL-2.0-only
/*
 * mem/tests: a context's regions: which ranges go together, which are found, how
 * often they were registered, what peers are told of them, and the arithmetic of
 * their chunks. Regions pin pages of a small area that each test maps; their
 * base may be anything.
 */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/sched.h>
#include <net/net_namespace.h>

#include "event/count.h"
#include "mem/mem.h"
#include "topo/topo.h"

#define P		((u64)PAGE_SIZE)
#define AREA_PAGES	16
/* Far from any address a process has. */
#define BASE		0xaa0000000000ULL
#define ALL		TE_ACCESS_ALL

/**
 * struct space_fixture - a space of the test's own thread
 * @space: NULL once it was killed
 * @area: AREA_PAGES of memory
 * @nr_mrs: te_count_sum() before the test
 * @nr_pages: te_count_sum() before the test
 */
struct space_fixture {
	struct te_space *space;
	u64 area;
	long nr_mrs;
	long nr_pages;
};

static int space_init(struct kunit *test)
{
	struct space_fixture *f;

	f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f);
	f->nr_mrs = te_count_sum(TE_NR_MRS);
	f->nr_pages = te_count_sum(TE_NR_PINNED_PAGES);
	f->area = kunit_vm_mmap(test, NULL, 0, AREA_PAGES * P,
				PROT_READ | PROT_WRITE,
				MAP_ANONYMOUS | MAP_PRIVATE, 0);
	KUNIT_ASSERT_NE(test, f->area, 0);
	KUNIT_ASSERT_LT(test, f->area, -4096UL);
	f->space = te_space_create(current->mm);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, f->space);
	test->priv = f;
	return 0;
}

/* The thread that registered is gone by now, as a process may be. */
static void space_exit(struct kunit *test)
{
	struct space_fixture *f = test->priv;

	if (!f)
		return;
	if (f->space) {
		te_space_kill(f->space);
		te_space_put(f->space);
	}
	flush_workqueue(te_mem_wq);
	KUNIT_EXPECT_EQ(test, te_count_sum(TE_NR_MRS), f->nr_mrs);
	KUNIT_EXPECT_EQ(test, te_count_sum(TE_NR_PINNED_PAGES), f->nr_pages);
}

/* On no dev, and on no list where devs that come up would find it. */
static int map_nowhere(struct te_mr *mr)
{
	INIT_LIST_HEAD(&mr->link);
	return 0;
}

static int map_fails(struct te_mr *mr)
{
	INIT_LIST_HEAD(&mr->link);
	return -EIO;
}

/**
 * struct reg_range - what to register
 * @off: in the area
 * @len: bytes; 0: none
 * @base: as it is
 * @access: TE_*
 */
struct reg_range {
	u64 off;
	u64 len;
	u64 base;
	u32 access;
};

static int space_register(struct space_fixture *f, const struct reg_range *r,
			  u32 *id)
{
	const struct te_mr_ask ask = {
		.addr = f->area + r->off,
		.len = r->len,
		.base = r->base,
		.access = r->access,
		.location = TE_LOCATION_PAGES,
	};

	return te_mr_register(f->space, &ask, map_nowhere, id);
}

/* Two ranges, one after the other. @ret: 1: it is the first one once more. */
static const struct space_pair_case {
	const char *desc;
	struct reg_range first;
	struct reg_range second;
	int ret;
} space_pair_cases[] = {
	{ "the same", { 4 * P, 4 * P, BASE, ALL }, { 4 * P, 4 * P, BASE, ALL },
	  1 },
	{ "the same, of odd bytes", { 5, 7, BASE + 5, ALL },
	  { 5, 7, BASE + 5, ALL }, 1 },
	{ "other access", { 4 * P, 4 * P, BASE, ALL },
	  { 4 * P, 4 * P, BASE, TE_LOCAL_READ }, -EEXIST },
	{ "other base", { 4 * P, 4 * P, BASE, ALL },
	  { 4 * P, 4 * P, BASE + 8 * P, ALL }, -EEXIST },
	{ "one byte shorter", { 4 * P, 4 * P, BASE, ALL },
	  { 4 * P, 4 * P - 1, BASE, ALL }, -EEXIST },
	{ "one byte longer", { 4 * P, 4 * P, BASE, ALL },
	  { 4 * P, 4 * P + 1, BASE, ALL }, -EEXIST },
	{ "one byte later", { 4 * P, 4 * P, BASE, ALL },
	  { 4 * P + 1, 4 * P - 1, BASE + 1, ALL }, -EEXIST },
	{ "one byte earlier", { 4 * P, 4 * P, BASE, ALL },
	  { 4 * P - 1, 4 * P + 1, BASE - 1, ALL }, -EEXIST },
	{ "inside", { 4 * P, 4 * P, BASE, ALL },
	  { 5 * P, P, BASE + P, ALL }, -EEXIST },
	{ "around", { 4 * P, 4 * P, BASE, ALL },
	  { 3 * P, 6 * P, BASE - P, ALL }, -EEXIST },
	{ "its first byte", { 4 * P, 4 * P, BASE, ALL },
	  { 3 * P, P + 1, BASE - P, ALL }, -EEXIST },
	{ "its last byte", { 4 * P, 4 * P, BASE, ALL },
	  { 8 * P - 1, P, BASE + 4 * P - 1, ALL }, -EEXIST },
	{ "right before", { 4 * P, 4 * P, BASE, ALL },
	  { 3 * P, P, BASE - P, ALL }, 0 },
	{ "right behind", { 4 * P, 4 * P, BASE, ALL },
	  { 8 * P, P, BASE + 4 * P, ALL }, 0 },
	{ "right behind, in one page", { 100, 50, BASE + 100, ALL },
	  { 150, 50, BASE + 150, ALL }, 0 },
	{ "right before, in one page", { 100, 50, BASE + 100, ALL },
	  { 99, 1, BASE + 99, ALL }, 0 },
	{ "only the bases overlap, first byte", { 0, P, BASE, ALL },
	  { 4 * P, 2 * P, BASE - P, ALL }, -EEXIST },
	{ "only the bases overlap, last byte", { 0, P, BASE, ALL },
	  { 5 * P - 1, P, BASE + P - 1, ALL }, -EEXIST },
	{ "only the bases are equal", { 0, P, BASE, ALL },
	  { 4 * P, P, BASE, ALL }, -EEXIST },
	{ "only the ranges overlap", { 0, 2 * P, BASE, ALL },
	  { P, 2 * P, BASE + 8 * P, ALL }, -EEXIST },
	{ "bases in the other order", { 0, P, BASE + P, ALL },
	  { P, P, BASE, ALL }, 0 },
	{ "the last bases there are", { 0, P, -P, ALL },
	  { P, P, -2 * P, ALL }, 0 },
	{ "the last base overlaps", { 0, P, -P, ALL },
	  { 2 * P - 1, 1, -1ULL, ALL }, -EEXIST },
	{ "the first base and the last", { 0, P, 0, ALL },
	  { P, P, -P, ALL }, 0 },
	{ "the first base overlaps", { 0, P, 0, ALL },
	  { P, 1, 0, ALL }, -EEXIST },
	{ "a base within the other's addresses counts nothing",
	  { 0, 2 * P, BASE, ALL }, { 4 * P, 2 * P, BASE - 2 * P, ALL }, 0 },
};

KUNIT_ARRAY_PARAM_DESC(space_pair, space_pair_cases, desc);

static void space_pairs(struct kunit *test)
{
	const struct space_pair_case *c = test->param_value;
	struct space_fixture *f = test->priv;
	u32 first, second = 0;

	KUNIT_ASSERT_EQ(test, space_register(f, &c->first, &first), 0);
	KUNIT_EXPECT_EQ(test, space_register(f, &c->second, &second),
			min(c->ret, 0));
	if (c->ret == 1)
		KUNIT_EXPECT_EQ(test, second, first);
	else if (!c->ret)
		KUNIT_EXPECT_NE(test, second, first);
	else
		KUNIT_EXPECT_EQ(test, second, 0);
	/* Refused or not, it leaves no page pinned but its own. */
	KUNIT_EXPECT_EQ(test, te_count_sum(TE_NR_MRS) - f->nr_mrs,
			c->ret ? 1 : 2);
	if (second)
		KUNIT_EXPECT_EQ(test, te_mr_unregister(f->space, second, NULL,
						       NULL), 0);
	KUNIT_EXPECT_EQ(test, te_mr_unregister(f->space, first, NULL, NULL), 0);
	KUNIT_EXPECT_EQ(test, te_mr_unregister(f->space, first, NULL, NULL),
			-ENOENT);
	KUNIT_EXPECT_EQ(test, te_count_sum(TE_NR_PINNED_PAGES), f->nr_pages);
}

/* Which of a few regions holds an address; a gap, and neighbours to the byte. */
static const struct reg_range lookup_ranges[] = {
	{ P, 2 * P, BASE + P, ALL },
	{ 3 * P, 10, BASE + 3 * P, ALL },
	{ 3 * P + 10, 1, BASE + 3 * P + 10, ALL },
	{ 5 * P - 1, 1, BASE + 5 * P - 1, ALL },
	{ 5 * P, 4 * P, BASE + 5 * P, ALL },
};

static const struct space_lookup_case {
	const char *desc;
	u64 off;
	int want; /* index, or -1 */
} space_lookup_cases[] = {
	{ "before all", 0, -1 },
	{ "one before the first", P - 1, -1 },
	{ "first byte", P, 0 },
	{ "in the middle", 2 * P + 5, 0 },
	{ "last byte", 3 * P - 1, 0 },
	{ "first byte of the next", 3 * P, 1 },
	{ "last byte of the next", 3 * P + 9, 1 },
	{ "the only byte", 3 * P + 10, 2 },
	{ "one behind it", 3 * P + 11, -1 },
	{ "one before a lonely byte", 5 * P - 2, -1 },
	{ "a lonely byte", 5 * P - 1, 3 },
	{ "first byte of the last", 5 * P, 4 },
	{ "last byte of all", 9 * P - 1, 4 },
	{ "one behind all", 9 * P, -1 },
};

KUNIT_ARRAY_PARAM_DESC(space_lookup, space_lookup_cases, desc);

static void space_lookup(struct kunit *test)
{
	const struct space_lookup_case *c = test->param_value;
	struct space_fixture *f = test->priv;
	u32 ids[ARRAY_SIZE(lookup_ranges)];
	struct te_mr *mr;
	u32 i;

	/* Not in the order of addresses. */
	for (i = ARRAY_SIZE(ids); i--;)
		KUNIT_ASSERT_EQ(test, space_register(f, &lookup_ranges[i],
						     &ids[i]), 0);
	mutex_lock(&f->space->lock);
	mr = te_mr_lookup_locked(f->space, f->area + c->off);
	mutex_unlock(&f->space->lock);
	if (c->want < 0)
		KUNIT_EXPECT_NULL(test, mr);
	else
		KUNIT_EXPECT_EQ(test, mr ? mr->id : 0, ids[c->want]);

	mutex_lock(&f->space->lock);
	KUNIT_EXPECT_NULL(test, te_mr_lookup_locked(f->space, 0));
	KUNIT_EXPECT_NULL(test, te_mr_lookup_locked(f->space, U64_MAX));
	/* Bases are for peers. */
	KUNIT_EXPECT_NULL(test, te_mr_lookup_locked(f->space, BASE + P));
	mutex_unlock(&f->space->lock);
}

/* As many registrations, as many until it is gone; ids do not come back. */
static void space_registrations_count(struct kunit *test)
{
	static const struct reg_range r = { P, P, BASE, ALL };
	struct space_fixture *f = test->priv;
	u32 id, again, i;

	KUNIT_ASSERT_EQ(test, space_register(f, &r, &id), 0);
	for (i = 0; i < 2; i++) {
		KUNIT_ASSERT_EQ(test, space_register(f, &r, &again), 0);
		KUNIT_EXPECT_EQ(test, again, id);
	}
	KUNIT_EXPECT_EQ(test, te_count_sum(TE_NR_PINNED_PAGES),
			f->nr_pages + 1);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, te_mr_unregister(f->space, id, NULL,
						       NULL), 0);
	KUNIT_EXPECT_EQ(test, te_mr_unregister(f->space, id, NULL, NULL),
			-ENOENT);
	KUNIT_ASSERT_EQ(test, space_register(f, &r, &again), 0);
	KUNIT_EXPECT_NE(test, again, id);
}

static void force_put(struct te_mr *mr, void *arg)
{
	(*(u32 *)arg)++;
	te_mr_put(mr);
}

/* Used by a task: not without force; with it, once the task lets go. */
static void space_unregister_in_use(struct kunit *test)
{
	static const struct reg_range r = { P, P, BASE, ALL };
	struct space_fixture *f = test->priv;
	struct te_mr *mr;
	u32 forced = 0;
	u32 id;

	KUNIT_ASSERT_EQ(test, space_register(f, &r, &id), 0);
	mutex_lock(&f->space->lock);
	mr = te_mr_lookup_locked(f->space, f->area + P);
	te_mr_get(mr);
	mutex_unlock(&f->space->lock);

	KUNIT_EXPECT_EQ(test, te_mr_unregister(f->space, id, NULL, NULL),
			-EBUSY);
	KUNIT_EXPECT_PTR_EQ(test, xa_load(&f->space->mrs, id), mr);
	KUNIT_EXPECT_EQ(test, te_mr_unregister(f->space, id, force_put,
					       &forced), 0);
	KUNIT_EXPECT_EQ(test, forced, 1);
	KUNIT_EXPECT_EQ(test, te_count_sum(TE_NR_MRS), f->nr_mrs);
}

/* Nodes of some pages, and the one that most are on. */
static const struct nodes_case {
	const char *desc;
	int nodes[6];
	u32 nr;
	int want;
} nodes_cases[] = {
	{ "one", { 3 }, 1, 3 },
	{ "all alike", { 1, 1, 1 }, 3, 1 },
	{ "most", { 0, 1, 1, 0, 1 }, 5, 1 },
	{ "most, apart", { 2, 0, 2, 1, 2, 0 }, 6, 2 },
	{ "most, not half", { 0, 1, 2, 1, 3 }, 5, 1 },
	{ "the last alone is less", { 0, 0, 1 }, 3, 0 },
	{ "first of equals", { 5, 4, 4, 5 }, 4, 5 },
	{ "no further than said", { 0, 1, 1 }, 1, 0 },
};

KUNIT_ARRAY_PARAM_DESC(nodes, nodes_cases, desc);

static void most_nodes(struct kunit *test)
{
	const struct nodes_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, te_most_nodes(c->nodes, c->nr), c->want);
}

/* Its pages say where it is, or the process; again, who says it must agree. */
static void space_location(struct kunit *test)
{
	struct space_fixture *f = test->priv;
	struct te_mr_ask ask = {
		.addr = f->area,
		.len = 3 * P,
		.base = BASE,
		.access = ALL,
		.location = TE_LOCATION_PAGES,
	};
	u32 id, again, given, other;
	struct te_mr *mr;

	KUNIT_ASSERT_EQ(test, te_mr_register(f->space, &ask, map_nowhere, &id),
			0);
	mr = xa_load(&f->space->mrs, id);
	KUNIT_EXPECT_EQ(test, mr->location,
			TE_LOCATION_CPU(page_to_nid(mr->pages[0])));
	ask.location = mr->location;
	KUNIT_EXPECT_EQ(test, te_mr_register(f->space, &ask, map_nowhere,
					     &again), 0);
	KUNIT_EXPECT_EQ(test, again, id);
	ask.location = TE_LOCATION_ANY;
	KUNIT_EXPECT_EQ(test, te_mr_register(f->space, &ask, map_nowhere,
					     &again), -EEXIST);

	KUNIT_ASSERT_EQ(test, te_location_get("cuda:0", 6, &given), 0);
	ask.addr += 8 * P;
	ask.base += 8 * P;
	ask.location = given;
	KUNIT_ASSERT_EQ(test, te_mr_register(f->space, &ask, map_nowhere, &id),
			0);
	/* The region keeps the name, not we. */
	te_location_put(given);
	KUNIT_ASSERT_EQ(test, te_location_get("cuda:1", 6, &other), 0);
	KUNIT_EXPECT_NE(test, other, given);
	mr = xa_load(&f->space->mrs, id);
	KUNIT_EXPECT_EQ(test, mr->location, given);
	ask.location = other;
	KUNIT_EXPECT_EQ(test, te_mr_register(f->space, &ask, map_nowhere,
					     &again), -EEXIST);
	ask.location = TE_LOCATION_PAGES;
	KUNIT_EXPECT_EQ(test, te_mr_register(f->space, &ask, map_nowhere,
					     &again), 0);
	KUNIT_EXPECT_EQ(test, again, id);
	te_location_put(other);

	KUNIT_EXPECT_EQ(test, te_mr_unregister(f->space, id, NULL, NULL), 0);
	KUNIT_EXPECT_EQ(test, te_mr_unregister(f->space, id, NULL, NULL), 0);
	KUNIT_ASSERT_EQ(test, te_location_get("cuda:2", 6, &other), 0);
	KUNIT_EXPECT_EQ(test, other, given);
	te_location_put(other);
}

/* A region that a dev refuses was never there. */
static void space_register_fails(struct kunit *test)
{
	static const struct reg_range r = { 0, P, BASE, ALL };
	struct space_fixture *f = test->priv;
	const struct te_mr_ask ask = {
		.addr = f->area,
		.len = P,
		.base = BASE,
		.access = ALL,
		.location = TE_LOCATION_PAGES,
	};
	u32 id = 77;

	KUNIT_EXPECT_EQ(test, te_mr_register(f->space, &ask, map_fails, &id),
			-EIO);
	KUNIT_EXPECT_EQ(test, id, 77);
	KUNIT_EXPECT_TRUE(test, xa_empty(&f->space->mrs));
	KUNIT_EXPECT_EQ(test, te_count_sum(TE_NR_PINNED_PAGES), f->nr_pages);
	KUNIT_EXPECT_EQ(test, space_register(f, &r, &id), 0);
}

/* A task may outlive the registration and the space. */
static void space_killed_in_use(struct kunit *test)
{
	static const struct reg_range r = { 0, P, BASE, ALL };
	struct space_fixture *f = test->priv;
	struct te_mr *mr;
	u32 id;

	KUNIT_ASSERT_EQ(test, space_register(f, &r, &id), 0);
	mr = xa_load(&f->space->mrs, id);
	te_mr_get(mr);
	te_space_kill(f->space);
	te_space_put(f->space);
	f->space = NULL;
	flush_workqueue(te_mem_wq);
	KUNIT_EXPECT_EQ(test, te_count_sum(TE_NR_MRS), f->nr_mrs + 1);
	KUNIT_EXPECT_EQ(test, refcount_read(&mr->refs), 1);
	te_mr_put(mr);
	flush_workqueue(te_mem_wq);
	KUNIT_EXPECT_EQ(test, te_count_sum(TE_NR_MRS), f->nr_mrs);
}

struct news {
	struct te_watch watch;
	u32 came;
	u32 went;
	u32 last_id;
	bool space_gone;
};

static void news_mr(struct te_watch *watch, u32 mr_id, bool gone)
{
	struct news *n = container_of(watch, struct news, watch);

	n->last_id = mr_id;
	if (gone)
		n->went++;
	else
		n->came++;
}

static void news_space_gone(struct te_watch *watch)
{
	container_of(watch, struct news, watch)->space_gone = true;
}

/* Followers hear of what has remote access, and of the end. */
static void space_watched(struct kunit *test)
{
	static const struct reg_range local = { 0, P, BASE, TE_ACCESS_LOCAL };
	static const struct reg_range remote = { P, P, BASE + P, TE_REMOTE_READ };
	struct news n = {
		.watch = {
			.mr_news = news_mr,
			.space_gone = news_space_gone,
		},
	};
	struct space_fixture *f = test->priv;
	u32 local_id, remote_id;

	KUNIT_ASSERT_EQ(test, te_space_watch(f->space, &n.watch), 0);
	KUNIT_ASSERT_EQ(test, space_register(f, &local, &local_id), 0);
	KUNIT_EXPECT_EQ(test, n.came, 0);
	KUNIT_ASSERT_EQ(test, space_register(f, &remote, &remote_id), 0);
	KUNIT_EXPECT_EQ(test, n.came, 1);
	KUNIT_EXPECT_EQ(test, n.last_id, remote_id);
	te_mr_unregister(f->space, local_id, NULL, NULL);
	KUNIT_EXPECT_EQ(test, n.went, 0);
	te_mr_unregister(f->space, remote_id, NULL, NULL);
	KUNIT_EXPECT_EQ(test, n.went, 1);

	te_space_kill(f->space);
	KUNIT_EXPECT_TRUE(test, n.space_gone);
	KUNIT_EXPECT_EQ(test, te_space_watch(f->space, &n.watch), -ESTALE);
	te_space_put(f->space);
	f->space = NULL;
}

/* What peers are told: only what has remote access, by id, in their terms. */
static void space_described(struct kunit *test)
{
	static const struct reg_range ranges[] = {
		{ 0, P, BASE, TE_ACCESS_LOCAL },
		{ P + 5, 10, BASE + P + 5, ALL },
		{ 2 * P, P, BASE + 2 * P, TE_LOCAL_WRITE | TE_REMOTE_READ },
	};
	struct space_fixture *f = test->priv;
	struct te_mr_desc desc;
	u32 ids[3], key, i;

	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, space_register(f, &ranges[i], &ids[i]),
				0);
	KUNIT_ASSERT_EQ(test, te_space_next_mr(f->space, 0, &desc), 0);
	KUNIT_EXPECT_EQ(test, desc.id, ids[1]);
	KUNIT_EXPECT_EQ(test, desc.access, TE_ACCESS_REMOTE);
	KUNIT_EXPECT_EQ(test, desc.base, BASE + P + 5);
	KUNIT_EXPECT_EQ(test, desc.length, 10);
	KUNIT_EXPECT_EQ(test, desc.page_off, 5);
	KUNIT_EXPECT_EQ(test, desc.dev_mask, 0);
	KUNIT_ASSERT_EQ(test, te_space_next_mr(f->space, ids[1], &desc), 0);
	KUNIT_EXPECT_EQ(test, desc.id, ids[1]);
	KUNIT_ASSERT_EQ(test, te_space_next_mr(f->space, ids[1] + 1, &desc), 0);
	KUNIT_EXPECT_EQ(test, desc.id, ids[2]);
	KUNIT_EXPECT_EQ(test, desc.access, TE_REMOTE_READ);
	KUNIT_EXPECT_EQ(test, te_space_next_mr(f->space, ids[2] + 1, &desc),
			-ENOENT);
	KUNIT_EXPECT_EQ(test, te_space_mr_keys(f->space, ids[1], 0, 0, &key, 1),
			-ENOENT);
}

/* Names are one node's, and of one namespace. */
static void space_exported(struct kunit *test)
{
	struct space_fixture *f = test->priv;
	struct te_space *other = te_space_create(current->mm);
	struct net *net = &init_net;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, other);
	KUNIT_EXPECT_EQ(test, PTR_ERR(te_space_find(net, "kunit:a", 7)),
			-ENOENT);
	KUNIT_EXPECT_EQ(test, te_space_export(f->space, net, "kunit:a", 7), 0);
	KUNIT_EXPECT_EQ(test, te_space_export(f->space, net, "kunit:b", 7),
			-EEXIST);
	KUNIT_EXPECT_EQ(test, te_space_export(other, net, "kunit:a", 7),
			-EEXIST);
	/* A name is all of its bytes. */
	KUNIT_EXPECT_EQ(test, PTR_ERR(te_space_find(net, "kunit:a", 6)),
			-ENOENT);
	KUNIT_EXPECT_EQ(test, PTR_ERR(te_space_find(net, "kunit:a\0b", 9)),
			-ENOENT);
	KUNIT_EXPECT_EQ(test, te_space_export(other, net, "kunit:aa", 8), 0);
	KUNIT_EXPECT_PTR_EQ(test, te_space_find(net, "kunit:a", 7), f->space);
	te_space_put(f->space);
	te_space_kill(other);
	te_space_put(other);
	KUNIT_EXPECT_EQ(test, PTR_ERR(te_space_find(net, "kunit:aa", 8)),
			-ENOENT);
}

/* Chunks count from the start of the first page. */
static const struct mr_key_case {
	const char *desc;
	u64 addr;
	u64 len;
	u32 chunk_shift;
	u64 at; /* from @addr on */
	u32 chunk;
	u64 room;
} mr_key_cases[] = {
	{ "one chunk, first byte", 0x10000, 0x10000, 40, 0, 0, 0x10000 },
	{ "one chunk, last byte", 0x10000, 0x10000, 40, 0xffff, 0, 1 },
	{ "as long as a chunk", 0x10000, 0x10000, 16, 0, 0, 0x10000 },
	{ "last byte of a chunk", 0x10000, 0x20000, 16, 0xffff, 0, 1 },
	{ "first byte of the next", 0x10000, 0x20000, 16, 0x10000, 1, 0x10000 },
	{ "not from a chunk's start", 0x10000, 0x20000, 16, 0x8001, 0, 0x7fff },
	{ "first byte, not from a page's start", 0x10123, 0x20000, 16, 0, 0,
	  0xfedd },
	{ "next chunk, not from a page's start", 0x10123, 0x20000, 16, 0xfedd,
	  1, 0x10000 },
	{ "the last chunk is short", 0x10123, 0x20000, 16, 0x1fedd, 2, 0x123 },
	{ "chunks of a page", 0x10fff, 3, 12, 0, 0, 1 },
	{ "chunks of a page, next", 0x10fff, 3, 12, 1, 1, 2 },
	{ "to the last address", -0x1000ULL, 0x1000, 12, 0xfff, 0, 1 },
	{ "to the last address, all of it", -0x1000ULL, 0x1000, 12, 0, 0,
	  0x1000 },
	{ "far in", 0x10000, BIT_ULL(42), 40, BIT_ULL(41) + 5, 2,
	  BIT_ULL(40) - 5 },
};

KUNIT_ARRAY_PARAM_DESC(mr_key, mr_key_cases, desc);

static void mr_keys(struct kunit *test)
{
	const struct mr_key_case *c = test->param_value;
	struct te_key keys[5] = {
		{ 10, 20 }, { 11, 21 }, { 12, 22 }, { 13, 23 }, { 14, 24 },
	};
	struct te_mr_map map = { .chunk_shift = c->chunk_shift, .keys = keys };
	struct te_mr mr = {
		.addr = c->addr,
		.last = c->addr + (c->len - 1),
		.base = 0x5000000000000000ULL + (c->addr & ~PAGE_MASK),
	};
	u64 io_addr = 0, room = 0;
	u32 key = 0;

	xa_init(&mr.maps);
	KUNIT_EXPECT_FALSE(test, te_mr_key(&mr, 3, c->addr, &key, &io_addr,
					   &room));
	KUNIT_ASSERT_EQ(test, xa_err(xa_store(&mr.maps, 3, &map, GFP_KERNEL)),
			0);
	KUNIT_EXPECT_TRUE(test, te_mr_key(&mr, 3, c->addr + c->at, &key,
					  &io_addr, &room));
	KUNIT_EXPECT_EQ(test, key, 10 + c->chunk);
	KUNIT_EXPECT_EQ(test, io_addr, mr.base + c->at);
	KUNIT_EXPECT_EQ(test, room, c->room);
	KUNIT_EXPECT_FALSE(test, te_mr_key(&mr, 2, c->addr, &key, &io_addr,
					   &room));
	xa_destroy(&mr.maps);
}

static struct kunit_case space_cases[] = {
	KUNIT_CASE_PARAM(space_pairs, space_pair_gen_params),
	KUNIT_CASE_PARAM(space_lookup, space_lookup_gen_params),
	KUNIT_CASE(space_registrations_count),
	KUNIT_CASE(space_unregister_in_use),
	KUNIT_CASE_PARAM(most_nodes, nodes_gen_params),
	KUNIT_CASE(space_location),
	KUNIT_CASE(space_register_fails),
	KUNIT_CASE(space_killed_in_use),
	KUNIT_CASE(space_watched),
	KUNIT_CASE(space_described),
	KUNIT_CASE(space_exported),
	KUNIT_CASE_PARAM(mr_keys, mr_key_gen_params),
	{}
};

static struct kunit_suite space_suite = {
	.name = "te_space",
	.init = space_init,
	.exit = space_exit,
	.test_cases = space_cases,
};

kunit_test_suite(space_suite);

// SPDX-License-Identifier: GPL-2.0-only
/*
 * topo/tests: names of locations and how many there may be, what a matrix may
 * hold, and which tier comes out: with a matrix, without, and while it changes.
 * Nobody has loaded a matrix when these run, and no region has a name.
 */
#include <kunit/test.h>
#include <linux/jiffies.h>
#include <linux/numa.h>
#include <linux/workqueue.h>

#include "topo/topo.h"

#define MAX_ENTRIES	8
#define FAR		NUMA_NO_NODE
#define NONE		TE_TIER_NONE

static void topo_exit(struct kunit *test)
{
	te_topo_load(NULL);
}

static void name_of(const char *prefix, u32 i, char *name, size_t size)
{
	snprintf(name, size, "%s:%u", prefix, i);
}

/* @len: 0: up to the NUL. */
static const struct name_case {
	const char *desc;
	const char *name;
	size_t len;
	int ret;
	int node;
} name_cases[] = {
	{ "anywhere", "*", 0, 0, NUMA_NO_NODE },
	{ "node 0", "cpu:0", 0, 0, 0 },
	{ "node 7", "cpu:7", 0, 0, 7 },
	{ "node 10", "cpu:10", 0, 0, 10 },
	{ "last node", "cpu:1023", 0, 0, 1023 },
	{ "a node too many", "cpu:1024", 0, -EINVAL },
	{ "node 10000", "cpu:10000", 0, -EINVAL },
	{ "node of 2^32", "cpu:4294967296", 0, -EINVAL },
	{ "no node", "cpu:", 0, -EINVAL },
	{ "zero in front", "cpu:01", 0, -EINVAL },
	{ "node -1", "cpu:-1", 0, -EINVAL },
	{ "letter in a node", "cpu:1a", 0, -EINVAL },
	{ "letter alone", "cpu:x", 0, -EINVAL },
	{ "cpu and no colon", "cpu", 0, 0, NUMA_NO_NODE },
	{ "like cpu", "cpux:0", 0, 0, NUMA_NO_NODE },
	{ "GPU", "cuda:0", 0, 0, NUMA_NO_NODE },
	{ "all characters", "aZ09._:-", 0, 0, NUMA_NO_NODE },
	{ "one letter", "x", 0, 0, NUMA_NO_NODE },
	{ "31 letters", "0123456789012345678901234567890", 0, 0,
	  NUMA_NO_NODE },
	{ "32 letters", "01234567890123456789012345678901", 0, -EINVAL },
	{ "two stars", "**", 0, -EINVAL },
	{ "star inside", "cpu:*", 0, -EINVAL },
	{ "space", "cuda 0", 0, -EINVAL },
	{ "slash", "a/b", 0, -EINVAL },
	{ "newline", "a\n", 0, -EINVAL },
	{ "NUL inside", "a\0b", 3, -EINVAL },
	{ "NUL alone", "\0", 1, -EINVAL },
	{ "not ASCII", "\xc3\xa9", 0, -EINVAL },
};

KUNIT_ARRAY_PARAM_DESC(name, name_cases, desc);

static void names(struct kunit *test)
{
	const struct name_case *c = test->param_value;
	u32 location = 7777;

	KUNIT_EXPECT_EQ(test, te_location_get(c->name, c->len ?: strlen(c->name),
					      &location), c->ret);
	if (c->ret)
		return;
	KUNIT_EXPECT_EQ(test, te_location_node(location), c->node);
	te_location_put(location);
}

static void no_name(struct kunit *test)
{
	u32 location;

	KUNIT_EXPECT_EQ(test, te_location_get("", 0, &location), -EINVAL);
}

/* The same name has the same number as long as somebody holds it. */
static void one_number(struct kunit *test)
{
	u32 a, b, c;

	KUNIT_ASSERT_EQ(test, te_location_get("cuda:0", 6, &a), 0);
	KUNIT_ASSERT_EQ(test, te_location_get("cuda:01", 7, &c), 0);
	KUNIT_ASSERT_EQ(test, te_location_get("cuda:01", 6, &b), 0);
	KUNIT_EXPECT_EQ(test, a, b);
	KUNIT_EXPECT_NE(test, a, c);
	te_location_put(a);
	te_location_hold(b);
	te_location_put(b);
	KUNIT_ASSERT_EQ(test, te_location_get("cuda:0", 6, &a), 0);
	KUNIT_EXPECT_EQ(test, a, b);
	te_location_put(a);
	te_location_put(b);
	te_location_put(c);
}

/* So many names and no more, until one is given back. */
static void names_run_out(struct kunit *test)
{
	u32 *locations;
	char name[16];
	u32 i, more;

	locations = kunit_kcalloc(test, TE_MAX_NAMED_LOCATIONS,
				  sizeof(*locations), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, locations);
	for (i = 0; i < TE_MAX_NAMED_LOCATIONS; i++) {
		name_of("gpu", i, name, sizeof(name));
		KUNIT_ASSERT_EQ(test, te_location_get(name, strlen(name),
						      &locations[i]), 0);
	}
	KUNIT_EXPECT_EQ(test, te_location_get("more", 4, &more), -ENOSPC);
	KUNIT_EXPECT_EQ(test, te_location_get("cpu:1023", 8, &more), 0);
	KUNIT_EXPECT_EQ(test, te_location_get("gpu:5", 5, &more), 0);
	KUNIT_EXPECT_EQ(test, more, locations[5]);
	te_location_put(more);
	KUNIT_EXPECT_EQ(test, te_location_get("more", 4, &more), -ENOSPC);
	te_location_put(locations[5]);
	KUNIT_EXPECT_EQ(test, te_location_get("more", 4, &more), 0);
	locations[5] = more;
	for (i = 0; i < TE_MAX_NAMED_LOCATIONS; i++)
		te_location_put(locations[i]);
}

/**
 * struct entry - te_topology_entry as a row of a test writes it
 * @location: name
 * @device: name
 * @tier: its tier
 */
struct entry {
	const char *location;
	const char *device;
	u32 tier;
};

static int add(struct te_matrix *matrix, const struct entry *e)
{
	struct te_topology_entry entry = { .tier = e->tier };

	strscpy_pad(entry.location, e->location, sizeof(entry.location));
	strscpy_pad(entry.device, e->device, sizeof(entry.device));
	return te_matrix_add(matrix, &entry);
}

static void load(struct kunit *test, const struct entry *entries, u32 max)
{
	struct te_matrix *matrix = te_matrix_create();
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, matrix);
	for (i = 0; i < max && entries[i].location; i++)
		KUNIT_EXPECT_EQ(test, add(matrix, &entries[i]), 0);
	te_topo_load(matrix);
}

/* One device, asked about from one location. */
static const struct tier_case {
	const char *desc;
	struct entry matrix[MAX_ENTRIES];
	const char *location;
	const char *device;
	int node;
	u32 tier;
} tier_cases[] = {
	{ "no matrix: own node", { }, "cpu:1", "a/1", 1, 0 },
	{ "no matrix: other node", { }, "cpu:1", "a/1", 0, 1 },
	{ "no matrix: other node, the other way", { }, "cpu:0", "a/1", 1, 1 },
	{ "no matrix: node of the device unknown", { }, "cpu:1", "a/1", FAR,
	  0 },
	{ "no matrix: anywhere", { }, "*", "a/1", 1, 0 },
	{ "no matrix: a name", { }, "cuda:0", "a/1", 1, 0 },

	{ "preferred", { { "cpu:0", "a", 0 }, { "cpu:0", "b", 1 } },
	  "cpu:0", "a/1", 1, 0 },
	{ "the rest", { { "cpu:0", "a", 0 }, { "cpu:0", "b", 1 } },
	  "cpu:0", "b/1", 0, 1 },
	{ "in no list", { { "cpu:0", "a", 0 }, { "cpu:0", "b", 1 } },
	  "cpu:0", "c/1", 0, NONE },
	{ "in another's list", { { "cpu:0", "a", 0 }, { "cpu:1", "b", 0 } },
	  "cpu:0", "b/1", 0, NONE },
	{ "none preferred", { { "cpu:0", "a", 1 } }, "cpu:0", "a/1", 0, 1 },
	{ "a name", { { "cpu:0", "a", 0 }, { "cuda:0", "a", 1 } },
	  "cuda:0", "a/1", 0, 1 },
	{ "names alike", { { "cuda:1", "a", 1 }, { "cuda:11", "a", 0 } },
	  "cuda:11", "a/1", 0, 0 },

	{ "location that is not named: all devices", { { "cpu:0", "a", 1 } },
	  "cpu:1", "a/1", 0, 0 },
	{ "location that is not named: but no other", { { "cpu:0", "a", 1 } },
	  "cpu:1", "b/1", 1, NONE },
	{ "name that is not named", { { "cpu:0", "a", 1 } }, "cuda:0", "a/1",
	  0, 0 },
	{ "anywhere, not named", { { "cpu:0", "a", 1 } }, "*", "a/1", 0, 0 },
	{ "anywhere, named", { { "*", "a", 1 }, { "cpu:0", "b", 0 } },
	  "*", "a/1", 0, 1 },
	{ "anywhere, named, without it", { { "*", "a", 1 },
	  { "cpu:0", "b", 0 } }, "*", "b/1", 0, NONE },
	{ "not named, as anywhere", { { "*", "a", 1 }, { "cpu:0", "b", 0 } },
	  "cpu:1", "a/1", 0, 1 },
	{ "named, not as anywhere", { { "*", "a", 1 }, { "cpu:0", "b", 0 } },
	  "cpu:0", "a/1", 0, NONE },

	{ "one port", { { "cpu:0", "a/2", 0 } }, "cpu:0", "a/2", 0, 0 },
	{ "the other port", { { "cpu:0", "a/2", 0 } }, "cpu:0", "a/1", 0,
	  NONE },
	{ "port 2 is not port 22", { { "cpu:0", "a/2", 0 } }, "cpu:0", "a/22",
	  0, NONE },
	{ "mlx5_1 is not mlx5_10", { { "cpu:0", "mlx5_1", 0 } }, "cpu:0",
	  "mlx5_10/1", 0, NONE },
	{ "mlx5_10 is not mlx5_1", { { "cpu:0", "mlx5_10", 0 } }, "cpu:0",
	  "mlx5_1/1", 0, NONE },
	{ "the port before the device", { { "cpu:0", "a/1", 1 },
	  { "cpu:0", "a", 0 } }, "cpu:0", "a/1", 0, 1 },
	{ "the port behind the device", { { "cpu:0", "a", 0 },
	  { "cpu:0", "a/1", 1 } }, "cpu:0", "a/1", 0, 1 },
	{ "the device for its other port", { { "cpu:0", "a", 0 },
	  { "cpu:0", "a/1", 1 } }, "cpu:0", "a/2", 0, 0 },
	{ "the port in another row", { { "cpu:0", "a", 0 },
	  { "cpu:1", "a/1", 1 } }, "cpu:0", "a/1", 0, 0 },
};

KUNIT_ARRAY_PARAM_DESC(tier, tier_cases, desc);

/* A name may be there before the matrix or come after it. */
static void tiers(struct kunit *test)
{
	const struct tier_case *c = test->param_value;
	u32 before, after;

	KUNIT_ASSERT_EQ(test, te_location_get(c->location, strlen(c->location),
					      &before), 0);
	if (c->matrix[0].location)
		load(test, c->matrix, MAX_ENTRIES);
	KUNIT_EXPECT_EQ(test, te_topo_tier_of(before, c->device, c->node),
			c->tier);
	te_location_put(before);
	KUNIT_ASSERT_EQ(test, te_location_get(c->location, strlen(c->location),
					      &after), 0);
	KUNIT_EXPECT_EQ(test, te_topo_tier_of(after, c->device, c->node),
			c->tier);
	te_location_put(after);
}

/* A number that is given to another name follows that name's row. */
static void number_used_again(struct kunit *test)
{
	static const struct entry entries[] = {
		{ "cuda:0", "a", 1 }, { "cuda:1", "b", 1 },
	};
	u32 a, b;

	load(test, entries, ARRAY_SIZE(entries));
	KUNIT_ASSERT_EQ(test, te_location_get("cuda:0", 6, &a), 0);
	te_location_put(a);
	KUNIT_ASSERT_EQ(test, te_location_get("cuda:1", 6, &b), 0);
	KUNIT_ASSERT_EQ(test, a, b);
	KUNIT_EXPECT_EQ(test, te_topo_tier_of(b, "a/1", 0), NONE);
	KUNIT_EXPECT_EQ(test, te_topo_tier_of(b, "b/1", 0), 1);
	te_location_put(b);
	KUNIT_ASSERT_EQ(test, te_location_get("cuda:2", 6, &b), 0);
	KUNIT_ASSERT_EQ(test, a, b);
	KUNIT_EXPECT_EQ(test, te_topo_tier_of(b, "a/1", 0), 0);
	te_location_put(b);
}

/* What is refused: the field, its bytes, the answer. */
static const struct bad_case {
	const char *desc;
	struct te_topology_entry entry;
	int ret;
} bad_cases[] = {
	{ "good", { "cpu:0", "a", 1 }, 0 },
	{ "the pair twice", { "cpu:0", "there", 0 }, -EINVAL },
	{ "the pair twice, other tier", { "cpu:0", "there", 1 }, -EINVAL },
	{ "tier 2", { "cpu:0", "a", 2 }, -EINVAL },
	{ "tier of none", { "cpu:0", "a", NONE }, -EINVAL },
	{ "tier -1", { "cpu:0", "a", U32_MAX }, -EINVAL },
	{ "reserved", { "cpu:0", "a", 0, 1 }, -EINVAL },
	{ "no location", { "", "a", 0 }, -EINVAL },
	{ "no device", { "cpu:0", "", 0 }, -EINVAL },
	{ "bad location", { "cpu:x", "a", 0 }, -EINVAL },
	{ "space in a device", { "cpu:0", "a b", 0 }, -EINVAL },
	{ "device not ASCII", { "cpu:0", "\xc3\xa9", 0 }, -EINVAL },
	{ "byte behind the location", { "cpu:0\0x", "a", 0 }, -EINVAL },
	{ "byte behind the device", { "cpu:0", "a\0x", 0 }, -EINVAL },
	{ "location without end", { "01234567890123456789012345678901", "a",
	  0 }, -EINVAL },
	{ "device without end", { "cpu:0",
	  "0123456789012345678901234567890123456789012345678901234567890123",
	  0 }, -EINVAL },
	{ "longest device", { "cpu:0",
	  "012345678901234567890123456789012345678901234567890123456789012",
	  0 }, 0 },
};

KUNIT_ARRAY_PARAM_DESC(bad, bad_cases, desc);

static void bad_entries(struct kunit *test)
{
	static const struct entry there = { "cpu:0", "there", 0 };
	const struct bad_case *c = test->param_value;
	struct te_matrix *matrix = te_matrix_create();

	KUNIT_ASSERT_NOT_NULL(test, matrix);
	KUNIT_EXPECT_EQ(test, add(matrix, &there), 0);
	KUNIT_EXPECT_EQ(test, te_matrix_add(matrix, &c->entry), c->ret);
	te_matrix_free(matrix);
}

/* As large as it may be, with "*" first or last; then what is given back. */
static void full_matrix(struct kunit *test, bool any_first)
{
	struct te_matrix *matrix = te_matrix_create();
	struct te_topology_entry entry;
	char location[16], device[16];
	u32 i, j, pos = 0, nr = 0;
	struct entry e = { location, device };

	KUNIT_ASSERT_NOT_NULL(test, matrix);
	for (i = 0; i < TE_TOPOLOGY_LOCATIONS; i++) {
		name_of("gpu", i, location, sizeof(location));
		if (i == (any_first ? 0 : TE_TOPOLOGY_LOCATIONS - 1))
			strscpy(location, "*", sizeof(location));
		for (j = 0; j < TE_TOPOLOGY_DEVICES; j++) {
			name_of("dev", j, device, sizeof(device));
			e.tier = (i + j) % TE_NR_TIERS;
			KUNIT_ASSERT_EQ(test, add(matrix, &e), 0);
		}
	}
	e.location = "more";
	KUNIT_EXPECT_EQ(test, add(matrix, &e), -E2BIG);
	e.location = "cpu:0";
	KUNIT_EXPECT_EQ(test, add(matrix, &e), -E2BIG);
	e.location = "gpu:1";
	e.device = "more";
	KUNIT_EXPECT_EQ(test, add(matrix, &e), -E2BIG);

	te_topo_load(matrix);
	matrix = te_topo_copy();
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, matrix);
	while (te_matrix_next(matrix, &pos, &entry))
		nr++;
	KUNIT_EXPECT_EQ(test, nr, TE_TOPOLOGY_LOCATIONS * TE_TOPOLOGY_DEVICES);
	te_matrix_free(matrix);
}

static void full_with_any_first(struct kunit *test)
{
	full_matrix(test, true);
}

static void full_with_any_last(struct kunit *test)
{
	full_matrix(test, false);
}

/* 64 names and then "*" is one too many. */
static void any_counts(struct kunit *test)
{
	struct te_matrix *matrix = te_matrix_create();
	char location[16];
	struct entry e = { location, "a", 0 };
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, matrix);
	for (i = 0; i < TE_TOPOLOGY_LOCATIONS; i++) {
		name_of("cpu", i, location, sizeof(location));
		KUNIT_ASSERT_EQ(test, add(matrix, &e), 0);
	}
	strscpy(location, "*", sizeof(location));
	KUNIT_EXPECT_EQ(test, add(matrix, &e), -E2BIG);
	te_matrix_free(matrix);
}

/* What was loaded, grouped by location, without the row of "*" it implies. */
static void copied(struct kunit *test)
{
	static const struct entry entries[] = {
		{ "cuda:0", "b", 0 }, { "cpu:0", "a/2", 1 },
		{ "cuda:0", "a", 1 },
	};
	static const struct te_topology_entry want[] = {
		{ "cuda:0", "b", 0 }, { "cuda:0", "a", 1 },
		{ "cpu:0", "a/2", 1 },
	};
	struct te_topology_entry entry;
	struct te_matrix *matrix;
	u32 i, pos = 0;

	KUNIT_EXPECT_NULL(test, te_topo_copy());
	load(test, entries, ARRAY_SIZE(entries));
	matrix = te_topo_copy();
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, matrix);
	for (i = 0; i < ARRAY_SIZE(want); i++) {
		KUNIT_ASSERT_TRUE(test, te_matrix_next(matrix, &pos, &entry));
		KUNIT_EXPECT_MEMEQ(test, &entry, &want[i], sizeof(entry));
	}
	KUNIT_EXPECT_FALSE(test, te_matrix_next(matrix, &pos, &entry));
	KUNIT_EXPECT_FALSE(test, te_matrix_next(matrix, &pos, &entry));
	te_matrix_free(matrix);
	te_topo_load(NULL);
	KUNIT_EXPECT_NULL(test, te_topo_copy());
}

/**
 * struct reader - asks all the time
 * @work: runs it
 * @location: asks about this
 * @stop: set by the test
 * @seen: how often it saw each tier
 * @wrong: how often any other
 */
struct reader {
	struct work_struct work;
	u32 location;
	bool stop;
	u64 seen[TE_NR_TIERS];
	u64 wrong;
};

static void reader_work(struct work_struct *work)
{
	struct reader *r = container_of(work, struct reader, work);
	u32 tier;

	while (!READ_ONCE(r->stop)) {
		tier = te_topo_tier_of(r->location, "a/1", 0);
		if (tier < TE_NR_TIERS)
			WRITE_ONCE(r->seen[tier], r->seen[tier] + 1);
		else
			r->wrong++;
		cond_resched();
	}
}

/* Does the reader see this tier, from now on? */
static bool sees(struct reader *r, u32 tier)
{
	unsigned long end = jiffies + 10 * HZ;
	u64 before = READ_ONCE(r->seen[tier]);

	while (READ_ONCE(r->seen[tier]) == before && time_before(jiffies, end))
		cond_resched();
	return READ_ONCE(r->seen[tier]) != before;
}

/* It is replaced under a reader, who sees the old or the new one, whole. */
static void replaced_under_reader(struct kunit *test)
{
	static const struct entry near[] = {
		{ "cpu:0", "b", 1 }, { "cuda:0", "a", 0 },
	};
	static const struct entry far[] = {
		{ "cuda:0", "a", 1 }, { "cpu:0", "a", 0 },
	};
	struct reader *r;
	u32 i;

	r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, r);
	KUNIT_ASSERT_EQ(test, te_location_get("cuda:0", 6, &r->location), 0);
	INIT_WORK(&r->work, reader_work);
	load(test, near, ARRAY_SIZE(near));
	queue_work(system_unbound_wq, &r->work);
	for (i = 0; i < 20; i++) {
		load(test, far, ARRAY_SIZE(far));
		KUNIT_EXPECT_TRUE(test, sees(r, 1));
		load(test, near, ARRAY_SIZE(near));
		KUNIT_EXPECT_TRUE(test, sees(r, 0));
	}
	WRITE_ONCE(r->stop, true);
	flush_work(&r->work);
	KUNIT_EXPECT_EQ(test, r->wrong, 0);
	te_location_put(r->location);
}

static struct kunit_case topo_cases[] = {
	KUNIT_CASE_PARAM(names, name_gen_params),
	KUNIT_CASE(no_name),
	KUNIT_CASE(one_number),
	KUNIT_CASE(names_run_out),
	KUNIT_CASE_PARAM(tiers, tier_gen_params),
	KUNIT_CASE(number_used_again),
	KUNIT_CASE_PARAM(bad_entries, bad_gen_params),
	KUNIT_CASE(full_with_any_first),
	KUNIT_CASE(full_with_any_last),
	KUNIT_CASE(any_counts),
	KUNIT_CASE(copied),
	KUNIT_CASE(replaced_under_reader),
	{}
};

static struct kunit_suite topo_suite = {
	.name = "te_topo",
	.exit = topo_exit,
	.test_cases = topo_cases,
};

kunit_test_suite(topo_suite);

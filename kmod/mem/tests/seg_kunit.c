// SPDX-License-Identifier: GPL-2.0-only
/*
 * mem/tests: a peer's segment as it is described here: what a peer may say, what
 * is refused, what is found at which address and with which key.
 */
#include <kunit/test.h>
#include <net/net_namespace.h>
#include <linux/sizes.h>

#include "mem/mem.h"
#include "peer/peer.h"

/* Two devs of the peer, of other chunk sizes; ids 3 and 9. */
#define DEV_A		BIT(3)
#define DEV_B		BIT(9)
#define SHIFT_A		16
#define SHIFT_B		12

/**
 * struct seg_fixture - an empty segment
 * @peer: the test's reference
 * @seg: OPENING, both devs described
 */
struct seg_fixture {
	struct te_peer *peer;
	struct te_seg *seg;
};

static int seg_init(struct kunit *test)
{
	const struct te_rdev rdevs[] = {
		{ .dev_id = 3, .chunk_shift = SHIFT_A },
		{ .dev_id = 9, .chunk_shift = SHIFT_B },
	};
	struct seg_fixture *f;

	f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f);
	f->peer = te_peer_create(&init_net, &in6addr_loopback, 0);
	KUNIT_ASSERT_NOT_NULL(test, f->peer);
	f->seg = te_seg_create(f->peer, TE_ANY);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, f->seg);
	KUNIT_ASSERT_EQ(test, te_seg_add_devs(f->seg, rdevs, 2), 0);
	test->priv = f;
	return 0;
}

static void seg_exit(struct kunit *test)
{
	struct seg_fixture *f = test->priv;

	if (!f)
		return;
	KUNIT_EXPECT_EQ(test, kref_read(&f->seg->ref), 1);
	te_seg_put(f->seg);
	flush_workqueue(te_mem_wq);
	KUNIT_EXPECT_EQ(test, kref_read(&f->peer->ref), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&f->peer->nr_segs), 0);
	te_peer_put(f->peer);
}

/* A region that is on no dev: it is in place at once. */
static int add_plain(struct te_seg *seg, u32 id, u64 base, u64 length)
{
	const struct te_mr_desc desc = {
		.id = id, .access = TE_REMOTE_READ, .base = base,
		.length = length,
	};

	return te_seg_add_mr(seg, &desc);
}

static struct te_rmr *lookup(struct te_seg *seg, u64 addr)
{
	struct te_rmr *rmr;

	mutex_lock(&seg->lock);
	rmr = te_rmr_lookup_locked(seg, addr);
	mutex_unlock(&seg->lock);
	return rmr;
}

static const struct seg_mr_case {
	const char *desc;
	struct te_mr_desc mr;
	int ret;
} seg_mr_cases[] = {
	{ "one byte", { 1, TE_REMOTE_READ, 0x1000, 1 }, 0 },
	{ "id 0", { 0, TE_REMOTE_READ, 0x1000, 1 }, 0 },
	{ "id of all ones", { U32_MAX, TE_REMOTE_READ, 0x1000, 1 }, 0 },
	{ "no byte", { 1, TE_REMOTE_READ, 0x1000, 0 }, -EPROTO },
	{ "up to the last address", { 1, TE_REMOTE_READ, -0x1000ULL, 0x1000 },
	  0 },
	{ "over the last address", { 1, TE_REMOTE_READ, -0x1000ULL, 0x1001 },
	  -EPROTO },
	{ "the last byte", { 1, TE_REMOTE_READ, U64_MAX, 1 }, 0 },
	{ "the last byte and the first", { 1, TE_REMOTE_READ, U64_MAX, 2 },
	  -EPROTO },
	{ "half of all", { 1, TE_REMOTE_READ, 0, S64_MAX }, 0 },
	{ "more than half of all", { 1, TE_REMOTE_READ, 0, BIT_ULL(63) },
	  -EPROTO },
	{ "all", { 1, TE_REMOTE_READ, 0, U64_MAX }, -EPROTO },
	{ "no access", { 1, 0, 0x1000, 1 }, -EPROTO },
	{ "all access", { 1, TE_ACCESS_REMOTE, 0x1000, 1 }, 0 },
	{ "local access", { 1, TE_REMOTE_READ | TE_LOCAL_READ, 0x1000, 1 },
	  -EPROTO },
	{ "unknown access", { 1, TE_REMOTE_READ | BIT(31), 0x1000, 1 },
	  -EPROTO },
	{ "page offset of 64 KiB", { 1, TE_REMOTE_READ, 0x1000, 1, SZ_64K },
	  0 },
	{ "page offset above 64 KiB",
	  { 1, TE_REMOTE_READ, 0x1000, 1, SZ_64K + 1 }, -EPROTO },
	{ "on a dev that was not described",
	  { 1, TE_REMOTE_READ, 0x1000, 1, 0, BIT(4) }, 0 },
	{ "as many keys as there may be", { 1, TE_REMOTE_READ, 0,
	  (u64)TE_SEG_MAX_KEYS << SHIFT_A, 0, DEV_A }, 0 },
	{ "one key too many", { 1, TE_REMOTE_READ, 0,
	  ((u64)TE_SEG_MAX_KEYS << SHIFT_A) + 1, 0, DEV_A }, -E2BIG },
	{ "one key too many, for its page offset", { 1, TE_REMOTE_READ, 0,
	  (u64)TE_SEG_MAX_KEYS << SHIFT_A, 1, DEV_A }, -E2BIG },
	{ "one key too many, on the second dev", { 1, TE_REMOTE_READ, 0,
	  (u64)TE_SEG_MAX_KEYS << SHIFT_B, 0, DEV_A | DEV_B }, -E2BIG },
	{ "keys beyond 32 bits", { 1, TE_REMOTE_READ, 0, S64_MAX, 0, DEV_B },
	  -E2BIG },
};

KUNIT_ARRAY_PARAM_DESC(seg_mr, seg_mr_cases, desc);

/* Refused is refused whole; what has no keys to wait for is in place. */
static void seg_add_mr(struct kunit *test)
{
	const struct seg_mr_case *c = test->param_value;
	struct seg_fixture *f = test->priv;
	bool live = !c->ret && !(c->mr.dev_mask & (DEV_A | DEV_B));
	u64 last = c->mr.base + (c->mr.length - 1);

	KUNIT_EXPECT_EQ(test, te_seg_add_mr(f->seg, &c->mr), c->ret);
	KUNIT_EXPECT_EQ(test, f->seg->nr_rmrs, c->ret ? 0 : 1);
	KUNIT_EXPECT_EQ(test, f->seg->nr_live, live);
	KUNIT_EXPECT_EQ(test, !lookup(f->seg, c->mr.base), !live);
	KUNIT_EXPECT_EQ(test, !lookup(f->seg, last), !live);
	if (live && c->mr.base)
		KUNIT_EXPECT_NULL(test, lookup(f->seg, c->mr.base - 1));
	if (live && last != U64_MAX)
		KUNIT_EXPECT_NULL(test, lookup(f->seg, last + 1));
	if (!c->ret)
		KUNIT_EXPECT_EQ(test, te_seg_add_mr(f->seg, &c->mr), -EPROTO);
}

/* Beside a region of bytes 0x1000 to 0x1fff. */
static const struct seg_pair_case {
	const char *desc;
	u64 base;
	u64 length;
	int ret;
} seg_pair_cases[] = {
	{ "the same", 0x1000, 0x1000, -EPROTO },
	{ "inside", 0x1800, 1, -EPROTO },
	{ "around", 0xfff, 0x1002, -EPROTO },
	{ "its first byte", 0x800, 0x801, -EPROTO },
	{ "its last byte", 0x1fff, 1, -EPROTO },
	{ "right before", 0xfff, 1, 0 },
	{ "right behind", 0x2000, 1, 0 },
	{ "from the first address up to it", 0, 0x1000, 0 },
	{ "from the first address into it", 0, 0x1001, -EPROTO },
	{ "the last address", U64_MAX, 1, 0 },
};

KUNIT_ARRAY_PARAM_DESC(seg_pair, seg_pair_cases, desc);

static void seg_pairs(struct kunit *test)
{
	const struct seg_pair_case *c = test->param_value;
	struct seg_fixture *f = test->priv;
	struct te_rmr *rmr;

	KUNIT_ASSERT_EQ(test, add_plain(f->seg, 1, 0x1000, 0x1000), 0);
	KUNIT_EXPECT_EQ(test, add_plain(f->seg, 2, c->base, c->length), c->ret);
	KUNIT_EXPECT_EQ(test, f->seg->nr_live, c->ret ? 1 : 2);
	KUNIT_EXPECT_EQ(test, f->seg->nr_rmrs, c->ret ? 1 : 2);
	rmr = lookup(f->seg, c->base);
	if (!c->ret)
		KUNIT_EXPECT_EQ(test, rmr ? rmr->desc.id : 0, 2);
	rmr = lookup(f->seg, 0x1000);
	KUNIT_EXPECT_EQ(test, rmr ? rmr->desc.id : 0, 1);
	rmr = lookup(f->seg, 0x1fff);
	KUNIT_EXPECT_EQ(test, rmr ? rmr->desc.id : 0, 1);

	/* Taken back: its place is free, whoever holds it. */
	KUNIT_EXPECT_EQ(test, te_seg_del_mr(f->seg, 1), 0);
	KUNIT_EXPECT_EQ(test, te_seg_del_mr(f->seg, 1), -EPROTO);
	KUNIT_EXPECT_NULL(test, lookup(f->seg, 0x1800));
	KUNIT_EXPECT_EQ(test, add_plain(f->seg, 1, 0x1000, 0x1000), 0);
}

/* 160 KiB less 0x123 bytes: 3 chunks on dev A, 40 on dev B. */
#define KEYED_BASE	0x10000123ULL
#define KEYED_LEN	(160 * 1024 - 0x123ULL)
#define KEYED_A		3
#define KEYED_KEYS	43

static int add_keyed(struct te_seg *seg, u32 id)
{
	const struct te_mr_desc desc = {
		.id = id, .access = TE_REMOTE_READ, .base = KEYED_BASE,
		.length = KEYED_LEN, .page_off = 0x123,
		.dev_mask = DEV_A | DEV_B,
	};

	return te_seg_add_mr(seg, &desc);
}

/* Key number i is 100 + i, over all devs. */
static int add_keys(struct te_seg *seg, u32 id, u32 first, u32 nr)
{
	__le32 keys[KEYED_KEYS + 1];
	u32 i;

	for (i = 0; i < nr; i++)
		keys[i] = cpu_to_le32(100 + first + i);
	return te_seg_add_keys(seg, id, keys, nr);
}

static const struct seg_dev_case {
	const char *desc;
	struct te_rdev rdevs[2]; /* beside ids 3 and 9 */
	u32 nr;
	int ret;
	u32 ids; /* afterwards */
} seg_dev_cases[] = {
	{ "none", { }, 0, 0, DEV_A | DEV_B },
	{ "the next id", { { .dev_id = 10, .chunk_shift = 16 } }, 1, 0,
	  DEV_A | DEV_B | BIT(10) },
	{ "the last id", { { .dev_id = 31, .chunk_shift = 16 } }, 1, 0,
	  DEV_A | DEV_B | BIT(31) },
	{ "the first id, and one between",
	  { { .dev_id = 0, .chunk_shift = 16 },
	    { .dev_id = 5, .chunk_shift = 16 } }, 2, 0,
	  BIT(0) | DEV_A | BIT(5) | DEV_B },
	{ "an id too high", { { .dev_id = 32, .chunk_shift = 16 } }, 1,
	  -EPROTO },
	{ "an id far too high", { { .dev_id = U32_MAX, .chunk_shift = 16 } }, 1,
	  -EPROTO },
	{ "an id twice at once", { { .dev_id = 10, .chunk_shift = 16 },
	    { .dev_id = 10, .chunk_shift = 16 } }, 2, -EPROTO },
	{ "ids going down", { { .dev_id = 10, .chunk_shift = 16 },
	    { .dev_id = 5, .chunk_shift = 16 } }, 2, -EPROTO },
	{ "a known one", { { .dev_id = 9, .chunk_shift = SHIFT_B } }, 1, 0,
	  DEV_A | DEV_B },
	{ "a known one with another chunk",
	  { { .dev_id = 9, .chunk_shift = SHIFT_A } }, 1, -EPROTO },
	{ "the smallest chunk", { { .dev_id = 10, .chunk_shift = 12 } }, 1, 0,
	  DEV_A | DEV_B | BIT(10) },
	{ "too small a chunk", { { .dev_id = 10, .chunk_shift = 11 } }, 1,
	  -EPROTO },
	{ "the largest chunk", { { .dev_id = 10, .chunk_shift = 40 } }, 1, 0,
	  DEV_A | DEV_B | BIT(10) },
	{ "too large a chunk", { { .dev_id = 10, .chunk_shift = 41 } }, 1,
	  -EPROTO },
	{ "more than there are ids", { }, 33, -EPROTO },
};

KUNIT_ARRAY_PARAM_DESC(seg_dev, seg_dev_cases, desc);

/* Ids of the devs that are in use: each can be found, and nothing else. */
static u32 ids_in_use(struct kunit *test, const struct te_seg *seg)
{
	const struct te_seg_devs *devs;
	struct te_rdev rdev;
	u32 i, ids = 0;

	rcu_read_lock();
	devs = te_seg_devs(seg);
	for (i = 0; i < devs->nr; i++) {
		if (i)
			KUNIT_EXPECT_GT(test, devs->devs[i].dev_id,
					devs->devs[i - 1].dev_id);
		ids |= BIT(devs->devs[i].dev_id);
	}
	rcu_read_unlock();
	for (i = 0; i <= TE_MAX_DEVS; i++) {
		bool found = te_seg_find_dev(seg, i, &rdev);

		KUNIT_EXPECT_EQ(test, found, i < TE_MAX_DEVS && ids & BIT(i));
		if (found)
			KUNIT_EXPECT_EQ(test, rdev.dev_id, i);
	}
	return ids;
}

/* Described devs are in use when the description is complete, and together. */
static void seg_add_devs(struct kunit *test)
{
	const struct seg_dev_case *c = test->param_value;
	const u32 before = DEV_A | DEV_B;
	struct seg_fixture *f = test->priv;

	KUNIT_EXPECT_EQ(test, ids_in_use(test, f->seg), 0);
	te_seg_ready(f->seg);
	KUNIT_EXPECT_EQ(test, ids_in_use(test, f->seg), before);
	KUNIT_EXPECT_EQ(test, te_seg_add_devs(f->seg, c->rdevs, c->nr), c->ret);
	KUNIT_EXPECT_EQ(test, ids_in_use(test, f->seg), before);
	te_seg_ready(f->seg);
	KUNIT_EXPECT_EQ(test, ids_in_use(test, f->seg),
			c->ret ? before : c->ids);
}

/* Another address of a known dev; and nothing while keys are missing. */
static void seg_dev_changes(struct kunit *test)
{
	struct te_rdev rdev = { .dev_id = 3, .chunk_shift = SHIFT_A };
	struct seg_fixture *f = test->priv;
	u16 port;

	for (port = 1; port < 4; port++) {
		rdev.port = port;
		KUNIT_EXPECT_EQ(test, te_seg_add_devs(f->seg, &rdev, 1), 0);
	}
	te_seg_ready(f->seg);
	KUNIT_ASSERT_TRUE(test, te_seg_find_dev(f->seg, 3, &rdev));
	KUNIT_EXPECT_EQ(test, rdev.port, 3);
	KUNIT_ASSERT_TRUE(test, te_seg_find_dev(f->seg, 9, &rdev));
	KUNIT_EXPECT_EQ(test, rdev.port, 0);

	KUNIT_ASSERT_EQ(test, add_keyed(f->seg, 1), 0);
	KUNIT_EXPECT_EQ(test, te_seg_add_devs(f->seg, &rdev, 1), -EPROTO);
	KUNIT_ASSERT_EQ(test, add_keys(f->seg, 1, 0, KEYED_KEYS), 0);
	KUNIT_EXPECT_EQ(test, te_seg_add_devs(f->seg, &rdev, 1), 0);
}

static const struct seg_keys_case {
	const char *desc;
	u32 parts[4]; /* how many keys come at a time */
	int ret; /* of the last part */
	bool live;
} seg_keys_cases[] = {
	{ "all at once", { 43 }, 0, true },
	{ "in two parts", { 3, 40 }, 0, true },
	{ "one, then the others", { 1, 41, 1 }, 0, true },
	{ "all but one", { 42 }, 0, false },
	{ "one too many", { 44 }, -EPROTO, false },
	{ "one too many in the second part", { 42, 2 }, -EPROTO, false },
	{ "one after all had come", { 43, 1 }, -EPROTO, true },
};

KUNIT_ARRAY_PARAM_DESC(seg_keys, seg_keys_cases, desc);

static void seg_add_keys(struct kunit *test)
{
	const struct seg_keys_case *c = test->param_value;
	struct seg_fixture *f = test->priv;
	u32 have = 0, i;

	KUNIT_ASSERT_EQ(test, add_keyed(f->seg, 1), 0);
	for (i = 0; c->parts[i]; i++) {
		bool last = !c->parts[i + 1];

		KUNIT_EXPECT_EQ(test, add_keys(f->seg, 1, have, c->parts[i]),
				last ? c->ret : 0);
		if (!last || !c->ret)
			have += c->parts[i];
		KUNIT_EXPECT_EQ(test, f->seg->total_keys, have);
		if (!last)
			KUNIT_EXPECT_EQ(test, !lookup(f->seg, KEYED_BASE),
					have != KEYED_KEYS);
	}
	KUNIT_EXPECT_EQ(test, !!lookup(f->seg, KEYED_BASE), c->live);
	KUNIT_EXPECT_EQ(test, f->seg->nr_live, c->live);
	KUNIT_EXPECT_EQ(test, te_seg_del_mr(f->seg, 1), 0);
	KUNIT_EXPECT_EQ(test, f->seg->total_keys, 0);
	KUNIT_EXPECT_EQ(test, f->seg->nr_live, 0);
	KUNIT_EXPECT_EQ(test, add_keys(f->seg, 1, 0, 1), -EPROTO);
}

/* Of two regions at one place that wait for keys, only one can have it. */
static void seg_keys_for_taken_place(struct kunit *test)
{
	struct seg_fixture *f = test->priv;

	KUNIT_ASSERT_EQ(test, add_keyed(f->seg, 1), 0);
	KUNIT_ASSERT_EQ(test, add_keyed(f->seg, 2), 0);
	KUNIT_EXPECT_EQ(test, add_keys(f->seg, 2, 0, KEYED_KEYS), 0);
	KUNIT_EXPECT_EQ(test, add_keys(f->seg, 1, 0, KEYED_KEYS), -EPROTO);
	KUNIT_EXPECT_EQ(test, f->seg->nr_live, 1);
	KUNIT_EXPECT_EQ(test, lookup(f->seg, KEYED_BASE)->desc.id, 2);
}

static const struct rmr_key_case {
	const char *desc;
	u32 dev_id;
	u64 at; /* from KEYED_BASE on */
	u32 key;
	u64 room;
} rmr_key_cases[] = {
	{ "first byte", 3, 0, 100, SZ_64K - 0x123 },
	{ "last byte of the first chunk", 3, SZ_64K - 0x124, 100, 1 },
	{ "first byte of the second chunk", 3, SZ_64K - 0x123, 101, SZ_64K },
	{ "last byte of the second chunk", 3, SZ_128K - 0x124, 101, 1 },
	{ "the last chunk is short", 3, SZ_128K - 0x123, 102, SZ_32K },
	{ "last byte", 3, KEYED_LEN - 1, 102, 1 },
	{ "first byte, second dev", 9, 0, 103, SZ_4K - 0x123 },
	{ "second chunk, second dev", 9, SZ_4K - 0x123, 104, SZ_4K },
	{ "last byte, second dev", 9, KEYED_LEN - 1, 142, 1 },
};

KUNIT_ARRAY_PARAM_DESC(rmr_key, rmr_key_cases, desc);

static void rmr_keys(struct kunit *test)
{
	const struct rmr_key_case *c = test->param_value;
	struct seg_fixture *f = test->priv;
	struct te_rmr *rmr;
	u64 room = 0;
	u32 key = 0;

	KUNIT_ASSERT_EQ(test, add_keyed(f->seg, 1), 0);
	KUNIT_ASSERT_EQ(test, add_keys(f->seg, 1, 0, KEYED_KEYS), 0);
	rmr = lookup(f->seg, KEYED_BASE + c->at);
	KUNIT_ASSERT_NOT_NULL(test, rmr);
	KUNIT_EXPECT_TRUE(test, te_rmr_key(rmr, c->dev_id, KEYED_BASE + c->at,
					   &key, &room));
	KUNIT_EXPECT_EQ(test, key, c->key);
	KUNIT_EXPECT_EQ(test, room, c->room);
}

/* On the second dev only: its keys are the first there are. */
static void rmr_key_of_one_dev(struct kunit *test)
{
	const struct te_mr_desc desc = {
		.id = 1, .access = TE_REMOTE_READ, .base = 0x1000,
		.length = 0x2000, .dev_mask = DEV_B,
	};
	struct seg_fixture *f = test->priv;
	struct te_rmr *rmr;
	u64 room = 0;
	u32 key = 0;

	KUNIT_ASSERT_EQ(test, te_seg_add_mr(f->seg, &desc), 0);
	KUNIT_ASSERT_EQ(test, add_keys(f->seg, 1, 0, 2), 0);
	rmr = lookup(f->seg, 0x1000);
	KUNIT_ASSERT_NOT_NULL(test, rmr);
	KUNIT_EXPECT_FALSE(test, te_rmr_key(rmr, 3, 0x1000, &key, &room));
	KUNIT_EXPECT_TRUE(test, te_rmr_key(rmr, 9, 0x2fff, &key, &room));
	KUNIT_EXPECT_EQ(test, key, 101);
	KUNIT_EXPECT_EQ(test, room, 1);
}

/* The key of a live region's first byte on a dev, or 0: none. */
static u32 first_key(const struct te_rmr *rmr, u32 dev_id)
{
	u32 key;
	u64 room;

	return te_rmr_key(rmr, dev_id, rmr->desc.base, &key, &room) ? key : 0;
}

/*
 * What comes for the region of add_keyed(), which is on dev 3 already, on dev 20
 * with chunks of 64 KiB: 3 keys.
 */
static const struct dev_keys_case {
	const char *desc;
	struct {
		u32 dev_id;
		u32 first;
		u32 nr;		/* keys from 200 + first on; 0: the end */
		int ret;
	} parts[4];
	u32 key;		/* of the first byte on dev 20 then */
	u32 total;		/* keys of the segment then */
} dev_keys_cases[] = {
	{ "all at once", { { 20, 0, 3 } }, 200, 46 },
	{ "one at a time", { { 20, 0, 1 }, { 20, 1, 1 }, { 20, 2, 1 } }, 200,
	  46 },
	{ "not all", { { 20, 0, 2 } }, 0, 45 },
	{ "twice", { { 20, 0, 3 }, { 20, 0, 3 } }, 200, 46 },
	{ "begun anew", { { 20, 0, 2 }, { 20, 0, 3 } }, 200, 46 },
	{ "a gap", { { 20, 0, 1 }, { 20, 2, 1 } }, 0, 44 },
	{ "no beginning", { { 20, 1, 2 } }, 0, 43 },
	{ "the beginning was another dev's", { { 3, 0, 1 }, { 20, 1, 2 } }, 0,
	  44 },
	{ "another dev in between",
	  { { 20, 0, 1 }, { 3, 0, 3 }, { 20, 1, 2 } }, 0, 43 },
	{ "one too many", { { 20, 0, 4, -EPROTO } }, 0, 43 },
	{ "one too many in the second part",
	  { { 20, 0, 2 }, { 20, 2, 2, -EPROTO } }, 0, 45 },
	{ "far too many", { { 20, 0, 2 }, { 20, 2, 40, -EPROTO } }, 0, 45 },
	{ "a dev that was not described", { { 21, 0, 1, -EPROTO } }, 0, 43 },
	{ "a dev that cannot be", { { U32_MAX, 0, 1, -EPROTO } }, 0, 43 },
};

KUNIT_ARRAY_PARAM_DESC(dev_keys, dev_keys_cases, desc);

static void seg_add_dev_keys(struct kunit *test)
{
	const struct te_rdev rdev = { .dev_id = 20, .chunk_shift = SHIFT_A };
	const struct dev_keys_case *c = test->param_value;
	struct seg_fixture *f = test->priv;
	__le32 keys[KEYED_KEYS];
	struct te_rmr *rmr;
	u32 i, k;

	KUNIT_ASSERT_EQ(test, add_keyed(f->seg, 1), 0);
	KUNIT_ASSERT_EQ(test, add_keys(f->seg, 1, 0, KEYED_KEYS), 0);
	te_seg_ready(f->seg);
	KUNIT_ASSERT_EQ(test, te_seg_add_devs(f->seg, &rdev, 1), 0);
	rmr = lookup(f->seg, KEYED_BASE);
	KUNIT_ASSERT_NOT_NULL(test, rmr);

	for (i = 0; i < ARRAY_SIZE(c->parts) && c->parts[i].nr; i++) {
		for (k = 0; k < c->parts[i].nr; k++)
			keys[k] = cpu_to_le32(200 + c->parts[i].first + k);
		KUNIT_EXPECT_EQ_MSG(test,
				    te_seg_add_dev_keys(f->seg, 1,
							c->parts[i].dev_id,
							c->parts[i].first, keys,
							c->parts[i].nr),
				    c->parts[i].ret, "part %u", i);
	}
	KUNIT_EXPECT_EQ(test, first_key(rmr, 20), c->key);
	KUNIT_EXPECT_EQ(test, first_key(rmr, 9), 103);
	KUNIT_EXPECT_EQ(test, f->seg->total_keys, c->total);
	te_seg_ready(f->seg);

	/* All that it holds goes with it. */
	KUNIT_EXPECT_EQ(test, te_seg_del_mr(f->seg, 1), 0);
	KUNIT_EXPECT_EQ(test, f->seg->total_keys, 0);
	KUNIT_EXPECT_EQ(test, te_seg_add_dev_keys(f->seg, 1, 20, 0, keys, 1),
			-EPROTO);
}

/* A region that waits for keys is described, not told news of. */
static void seg_dev_keys_too_early(struct kunit *test)
{
	const __le32 keys[3] = { };
	struct seg_fixture *f = test->priv;

	KUNIT_ASSERT_EQ(test, add_keyed(f->seg, 1), 0);
	KUNIT_EXPECT_EQ(test, te_seg_add_dev_keys(f->seg, 1, 3, 0, keys, 3),
			-EPROTO);
	KUNIT_EXPECT_EQ(test, te_seg_del_devs(f->seg, DEV_A), -EPROTO);
	KUNIT_EXPECT_EQ(test, add_keys(f->seg, 1, 0, KEYED_KEYS), 0);
	KUNIT_EXPECT_EQ(test, te_seg_add_dev_keys(f->seg, 1, 3, 0, keys, 3), 0);
}

/* Of devs 3, 9 and, if it came later, 20. */
static const struct del_devs_case {
	const char *desc;
	u32 mask;
	bool later;		/* dev 20 is there, and not in use yet */
	int ret;
	u32 ids;		/* at once, and when the description is complete */
	u32 ready_ids;
	u32 total;
} del_devs_cases[] = {
	{ "one", DEV_A, false, 0, DEV_B, DEV_B, 40 },
	{ "all", DEV_A | DEV_B, false, 0, 0, 0, 0 },
	{ "one that is not there", BIT(20), false, -EPROTO, DEV_A | DEV_B,
	  DEV_A | DEV_B, 43 },
	{ "one of them is not there", DEV_A | BIT(20), false, -EPROTO,
	  DEV_A | DEV_B, DEV_A | DEV_B, 43 },
	{ "one while another comes", DEV_A, true, 0, DEV_B, DEV_B | BIT(20),
	  40 },
	{ "the one that comes", BIT(20), true, 0, DEV_A | DEV_B, DEV_A | DEV_B,
	  43 },
};

KUNIT_ARRAY_PARAM_DESC(del_devs, del_devs_cases, desc);

static void seg_del_devs(struct kunit *test)
{
	const struct te_rdev rdev = { .dev_id = 20, .chunk_shift = SHIFT_A };
	const struct del_devs_case *c = test->param_value;
	struct seg_fixture *f = test->priv;
	const __le32 key = 0;
	struct te_rmr *rmr;

	KUNIT_ASSERT_EQ(test, add_keyed(f->seg, 1), 0);
	KUNIT_ASSERT_EQ(test, add_keys(f->seg, 1, 0, KEYED_KEYS), 0);
	te_seg_ready(f->seg);
	rmr = lookup(f->seg, KEYED_BASE);
	KUNIT_ASSERT_NOT_NULL(test, rmr);
	if (c->later) {
		KUNIT_ASSERT_EQ(test, te_seg_add_devs(f->seg, &rdev, 1), 0);
		/* Of three. */
		if (c->mask & BIT(20))
			KUNIT_ASSERT_EQ(test, te_seg_add_dev_keys(f->seg, 1, 20,
								  0, &key, 1),
					0);
	}

	KUNIT_EXPECT_EQ(test, te_seg_del_devs(f->seg, c->mask), c->ret);
	KUNIT_EXPECT_EQ(test, ids_in_use(test, f->seg), c->ids);
	KUNIT_EXPECT_EQ(test, first_key(rmr, 3), c->ids & DEV_A ? 100 : 0);
	KUNIT_EXPECT_EQ(test, first_key(rmr, 9), c->ids & DEV_B ? 103 : 0);
	KUNIT_EXPECT_EQ(test, f->seg->total_keys, c->total);
	te_seg_ready(f->seg);
	KUNIT_EXPECT_EQ(test, ids_in_use(test, f->seg), c->ready_ids);
}

/* An id that went may come again as another dev, of other chunks. */
static void seg_dev_id_again(struct kunit *test)
{
	const struct te_rdev rdev = { .dev_id = 3, .chunk_shift = SHIFT_B };
	struct seg_fixture *f = test->priv;
	__le32 keys[KEYED_KEYS - KEYED_A];
	struct te_rmr *rmr;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(keys); i++)
		keys[i] = cpu_to_le32(300 + i);
	KUNIT_ASSERT_EQ(test, add_keyed(f->seg, 1), 0);
	KUNIT_ASSERT_EQ(test, add_keys(f->seg, 1, 0, KEYED_KEYS), 0);
	te_seg_ready(f->seg);
	rmr = lookup(f->seg, KEYED_BASE);
	KUNIT_ASSERT_NOT_NULL(test, rmr);

	KUNIT_EXPECT_EQ(test, te_seg_add_devs(f->seg, &rdev, 1), -EPROTO);
	KUNIT_ASSERT_EQ(test, te_seg_del_devs(f->seg, DEV_A), 0);
	KUNIT_ASSERT_EQ(test, te_seg_add_devs(f->seg, &rdev, 1), 0);
	KUNIT_ASSERT_EQ(test, te_seg_add_dev_keys(f->seg, 1, 3, 0, keys,
						  ARRAY_SIZE(keys)), 0);
	te_seg_ready(f->seg);
	KUNIT_EXPECT_EQ(test, first_key(rmr, 3), 300);
	KUNIT_EXPECT_EQ(test, ids_in_use(test, f->seg), DEV_A | DEV_B);
	KUNIT_EXPECT_EQ(test, f->seg->total_keys, 80);
}

/* Of region 1, from which dev 9 is far by then. */
static const struct set_far_case {
	const char *desc;
	u32 mr_id;
	u32 mask;
	int ret;
	u32 far;
} set_far_cases[] = {
	{ "one", 1, DEV_A, 0, DEV_A },
	{ "the same", 1, DEV_B, 0, DEV_B },
	{ "all", 1, DEV_A | DEV_B, 0, DEV_A | DEV_B },
	{ "none", 1, 0, 0, 0 },
	{ "a dev that was not described", 1, BIT(4), -EPROTO, DEV_B },
	{ "one of them was not described", 1, DEV_A | BIT(31), -EPROTO, DEV_B },
	{ "every dev that there can be", 1, U32_MAX, -EPROTO, DEV_B },
	{ "a region that is not there", 2, DEV_A, -EPROTO, DEV_B },
	{ "no region, no dev", U32_MAX, 0, -EPROTO, DEV_B },
};

KUNIT_ARRAY_PARAM_DESC(set_far, set_far_cases, desc);

static void seg_set_far(struct kunit *test)
{
	const struct set_far_case *c = test->param_value;
	struct seg_fixture *f = test->priv;
	struct te_rmr *rmr;

	/* Its keys need not have come. */
	KUNIT_ASSERT_EQ(test, add_keyed(f->seg, 1), 0);
	rmr = xa_load(&f->seg->rmrs, 1);
	KUNIT_EXPECT_EQ(test, rmr->far, 0);
	KUNIT_ASSERT_EQ(test, te_seg_set_far(f->seg, 1, DEV_B), 0);
	KUNIT_EXPECT_EQ(test, te_seg_set_far(f->seg, c->mr_id, c->mask),
			c->ret);
	KUNIT_EXPECT_EQ(test, rmr->far, c->far);
}

/* What comes with the id of one that was far and went is near, till it is said. */
static void seg_far_dev_again(struct kunit *test)
{
	const struct te_rdev rdev = { .dev_id = 3, .chunk_shift = SHIFT_B };
	struct seg_fixture *f = test->priv;
	struct te_rmr *rmr;

	KUNIT_ASSERT_EQ(test, add_keyed(f->seg, 1), 0);
	KUNIT_ASSERT_EQ(test, add_keys(f->seg, 1, 0, KEYED_KEYS), 0);
	te_seg_ready(f->seg);
	rmr = lookup(f->seg, KEYED_BASE);
	KUNIT_ASSERT_NOT_NULL(test, rmr);
	KUNIT_ASSERT_EQ(test, te_seg_set_far(f->seg, 1, DEV_A | DEV_B), 0);
	KUNIT_ASSERT_EQ(test, te_seg_del_devs(f->seg, DEV_A), 0);
	KUNIT_EXPECT_EQ(test, rmr->far, DEV_B);
	KUNIT_EXPECT_EQ(test, te_seg_set_far(f->seg, 1, DEV_A), -EPROTO);
	KUNIT_ASSERT_EQ(test, te_seg_add_devs(f->seg, &rdev, 1), 0);
	KUNIT_EXPECT_EQ(test, rmr->far, DEV_B);
	/* Described is enough: it need not be in use. */
	KUNIT_EXPECT_EQ(test, te_seg_set_far(f->seg, 1, DEV_A), 0);
	KUNIT_EXPECT_EQ(test, rmr->far, DEV_A);
}

/* Regions 0x1000 to 0x1fff, 0x2000 to 0x200f, and the last byte of all. */
static const struct seg_buffers_case {
	const char *desc;
	u64 first;
	u32 max;
	u64 want[3]; /* addresses */
	u32 nr;
} seg_buffers_cases[] = {
	{ "all", 0, 3, { 0x1000, 0x2000, U64_MAX }, 3 },
	{ "room for more", 0, 9, { 0x1000, 0x2000, U64_MAX }, 3 },
	{ "room for two", 0, 2, { 0x1000, 0x2000 }, 2 },
	{ "room for none", 0, 0, { }, 0 },
	{ "from the first's last byte on", 0x1fff, 3,
	  { 0x1000, 0x2000, U64_MAX }, 3 },
	{ "from the second's first byte on", 0x2000, 3, { 0x2000, U64_MAX }, 2 },
	{ "from behind the second on", 0x2010, 3, { U64_MAX }, 1 },
	{ "from the last address on", U64_MAX, 3, { U64_MAX }, 1 },
};

KUNIT_ARRAY_PARAM_DESC(seg_buffers, seg_buffers_cases, desc);

static void seg_buffers(struct kunit *test)
{
	const struct seg_buffers_case *c = test->param_value;
	struct seg_fixture *f = test->priv;
	struct te_buffer bufs[9] = {};
	u32 i;

	KUNIT_ASSERT_EQ(test, add_plain(f->seg, 1, U64_MAX, 1), 0);
	KUNIT_ASSERT_EQ(test, add_plain(f->seg, 2, 0x2000, 0x10), 0);
	KUNIT_ASSERT_EQ(test, add_plain(f->seg, 3, 0x1000, 0x1000), 0);
	KUNIT_EXPECT_EQ(test, te_seg_buffers(f->seg, c->first, bufs, c->max),
			c->nr);
	for (i = 0; i < c->nr; i++)
		KUNIT_EXPECT_EQ(test, bufs[i].addr, c->want[i]);
	KUNIT_EXPECT_EQ(test, bufs[c->nr].length, 0);
}

/* What happens to a segment, in order. */
static const struct seg_state_case {
	const char *desc;
	int fails[3]; /* -errno, or 0: ready */
	u32 nr;
	enum te_seg_state state;
	int error;
} seg_state_cases[] = {
	{ "ready", { 0 }, 1, TE_SEG_READY, 0 },
	{ "ready again, after an update", { 0, 0 }, 2, TE_SEG_READY, 0 },
	{ "refused", { -ENOENT }, 1, TE_SEG_GONE, -ENOENT },
	{ "ready, then lost", { 0, -ECONNRESET }, 2, TE_SEG_GONE,
	  -ECONNRESET },
	{ "the first error counts", { -ESTALE, -ECONNRESET }, 2, TE_SEG_GONE,
	  -ESTALE },
	{ "gone stays gone", { 0, -ESTALE, 0 }, 3, TE_SEG_GONE, -ESTALE },
	{ "gone before it was ready", { -ESTALE, 0 }, 2, TE_SEG_GONE, -ESTALE },
};

KUNIT_ARRAY_PARAM_DESC(seg_state, seg_state_cases, desc);

static void seg_states(struct kunit *test)
{
	const struct seg_state_case *c = test->param_value;
	struct seg_fixture *f = test->priv;
	u32 i;

	KUNIT_EXPECT_EQ(test, f->seg->state, TE_SEG_OPENING);
	KUNIT_EXPECT_FALSE(test, completion_done(&f->seg->settled));
	for (i = 0; i < c->nr; i++) {
		if (c->fails[i])
			te_seg_fail(f->seg, c->fails[i]);
		else
			te_seg_ready(f->seg);
		KUNIT_EXPECT_TRUE(test, completion_done(&f->seg->settled));
	}
	KUNIT_EXPECT_EQ(test, f->seg->state, c->state);
	KUNIT_EXPECT_EQ(test, f->seg->error, c->error);
	KUNIT_EXPECT_EQ(test, te_seg_gone(f->seg), c->state == TE_SEG_GONE);
}

static struct kunit_case seg_cases[] = {
	KUNIT_CASE_PARAM(seg_add_mr, seg_mr_gen_params),
	KUNIT_CASE_PARAM(seg_pairs, seg_pair_gen_params),
	KUNIT_CASE_PARAM(seg_add_devs, seg_dev_gen_params),
	KUNIT_CASE(seg_dev_changes),
	KUNIT_CASE_PARAM(seg_add_keys, seg_keys_gen_params),
	KUNIT_CASE(seg_keys_for_taken_place),
	KUNIT_CASE_PARAM(rmr_keys, rmr_key_gen_params),
	KUNIT_CASE(rmr_key_of_one_dev),
	KUNIT_CASE_PARAM(seg_add_dev_keys, dev_keys_gen_params),
	KUNIT_CASE(seg_dev_keys_too_early),
	KUNIT_CASE_PARAM(seg_del_devs, del_devs_gen_params),
	KUNIT_CASE(seg_dev_id_again),
	KUNIT_CASE_PARAM(seg_set_far, set_far_gen_params),
	KUNIT_CASE(seg_far_dev_again),
	KUNIT_CASE_PARAM(seg_buffers, seg_buffers_gen_params),
	KUNIT_CASE_PARAM(seg_states, seg_state_gen_params),
	{}
};

static struct kunit_suite seg_suite = {
	.name = "te_seg",
	.init = seg_init,
	.exit = seg_exit,
	.test_cases = seg_cases,
};

kunit_test_suite(seg_suite);

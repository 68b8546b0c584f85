// SPDX-License-Identifier: GPL-2.0-only
/*
 * ring/tests: arithmetic of the completion ring and of the status slots. The
 * tests play the process: they write head, and anything else, into its area.
 */
#include <kunit/test.h>
#include <linux/mm.h>

#include "ring/ring.h"

#define ENTRIES		8U
#define NR_SLOTS	8U

static int ring_init(struct kunit *test)
{
	struct te_ring *ring = te_ring_create(ENTRIES, NR_SLOTS);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ring);
	test->priv = ring;
	return 0;
}

static void ring_exit(struct kunit *test)
{
	if (test->priv)
		te_ring_put(test->priv);
}

struct ring_level_case {
	const char *desc;
	u32 tail;
	u32 head;
	int level;
};

static const struct ring_level_case ring_level_cases[] = {
	{ "empty", 0, 0, 0 },
	{ "one", 1, 0, 1 },
	{ "all but one", 7, 0, 7 },
	{ "full", 8, 0, 8 },
	{ "empty, later", 100, 100, 0 },
	{ "tail wrapped", 2, U32_MAX - 1, 4 },
	{ "full over the wrap", 3, U32_MAX - 4, 8 },
	{ "both at the wrap", U32_MAX, U32_MAX, 0 },
	{ "head one ahead", 5, 6, -EBADFD },
	{ "head one ahead over the wrap", U32_MAX, 0, -EBADFD },
	{ "head a ring ahead", 5, 13, -EBADFD },
	{ "head one too far behind", 9, 0, -EBADFD },
	{ "head one too far behind over the wrap", 3, U32_MAX - 5, -EBADFD },
	{ "head half the numbers away", 0, 0x80000000, -EBADFD },
	{ "head scribbled", 5, 0xdeadbeef, -EBADFD },
};

KUNIT_ARRAY_PARAM_DESC(ring_level, ring_level_cases, desc);

static void ring_level(struct kunit *test)
{
	const struct ring_level_case *c = test->param_value;
	struct te_ring *ring = test->priv;

	ring->tail = c->tail;
	ring->hdr->head = c->head;
	/* What the process writes there counts for nothing. */
	ring->hdr->tail = ~c->tail;
	KUNIT_EXPECT_EQ(test, te_ring_level(ring), c->level);
}

struct ring_reserve_case {
	const char *desc;
	u32 tail;
	u32 head;
	u32 reserved;
	u32 nr;
	int ret;
};

static const struct ring_reserve_case ring_reserve_cases[] = {
	{ "one of all", 0, 0, 0, 1, 0 },
	{ "all", 0, 0, 0, 8, 0 },
	{ "one more than all", 0, 0, 0, 9, -EBUSY },
	{ "as many as a u32 holds", 0, 0, 0, U32_MAX, -EBUSY },
	{ "none of none", 8, 0, 0, 0, 0 },
	{ "one of none: unread", 8, 0, 0, 1, -EBUSY },
	{ "one of none: promised", 0, 0, 8, 1, -EBUSY },
	{ "one of none: half and half", 4, 0, 4, 1, -EBUSY },
	{ "the last beside unread", 7, 0, 0, 1, 0 },
	{ "the last beside promised", 0, 0, 7, 1, 0 },
	{ "the last beside both", 3, 0, 4, 1, 0 },
	{ "two where one is free", 3, 0, 4, 2, -EBUSY },
	{ "the last over the wrap", 2, U32_MAX, 4, 1, 0 },
	{ "two where one is free, over the wrap", 2, U32_MAX, 4, 2, -EBUSY },
	/* Head ran ahead, more was promised, then head went back. */
	{ "more promised than there is room for", 8, 0, 8, 1, -EBUSY },
	{ "none where more is promised", 8, 0, 8, 0, 0 },
	{ "impossible head", 0, 1, 0, 1, -EBADFD },
	{ "impossible head, none", 0, 1, 0, 0, -EBADFD },
	{ "head too far behind", 9, 0, 0, 1, -EBADFD },
};

KUNIT_ARRAY_PARAM_DESC(ring_reserve, ring_reserve_cases, desc);

static void ring_reserve(struct kunit *test)
{
	const struct ring_reserve_case *c = test->param_value;
	struct te_ring *ring = test->priv;

	ring->tail = c->tail;
	ring->hdr->head = c->head;
	ring->reserved = c->reserved;
	KUNIT_EXPECT_EQ(test, te_ring_reserve(ring, c->nr), c->ret);
	KUNIT_EXPECT_EQ(test, ring->reserved, c->reserved + (c->ret ? 0 : c->nr));
	KUNIT_EXPECT_EQ(test, ring->tail, c->tail);
	KUNIT_EXPECT_EQ(test, ring->hdr->head, c->head);
}

/* Every bit of an entry depends on its number. */
static struct te_completion entry_of(u32 n)
{
	return (struct te_completion) {
		.user_data = 0x0101010101010101ULL * (n & 0xff),
		.batch = n,
		.state = ~n,
		.error = -(s32)(n & 0xfff),
		.task = n * 7,
		.bytes = (u64)n << 33,
	};
}

/* Fill it, see each entry in its place, read all; several times, over 2^32. */
static void ring_push_wraps(struct kunit *test)
{
	struct te_ring *ring = test->priv;
	u32 next = U32_MAX - 10;
	u32 round, i;

	ring->tail = next;
	ring->hdr->head = next;
	for (round = 0; round < 4; round++) {
		KUNIT_ASSERT_EQ(test, te_ring_reserve(ring, ENTRIES), 0);
		for (i = 0; i < ENTRIES; i++) {
			struct te_completion cqe = entry_of(next + i);

			te_ring_push(ring, &cqe);
			KUNIT_EXPECT_EQ(test, ring->hdr->tail, next + i + 1);
			KUNIT_EXPECT_EQ(test, ring->reserved, ENTRIES - 1 - i);
			KUNIT_EXPECT_EQ(test, te_ring_level(ring), (int)i + 1);
		}
		KUNIT_EXPECT_EQ(test, te_ring_reserve(ring, 1), -EBUSY);
		for (i = 0; i < ENTRIES; i++) {
			struct te_completion want = entry_of(next + i);

			KUNIT_EXPECT_MEMEQ(test, &ring->cqe[(next + i) % ENTRIES],
					   &want, sizeof(want));
		}
		next += ENTRIES;
		ring->hdr->head = next;
		KUNIT_EXPECT_EQ(test, te_ring_level(ring), 0);
	}
}

/* Entries promised before come in, whatever the process does to the head. */
static void ring_push_with_scribbled_head(struct kunit *test)
{
	struct te_completion cqe = entry_of(1);
	struct te_ring *ring = test->priv;
	u32 i;

	KUNIT_ASSERT_EQ(test, te_ring_reserve(ring, ENTRIES), 0);
	ring->hdr->head = 12345;
	ring->hdr->tail = 54321;
	for (i = 0; i < ENTRIES; i++)
		te_ring_push(ring, &cqe);
	KUNIT_EXPECT_EQ(test, ring->reserved, 0);
	KUNIT_EXPECT_EQ(test, ring->hdr->tail, ENTRIES);
	KUNIT_EXPECT_EQ(test, te_ring_reserve(ring, 1), -EBADFD);
	/* Repaired: as if nothing had been. */
	ring->hdr->head = ENTRIES;
	KUNIT_EXPECT_EQ(test, te_ring_reserve(ring, ENTRIES), 0);
}

struct ring_bytes_case {
	const char *desc;
	u32 entries;
	u32 nr_slots;
	u64 bytes;
	u64 status_bytes;
};

static const struct ring_bytes_case ring_bytes_cases[] = {
	{ "smallest", 1, 2, PAGE_SIZE, PAGE_SIZE },
	{ "entries would fill a page, but for the header",
	  PAGE_SIZE / 32, PAGE_SIZE / 32, 2 * PAGE_SIZE, PAGE_SIZE },
	{ "largest", TE_MAX_CQ_ENTRIES, TE_MAX_TASK_SLOTS,
	  32ULL * TE_MAX_CQ_ENTRIES + PAGE_SIZE, 32ULL * TE_MAX_TASK_SLOTS },
};

KUNIT_ARRAY_PARAM_DESC(ring_bytes, ring_bytes_cases, desc);

static void ring_bytes(struct kunit *test)
{
	const struct ring_bytes_case *c = test->param_value;
	const struct te_ring ring = {
		.entries = c->entries,
		.nr_slots = c->nr_slots,
	};

	KUNIT_EXPECT_EQ(test, te_ring_bytes(&ring), c->bytes);
	KUNIT_EXPECT_EQ(test, te_ring_status_bytes(&ring), c->status_bytes);
}

static struct kunit_case ring_cases[] = {
	KUNIT_CASE_PARAM(ring_level, ring_level_gen_params),
	KUNIT_CASE_PARAM(ring_reserve, ring_reserve_gen_params),
	KUNIT_CASE(ring_push_wraps),
	KUNIT_CASE(ring_push_with_scribbled_head),
	KUNIT_CASE_PARAM(ring_bytes, ring_bytes_gen_params),
	{}
};

static struct kunit_suite ring_suite = {
	.name = "te_ring",
	.init = ring_init,
	.exit = ring_exit,
	.test_cases = ring_cases,
};

/*
 * A script of slots: letters A to H allocate for batches of these names, small
 * letters free them. Each step says where the run must start, or -EBUSY.
 */
struct slots_case {
	const char *desc;
	struct slots_step {
		char what;
		u32 nr;
		int first;
	} steps[12]; /* ends with a zero */
};

static const struct slots_case slots_cases[] = {
	{ "one after the other", {
		{ 'A', 2, 0 }, { 'B', 3, 2 }, { 'C', 3, 5 }, { 'D', 1, -EBUSY },
	} },
	{ "all at once", { { 'A', 8, 0 }, { 'B', 1, -EBUSY } } },
	{ "more than all", { { 'A', 9, -EBUSY }, { 'B', 8, 0 } } },
	{ "what was freed comes last", {
		{ 'A', 2, 0 }, { 'a', 2 }, { 'B', 2, 2 }, { 'C', 2, 4 },
		{ 'D', 2, 6 }, { 'E', 2, 0 }, { 'F', 1, -EBUSY },
	} },
	{ "goes round when the end is too short", {
		{ 'A', 3, 0 }, { 'B', 3, 3 }, { 'a', 3 }, { 'C', 3, 0 },
		{ 'D', 2, 6 },
	} },
	{ "no run where only single ones are free", {
		{ 'A', 2, 0 }, { 'B', 1, 2 }, { 'C', 2, 3 }, { 'D', 1, 5 },
		{ 'E', 2, 6 }, { 'b', 1 }, { 'd', 1 }, { 'F', 2, -EBUSY },
		{ 'G', 1, 2 }, { 'H', 1, 5 },
	} },
	{ "neighbours freed make one run", {
		{ 'A', 2, 0 }, { 'B', 2, 2 }, { 'C', 2, 4 }, { 'D', 2, 6 },
		{ 'c', 2 }, { 'b', 2 }, { 'E', 4, 2 }, { 'F', 1, -EBUSY },
	} },
	{ "full, then again from the start", {
		{ 'A', 8, 0 }, { 'a', 8 }, { 'B', 8, 0 }, { 'b', 8 },
		{ 'C', 1, 0 },
	} },
};

KUNIT_ARRAY_PARAM_DESC(slots, slots_cases, desc);

static void slots_scripted(struct kunit *test)
{
	const struct slots_case *c = test->param_value;
	const struct slots_step *step;
	struct te_ring *ring = test->priv;
	u32 ids[NR_SLOTS] = {};
	u32 id;
	int ret;

	for (step = c->steps; step->what; step++) {
		if (step->what >= 'a') {
			te_slots_free(ring, ids[step->what - 'a'], step->nr);
			continue;
		}
		ret = te_slots_alloc(ring, step->nr, &id);
		if (!ret) {
			ids[step->what - 'A'] = id;
			ret = id % NR_SLOTS;
		}
		KUNIT_EXPECT_EQ_MSG(test, ret, step->first, "step %c",
				    step->what);
	}
}

/* Slots are clear, but for the header's id; what others hold is left alone. */
static void slots_are_cleared(struct kunit *test)
{
	struct te_ring *ring = test->priv;
	struct te_slot *slots = ring->slots;
	const struct te_slot clear = {}, other = {
		.state = TE_FAILED, .error = -1, .bytes = 2, .batch = 3,
		.nr_tasks = 4,
	};
	struct te_slot header = {};
	u32 a, b, i;

	KUNIT_ASSERT_EQ(test, te_slots_alloc(ring, 2, &a), 0);
	for (i = 0; i < NR_SLOTS; i++)
		slots[i] = other;
	KUNIT_ASSERT_EQ(test, te_slots_alloc(ring, 3, &b), 0);
	header.batch = b;
	KUNIT_EXPECT_PTR_EQ(test, te_slot_at(ring, b), &slots[2]);
	KUNIT_EXPECT_MEMEQ(test, &slots[1], &other, sizeof(other));
	KUNIT_EXPECT_MEMEQ(test, &slots[2], &header, sizeof(header));
	KUNIT_EXPECT_MEMEQ(test, &slots[3], &clear, sizeof(clear));
	KUNIT_EXPECT_MEMEQ(test, &slots[4], &clear, sizeof(clear));
	KUNIT_EXPECT_MEMEQ(test, &slots[5], &other, sizeof(other));

	te_slots_free(ring, b, 3);
	KUNIT_EXPECT_EQ(test, slots[2].batch, 0);
	KUNIT_EXPECT_EQ(test, slots[0].batch, other.batch);
	KUNIT_EXPECT_EQ(test, bitmap_weight(ring->slot_map, NR_SLOTS), 2);
}

/* Ids of the same slots differ, for as long as there are numbers. */
static void slots_ids(struct kunit *test)
{
	struct te_ring *ring = test->priv;
	const u32 last = BIT(31 - ilog2(NR_SLOTS)) - 1;
	u32 first_id, id;

	KUNIT_ASSERT_EQ(test, te_slots_alloc(ring, NR_SLOTS, &first_id), 0);
	KUNIT_EXPECT_EQ(test, first_id, NR_SLOTS);
	te_slots_free(ring, first_id, NR_SLOTS);
	KUNIT_ASSERT_EQ(test, te_slots_alloc(ring, NR_SLOTS, &id), 0);
	KUNIT_EXPECT_EQ(test, id, 2 * NR_SLOTS);
	te_slots_free(ring, id, NR_SLOTS);

	/* The last one is positive as s32; after it comes not 0 but the first. */
	ring->generation = last - 1;
	KUNIT_ASSERT_EQ(test, te_slots_alloc(ring, NR_SLOTS, &id), 0);
	KUNIT_EXPECT_EQ(test, id, last * NR_SLOTS);
	KUNIT_EXPECT_GT(test, (s32)id, 0);
	te_slots_free(ring, id, NR_SLOTS);
	KUNIT_ASSERT_EQ(test, te_slots_alloc(ring, NR_SLOTS, &id), 0);
	KUNIT_EXPECT_EQ(test, id, first_id);
}

/* A refused allocation takes neither slots nor an id. */
static void slots_refused(struct kunit *test)
{
	struct te_ring *ring = test->priv;
	u32 id, other = 0x5a5a5a5a;

	KUNIT_ASSERT_EQ(test, te_slots_alloc(ring, 6, &id), 0);
	KUNIT_EXPECT_EQ(test, te_slots_alloc(ring, 3, &other), -EBUSY);
	KUNIT_EXPECT_EQ(test, other, 0x5a5a5a5a);
	KUNIT_EXPECT_EQ(test, ring->generation, 1);
	KUNIT_EXPECT_EQ(test, bitmap_weight(ring->slot_map, NR_SLOTS), 6);
}

static struct kunit_case slots_suite_cases[] = {
	KUNIT_CASE_PARAM(slots_scripted, slots_gen_params),
	KUNIT_CASE(slots_are_cleared),
	KUNIT_CASE(slots_ids),
	KUNIT_CASE(slots_refused),
	{}
};

static struct kunit_suite slots_suite = {
	.name = "te_slots",
	.init = ring_init,
	.exit = ring_exit,
	.test_cases = slots_suite_cases,
};

kunit_test_suites(&ring_suite, &slots_suite);

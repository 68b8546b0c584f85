// SPDX-License-Identifier: GPL-2.0-only
/*
 * core/tests: how tasks are cut, and what becomes of slices that moved, failed
 * or must be sent again.
 */
#include <kunit/test.h>
#include <linux/sizes.h>

#include "core/tests/fixture.h"

#define SLICE		TE_SLICE_BYTES
#define TAIL		TE_TAIL_BYTES
#define MAX_SLICES	12

static const struct slice_len_case {
	const char *desc;
	u64 left;
	u64 local_room;
	u64 remote_room;
	u32 want;
} slice_len_cases[] = {
	{ "one byte", 1, SZ_1M, SZ_1M, 1 },
	{ "less than a slice", SLICE - 1, SZ_1M, SZ_1M, SLICE - 1 },
	{ "a slice", SLICE, SZ_1M, SZ_1M, SLICE },
	{ "a tail of one", SLICE + 1, SZ_1M, SZ_1M, SLICE + 1 },
	{ "the longest tail", SLICE + TAIL, SZ_1M, SZ_1M, SLICE + TAIL },
	{ "too long a tail", SLICE + TAIL + 1, SZ_1M, SZ_1M, SLICE },
	{ "as much as there is", U64_MAX, U64_MAX, U64_MAX, SLICE },
	{ "local border first", U64_MAX, 100, 200, 100 },
	{ "remote border first", U64_MAX, 200, 100, 100 },
	{ "borders at the end of the slice", U64_MAX, SLICE, SLICE, SLICE },
	{ "border one before the end", U64_MAX, SLICE - 1, SLICE, SLICE - 1 },
	{ "border in the tail", SLICE + 10, SLICE + 5, SZ_1M, SLICE + 5 },
	{ "border of one byte", SZ_1M, 1, SZ_1M, 1 },
	{ "room above 32 bits", SLICE, BIT_ULL(32) + 1, BIT_ULL(40), SLICE },
	{ "left above 32 bits", BIT_ULL(32) + 1, SZ_1M, SZ_1M, SLICE },
};

KUNIT_ARRAY_PARAM_DESC(slice_len, slice_len_cases, desc);

static void slice_len(struct kunit *test)
{
	const struct slice_len_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, te_slice_len(c->left, c->local_room,
					   c->remote_room), c->want);
}

/* Without borders: full slices, and a last one that took a short tail in. */
static const struct slice_length_case {
	const char *desc;
	u32 rest;
} slice_length_cases[] = {
	{ "0", 0 },
	{ "1", 1 },
	{ "tail limit - 1", TAIL - 1 },
	{ "tail limit", TAIL },
	{ "tail limit + 1", TAIL + 1 },
	{ "slice - 1", SLICE - 1 },
};

KUNIT_ARRAY_PARAM_DESC(slice_length, slice_length_cases, desc);

/* One slice, as the task and both sides say it must be. */
static void check_slice(struct kunit *test, struct core_fixture *f,
			struct te_task *task, struct te_slice *slice,
			u32 dev_id, u64 offset)
{
	u64 laddr = task->laddr + offset, raddr = task->raddr + offset;
	u64 last = slice->len - 1;

	KUNIT_ASSERT_GT(test, slice->len, 0);
	KUNIT_EXPECT_PTR_EQ(test, slice->task, task);
	KUNIT_EXPECT_EQ(test, slice->offset, offset);
	KUNIT_EXPECT_EQ(test, slice->raddr, raddr);
	KUNIT_EXPECT_EQ(test, slice->laddr, laddr + CORE_BASE_SHIFT);
	KUNIT_EXPECT_EQ(test, slice->error, 0);
	KUNIT_EXPECT_FALSE(test, slice->flushed);
	/* The first byte and the last have the same key: no border between. */
	KUNIT_EXPECT_EQ(test, slice->lkey, core_lkey(f, dev_id, laddr));
	KUNIT_EXPECT_EQ(test, slice->lkey, core_lkey(f, dev_id, laddr + last));
	KUNIT_EXPECT_EQ(test, slice->rkey, core_rkey(f, raddr));
	KUNIT_EXPECT_EQ(test, slice->rkey, core_rkey(f, raddr + last));
}

/* Cut until nothing is left. Return: how many, in @slices. */
static u32 cut_all(struct kunit *test, struct core_fixture *f,
		   struct te_task *task, u32 dev_id, struct te_slice **slices)
{
	u64 offset = task->cursor;
	u32 inflight = task->inflight;
	enum te_cut cut;
	u32 n = 0;

	do {
		KUNIT_ASSERT_LT(test, n, MAX_SLICES);
		KUNIT_EXPECT_TRUE(test, task->queued);
		cut = core_cut(f, task, dev_id, &slices[n]);
		KUNIT_ASSERT_NOT_NULL(test, slices[n]);
		check_slice(test, f, task, slices[n], dev_id, offset);
		offset += slices[n]->len;
		n++;
		KUNIT_EXPECT_EQ(test, task->inflight, inflight + n);
		KUNIT_EXPECT_EQ(test, task->cursor, offset);
	} while (cut == TE_CUT_MORE);
	KUNIT_EXPECT_EQ(test, cut, TE_CUT_LAST);
	KUNIT_EXPECT_FALSE(test, task->queued);
	KUNIT_EXPECT_EQ(test, offset, task->length);
	return n;
}

/* All come back, last first; the task ends with the last one. */
static void complete_all_slices(struct kunit *test, struct te_task *task,
				struct te_slice **slices, u32 n)
{
	u64 done = task->done;

	while (n--) {
		KUNIT_EXPECT_FALSE(test, task->ended);
		KUNIT_EXPECT_EQ(test, task->slot->state, TE_PENDING);
		done += slices[n]->len;
		te_slice_complete(slices[n]);
		KUNIT_EXPECT_EQ(test, task->inflight, n);
		KUNIT_EXPECT_EQ(test, task->slot->bytes, done);
	}
	KUNIT_EXPECT_EQ(test, done, task->length);
	KUNIT_EXPECT_TRUE(test, task->ended);
	KUNIT_EXPECT_EQ(test, task->slot->state, TE_COMPLETED);
	KUNIT_EXPECT_EQ(test, task->slot->error, 0);
	KUNIT_EXPECT_EQ(test, task->slot->bytes, task->length);
}

static const struct core_side whole = {
	.addr = 0x10000000, .lens = { SZ_1G }, .chunk_shift = 40,
};

static void slice_lengths(struct kunit *test)
{
	const struct slice_length_case *c = test->param_value;
	struct te_slice *slices[MAX_SLICES];
	struct core_fixture *f;
	struct te_task *task;
	u32 k, i, n, full;

	f = core_fixture_create(test, &whole, &whole, TE_ENTRIES_NONE);
	for (k = c->rest ? 0 : 1; k < CORE_NR_TASKS; k++) {
		task = core_submit(test, f, (u64)k * SLICE + c->rest);
		n = cut_all(test, f, task, 0, slices);
		/* A tail joins the slice before it, if there is one. */
		full = c->rest > TAIL || (!k && c->rest) ? k + 1 : k;
		KUNIT_EXPECT_EQ(test, n, full);
		for (i = 0; i + 1 < n; i++)
			KUNIT_EXPECT_EQ(test, slices[i]->len, SLICE);
		complete_all_slices(test, task, slices, n);
	}
	core_fixture_destroy(test, f);
}

#define K	1024

static const struct slice_border_case {
	const char *desc;
	struct core_side local;
	struct core_side remote;
	u64 length;
	u32 want[MAX_SLICES];
} slice_border_cases[] = {
	{ "local regions",
	  { 0x10000000, { 100 * K, 28 * K, 72 * K }, 40 },
	  { 0x20000000, { SZ_1M }, 40 },
	  200 * K, { 64 * K, 36 * K, 28 * K, 72 * K } },
	{ "remote regions",
	  { 0x10000000, { SZ_1M }, 40 },
	  { 0x20000000, { 100 * K, 28 * K, 72 * K }, 40 },
	  200 * K, { 64 * K, 36 * K, 28 * K, 72 * K } },
	{ "regions of both sides, in turn",
	  { 0x10000000, { 100 * K, 50 * K }, 40 },
	  { 0x20000000, { 30 * K, 120 * K }, 40 },
	  150 * K, { 30 * K, 64 * K, 6 * K, 50 * K } },
	{ "regions of both sides, at one place",
	  { 0x10000000, { 70 * K, 70 * K }, 40 },
	  { 0x20000000, { 70 * K, 70 * K }, 40 },
	  140 * K, { 64 * K, 6 * K, 70 * K } },
	{ "a border at a slice's end",
	  { 0x10000000, { 64 * K, 64 * K }, 40 },
	  { 0x20000000, { 128 * K }, 40 },
	  128 * K, { 64 * K, 64 * K } },
	{ "a border one byte before a slice's end",
	  { 0x10000000, { 64 * K - 1, 64 * K + 1 }, 40 },
	  { 0x20000000, { 128 * K }, 40 },
	  128 * K, { 64 * K - 1, 64 * K + 1 } },
	{ "a border one byte behind a slice's end",
	  { 0x10000000, { 64 * K + 1, 64 * K - 1 }, 40 },
	  { 0x20000000, { 128 * K }, 40 },
	  128 * K, { 64 * K, 1, 64 * K - 1 } },
	{ "regions of one byte",
	  { 0x10000000, { 1, 1, 1, 1 }, 40 },
	  { 0x20000000, { 2, 2 }, 40 },
	  4, { 1, 1, 1, 1 } },
	{ "the last regions are not needed",
	  { 0x10000000, { 8 * K, 8 * K, 8 * K }, 40 },
	  { 0x20000000, { 10 * K, 10 * K }, 40 },
	  16 * K, { 8 * K, 2 * K, 6 * K } },
	{ "local chunks",
	  { 0x10000000, { SZ_1M }, 16 },
	  { 0x20000000, { SZ_1M }, 40 },
	  140 * K, { 64 * K, 64 * K, 12 * K } },
	{ "local chunks count from the start of the page",
	  { 0x10000800, { SZ_1M }, 16 },
	  { 0x20000000, { SZ_1M }, 40 },
	  140 * K, { 62 * K, 64 * K, 14 * K } },
	{ "remote chunks count from the start of the page",
	  { 0x10000000, { SZ_1M }, 40 },
	  { 0x20000ffe, { SZ_1M }, 16 },
	  64 * K, { 60 * K + 2, 4 * K - 2 } },
	{ "chunks of a page on both sides, out of step",
	  { 0x10000400, { SZ_1M }, 12 },
	  { 0x20000c00, { SZ_1M }, 12 },
	  8 * K, { 1 * K, 2 * K, 2 * K, 2 * K, 1 * K } },
	{ "chunks and regions",
	  { 0x10000000, { 6 * K, 10 * K }, 13 },
	  { 0x20000000, { 16 * K }, 40 },
	  16 * K, { 6 * K, 6 * K, 4 * K } },
	{ "chunks start anew with each region",
	  { 0x10000000, { 5 * K, 20 * K }, 14 },
	  { 0x20000000, { SZ_1M }, 40 },
	  25 * K, { 5 * K, 15 * K, 5 * K } },
	{ "to the last address there is",
	  { 0x10000000, { 80 * K }, 40 },
	  { -80ULL * K, { 70 * K, 10 * K }, 40 },
	  80 * K, { 70 * K, 10 * K } },
	{ "from the first address there is",
	  { 0, { 80 * K }, 40 },
	  { 0, { 80 * K }, 40 },
	  80 * K, { 80 * K } },
};

KUNIT_ARRAY_PARAM_DESC(slice_border, slice_border_cases, desc);

static void slice_borders(struct kunit *test)
{
	const struct slice_border_case *c = test->param_value;
	struct te_slice *slices[MAX_SLICES];
	struct core_fixture *f;
	struct te_task *task;
	u32 n, i;

	f = core_fixture_create(test, &c->local, &c->remote, TE_ENTRIES_NONE);
	task = core_submit(test, f, c->length);
	n = cut_all(test, f, task, 0, slices);
	for (i = 0; i < n; i++)
		KUNIT_EXPECT_EQ_MSG(test, slices[i]->len, c->want[i],
				    "slice %u", i);
	KUNIT_EXPECT_EQ(test, c->want[n], 0);
	complete_all_slices(test, task, slices, n);
	core_fixture_destroy(test, f);
}

/* Offsets far above 32 bits; nobody cuts all of it. */
static void slice_of_huge_task(struct kunit *test)
{
	static const struct core_side huge = {
		.addr = 0x10000000, .lens = { BIT_ULL(42) }, .chunk_shift = 40,
	};
	struct te_slice *slices[MAX_SLICES];
	struct core_fixture *f;
	struct te_task *task;
	u32 i, n;

	f = core_fixture_create(test, &huge, &huge, TE_ENTRIES_NONE);
	task = core_submit(test, f, BIT_ULL(42));
	KUNIT_ASSERT_EQ(test, core_cut(f, task, 0, &slices[0]), TE_CUT_MORE);
	check_slice(test, f, task, slices[0], 0, 0);
	KUNIT_EXPECT_EQ(test, slices[0]->len, SLICE);

	/* As if all but a little had been cut and moved. */
	te_slice_complete(slices[0]);
	task->cursor = task->length - 3 * SLICE - 5;
	task->done = task->cursor;
	n = cut_all(test, f, task, 0, slices);
	KUNIT_EXPECT_EQ(test, n, 3);
	for (i = 0; i < n; i++)
		KUNIT_EXPECT_EQ(test, slices[i]->len, SLICE + (i == 2 ? 5 : 0));
	complete_all_slices(test, task, slices, n);
	core_fixture_destroy(test, f);
}

/* Cut one; @want also says whether more must be left. */
static struct te_slice *cut(struct kunit *test, struct core_fixture *f,
			    struct te_task *task, u32 dev_id, enum te_cut want)
{
	struct te_slice *slice;

	KUNIT_EXPECT_EQ(test, core_cut(f, task, dev_id, &slice), want);
	KUNIT_ASSERT_NOT_NULL(test, slice);
	KUNIT_EXPECT_EQ(test, task->queued, want == TE_CUT_MORE);
	return slice;
}

/* What was flushed goes first, in order, then the rest; all bytes, once. */
static void slice_redo(struct kunit *test)
{
	struct te_slice *slices[MAX_SLICES], *slice;
	struct core_fixture *f;
	struct te_task *task;
	u32 i;

	f = core_fixture_create(test, &whole, &whole, TE_ENTRIES_NONE);
	task = core_submit(test, f, 4 * SLICE);
	for (i = 0; i < 3; i++)
		slices[i] = cut(test, f, task, 0, TE_CUT_MORE);
	te_slice_complete(slices[1]);
	/* Queued still: not for the caller to queue. */
	KUNIT_EXPECT_FALSE(test, te_slice_redo(slices[2]));
	KUNIT_EXPECT_FALSE(test, te_slice_redo(slices[0]));
	KUNIT_EXPECT_EQ(test, task->inflight, 0);
	KUNIT_EXPECT_EQ(test, task->done, SLICE);

	slice = cut(test, f, task, 0, TE_CUT_MORE);
	check_slice(test, f, task, slice, 0, 2 * SLICE);
	te_slice_complete(slice);
	slice = cut(test, f, task, 0, TE_CUT_MORE);
	check_slice(test, f, task, slice, 0, 0);
	te_slice_complete(slice);
	KUNIT_EXPECT_EQ(test, task->cursor, 3 * SLICE);
	slice = cut(test, f, task, 0, TE_CUT_LAST);
	check_slice(test, f, task, slice, 0, 3 * SLICE);
	KUNIT_EXPECT_FALSE(test, task->ended);

	/* The last one comes back when the task is on no queue: it is ours. */
	KUNIT_EXPECT_TRUE(test, te_slice_redo(slice));
	KUNIT_EXPECT_TRUE(test, task->queued);
	slice = cut(test, f, task, 0, TE_CUT_LAST);
	complete_all_slices(test, task, &slice, 1);
	core_fixture_destroy(test, f);
}

/* A range to send again may be longer than a chunk of the other dev. */
static void slice_redo_on_other_dev(struct kunit *test)
{
	static const struct core_side local = {
		.addr = 0x10000000, .lens = { SZ_1M },
		.chunk_shift = 40, .chunk_shift1 = 15,
	};
	static const struct { u64 offset; u32 len; } want[] = {
		{ SLICE, SZ_32K }, { SLICE + SZ_32K, SZ_32K },
		{ 2 * SLICE, 10 }, { 0, SZ_32K }, { SZ_32K, SZ_32K },
	};
	struct te_slice *slices[MAX_SLICES], *slice = NULL;
	struct core_fixture *f;
	struct te_task *task;
	u32 i;

	f = core_fixture_create(test, &local, &whole, TE_ENTRIES_NONE);
	task = core_submit(test, f, 2 * SLICE + 10);
	KUNIT_ASSERT_EQ(test, cut_all(test, f, task, 0, slices), 2);
	KUNIT_EXPECT_TRUE(test, te_slice_redo(slices[1]));
	KUNIT_EXPECT_FALSE(test, te_slice_redo(slices[0]));

	for (i = 0; i < ARRAY_SIZE(want); i++) {
		if (slice)
			te_slice_complete(slice);
		slice = cut(test, f, task, 1, i + 1 < ARRAY_SIZE(want) ?
			    TE_CUT_MORE : TE_CUT_LAST);
		check_slice(test, f, task, slice, 1, want[i].offset);
		KUNIT_EXPECT_EQ_MSG(test, slice->len, want[i].len, "slice %u", i);
	}
	complete_all_slices(test, task, &slice, 1);
	core_fixture_destroy(test, f);
}

static bool fail_slice(struct te_slice *slice, int error)
{
	slice->error = error;
	return te_slice_redo(slice);
}

/* What a range has survived counts for each part that it is cut into. */
static void slice_redo_counts_tries(struct kunit *test)
{
	static const struct core_side local = {
		.addr = 0x10000000, .lens = { SZ_1M },
		.chunk_shift = 40, .chunk_shift1 = 15,
	};
	struct te_slice *first, *second;
	struct core_fixture *f;
	struct te_task *task;
	u32 i;

	f = core_fixture_create(test, &local, &whole, TE_ENTRIES_NONE);
	task = core_submit(test, f, SLICE);
	first = cut(test, f, task, 0, TE_CUT_LAST);
	KUNIT_EXPECT_TRUE(test, fail_slice(first, -ETIMEDOUT));
	for (i = 1; i < te_retry_cnt; i++) {
		first = cut(test, f, task, 0, TE_CUT_LAST);
		KUNIT_EXPECT_EQ(test, first->tries, i);
		KUNIT_EXPECT_EQ(test, first->error, 0);
		KUNIT_EXPECT_TRUE(test, fail_slice(first, -EIO));
	}

	first = cut(test, f, task, 1, TE_CUT_MORE);
	second = cut(test, f, task, 1, TE_CUT_LAST);
	KUNIT_EXPECT_EQ(test, first->tries, te_retry_cnt);
	KUNIT_EXPECT_EQ(test, second->tries, te_retry_cnt);
	KUNIT_EXPECT_EQ(test, first->first_error, -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, second->first_error, -ETIMEDOUT);
	KUNIT_EXPECT_FALSE(test, fail_slice(second, -EIO));
	KUNIT_EXPECT_FALSE(test, task->ended);
	te_slice_complete(first);
	KUNIT_EXPECT_EQ(test, task->slot->state, TE_FAILED);
	KUNIT_EXPECT_EQ(test, task->slot->error, -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, task->slot->bytes, SLICE / 2);
	core_fixture_destroy(test, f);
}

/*
 * One task from its submit to its end, a letter a step:
 *   c cut a slice		C cut where the region is not mapped: no slice
 *   n cut none, as the task must end
 *   k the oldest slice moved	r it was flushed
 *   f it failed: EIO		o it failed: ETIMEDOUT
 *   F it was refused: EREMOTEIO
 *   u taken off its queue	e the same, as no rail is left: ECONNREFUSED
 *   x the batch is cancelled	t the time is up
 *   g the segment is gone: ECONNRESET	m its region is gone
 * The end comes with the last step and not before. Three slices are all.
 */
static const struct slice_end_case {
	const char *desc;
	const char *script;
	u32 state;
	int error;
	u32 slices; /* moved */
} slice_end_cases[] = {
	{ "all cut, then all moved", "ccckkk", TE_COMPLETED, 0, 3 },
	{ "each moved before the next is cut", "ckckck", TE_COMPLETED, 0, 3 },
	{ "flushed and sent again", "ccrcckkk", TE_COMPLETED, 0, 3 },
	{ "flushed when on no queue", "ccckkrck", TE_COMPLETED, 0, 3 },
	{ "flushes cost nothing", "ccckkrcrcrcrcrcrcrcrcrcrcrcrck",
	  TE_COMPLETED, 0, 3 },
	{ "failed and sent again", "cccfckkk", TE_COMPLETED, 0, 3 },
	{ "failed and sent again, with more to cut", "cfccckkk", TE_COMPLETED,
	  0, 3 },
	{ "nine failures of one", "ccckkfcfcfcfcfcfcfcfcfck", TE_COMPLETED, 0,
	  3 },
	{ "ten failures of one", "ccckkfcfcfcfcfcfcfcfcfcf", TE_FAILED, -EIO,
	  2 },
	{ "ten failures of one, with more to cut", "cfcfcfcfcfcfcfcfcfcfu",
	  TE_FAILED, -EIO, 0 },
	{ "each slice has its own failures",
	  "cccfffcccfffcccfffcccfffcccfffcccfffccckkk", TE_COMPLETED, 0, 3 },
	{ "flushes between failures cost nothing",
	  "ccckkfcfcfcrcfcfcrcfcfcfcfck", TE_COMPLETED, 0, 3 },
	{ "the first error of the slice counts",
	  "ccckkocfcfcfcfcfcfcfcfcf", TE_FAILED, -ETIMEDOUT, 2 },
	{ "refused", "cccFkk", TE_FAILED, -EREMOTEIO, 2 },
	{ "refused with more to cut", "cFu", TE_FAILED, -EREMOTEIO, 0 },
	{ "refused, found by a mover", "cFn", TE_FAILED, -EREMOTEIO, 0 },
	{ "refused with slices in flight", "ccFuk", TE_FAILED, -EREMOTEIO, 1 },
	{ "refused after a failure", "cccokkcF", TE_FAILED, -ETIMEDOUT, 2 },
	{ "a failure after a refusal", "cccFfk", TE_FAILED, -EREMOTEIO, 1 },
	{ "flushed after a refusal", "cccFrr", TE_FAILED, -EREMOTEIO, 0 },
	{ "a refusal after a flush drops what was to be sent", "ccrFu",
	  TE_FAILED, -EREMOTEIO, 0 },
	{ "a refusal after a failure drops what was to be sent", "ccfFu",
	  TE_FAILED, -EREMOTEIO, 0 },
	{ "no rail before it was cut", "e", TE_FAILED, -ECONNREFUSED, 0 },
	{ "no rail after a slice", "ccekr", TE_FAILED, -ECONNREFUSED, 1 },
	{ "cancelled before it was cut", "xu", TE_CANCELED, -ECANCELED, 0 },
	{ "cancelled, found by a mover", "xn", TE_CANCELED, -ECANCELED, 0 },
	{ "cancelled, one had moved", "ckxu", TE_CANCELED, -ECANCELED, 1 },
	{ "cancelled in flight", "ccxukk", TE_CANCELED, -ECANCELED, 2 },
	{ "cancelled in flight, found by a mover", "ccxnkk", TE_CANCELED,
	  -ECANCELED, 2 },
	{ "cancelled, flushed", "ccxurr", TE_CANCELED, -ECANCELED, 0 },
	{ "cancelled, failed", "ccxuff", TE_CANCELED, -ECANCELED, 0 },
	{ "cancelled with a flushed one to send", "ccrkxu", TE_CANCELED,
	  -ECANCELED, 1 },
	{ "cancelled too late", "cccxkkk", TE_COMPLETED, 0, 3 },
	{ "refused, then cancelled", "ccFxuk", TE_FAILED, -EREMOTEIO, 1 },
	{ "cancelled, then refused", "ccxFuk", TE_FAILED, -EREMOTEIO, 1 },
	{ "time up before it was cut", "tu", TE_TIMEOUT, -ETIMEDOUT, 0 },
	{ "time up in flight", "ccktuk", TE_TIMEOUT, -ETIMEDOUT, 2 },
	{ "time up too late", "ccctkkk", TE_COMPLETED, 0, 3 },
	{ "time up before it was cancelled", "txu", TE_TIMEOUT, -ETIMEDOUT, 0 },
	{ "segment gone before it was cut", "gu", TE_FAILED, -ECONNRESET, 0 },
	{ "segment gone, found by a mover", "gn", TE_FAILED, -ECONNRESET, 0 },
	{ "segment gone in flight", "ccgukr", TE_FAILED, -ECONNRESET, 1 },
	{ "segment gone: a failure is its", "cgfu", TE_FAILED, -ECONNRESET, 0 },
	{ "segment gone: a refusal is its", "cgFu", TE_FAILED, -ECONNRESET, 0 },
	{ "segment gone too late", "cccgkkk", TE_COMPLETED, 0, 3 },
	{ "region gone before it was cut", "mn", TE_FAILED, -ESTALE, 0 },
	{ "region gone: a failure is its", "cmfu", TE_FAILED, -ESTALE, 0 },
	{ "region gone: a refusal is its", "cmFu", TE_FAILED, -ESTALE, 0 },
	{ "region gone, the rest cannot be sent", "cmkn", TE_FAILED, -ESTALE,
	  1 },
	{ "region gone, with one in flight", "cmnk", TE_FAILED, -ESTALE, 1 },
	{ "region gone too late", "cccmkkk", TE_COMPLETED, 0, 3 },
	{ "not mapped on one dev: another takes it", "CcCcckkk", TE_COMPLETED,
	  0, 3 },
	{ "to send again, not mapped on one dev", "ccrCcckkk", TE_COMPLETED, 0,
	  3 },
	{ "not mapped, cancelled", "Cxu", TE_CANCELED, -ECANCELED, 0 },
};

KUNIT_ARRAY_PARAM_DESC(slice_end, slice_end_cases, desc);

struct slice_script {
	struct core_fixture *f;
	struct te_task *task;
	struct list_head posted;
};

static void script_cut(struct kunit *test, struct slice_script *s)
{
	struct te_task *task = s->task;
	struct te_slice *slice;
	enum te_cut cut;
	bool last;

	KUNIT_ASSERT_TRUE(test, task->queued);
	cut = core_cut(s->f, task, 0, &slice);
	KUNIT_ASSERT_NOT_NULL(test, slice);
	list_add_tail(&slice->link, &s->posted);
	last = task->cursor == task->length && list_empty(&task->redo);
	KUNIT_EXPECT_EQ(test, cut, last ? TE_CUT_LAST : TE_CUT_MORE);
	KUNIT_EXPECT_EQ(test, task->queued, !last);
}

/* It waits for a dev that it can go over. */
static void script_misfit(struct kunit *test, struct slice_script *s)
{
	u64 cursor = s->task->cursor;
	u32 inflight = s->task->inflight;
	struct te_slice *slice;

	KUNIT_EXPECT_EQ(test, core_cut(s->f, s->task, 1, &slice),
			TE_CUT_MISFIT);
	KUNIT_EXPECT_NULL(test, slice);
	KUNIT_EXPECT_TRUE(test, s->task->queued);
	KUNIT_EXPECT_EQ(test, s->task->cursor, cursor);
	KUNIT_EXPECT_EQ(test, s->task->inflight, inflight);
}

/* Nothing can be cut, neither now nor later; it stays ours until we let go. */
static void script_cut_none(struct kunit *test, struct slice_script *s)
{
	struct te_slice *slice;

	KUNIT_ASSERT_TRUE(test, s->task->queued);
	KUNIT_EXPECT_EQ(test, core_cut(s->f, s->task, 0, &slice),
			TE_CUT_DOOMED);
	KUNIT_EXPECT_NULL(test, slice);
	KUNIT_EXPECT_TRUE(test, s->task->queued);
	KUNIT_EXPECT_FALSE(test, s->task->ended);
	te_task_unqueue(s->task);
}

static struct te_slice *script_take(struct kunit *test, struct slice_script *s)
{
	struct te_slice *slice;

	slice = list_first_entry_or_null(&s->posted, struct te_slice, link);
	KUNIT_ASSERT_NOT_NULL(test, slice);
	list_del(&slice->link);
	return slice;
}

static void script_fail(struct kunit *test, struct slice_script *s, int error)
{
	fail_slice(script_take(test, s), error);
}

static void script_step(struct kunit *test, struct slice_script *s, char step)
{
	struct te_task *task = s->task;

	switch (step) {
	case 'c':
		script_cut(test, s);
		break;
	case 'C':
		script_misfit(test, s);
		break;
	case 'n':
		script_cut_none(test, s);
		break;
	case 'k':
		te_slice_complete(script_take(test, s));
		break;
	case 'r':
		te_slice_redo(script_take(test, s));
		break;
	case 'f':
		script_fail(test, s, -EIO);
		break;
	case 'o':
		script_fail(test, s, -ETIMEDOUT);
		break;
	case 'F':
		script_fail(test, s, -EREMOTEIO);
		break;
	case 'u':
		te_task_unqueue(task);
		break;
	case 'e':
		te_task_fail(task, -ECONNREFUSED);
		break;
	case 'x':
		te_batch_cancel(s->f->batch);
		break;
	case 't':
		task->end_state = TE_TIMEOUT;
		break;
	case 'g':
		te_seg_fail(s->f->seg, -ECONNRESET);
		break;
	case 'm':
		KUNIT_EXPECT_EQ(test, te_seg_del_mr(s->f->seg, 1), 0);
		break;
	}
}

static void slice_ends(struct kunit *test)
{
	const struct slice_end_case *c = test->param_value;
	struct slice_script s = { .posted = LIST_HEAD_INIT(s.posted) };
	struct te_completion *cqe;
	const char *step;

	s.f = core_fixture_create(test, &whole, &whole, TE_ENTRIES_TASK);
	s.task = core_submit(test, s.f, 3 * SLICE);
	for (step = c->script; *step; step++) {
		KUNIT_ASSERT_FALSE_MSG(test, s.task->ended, "before %s", step);
		KUNIT_EXPECT_EQ(test, s.task->slot->state, TE_PENDING);
		KUNIT_EXPECT_EQ(test, te_ring_level(s.f->ring), 0);
		script_step(test, &s, *step);
	}
	KUNIT_ASSERT_TRUE(test, s.task->ended);
	KUNIT_EXPECT_TRUE(test, list_empty(&s.posted));
	KUNIT_EXPECT_EQ(test, s.task->inflight, 0);
	KUNIT_EXPECT_EQ(test, s.task->slot->state, c->state);
	KUNIT_EXPECT_EQ(test, s.task->slot->error, c->error);
	KUNIT_EXPECT_EQ(test, s.task->slot->bytes, (u64)c->slices * SLICE);

	KUNIT_ASSERT_EQ(test, te_ring_level(s.f->ring), 1);
	cqe = &s.f->ring->cqe[0];
	KUNIT_EXPECT_EQ(test, cqe->user_data, 1000);
	KUNIT_EXPECT_EQ(test, cqe->batch, s.f->batch->id);
	KUNIT_EXPECT_EQ(test, cqe->task, 0);
	KUNIT_EXPECT_EQ(test, cqe->state, c->state);
	KUNIT_EXPECT_EQ(test, cqe->error, c->error);
	KUNIT_EXPECT_EQ(test, cqe->bytes, (u64)c->slices * SLICE);
	core_fixture_destroy(test, s.f);
}

static struct kunit_case slice_suite_cases[] = {
	KUNIT_CASE_PARAM(slice_len, slice_len_gen_params),
	KUNIT_CASE_PARAM(slice_lengths, slice_length_gen_params),
	KUNIT_CASE_PARAM(slice_borders, slice_border_gen_params),
	KUNIT_CASE(slice_of_huge_task),
	KUNIT_CASE(slice_redo),
	KUNIT_CASE(slice_redo_on_other_dev),
	KUNIT_CASE(slice_redo_counts_tries),
	KUNIT_CASE_PARAM(slice_ends, slice_end_gen_params),
	{}
};

static struct kunit_suite slice_suite = {
	.name = "te_slice",
	.test_cases = slice_suite_cases,
};

kunit_test_suite(slice_suite);

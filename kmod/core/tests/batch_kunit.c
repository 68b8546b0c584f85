// SPDX-License-Identifier: GPL-2.0-only
/*
 * core/tests: admission, how a batch counts its tasks down and what it then
 * shows, cancel and deadline.
 */
#include <kunit/test.h>
#include <linux/delay.h>

#include "core/tests/fixture.h"

#define LEN		4096

static const struct core_side one = {
	.addr = 0x10000000, .lens = { LEN }, .chunk_shift = 16,
};

static const struct core_side two = {
	.addr = 0x10000000, .lens = { LEN / 2, LEN / 2 }, .chunk_shift = 16,
};

/* End a queued task at once, as a mover that finds its batch cancelled. */
static void end_task(struct te_task *task, u8 state)
{
	task->end_state = state;
	te_task_unqueue(task);
}

static const struct te_slot *header(const struct core_fixture *f)
{
	return te_slot_at(f->ring, f->batch->id);
}

static const struct batch_admit_case {
	const char *desc;
	u32 entries; /* TE_ENTRIES_* */
	u32 taken; /* ring entries that others have */
	u32 head;
	bool canceled;
	u32 nr;
	int ret;
	u32 reserved; /* more than before */
} batch_admit_cases[] = {
	{ "an entry for each task", TE_ENTRIES_TASK, 0, 0, false, 4, 0, 4 },
	{ "an entry for each task, the last ones", TE_ENTRIES_TASK, 1, 0, false,
	  3, 0, 3 },
	{ "an entry too few", TE_ENTRIES_TASK, 2, 0, false, 3, -EBUSY },
	{ "an entry for the batch", TE_ENTRIES_BATCH, 3, 0, false, 4, 0, 1 },
	{ "no entry for the batch", TE_ENTRIES_BATCH, 4, 0, false, 1, -EBUSY },
	{ "no entry needed", TE_ENTRIES_NONE, 4, 0, false, 4, 0, 0 },
	{ "impossible head", TE_ENTRIES_TASK, 0, 77, false, 1, -EBADFD },
	{ "impossible head, no entry needed", TE_ENTRIES_NONE, 0, 77, false, 1,
	  -EBADFD },
	{ "cancelled", TE_ENTRIES_TASK, 0, 0, true, 1, -ECANCELED },
};

KUNIT_ARRAY_PARAM_DESC(batch_admit, batch_admit_cases, desc);

/* All tasks are live, or nothing has changed. */
static void batch_admit(struct kunit *test)
{
	const struct batch_admit_case *c = test->param_value;
	u32 live = c->ret ? 0 : c->nr;
	struct core_fixture *f;
	struct te_task *tasks;
	u32 i;

	f = core_fixture_create(test, &one, &one, c->entries);
	tasks = f->batch->tasks;
	KUNIT_ASSERT_EQ(test, te_ring_reserve(f->ring, c->taken), 0);
	f->ring->hdr->head = c->head;
	if (c->canceled)
		te_batch_cancel(f->batch);
	for (i = 0; i < c->nr; i++)
		core_prepare(test, f, i, LEN);

	KUNIT_EXPECT_EQ(test, te_batch_admit(f->batch, c->nr), c->ret);
	KUNIT_EXPECT_EQ(test, f->batch->used, live);
	KUNIT_EXPECT_EQ(test, f->batch->live, live);
	KUNIT_EXPECT_EQ(test, te_batch_idle(f->batch), !live);
	KUNIT_EXPECT_EQ(test, f->ring->reserved, c->taken + c->reserved);
	KUNIT_EXPECT_EQ(test, header(f)->nr_tasks, live);
	KUNIT_EXPECT_EQ(test, header(f)->state,
			live ? TE_PENDING : TE_WAITING);
	for (i = 0; i < CORE_NR_TASKS; i++)
		KUNIT_EXPECT_EQ(test, header(f)[1 + i].state,
				i < live ? TE_PENDING : TE_WAITING);

	for (i = 0; i < c->nr; i++) {
		if (c->ret)
			te_task_release(&tasks[i]);
		else
			end_task(&tasks[i], TE_CANCELED);
	}
	core_fixture_destroy(test, f);
}

/*
 * How tasks end, a letter each: k moved, z had no bytes, f failed: EIO, F failed:
 * EREMOTEIO, x cancelled, t its time was up.
 */
static const struct batch_count_case {
	const char *desc;
	const char *ends;
	u32 state;
	int error;
	u32 moved; /* tasks */
} batch_count_cases[] = {
	{ "one moved", "k", TE_COMPLETED, 0, 1 },
	{ "all moved", "kkkk", TE_COMPLETED, 0, 4 },
	{ "no bytes", "zz", TE_COMPLETED, 0, 0 },
	{ "no bytes and some", "zk", TE_COMPLETED, 0, 1 },
	{ "cancelled is worse than moved", "kxk", TE_CANCELED, -ECANCELED, 2 },
	{ "time up is worse than cancelled", "txk", TE_TIMEOUT, -ETIMEDOUT, 1 },
	{ "time up is worse, the first error counts", "xt", TE_TIMEOUT,
	  -ECANCELED, 0 },
	{ "failed is worse than time up", "ftx", TE_FAILED, -EIO, 0 },
	{ "failed is worse, the first error counts", "xtf", TE_FAILED,
	  -ECANCELED, 0 },
	{ "the first failure counts", "fF", TE_FAILED, -EIO, 0 },
	{ "the first failure counts, the other way", "Ff", TE_FAILED,
	  -EREMOTEIO, 0 },
	{ "the last fails", "kkkf", TE_FAILED, -EIO, 3 },
	{ "the first fails", "fkkk", TE_FAILED, -EIO, 3 },
};

KUNIT_ARRAY_PARAM_DESC(batch_count, batch_count_cases, desc);

static void end_as(struct kunit *test, struct core_fixture *f,
		   struct te_task *task, char how)
{
	struct te_slice *slice;

	switch (how) {
	case 'k':
		KUNIT_ASSERT_EQ(test, core_cut(f, task, 0, &slice),
				TE_CUT_LAST);
		KUNIT_ASSERT_NOT_NULL(test, slice);
		te_slice_complete(slice);
		break;
	case 'z':
		te_task_unqueue(task);
		break;
	case 'f':
		te_task_fail(task, -EIO);
		break;
	case 'F':
		te_task_fail(task, -EREMOTEIO);
		break;
	case 'x':
		end_task(task, TE_CANCELED);
		break;
	case 't':
		end_task(task, TE_TIMEOUT);
		break;
	}
}

/* How many entries there must be after @ended of @nr tasks. */
static int entries_after(u32 entries, u32 ended, u32 nr)
{
	if (entries == TE_ENTRIES_TASK)
		return ended;
	return entries == TE_ENTRIES_BATCH && ended == nr;
}

static void check_counts(struct kunit *test, u32 entries)
{
	const struct batch_count_case *c = test->param_value;
	u32 nr = strlen(c->ends), i;
	struct te_completion *cqe;
	struct core_fixture *f;

	f = core_fixture_create(test, &one, &one, entries);
	for (i = 0; i < nr; i++)
		core_prepare(test, f, i, c->ends[i] == 'z' ? 0 : LEN);
	KUNIT_ASSERT_EQ(test, te_batch_admit(f->batch, nr), 0);
	for (i = 0; i < nr; i++) {
		KUNIT_EXPECT_FALSE(test, te_batch_idle(f->batch));
		KUNIT_EXPECT_EQ(test, header(f)->state, TE_PENDING);
		end_as(test, f, &f->batch->tasks[i], c->ends[i]);
		KUNIT_EXPECT_EQ(test, f->batch->live, nr - 1 - i);
		KUNIT_EXPECT_EQ(test, te_ring_level(f->ring),
				entries_after(entries, i + 1, nr));
	}
	KUNIT_EXPECT_TRUE(test, te_batch_idle(f->batch));
	KUNIT_EXPECT_EQ(test, header(f)->state, c->state);
	KUNIT_EXPECT_EQ(test, header(f)->error, c->error);
	KUNIT_EXPECT_EQ(test, header(f)->bytes, c->moved * LEN);
	KUNIT_EXPECT_EQ(test, f->ring->reserved, 0);
	if (entries == TE_ENTRIES_BATCH) {
		cqe = &f->ring->cqe[0];
		KUNIT_EXPECT_EQ(test, cqe->user_data, 1000);
		KUNIT_EXPECT_EQ(test, cqe->batch, f->batch->id);
		KUNIT_EXPECT_EQ(test, cqe->task, U32_MAX);
		KUNIT_EXPECT_EQ(test, cqe->state, c->state);
		KUNIT_EXPECT_EQ(test, cqe->error, c->error);
		KUNIT_EXPECT_EQ(test, cqe->bytes, c->moved * LEN);
	}
	core_fixture_destroy(test, f);
}

static void batch_counts(struct kunit *test)
{
	check_counts(test, TE_ENTRIES_NONE);
}

static void batch_counts_task_entries(struct kunit *test)
{
	check_counts(test, TE_ENTRIES_TASK);
}

static void batch_counts_batch_entry(struct kunit *test)
{
	check_counts(test, TE_ENTRIES_BATCH);
}

/* A batch that was terminal is pending again, and has its entry again. */
static void batch_again(struct kunit *test)
{
	struct core_fixture *f;
	u32 i;

	f = core_fixture_create(test, &one, &one, TE_ENTRIES_BATCH);
	for (i = 0; i < 3; i++) {
		struct te_task *task = core_submit(test, f, LEN);

		KUNIT_EXPECT_EQ(test, header(f)->state, TE_PENDING);
		KUNIT_EXPECT_EQ(test, header(f)->nr_tasks, i + 1);
		KUNIT_EXPECT_EQ(test, header(f)->bytes, i * LEN);
		KUNIT_EXPECT_EQ(test, f->ring->reserved, 1);
		end_as(test, f, task, 'k');
		KUNIT_EXPECT_EQ(test, header(f)->state, TE_COMPLETED);
		KUNIT_EXPECT_EQ(test, te_ring_level(f->ring), (int)i + 1);
		KUNIT_EXPECT_EQ(test, f->ring->cqe[i].bytes, (i + 1) * LEN);
	}
	core_fixture_destroy(test, f);
}

/* Joined while it runs: one entry for all, at the very end. */
static void batch_joined(struct kunit *test)
{
	struct te_task *first, *second;
	struct core_fixture *f;

	f = core_fixture_create(test, &one, &one, TE_ENTRIES_BATCH);
	first = core_submit(test, f, LEN);
	second = core_submit(test, f, LEN);
	KUNIT_EXPECT_EQ(test, f->ring->reserved, 1);
	end_as(test, f, first, 'k');
	KUNIT_EXPECT_EQ(test, te_ring_level(f->ring), 0);
	end_as(test, f, second, 'k');
	KUNIT_EXPECT_EQ(test, te_ring_level(f->ring), 1);
	KUNIT_EXPECT_EQ(test, f->ring->reserved, 0);
	core_fixture_destroy(test, f);
}

/* Only tasks that use the region are to end. */
static void cancel_mr(struct kunit *test, const struct core_side *local)
{
	struct te_task *task, *empty;
	struct core_fixture *f;
	struct te_mr other;
	u32 last;

	f = core_fixture_create(test, local, &one, TE_ENTRIES_NONE);
	task = core_submit(test, f, LEN);
	empty = core_submit(test, f, 0);
	te_batch_cancel_mr(f->batch, &other);
	KUNIT_EXPECT_FALSE(test, te_task_doomed(task));
	last = f->nr_mrs - 1;
	te_batch_cancel_mr(f->batch, &f->mrs[last]);
	KUNIT_EXPECT_TRUE(test, te_task_doomed(task));
	KUNIT_EXPECT_FALSE(test, te_task_doomed(empty));
	te_task_unqueue(task);
	KUNIT_EXPECT_EQ(test, task->slot->state, TE_CANCELED);
	te_task_unqueue(empty);
	KUNIT_EXPECT_EQ(test, empty->slot->state, TE_COMPLETED);
	core_fixture_destroy(test, f);
}

static void batch_cancel_mr(struct kunit *test)
{
	cancel_mr(test, &one);
	cancel_mr(test, &two);
}

/* Long enough for the busiest machine; it is over as soon as it is so. */
static void wait_doomed(struct kunit *test, struct te_task *task)
{
	u32 i;

	for (i = 0; i < 10000 && !te_task_doomed(task); i++)
		usleep_range(1000, 2000);
	KUNIT_EXPECT_TRUE(test, te_task_doomed(task));
}

/* Each submit has its own time; the next one's is armed when it is over. */
static void batch_deadline(struct kunit *test)
{
	struct te_task *first, *second;
	struct core_fixture *f;

	f = core_fixture_create(test, &one, &one, TE_ENTRIES_NONE);
	f->batch->deadline_ms = 1;
	first = core_submit(test, f, LEN);
	second = core_submit(test, f, LEN);
	second->deadline = jiffies + 3600 * HZ;
	wait_doomed(test, first);
	KUNIT_EXPECT_FALSE(test, te_task_doomed(second));
	te_task_unqueue(first);
	KUNIT_EXPECT_EQ(test, first->slot->state, TE_TIMEOUT);
	KUNIT_EXPECT_EQ(test, first->slot->error, -ETIMEDOUT);
	end_as(test, f, second, 'k');
	KUNIT_EXPECT_EQ(test, second->slot->state, TE_COMPLETED);
	KUNIT_EXPECT_EQ(test, header(f)->state, TE_TIMEOUT);
	core_fixture_destroy(test, f);
}

/* An earlier one is seen to first, the later one after it. */
static void batch_deadlines(struct kunit *test)
{
	struct te_task *first, *second;
	struct core_fixture *f;

	f = core_fixture_create(test, &one, &one, TE_ENTRIES_NONE);
	f->batch->deadline_ms = 1;
	first = core_submit(test, f, LEN);
	f->batch->deadline_ms = 100;
	second = core_submit(test, f, LEN);
	wait_doomed(test, second);
	KUNIT_EXPECT_TRUE(test, te_task_doomed(first));
	KUNIT_EXPECT_TRUE(test, time_after_eq(jiffies, second->deadline));
	te_task_unqueue(first);
	te_task_unqueue(second);
	KUNIT_EXPECT_EQ(test, header(f)->state, TE_TIMEOUT);
	core_fixture_destroy(test, f);
}

static struct kunit_case batch_cases[] = {
	KUNIT_CASE_PARAM(batch_admit, batch_admit_gen_params),
	KUNIT_CASE_PARAM(batch_counts, batch_count_gen_params),
	KUNIT_CASE_PARAM(batch_counts_task_entries, batch_count_gen_params),
	KUNIT_CASE_PARAM(batch_counts_batch_entry, batch_count_gen_params),
	KUNIT_CASE(batch_again),
	KUNIT_CASE(batch_joined),
	KUNIT_CASE(batch_cancel_mr),
	KUNIT_CASE(batch_deadline),
	KUNIT_CASE(batch_deadlines),
	{}
};

static struct kunit_suite batch_suite = {
	.name = "te_batch",
	.test_cases = batch_cases,
};

kunit_test_suite(batch_suite);

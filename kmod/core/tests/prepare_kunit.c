// SPDX-License-Identifier: GPL-2.0-only
/*
 * core/tests: how a request becomes a task: which regions it takes on both
 * sides, and what is refused. Local regions are real ones, of an area that each
 * test maps; nothing is moved.
 */
#include <kunit/test.h>
#include <net/net_namespace.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/sched.h>

#include "core/core.h"

#define P		((u64)PAGE_SIZE)
#define AREA_PAGES	8
#define REMOTE		0xbb0000000000ULL
#define TOO_MANY		(TE_MAX_SPANS + 1)

/**
 * struct prepare_fixture - a space and a segment
 * @space: of the test's own thread
 * @area: AREA_PAGES of memory
 * @peer: the test's reference
 * @seg: READY
 * @task: to be filled
 */
struct prepare_fixture {
	struct te_space *space;
	u64 area;
	struct te_peer *peer;
	struct te_seg *seg;
	struct te_task task;
};

static int prepare_init(struct kunit *test)
{
	struct prepare_fixture *f;

	f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f);
	f->area = kunit_vm_mmap(test, NULL, 0, AREA_PAGES * P,
				PROT_READ | PROT_WRITE,
				MAP_ANONYMOUS | MAP_PRIVATE, 0);
	KUNIT_ASSERT_NE(test, f->area, 0);
	KUNIT_ASSERT_LT(test, f->area, -4096UL);
	f->space = te_space_create(current->mm);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, f->space);
	f->peer = te_peer_create(&init_net, &in6addr_loopback, 0);
	KUNIT_ASSERT_NOT_NULL(test, f->peer);
	f->seg = te_seg_create(f->peer, TE_ANY);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, f->seg);
	test->priv = f;
	return 0;
}

/* A reference too many would keep the regions or the segment. */
static void prepare_exit(struct kunit *test)
{
	struct prepare_fixture *f = test->priv;
	unsigned long id;
	struct te_mr *mr;

	if (!f)
		return;
	xa_for_each(&f->space->mrs, id, mr)
		KUNIT_EXPECT_EQ(test, refcount_read(&mr->refs), 1);
	te_space_kill(f->space);
	te_space_put(f->space);
	KUNIT_EXPECT_EQ(test, kref_read(&f->seg->ref), 1);
	te_seg_put(f->seg);
	te_peer_put(f->peer);
	flush_workqueue(te_mem_wq);
}

static int map_nowhere(struct te_mr *mr)
{
	INIT_LIST_HEAD(&mr->link);
	return 0;
}

static void add_local(struct kunit *test, u64 off, u64 len, u32 access)
{
	struct prepare_fixture *f = test->priv;
	const struct te_mr_ask ask = {
		.addr = f->area + off,
		.len = len,
		.base = f->area + off,
		.access = access,
		.location = TE_LOCATION_PAGES,
	};
	u32 id;

	KUNIT_ASSERT_EQ(test, te_mr_register(f->space, &ask, map_nowhere, &id),
			0);
}

static void add_remote(struct kunit *test, u32 id, u64 base, u64 len,
		       u32 access)
{
	struct prepare_fixture *f = test->priv;
	const struct te_mr_desc desc = {
		.id = id, .access = access, .base = base, .length = len,
	};

	KUNIT_ASSERT_EQ(test, te_seg_add_mr(f->seg, &desc), 0);
}

static int prepare(struct prepare_fixture *f, u32 op, u64 laddr, u64 raddr,
		   u64 length)
{
	const struct te_request req = {
		.opcode = op, .local_addr = laddr, .remote_addr = raddr,
		.length = length, .user_data = 99,
	};
	int ret;

	mutex_lock(&f->space->lock);
	mutex_lock(&f->seg->lock);
	ret = te_task_prepare(&f->task, &req, f->space, f->seg);
	mutex_unlock(&f->seg->lock);
	mutex_unlock(&f->space->lock);
	return ret;
}

/* Regions: see prepare_regions(). Local addresses from the area on. */
static const struct prepare_case {
	const char *desc;
	u32 op;
	u64 local;
	u64 remote;
	u64 length;
	int ret;
	u32 nr_mrs;
	u32 nr_rmrs;
} prepare_cases[] = {
	{ "one byte", TE_WRITE, P, REMOTE, 1, 0, 1, 1 },
	{ "all of both", TE_READ, P, REMOTE, P, 0, 1, 1 },
	{ "one byte over, locally", TE_READ, P, REMOTE, P + 1, 0, 2, 2 },
	{ "last byte of one and first of the next", TE_READ, 2 * P - 1, REMOTE,
	  2, 0, 2, 1 },
	{ "three and two", TE_WRITE, P + 10, REMOTE + 5, P + 200, 0, 3, 2 },
	{ "to the last byte of all", TE_WRITE, P, REMOTE, 2 * P, 0, 3, 2 },
	{ "one byte too far on both sides", TE_WRITE, P, REMOTE, 2 * P + 1,
	  -ERANGE },
	{ "one byte too far, locally", TE_WRITE, P + 1, REMOTE, 2 * P,
	  -ERANGE },
	{ "one byte too far, remotely", TE_WRITE, P, REMOTE + 1, 2 * P,
	  -ERANGE },
	{ "one byte too early, locally", TE_WRITE, P - 1, REMOTE, 2, -ERANGE },
	{ "one byte too early, remotely", TE_WRITE, P, REMOTE - 1, 2,
	  -ERANGE },
	{ "over a gap", TE_WRITE, P, REMOTE, 4 * P, -ERANGE },
	{ "in the gap", TE_WRITE, 3 * P, REMOTE, 1, -ERANGE },
	{ "behind the gap", TE_WRITE, 4 * P, REMOTE, P, 0, 1, 1 },
	{ "READ into what is only read", TE_READ, 2 * P + 100, REMOTE, 1,
	  -EACCES },
	{ "READ that ends in what is only read", TE_READ, P, REMOTE, P + 101,
	  -EACCES },
	{ "READ that ends right before it", TE_READ, P, REMOTE, P + 100, 0, 2,
	  2 },
	{ "WRITE from what is only read", TE_WRITE, 2 * P + 100, REMOTE, 1, 0,
	  1, 1 },
	{ "WRITE from what is only written", TE_WRITE, 5 * P, REMOTE, 1,
	  -EACCES },
	{ "READ into what is only written", TE_READ, 5 * P, REMOTE, 1, 0,
	  1, 1 },
	{ "WRITE to what is only read", TE_WRITE, P, REMOTE + 8 * P, 1,
	  -EACCES },
	{ "READ from what is only read", TE_READ, P, REMOTE + 8 * P, 1, 0, 1,
	  1 },
	{ "the last address there is", TE_READ, P, U64_MAX, 1, 0, 1, 1 },
	{ "up to the last address there is", TE_READ, P, U64_MAX - 9, 10, 0, 1,
	  1 },
	{ "over the last address", TE_READ, P, U64_MAX, 2, -EOVERFLOW },
	{ "a length that wraps", TE_READ, P, REMOTE, U64_MAX, -EOVERFLOW },
	{ "nothing", TE_WRITE, P, REMOTE, 0, 0, 0, 0 },
	{ "nothing, nowhere", TE_WRITE, 3 * P, U64_MAX, 0, 0, 0, 0 },
};

KUNIT_ARRAY_PARAM_DESC(prepare, prepare_cases, desc);

static void prepare_regions(struct kunit *test)
{
	const struct prepare_case *c = test->param_value;
	struct prepare_fixture *f = test->priv;
	struct te_task *task = &f->task;

	add_local(test, P, P, TE_ACCESS_LOCAL);
	add_local(test, 2 * P, 100, TE_ACCESS_LOCAL);
	add_local(test, 2 * P + 100, P - 100, TE_LOCAL_READ);
	add_local(test, 4 * P, P, TE_ACCESS_LOCAL);
	add_local(test, 5 * P, P, TE_LOCAL_WRITE | TE_ACCESS_REMOTE);
	add_remote(test, 1, REMOTE, P, TE_ACCESS_REMOTE);
	add_remote(test, 2, REMOTE + P, P, TE_ACCESS_REMOTE);
	add_remote(test, 3, REMOTE + 8 * P, P, TE_REMOTE_READ);
	add_remote(test, 4, U64_MAX - 9, 10, TE_REMOTE_READ);

	KUNIT_EXPECT_EQ(test, prepare(f, c->op, f->area + c->local, c->remote,
				      c->length), c->ret);
	KUNIT_EXPECT_EQ(test, task->nr_mrs, c->nr_mrs);
	KUNIT_EXPECT_EQ(test, task->nr_rmrs, c->nr_rmrs);
	KUNIT_EXPECT_EQ(test, kref_read(&f->seg->ref), c->ret ? 1 : 2);
	if (c->ret)
		return;
	KUNIT_EXPECT_EQ(test, task->op, c->op);
	KUNIT_EXPECT_EQ(test, task->length, c->length);
	KUNIT_EXPECT_EQ(test, task->user_data, 99);
	if (task->nr_mrs == 1)
		KUNIT_EXPECT_EQ(test, refcount_read(&task->mr->refs), 2);
	if (task->nr_mrs > 1)
		KUNIT_EXPECT_EQ(test, task->mrs[1]->addr,
				task->mrs[0]->last + 1);
	if (task->nr_rmrs > 1)
		KUNIT_EXPECT_EQ(test, task->rmrs[1]->desc.base,
				task->rmrs[0]->last + 1);
	te_task_release(task);
	KUNIT_EXPECT_EQ(test, task->nr_mrs, 0);
	KUNIT_EXPECT_EQ(test, task->nr_rmrs, 0);
}

/* A local address that wraps is refused before anything is looked up. */
static void prepare_local_wraps(struct kunit *test)
{
	struct prepare_fixture *f = test->priv;

	KUNIT_EXPECT_EQ(test, prepare(f, TE_READ, U64_MAX, REMOTE, 2),
			-EOVERFLOW);
	KUNIT_EXPECT_EQ(test, prepare(f, TE_READ, U64_MAX, REMOTE, 1), -ERANGE);
}

/* So many regions on a side and no more: 257 of one byte each. */
static void prepare_spans(struct kunit *test)
{
	struct prepare_fixture *f = test->priv;
	u32 i;

	for (i = 0; i < TOO_MANY; i++)
		add_local(test, i, 1, TE_ACCESS_LOCAL);
	for (i = 0; i < TOO_MANY; i++)
		add_remote(test, i, REMOTE + i, 1, TE_ACCESS_REMOTE);
	add_local(test, P, P, TE_ACCESS_LOCAL);
	add_remote(test, TOO_MANY, REMOTE + P, P, TE_ACCESS_REMOTE);

	KUNIT_ASSERT_EQ(test, prepare(f, TE_READ, f->area, REMOTE,
				      TE_MAX_SPANS), 0);
	KUNIT_EXPECT_EQ(test, f->task.nr_mrs, TE_MAX_SPANS);
	KUNIT_EXPECT_EQ(test, f->task.nr_rmrs, TE_MAX_SPANS);
	for (i = 0; i < TE_MAX_SPANS; i++) {
		KUNIT_EXPECT_EQ(test, f->task.mrs[i]->addr, f->area + i);
		KUNIT_EXPECT_EQ(test, f->task.rmrs[i]->desc.base, REMOTE + i);
	}
	te_task_release(&f->task);

	KUNIT_EXPECT_EQ(test, prepare(f, TE_READ, f->area, REMOTE + P, TOO_MANY),
			-E2BIG);
	KUNIT_EXPECT_EQ(test, prepare(f, TE_READ, f->area + P, REMOTE, TOO_MANY),
			-E2BIG);
}

static struct kunit_case prepare_suite_cases[] = {
	KUNIT_CASE_PARAM(prepare_regions, prepare_gen_params),
	KUNIT_CASE(prepare_local_wraps),
	KUNIT_CASE(prepare_spans),
	{}
};

static struct kunit_suite prepare_suite = {
	.name = "te_prepare",
	.init = prepare_init,
	.exit = prepare_exit,
	.test_cases = prepare_suite_cases,
};

kunit_test_suite(prepare_suite);

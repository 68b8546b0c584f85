// SPDX-License-Identifier: GPL-2.0-only
/*
 * rdma/tests: what te asks of a device is cut to what the device has.
 */
#include <kunit/test.h>

#include "rdma/rdma.h"

/* Asked for: 256 work requests, 4096 completions, 128 READs, 512 pages. */
static const struct clamp_case {
	const char *desc;
	struct ib_device_attr attrs;
	u32 sq, cq, out, in, pages, eps; /* @eps: of one QP each */
} clamp_cases[] = {
	{ "more than enough",
	  { .max_qp_wr = 1 << 20, .max_cqe = 1 << 20, .max_qp = 1 << 20,
	    .max_qp_init_rd_atom = 200, .max_qp_rd_atom = 255,
	    .max_fast_reg_page_list_len = 65536 },
	  256, 4096, 128, 128, 512, 1 << 19 },
	{ "as much",
	  { .max_qp_wr = 256, .max_cqe = 4096, .max_qp = 512,
	    .max_qp_init_rd_atom = 128, .max_qp_rd_atom = 128,
	    .max_fast_reg_page_list_len = 512 },
	  256, 4096, 128, 128, 512, 256 },
	{ "less of all",
	  { .max_qp_wr = 255, .max_cqe = 4095, .max_qp = 64,
	    .max_qp_init_rd_atom = 16, .max_qp_rd_atom = 8,
	    .max_fast_reg_page_list_len = 256 },
	  255, 4095, 16, 8, 256, 32 },
	{ "pages that are no power of two",
	  { .max_qp_wr = 256, .max_cqe = 4096, .max_qp = 512,
	    .max_qp_init_rd_atom = 128, .max_qp_rd_atom = 128,
	    .max_fast_reg_page_list_len = 511 },
	  256, 4096, 128, 128, 256, 256 },
	{ "one of each",
	  { .max_qp_wr = 1, .max_cqe = 1, .max_qp = 1,
	    .max_qp_init_rd_atom = 1, .max_qp_rd_atom = 1,
	    .max_fast_reg_page_list_len = 1 },
	  1, 1, 1, 1, 1, 1 },
};

KUNIT_ARRAY_PARAM_DESC(clamp, clamp_cases, desc);

static void clamped(struct kunit *test)
{
	const struct clamp_case *c = test->param_value;
	struct te_rdma_dev *rdev;
	u32 eps = max(c->eps / te_rdma_nr_qps(), 1U);

	rdev = kunit_kzalloc(test, sizeof(*rdev), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, rdev);
	strscpy(rdev->dev.name, "kunit/1", sizeof(rdev->dev.name));
	te_rdma_clamp(rdev, &c->attrs);
	KUNIT_EXPECT_EQ(test, rdev->sq_depth, c->sq);
	KUNIT_EXPECT_EQ(test, rdev->cq_depth, c->cq);
	KUNIT_EXPECT_EQ(test, rdev->read_out, c->out);
	KUNIT_EXPECT_EQ(test, rdev->read_in, c->in);
	KUNIT_EXPECT_EQ(test, rdev->chunk_pages, c->pages);
	KUNIT_EXPECT_EQ(test, rdev->dev.max_ep, eps);
}

static struct kunit_case clamp_suite_cases[] = {
	KUNIT_CASE_PARAM(clamped, clamp_gen_params),
	{}
};

static struct kunit_suite clamp_suite = {
	.name = "te_rdma_clamp",
	.test_cases = clamp_suite_cases,
};

kunit_test_suite(clamp_suite);

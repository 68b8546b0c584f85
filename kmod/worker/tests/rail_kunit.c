// SPDX-License-Identifier: GPL-2.0-only
/*
 * worker/tests/rail: how much a rail may post on its endpoint.
 */
#include <kunit/test.h>
#include <linux/sizes.h>

#include "worker/internal.h"

#define SLICE	TE_SLICE_BYTES
/* Of the peer's devs, that which the endpoint goes to, and another. */
#define RDEV	3
#define OTHER	4

static u32 depth;

static u32 room_of(struct te_ep *ep)
{
	return depth;
}

static const struct room_case {
	const char *desc;
	u32 transport, fails, other_fails;
	bool proven;
	u32 depth, inflight, bytes, window;
	u32 want;
} room_cases[] = {
	{ "one that never failed", TE_RDMA, 0, 0, false,
	  100, 0, 0, SZ_1M, 16 },
	{ "one that never failed, amid work", TE_RDMA, 0, 0, false,
	  100, 9, 9 * SLICE, SZ_1M, 8 },
	{ "the probe", TE_RDMA, 1, 0, false,
	  100, 0, 0, SZ_1M, 1 },
	{ "the probe is on the way", TE_RDMA, 1, 0, false,
	  100, 1, SLICE, SZ_1M, 0 },
	{ "the probe, after many failures", TE_RDMA, 1000, 0, false,
	  100, 0, 0, SZ_1M, 1 },
	{ "no place for the probe", TE_RDMA, 1, 0, false,
	  0, 0, 0, SZ_1M, 0 },
	{ "it has arrived", TE_RDMA, 1, 0, true,
	  100, 0, 0, SZ_1M, 16 },
	{ "to another dev it failed", TE_RDMA, 0, 7, false,
	  100, 0, 0, SZ_1M, 16 },
	{ "by TCP, the probe", TE_TCP, 2, 0, false,
	  256, 0, 0, SZ_1M, 1 },
	{ "by TCP, on the way", TE_TCP, 2, 0, false,
	  256, 1, 1, SZ_1M, 0 },
	{ "by TCP, no window", TE_TCP, 0, 0, false,
	  256, 200, SZ_16M, SZ_1M, 16 },
	{ "no more than the endpoint has", TE_RDMA, 0, 0, true,
	  3, 0, 0, SZ_1M, 3 },
	{ "the endpoint is full", TE_RDMA, 0, 0, true,
	  0, 16, SLICE, SZ_1M, 0 },
	{ "the window is full", TE_RDMA, 0, 0, true,
	  100, 2, 2 * SLICE, 2 * SLICE, 0 },
	{ "more than full", TE_RDMA, 0, 0, true,
	  100, 9, 9 * SLICE, 2 * SLICE, 0 },
	{ "a byte of the window is left", TE_RDMA, 0, 0, true,
	  100, 2, 2 * SLICE - 1, 2 * SLICE, 1 },
	{ "two slices and a bit", TE_RDMA, 0, 0, true,
	  100, 1, SLICE - 1, 3 * SLICE, 3 },
};

KUNIT_ARRAY_PARAM_DESC(room, room_cases, desc);

static void room(struct kunit *test)
{
	const struct room_case *c = test->param_value;
	struct te_transport_ops ops = {
		.transport = c->transport,
		.ep_room = room_of,
	};
	struct te_worker *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);
	struct te_rail *rail = kunit_kzalloc(test, sizeof(*rail), GFP_KERNEL);
	struct te_dev *dev = kunit_kzalloc(test, sizeof(*dev), GFP_KERNEL);
	struct te_ep *ep = kunit_kzalloc(test, sizeof(*ep), GFP_KERNEL);

	KUNIT_ASSERT_TRUE(test, w && rail && dev && ep);
	dev->ops = &ops;
	w->mover.dev = dev;
	rail->w = w;
	rail->health[RDEV].fails = c->fails;
	rail->health[OTHER].fails = c->other_fails;
	ep->dev = dev;
	ep->key.dev_id = RDEV;
	ep->proven = c->proven;
	ep->inflight = c->inflight;
	ep->bytes = c->bytes;
	ep->pace.window = c->window;
	depth = c->depth;
	KUNIT_EXPECT_EQ(test, te_rail_room(rail, ep), c->want);
}

static struct kunit_case te_rail_cases[] = {
	KUNIT_CASE_PARAM(room, room_gen_params),
	{}
};

static struct kunit_suite te_rail_suite = {
	.name = "te_rail",
	.test_cases = te_rail_cases,
};

kunit_test_suite(te_rail_suite);

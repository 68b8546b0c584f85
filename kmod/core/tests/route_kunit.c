// SPDX-License-Identifier: GPL-2.0-only
/*
 * core/tests: which rail is chosen, for lists of local and remote addresses.
 */
#include <kunit/test.h>
#include <linux/inet.h>
#include <net/ipv6.h>

#include "core/core.h"

#define MAX_DEVS	4
#define NONE		-1
/* Ids of the peer's devs. */
#define FIRST_ID	7

/* Addresses of devs as text; the segment was opened by @named. */
static const struct route_case {
	const char *desc;
	const char *named;
	const char *local[MAX_DEVS];
	const char *remote[MAX_DEVS];
	int want_local; /* index, or NONE */
	u32 want_remote;
} route_cases[] = {
	{ "no dev on either side", "10.0.0.2", { }, { }, NONE },
	{ "no dev here", "10.0.0.2", { }, { "10.0.0.2" }, NONE },
	{ "no dev there", "10.0.0.2", { "10.0.0.1" }, { }, NONE },
	{ "one rail", "10.0.0.2", { "10.0.0.1" }, { "10.0.0.2" }, 0, 0 },
	{ "one rail, IPv6", "fd00::2", { "fd00::1" }, { "fd00::2" }, 0, 0 },
	{ "no bit in common", "255.0.0.1", { "10.0.0.1" }, { "255.0.0.1" },
	  0, 0 },
	{ "no bit in common, IPv6", "fd00::1", { "2001::1" }, { "fd00::1" },
	  0, 0 },
	{ "families differ", "10.0.0.2", { "10.0.0.1" }, { "fd00::2" }, NONE },
	{ "families differ, the other way", "10.0.0.2", { "fd00::1" },
	  { "10.0.0.2" }, NONE },
	{ "the family both have", "10.0.0.2", { "fd00::1", "10.0.0.1" },
	  { "10.0.0.2" }, 1, 0 },
	{ "the family both have, there", "10.0.0.9", { "10.0.0.1" },
	  { "fd00::2", "fd00::3", "10.1.0.2" }, 0, 2 },
	{ "the named dev", "10.0.0.3", { "10.0.0.1" },
	  { "10.0.0.2", "10.0.0.3", "10.0.0.4" }, 0, 1 },
	{ "named beats the longest prefix", "192.168.0.3", { "10.0.0.1" },
	  { "10.0.0.2", "192.168.0.3" }, 0, 1 },
	{ "named beats all else, be it ourselves", "10.0.0.1", { "10.0.0.1" },
	  { "10.0.0.2", "10.0.0.1" }, 0, 1 },
	{ "another local dev than the one named", "10.0.0.1",
	  { "10.0.0.1", "192.168.0.1" }, { "10.0.0.1", "192.168.0.1" }, 1, 0 },
	{ "itself if there is nothing else", "10.0.0.1", { "10.0.0.1" },
	  { "10.0.0.1" }, 0, 0 },
	{ "not itself beats the longest prefix", "10.9.9.9",
	  { "10.0.0.1" }, { "10.0.0.1", "192.168.0.1" }, 0, 1 },
	{ "longest prefix of local devs", "10.1.0.2",
	  { "192.168.0.1", "10.0.0.1", "10.1.0.1", "10.2.0.1" },
	  { "10.1.0.2" }, 2, 0 },
	{ "longest prefix of remote devs", "172.16.0.1", { "10.1.0.1" },
	  { "192.168.0.1", "10.0.0.1", "10.1.0.2", "10.2.0.2" }, 0, 2 },
	{ "longest prefix of all pairs", "172.16.0.1",
	  { "10.1.0.1", "10.2.0.1", "10.3.0.1" },
	  { "10.4.0.1", "10.2.0.2", "10.5.0.1" }, 1, 1 },
	{ "the last bit decides", "fd00::9", { "fd00::1", "fd00::2" },
	  { "fd00::3" }, 1, 0 },
	{ "first of equals, here", "10.0.0.9", { "10.0.0.4", "10.0.0.5" },
	  { "10.0.0.9" }, 0, 0 },
	{ "first of equals, there", "172.16.0.1", { "10.0.0.9" },
	  { "10.0.0.4", "10.0.0.5" }, 0, 0 },
	{ "the named address in the other family counts nothing",
	  "fd00::2", { "10.0.0.1" }, { "fd00::2", "10.0.0.2" }, 0, 1 },
};

KUNIT_ARRAY_PARAM_DESC(route, route_cases, desc);

/* Plain IPv4 becomes what the devs have: IPv4-mapped. */
static void parse(struct kunit *test, const char *text, struct in6_addr *addr)
{
	__be32 v4;

	if (in4_pton(text, -1, (u8 *)&v4, -1, NULL)) {
		ipv6_addr_set_v4mapped(v4, addr);
		return;
	}
	KUNIT_ASSERT_EQ(test, in6_pton(text, -1, addr->s6_addr, -1, NULL), 1);
}

static void route_best(struct kunit *test)
{
	const struct route_case *c = test->param_value;
	u32 i, rdev = 77;
	struct te_dev *devs, *best;
	struct te_seg_devs *rdevs;
	struct te_peer *peer;
	struct te_seg *seg;
	LIST_HEAD(list);

	devs = kunit_kcalloc(test, MAX_DEVS, sizeof(*devs), GFP_KERNEL);
	seg = kunit_kzalloc(test, sizeof(*seg), GFP_KERNEL);
	rdevs = kunit_kzalloc(test, struct_size(rdevs, devs, MAX_DEVS),
			      GFP_KERNEL);
	peer = kunit_kzalloc(test, sizeof(*peer), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, devs);
	KUNIT_ASSERT_NOT_NULL(test, seg);
	KUNIT_ASSERT_NOT_NULL(test, rdevs);
	KUNIT_ASSERT_NOT_NULL(test, peer);
	seg->peer = peer;
	RCU_INIT_POINTER(seg->devs, rdevs);
	parse(test, c->named, &peer->addr);
	for (i = 0; i < MAX_DEVS && c->local[i]; i++) {
		parse(test, c->local[i], &devs[i].self.addr);
		list_add_tail(&devs[i].link, &list);
	}
	for (i = 0; i < MAX_DEVS && c->remote[i]; i++) {
		parse(test, c->remote[i], &rdevs->devs[i].addr);
		rdevs->devs[i].dev_id = FIRST_ID + i;
		rdevs->nr++;
	}

	rcu_read_lock();
	best = te_route_best(&list, seg, &rdev);
	rcu_read_unlock();
	if (c->want_local == NONE) {
		KUNIT_EXPECT_NULL(test, best);
		KUNIT_EXPECT_EQ(test, rdev, 77);
	} else {
		KUNIT_EXPECT_PTR_EQ(test, best, &devs[c->want_local]);
		KUNIT_EXPECT_EQ(test, rdev, FIRST_ID + c->want_remote);
	}
}

static struct kunit_case route_suite_cases[] = {
	KUNIT_CASE_PARAM(route_best, route_gen_params),
	{}
};

static struct kunit_suite route_suite = {
	.name = "te_route",
	.test_cases = route_suite_cases,
};

kunit_test_suite(route_suite);

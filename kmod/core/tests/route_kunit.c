// SPDX-License-Identifier: GPL-2.0-only
/*
 * core/tests: which of a peer's devs a local one prefers, for lists of addresses.
 */
#include <kunit/test.h>
#include <linux/inet.h>
#include <net/ipv6.h>

#include "core/core.h"

#define MAX_RDEVS	4
#define NONE		-1

/* Addresses of devs as text; the peer was dialled by @named. */
static const struct route_case {
	const char *desc;
	const char *named;
	const char *self;
	u32 place; /* of it among our devs */
	const char *remote[MAX_RDEVS];
	int want; /* index, or NONE */
} route_cases[] = {
	{ "no dev there", "10.0.0.2", "10.0.0.1", 0, { }, NONE },
	{ "one rail", "10.0.0.2", "10.0.0.1", 0, { "10.0.0.2" }, 0 },
	{ "one rail, IPv6", "fd00::2", "fd00::1", 0, { "fd00::2" }, 0 },
	{ "one rail, last place", "10.0.0.2", "10.0.0.1", TE_MAX_DEVS - 1,
	  { "10.0.0.2" }, 0 },
	{ "no bit in common", "255.0.0.1", "10.0.0.1", 0, { "255.0.0.1" }, 0 },
	{ "no bit in common, IPv6", "fd00::1", "2001::1", 0, { "fd00::1" }, 0 },
	{ "families differ", "10.0.0.2", "10.0.0.1", 0, { "fd00::2" }, NONE },
	{ "families differ, the other way", "10.0.0.2", "fd00::1", 0,
	  { "10.0.0.2" }, NONE },
	{ "the family it has", "fd00::2", "10.0.0.1", 0,
	  { "fd00::2", "fd00::3", "10.1.0.2" }, 2 },
	{ "itself if there is nothing else", "10.0.0.1", "10.0.0.1", 0,
	  { "10.0.0.1" }, 0 },
	{ "not itself beats the longest prefix", "10.9.9.9", "10.0.0.1", 0,
	  { "10.0.0.1", "192.168.0.1" }, 1 },
	{ "not itself beats named", "10.0.0.1", "10.0.0.1", 0,
	  { "10.0.0.1", "192.168.0.1" }, 1 },
	{ "not itself, IPv6", "fd00::1", "fd00::1", 0,
	  { "fd00::1", "2001::1" }, 1 },
	{ "longest prefix", "172.16.0.1", "10.1.0.1", 0,
	  { "192.168.0.1", "10.0.0.1", "10.1.0.2", "10.2.0.2" }, 2 },
	{ "longest prefix beats named", "192.168.0.3", "10.0.0.1", 0,
	  { "192.168.0.3", "10.0.0.2" }, 1 },
	{ "longest prefix beats the turn", "172.16.0.1", "10.1.0.1", 0,
	  { "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.1.0.2" }, 3 },
	{ "bit 24 decides", "172.16.0.1", "10.0.1.1", 0,
	  { "10.0.0.2", "10.0.1.2" }, 1 },
	{ "bit 25 decides nothing", "172.16.0.1", "10.0.0.129", 0,
	  { "10.0.0.2", "10.0.0.130" }, 0 },
	{ "bit 64 decides, IPv6", "fd01::9", "fd00:0:0:1::1", 0,
	  { "fd00::2", "fd00:0:0:1::2" }, 1 },
	{ "bit 65 decides nothing, IPv6", "fd01::9", "fd00::8000:0:0:1", 0,
	  { "fd00::2", "fd00::8000:0:0:2" }, 0 },
	{ "named, of equally far ones", "10.2.0.3", "10.1.0.1", 0,
	  { "10.2.0.2", "10.2.0.3", "10.2.0.4" }, 1 },
	{ "named beats the turn", "10.2.0.5", "10.1.0.1", 0,
	  { "10.2.0.2", "10.2.0.3", "10.2.0.4", "10.2.0.5" }, 3 },
	{ "named, IPv6", "fd02::3", "fd01::1", 0, { "fd02::2", "fd02::3" }, 1 },
	{ "named counts nothing in the subnet", "10.0.0.3", "10.0.0.1", 0,
	  { "10.0.0.2", "10.0.0.3", "10.0.0.4" }, 0 },
	{ "named counts nothing in the other family", "fd00::2", "10.0.0.1", 0,
	  { "fd00::2", "10.0.0.2" }, 1 },
	{ "equals: the first for the first", "172.16.0.1", "10.0.0.9", 0,
	  { "10.0.0.4", "10.0.0.5", "10.0.0.6" }, 0 },
	{ "equals: the second for the second", "172.16.0.1", "10.0.0.9", 1,
	  { "10.0.0.4", "10.0.0.5", "10.0.0.6" }, 1 },
	{ "equals: the last for the last", "172.16.0.1", "10.0.0.9", 2,
	  { "10.0.0.4", "10.0.0.5", "10.0.0.6" }, 2 },
	{ "equals: the first again", "172.16.0.1", "10.0.0.9", 3,
	  { "10.0.0.4", "10.0.0.5", "10.0.0.6" }, 0 },
	{ "equals, its own is not there", "172.16.0.1", "10.0.0.9", 1,
	  { "10.0.0.4", "10.9.0.5", "10.0.0.6" }, 2 },
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

/* No two devs of a peer score the same: the choice hangs on no order. */
static void route_best(struct kunit *test)
{
	const struct route_case *c = test->param_value;
	int best = NONE, best_score = -1, scores[MAX_RDEVS];
	struct te_rdev self = { }, rdev = { };
	struct in6_addr named;
	u32 i, j, nr = 0;

	parse(test, c->named, &named);
	parse(test, c->self, &self.addr);
	while (nr < MAX_RDEVS && c->remote[nr])
		nr++;
	for (i = 0; i < nr; i++) {
		u32 turn = (i + nr - c->place % nr) % nr;

		parse(test, c->remote[i], &rdev.addr);
		scores[i] = te_route_score(&self, &rdev, &named, turn);
		for (j = 0; j < i; j++)
			KUNIT_EXPECT_TRUE(test, scores[i] < 0 ||
					  scores[i] != scores[j]);
		if (scores[i] > best_score) {
			best_score = scores[i];
			best = i;
		}
	}
	KUNIT_EXPECT_EQ(test, best, c->want);
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

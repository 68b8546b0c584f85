// SPDX-License-Identifier: GPL-2.0-only
/*
 * core/route: which of a peer's devs a local one should talk to.
 *
 * Pure arithmetic over addresses, for submitters and movers. A pair must be of one
 * transport and speak the same address family. Better than the device itself is any other; then the
 * longer common prefix of both addresses wins, up to what subnets are long; then
 * the address that the peer was dialled by; and among equals our devs spread
 * over the peer's, so that each carries its share.
 */
#include <linux/rculist.h>
#include <net/ipv6.h>

#include "core/core.h"

/* Weights: each outweighs the sum of those below. */
#define TE_SCORE_NOT_SELF	(512 * TE_MAX_DEVS)
#define TE_SCORE_PREFIX		(2 * TE_MAX_DEVS)	/* for each bit */
#define TE_SCORE_NAMED		TE_MAX_DEVS

/* Bits that tell subnets apart: beyond them addresses are equally near. */
#define TE_PREFIX_IPV4		(96 + 24)
#define TE_PREFIX_IPV6		64

int te_route_score(const struct te_rdev *self, const struct te_rdev *rdev,
		   const struct in6_addr *named, u32 turn)
{
	bool ipv4 = ipv6_addr_v4mapped(&self->addr);
	int enough = ipv4 ? TE_PREFIX_IPV4 : TE_PREFIX_IPV6;
	int prefix, score;

	if (self->transport != rdev->transport)
		return -1;
	/* One of each kind on a node, and the session says where. */
	if (self->transport == TE_TCP || self->transport == TE_LOCAL)
		return 0;
	if (ipv4 != ipv6_addr_v4mapped(&rdev->addr))
		return -1;
	prefix = min(ipv6_addr_diff(&self->addr, &rdev->addr), enough);
	score = prefix * TE_SCORE_PREFIX + (TE_MAX_DEVS - 1) - turn;
	if (!ipv6_addr_equal(&rdev->addr, &self->addr))
		score += TE_SCORE_NOT_SELF;
	if (prefix < enough && ipv6_addr_equal(&rdev->addr, named))
		score += TE_SCORE_NAMED;
	return score;
}

bool te_route_exists(struct te_seg *seg)
{
	const struct te_seg_devs *rdevs;
	struct te_dev *dev;
	bool found = false;
	u32 i;

	rcu_read_lock();
	rdevs = te_seg_devs(seg);
	list_for_each_entry_rcu(dev, &te_devs, link) {
		if (seg->transport != TE_ANY &&
		    seg->transport != dev->ops->transport)
			continue;
		for (i = 0; i < rdevs->nr && !found; i++)
			found = te_route_score(&dev->self, &rdevs->devs[i],
					       &seg->peer->addr, 0) >= 0;
		if (found)
			break;
	}
	rcu_read_unlock();
	return found;
}

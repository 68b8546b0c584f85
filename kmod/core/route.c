// SPDX-License-Identifier: GPL-2.0-only
/*
 * core/route: which rail, a local dev and a peer's dev, carries a segment.
 *
 * Runs in the submitter, starts nothing and waits for nothing. Of all pairs
 * that speak the same address family, the best one wins: the peer's dev whose
 * address the segment was opened by, a local dev that is not that same device,
 * the longest common prefix of the two addresses.
 */
#include <linux/err.h>
#include <linux/rculist.h>
#include <net/ipv6.h>

#include "core/core.h"

/* Weights: each outweighs the sum of those below; prefixes are 0 to 128. */
#define TE_SCORE_NAMED		1024
#define TE_SCORE_NOT_SELF	256

static int rail_score(const struct te_seg *seg, const struct te_rdev *self,
		      const struct te_rdev *rdev)
{
	int score;

	if (ipv6_addr_v4mapped(&self->addr) != ipv6_addr_v4mapped(&rdev->addr))
		return -1;
	score = min(ipv6_addr_diff(&self->addr, &rdev->addr), 128);
	if (ipv6_addr_equal(&rdev->addr, &seg->peer->addr))
		score += TE_SCORE_NAMED;
	if (!ipv6_addr_equal(&rdev->addr, &self->addr))
		score += TE_SCORE_NOT_SELF;
	return score;
}

struct te_dev *te_route_best(struct list_head *devs, const struct te_seg *seg,
			     u32 *rdev)
{
	const struct te_seg_devs *rdevs = te_seg_devs(seg);
	struct te_dev *dev, *best = NULL;
	int score, best_score = -1;
	u32 i;

	list_for_each_entry_rcu(dev, devs, link) {
		for (i = 0; i < rdevs->nr; i++) {
			score = rail_score(seg, &dev->self, &rdevs->devs[i]);
			if (score > best_score) {
				best_score = score;
				best = dev;
				*rdev = rdevs->devs[i].dev_id;
			}
		}
	}
	return best;
}

struct te_dev *te_route_pick(struct te_seg *seg, u32 *rdev)
{
	struct te_dev *best;

	rcu_read_lock();
	best = te_route_best(&te_devs, seg, rdev);
	if (best && !te_dev_tryget(best))
		best = NULL;
	rcu_read_unlock();
	return best ? best : ERR_PTR(-ENXIO);
}

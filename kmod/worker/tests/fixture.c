// SPDX-License-Identifier: GPL-2.0-only
/*
 * worker/tests/fixture: see fixture.h. Each suite has its own; nothing is shared.
 */
#include <net/net_namespace.h>
#include <linux/err.h>

#include "worker/tests/fixture.h"

void worker_far_make(struct kunit *test, struct worker_far *far)
{
	const struct te_rdev rdev = { .chunk_shift = 40, .numa_node = -1 };
	const struct te_mr_desc desc = {
		.id = 1,
		.access = TE_REMOTE_WRITE,
		.length = 1ULL << 40,
		.dev_mask = 1,
	};
	const __le32 key = cpu_to_le32(1);

	far->peer = te_peer_create(&init_net, &in6addr_loopback, 0);
	KUNIT_ASSERT_NOT_NULL(test, far->peer);
	far->seg = te_seg_create(far->peer, TE_ANY);
	KUNIT_ASSERT_FALSE(test, IS_ERR(far->seg));
	KUNIT_ASSERT_EQ(test, te_seg_add_devs(far->seg, &rdev, 1), 0);
	KUNIT_ASSERT_EQ(test, te_seg_add_mr(far->seg, &desc), 0);
	KUNIT_ASSERT_EQ(test, te_seg_add_keys(far->seg, 1, &key, 1), 0);
	te_seg_ready(far->seg);
	mutex_lock(&far->seg->lock);
	far->rmr = te_rmr_lookup_locked(far->seg, 0);
	mutex_unlock(&far->seg->lock);
	KUNIT_ASSERT_NOT_NULL(test, far->rmr);
}

void worker_far_end(struct kunit *test, struct worker_far *far)
{
	te_seg_put(far->seg);
	flush_workqueue(te_mem_wq);
	KUNIT_EXPECT_EQ(test, kref_read(&far->peer->ref), 1);
	te_peer_put(far->peer);
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * core/tests: a batch of tasks between made-up local regions and a made-up
 * segment. Nothing is pinned and no dev moves anything: the tests are the
 * submitter and the mover. Addresses and lengths may be anything, keys tell
 * where they come from.
 */
#ifndef TE_CORE_FIXTURE_H
#define TE_CORE_FIXTURE_H

#include <kunit/test.h>

#include "core/core.h"

#define CORE_MAX_REGIONS	6
#define CORE_NR_TASKS		4
#define CORE_RING_ENTRIES	4
/* Id of the peer's dev. */
#define CORE_REMOTE_DEV		5
/* Regions have a base that differs from their address. */
#define CORE_BASE_SHIFT		0x100000000000ULL

/**
 * struct core_side - neighbouring regions of one side
 * @addr: of the first byte
 * @lens: bytes of each, up to a 0
 * @chunk_shift: of their registration on dev 0, and for the remote side the only
 *	one; 12 to 40
 * @chunk_shift1: local side: on dev 1, or 0: not mapped there
 */
struct core_side {
	u64 addr;
	u64 lens[CORE_MAX_REGIONS + 1];
	u32 chunk_shift;
	u32 chunk_shift1;
};

/**
 * struct core_fixture - a batch and what its tasks use
 * @ring: of the batch
 * @peer: of the segment
 * @seg: READY, with the remote regions, ids from 1 on
 * @batch: of CORE_NR_TASKS
 * @devs: two local devs of ids 0 and 1
 * @mrs: local regions; the fixture holds a reference of each
 * @nr_mrs: of them
 * @nr_rmrs: remote regions
 * @local: as it was asked for
 * @remote: as it was asked for
 * @nr_tasks: te_count_sum() before the test
 * @nr_slices: te_count_sum() before the test
 */
struct core_fixture {
	struct te_ring *ring;
	struct te_peer *peer;
	struct te_seg *seg;
	struct te_batch *batch;
	struct te_dev devs[2];
	struct te_mr mrs[CORE_MAX_REGIONS];
	u32 nr_mrs;
	u32 nr_rmrs;
	const struct core_side *local;
	const struct core_side *remote;
	long nr_tasks;
	long nr_slices;
};

/* Destroying checks that nothing is left; all tasks have ended. */
struct core_fixture *core_fixture_create(struct kunit *test,
					 const struct core_side *local,
					 const struct core_side *remote,
					 u32 entries);
void core_fixture_destroy(struct kunit *test, struct core_fixture *f);

/* As te_task_prepare() fills the @n-th free task: all regions of both sides. */
struct te_task *core_prepare(struct kunit *test, struct core_fixture *f, u32 n,
			     u64 length);
/* The same, admitted alone: it is queued. */
struct te_task *core_submit(struct kunit *test, struct core_fixture *f,
			    u64 length);

/* As the mover of a rail from the local dev of this id does. */
enum te_cut core_cut(struct core_fixture *f, struct te_task *task, u32 dev_id,
		     struct te_slice **slice);

/* The keys that an address has; the tests' own arithmetic. */
u32 core_lkey(const struct core_fixture *f, u32 dev_id, u64 addr);
u32 core_rkey(const struct core_fixture *f, u64 addr);

#endif /* TE_CORE_FIXTURE_H */

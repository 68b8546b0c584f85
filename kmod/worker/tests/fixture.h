/* SPDX-License-Identifier: GPL-2.0-only */
/* worker/tests/fixture: a peer with a segment, for suites of this room. */
#ifndef TE_WORKER_FIXTURE_H
#define TE_WORKER_FIXTURE_H

#include <kunit/test.h>

#include "mem/mem.h"

/**
 * struct worker_far - the far end
 * @peer: real
 * @seg: real, READY, one region on dev 0
 * @rmr: that region: 1 TiB from 0 on, may be written to
 */
struct worker_far {
	struct te_peer *peer;
	struct te_seg *seg;
	struct te_rmr *rmr;
};

void worker_far_make(struct kunit *test, struct worker_far *far);
/* Waits until the segment is freed; nothing else may hold on to it or the peer. */
void worker_far_end(struct kunit *test, struct worker_far *far);

#endif /* TE_WORKER_FIXTURE_H */

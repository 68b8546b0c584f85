// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * Consuming the completion ring, by any number of threads and without a lock.
 *
 *   kernel                         te_poll()
 *   write entry                    load head     (acquire: before tail)
 *   store tail (release)  ------>  load tail     (acquire: before entries)
 *                                  copy entries
 *   load head (acquire)   <------  CAS head      (release: after the copy)
 *   reuse the entries
 *
 * Two threads may copy the same entries; the one whose CAS fails throws its
 * copy away. A copy that the kernel wrote into meanwhile belongs to such a loser,
 * since entries are reused only behind the head.
 */
#include <errno.h>

#include "private.h"

int te_ring_holds_entry(const struct te *te)
{
	uint32_t head = __atomic_load_n(&te->ring->head, __ATOMIC_ACQUIRE);

	return __atomic_load_n(&te->ring->tail, __ATOMIC_ACQUIRE) != head;
}

int te_poll(struct te *te, struct te_completion *out, int max)
{
	uint32_t head, seen, tail, n, i;

	if (max < 0)
		return -EINVAL;

	head = __atomic_load_n(&te->ring->head, __ATOMIC_ACQUIRE);
	for (;;) {
		tail = __atomic_load_n(&te->ring->tail, __ATOMIC_ACQUIRE);
		n = tail - head;
		if (n > te->cq_entries) {
			/* others moved on between the loads, or it is broken */
			seen = __atomic_load_n(&te->ring->head,
					       __ATOMIC_ACQUIRE);
			if (seen == head)
				return -EBADFD;
			head = seen;
			continue;
		}
		if (n > (uint32_t)max)
			n = max;
		if (!n)
			return 0;

		for (i = 0; i < n; i++)
			out[i] = te->entries[(head + i) & (te->cq_entries - 1)];
		if (__atomic_compare_exchange_n(&te->ring->head, &head, head + n,
						0, __ATOMIC_RELEASE,
						__ATOMIC_ACQUIRE))
			return n;
	}
}

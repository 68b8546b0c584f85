// SPDX-License-Identifier: GPL-2.0-only
/*
 * endpoint/store_sieve: SIEVE (Zhang et al., NSDI 2024). A hand walks from the
 * oldest endpoint to the newest and round again; one that was used since the
 * hand's last visit is spared and its mark cleared, the first one without a mark
 * goes, and the hand stays where it was. Unlike LRU a use moves nothing.
 *
 * One with work is passed by as if it were not there: its mark stays.
 */
#include "endpoint/endpoint.h"

static struct te_ep *sieve_victim(struct te_ep_store *store)
{
	struct te_ep *ep = store->hand;
	u32 steps;

	lockdep_assert_held(&store->lock);
	/* One round may do no more than clear marks. */
	for (steps = 2 * store->nr; steps; steps--) {
		if (!ep)
			ep = list_last_entry(&store->list, struct te_ep,
					     store_link);
		if (!ep->busy) {
			if (!ep->visited) {
				store->hand = ep;
				return ep;
			}
			ep->visited = false;
		}
		ep = te_ep_store_newer(store, ep);
	}
	return NULL;
}

const struct te_store_policy te_store_sieve = {
	.name	= "sieve",
	.victim	= sieve_victim,
};

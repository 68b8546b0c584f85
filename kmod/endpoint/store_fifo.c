// SPDX-License-Identifier: GPL-2.0-only
/*
 * endpoint/store_fifo: the oldest endpoint without work goes.
 */
#include "endpoint/endpoint.h"

static struct te_ep *fifo_victim(struct te_ep_store *store)
{
	struct te_ep *ep;

	lockdep_assert_held(&store->lock);
	list_for_each_entry_reverse(ep, &store->list, store_link) {
		if (!ep->busy)
			return ep;
	}
	return NULL;
}

const struct te_store_policy te_store_fifo = {
	.name	= "fifo",
	.victim	= fifo_victim,
};

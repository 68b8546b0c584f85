// SPDX-License-Identifier: GPL-2.0-only
/*
 * worker/queue: shards, where rails that have something to pull wait for their
 * mover.
 */
#include <linux/hash.h>

#include "worker/internal.h"

u32 te_shard_of(u64 peer_id)
{
	return hash_64(peer_id, 32) % TE_NR_SHARDS;
}

void te_queue_init(struct te_queue *queue)
{
	spin_lock_init(&queue->lock);
	INIT_LIST_HEAD(&queue->rails);
	queue->closed = false;
}

void te_queue_close(struct te_queue *queue)
{
	spin_lock(&queue->lock);
	queue->closed = true;
	spin_unlock(&queue->lock);
}

bool te_queue_rail(struct te_rail *rail)
{
	struct te_queue *queue = rail->queue;
	struct te_mover *mover = &rail->w->mover;
	bool ok;

	spin_lock(&queue->lock);
	ok = !queue->closed;
	if (ok && list_empty(&rail->queue_link))
		list_add_tail(&rail->queue_link, &queue->rails);
	spin_unlock(&queue->lock);
	if (ok)
		mover->kick(mover);
	return ok;
}

void te_queue_forget(struct te_rail *rail)
{
	spin_lock(&rail->queue->lock);
	list_del_init(&rail->queue_link);
	spin_unlock(&rail->queue->lock);
}

bool te_worker_take(struct te_worker *w)
{
	struct te_rail *rail, *next;
	bool any = false;
	u32 i;

	for (i = w->mover.index; i < TE_NR_SHARDS; i += w->set->nr) {
		struct te_queue *queue = &w->set->shards[i];

		if (list_empty_careful(&queue->rails))
			continue;
		spin_lock(&queue->lock);
		list_for_each_entry_safe(rail, next, &queue->rails,
					 queue_link) {
			list_del_init(&rail->queue_link);
			/* Seen for the first time. */
			if (list_empty(&rail->link)) {
				list_add(&rail->link, &w->rails);
				/* Its peer, or the dev, may have ended since. */
				set_bit(TE_WORKER_LOOK, &w->flags);
			}
			if (list_empty(&rail->active_link))
				list_add_tail(&rail->active_link, &w->active);
		}
		spin_unlock(&queue->lock);
		any = true;
	}
	return any;
}

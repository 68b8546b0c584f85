// SPDX-License-Identifier: GPL-2.0-only
/*
 * worker/queue: shards, where submitters leave tasks for movers.
 */
#include <linux/hash.h>

#include "worker/internal.h"

void te_queue_init(struct te_queue *queue)
{
	spin_lock_init(&queue->lock);
	INIT_LIST_HEAD(&queue->tasks);
	queue->closed = false;
}

void te_queue_close(struct te_queue *queue)
{
	spin_lock(&queue->lock);
	queue->closed = true;
	spin_unlock(&queue->lock);
}

int te_queue_tasks(struct te_dev *dev, struct te_peer *peer,
		   struct list_head *tasks)
{
	struct te_workers *set = dev->workers;
	u32 shard = hash_64(peer->id, 32) % TE_NR_SHARDS;
	struct te_mover *mover = &set->worker[shard % set->nr].mover;
	struct te_queue *queue = &set->shards[shard];
	bool closed;

	spin_lock(&queue->lock);
	closed = queue->closed;
	if (!closed)
		list_splice_tail_init(tasks, &queue->tasks);
	spin_unlock(&queue->lock);
	if (closed)
		return -ENODEV;

	mover->kick(mover);
	return 0;
}

bool te_worker_take(struct te_worker *w)
{
	bool any = false;
	u32 i;

	for (i = w->mover.index; i < TE_NR_SHARDS; i += w->set->nr) {
		struct te_queue *queue = &w->set->shards[i];

		if (list_empty_careful(&queue->tasks))
			continue;
		spin_lock(&queue->lock);
		list_splice_tail_init(&queue->tasks, &w->requeue);
		spin_unlock(&queue->lock);
		any = true;
	}
	return any;
}

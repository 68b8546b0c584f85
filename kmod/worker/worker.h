/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * worker: the only threads that move data.
 *
 * A dev has 8 shards, chosen by peer, and a few movers. Mover i serves shards
 * i, i + n, i + 2n ...: a peer has one mover, which alone posts to and polls its
 * endpoints. Submitters put tasks on shards; everything behind that belongs to
 * the mover.
 */
#ifndef TE_WORKER_H
#define TE_WORKER_H

#include <linux/list.h>

#include "endpoint/endpoint.h"

#define TE_NR_SHARDS	8U

/* Module parameters; clamped when a dev starts. */
extern unsigned int te_workers_per_dev;
extern unsigned int te_max_ep;

/* For te_xport_set_host(). */
extern const struct te_xport_host te_worker_host;

/**
 * te_queue_tasks() - give admitted tasks of one peer to a dev's mover
 * @dev: the caller holds a reference
 * @peer: whose tasks they are
 * @tasks: te_task.link; emptied on success
 *
 * Return: 0, -ENODEV the dev has gone: @tasks stay the caller's.
 */
int te_queue_tasks(struct te_dev *dev, struct te_peer *peer,
		   struct list_head *tasks);

#endif /* TE_WORKER_H */

// SPDX-License-Identifier: GPL-2.0-only
/*
 * chardev/ioctl_batch: allocate, wait for, cancel and free batches.
 */
#include <linux/wait.h>

#include "chardev/chardev.h"
#include "fault/fault.h"

int te_ioctl_batch_alloc(struct te_cmd *cmd)
{
	struct te_ioc_batch_alloc *alloc = &cmd->arg.batch_alloc;
	struct te_ctx *ctx = cmd->ctx;
	struct te_ring *ring = te_ring_load(&ctx->ring);
	struct te_batch *batch;
	int ret;

	if (!alloc->nr_tasks || alloc->reserved ||
	    alloc->deadline_ms > TE_MAX_DEADLINE_MS ||
	    alloc->entries > TE_ENTRIES_BATCH)
		return -EINVAL;
	if (alloc->priority)
		return -EOPNOTSUPP;
	if (!ring)
		return -ENXIO;
	if (alloc->nr_tasks > ring->nr_slots - 1)
		return -E2BIG;

	batch = te_batch_create(ring, alloc->nr_tasks,
				alloc->deadline_ms ?: TE_DEFAULT_DEADLINE_MS,
				alloc->entries);
	if (IS_ERR(batch))
		return PTR_ERR(batch);
	alloc->batch = batch->id;

	/* Nobody can use it before the lock is dropped. */
	mutex_lock(&ctx->lock);
	ret = xa_insert(&ctx->batches, batch->id, batch, GFP_KERNEL_ACCOUNT);
	if (!ret) {
		ret = te_cmd_respond(cmd);
		if (ret)
			xa_erase(&ctx->batches, batch->id);
	}
	mutex_unlock(&ctx->lock);
	if (ret)
		te_batch_free(batch);
	return ret;
}

/* Return: 0, -ETIME, -EINTR. */
static int wait_result(long left)
{
	if (left < 0)
		return -EINTR;
	return left ? 0 : -ETIME;
}

static int wait_for_batch(struct te_batch *batch, long timeout)
{
	te_delay(TE_DELAY_WAIT_SLEEP);
	return wait_result(wait_event_interruptible_timeout(batch->wait,
							    te_batch_idle(batch),
							    timeout));
}

static bool ring_has(struct te_ring *ring, u32 nr, int *level)
{
	*level = te_ring_level(ring);
	return *level < 0 || *level >= nr;
}

static int wait_for_entries(struct te_ring *ring, u32 nr, long timeout)
{
	int level, ret;

	if (!nr || nr > ring->entries)
		return -EINVAL;
	te_delay(TE_DELAY_WAIT_SLEEP);
	ret = wait_result(wait_event_interruptible_timeout(ring->wait,
							   ring_has(ring, nr, &level),
							   timeout));
	return level < 0 ? level : ret;
}

int te_ioctl_batch_wait(struct te_cmd *cmd)
{
	struct te_ioc_batch_wait *wait = &cmd->arg.batch_wait;
	struct te_ring *ring = te_ring_load(&cmd->ctx->ring);
	struct te_batch *batch;
	long timeout;
	int ret;

	if (wait->reserved || wait->timeout_ms < -1 ||
	    (wait->batch && wait->nr_entries))
		return -EINVAL;
	if (!ring)
		return -ENXIO;
	timeout = wait->timeout_ms < 0 ? MAX_SCHEDULE_TIMEOUT :
		  msecs_to_jiffies(wait->timeout_ms);
	if (!wait->batch)
		return wait_for_entries(ring, wait->nr_entries, timeout);

	batch = te_ctx_get_batch(cmd->ctx, wait->batch);
	if (IS_ERR(batch))
		return PTR_ERR(batch);
	ret = wait_for_batch(batch, timeout);
	te_batch_put(batch);
	return ret;
}

int te_ioctl_batch_cancel(struct te_cmd *cmd)
{
	struct te_ioc_batch_cancel *cancel = &cmd->arg.batch_cancel;
	struct te_batch *batch;

	if (cancel->reserved)
		return -EINVAL;
	batch = te_ctx_get_batch(cmd->ctx, cancel->batch);
	if (IS_ERR(batch))
		return PTR_ERR(batch);
	te_batch_cancel(batch);
	te_batch_put(batch);
	return 0;
}

int te_ioctl_batch_free(struct te_cmd *cmd)
{
	struct te_ioc_batch_free *free = &cmd->arg.batch_free;
	struct te_ctx *ctx = cmd->ctx;
	struct te_batch *batch;
	int ret = 0;

	if (free->reserved)
		return -EINVAL;
	mutex_lock(&ctx->lock);
	batch = xa_load(&ctx->batches, free->batch);
	if (!batch)
		ret = -ENOENT;
	else if (!te_batch_idle(batch))
		ret = -EBUSY;
	else
		xa_erase(&ctx->batches, free->batch);
	mutex_unlock(&ctx->lock);
	if (ret)
		return ret;
	te_delay(TE_DELAY_BATCH_FREE);
	te_batch_free(batch);
	return 0;
}

// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * Batches and their status.
 *
 * A batch of capacity n owns n + 1 neighbouring status slots; the header's index
 * is the batch id modulo the number of slots. The kernel publishes a slot in
 * this order: error and bytes, then state (release); a header's id last when
 * the batch is born and first when it is freed. So a reader takes the state with
 * acquire, then the rest, then looks once more whether the header still names
 * the batch: what it read was never another batch's.
 */
#include <errno.h>
#include <stdbool.h>

#include "private.h"

static const struct te_slot *header_of(const struct te *te, uint32_t batch)
{
	return &te->slots[batch & (te->task_slots - 1)];
}

/* The id in use here; 0 marks a free slot and is nobody's id. */
static bool header_names(const struct te_slot *header, uint32_t batch)
{
	return batch && __atomic_load_n(&header->batch, __ATOMIC_ACQUIRE) == batch;
}

static void read_slot(const struct te_slot *slot, struct te_status *st)
{
	st->state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);
	st->error = __atomic_load_n(&slot->error, __ATOMIC_RELAXED);
	st->bytes = __atomic_load_n(&slot->bytes, __ATOMIC_RELAXED);
	/* orders the loads above before the header is looked at again */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
}

int te_batch_alloc(struct te *te, uint32_t n, const struct te_batch_opts *o,
		   uint32_t *batch)
{
	struct te_ioc_batch_alloc arg = {
		.size = sizeof(arg),
		.nr_tasks = n,
	};
	struct te_batch_opts opts;
	int ret;

	ret = te_opts_get(&opts, sizeof(opts), o);
	if (ret)
		return ret;

	arg.deadline_ms = opts.deadline_ms;
	arg.priority = opts.priority;
	arg.entries = opts.entries;
	ret = te_ioctl(te->fd, TE_IOC_BATCH_ALLOC, &arg);
	if (ret < 0)
		return ret;

	*batch = arg.batch;
	return 0;
}

int te_batch_free(struct te *te, uint32_t batch)
{
	struct te_ioc_batch_free arg = {
		.size = sizeof(arg),
		.batch = batch,
	};

	return te_ioctl(te->fd, TE_IOC_BATCH_FREE, &arg);
}

int te_submit(struct te *te, uint32_t batch, const struct te_request *r,
	      uint32_t n)
{
	struct te_ioc_batch_submit arg = {
		.size = sizeof(arg),
		.batch = batch,
		.nr = n,
		.requests = (uintptr_t)r,
	};

	return te_ioctl(te->fd, TE_IOC_BATCH_SUBMIT, &arg);
}

int te_cancel(struct te *te, uint32_t batch)
{
	struct te_ioc_batch_cancel arg = {
		.size = sizeof(arg),
		.batch = batch,
	};

	return te_ioctl(te->fd, TE_IOC_BATCH_CANCEL, &arg);
}

int te_batch_status(struct te *te, uint32_t batch, struct te_status *st)
{
	const struct te_slot *header = header_of(te, batch);
	struct te_status now;

	if (!header_names(header, batch))
		return -ENOENT;
	read_slot(header, &now);
	if (!header_names(header, batch))
		return -ENOENT;

	*st = now;
	return 0;
}

int te_status(struct te *te, uint32_t batch, uint32_t task,
	      struct te_status *st)
{
	const struct te_slot *header = header_of(te, batch);
	struct te_status now = { .state = TE_INVALID, .error = -ENOENT };
	uint32_t nr_tasks;

	if (!header_names(header, batch))
		return -ENOENT;
	nr_tasks = __atomic_load_n(&header->nr_tasks, __ATOMIC_ACQUIRE);
	if (task < nr_tasks)
		read_slot(header + 1 + task, &now);
	if (!header_names(header, batch))
		return -ENOENT;

	*st = now;
	return 0;
}

/* Nothing in flight: all tasks are terminal, or there are none. */
static bool is_quiet(uint32_t state)
{
	return state == TE_WAITING || state >= TE_CANCELED;
}

static int wait_batch_quick(struct te *te, uint32_t batch)
{
	struct te_status st;
	int ret;

	ret = te_batch_status(te, batch, &st);
	if (ret)
		return ret;

	return is_quiet(st.state) ? 0 : -ETIME;
}

int te_wait(struct te *te, uint32_t batch, int timeout_ms)
{
	struct te_ioc_batch_wait arg = {
		.size = sizeof(arg),
		.batch = batch,
		.nr_entries = batch ? 0 : 1,
		.timeout_ms = timeout_ms,
	};
	int ret;

	if (timeout_ms < -1)
		return -EINVAL;

	if (batch)
		ret = wait_batch_quick(te, batch);
	else
		ret = te_ring_holds_entry(te) ? 0 : -ETIME;
	if (ret != -ETIME || !timeout_ms)
		return ret;

	return te_ioctl(te->fd, TE_IOC_BATCH_WAIT, &arg);
}

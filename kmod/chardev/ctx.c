// SPDX-License-Identifier: GPL-2.0-only
/*
 * chardev/ctx: a context from open to release, and what it can be asked.
 *
 * The file owns its te_ctx; calls on the file keep the file alive, so release
 * finds nobody inside. Batches in flight outlive it: they hold their ring and
 * regions themselves, and release does not wait for them.
 *
 * The file may live longer than the process that alone may use it: a child has
 * it, or the program that runs after exec. So a context ends when its address
 * space does, or at release if that is first; then only the file is left.
 */
#include <linux/eventfd.h>
#include <linux/log2.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "chardev/chardev.h"
#include "event/count.h"
#include "fault/fault.h"
#include "session/session.h"
#include "wire/wire.h"

#define TE_DEFAULT_ENTRIES	4096

static void ctx_drop_batches(struct te_ctx *ctx)
{
	struct te_batch *batch;
	unsigned long id;
	bool busy = false;

	xa_for_each(&ctx->batches, id, batch) {
		busy |= !te_batch_idle(batch);
		te_batch_abandon(batch);
		cond_resched();
	}
	xa_destroy(&ctx->batches);
	if (busy)
		te_xport_scan();
}

static void ctx_drop_segs(struct te_ctx *ctx)
{
	struct te_seg *seg;
	unsigned long id;

	xa_for_each(&ctx->segs, id, seg) {
		te_session_close_segment(seg);
		te_seg_put(seg);
		cond_resched();
	}
	xa_destroy(&ctx->segs);
}

/* Both ways to it may be taken at once; whoever is second has nothing to do. */
static void ctx_end(struct te_ctx *ctx)
{
	if (test_and_set_bit(0, &ctx->ended))
		return;
	te_space_kill(ctx->space);
	te_delay(TE_DELAY_CTX_CLOSE);
	ctx_drop_batches(ctx);
	ctx_drop_segs(ctx);
	if (ctx->listening)
		te_session_unlisten(ctx->net);
}

/* The last thread has left @mm, so nobody is in a call that @mm may make. */
static void ctx_mm_gone(struct mmu_notifier *news, struct mm_struct *mm)
{
	ctx_end(container_of(news, struct te_ctx, mm_news));
}

static const struct mmu_notifier_ops ctx_mm_ops = {
	.release	= ctx_mm_gone,
};

struct te_ctx *te_ctx_create(void)
{
	struct mm_struct *mm = current->mm;
	struct te_ctx *ctx;
	int ret;

	/* A kernel thread has no memory to register. */
	if (!mm)
		return ERR_PTR(-EPERM);
	ctx = kzalloc(sizeof(*ctx), GFP_KERNEL_ACCOUNT);
	if (!ctx)
		return ERR_PTR(-ENOMEM);
	ctx->space = te_space_create(mm);
	if (IS_ERR(ctx->space)) {
		ret = PTR_ERR(ctx->space);
		goto err_free;
	}
	ctx->net = get_net(current->nsproxy->net_ns);
	mutex_init(&ctx->lock);
	xa_init(&ctx->batches);
	xa_init_flags(&ctx->segs, XA_FLAGS_ALLOC1);
	ctx->mm_news.ops = &ctx_mm_ops;
	ret = mmu_notifier_register(&ctx->mm_news, mm);
	if (ret)
		goto err_put_space;
	te_count(TE_NR_CONTEXTS, 1);
	return ctx;

err_put_space:
	mutex_destroy(&ctx->lock);
	put_net(ctx->net);
	te_space_put(ctx->space);
err_free:
	kfree(ctx);
	return ERR_PTR(ret);
}

void te_ctx_destroy(struct te_ctx *ctx)
{
	/* Here, where nobody's close waits for it: inside the call below, all do. */
	ctx_end(ctx);
	/* If the process does it just now, waits until that is done. */
	mmu_notifier_unregister(&ctx->mm_news, ctx->space->mm);
	te_space_put(ctx->space);
	if (ctx->ring)
		te_ring_put(ctx->ring);
	put_net(ctx->net);
	mutex_destroy(&ctx->lock);
	kfree(ctx);
	te_count(TE_NR_CONTEXTS, -1);
}

struct te_batch *te_ctx_get_batch(struct te_ctx *ctx, u32 id)
{
	struct te_batch *batch;

	mutex_lock(&ctx->lock);
	batch = xa_load(&ctx->batches, id);
	if (batch)
		te_batch_get(batch);
	mutex_unlock(&ctx->lock);
	return batch ? batch : ERR_PTR(-ENOENT);
}

struct te_seg *te_ctx_get_seg(struct te_ctx *ctx, u32 id)
{
	struct te_seg *seg;

	mutex_lock(&ctx->lock);
	seg = xa_load(&ctx->segs, id);
	if (seg)
		te_seg_get(seg);
	mutex_unlock(&ctx->lock);
	return seg ? seg : ERR_PTR(-ENOENT);
}

int te_ioctl_info(struct te_cmd *cmd)
{
	struct te_ioc_info *info = &cmd->arg.info;

	info->version = TE_UAPI_VERSION;
	info->slice_bytes = TE_SLICE_BYTES;
	info->features = TE_FEAT_RDMA | TE_FEAT_TCP | TE_FEAT_LOCAL |
			 TE_FEAT_CANCEL | TE_FEAT_EVENTFD |
			 TE_FEAT_LOCATION | TE_FEAT_TOPOLOGY;
	info->max_cq_entries = TE_MAX_CQ_ENTRIES;
	info->max_task_slots = TE_MAX_TASK_SLOTS;
	memcpy(info->node_id, te_node.id, sizeof(info->node_id));
	return te_cmd_respond(cmd);
}

int te_ioctl_stats(struct te_cmd *cmd)
{
	long endpoints = te_count_sum(TE_NR_ENDPOINTS);
	long stored = te_count_sum(TE_NR_STORED);
	struct te_ioc_stats *stats = &cmd->arg.stats;

	stats->contexts = te_count_sum(TE_NR_CONTEXTS);
	stats->mrs = te_count_sum(TE_NR_MRS);
	stats->pinned_pages = te_count_sum(TE_NR_PINNED_PAGES);
	stats->batches = te_count_sum(TE_NR_BATCHES);
	stats->tasks = te_count_sum(TE_NR_TASKS);
	stats->segments = te_count_sum(TE_NR_SEGMENTS);
	stats->exports = te_count_sum(TE_NR_EXPORTS);
	stats->sessions = te_count_sum(TE_NR_SESSIONS);
	stats->endpoints = endpoints + te_count_sum(TE_NR_CONNS);
	stats->slices = te_count_sum(TE_NR_SLICES);
	stats->sessions_refused = te_count_sum(TE_NR_SESSIONS_REFUSED);
	stats->sessions_broken = te_count_sum(TE_NR_SESSIONS_BROKEN);
	stats->sessions_lost = te_count_sum(TE_NR_SESSIONS_LOST);
	stats->endpoints_stored = stored;
	/* The sums were not taken in the same moment. */
	stats->endpoints_draining = max(endpoints - stored, 0L);
	stats->store_hits = te_count_sum(TE_NR_STORE_HITS);
	stats->store_misses = te_count_sum(TE_NR_STORE_MISSES);
	stats->store_evictions = te_count_sum(TE_NR_STORE_EVICTIONS);
	stats->crc_errors = te_count_sum(TE_NR_CRC_ERRORS);
	stats->endpoints_failed = te_count_sum(TE_NR_ENDPOINTS_FAILED);
	stats->slices_no_rdma = te_count_sum(TE_NR_SLICES_NO_RDMA);
	stats->slices_rdma_down = te_count_sum(TE_NR_SLICES_RDMA_DOWN);
	return te_cmd_respond(cmd);
}

int te_ioctl_setup(struct te_cmd *cmd)
{
	struct te_ioc_setup *setup = &cmd->arg.setup;
	struct te_ctx *ctx = cmd->ctx;
	u32 entries = setup->cq_entries ?: TE_DEFAULT_ENTRIES;
	u32 slots = setup->task_slots ?: TE_DEFAULT_ENTRIES;
	struct te_ring *ring;
	int ret;

	if (entries > TE_MAX_CQ_ENTRIES || slots > TE_MAX_TASK_SLOTS)
		return -E2BIG;
	ring = te_ring_create(roundup_pow_of_two(entries),
			      roundup_pow_of_two(max(slots, 2U)));
	if (IS_ERR(ring))
		return PTR_ERR(ring);
	setup->cq_entries = ring->entries;
	setup->task_slots = ring->nr_slots;
	setup->status_bytes = te_ring_status_bytes(ring);
	setup->ring_bytes = te_ring_bytes(ring);

	mutex_lock(&ctx->lock);
	ret = ctx->ring ? -EEXIST : te_cmd_respond(cmd);
	if (!ret)
		te_ring_publish(&ctx->ring, ring);
	mutex_unlock(&ctx->lock);
	if (ret)
		te_ring_put(ring);
	return ret;
}

int te_ioctl_eventfd(struct te_cmd *cmd)
{
	struct te_ring *ring = te_ring_load(&cmd->ctx->ring);
	struct eventfd_ctx *eventfd = NULL;

	if (cmd->arg.eventfd.reserved || cmd->arg.eventfd.fd < -1)
		return -EINVAL;
	if (!ring)
		return -ENXIO;
	if (cmd->arg.eventfd.fd >= 0) {
		eventfd = eventfd_ctx_fdget(cmd->arg.eventfd.fd);
		if (IS_ERR(eventfd))
			return PTR_ERR(eventfd);
	}
	te_ring_set_eventfd(ring, eventfd);
	return 0;
}

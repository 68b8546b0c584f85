// SPDX-License-Identifier: GPL-2.0-only
/*
 * chardev/ioctl_submit: from requests in user memory to tasks in paths.
 *
 * All or nothing: requests are copied in a few at a time, each once, checked
 * and resolved into the batch's free tasks; only when all are good does the
 * batch admit them. Allocates nothing that grows with bytes.
 */
#include <linux/uaccess.h>

#include "chardev/chardev.h"
#include "fault/fault.h"
#include "worker/worker.h"

/* Requests on the stack at a time. */
#define TE_SUBMIT_STEP	8U

/**
 * struct te_submit - one call
 * @ctx: te_ctx.lock held
 * @batch: target
 * @seg_id: id of @seg, 0: none yet
 * @seg: of the last request, borrowed from the context's table, its lock held
 */
struct te_submit {
	struct te_ctx *ctx;
	struct te_batch *batch;
	u32 seg_id;
	struct te_seg *seg;
};

static void leave_seg(struct te_submit *s)
{
	if (s->seg)
		mutex_unlock(&s->seg->lock);
	s->seg = NULL;
	s->seg_id = 0;
}

/* Lock the request's segment, if it is not the last one's. */
static int enter_seg(struct te_submit *s, u32 id)
{
	struct te_seg *seg;

	if (s->seg && s->seg_id == id)
		return 0;
	leave_seg(s);
	seg = xa_load(&s->ctx->segs, id);
	if (!seg)
		return -ENOENT;
	if (te_seg_gone(seg))
		return -ESTALE;
	if (!te_route_exists(seg))
		return -ENXIO;
	mutex_lock(&seg->lock);
	s->seg = seg;
	s->seg_id = id;
	return 0;
}

static int prepare_one(struct te_submit *s, const struct te_request *req,
		       struct te_task *task)
{
	int ret;

	if (req->opcode > TE_WRITE || req->flags || req->reserved)
		return -EINVAL;
	ret = enter_seg(s, req->segment);
	if (ret)
		return ret;
	return te_task_prepare(task, req, s->ctx->space, s->seg);
}

/* Return: tasks prepared, all released again on error. */
static int prepare_all(struct te_submit *s, u64 uaddr, u32 nr)
{
	struct te_task *tasks = s->batch->tasks + s->batch->used;
	struct te_request reqs[TE_SUBMIT_STEP];
	u32 done = 0, n, i;
	int ret = 0;

	while (done < nr && !ret) {
		n = min(nr - done, TE_SUBMIT_STEP);
		if (copy_from_user(reqs, u64_to_user_ptr(uaddr) +
				   (size_t)done * sizeof(*reqs),
				   n * sizeof(*reqs))) {
			ret = -EFAULT;
			break;
		}
		mutex_lock(&s->ctx->space->lock);
		for (i = 0; i < n && !ret; i++) {
			ret = prepare_one(s, &reqs[i], &tasks[done]);
			if (!ret)
				done++;
		}
		leave_seg(s);
		mutex_unlock(&s->ctx->space->lock);
		cond_resched();
	}
	if (ret)
		while (done--)
			te_task_release(&tasks[done]);
	return ret;
}

/* Let admitted tasks be pulled, those for one segment in a row at once. */
static void queue_all(struct te_batch *batch, u32 first, u32 nr)
{
	struct te_seg *seg = NULL;
	LIST_HEAD(run);
	u32 i;

	for (i = first; i < first + nr; i++) {
		struct te_task *task = &batch->tasks[i];

		if (!task->length) {
			te_task_unqueue(task);
			continue;
		}
		if (task->seg != seg) {
			if (seg) {
				te_worker_queue(seg, &run);
				te_seg_put(seg);
			}
			seg = task->seg;
			te_seg_get(seg);
		}
		list_add_tail(&task->link, &run);
	}
	if (seg) {
		te_worker_queue(seg, &run);
		te_seg_put(seg);
	}
}

static int submit_locked(struct te_ctx *ctx,
			 const struct te_ioc_batch_submit *submit)
{
	struct te_submit s = { .ctx = ctx };
	u32 first, i;
	int ret;

	s.batch = xa_load(&ctx->batches, submit->batch);
	if (!s.batch)
		return -ENOENT;
	first = s.batch->used;
	if (submit->nr > s.batch->capacity - first)
		return -E2BIG;
	ret = prepare_all(&s, submit->requests, submit->nr);
	if (ret)
		return ret;
	ret = te_batch_admit(s.batch, submit->nr);
	if (ret) {
		for (i = first; i < first + submit->nr; i++)
			te_task_release(&s.batch->tasks[i]);
		return ret;
	}
	te_delay(TE_DELAY_SUBMIT_QUEUE);
	queue_all(s.batch, first, submit->nr);
	return 0;
}

int te_ioctl_batch_submit(struct te_cmd *cmd)
{
	struct te_ioc_batch_submit *submit = &cmd->arg.batch_submit;
	struct te_ctx *ctx = cmd->ctx;
	int ret;

	if (!submit->nr)
		return -EINVAL;
	if (!te_ring_load(&ctx->ring))
		return -ENXIO;
	if (mutex_lock_killable(&ctx->lock))
		return -EINTR;
	ret = submit_locked(ctx, submit);
	mutex_unlock(&ctx->lock);
	return ret;
}

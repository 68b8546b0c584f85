/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * core/task: what batch.c, task.c and slice.c share and nobody else uses.
 */
#ifndef TE_TASK_H
#define TE_TASK_H

#include "core/core.h"

int te_slice_init(void);
void te_slice_exit(void);
void te_slice_free(struct te_slice *slice);

/* The first error wins. te_batch.lock held. */
void te_task_set_error_locked(struct te_task *task, int error);
/* Count bytes and show them. te_batch.lock held. */
void te_task_progress_locked(struct te_task *task, u64 bytes);
/*
 * End the task if nothing keeps it. Return: true when it ended here: drop
 * te_batch.lock, then call te_task_gone().
 */
bool te_task_settle_locked(struct te_task *task);
/*
 * Give back what an ended task held, show its end, wake who waits. It and its
 * batch may be gone then.
 */
void te_task_gone(struct te_task *task);
/* Count an ended task in its batch. */
void te_batch_count_locked(struct te_batch *batch, struct te_task *task);
void te_batch_wake(struct te_batch *batch);

#endif /* TE_TASK_H */

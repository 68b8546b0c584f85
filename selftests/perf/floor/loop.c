// SPDX-License-Identifier: GPL-2.0-only
/*
 * floor/loop: post chains where there is room, sleep, take completions.
 *
 * The same steps as te's mover, in the same order: everything that has completed
 * is taken before anything is posted; with nothing to do the CQ is armed, looked
 * at once more, and the thread sleeps until its event. The last work request of
 * a chain is signalled and stands for all of it.
 */
#include <linux/ktime.h>
#include <linux/sched/signal.h>

#include "floor.h"

void floor_kick(struct floor_run *run)
{
	if (!test_and_set_bit(0, &run->kicked))
		wake_up_process(run->task);
}

/* Return: how many completed, or -EIO. */
static int poll(struct floor_run *run, struct floor_side *side)
{
	int n, i;

	n = ib_poll_cq(side->cq, ARRAY_SIZE(run->wc), run->wc);
	for (i = 0; i < n; i++) {
		if (run->wc[i].status == IB_WC_SUCCESS)
			continue;
		pr_err("te_floor: %s\n", ib_wc_status_msg(run->wc[i].status));
		return -EIO;
	}
	return n;
}

int floor_await(struct floor_run *run, struct floor_side *side)
{
	long left = msecs_to_jiffies(FLOOR_WAIT_MS);
	int n;

	for (;;) {
		test_and_clear_bit(0, &run->kicked);
		n = poll(run, side) ?: READ_ONCE(run->error);
		if (n)
			return n;
		if (fatal_signal_pending(current))
			return -EINTR;
		if (!left)
			return -ETIMEDOUT;
		if (ib_req_notify_cq(side->cq, IB_CQ_NEXT_COMP |
					       IB_CQ_REPORT_MISSED_EVENTS) > 0)
			continue;
		set_current_state(TASK_KILLABLE);
		if (!test_bit(0, &run->kicked))
			left = schedule_timeout(left);
		__set_current_state(TASK_RUNNING);
	}
}

static void fill_wr(struct floor_run *run, u32 i, u32 qp_index)
{
	u32 chunk = run->offset / (FLOOR_CHUNK_PAGES * PAGE_SIZE);
	u32 offset = run->offset % (FLOOR_CHUNK_PAGES * PAGE_SIZE);
	struct ib_mr *local = run->side[FLOOR_A].chunks[chunk].mr;
	struct ib_mr *remote = run->side[FLOOR_B].chunks[chunk].mr;
	struct ib_rdma_wr *wr = &run->wr[i];
	struct ib_sge *sge = &run->sge[i];

	sge->addr = local->iova + offset;
	sge->length = run->cmd.wr_bytes;
	sge->lkey = local->lkey;

	wr->wr.next = NULL;
	wr->wr.wr_id = qp_index;
	wr->wr.sg_list = sge;
	wr->wr.num_sge = 1;
	wr->wr.opcode = run->cmd.read ? IB_WR_RDMA_READ : IB_WR_RDMA_WRITE;
	wr->wr.send_flags = 0;
	wr->remote_addr = remote->iova + offset;
	wr->rkey = remote->rkey;
	if (i)
		run->wr[i - 1].wr.next = &wr->wr;
	run->offset = (run->offset + run->cmd.wr_bytes) % run->buffer;
}

static int post_chain(struct floor_run *run, u32 qp_index)
{
	struct floor_qp *qp = &run->qp[qp_index];
	u32 i;

	for (i = 0; i < FLOOR_CHAIN; i++)
		fill_wr(run, i, qp_index);
	run->wr[FLOOR_CHAIN - 1].wr.send_flags = IB_SEND_SIGNALED;
	qp->inflight += FLOOR_CHAIN;
	return ib_post_send(qp->end[FLOOR_A].id->qp, &run->wr[0].wr, NULL);
}

static int post_all(struct floor_run *run)
{
	u32 i;
	int ret;

	for (i = 0; i < run->cmd.nr_qps; i++) {
		while (run->qp[i].inflight < run->cmd.depth) {
			ret = post_chain(run, i);
			if (ret)
				return ret;
		}
	}
	return 0;
}

static void account(struct floor_run *run, int n)
{
	while (n--)
		run->qp[run->wc[n].wr_id].inflight -= FLOOR_CHAIN;
}

static bool all_quiet(struct floor_run *run)
{
	u32 i, inflight = 0;

	for (i = 0; i < run->cmd.nr_qps; i++)
		inflight += run->qp[i].inflight;
	return !inflight;
}

/* Sleep for the first completions, then take all there are. */
static int take_all(struct floor_run *run)
{
	int n;

	n = floor_await(run, &run->side[FLOOR_A]);
	while (n > 0) {
		run->moved += (u64)n * FLOOR_CHAIN * run->cmd.wr_bytes;
		account(run, n);
		n = poll(run, &run->side[FLOOR_A]);
	}
	return n;
}

int floor_loop(struct floor_run *run)
{
	u64 start = ktime_get_ns();
	u64 end = start + (u64)run->cmd.ms * NSEC_PER_MSEC;
	int ret;

	do {
		if (ktime_get_ns() < end) {
			ret = post_all(run);
			if (ret)
				return ret;
		}
		ret = take_all(run);
		if (ret)
			return ret;
		cond_resched();
	} while (!all_quiet(run) || ktime_get_ns() < end);
	run->ns = ktime_get_ns() - start;
	return 0;
}

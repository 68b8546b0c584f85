// SPDX-License-Identifier: GPL-2.0-only
/*
 * worker: the mover's loop.
 *
 * A mover polls its completions, takes new tasks, cuts slices where its
 * endpoints have room and posts them as chains, and sleeps when there is
 * nothing to do: after arming the completion interrupt it looks once more, so
 * that no wake-up is lost. It goes round endpoints, and on each round tasks.
 *
 * Threads start with their dev and end with it, after every task has ended and
 * every endpoint is gone.
 */
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/topology.h>

#include "fault/fault.h"
#include "worker/internal.h"

/* Slices in one chain: one doorbell, one signalled work request. */
#define TE_CHAIN	16U
/* Polls in one round, so that a fast NIC cannot keep a mover from posting. */
#define TE_POLLS	64U
/* Slices of one task before the next context has its turn. */
#define TE_QUANTUM	4U

unsigned int te_workers_per_dev = 2;
unsigned int te_max_ep = 256;

static struct te_worker *to_worker(struct te_mover *mover)
{
	return container_of(mover, struct te_worker, mover);
}

static void worker_kick(struct te_mover *mover)
{
	struct te_worker *w = to_worker(mover);

	if (!test_and_set_bit(TE_WORKER_KICKED, &w->flags))
		wake_up_process(w->thread);
}

static void worker_look(struct te_mover *mover)
{
	set_bit(TE_WORKER_LOOK, &to_worker(mover)->flags);
	worker_kick(mover);
}

static void slice_finished(struct te_worker *w, struct te_slice *slice)
{
	struct te_task *task = slice->task;
	struct te_ep *ep = slice->ep;

	ep->inflight--;
	if (slice->flushed) {
		te_ep_fail(ep, -ECONNRESET);
		if (te_slice_redo(slice))
			list_add_tail(&task->link, &w->requeue);
	} else if (slice->error) {
		te_ep_fail(ep, slice->error);
		te_slice_fail(slice);
	} else {
		te_slice_complete(slice);
	}
	if (!ep->inflight)
		te_worker_ep_idle(w, ep);
}

static void worker_finish(struct te_worker *w)
{
	struct te_slice *slice;

	while ((slice = list_first_entry_or_null(&w->finished, struct te_slice,
						 link))) {
		list_del(&slice->link);
		slice_finished(w, slice);
	}
}

/*
 * All that has completed, before anything is posted: what was posted meanwhile
 * would delay whoever waits for a completion further back.
 */
static bool worker_poll(struct te_worker *w)
{
	u32 budget = TE_POLLS;
	bool any = false;

	while (budget-- && worker_ops(w)->poll(&w->mover, &w->finished)) {
		worker_finish(w);
		any = true;
	}
	return any;
}

/*
 * Endpoints that were seen dead before the completions ran dry left none
 * behind: take back what never completed and let them go.
 */
static void worker_bury_dead(struct te_worker *w)
{
	struct te_ep *ep, *next;
	LIST_HEAD(dead);

	list_for_each_entry_safe(ep, next, &w->eps, link) {
		if (te_ep_state(ep) == TE_EP_DEAD)
			list_move(&ep->link, &dead);
	}
	if (list_empty(&dead))
		return;

	while (worker_poll(w))
		cond_resched();
	list_for_each_entry_safe(ep, next, &dead, link) {
		worker_ops(w)->ep_reap(ep, &w->finished);
		worker_finish(w);
		list_del_init(&ep->link);
		te_ep_put(ep);
	}
}

static bool worker_attach_all(struct te_worker *w)
{
	struct te_task *task;
	bool any = false;

	while ((task = list_first_entry_or_null(&w->requeue, struct te_task,
						link))) {
		list_del(&task->link);
		te_worker_attach(w, task);
		any = true;
	}
	return any;
}

/* The task whose turn it is: of the next flow that has one when a turn is over. */
static struct te_task *ep_next_task(struct te_ep *ep)
{
	if (!ep->turn || list_empty(&ep->flows[ep->flow])) {
		do {
			ep->flow = (ep->flow + 1) % TE_NR_FLOWS;
		} while (list_empty(&ep->flows[ep->flow]));
		ep->turn = TE_QUANTUM;
	}
	return list_first_entry(&ep->flows[ep->flow], struct te_task, link);
}

/*
 * Cut up to @max slices from the endpoint's tasks. Contexts have their turns one
 * after the other, and within one its tasks. A turn in which the room ends goes
 * on next time: else who comes first in each round would have more of it.
 */
static u32 ep_cut(struct te_ep *ep, u32 max, struct list_head *chain)
{
	struct te_slice *slice;
	struct te_task *task;
	bool more;
	u32 n = 0;

	while (n < max && ep->nr_queued) {
		task = ep_next_task(ep);
		more = true;
		while (more && ep->turn && n < max) {
			slice = te_slice_cut(task, ep->dev, &more);
			if (!slice)
				break;
			slice->ep = ep;
			list_add_tail(&slice->link, chain);
			ep->turn--;
			n++;
		}
		/* No room, or no memory. */
		if (more && ep->turn)
			break;
		ep->turn = 0;
		te_ep_dequeue(ep, task);
		if (more)
			te_ep_enqueue(ep, task);
		else
			te_task_unqueue(task);
	}
	return n;
}

static bool ep_post(struct te_worker *w, struct te_ep *ep)
{
	const struct te_transport_ops *ops = worker_ops(w);
	LIST_HEAD(chain);
	bool any = false;
	u32 n;

	/* Posting may fail the endpoint: its tasks then get another one. */
	while (ep->nr_queued && te_ep_state(ep) == TE_EP_READY) {
		u32 room = min(ops->ep_room(ep), TE_CHAIN);

		if (!room)
			break;
		n = ep_cut(ep, room, &chain);
		if (!n) {
			w->no_slices |= ep->nr_queued;
			break;
		}
		ep->inflight += n;
		ops->post(ep, &chain, &w->finished);
		any = true;
	}
	if (!ep->nr_queued) {
		list_del_init(&ep->active_link);
		if (!ep->inflight)
			te_worker_ep_idle(w, ep);
	}
	return any;
}

static bool worker_post(struct te_worker *w)
{
	LIST_HEAD(turn);
	struct te_ep *ep;
	bool any = false;

	w->no_slices = false;
	/* Another one is first in each round: room is shared. */
	list_rotate_left(&w->active);
	list_splice_init(&w->active, &turn);
	while ((ep = list_first_entry_or_null(&turn, struct te_ep,
					      active_link))) {
		list_move_tail(&ep->active_link, &w->active);
		any |= ep_post(w, ep);
	}
	worker_finish(w);
	return any;
}

/* There is something that no event will tell of. */
static bool worker_waits(struct te_worker *w)
{
	return w->stuck || w->no_slices || !list_empty(&w->starved);
}

static void worker_sleep(struct te_worker *w)
{
	long timeout = worker_waits(w) ? TE_RETRY : MAX_SCHEDULE_TIMEOUT;

	if (worker_ops(w)->arm(&w->mover))
		return;
	set_current_state(TASK_IDLE);
	if (!test_bit(TE_WORKER_KICKED, &w->flags))
		schedule_timeout(timeout);
	__set_current_state(TASK_RUNNING);
}

static bool worker_must_look(struct te_worker *w)
{
	return test_and_clear_bit(TE_WORKER_LOOK, &w->flags) ||
	       (worker_waits(w) && time_after_eq(jiffies, w->look_at));
}

static bool worker_round(struct te_worker *w)
{
	bool any;

	test_and_clear_bit(TE_WORKER_KICKED, &w->flags);
	any = worker_poll(w);
	any |= te_worker_take(w);
	if (worker_must_look(w)) {
		worker_bury_dead(w);
		te_worker_look(w);
		any = true;
	}
	any |= worker_attach_all(w);
	any |= worker_post(w);
	return any;
}

static bool worker_empty(struct te_worker *w)
{
	return list_empty(&w->eps) && list_empty(&w->requeue) &&
	       list_empty(&w->starved);
}

static int worker_thread(void *arg)
{
	struct te_worker *w = arg;
	bool stopping;

	for (;;) {
		/* Before the round: it then takes what was queued in time. */
		stopping = test_bit(TE_WORKER_STOP, &w->flags);
		if (worker_round(w)) {
			cond_resched();
			continue;
		}
		if (stopping && worker_empty(w))
			break;
		worker_sleep(w);
	}
	complete(&w->stopped);

	set_current_state(TASK_IDLE);
	while (!kthread_should_stop()) {
		schedule();
		set_current_state(TASK_IDLE);
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

static struct task_struct *create_thread(struct te_worker *w)
{
	struct te_dev *dev = w->set->dev;
	int ret = te_fault(TE_FAULT_CREATE_THREAD);

	if (ret)
		return ERR_PTR(ret);
	return kthread_create_on_node(worker_thread, w, dev->numa_node,
				      "te/%s/%u", dev->name, w->mover.index);
}

static int worker_start(struct te_workers *set, u32 index)
{
	struct te_worker *w = &set->worker[index];
	struct te_dev *dev = set->dev;
	int ret;

	w->set = set;
	w->mover.dev = dev;
	w->mover.index = index;
	w->mover.kick = worker_kick;
	w->mover.look = worker_look;
	init_completion(&w->stopped);
	INIT_LIST_HEAD(&w->eps);
	INIT_LIST_HEAD(&w->active);
	INIT_LIST_HEAD(&w->requeue);
	INIT_LIST_HEAD(&w->starved);
	INIT_LIST_HEAD(&w->finished);

	w->thread = create_thread(w);
	if (IS_ERR(w->thread))
		return PTR_ERR(w->thread);
	ret = dev->ops->mover_start(&w->mover);
	if (ret) {
		kthread_stop(w->thread);
		return ret;
	}
	/* A late kick may still wake it after it has ended. */
	get_task_struct(w->thread);
	if (dev->numa_node != NUMA_NO_NODE)
		set_cpus_allowed_ptr(w->thread, cpumask_of_node(dev->numa_node));
	wake_up_process(w->thread);
	return 0;
}

static void worker_tell_stop(struct te_worker *w)
{
	set_bit(TE_WORKER_STOP, &w->flags);
	worker_look(&w->mover);
}

static void worker_stop(struct te_worker *w)
{
	wait_for_completion(&w->stopped);
	kthread_stop(w->thread);
	w->mover.dev->ops->mover_stop(&w->mover);
}

/*
 * All at once: each may have to wait for its endpoints.
 * @nr: movers that were started
 */
static void workers_stop_all(struct te_workers *set, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		worker_tell_stop(&set->worker[i]);
	for (i = 0; i < nr; i++)
		worker_stop(&set->worker[i]);
}

/* @nr: movers that were started */
static void workers_free(struct te_workers *set, u32 nr)
{
	while (nr--)
		put_task_struct(set->worker[nr].thread);
	te_ep_store_destroy(&set->store);
	kfree(set);
}

static int workers_start(struct te_dev *dev)
{
	u32 nr = clamp(te_workers_per_dev, 1U, TE_NR_SHARDS);
	struct te_workers *set;
	u32 i, started;
	int ret;

	set = kzalloc(struct_size(set, worker, nr), GFP_KERNEL);
	if (!set)
		return -ENOMEM;
	set->dev = dev;
	for (i = 0; i < TE_NR_SHARDS; i++)
		te_queue_init(&set->shards[i]);
	ret = te_ep_store_init(&set->store, max(te_max_ep, 1U));
	if (ret) {
		kfree(set);
		return ret;
	}
	/* Movers read it from their first round on. */
	set->nr = nr;
	for (started = 0; started < nr; started++) {
		ret = worker_start(set, started);
		if (ret)
			goto err_stop;
	}
	dev->workers = set;
	return 0;

err_stop:
	workers_stop_all(set, started);
	workers_free(set, started);
	return ret;
}

static void workers_stop(struct te_dev *dev)
{
	struct te_workers *set = dev->workers;
	u32 i;

	for (i = 0; i < TE_NR_SHARDS; i++)
		te_queue_close(&set->shards[i]);
	workers_stop_all(set, set->nr);
}

static void workers_dev_free(struct te_dev *dev)
{
	workers_free(dev->workers, dev->workers->nr);
}

static void workers_scan(struct te_dev *dev)
{
	struct te_workers *set = dev->workers;
	u32 i;

	for (i = 0; i < set->nr; i++)
		worker_look(&set->worker[i].mover);
}

const struct te_xport_host te_worker_host = {
	.dev_start	= workers_start,
	.dev_stop	= workers_stop,
	.dev_free	= workers_dev_free,
	.scan		= workers_scan,
};

// SPDX-License-Identifier: GPL-2.0-only
/*
 * worker: the mover's loop.
 *
 * A mover polls its completions, takes rails that have something to pull, cuts
 * slices where their endpoints have room and posts them as chains. When there is
 * nothing to do it polls a little longer and then sleeps: after arming the
 * completion interrupt it looks once more, so that no wake-up is lost.
 *
 * Threads start with their dev and end with it, after every rail and every
 * endpoint is gone.
 */
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/topology.h>

#include "fault/fault.h"
#include "worker/internal.h"

/* Polls in one round, so that a fast NIC cannot keep a mover from posting. */
#define TE_POLLS	64U

unsigned int te_workers_per_dev = 2;
unsigned int te_max_ep = 256;
unsigned int te_busy_poll_us = 50;

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
	/* What there is to be seen comes first. */
	smp_mb__before_atomic();
	set_bit(TE_WORKER_LOOK, &to_worker(mover)->flags);
	worker_kick(mover);
}

static void worker_ep_gone(struct te_mover *mover)
{
	struct te_worker *w = to_worker(mover);

	atomic_dec(&w->set->nr_eps);
	/* A rail may have waited for that. */
	worker_kick(mover);
}

static void slice_finished(struct te_worker *w, struct te_slice *slice)
{
	struct te_task *task = slice->task;
	struct te_ep *ep = slice->ep;

	/* With nothing to do it sleeps. */
	if (!--w->inflight)
		w->watches = false;
	ep->inflight--;
	ep->bytes -= slice->len;
	if (slice->flushed || slice->error) {
		if (!slice->alone)
			te_ep_fail(ep, slice->error ?: -ECONNRESET);
		if (te_slice_redo(slice))
			te_path_requeue(task);
	} else {
		if (!ep->proven) {
			ep->proven = true;
			te_rail_worked(ep->rail, ep->key.dev_id);
		}
		te_pace_done(&ep->pace, slice->len, slice->posted, jiffies);
		te_slice_complete(slice);
	}
	if (!ep->inflight) {
		ep->idle_since = jiffies;
		te_worker_ep_idle(w, ep);
	}
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
		ep->rail->nr_eps--;
		te_ep_put(ep);
	}
}

/* Others may have the work; of later transports only if it is not able to. */
static void rail_set_hints(struct te_rail *rail, bool open, bool able,
			   bool posted)
{
	bool was_open = rail->open, was_able = rail->able;

	WRITE_ONCE(rail->open, open);
	WRITE_ONCE(rail->able, able);
	if (was_able && !able)
		te_path_wake(rail->peer);
	else if (!open && (posted || was_open))
		te_path_wake_rank(rail);
}

/* Pull and post. Return: something was posted. @dry: the rail rests. */
static bool rail_run(struct te_worker *w, struct te_rail *rail, bool *dry)
{
	struct te_slice *slice;
	LIST_HEAD(chain);
	bool any = false, was_idle;
	struct te_ep *ep;
	u32 room = 0, n;

	/* Nobody is connected to before there is something for it. */
	*dry = !READ_ONCE(rail->peer->path.nr) && te_path_empty(rail);
	if (!*dry && !rail->ep)
		*dry = !te_path_suits(rail);
	if (*dry)
		return false;
	ep = te_rail_ready(w, rail);
	if (!ep)
		*dry = te_path_empty(rail);
	/* Posting may fail the endpoint: the rail then gets another one. */
	while (ep && !*dry && te_ep_state(ep) == TE_EP_READY) {
		room = te_rail_room(rail, ep);
		if (!room)
			break;
		n = te_path_cut(rail, ep->key.dev_id, room, &chain, dry);
		if (!n) {
			w->no_slices |= !*dry;
			break;
		}
		list_for_each_entry(slice, &chain, link) {
			slice->ep = ep;
			slice->posted = jiffies;
			ep->bytes += slice->len;
		}
		was_idle = !ep->inflight;
		ep->inflight += n;
		w->inflight += n;
		worker_ops(w)->post(ep, &chain, &w->finished);
		if (was_idle)
			te_worker_watch(w, ep);
		any = true;
	}
	rail_set_hints(rail, room, te_rail_able(rail), any);
	return any;
}

static bool worker_post(struct te_worker *w)
{
	LIST_HEAD(turn);
	struct te_rail *rail;
	bool any = false;

	w->no_slices = false;
	w->starved = false;
	w->paused = false;
	/* Another one is first in each round: room is shared. */
	list_rotate_left(&w->active);
	list_splice_init(&w->active, &turn);
	while ((rail = list_first_entry_or_null(&turn, struct te_rail,
						active_link))) {
		bool dry = false;

		list_move_tail(&rail->active_link, &w->active);
		any |= rail_run(w, rail, &dry);
		if (dry) {
			list_del_init(&rail->active_link);
			if (rail->ep && !rail->ep->inflight)
				te_worker_ep_idle(w, rail->ep);
		}
	}
	worker_finish(w);
	return any;
}

/* How long to sleep when no event comes: some things none will tell of. */
static long worker_patience(struct te_worker *w)
{
	long timeout = MAX_SCHEDULE_TIMEOUT;

	if (w->paused)
		timeout = max_t(long, w->resume_at - jiffies, 1);
	if (w->waits)
		timeout = min_t(long, timeout,
				max_t(long, w->look_at - jiffies, 1));
	if (w->watches)
		timeout = min_t(long, timeout,
				max_t(long, w->watch_at - jiffies, 1));
	if (w->no_slices || w->starved)
		timeout = min_t(long, timeout, TE_RETRY);
	return timeout;
}

static void worker_sleep(struct te_worker *w)
{
	te_delay(TE_DELAY_MOVER_ARM);
	if (worker_ops(w)->arm(&w->mover))
		return;
	te_delay(TE_DELAY_MOVER_SLEEP);
	set_current_state(TASK_IDLE);
	if (!test_bit(TE_WORKER_KICKED, &w->flags))
		schedule_timeout(worker_patience(w));
	__set_current_state(TASK_RUNNING);
}

/* Work comes in bursts: polling a little is cheaper than an interrupt. */
static bool worker_polls_on(struct te_worker *w)
{
	u64 until = w->idle_since +
		    (u64)READ_ONCE(te_busy_poll_us) * NSEC_PER_USEC;

	/* With one CPU nobody else could make any work meanwhile. */
	if (num_online_cpus() == 1 || need_resched() ||
	    ktime_get_ns() >= until)
		return false;
	cpu_relax();
	return true;
}

static bool worker_must_look(struct te_worker *w)
{
	return test_and_clear_bit(TE_WORKER_LOOK, &w->flags) ||
	       (w->waits && time_after_eq(jiffies, w->look_at)) ||
	       (w->watches && time_after_eq(jiffies, w->watch_at));
}

static bool worker_round(struct te_worker *w)
{
	bool any;

	test_and_clear_bit(TE_WORKER_KICKED, &w->flags);
	any = worker_poll(w);
	any |= te_worker_take(w);
	if (worker_must_look(w)) {
		worker_bury_dead(w);
		/* Nobody is silent whose completions were not seen. */
		while (worker_poll(w))
			cond_resched();
		te_worker_look(w);
		any = true;
	}
	any |= worker_post(w);
	return any;
}

static bool worker_empty(struct te_worker *w)
{
	return list_empty(&w->eps) && list_empty(&w->rails);
}

static int worker_thread(void *arg)
{
	struct te_worker *w = arg;
	bool stopping;

	for (;;) {
		/* Before the round: it then takes what was queued in time. */
		stopping = test_bit(TE_WORKER_STOP, &w->flags);
		if (worker_round(w)) {
			w->idle_since = ktime_get_ns();
			cond_resched();
			continue;
		}
		if (stopping && worker_empty(w))
			break;
		if (!worker_polls_on(w))
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
	w->mover.gone = worker_ep_gone;
	init_completion(&w->stopped);
	INIT_LIST_HEAD(&w->eps);
	INIT_LIST_HEAD(&w->rails);
	INIT_LIST_HEAD(&w->active);
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
	u32 capacity = clamp(te_max_ep, 1U, min(dev->max_ep, TE_MAX_EP));
	struct te_workers *set;
	u32 i, started;
	int ret;

	set = kzalloc(struct_size(set, worker, nr), GFP_KERNEL);
	if (!set)
		return -ENOMEM;
	set->dev = dev;
	for (i = 0; i < TE_NR_SHARDS; i++)
		te_queue_init(&set->shards[i]);
	if (capacity < te_max_ep)
		pr_info("te: %s: keeps %u endpoints at most\n", dev->name,
			capacity);
	ret = te_ep_store_init(&set->store, capacity);
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

static void workers_dev_scan(struct te_dev *dev)
{
	struct te_workers *set = dev->workers;
	u32 i;

	for (i = 0; i < set->nr; i++)
		worker_look(&set->worker[i].mover);
}

static bool workers_dev_shed(struct te_dev *dev)
{
	return te_ep_store_evict(&dev->workers->store);
}

/* Rails that are active already must be told, too: they cannot know. */
static void workers_dev_up(struct te_dev *dev)
{
	te_rail_create_all(dev);
	workers_dev_scan(dev);
}

const struct te_xport_host te_worker_host = {
	.dev_start	= workers_start,
	.dev_stop	= workers_stop,
	.dev_free	= workers_dev_free,
	.dev_up		= workers_dev_up,
	.dev_scan	= workers_dev_scan,
	.dev_shed	= workers_dev_shed,
	.scan		= te_path_scan_all,
};

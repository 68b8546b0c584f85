// SPDX-License-Identifier: GPL-2.0-only
/*
 * worker/path: what waits for a peer.
 *
 * Submitters add tasks and wake rails; the movers of the rails cut slices, under
 * the path's lock, a chain at a time. Contexts have turns by bytes (deficit round
 * robin, Shreedhar and Varghese 1995), so that a large request of one does not
 * hold up a small one of another, and within a context its tasks have.
 *
 * A task leaves its path when nothing is left to cut, comes back when slices of
 * it must be sent again, and is taken out when it is doomed: by whoever doomed
 * it, as there may be no rail to do it.
 */
#include "event/count.h"
#include "worker/internal.h"

/* Bytes of one turn. */
#define TE_QUANTUM	((s32)(4 * TE_SLICE_BYTES))
/* Tasks that a rail passes by, as they cannot go over it, in one go. */
#define TE_MAX_MISFITS	64U
/* Tasks looked at in one go under the path's lock. */
#define TE_WALK_STEP	1024U

static struct te_flow *task_flow(struct te_task *task)
{
	u32 flow = task->batch->ring->flow % TE_NR_FLOWS;

	return &task->seg->peer->path.flows[flow];
}

static void path_add_locked(struct te_path *path, struct te_task *task,
			    bool first)
{
	struct te_flow *flow = task_flow(task);

	lockdep_assert_held(&path->lock);
	task->passed = 0;
	if (first) {
		list_add(&task->link, &flow->tasks);
		flow->firsts++;
	} else {
		list_add_tail(&task->link, &flow->tasks);
	}
	flow->nr++;
	path->nr++;
}

static void path_del_locked(struct te_path *path, struct te_flow *flow,
			    struct te_task *task)
{
	lockdep_assert_held(&path->lock);
	list_del(&task->link);
	flow->nr--;
	path->nr--;
}

static void rail_wake_locked(struct te_path *path, struct te_rail *rail)
{
	lockdep_assert_held(&path->lock);
	if (!rail->active)
		rail->active = te_queue_rail(rail);
}

static void path_wake_all_locked(struct te_path *path)
{
	struct te_rail *rail;

	lockdep_assert_held(&path->lock);
	list_for_each_entry(rail, &path->rails, path_link)
		rail_wake_locked(path, rail);
}

static bool rail_speaks(const struct te_rail *rail, u32 transport)
{
	return transport == TE_ANY || transport == te_rail_transport(rail);
}

/* Of those that a segment which may go by @transport has, the first rank. */
static u32 path_best_rank_locked(struct te_path *path, u32 transport, bool able)
{
	struct te_rail *rail;
	u32 rank = U32_MAX;

	lockdep_assert_held(&path->lock);
	list_for_each_entry(rail, &path->rails, path_link) {
		if (rail_speaks(rail, transport) &&
		    (!able || READ_ONCE(rail->able)))
			rank = min(rank, te_rail_rank(rail));
	}
	return rank;
}

/*
 * For much work: all but those that would leave it to a transport that comes first
 * and is able to. Should it find that it is not, it wakes them.
 */
static void path_wake_many_locked(struct te_path *path, u32 transport)
{
	u32 rank = path_best_rank_locked(path, transport, true);
	struct te_rail *rail;

	lockdep_assert_held(&path->lock);
	list_for_each_entry(rail, &path->rails, path_link) {
		if (te_rail_rank(rail) <= rank)
			rail_wake_locked(path, rail);
	}
}

/*
 * For little work, of a segment that may go by @transport: one rail that can take
 * it at once, each in its turn. Those of transports that come later may do so only
 * while the others are not able to.
 */
static void path_wake_one_locked(struct te_path *path, u32 transport)
{
	u32 rank = path_best_rank_locked(path, transport, false);
	struct te_rail *rail;

	lockdep_assert_held(&path->lock);
	list_for_each_entry(rail, &path->rails, path_link) {
		if (READ_ONCE(rail->open) && te_rail_rank(rail) == rank) {
			list_move_tail(&rail->path_link, &path->rails);
			rail_wake_locked(path, rail);
			if (rail->active)
				return;
			break;
		}
	}
	path_wake_many_locked(path, transport);
}

/*
 * How near its dev is to the memory here, and one more if the peer's dev is far from
 * that there. TE_TIER_NONE: not to be used for it.
 */
static u32 rail_tier(struct te_rail *rail, struct te_task *task)
{
	struct te_mr *mr = task->nr_mrs == 1 ? task->mr : task->mrs[0];
	struct te_rmr *rmr = task->nr_rmrs == 1 ? task->rmr : task->rmrs[0];
	u32 tier;

	if (!rail_speaks(rail, task->seg->transport))
		return TE_TIER_NONE;
	/* The matrix is of NICs. */
	if (te_rail_transport(rail) != TE_RDMA)
		return 0;
	tier = te_topo_tier(mr->location, rail->w->mover.dev);
	if (tier == TE_TIER_NONE)
		return tier;
	return tier + !!(READ_ONCE(rmr->far) & READ_ONCE(rail->to));
}

/* The matrix that an admin loaded may leave a task no rail at all. */
static bool task_may_go_locked(struct te_path *path, struct te_task *task)
{
	struct te_rail *rail;

	lockdep_assert_held(&path->lock);
	list_for_each_entry(rail, &path->rails, path_link) {
		if (rail_tier(rail, task) != TE_TIER_NONE)
			return true;
	}
	return false;
}

/* None of the rails that it may go over can connect. */
static bool task_is_stuck_locked(struct te_path *path, struct te_task *task)
{
	struct te_rail *rail;

	lockdep_assert_held(&path->lock);
	if (!path->nr_short)
		return false;
	list_for_each_entry(rail, &path->rails, path_link) {
		if (!rail->is_short && rail_tier(rail, task) != TE_TIER_NONE)
			return false;
	}
	return true;
}

/* Why a task may not wait here. 0: it may. */
static int path_error_locked(struct te_peer *peer)
{
	lockdep_assert_held(&peer->path.lock);
	if (te_peer_error(peer))
		return te_peer_error(peer);
	return peer->path.nr_rails ? 0 : -ENXIO;
}

static void fail_tasks(struct list_head *tasks, int error)
{
	struct te_task *task, *next;

	list_for_each_entry_safe(task, next, tasks, link) {
		te_task_fail(task, error);
		cond_resched();
	}
}

/*
 * Who dooms a task marks it first and then goes through its path: so it is seen
 * here, or found there.
 */
void te_worker_queue(struct te_seg *seg, struct list_head *tasks)
{
	struct te_path *path = &seg->peer->path;
	struct te_task *task, *next;
	LIST_HEAD(doomed);
	u64 bytes = 0;
	int error;
	u32 i = 0;

	spin_lock(&path->lock);
	error = path_error_locked(seg->peer);
	list_for_each_entry_safe(task, next, tasks, link) {
		if (++i % TE_WALK_STEP == 0) {
			path_wake_many_locked(path, seg->transport);
			cond_resched_lock(&path->lock);
			error = path_error_locked(seg->peer);
		}
		if (error)
			break;
		if (!task_may_go_locked(path, task))
			continue;
		if (te_task_doomed(task)) {
			list_move_tail(&task->link, &doomed);
			continue;
		}
		bytes += task->length;
		list_del(&task->link);
		path_add_locked(path, task, false);
	}
	if (bytes > TE_SLICE_BYTES + TE_TAIL_BYTES)
		path_wake_many_locked(path, seg->transport);
	else if (bytes)
		path_wake_one_locked(path, seg->transport);
	spin_unlock(&path->lock);

	list_for_each_entry_safe(task, next, &doomed, link)
		te_task_unqueue(task);
	fail_tasks(tasks, error ?: -ENXIO);
	INIT_LIST_HEAD(tasks);
}

void te_path_requeue(struct te_task *task)
{
	struct te_peer *peer = task->seg->peer;
	struct te_path *path = &peer->path;
	bool doomed = false;
	int error;

	spin_lock(&path->lock);
	error = path_error_locked(peer);
	if (!error) {
		doomed = te_task_doomed(task);
		if (!doomed) {
			path_add_locked(path, task, true);
			path_wake_all_locked(path);
		}
	}
	spin_unlock(&path->lock);
	if (error)
		te_task_fail(task, error);
	else if (doomed)
		te_task_unqueue(task);
}

void te_worker_route(struct te_seg *seg, struct te_route *route)
{
	struct te_path *path = &seg->peer->path;
	struct te_rail *rail, *best = NULL;

	*route = (struct te_route) { .transport = TE_ANY };
	spin_lock(&path->lock);
	list_for_each_entry(rail, &path->rails, path_link) {
		route->known |= BIT(te_rail_transport(rail));
		if (!READ_ONCE(rail->able))
			continue;
		route->able |= BIT(te_rail_transport(rail));
		if (rail_speaks(rail, seg->transport) &&
		    (!best || te_rail_rank(rail) < te_rail_rank(best)))
			best = rail;
	}
	if (best)
		route->transport = te_rail_transport(best);
	spin_unlock(&path->lock);
}

void te_path_wake(struct te_peer *peer)
{
	spin_lock(&peer->path.lock);
	if (peer->path.nr)
		path_wake_all_locked(&peer->path);
	spin_unlock(&peer->path.lock);
}

void te_worker_wake_peer(struct te_peer *peer)
{
	te_path_wake(peer);
}

void te_path_wake_rank(struct te_rail *rail)
{
	struct te_path *path = &rail->peer->path;
	struct te_rail *other;

	spin_lock(&path->lock);
	list_for_each_entry(other, &path->rails, path_link) {
		if (path->nr && te_rail_rank(other) == te_rail_rank(rail))
			rail_wake_locked(path, other);
	}
	spin_unlock(&path->lock);
}

void te_worker_wake(void)
{
	struct te_peer *peer = NULL;

	while ((peer = te_peer_next(peer)))
		te_path_wake(peer);
}

bool te_path_empty(struct te_rail *rail)
{
	struct te_path *path = &rail->peer->path;
	bool empty;

	spin_lock(&path->lock);
	empty = !path->nr;
	if (empty)
		rail->active = false;
	spin_unlock(&path->lock);
	return empty;
}

/*
 * The flow whose turn it is, of those not in @skip. A turn in which the room ends
 * goes on next time: else who comes first in each round would have more of it.
 */
static struct te_flow *path_turn_locked(struct te_path *path, u32 skip)
{
	struct te_flow *flow = &path->flows[path->flow];
	u32 i;

	lockdep_assert_held(&path->lock);
	if (flow->nr && flow->credit > 0 && !(skip & BIT(path->flow)))
		return flow;
	/* A slice may have taken more than one turn gives. */
	for (i = 0; i < 2 * TE_NR_FLOWS; i++) {
		path->flow = (path->flow + 1) % TE_NR_FLOWS;
		flow = &path->flows[path->flow];
		if (!flow->nr) {
			flow->credit = 0;
			continue;
		}
		if (skip & BIT(path->flow))
			continue;
		flow->credit = min(flow->credit + TE_QUANTUM, TE_QUANTUM);
		if (flow->credit > 0)
			return flow;
	}
	return NULL;
}

/*
 * Does the other rail leave the task to this one? It does if it has passed it by,
 * or may not take it. One of a transport that comes first keeps it as long as it
 * is able; one of the same while it is nearer and could take more at once.
 */
static bool rail_yields(struct te_rail *other, struct te_rail *rail,
			struct te_task *task, u32 tier)
{
	u32 other_tier = rail_tier(other, task);
	u32 rank = te_rail_rank(rail);

	if (other_tier == TE_TIER_NONE ||
	    task->passed & BIT(other->w->mover.dev->id))
		return true;
	if (te_rail_rank(other) != rank)
		return te_rail_rank(other) > rank || !READ_ONCE(other->able);
	return other_tier >= tier || !READ_ONCE(other->open);
}

/* Is there no rail that should have the task rather than this one? */
static bool rail_suits_locked(struct te_path *path, struct te_rail *rail,
			      struct te_task *task)
{
	u32 tier = rail_tier(rail, task);
	struct te_rail *other;

	lockdep_assert_held(&path->lock);
	if (tier == TE_TIER_NONE)
		return false;
	list_for_each_entry(other, &path->rails, path_link) {
		if (!rail_yields(other, rail, task, tier))
			return false;
	}
	return true;
}

/*
 * The first time that a rail passes a task by, the others look: they may have left
 * it to this one, or not know of it.
 */
static void path_pass_locked(struct te_path *path, struct te_rail *rail,
			     struct te_task *task)
{
	u32 bit = BIT(rail->w->mover.dev->id);

	lockdep_assert_held(&path->lock);
	if (task->passed & bit)
		return;
	task->passed |= bit;
	path_wake_all_locked(path);
}

bool te_path_suits(struct te_rail *rail)
{
	struct te_path *path = &rail->peer->path;
	struct te_task *task;
	bool found = false;
	u32 i, looks;

	spin_lock(&path->lock);
	for (i = 0; i < TE_NR_FLOWS && !found; i++) {
		looks = TE_MAX_MISFITS;
		list_for_each_entry(task, &path->flows[i].tasks, link) {
			found = !looks-- || rail_suits_locked(path, rail, task);
			if (found)
				break;
			path_pass_locked(path, rail, task);
		}
	}
	if (!found)
		rail->active = false;
	spin_unlock(&path->lock);
	return found;
}

/* What goes by TCP that might have gone by RDMA, by the reason. */
static void path_count_fallback_locked(struct te_path *path,
				       const struct te_rail *rail,
				       const struct te_task *task)
{
	bool down;

	lockdep_assert_held(&path->lock);
	if (te_rail_transport(rail) != TE_TCP || task->seg->transport != TE_ANY)
		return;
	down = path_best_rank_locked(path, TE_ANY, false) < te_rail_rank(rail);
	te_count(down ? TE_NR_SLICES_RDMA_DOWN : TE_NR_SLICES_NO_RDMA, 1);
}

/* One slice of the first task of the flow that can go over the rail. */
static enum te_cut flow_cut_locked(struct te_path *path, struct te_flow *flow,
				   struct te_rail *rail, u32 rdev_id,
				   struct te_slice **slice,
				   struct list_head *doomed)
{
	u32 tries = min(flow->nr, TE_MAX_MISFITS);
	struct te_task *task;
	enum te_cut cut;

	lockdep_assert_held(&path->lock);
	while (tries--) {
		task = list_first_entry(&flow->tasks, struct te_task, link);
		*slice = NULL;
		cut = te_task_doomed(task) ||
		      rail_suits_locked(path, rail, task) ?
		      te_slice_cut(task, rail->w->mover.dev, rdev_id, slice) :
		      TE_CUT_MISFIT;
		switch (cut) {
		case TE_CUT_MISFIT:
			path_pass_locked(path, rail, task);
			list_move_tail(&task->link, &flow->tasks);
			continue;
		case TE_CUT_LAST:
		case TE_CUT_DOOMED:
			path_del_locked(path, flow, task);
			if (cut == TE_CUT_DOOMED)
				list_add(&task->link, doomed);
			break;
		case TE_CUT_MORE:
			flow->credit -= (*slice)->len;
			path_count_fallback_locked(path, rail, task);
			/* Its turn is over: behind the others of its context. */
			if (flow->credit <= 0)
				list_move_tail(&task->link, &flow->tasks);
			return cut;
		case TE_CUT_NOMEM:
			return cut;
		}
		if (*slice) {
			flow->credit -= (*slice)->len;
			path_count_fallback_locked(path, rail, task);
		}
		return cut;
	}
	return TE_CUT_MISFIT;
}

u32 te_path_cut(struct te_rail *rail, u32 rdev_id, u32 max,
		struct list_head *chain, bool *dry)
{
	struct te_path *path = &rail->peer->path;
	struct te_task *task, *next;
	struct te_slice *slice;
	struct te_flow *flow;
	LIST_HEAD(doomed);
	u32 skip = 0, n = 0, looks;
	bool unseen = false;
	enum te_cut cut;

	*dry = false;
	spin_lock(&path->lock);
	/* Doomed ones cost looks, too: there may be a million of them. */
	for (looks = 0; n < max && looks < max + TE_MAX_MISFITS; looks++) {
		flow = path_turn_locked(path, skip);
		if (!flow) {
			*dry = !unseen;
			rail->active = unseen;
			break;
		}
		cut = flow_cut_locked(path, flow, rail, rdev_id, &slice,
				      &doomed);
		if (cut == TE_CUT_NOMEM)
			break;
		if (cut == TE_CUT_MISFIT) {
			skip |= BIT(flow - path->flows);
			unseen |= flow->nr > TE_MAX_MISFITS;
		}
		if (slice) {
			list_add_tail(&slice->link, chain);
			n++;
		}
	}
	spin_unlock(&path->lock);

	list_for_each_entry_safe(task, next, &doomed, link) {
		te_task_unqueue(task);
		cond_resched();
	}
	return n;
}

bool te_path_add_rail(struct te_rail *rail)
{
	struct te_path *path = &rail->peer->path;
	bool ok;

	spin_lock(&path->lock);
	/* Its mover knows it from its shard. */
	ok = !te_peer_error(rail->peer) && te_queue_rail(rail);
	if (ok) {
		rail->active = true;
		list_add_tail(&rail->path_link, &path->rails);
		path->nr_rails++;
	}
	spin_unlock(&path->lock);
	return ok;
}

static void path_take_all_locked(struct te_path *path, struct list_head *tasks)
{
	u32 i;

	lockdep_assert_held(&path->lock);
	for (i = 0; i < TE_NR_FLOWS; i++) {
		list_splice_tail_init(&path->flows[i].tasks, tasks);
		path->flows[i].nr = 0;
	}
	path->nr = 0;
}

/*
 * Those that end, of one flow: doomed, stuck, or without a rail that they may go
 * over. Each is moved from the front to the back, or out, so that the lock may be
 * dropped at any point; others may do so at the same time.
 */
static void flow_scan(struct te_path *path, struct te_flow *flow,
		      bool rail_gone)
{
	struct te_task *task, *next;
	LIST_HEAD(doomed);
	LIST_HEAD(stuck);
	LIST_HEAD(lost);
	u32 i, left, firsts;

	spin_lock(&path->lock);
	left = flow->nr;
	firsts = flow->firsts;
	for (i = 1; left && flow->nr; left--, i++) {
		task = list_first_entry(&flow->tasks, struct te_task, link);
		if (te_task_doomed(task)) {
			path_del_locked(path, flow, task);
			list_add_tail(&task->link, &doomed);
		} else if (rail_gone && !task_may_go_locked(path, task)) {
			path_del_locked(path, flow, task);
			list_add_tail(&task->link, &lost);
		} else if (task_is_stuck_locked(path, task)) {
			path_del_locked(path, flow, task);
			list_add_tail(&task->link, &stuck);
		} else {
			list_move_tail(&task->link, &flow->tasks);
		}
		if (i % TE_WALK_STEP == 0)
			cond_resched_lock(&path->lock);
		/* What was put in front meanwhile is to be passed, too. */
		left += flow->firsts - firsts;
		firsts = flow->firsts;
	}
	spin_unlock(&path->lock);
	list_for_each_entry_safe(task, next, &doomed, link) {
		te_task_unqueue(task);
		cond_resched();
	}
	fail_tasks(&stuck, -ENOMEM);
	fail_tasks(&lost, -ENODEV);
}

/* @rail_gone: some may have no other one */
static void path_scan(struct te_peer *peer, bool rail_gone)
{
	LIST_HEAD(tasks);
	u32 i;

	if (te_peer_error(peer)) {
		spin_lock(&peer->path.lock);
		path_take_all_locked(&peer->path, &tasks);
		spin_unlock(&peer->path.lock);
		fail_tasks(&tasks, te_peer_error(peer));
		return;
	}
	for (i = 0; i < TE_NR_FLOWS; i++) {
		if (READ_ONCE(peer->path.flows[i].nr))
			flow_scan(&peer->path, &peer->path.flows[i],
				  rail_gone);
	}
}

void te_path_del_rail(struct te_rail *rail)
{
	struct te_path *path = &rail->peer->path;
	LIST_HEAD(tasks);

	spin_lock(&path->lock);
	list_del(&rail->path_link);
	path->nr_short -= rail->is_short;
	te_queue_forget(rail);
	if (!--path->nr_rails)
		path_take_all_locked(path, &tasks);
	else if (path->nr)
		path_wake_all_locked(path);
	spin_unlock(&path->lock);
	fail_tasks(&tasks, te_peer_error(rail->peer) ?: -ENODEV);
	path_scan(rail->peer, true);
}

void te_path_set_short(struct te_rail *rail, bool is_short)
{
	struct te_path *path = &rail->peer->path;

	if (rail->is_short != is_short) {
		spin_lock(&path->lock);
		path->nr_short += (int)is_short - (int)rail->is_short;
		rail->is_short = is_short;
		spin_unlock(&path->lock);
	}
	if (is_short)
		path_scan(rail->peer, false);
}

void te_path_scan_all(void)
{
	struct te_peer *peer = NULL;

	/* Marks come before counts are read, see te_worker_queue(). */
	smp_mb();
	while ((peer = te_peer_next(peer)))
		path_scan(peer, false);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * mem/mr: registered regions of a process.
 *
 * A region is made by te_mr_register() in the process, used by tasks (each
 * holds a reference), and freed by te_mr_destroy(): from te_mr_unregister()
 * when the process waits for it, from a work item after the last task when it
 * died first. Being found ends before being freed: unregistering takes it out
 * of the space, so no new task can get it.
 */
#include <linux/bvec.h>
#include <linux/interval_tree_generic.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "event/count.h"
#include "fault/fault.h"
#include "mem/mem.h"
#include "topo/topo.h"

#define MR_START(mr)		((mr)->addr)
#define MR_LAST(mr)		((mr)->last)
#define MR_BASE_START(mr)	((mr)->base)
#define MR_BASE_LAST(mr)	((mr)->base_last)

INTERVAL_TREE_DEFINE(struct te_mr, rb, u64, subtree_last, MR_START, MR_LAST,
		     static __maybe_unused, mr_tree)
INTERVAL_TREE_DEFINE(struct te_mr, base_rb, u64, base_subtree_last,
		     MR_BASE_START, MR_BASE_LAST, static __maybe_unused, mr_base_tree)

/* Protects all te_mr_maps and the list of devs; see mem.h. */
DEFINE_MUTEX(te_maps_mutex);
LIST_HEAD(te_mrs);

struct workqueue_struct *te_mem_wq;
/* Who waits for a region to be idle; one for all, as it must outlive them. */
static DECLARE_WAIT_QUEUE_HEAD(te_mr_idle);

static void mr_unmap(struct te_mr *mr)
{
	struct te_mr_map *map;
	unsigned long id;

	mutex_lock(&te_maps_mutex);
	list_del(&mr->link);
	xa_for_each(&mr->maps, id, map) {
		list_del(&map->dev_link);
		map->unmap(map);
	}
	mutex_unlock(&te_maps_mutex);
	xa_destroy(&mr->maps);
}

/* Pages of a region that are looked at to find its node. */
#define TE_NODE_SAMPLES		64UL

static_assert(MAX_NUMNODES <= TE_MAX_NODES);

int te_most_nodes(const int *nodes, u32 nr)
{
	u32 i, j, count, most = 0;
	int node = NUMA_NO_NODE;

	for (i = 0; i < nr; i++) {
		count = 0;
		for (j = i; j < nr; j++)
			count += nodes[j] == nodes[i];
		if (count > most) {
			most = count;
			node = nodes[i];
		}
	}
	return node;
}

static u32 pages_location(const struct te_mr *mr)
{
	u32 nr = min(mr->nr_pages, TE_NODE_SAMPLES);
	int nodes[TE_NODE_SAMPLES];
	u32 i;

	for (i = 0; i < nr; i++)
		nodes[i] = page_to_nid(mr->pages[i * (u64)mr->nr_pages / nr]);
	return TE_LOCATION_CPU(te_most_nodes(nodes, nr));
}

static void mr_destroy(struct te_mr *mr)
{
	mr_unmap(mr);
	te_location_put(mr->location);
	te_unpin(mr);
	te_space_put(mr->space);
	te_count(TE_NR_MRS, -1);
	kfree(mr);
}

static void mr_free_work(struct work_struct *work)
{
	mr_destroy(container_of(work, struct te_mr, free_work));
}

static struct te_mr *mr_create(struct te_space *space,
			       const struct te_mr_ask *ask,
			       int (*map)(struct te_mr *mr))
{
	struct te_mr *mr;
	int ret;

	mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	refcount_set(&mr->refs, 1);
	mr->nr_regs = 1;
	mr->access = ask->access;
	mr->addr = ask->addr;
	mr->last = ask->addr + (ask->len - 1);
	mr->base = ask->base;
	mr->base_last = ask->base + (ask->len - 1);
	mr->space = space;
	xa_init(&mr->maps);
	INIT_LIST_HEAD(&mr->loans);
	INIT_WORK(&mr->free_work, mr_free_work);

	ret = te_pin(mr);
	if (ret) {
		kfree(mr);
		return ERR_PTR(ret);
	}
	mr->location = ask->location;
	if (mr->location == TE_LOCATION_PAGES)
		mr->location = pages_location(mr);
	te_location_hold(mr->location);
	te_space_get(space);
	te_count(TE_NR_MRS, 1);

	ret = map(mr);
	if (ret) {
		mr_destroy(mr);
		return ERR_PTR(ret);
	}
	return mr;
}

static void mr_news_locked(struct te_mr *mr, bool gone)
{
	struct te_watch *watch;

	if (!(mr->access & TE_ACCESS_REMOTE))
		return;
	list_for_each_entry(watch, &mr->space->watches, link)
		watch->mr_news(watch, mr->id, gone);
}

static int mr_publish(struct te_mr *mr)
{
	struct te_space *space = mr->space;
	int ret;

	mutex_lock(&space->lock);
	ret = xa_alloc_cyclic(&space->mrs, &mr->id, mr,
			      XA_LIMIT(1, INT_MAX), &space->next_id,
			      GFP_KERNEL_ACCOUNT);
	if (ret >= 0) {
		mr_tree_insert(mr, &space->tree);
		mr_base_tree_insert(mr, &space->base_tree);
		mr_news_locked(mr, false);
	}
	mutex_unlock(&space->lock);
	return ret < 0 ? ret : 0;
}

static void mr_recall_locked(struct te_mr *mr)
{
	struct te_mr_loan *loan;

	list_for_each_entry(loan, &mr->loans, link)
		loan->recall(loan);
}

static void mr_unpublish_locked(struct te_mr *mr)
{
	struct te_space *space = mr->space;

	lockdep_assert_held(&space->lock);
	xa_erase(&space->mrs, mr->id);
	mr_tree_remove(mr, &space->tree);
	mr_base_tree_remove(mr, &space->base_tree);
	mr_news_locked(mr, true);
	mr_recall_locked(mr);
}

/* Who does not say where a region is agrees with who did. */
static bool mr_equal(const struct te_mr *mr, const struct te_mr_ask *ask)
{
	return mr->addr == ask->addr && te_mr_length(mr) == ask->len &&
	       mr->base == ask->base && mr->access == ask->access &&
	       (ask->location == TE_LOCATION_PAGES ||
		ask->location == mr->location);
}

/* Return: 1 with @id: the same once more; 0 free; -errno. */
static int mr_find_equal(struct te_space *space, const struct te_mr_ask *ask,
			 u32 *id)
{
	struct te_mr *mr;
	int ret = 0;

	mutex_lock(&space->lock);
	mr = mr_tree_iter_first(&space->tree, ask->addr,
				ask->addr + (ask->len - 1));
	if (mr && mr_equal(mr, ask) && mr->nr_regs < INT_MAX) {
		mr->nr_regs++;
		*id = mr->id;
		ret = 1;
	} else if (mr || mr_base_tree_iter_first(&space->base_tree, ask->base,
						 ask->base + (ask->len - 1))) {
		ret = -EEXIST;
	}
	mutex_unlock(&space->lock);
	return ret;
}

int te_mr_register(struct te_space *space, const struct te_mr_ask *ask,
		   int (*map)(struct te_mr *mr), u32 *id)
{
	struct te_mr *mr;
	int ret;

	if (mutex_lock_killable(&space->reg_lock))
		return -EINTR;

	ret = mr_find_equal(space, ask, id);
	if (ret) {
		ret = min(ret, 0);
		goto out_unlock;
	}
	mr = mr_create(space, ask, map);
	if (IS_ERR(mr)) {
		ret = PTR_ERR(mr);
		goto out_unlock;
	}
	te_delay(TE_DELAY_MR_PUBLISH);
	ret = mr_publish(mr);
	if (ret)
		mr_destroy(mr);
	else
		*id = mr->id;
out_unlock:
	mutex_unlock(&space->reg_lock);
	return ret;
}

/* Return: 1 with @mr out of the space, 0 registered still, -errno. */
static int mr_drop(struct te_space *space, u32 id, bool force,
		   struct te_mr **dropped)
{
	struct te_mr *mr;
	int ret;

	if (mutex_lock_killable(&space->reg_lock))
		return -EINTR;
	mutex_lock(&space->lock);
	mr = xa_load(&space->mrs, id);
	if (!mr) {
		ret = -ENOENT;
	} else if (mr->nr_regs > 1) {
		mr->nr_regs--;
		ret = 0;
	} else if (!force && refcount_read(&mr->refs) - mr->nr_remote > 1) {
		ret = -EBUSY;
	} else {
		mr_unpublish_locked(mr);
		*dropped = mr;
		ret = 1;
	}
	mutex_unlock(&space->lock);
	mutex_unlock(&space->reg_lock);
	return ret;
}

int te_mr_unregister(struct te_space *space, u32 id,
		     void (*force)(struct te_mr *mr, void *arg), void *arg)
{
	struct te_mr *mr;
	int ret;

	ret = mr_drop(space, id, force, &mr);
	if (ret <= 0)
		return ret;

	te_delay(TE_DELAY_MR_REVOKED);
	if (force && refcount_read(&mr->refs) > 1)
		force(mr, arg);
	if (wait_event_killable(te_mr_idle, refcount_read(&mr->refs) == 1)) {
		te_mr_put(mr);
		return -EINTR;
	}
	mr_destroy(mr);
	return 0;
}

struct te_mr *te_mr_lookup_locked(struct te_space *space, u64 addr)
{
	lockdep_assert_held(&space->lock);
	return mr_tree_iter_first(&space->tree, addr, addr);
}

void te_mr_get(struct te_mr *mr)
{
	refcount_inc(&mr->refs);
}

void te_mr_put(struct te_mr *mr)
{
	if (refcount_dec_and_test(&mr->refs))
		queue_work(te_mem_wq, &mr->free_work);
	else if (wq_has_sleeper(&te_mr_idle))
		wake_up_all(&te_mr_idle);
}

struct te_mr *te_mr_find_remote(struct te_space *space, u32 id, u32 access,
				u64 addr, u64 len)
{
	struct te_mr *mr;

	mutex_lock(&space->lock);
	mr = xa_load(&space->mrs, id);
	if (!mr) {
		mr = ERR_PTR(-ENOENT);
	} else if (!(mr->access & access)) {
		mr = ERR_PTR(-EACCES);
	} else if (addr < mr->base || addr > mr->base_last ||
		   len - 1 > mr->base_last - addr) {
		mr = ERR_PTR(-ERANGE);
	} else {
		mr->nr_remote++;
		te_mr_get(mr);
	}
	mutex_unlock(&space->lock);
	return mr;
}

/* Both counts at once: who unregisters compares them. */
void te_mr_put_remote(struct te_mr *mr)
{
	struct te_space *space = mr->space;

	te_space_get(space);
	mutex_lock(&space->lock);
	mr->nr_remote--;
	te_mr_put(mr);
	mutex_unlock(&space->lock);
	te_space_put(space);
}

bool te_mr_lend(struct te_mr *mr, struct te_mr_loan *loan)
{
	struct te_space *space = mr->space;
	bool ok;

	mutex_lock(&space->lock);
	/* Else nobody would recall it any more. */
	ok = xa_load(&space->mrs, mr->id) == mr;
	if (ok) {
		loan->mr = mr;
		list_add(&loan->link, &mr->loans);
		mr->nr_remote++;
		te_mr_get(mr);
	}
	mutex_unlock(&space->lock);
	return ok;
}

void te_mr_loan_end(struct te_mr_loan *loan)
{
	struct te_space *space = loan->mr->space;

	mutex_lock(&space->lock);
	list_del(&loan->link);
	mutex_unlock(&space->lock);
	te_mr_put_remote(loan->mr);
}

u32 te_mr_bvecs(const struct te_mr *mr, u64 off, u32 len, struct bio_vec *bv,
		u32 max, u32 *bytes)
{
	u64 at = offset_in_page(mr->addr) + off;
	u32 n = 0, done = 0;

	while (done < len) {
		struct page *page = mr->pages[at >> PAGE_SHIFT];
		u32 in_page = offset_in_page(at);
		u32 step = min_t(u32, len - done, PAGE_SIZE - in_page);
		struct bio_vec *last = n ? &bv[n - 1] : NULL;

		if (last && !in_page &&
		    page == last->bv_page +
			    ((last->bv_offset + last->bv_len) >> PAGE_SHIFT)) {
			last->bv_len += step;
		} else {
			if (n == max)
				break;
			bv[n++] = (struct bio_vec) {
				.bv_page = page,
				.bv_len = step,
				.bv_offset = in_page,
			};
		}
		at += step;
		done += step;
	}
	*bytes = done;
	return n;
}

bool te_mr_key(struct te_mr *mr, u32 dev_id, u64 addr, u32 *key, u64 *io_addr,
	       u64 *room)
{
	struct te_mr_map *map = xa_load(&mr->maps, dev_id);
	u64 off, chunk_end;

	if (!map)
		return false;
	off = addr - (mr->addr & PAGE_MASK);
	chunk_end = ((off >> map->chunk_shift) + 1) << map->chunk_shift;
	*key = map->keys[off >> map->chunk_shift].lkey;
	*io_addr = mr->base + (addr - mr->addr);
	*room = min(chunk_end - off, mr->last - addr + 1);
	return true;
}

/* Called by te_space_kill(): every region loses its registration. */
void te_mr_drop_all(struct te_space *space)
{
	struct te_mr *mr;
	unsigned long id;

	mutex_lock(&space->lock);
	xa_for_each(&space->mrs, id, mr) {
		xa_erase(&space->mrs, id);
		mr_recall_locked(mr);
		te_mr_put(mr);
		cond_resched();
	}
	space->tree = RB_ROOT_CACHED;
	space->base_tree = RB_ROOT_CACHED;
	mutex_unlock(&space->lock);
}

int te_mem_init(void)
{
	te_mem_wq = alloc_workqueue("te_mem", TE_WQ_FLAGS, 0);
	return te_mem_wq ? 0 : -ENOMEM;
}

void te_mem_exit(void)
{
	destroy_workqueue(te_mem_wq);
}

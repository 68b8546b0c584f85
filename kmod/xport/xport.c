// SPDX-License-Identifier: GPL-2.0-only
/*
 * xport: the registry of devs, and the maps that regions have on them.
 *
 * Transports add and delete devs in process context. Submitters walk the list
 * under RCU. A region's maps are made here at registration, for each dev that
 * is up, and unmade when the region dies (mem/mr.c) or the dev goes, whichever
 * is first: both hold te_maps_mutex.
 */
#include <linux/err.h>
#include <linux/idr.h>
#include <linux/rculist.h>
#include <linux/slab.h>

#include "xport/xport.h"

LIST_HEAD(te_devs);
/* Also those that are not up: they may have work in flight. RCU as te_devs. */
static LIST_HEAD(te_all_devs);

/* Ids come back late: open segments of peers name devs by them. */
static DEFINE_IDR(te_dev_ids);
static const struct te_xport_host *te_host;
static const struct te_xport_news *te_news;

void te_xport_set_host(const struct te_xport_host *host)
{
	te_host = host;
}

void te_xport_set_news(const struct te_xport_news *news)
{
	te_news = news;
}

void te_dev_get(struct te_dev *dev)
{
	kref_get(&dev->ref);
}

bool te_dev_tryget(struct te_dev *dev)
{
	return kref_get_unless_zero(&dev->ref);
}

static void dev_release(struct kref *ref)
{
	struct te_dev *dev = container_of(ref, struct te_dev, ref);

	te_host->dev_free(dev);
	dev->release(dev);
}

void te_dev_put(struct te_dev *dev)
{
	kref_put(&dev->ref, dev_release);
}

static void dev_free_id(struct te_dev *dev)
{
	mutex_lock(&te_maps_mutex);
	idr_remove(&te_dev_ids, dev->id);
	mutex_unlock(&te_maps_mutex);
}

int te_dev_add(struct te_dev *dev)
{
	int id, ret;

	kref_init(&dev->ref);
	INIT_LIST_HEAD(&dev->maps);
	mutex_lock(&te_maps_mutex);
	id = idr_alloc_cyclic(&te_dev_ids, dev, 0, TE_MAX_DEVS, GFP_KERNEL);
	mutex_unlock(&te_maps_mutex);
	if (id < 0)
		return id;
	dev->id = id;

	ret = te_host->dev_start(dev);
	if (ret) {
		dev_free_id(dev);
		return ret;
	}
	mutex_lock(&te_maps_mutex);
	list_add_tail_rcu(&dev->all_link, &te_all_devs);
	mutex_unlock(&te_maps_mutex);
	return 0;
}

/* Return: 0 or why the region cannot be reached through the dev. */
static int dev_map(struct te_dev *dev, struct te_mr *mr)
{
	struct te_mr_map *map;
	int ret;

	lockdep_assert_held(&te_maps_mutex);
	map = dev->ops->mr_map(dev, mr);
	if (IS_ERR(map))
		return PTR_ERR(map);
	ret = xa_err(xa_store(&mr->maps, dev->id, map, GFP_KERNEL));
	if (ret)
		map->unmap(map);
	else
		list_add(&map->dev_link, &dev->maps);
	return ret;
}

static void dev_unlist_locked(struct te_dev *dev)
{
	lockdep_assert_held(&te_maps_mutex);
	if (dev->up)
		list_del_rcu(&dev->link);
	WRITE_ONCE(dev->up, false);
}

int te_dev_up(struct te_dev *dev)
{
	bool mapped = false;
	struct te_mr *mr;
	int error = 0;
	bool was_up;
	int ret;

	mutex_lock(&te_maps_mutex);
	was_up = dev->up;
	/* What was registered while it was away is reached through it too. */
	list_for_each_entry(mr, &te_mrs, link) {
		if (xa_load(&mr->maps, dev->id))
			continue;
		ret = dev_map(dev, mr);
		mapped |= !ret;
		if (ret && !was_up)
			pr_warn_ratelimited("te: %s: a region of %llu bytes cannot be mapped: %d\n",
					    dev->name, te_mr_length(mr), ret);
		error = error ?: ret;
	}
	if (!was_up) {
		WRITE_ONCE(dev->up, true);
		list_add_tail_rcu(&dev->link, &te_devs);
	}
	mutex_unlock(&te_maps_mutex);
	if (mapped || !was_up)
		te_news->dev_up(dev->id, mapped);
	te_host->dev_up(dev);
	return error;
}

void te_dev_link(struct te_dev *dev, bool link)
{
	if (READ_ONCE(dev->no_link) == !link)
		return;
	WRITE_ONCE(dev->no_link, !link);
	te_host->dev_scan(dev);
}

bool te_dev_shed(struct te_dev *dev)
{
	return te_host->dev_shed(dev);
}

void te_dev_moved(struct te_dev *dev)
{
	WRITE_ONCE(dev->moves, dev->moves + 1);
	te_host->dev_scan(dev);
}

void te_dev_down(struct te_dev *dev)
{
	mutex_lock(&te_maps_mutex);
	dev_unlist_locked(dev);
	mutex_unlock(&te_maps_mutex);
	/* It may be listed again: readers must have left it. */
	synchronize_rcu();
}

static void dev_unmap_all(struct te_dev *dev)
{
	struct te_mr_map *map, *next;

	lockdep_assert_held(&te_maps_mutex);
	list_for_each_entry_safe(map, next, &dev->maps, dev_link) {
		/*
		 * The space's lock keeps readers of the keys out; the movers of
		 * this dev have stopped.
		 */
		mutex_lock(&map->mr->space->lock);
		xa_erase(&map->mr->maps, dev->id);
		mutex_unlock(&map->mr->space->lock);
		list_del(&map->dev_link);
		map->unmap(map);
	}
}

void te_dev_del(struct te_dev *dev)
{
	te_dev_down(dev);
	te_news->dev_gone(dev->id);
	te_host->dev_stop(dev);

	mutex_lock(&te_maps_mutex);
	list_del_rcu(&dev->all_link);
	dev_unmap_all(dev);
	mutex_unlock(&te_maps_mutex);
	/* Nobody scans it any more: the caller may drop its last reference. */
	synchronize_rcu();
	dev_free_id(dev);
}

u32 te_dev_describe(struct te_rdev *out, u32 max)
{
	struct te_dev *dev;
	u32 n = 0;

	rcu_read_lock();
	list_for_each_entry_rcu(dev, &te_devs, link) {
		if (n == max)
			break;
		out[n++] = dev->self;
	}
	rcu_read_unlock();
	return n;
}

u32 te_dev_far(u32 location, u32 mask)
{
	u32 tier, nearest = TE_TIER_NONE, far = 0;
	struct te_dev *dev;
	u32 near = 0;

	rcu_read_lock();
	list_for_each_entry_rcu(dev, &te_devs, link) {
		if (dev->ops->transport != TE_RDMA || !(mask & BIT(dev->id)))
			continue;
		tier = te_topo_tier(location, dev);
		if (tier < nearest) {
			far |= near;
			near = 0;
			nearest = tier;
		}
		if (tier == nearest)
			near |= BIT(dev->id);
		else
			far |= BIT(dev->id);
	}
	rcu_read_unlock();
	return far;
}

int te_xport_map_mr(struct te_mr *mr)
{
	struct te_dev *dev, *next;
	int ret = 0;

	mutex_lock(&te_maps_mutex);
	list_add(&mr->link, &te_mrs);
	list_for_each_entry_safe(dev, next, &te_devs, link) {
		ret = dev_map(dev, mr);
		/* On its way down: te_dev_up() will map it. */
		if (ret == -ENETDOWN) {
			dev_unlist_locked(dev);
			ret = 0;
		}
		if (ret)
			break;
	}
	mutex_unlock(&te_maps_mutex);
	return ret;
}

void te_xport_scan(void)
{
	struct te_dev *dev;

	te_host->scan();
	rcu_read_lock();
	list_for_each_entry_rcu(dev, &te_all_devs, all_link)
		te_host->dev_scan(dev);
	rcu_read_unlock();
}

void te_peer_kill(struct te_peer *peer, int error)
{
	if (te_peer_bury(peer, error))
		te_xport_scan();
}

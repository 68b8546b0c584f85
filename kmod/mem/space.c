// SPDX-License-Identifier: GPL-2.0-only
/*
 * mem/space: a context's memory as a whole, and the names of exported ones.
 *
 * The context makes a space at open and kills it when it ends; regions, exports'
 * openers and watchers keep the memory of a dead one until they let go. The
 * answering side of sessions finds spaces by name here, describes them, and
 * follows them with a te_watch.
 */
#include <linux/err.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/net_namespace.h>

#include "event/count.h"
#include "mem/mem.h"

static DEFINE_MUTEX(te_exports_lock); /* protects te_exports and export fields */
static LIST_HEAD(te_exports);

struct te_space *te_space_create(struct mm_struct *mm)
{
	struct te_space *space;

	space = kzalloc(sizeof(*space), GFP_KERNEL_ACCOUNT);
	if (!space)
		return ERR_PTR(-ENOMEM);
	kref_init(&space->ref);
	mmgrab(mm);
	space->mm = mm;
	mutex_init(&space->reg_lock);
	mutex_init(&space->lock);
	space->tree = RB_ROOT_CACHED;
	space->base_tree = RB_ROOT_CACHED;
	xa_init_flags(&space->mrs, XA_FLAGS_ALLOC1);
	INIT_LIST_HEAD(&space->watches);
	return space;
}

static void space_release(struct kref *ref)
{
	struct te_space *space = container_of(ref, struct te_space, ref);

	mmdrop(space->mm);
	xa_destroy(&space->mrs);
	mutex_destroy(&space->lock);
	mutex_destroy(&space->reg_lock);
	kfree(space);
}

void te_space_get(struct te_space *space)
{
	kref_get(&space->ref);
}

void te_space_put(struct te_space *space)
{
	kref_put(&space->ref, space_release);
}

static void space_unexport(struct te_space *space)
{
	mutex_lock(&te_exports_lock);
	if (space->exported) {
		list_del(&space->export_link);
		te_count(TE_NR_EXPORTS, -1);
		/* Names do not come back: it stays exported, unlisted. */
	}
	mutex_unlock(&te_exports_lock);
}

/**
 * te_space_kill() - the context goes away
 * @space: the space; killed once, the caller keeps its reference
 *
 * Peers cannot find it any more and its followers are told. Regions go as soon
 * as no task uses them. Does not wait for that.
 */
void te_space_kill(struct te_space *space)
{
	struct te_watch *watch, *next;

	space_unexport(space);

	mutex_lock(&space->lock);
	space->dead = true;
	list_for_each_entry_safe(watch, next, &space->watches, link) {
		list_del_init(&watch->link);
		watch->space_gone(watch);
	}
	mutex_unlock(&space->lock);

	te_mr_drop_all(space);
}

static struct te_space *export_find_locked(struct net *net, const char *name,
					   size_t len)
{
	struct te_space *space;

	list_for_each_entry(space, &te_exports, export_link) {
		if (net_eq(space->net, net) && strlen(space->name) == len &&
		    !memcmp(space->name, name, len))
			return space;
	}
	return NULL;
}

int te_space_export(struct te_space *space, struct net *net, const char *name,
		    size_t len)
{
	int ret = 0;

	mutex_lock(&te_exports_lock);
	if (space->exported || export_find_locked(net, name, len)) {
		ret = -EEXIST;
	} else {
		space->exported = true;
		space->net = net;
		memcpy(space->name, name, len);
		space->name[len] = '\0';
		list_add(&space->export_link, &te_exports);
		te_count(TE_NR_EXPORTS, 1);
	}
	mutex_unlock(&te_exports_lock);
	return ret;
}

struct te_space *te_space_find(struct net *net, const char *name, size_t len)
{
	struct te_space *space;

	mutex_lock(&te_exports_lock);
	space = export_find_locked(net, name, len);
	if (space)
		te_space_get(space);
	mutex_unlock(&te_exports_lock);
	return space ? space : ERR_PTR(-ENOENT);
}

int te_space_watch(struct te_space *space, struct te_watch *watch)
{
	int ret = 0;

	mutex_lock(&space->lock);
	if (space->dead)
		ret = -ESTALE;
	else
		list_add(&watch->link, &space->watches);
	mutex_unlock(&space->lock);
	return ret;
}

void te_space_unwatch(struct te_space *space, struct te_watch *watch)
{
	mutex_lock(&space->lock);
	list_del_init(&watch->link);
	mutex_unlock(&space->lock);
}

int te_space_grant(struct te_space *space, struct te_peer *peer, u32 handle)
{
	int ret;

	te_space_get(space);
	ret = xa_insert(&peer->grants, handle, space, GFP_KERNEL);
	if (ret)
		te_space_put(space);
	return ret;
}

void te_space_revoke(struct te_peer *peer, u32 handle)
{
	struct te_space *space = xa_erase(&peer->grants, handle);

	if (space)
		te_space_put(space);
}

struct te_space *te_space_granted(struct te_peer *peer, u32 handle)
{
	struct te_space *space;

	xa_lock(&peer->grants);
	space = xa_load(&peer->grants, handle);
	if (space)
		te_space_get(space);
	xa_unlock(&peer->grants);
	return space;
}

static void mr_describe(struct te_mr *mr, struct te_mr_desc *desc)
{
	struct te_mr_map *map;
	unsigned long dev_id;

	desc->id = mr->id;
	desc->access = mr->access & TE_ACCESS_REMOTE;
	desc->base = mr->base;
	desc->length = te_mr_length(mr);
	desc->page_off = offset_in_page(mr->addr);
	desc->location = mr->location;
	desc->dev_mask = 0;
	xa_for_each(&mr->maps, dev_id, map)
		desc->dev_mask |= BIT(dev_id);
}

int te_space_next_mr(struct te_space *space, u32 id, struct te_mr_desc *desc)
{
	unsigned long index = id;
	struct te_mr *mr;
	int ret = -ENOENT;

	mutex_lock(&space->lock);
	xa_for_each_start(&space->mrs, index, mr, id) {
		if (mr->access & TE_ACCESS_REMOTE) {
			mr_describe(mr, desc);
			ret = 0;
			break;
		}
	}
	mutex_unlock(&space->lock);
	return ret;
}

int te_space_mr_keys(struct te_space *space, u32 mr_id, u32 dev_id, u32 first,
		     u32 *keys, u32 max)
{
	struct te_mr_map *map;
	struct te_mr *mr;
	int n = -ENOENT;

	mutex_lock(&space->lock);
	mr = xa_load(&space->mrs, mr_id);
	map = mr ? xa_load(&mr->maps, dev_id) : NULL;
	if (map)
		for (n = 0; n < max && first + n < map->nr_chunks; n++)
			keys[n] = map->keys[first + n].rkey;
	mutex_unlock(&space->lock);
	return n;
}

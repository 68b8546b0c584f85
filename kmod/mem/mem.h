/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mem: memory that te may touch, on both sides of the wire.
 *
 * A te_space is one context's registered memory: its te_mrs by id and by
 * address, and the name under which it is exported. A te_seg is a peer's space
 * as seen from here: its devs and te_rmrs with the keys for each dev.
 *
 * All of it runs in process context. Nothing here knows a transport: a te_mr
 * carries one te_mr_map for each dev, made and unmade by the transport.
 */
#ifndef TE_MEM_H
#define TE_MEM_H

#include <linux/completion.h>
#include <linux/in6.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/rculist.h>
#include <linux/refcount.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <linux/te.h>

#include "peer/peer.h"

struct bio_vec;
struct mm_struct;
struct net;
struct te_dev;
struct te_mr;
struct te_open;
struct te_peer;

#define TE_ACCESS_LOCAL		(TE_LOCAL_READ | TE_LOCAL_WRITE)
#define TE_ACCESS_REMOTE	(TE_REMOTE_READ | TE_REMOTE_WRITE)
#define TE_ACCESS_ALL		(TE_ACCESS_LOCAL | TE_ACCESS_REMOTE)

/*
 * Protects every te_mr_map and the list of devs: a region that dies and a dev
 * that goes both unmake maps. Taken before te_space.lock; held while mapping.
 */
extern struct mutex te_maps_mutex;
/* All regions of the node, te_mr.link; protected by it. */
extern struct list_head te_mrs;

/**
 * struct te_mr_map - one te_mr on one dev
 * @mr: the region (borrowed: the map dies before it)
 * @dev: the dev (borrowed: the map dies before it)
 * @dev_link: on the dev's list of maps, protected by te_maps_mutex
 * @unmap: undo and free; may sleep; te_maps_mutex held
 * @chunk_shift: chunk i holds bytes [i << shift, (i + 1) << shift), counted from
 *	the page start of the region's first byte
 * @nr_chunks: entries of @keys
 * @keys: local and remote key of each chunk
 */
struct te_mr_map {
	struct te_mr *mr;
	struct te_dev *dev;
	struct list_head dev_link;
	void (*unmap)(struct te_mr_map *map);
	u32 chunk_shift;
	u32 nr_chunks;
	struct te_key {
		u32 lkey;
		u32 rkey;
	} *keys;
};

/**
 * struct te_mr - a registered range of a process's memory
 * @refs: one for the registration, one for each task that uses it, each step of a
 *	peer's request, each loan
 * @id: in its space
 * @access: TE_* access bits
 * @addr: user address of the first byte
 * @last: user address of the last byte
 * @base: address that peers use for @addr
 * @base_last: peers' address of the last byte
 * @rb: in te_space.tree
 * @subtree_last: belongs to @rb
 * @base_rb: in te_space.base_tree
 * @base_subtree_last: belongs to @base_rb
 * @location: where its pages are, or what the process said; with a reference
 * @nr_regs: how often it was registered, protected by te_space.reg_lock
 * @nr_remote: of @refs, those of te_mr_find_remote() and loans; te_space.lock
 * @loans: te_mr_loan; te_space.lock
 * @nr_pages: pages pinned
 * @pages: @nr_pages entries, ascending address
 * @link: on te_mrs
 * @maps: te_mr_map by dev id; changed under te_maps_mutex only; readers hold a
 *	task's reference and run on the dev's own mover, or hold te_space.lock
 * @space: holds a reference
 * @free_work: unmaps, unpins and frees where the last put may not sleep
 */
struct te_mr {
	refcount_t refs;
	u32 id;
	u32 access;
	u64 addr;
	u64 last;
	u64 base;
	u64 base_last;
	struct rb_node rb;
	u64 subtree_last;
	struct rb_node base_rb;
	u64 base_subtree_last;
	u32 location;
	u32 nr_regs;
	u32 nr_remote;
	struct list_head loans;
	unsigned long nr_pages;
	struct page **pages;
	struct list_head link;
	struct xarray maps;
	struct te_space *space;
	struct work_struct free_work;
};

/**
 * struct te_mr_loan - pages of a region that others refer to for a while
 * @mr: the region, referenced
 * @link: on te_mr.loans
 * @recall: the region has been taken out of its space, and its pages are to be let
 *	go of as soon as may be: called once, under te_space.lock, must not sleep
 */
struct te_mr_loan {
	struct te_mr *mr;
	struct list_head link;
	void (*recall)(struct te_mr_loan *loan);
};

/**
 * struct te_watch - somebody who follows a space (a peer's open segment)
 * @link: on te_space.watches
 * @mr_news: a region with remote access came (@gone false) or went; called
 *	under te_space.lock: must not sleep and only note it down
 * @space_gone: the space died; same context; the watch is off the list already
 */
struct te_watch {
	struct list_head link;
	void (*mr_news)(struct te_watch *watch, u32 mr_id, bool gone);
	void (*space_gone)(struct te_watch *watch);
};

/**
 * struct te_space - one context's registered memory
 * @ref: the context, each mr, and each watcher's owner hold one
 * @mm: whose memory; a grabbed mm_struct, not its users
 * @reg_lock: serialises register and unregister, held while pinning (killable)
 * @lock: protects all below; never held while anything waits
 * @tree: interval tree of mrs by user address
 * @base_tree: the same by the address that peers use
 * @mrs: mrs by id; ids only grow
 * @next_id: for xa_alloc_cyclic()
 * @watches: te_watch
 * @dead: nothing may be added any more
 * @exported: on the list of exports
 * @export_link: on the list of exports, protected by te_exports_lock
 * @net: network namespace of the export
 * @name: of the export, NUL-terminated
 */
struct te_space {
	struct kref ref;
	struct mm_struct *mm;
	struct mutex reg_lock; /* protects registrations while they pin */
	struct mutex lock; /* protects tree, mrs, watches, dead */
	struct rb_root_cached tree;
	struct rb_root_cached base_tree;
	struct xarray mrs;
	u32 next_id;
	struct list_head watches;
	bool dead;
	bool exported;
	struct list_head export_link;
	struct net *net;
	char name[TE_MAX_NAME + 1];
};

/**
 * struct te_mr_desc - what a peer is told of a region
 * @id: of the region
 * @access: TE_REMOTE_* bits
 * @base: address that peers use
 * @length: bytes
 * @page_off: offset of the first byte in its page; chunks count from there
 * @dev_mask: bit i: mapped on the owner's dev of id i
 * @location: at the owner, who tells only what follows from it; may mean another
 *	place when the region has gone
 */
struct te_mr_desc {
	u32 id;
	u32 access;
	u64 base;
	u64 length;
	u32 page_off;
	u32 dev_mask;
	u32 location;
};

/* Space: made and killed by the context. */
struct te_space *te_space_create(struct mm_struct *mm);
void te_space_kill(struct te_space *space);
void te_space_get(struct te_space *space);
void te_space_put(struct te_space *space);

/**
 * te_space_export() - give a space a name in a network namespace
 * @space: the space
 * @net: network namespace
 * @name: @len bytes, already checked for characters; copied
 * @len: 1 to TE_MAX_NAME
 *
 * Return: 0, -EEXIST name taken or space exported already.
 */
int te_space_export(struct te_space *space, struct net *net, const char *name,
		    size_t len);

/**
 * te_space_find() - exported space by name
 * @net: network namespace
 * @name: @len bytes, any content
 * @len: bytes
 *
 * Return: the space with a reference, or ERR_PTR(-ENOENT).
 */
struct te_space *te_space_find(struct net *net, const char *name, size_t len);

/**
 * te_space_watch() - follow a space
 * @space: the space
 * @watch: callbacks set; on the list until te_space_unwatch() or space_gone
 *
 * News start with the call: walk the regions afterwards.
 *
 * Return: 0, -ESTALE the space is dead.
 */
int te_space_watch(struct te_space *space, struct te_watch *watch);
void te_space_unwatch(struct te_space *space, struct te_watch *watch);

/**
 * te_space_grant() - a peer has opened it
 * @space: the space; takes an own reference
 * @peer: answering side's
 * @handle: number by which the peer names it
 *
 * Return: 0, -ENOMEM.
 */
int te_space_grant(struct te_space *space, struct te_peer *peer, u32 handle);
/* Fine too when it was not granted. */
void te_space_revoke(struct te_peer *peer, u32 handle);
/* What the peer has open by this number, with a reference, or NULL. */
struct te_space *te_space_granted(struct te_peer *peer, u32 handle);

/**
 * te_space_next_mr() - walk the regions that have remote access
 * @space: the space
 * @id: first id to look at
 * @desc: filled
 *
 * Return: 0, -ENOENT none left.
 */
int te_space_next_mr(struct te_space *space, u32 id, struct te_mr_desc *desc);

/**
 * te_space_mr_keys() - remote keys of a region on one dev
 * @space: the space
 * @mr_id: the region
 * @dev_id: the dev
 * @first: first chunk
 * @keys: room for @max keys
 * @max: at most so many
 *
 * Return: keys written (0: @first is behind the last chunk), -ENOENT the region
 * or its map is gone.
 */
int te_space_mr_keys(struct te_space *space, u32 mr_id, u32 dev_id, u32 first,
		     u32 *keys, u32 max);

/* te_mr_ask.location: where the pages are. */
#define TE_LOCATION_PAGES	U32_MAX

/**
 * struct te_mr_ask - what is to become a region
 * @addr: user address; @addr + @len does not wrap
 * @len: bytes, not 0
 * @base: address that peers use, equal to @addr modulo PAGE_SIZE, does not wrap
 * @access: TE_* access bits
 * @location: the caller's for the call, or TE_LOCATION_PAGES
 */
struct te_mr_ask {
	u64 addr;
	u64 len;
	u64 base;
	u32 access;
	u32 location;
};

/**
 * te_mr_register() - pin a range of the current process and make it a region
 * @space: the process's; @space->mm is current->mm
 * @ask: what
 * @map: puts the region on te_mrs and makes its maps, while nobody can find it
 *	yet; 0 or -errno
 * @id: of the region
 *
 * Context: may sleep, killable.
 * Return: 0, -EEXIST overlap of addresses or bases without being equal, -EFAULT,
 * -ENOMEM, -EOPNOTSUPP, -EINTR.
 */
int te_mr_register(struct te_space *space, const struct te_mr_ask *ask,
		   int (*map)(struct te_mr *mr), u32 *id);
/**
 * te_mr_unregister() - drop one registration
 * @space: the space
 * @id: the region
 * @force: cancels the tasks that use it, or NULL: then it must be idle
 * @arg: for @force
 *
 * With the last registration the region cannot be found any more, peers lose
 * access and pages are unpinned before the call returns.
 *
 * Context: may sleep, killable.
 * Return: 0, -ENOENT, -EBUSY, -EINTR (killed while draining: the rest happens
 * behind it).
 */
int te_mr_unregister(struct te_space *space, u32 id,
		     void (*force)(struct te_mr *mr, void *arg), void *arg);
/* Region that holds @addr, or NULL; te_space.lock held, no reference. */
struct te_mr *te_mr_lookup_locked(struct te_space *space, u64 addr);
void te_mr_get(struct te_mr *mr);
void te_mr_put(struct te_mr *mr);
/**
 * te_mr_key() - local key of the chunk that holds an address
 * @mr: the region; the caller's task uses it
 * @dev_id: the dev
 * @addr: user address in the region
 * @key: the key
 * @io_addr: @addr as the dev knows it
 * @room: bytes from @addr to the end of chunk or region
 *
 * Return: false when the region is not mapped on the dev.
 */
bool te_mr_key(struct te_mr *mr, u32 dev_id, u64 addr, u32 *key, u64 *io_addr,
	       u64 *room);

/**
 * te_mr_find_remote() - region that a peer names, for one step of work on it
 * @space: that the peer has open
 * @id: of the region
 * @access: TE_REMOTE_READ or TE_REMOTE_WRITE
 * @addr: the peer's address in the region
 * @len: bytes, not 0; @addr + @len - 1 does not wrap
 *
 * The region cannot go before te_mr_put_remote(), and its unregistering waits
 * for that: nothing that a peer does may come in between.
 *
 * Context: may sleep.
 * Return: the region, ERR_PTR(-ENOENT), ERR_PTR(-EACCES), ERR_PTR(-ERANGE).
 */
struct te_mr *te_mr_find_remote(struct te_space *space, u32 id, u32 access,
				u64 addr, u64 len);
void te_mr_put_remote(struct te_mr *mr);
/**
 * te_mr_lend() - keep a region for longer than a step of work
 * @mr: from te_mr_find_remote(), whose reference stays the caller's
 * @loan: with its @recall; the caller's memory, until te_mr_loan_end()
 *
 * Context: may sleep.
 * Return: false: the region has been taken out of its space meanwhile.
 */
bool te_mr_lend(struct te_mr *mr, struct te_mr_loan *loan);
/* Nobody refers to the pages any more, nor recalls it from now on. May sleep. */
void te_mr_loan_end(struct te_mr_loan *loan);
/**
 * te_mr_bvecs() - pages of a range of a region
 * @mr: the region; the caller keeps it
 * @off: bytes from its first one
 * @len: bytes; @off + @len is inside
 * @bv: room for @max entries
 * @max: entries
 * @bytes: that the entries hold: @len, or what fits
 *
 * Return: entries filled; pages that follow on each other share one.
 */
u32 te_mr_bvecs(const struct te_mr *mr, u64 off, u32 len, struct bio_vec *bv,
		u32 max, u32 *bytes);

/* Frees what must not be freed where the last put happens. */
extern struct workqueue_struct *te_mem_wq;

int te_mem_init(void);
void te_mem_exit(void);

/* Node that most of @nr nodes are; the first of equals. */
int te_most_nodes(const int *nodes, u32 nr);

static inline u64 te_mr_length(const struct te_mr *mr)
{
	return mr->last - mr->addr + 1;
}

/* Pinning: pin.c, used by mr.c only. */
int te_pin(struct te_mr *mr);
void te_unpin(struct te_mr *mr);
/* The space dies: mr.c, used by space.c only. */
void te_mr_drop_all(struct te_space *space);

/**
 * struct te_seg_devs - the devs of a peer that a segment can be reached through
 * @rcu: frees it
 * @nr: entries of @devs
 * @devs: ascending ids
 *
 * Never changed once readers can find it, but replaced.
 */
struct te_seg_devs {
	struct rcu_head rcu;
	u32 nr;
	struct te_rdev devs[];
};

/**
 * struct te_rmr_keys - the keys of a region on one of the peer's devs
 * @link: on te_rmr.keys once all have come; not changed from then on
 * @rcu: frees it
 * @dev_id: of the dev
 * @chunk_shift: of the dev
 * @nr: keys that have come
 * @max: room at @keys; grows as keys come, never by what was announced
 * @keys: by chunk
 */
struct te_rmr_keys {
	struct hlist_node link;
	struct rcu_head rcu;
	u32 dev_id;
	u32 chunk_shift;
	u32 nr;
	u32 max;
	u32 keys[];
};

/**
 * struct te_rmr - a region of an open segment
 * @refs: one for its segment's tree, one for each task that uses it
 * @desc: what the peer said first; checked
 * @last: address of the last byte
 * @rb: in te_seg.tree
 * @subtree_last: belongs to @rb
 * @live: all keys it waited for have come and it is in the tree
 * @gone: the peer took it away; tasks that use it end with -ESTALE
 * @due: devs whose keys must come before it is @live
 * @nr_due: keys that must come before that
 * @coming: of the dev whose keys come in, or NULL
 * @keys: te_rmr_keys, one for each dev, RCU
 * @far: bit i: the peer's dev i is far from it, and others are nearer; read as it is
 */
struct te_rmr {
	refcount_t refs;
	struct te_mr_desc desc;
	u64 last;
	struct rb_node rb;
	u64 subtree_last;
	bool live;
	bool gone;
	u32 due;
	u32 nr_due;
	struct te_rmr_keys *coming;
	struct hlist_head keys;
	u32 far;
};

enum te_seg_state {
	TE_SEG_OPENING,
	TE_SEG_READY,
	TE_SEG_GONE,
};

/**
 * struct te_seg - a segment of a peer, opened by a context
 * @ref: the context's id table, each task, and the session hold one
 * @peer: whose it is; holds a reference
 * @transport: TE_ANY or the one that was forced
 * @opened: of the session room: its side of an open segment, or NULL
 * @ended: with @opened: told when nothing uses the segment any more; may sleep
 * @handle: the peer's number for it; set before it is READY
 * @settled: completed when READY or GONE for the first time
 * @lock: protects all below; never held while anything waits
 * @state: te_seg_state
 * @error: with GONE: -errno why
 * @devs: the peer's devs, RCU; movers look here, by te_seg_find_dev()
 * @next_devs: what @devs will be at the next te_seg_ready(), or NULL: the same
 * @rmrs: te_rmr by id, live or not
 * @tree: interval tree of live rmrs by address
 * @nr_rmrs: in @rmrs, capped
 * @nr_live: in @tree
 * @total_keys: over all rmrs, capped
 * @free_work: frees it
 * @memcg: who is charged for the description: the opener, or NULL
 */
struct te_seg {
	struct kref ref;
	struct te_peer *peer;
	u32 transport;
	struct te_open *opened;
	void (*ended)(struct te_open *opened);
	u32 handle;
	struct completion settled;
	struct mutex lock; /* protects state, writing of devs, rmrs, tree, counts */
	enum te_seg_state state;
	int error;
	struct te_seg_devs __rcu *devs;
	struct te_seg_devs *next_devs;
	struct xarray rmrs;
	struct rb_root_cached tree;
	u32 nr_rmrs;
	u32 nr_live;
	u32 total_keys;
	struct mem_cgroup *memcg;
	struct work_struct free_work;
};

/* Caps on what one peer may make us keep for one segment. */
#define TE_SEG_MAX_RMRS		BIT(20)
#define TE_SEG_MAX_KEYS		BIT(22)

/**
 * te_seg_create() - a segment in state OPENING
 * @peer: takes an own reference
 * @transport: TE_ANY ...
 *
 * Return: the segment with one reference, or ERR_PTR(-ENOMEM).
 */
struct te_seg *te_seg_create(struct te_peer *peer, u32 transport);
void te_seg_get(struct te_seg *seg);
void te_seg_put(struct te_seg *seg);

/*
 * Description, as its pages come in over the session. All of these check what
 * they are given and return 0, -EPROTO (the session is to be closed), or -ENOMEM
 * or -E2BIG (the segment cannot be opened here).
 */
int te_seg_add_devs(struct te_seg *seg, const struct te_rdev *rdevs, u32 nr);
int te_seg_add_mr(struct te_seg *seg, const struct te_mr_desc *desc);
int te_seg_add_keys(struct te_seg *seg, u32 mr_id, const __le32 *keys, u32 nr);
/*
 * Keys from chunk @first on, of a region that is there, on a dev that was
 * described after it or again. They replace what it has when all have come. For
 * lack of memory it does without: never -ENOMEM or -E2BIG.
 */
int te_seg_add_dev_keys(struct te_seg *seg, u32 mr_id, u32 dev_id, u32 first,
			const __le32 *keys, u32 nr);
/* Of a region that is there, live or not, devs of the ids in @mask are far. */
int te_seg_set_far(struct te_seg *seg, u32 mr_id, u32 mask);
/* Devs of the ids in @mask are gone, and all keys on them, at once. */
int te_seg_del_devs(struct te_seg *seg, u32 mask);
int te_seg_del_mr(struct te_seg *seg, u32 mr_id);
/* What was described is complete: its devs can be used. */
void te_seg_use_devs(struct te_seg *seg);
/* The same, and it is READY, unless GONE already. */
void te_seg_ready(struct te_seg *seg);
/* GONE with -errno @error (the first one counts); wakes who waits for it. */
void te_seg_fail(struct te_seg *seg, int error);

static inline bool te_seg_gone(const struct te_seg *seg)
{
	return READ_ONCE(seg->state) == TE_SEG_GONE;
}

/* The peer's devs as they are now, to walk them. RCU read side held. */
static inline const struct te_seg_devs *te_seg_devs(const struct te_seg *seg)
{
	return rcu_dereference(seg->devs);
}

/**
 * te_seg_find_dev() - a dev of the peer as it is now
 * @seg: the segment
 * @dev_id: any number
 * @rdev: copied to
 *
 * Context: any.
 * Return: false when the peer has no such dev, or not any more.
 */
bool te_seg_find_dev(const struct te_seg *seg, u32 dev_id,
		     struct te_rdev *rdev);

/* Lookup on the submit path. */
struct te_rmr *te_rmr_lookup_locked(struct te_seg *seg, u64 addr);
void te_rmr_get(struct te_rmr *rmr);
void te_rmr_put(struct te_rmr *rmr);

/**
 * te_rmr_key() - remote key of the chunk that holds an address
 * @rmr: the region; the caller's task uses it
 * @dev_id: of the peer's dev, any number
 * @addr: address in the region
 * @key: the key
 * @room: bytes from @addr to the end of chunk or region
 *
 * Context: any.
 * Return: false when the region is not mapped on the dev, as far as the peer
 * has told.
 */
bool te_rmr_key(const struct te_rmr *rmr, u32 dev_id, u64 addr, u32 *key,
		u64 *room);

/**
 * te_seg_buffers() - copy descriptions out by ascending address
 * @seg: the segment
 * @first: address to start from
 * @bufs: room for @max entries
 * @max: entries
 *
 * Return: entries written.
 */
u32 te_seg_buffers(struct te_seg *seg, u64 first, struct te_buffer *bufs,
		   u32 max);

#endif /* TE_MEM_H */

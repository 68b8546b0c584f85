/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * peer: nodes with a live session, the tokens by which data connections are
 * recognised, and the queue of what waits to go there.
 *
 * A session makes a te_peer and kills it when it is lost. Segments, endpoints
 * and connections keep the memory alive, not the session. Only accepted peers
 * are published: the node that was dialled answers for the token. Process
 * context.
 */
#ifndef TE_PEER_H
#define TE_PEER_H

#include <linux/atomic.h>
#include <linux/in6.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/xarray.h>

struct net;

/* Devs of one node: in masks of 32 bits. */
#define TE_MAX_DEVS		32
/* Contexts that share a peer fairly; more of them share turns. */
#define TE_NR_FLOWS		16U

/* Far more than a node's devs need: QPs times devs times devs. */
#define TE_PEER_MAX_CONNS	1024U

/**
 * struct te_conn - a connection that a peer opened to us
 * @link: on te_peer.conns
 * @kill: start taking it down; must not sleep; te_peer.lock is held, and it may be
 *	called again; the owner then removes it with te_peer_del_conn()
 */
struct te_conn {
	struct list_head link;
	void (*kill)(struct te_conn *conn);
};

/**
 * struct te_rdev - a peer's dev, as its description tells
 * @addr: IPv4-mapped or IPv6 address of its connection manager; TCP and local:
 *	unspecified
 * @port: of its connection manager or listener, host byte order
 * @chunk_shift: of its registrations, PAGE_SHIFT of its node to 40
 * @dev_id: its id at the peer, below TE_MAX_DEVS
 * @numa_node: -1 unknown
 * @transport: TE_RDMA, TE_TCP or TE_LOCAL
 * @mtu: RDMA: enum ib_mtu of its port, 0 unknown
 */
struct te_rdev {
	struct in6_addr addr;
	u16 port;
	u16 chunk_shift;
	u32 dev_id;
	s32 numa_node;
	u32 transport;
	u8 mtu;
};

/**
 * struct te_flow - tasks of some contexts
 * @tasks: te_task.link, next one first
 * @nr: of @tasks
 * @credit: bytes left of its turn; less than 0: taken in advance
 * @firsts: how often a task was put in front; wraps
 */
struct te_flow {
	struct list_head tasks;
	u32 nr;
	s32 credit;
	u32 firsts;
};

/**
 * struct te_path - what waits to go to a peer, and the rails that pull from it
 * @lock: protects all of it; te_batch.lock and te_queue.lock nest inside
 * @flows: contexts spread over them, and have their turns in order, whatever
 *	number of tasks each has
 * @flow: whose turn it is
 * @nr: tasks in @flows
 * @rails: te_rail.path_link, the one that had work last comes last
 * @nr_rails: of @rails
 * @nr_short: those of them that get nothing to connect with
 * @rdev_mask: ids of the peer's devs
 * @rdevs: the peer's devs by id
 *
 * Filled by the worker room; here it only lives and dies.
 */
struct te_path {
	spinlock_t lock; /* protects all below */
	struct te_flow flows[TE_NR_FLOWS];
	u32 flow;
	u32 nr;
	struct list_head rails;
	u32 nr_rails;
	u32 nr_short;
	u32 rdev_mask;
	struct te_rdev rdevs[TE_MAX_DEVS];
};

/**
 * struct te_peer - a node with a live session
 * @ref: the session, each te_seg, each te_ep and each te_conn hold one
 * @id: of this object, never reused: key of the endpoint stores
 * @token: secret both nodes know, chosen by the accepting one; a data
 *	connection must show it
 * @link: with all peers
 * @path: what waits to go there
 * @node_id: of the peer, from its hello
 * @boot_gen: of the peer, from its hello
 * @addr: the address its session runs to (IPv4-mapped or IPv6)
 * @scope_id: of a link-local @addr
 * @net: that the session lives in; holds a reference
 * @own: it is this node itself, or says so
 * @grants: answering side: te_space by the number of the open segment, each with
 *	a reference; see te_space_grant()
 * @lock: protects all below
 * @error: 0, or -errno: the session is lost, for ever
 * @nr_conns: on @conns, at most TE_PEER_MAX_CONNS
 * @conns: te_conn, connections the peer opened
 * @nr_segs: te_segs of it, closed ones too while tasks use them: the session
 *	does not hang up on them
 */
struct te_peer {
	struct kref ref;
	u64 id;
	u64 token;
	struct list_head link;
	struct te_path path;
	u8 node_id[16];
	u64 boot_gen;
	struct in6_addr addr;
	u32 scope_id;
	struct net *net;
	bool own;
	struct xarray grants;
	spinlock_t lock; /* protects error, nr_conns, conns */
	int error;
	u32 nr_conns;
	struct list_head conns;
	atomic_t nr_segs;
};

struct te_peer *te_peer_create(struct net *net, const struct in6_addr *addr,
			       u32 scope_id);
void te_peer_get(struct te_peer *peer);
void te_peer_put(struct te_peer *peer);
/*
 * Walk over all peers, published or not: the one after @prev, whose reference it
 * takes over, with a reference. NULL: that was the last, or there is none.
 */
struct te_peer *te_peer_next(struct te_peer *prev);
/**
 * te_peer_publish() - give an accepted peer a token and make it findable
 * @peer: the peer; te_peer_kill() takes it back
 *
 * Return: 0 with te_peer.token set, or -ENOMEM.
 */
int te_peer_publish(struct te_peer *peer);
/* Published, not dead peer of this token, with a reference, or NULL. */
struct te_peer *te_peer_find(u64 token);
/**
 * te_peer_bury() - unpublish it, mark it dead and kill its connections
 * @peer: the peer
 * @error: -errno for what still runs over it, not 0
 *
 * For te_peer_kill() (xport.h), which also stops the tasks.
 *
 * Return: true the first time.
 */
bool te_peer_bury(struct te_peer *peer, int error);
/*
 * The owner of @conn holds a reference of @peer and has set @kill and
 * initialised @link. False: the peer is dead or has too many: not added.
 */
bool te_peer_add_conn(struct te_peer *peer, struct te_conn *conn);
/*
 * Kill connections of the peer for which @old says so, te_peer.lock held. Return:
 * whether there are any: they are gone when there are none.
 */
bool te_peer_kill_conns(struct te_peer *peer,
			bool (*old)(struct te_conn *conn, void *arg),
			void *arg);
/* Fine too when it was not added. */
void te_peer_del_conn(struct te_peer *peer, struct te_conn *conn);

/* 0 while the session lives, else -errno why it does not. */
static inline int te_peer_error(const struct te_peer *peer)
{
	return READ_ONCE(peer->error);
}

#endif /* TE_PEER_H */

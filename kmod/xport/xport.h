/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * xport: the transport contract. A transport registers its te_devs here; core,
 * endpoint and worker use them through te_transport_ops without knowing what is
 * behind. Also te_peer, the identity of a node with a live session, which the
 * rooms below session share.
 */
#ifndef TE_XPORT_H
#define TE_XPORT_H

#include <linux/in6.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>

#include "mem/mem.h"

struct te_ep;
struct te_slice;
struct te_worker;

/**
 * struct te_conn - a connection that a peer opened to us
 * @link: on te_peer.conns
 * @kill: start taking it down; must not sleep; called once, with te_peer.lock
 *	held; the owner then removes it with te_peer_del_conn()
 */
struct te_conn {
	struct list_head link;
	void (*kill)(struct te_conn *conn);
};

/**
 * struct te_peer - a node with a live session
 * @ref: the session, each te_seg, each te_ep and each te_conn hold one
 * @id: of this object, never reused: key of the endpoint stores
 * @token: secret both nodes know, chosen by the accepting one; a data
 *	connection must show it
 * @node_id: of the peer, from its hello
 * @boot_gen: of the peer, from its hello
 * @addr: the address its session runs to (IPv4-mapped or IPv6)
 * @scope_id: of a link-local @addr
 * @lock: protects @dead against new @conns
 * @dead: the session is lost; never becomes false again
 * @error: with @dead: -errno why
 * @conns: te_conn, connections the peer opened
 */
struct te_peer {
	struct kref ref;
	u64 id;
	u64 token;
	u8 node_id[16];
	u64 boot_gen;
	struct in6_addr addr;
	u32 scope_id;
	spinlock_t lock; /* protects dead, conns */
	bool dead;
	int error;
	struct list_head conns;
};

struct te_peer *te_peer_create(const struct in6_addr *addr, u32 scope_id);
void te_peer_get(struct te_peer *peer);
void te_peer_put(struct te_peer *peer);
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
 * te_peer_kill() - the session is lost
 * @peer: the peer; may be killed more than once
 * @error: -errno for what still runs over it
 *
 * Unpublishes it, kills its connections and makes the movers look for tasks
 * that have lost their peer. May sleep.
 */
void te_peer_kill(struct te_peer *peer, int error);
/* Return: 0, or -ESTALE the peer is dead. Takes a reference of @peer. */
int te_peer_add_conn(struct te_peer *peer, struct te_conn *conn);
void te_peer_del_conn(struct te_peer *peer, struct te_conn *conn);

static inline bool te_peer_dead(const struct te_peer *peer)
{
	return READ_ONCE(peer->dead);
}


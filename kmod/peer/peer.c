// SPDX-License-Identifier: GPL-2.0-only
/*
 * peer: identity of a node with a live session. See peer.h.
 */
#include <linux/ipv6.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include <net/net_namespace.h>

#include "peer/peer.h"

/* Published peers by the low half of their token. */
static DEFINE_XARRAY(te_peers);
static atomic64_t te_peer_ids;
static DEFINE_SPINLOCK(te_peer_list_lock);
static LIST_HEAD(te_peer_list);

static void path_init(struct te_path *path)
{
	u32 i;

	spin_lock_init(&path->lock);
	INIT_LIST_HEAD(&path->rails);
	for (i = 0; i < TE_NR_FLOWS; i++)
		INIT_LIST_HEAD(&path->flows[i].tasks);
}

struct te_peer *te_peer_create(struct net *net, const struct in6_addr *addr,
			       u32 scope_id)
{
	struct te_peer *peer;

	peer = kzalloc(sizeof(*peer), GFP_KERNEL_ACCOUNT);
	if (!peer)
		return NULL;
	kref_init(&peer->ref);
	peer->id = atomic64_inc_return(&te_peer_ids);
	peer->addr = *addr;
	peer->scope_id = scope_id;
	peer->net = get_net(net);
	xa_init(&peer->grants);
	spin_lock_init(&peer->lock);
	INIT_LIST_HEAD(&peer->conns);
	path_init(&peer->path);
	spin_lock(&te_peer_list_lock);
	list_add(&peer->link, &te_peer_list);
	spin_unlock(&te_peer_list_lock);
	return peer;
}

void te_peer_get(struct te_peer *peer)
{
	kref_get(&peer->ref);
}

static void peer_release(struct kref *ref)
{
	struct te_peer *peer = container_of(ref, struct te_peer, ref);

	spin_lock(&te_peer_list_lock);
	list_del(&peer->link);
	spin_unlock(&te_peer_list_lock);
	xa_destroy(&peer->grants);
	put_net(peer->net);
	kfree(peer);
}

void te_peer_put(struct te_peer *peer)
{
	kref_put(&peer->ref, peer_release);
}

struct te_peer *te_peer_next(struct te_peer *prev)
{
	struct te_peer *peer;

	spin_lock(&te_peer_list_lock);
	peer = prev ? prev : list_entry(&te_peer_list, struct te_peer, link);
	list_for_each_entry_continue(peer, &te_peer_list, link) {
		/* One that is being released is still listed. */
		if (kref_get_unless_zero(&peer->ref))
			break;
	}
	if (list_entry_is_head(peer, &te_peer_list, link))
		peer = NULL;
	spin_unlock(&te_peer_list_lock);
	if (prev)
		te_peer_put(prev);
	return peer;
}

int te_peer_publish(struct te_peer *peer)
{
	int ret;

	/* All of it is secret; its low half is the index. */
	do {
		peer->token = get_random_u64();
		ret = xa_insert(&te_peers, lower_32_bits(peer->token), peer,
				GFP_KERNEL);
	} while (ret == -EBUSY);
	return ret;
}

struct te_peer *te_peer_find(u64 token)
{
	struct te_peer *peer;

	xa_lock(&te_peers);
	peer = xa_load(&te_peers, lower_32_bits(token));
	if (peer && peer->token == token)
		kref_get(&peer->ref);
	else
		peer = NULL;
	xa_unlock(&te_peers);
	return peer;
}

static void peer_unpublish(struct te_peer *peer)
{
	xa_lock(&te_peers);
	if (xa_load(&te_peers, lower_32_bits(peer->token)) == peer)
		__xa_erase(&te_peers, lower_32_bits(peer->token));
	xa_unlock(&te_peers);
}

bool te_peer_bury(struct te_peer *peer, int error)
{
	struct te_conn *conn;
	bool first;

	peer_unpublish(peer);

	spin_lock(&peer->lock);
	first = !peer->error;
	if (first) {
		WRITE_ONCE(peer->error, error ?: -ECONNRESET);
		list_for_each_entry(conn, &peer->conns, link)
			conn->kill(conn);
	}
	spin_unlock(&peer->lock);

	return first;
}

bool te_peer_add_conn(struct te_peer *peer, struct te_conn *conn)
{
	bool ok;

	spin_lock(&peer->lock);
	ok = !peer->error && peer->nr_conns < TE_PEER_MAX_CONNS;
	if (ok) {
		list_add(&conn->link, &peer->conns);
		peer->nr_conns++;
	}
	spin_unlock(&peer->lock);
	return ok;
}

bool te_peer_kill_conns(struct te_peer *peer,
			bool (*old)(struct te_conn *conn, void *arg), void *arg)
{
	struct te_conn *conn;
	bool any = false;

	spin_lock(&peer->lock);
	list_for_each_entry(conn, &peer->conns, link) {
		if (!old(conn, arg))
			continue;
		conn->kill(conn);
		any = true;
	}
	spin_unlock(&peer->lock);
	return any;
}

void te_peer_del_conn(struct te_peer *peer, struct te_conn *conn)
{
	spin_lock(&peer->lock);
	if (!list_empty(&conn->link)) {
		list_del_init(&conn->link);
		peer->nr_conns--;
	}
	spin_unlock(&peer->lock);
}

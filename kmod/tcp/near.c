// SPDX-License-Identifier: GPL-2.0-only
/*
 * tcp/near: lanes with both ends on this node.
 *
 * What a peer says of itself does not tell; that an accepted socket is the other end of
 * one that te has dialled does. On such a lane pages are sent that no socket buffer
 * counts: those that one does are copied by the network stack when they turn round, as
 * it cannot know for how long a receiver keeps them (skb_orphan_frags_rx()). But here te
 * is the receiver, and frees what it has read (lane.c). The pages of a WRITE are quiet
 * after its answer, or when both ends are closed, which the endpoint that asks waits for.
 * Those of a READ are on loan until the asking end has read them, or is closed. What is
 * still queued anywhere then has nobody to go to, but who taps the loopback device: see
 * SECURITY.md.
 *
 * Asking ends are in a table, from before the first byte until just before their socket
 * goes; the answering end looks for its own once. Process context.
 */
#include <linux/hashtable.h>
#include <linux/net.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include <net/inet_sock.h>
#include <net/ipv6.h>
#include <net/sock.h>

#include "peer/peer.h"
#include "tcp/tcp.h"

/* By their port. */
static DEFINE_HASHTABLE(te_tcp_nears, 10);
static DEFINE_SPINLOCK(te_tcp_near_lock); /* protects the table */

void te_tcp_near_init(struct te_tcp_near *near, struct te_tcp_lane *lane,
		      struct ubuf_info *quiet)
{
	INIT_HLIST_NODE(&near->node);
	near->lane = lane;
	near->quiet = quiet;
	spin_lock_init(&near->lock);
	INIT_LIST_HEAD(&near->loans);
}

void te_tcp_near_add(struct te_tcp_near *near)
{
	u32 port = READ_ONCE(near->lane->sock->sk->sk_num);

	spin_lock(&te_tcp_near_lock);
	hash_add(te_tcp_nears, &near->node, port);
	spin_unlock(&te_tcp_near_lock);
}

void te_tcp_near_del(struct te_tcp_near *near)
{
	spin_lock(&te_tcp_near_lock);
	hash_del(&near->node);
	spin_unlock(&te_tcp_near_lock);
}

/* @a's source is @b's destination. A socket that has failed may lose its port. */
static bool leads_from(const struct sock *a, const struct sock *b)
{
	if (htons(READ_ONCE(a->sk_num)) != READ_ONCE(b->sk_dport))
		return false;
#if IS_ENABLED(CONFIG_IPV6)
	/* IPv4's are mapped ones: sk_daddr_set(), sk_rcv_saddr_set(). */
	return ipv6_addr_equal(&a->sk_v6_rcv_saddr, &b->sk_v6_daddr);
#else
	return a->sk_rcv_saddr == b->sk_daddr;
#endif
}

/* Not before the asker is connected: until then others may have the same addresses. */
static bool is_one_connection(const struct sock *asker, const struct sock *sk)
{
	return inet_sk_state_load(asker) == TCP_ESTABLISHED &&
	       sock_net(asker) == sock_net(sk) && leads_from(asker, sk) &&
	       leads_from(sk, asker) &&
	       READ_ONCE(asker->sk_bound_dev_if) ==
	       READ_ONCE(sk->sk_bound_dev_if);
}

struct te_tcp_near *te_tcp_near_find(struct socket *sock, struct te_conn *conn)
{
	const struct sock *sk = sock->sk;
	struct te_tcp_near *near;

	if (sock_net(sk)->user_ns != &init_user_ns)
		return NULL;
	spin_lock(&te_tcp_near_lock);
	hash_for_each_possible(te_tcp_nears, near, node, ntohs(sk->sk_dport)) {
		if (is_one_connection(near->lane->sock->sk, sk))
			break;
	}
	if (near) {
		net_zcopy_get(near->quiet);
		spin_lock(&near->lock);
		near->conn = conn;
		spin_unlock(&near->lock);
		WRITE_ONCE(near->found, true);
	}
	spin_unlock(&te_tcp_near_lock);
	return near;
}

void te_tcp_near_put(struct te_tcp_near *near)
{
	spin_lock(&near->lock);
	near->conn = NULL;
	spin_unlock(&near->lock);
	net_zcopy_put(near->quiet);
}

bool te_tcp_near_lend(struct te_tcp_near *near, struct te_tcp_loan *loan,
		      u32 tag)
{
	bool ok;

	spin_lock(&near->lock);
	ok = !near->closed;
	if (ok) {
		te_tcp_loan_get(loan);
		loan->tag = tag;
		list_add_tail(&loan->link, &near->loans);
	}
	spin_unlock(&near->lock);
	return ok;
}

/* Loans stand in the order of requests, which is that of @tag. */
void te_tcp_near_settle(struct te_tcp_near *near, u32 tag)
{
	struct te_tcp_loan *loan;

	spin_lock(&near->lock);
	loan = list_first_entry_or_null(&near->loans, struct te_tcp_loan, link);
	if (loan && loan->tag == tag)
		list_del(&loan->link);
	else
		loan = NULL;
	spin_unlock(&near->lock);
	if (loan)
		te_tcp_loan_put(loan);
}

void te_tcp_near_close(struct te_tcp_near *near)
{
	struct te_tcp_loan *loan, *next;
	LIST_HEAD(loans);

	spin_lock(&near->lock);
	near->closed = true;
	if (near->conn)
		near->conn->kill(near->conn);
	list_splice_init(&near->loans, &loans);
	spin_unlock(&near->lock);
	list_for_each_entry_safe(loan, next, &loans, link)
		te_tcp_loan_put(loan);
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sock: what all of te's TCP sockets have in common: how they are made, dialled,
 * and let go of, and whose callbacks they run.
 *
 * sk_user_data points to the owner's object while the callbacks are the owner's.
 * Both change under sk_callback_lock, and a callback holds that lock while it uses
 * the object: so after te_sock_restore() none is running, and none will.
 */
#ifndef TE_SOCK_H
#define TE_SOCK_H

#include <linux/types.h>

struct in6_addr;
struct net;
struct sock;
struct socket;

/**
 * struct te_sock_calls - callbacks of a socket as the network stack set them
 * @data_ready: sk_data_ready
 * @write_space: sk_write_space
 * @state_change: sk_state_change
 */
struct te_sock_calls {
	void (*data_ready)(struct sock *sk);
	void (*write_space)(struct sock *sk);
	void (*state_change)(struct sock *sk);
};

/* All of these are for process context. */
int te_sock_create(struct net *net, int family, struct socket **sock);
/* The callbacks of a socket that nobody has changed yet. */
void te_sock_save(struct socket *sock, struct te_sock_calls *calls);
/**
 * te_sock_own() - run an owner's callback
 * @sock: the socket
 * @owner: for sk_user_data
 * @call: for all that comes, and for room to send; softirq context; takes
 *	sk_callback_lock and looks at sk_user_data
 *
 * What came before is not told.
 */
void te_sock_own(struct socket *sock, void *owner,
		 void (*call)(struct sock *sk));
/* Afterwards no callback of ours runs. */
void te_sock_restore(struct socket *sock, const struct te_sock_calls *calls);
/* Restore and release: what is on its way is for TCP to bring to an end. */
void te_sock_release(struct socket *sock, const struct te_sock_calls *calls);
/* The same, but what is on its way is thrown away and the peer sees a reset. */
void te_sock_abort(struct socket *sock, const struct te_sock_calls *calls);
/**
 * te_sock_connect() - a socket that begins to connect
 * @net: namespace
 * @addr: IPv4-mapped or IPv6
 * @scope_id: of a link-local address
 * @port: host byte order
 * @sock: filled when there is one, also on failure: release it
 * @calls: its callbacks
 * @owner: see te_sock_own()
 * @call: see te_sock_own()
 *
 * Return: 0: see te_sock_connected() from now on, or -errno.
 */
int te_sock_connect(struct net *net, const struct in6_addr *addr, u32 scope_id,
		    u16 port, struct socket **sock, struct te_sock_calls *calls,
		    void *owner, void (*call)(struct sock *sk));
/* Return: 0, -EINPROGRESS, or why it failed. */
int te_sock_connected(struct socket *sock);
/* What sockets say, in words of the errno table. */
int te_sock_errno(int error);

#endif /* TE_SOCK_H */

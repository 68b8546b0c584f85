// SPDX-License-Identifier: GPL-2.0-only
/*
 * sock: making, dialling and releasing sockets. See sock.h.
 */
#include <linux/net.h>
#include <linux/tcp.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "sock/sock.h"

/*
 * Not sock_create_kern(): such a socket does not hold its namespace, yet after
 * its release TCP goes on with it until the peer has acknowledged all.
 */
int te_sock_create(struct net *net, int family, struct socket **sock)
{
	return __sock_create(net, family, SOCK_STREAM, IPPROTO_TCP, sock, 0);
}

static void sock_write_space(struct sock *sk)
{
	bool room;

	read_lock_bh(&sk->sk_callback_lock);
	room = sk->sk_user_data && sk_stream_is_writeable(sk);
	if (room)
		clear_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	read_unlock_bh(&sk->sk_callback_lock);
	/* The owner's, which looks for itself: one for all that happens. */
	if (room)
		sk->sk_data_ready(sk);
}

void te_sock_save(struct socket *sock, struct te_sock_calls *calls)
{
	calls->data_ready = sock->sk->sk_data_ready;
	calls->write_space = sock->sk->sk_write_space;
	calls->state_change = sock->sk->sk_state_change;
}

void te_sock_own(struct socket *sock, void *owner,
		 void (*call)(struct sock *sk))
{
	struct sock *sk = sock->sk;

	/* Requests and answers are whole frames: nothing to be gained by waiting. */
	tcp_sock_set_nodelay(sk);
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = owner;
	sk->sk_data_ready = call;
	sk->sk_state_change = call;
	sk->sk_write_space = sock_write_space;
	write_unlock_bh(&sk->sk_callback_lock);
}

void te_sock_restore(struct socket *sock, const struct te_sock_calls *calls)
{
	struct sock *sk = sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = NULL;
	sk->sk_data_ready = calls->data_ready;
	sk->sk_write_space = calls->write_space;
	sk->sk_state_change = calls->state_change;
	write_unlock_bh(&sk->sk_callback_lock);
}

void te_sock_release(struct socket *sock, const struct te_sock_calls *calls)
{
	te_sock_restore(sock, calls);
	sock_release(sock);
}

void te_sock_abort(struct socket *sock, const struct te_sock_calls *calls)
{
	sock_no_linger(sock->sk);
	te_sock_release(sock, calls);
}

static int sock_addr(struct sockaddr_storage *ss, const struct in6_addr *addr,
		     u32 scope_id, u16 port)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ss;
	struct sockaddr_in *in = (struct sockaddr_in *)ss;

	memset(ss, 0, sizeof(*ss));
	if (ipv6_addr_v4mapped(addr)) {
		in->sin_family = AF_INET;
		in->sin_addr.s_addr = addr->s6_addr32[3];
		in->sin_port = htons(port);
		return sizeof(*in);
	}
	in6->sin6_family = AF_INET6;
	in6->sin6_addr = *addr;
	in6->sin6_scope_id = scope_id;
	in6->sin6_port = htons(port);
	return sizeof(*in6);
}

int te_sock_connect(struct net *net, const struct in6_addr *addr, u32 scope_id,
		    u16 port, struct socket **sock, struct te_sock_calls *calls,
		    void *owner, void (*call)(struct sock *sk))
{
	struct sockaddr_storage ss;
	int len, ret;

	len = sock_addr(&ss, addr, scope_id, port);
	ret = te_sock_create(net, ss.ss_family, sock);
	if (ret) {
		*sock = NULL;
		return ret;
	}
	te_sock_save(*sock, calls);
	te_sock_own(*sock, owner, call);
	ret = kernel_connect(*sock, (struct sockaddr *)&ss, len, O_NONBLOCK);
	return ret == -EINPROGRESS ? 0 : ret;
}

int te_sock_connected(struct socket *sock)
{
	struct sock *sk = sock->sk;
	int ret;

	switch (inet_sk_state_load(sk)) {
	case TCP_SYN_SENT:
	case TCP_SYN_RECV:
		return -EINPROGRESS;
	case TCP_CLOSE:
		ret = sock_error(sk);
		return ret ? ret : -ECONNREFUSED;
	default:
		return 0;
	}
}

int te_sock_errno(int error)
{
	switch (error) {
	case -ECONNREFUSED:
	case -EHOSTUNREACH:
	case -ENETUNREACH:
	case -ETIMEDOUT:
		return error;
	case -EHOSTDOWN:
	case -EACCES:
	case -EPERM:
		return -EHOSTUNREACH;
	case -ENETDOWN:
	case -ENONET:
	case -EADDRNOTAVAIL:
	case -EAFNOSUPPORT:
	case -ENODEV:
	case -EINVAL: /* a blackhole route */
		return -ENETUNREACH;
	case -ENFILE:
	case -ENOBUFS:
	case -ENOMEM:
		return -ENOMEM;
	default:
		return -ECONNRESET;
	}
}

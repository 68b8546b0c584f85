// SPDX-License-Identifier: GPL-2.0-only
/*
 * session/listen: listeners, and who is let in.
 *
 * A te_listener exists while a context exports in its network namespace; its
 * socket holds the namespace. The socket's callback only queues the accept
 * work, which admits or refuses what is in the backlog and gives each new
 * socket to a session of its own.
 *
 * Accepted sockets start with the listener's callbacks and its sk_user_data:
 * the callback looks at sockets in state LISTEN only, and whoever gets the
 * socket is told which callbacks it had before us.
 */
#include <linux/mutex.h>
#include <linux/net.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <linux/uio.h>
#include <net/addrconf.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/sock.h>

#include "event/count.h"
#include "fault/fault.h"
#include "session/priv.h"

/* Connections that wait while the accept work is busy. */
#define TE_LISTEN_BACKLOG	128
/* Accepted in one run; then other works get their turn. */
#define TE_LISTEN_BUDGET	64
/* After a failure that is not the peer's. */
#define TE_LISTEN_RETRY_MS	100

/**
 * struct te_listener - listening socket of a network namespace
 * @link: on te_listeners
 * @net: borrowed from the socket
 * @users: calls of te_session_listen(), protected by te_listen_mutex
 * @sock: the socket
 * @calls: its original callbacks
 * @accept_work: queued by its callback; again later when out of memory or files
 */
struct te_listener {
	struct list_head link;
	struct net *net;
	unsigned int users;
	struct socket *sock;
	struct te_sock_calls calls;
	struct delayed_work accept_work;
};

static DEFINE_MUTEX(te_listen_mutex); /* protects te_listeners */
static LIST_HEAD(te_listeners);

static bool addr_is_ours(struct net *net, const struct te_session_addr *addr)
{
	struct net_device *dev = NULL;
	bool ours;

	if (ipv6_addr_v4mapped(&addr->addr))
		return inet_addr_type(net, addr->addr.s6_addr32[3]) == RTN_LOCAL;
	if (!IS_ENABLED(CONFIG_IPV6))
		return false;

	rcu_read_lock();
	/* A link-local address is ours only on its own link. */
	if (addr->scope_id)
		dev = dev_get_by_index_rcu(net, addr->scope_id);
	ours = (dev || !addr->scope_id) &&
	       ipv6_chk_addr(net, &addr->addr, dev, dev ? 1 : 0);
	rcu_read_unlock();
	return ours;
}

static int sock_peer(struct socket *sock, struct te_session_addr *addr)
{
	struct sockaddr_storage ss;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&ss;
	struct sockaddr_in *in = (struct sockaddr_in *)&ss;
	int ret;

	ret = kernel_getpeername(sock, (struct sockaddr *)&ss);
	if (ret < 0)
		return ret;
	memset(addr, 0, sizeof(*addr));
	if (ss.ss_family == AF_INET) {
		ipv6_addr_set_v4mapped(in->sin_addr.s_addr, &addr->addr);
		addr->port = ntohs(in->sin_port);
	} else {
		addr->addr = in6->sin6_addr;
		addr->scope_id = in6->sin6_scope_id;
		addr->port = ntohs(in6->sin6_port);
	}
	return 0;
}

/* Without a session: one answer, if it fits, and out. */
static void listen_refuse(struct te_listener *l, struct socket *sock)
{
	struct te_msg_hello_reply reply = {
		.status = TE_WIRE_ERR_DENIED,
		.version = TE_WIRE_VERSION_MAX,
	};
	u8 buf[TE_WIRE_FRAME(sizeof(struct te_wire_hello_reply))] __aligned(8);
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	struct kvec iov = { .iov_base = buf };

	iov.iov_len = te_wire_hello_reply_encode(buf, &reply);
	kernel_sendmsg(sock, &msg, &iov, 1, iov.iov_len);
	te_sock_release(sock, &l->calls);
}

static void listen_admit(struct te_listener *l, struct socket *sock)
{
	struct te_session_addr addr;

	if (sock_peer(sock, &addr)) {
		/* Gone again. */
		te_sock_release(sock, &l->calls);
		return;
	}
	if (!addr_is_ours(l->net, &addr)) {
		if (!READ_ONCE(te_session_insecure)) {
			te_count(TE_NR_SESSIONS_REFUSED, 1);
			pr_notice_once("te: refused %pI6c: peers on other hosts need insecure=1\n",
				       &addr.addr);
			listen_refuse(l, sock);
			return;
		}
		pr_notice_once("te: insecure=1: letting in %pI6c without authentication\n",
			       &addr.addr);
	}
	te_session_accept(l->net, &addr, sock, &l->calls);
}

/* Context: any. */
static void listen_run(struct te_listener *l, unsigned int delay_ms)
{
	queue_delayed_work(te_session_wq, &l->accept_work,
			   msecs_to_jiffies(delay_ms));
}

static void listen_accept(struct work_struct *work)
{
	struct te_listener *l = container_of(to_delayed_work(work),
					     struct te_listener, accept_work);
	struct socket *sock;
	int budget, ret;

	for (budget = TE_LISTEN_BUDGET; budget; budget--) {
		if (te_session_crowded())
			return;
		ret = kernel_accept(l->sock, &sock, O_NONBLOCK);
		if (ret == -EAGAIN)
			return;
		if (ret) {
			/* Those in the backlog will not call again. */
			listen_run(l, TE_LISTEN_RETRY_MS);
			return;
		}
		te_delay(TE_DELAY_ACCEPTED);
		listen_admit(l, sock);
	}
	listen_run(l, 0);
}

static void listen_data_ready(struct sock *sk)
{
	struct te_listener *l;

	read_lock_bh(&sk->sk_callback_lock);
	l = sk->sk_user_data;
	if (l && sk->sk_state == TCP_LISTEN)
		listen_run(l, 0);
	read_unlock_bh(&sk->sk_callback_lock);
}

/* All addresses, IPv6 and IPv4, or IPv4 alone where there is no IPv6. */
static int listen_bind(struct net *net, struct socket **sockp)
{
	struct sockaddr_in6 in6 = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(te_session_port),
	};
	struct sockaddr_in in = {
		.sin_family = AF_INET,
		.sin_port = htons(te_session_port),
	};
	struct socket *sock;
	int ret;

	ret = te_sock_create(net, AF_INET6, &sock);
	if (!ret) {
		sock->sk->sk_ipv6only = false;
		sock_set_reuseaddr(sock->sk);
		ret = kernel_bind(sock, (struct sockaddr *)&in6, sizeof(in6));
	} else if (ret == -EAFNOSUPPORT) {
		ret = te_sock_create(net, AF_INET, &sock);
		if (ret)
			return ret;
		sock_set_reuseaddr(sock->sk);
		ret = kernel_bind(sock, (struct sockaddr *)&in, sizeof(in));
	} else {
		return ret;
	}
	if (ret) {
		sock_release(sock);
		return ret;
	}
	*sockp = sock;
	return 0;
}

static void listener_destroy(struct te_listener *l)
{
	/*
	 * The callback first, so that nothing queues the work again; then the
	 * socket, which takes what is left in the backlog with it.
	 */
	te_sock_restore(l->sock, &l->calls);
	cancel_delayed_work_sync(&l->accept_work);
	sock_release(l->sock);
	kfree(l);
}

static struct te_listener *listener_create(struct net *net)
{
	struct te_listener *l;
	struct sock *sk;
	int ret;

	l = kzalloc(sizeof(*l), GFP_KERNEL);
	if (!l)
		return ERR_PTR(-ENOMEM);
	ret = listen_bind(net, &l->sock);
	if (ret) {
		kfree(l);
		return ERR_PTR(ret);
	}
	l->net = net;
	l->users = 1;
	INIT_DELAYED_WORK(&l->accept_work, listen_accept);

	te_sock_save(l->sock, &l->calls);
	sk = l->sock->sk;
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = l;
	sk->sk_data_ready = listen_data_ready;
	write_unlock_bh(&sk->sk_callback_lock);

	ret = kernel_listen(l->sock, TE_LISTEN_BACKLOG);
	if (ret) {
		listener_destroy(l);
		return ERR_PTR(ret);
	}
	return l;
}

static struct te_listener *listener_find_locked(struct net *net)
{
	struct te_listener *l;

	lockdep_assert_held(&te_listen_mutex);
	list_for_each_entry(l, &te_listeners, link)
		if (net_eq(l->net, net))
			return l;
	return NULL;
}

int te_session_listen(struct net *net)
{
	struct te_listener *l;
	int ret = 0;

	mutex_lock(&te_listen_mutex);
	l = listener_find_locked(net);
	if (l) {
		l->users++;
	} else {
		l = listener_create(net);
		if (IS_ERR(l))
			ret = PTR_ERR(l) == -EADDRINUSE ? -EADDRINUSE : -ENOMEM;
		else
			list_add(&l->link, &te_listeners);
		te_session_fade(net, false);
	}
	mutex_unlock(&te_listen_mutex);
	return ret;
}

void te_session_unlisten(struct net *net)
{
	struct te_listener *l;

	mutex_lock(&te_listen_mutex);
	l = listener_find_locked(net);
	if (WARN_ON_ONCE(!l) || --l->users) {
		mutex_unlock(&te_listen_mutex);
		return;
	}
	list_del(&l->link);
	/* Under the mutex: whoever listens next finds the port free. */
	listener_destroy(l);
	te_session_fade(net, true);
	mutex_unlock(&te_listen_mutex);
}

/* There is room again for connections without a hello. Context: process. */
void te_listen_resume(void)
{
	struct te_listener *l;

	mutex_lock(&te_listen_mutex);
	list_for_each_entry(l, &te_listeners, link)
		listen_run(l, 0);
	mutex_unlock(&te_listen_mutex);
}

/* No context is left, so none listens: whoever forgot to say so, is told. */
void te_listen_exit(void)
{
	struct te_listener *l, *next;

	mutex_lock(&te_listen_mutex);
	WARN_ON_ONCE(!list_empty(&te_listeners));
	list_for_each_entry_safe(l, next, &te_listeners, link) {
		list_del(&l->link);
		listener_destroy(l);
	}
	mutex_unlock(&te_listen_mutex);
}

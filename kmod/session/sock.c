// SPDX-License-Identifier: GPL-2.0-only
/*
 * session/sock: a TCP socket that kicks its session, and frames in and out.
 *
 * Owns the socket and both buffers. All calls come from the session's actor (or
 * from who makes or frees the session, when there is no actor yet or any more)
 * and never wait. The socket's callbacks run in softirq context: they only kick.
 *
 * sk_user_data points to the te_sock while the callbacks are ours; see sock.h.
 *
 * Before both sides have said hello a connection has room for a hello and no
 * more; te_sock_grow() gives it the rest.
 */
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <linux/uio.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "session/priv.h"

/* A hello and, behind it, a BYE. */
#define TE_SOCK_SMALL_BYTES	256
/* Kept free for the last frame. */
#define TE_SOCK_LAST_BYTES	TE_WIRE_FRAME(TE_WIRE_MAX_HELLO)

int te_sock_init(struct te_sock *ts, void (*kick)(struct te_sock *ts))
{
	ts->kick = kick;
	ts->rx_room = TE_WIRE_MAX_HELLO;
	ts->rx_buf = kmalloc(ts->rx_room, GFP_KERNEL);
	ts->tx_room = TE_SOCK_SMALL_BYTES;
	ts->tx_buf = kmalloc(ts->tx_room + TE_SOCK_LAST_BYTES, GFP_KERNEL);
	if (!ts->rx_buf || !ts->tx_buf) {
		te_sock_destroy(ts);
		return -ENOMEM;
	}
	return 0;
}

/* Free the buffers; the socket, if there was one, has been closed. */
void te_sock_destroy(struct te_sock *ts)
{
	kvfree(ts->rx_buf);
	kvfree(ts->tx_buf);
	ts->rx_buf = NULL;
	ts->tx_buf = NULL;
}

/*
 * Both know each other: room for what may come and go now, in bytes of payload
 * and of frames. What waits to be sent is kept; what was received last is not.
 */
int te_sock_grow(struct te_sock *ts, u32 rx_room, u32 tx_room)
{
	void *rx_buf, *tx_buf;

	rx_buf = kvmalloc(rx_room, GFP_KERNEL);
	tx_buf = kvmalloc(tx_room + TE_SOCK_LAST_BYTES, GFP_KERNEL);
	if (!rx_buf || !tx_buf) {
		kvfree(rx_buf);
		kvfree(tx_buf);
		return -ENOMEM;
	}
	memcpy(tx_buf, ts->tx_buf, ts->tx_len);
	te_sock_destroy(ts);
	ts->rx_buf = rx_buf;
	ts->rx_room = rx_room;
	ts->tx_buf = tx_buf;
	ts->tx_room = tx_room;
	return 0;
}

static void sock_kick(struct sock *sk)
{
	struct te_sock *ts;

	read_lock_bh(&sk->sk_callback_lock);
	ts = sk->sk_user_data;
	if (ts)
		ts->kick(ts);
	read_unlock_bh(&sk->sk_callback_lock);
}

/**
 * te_sock_adopt() - make a socket ours
 * @ts: without a socket
 * @sock: takes it
 * @calls: its original callbacks; an accepted socket starts with its listener's
 *
 * What came before is not told: kick once afterwards.
 */
void te_sock_adopt(struct te_sock *ts, struct socket *sock,
		   const struct te_sock_calls *calls)
{
	tcp_sock_set_user_timeout(sock->sk, TE_SESSION_UNACKED_MS);
	ts->sock = sock;
	ts->calls = *calls;
	te_sock_own(sock, ts, sock_kick);
}

/* Let go of the socket; what is on its way is for TCP to bring to an end. */
void te_sock_close(struct te_sock *ts)
{
	if (!ts->sock)
		return;
	te_sock_release(ts->sock, &ts->calls);
	ts->sock = NULL;
}

/* The socket as we got it: not ours any more. */
struct socket *te_sock_take(struct te_sock *ts)
{
	struct socket *sock = ts->sock;

	te_sock_restore(sock, &ts->calls);
	ts->sock = NULL;
	return sock;
}

/**
 * te_sock_dial() - start to connect
 * @ts: without a socket
 * @net: namespace
 * @addr: of the peer
 *
 * Return: 0: see te_sock_connected() from now on, or -errno. The socket, if one
 * was made, stays for te_sock_close().
 */
int te_sock_dial(struct te_sock *ts, struct net *net,
		 const struct te_session_addr *addr)
{
	int ret;

	ret = te_sock_connect(net, &addr->addr, addr->scope_id, addr->port,
			      &ts->sock, &ts->calls, ts, sock_kick);
	if (ts->sock)
		tcp_sock_set_user_timeout(ts->sock->sk, TE_SESSION_UNACKED_MS);
	return ret;
}

/* Return: bytes, -EAGAIN, -ECONNRESET also for the end of the stream. */
static int sock_read(struct te_sock *ts, void *buf, u32 len)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	struct kvec iov = { .iov_base = buf, .iov_len = len };
	int ret;

	ret = kernel_recvmsg(ts->sock, &msg, &iov, 1, len, msg.msg_flags);
	if (ret > 0)
		ts->heard = true;
	return ret ? ret : -ECONNRESET;
}

/* What came first, left unread. Return: bytes, or as sock_read(). */
int te_sock_peek(struct te_sock *ts, void *buf, u32 len)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_PEEK };
	struct kvec iov = { .iov_base = buf, .iov_len = len };

	return kernel_recvmsg(ts->sock, &msg, &iov, 1, len, msg.msg_flags);
}

/**
 * te_sock_recv() - next frame
 * @ts: connected
 * @msg: its header; the payload is at te_sock.rx_buf until the next call
 *
 * Return: 1 a frame, 0 no whole one yet, -EBADMSG bad header or longer than may
 * come now, or what the socket says.
 */
int te_sock_recv(struct te_sock *ts, struct te_msg_hdr *msg)
{
	const u32 hdr_len = sizeof(ts->rx_hdr);
	int ret;

	while (ts->rx_have < hdr_len) {
		ret = sock_read(ts, (u8 *)&ts->rx_hdr + ts->rx_have,
				hdr_len - ts->rx_have);
		if (ret < 0)
			return ret == -EAGAIN ? 0 : ret;
		ts->rx_have += ret;
		if (ts->rx_have < hdr_len)
			continue;
		ts->rx_msg = (struct te_msg_hdr) {};
		ret = te_wire_hdr_decode(&ts->rx_hdr, hdr_len, &ts->rx_msg);
		if (ret)
			return ret;
		if (ts->rx_msg.length > ts->rx_room)
			return -EBADMSG;
	}
	while (ts->rx_have < hdr_len + ts->rx_msg.length) {
		ret = sock_read(ts, ts->rx_buf + (ts->rx_have - hdr_len),
				hdr_len + ts->rx_msg.length - ts->rx_have);
		if (ret < 0)
			return ret == -EAGAIN ? 0 : ret;
		ts->rx_have += ret;
	}
	ts->rx_have = 0;
	*msg = ts->rx_msg;
	return 1;
}

/*
 * Read and forget: data left unread at release would make TCP send a reset, and
 * that could overtake our last words. Return: bytes, -EAGAIN, or why it ended.
 */
int te_sock_discard(struct te_sock *ts)
{
	return sock_read(ts, ts->rx_buf, ts->rx_room);
}

/* Bytes that te_sock_reserve() can give. */
u32 te_sock_left(const struct te_sock *ts)
{
	return ts->tx_room - min(ts->tx_len, ts->tx_room);
}

/**
 * te_sock_reserve() - room for a frame
 * @ts: the socket
 * @bytes: of the frame, at most
 * @last: the last frame of all, for which room is kept
 *
 * Return: where to build it, or NULL: flush first.
 */
void *te_sock_reserve(struct te_sock *ts, u32 bytes, bool last)
{
	if (bytes > te_sock_left(ts) + (last ? TE_SOCK_LAST_BYTES : 0))
		return NULL;
	return ts->tx_buf + ts->tx_len;
}

/* The frame at the reserved place is complete. */
void te_sock_push(struct te_sock *ts, u32 bytes)
{
	ts->tx_len += bytes;
}

/* Return: 0 all is sent, -EAGAIN we will be kicked, or what the socket says. */
int te_sock_flush(struct te_sock *ts)
{
	while (ts->tx_off < ts->tx_len) {
		struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
		struct kvec iov = {
			.iov_base = ts->tx_buf + ts->tx_off,
			.iov_len = ts->tx_len - ts->tx_off,
		};
		int ret;

		ret = kernel_sendmsg(ts->sock, &msg, &iov, 1, iov.iov_len);
		if (ret < 0)
			return ret;
		ts->tx_off += ret;
	}
	ts->tx_off = 0;
	ts->tx_len = 0;
	return 0;
}

/* Nothing will be sent any more. */
void te_sock_shut(struct te_sock *ts)
{
	kernel_sock_shutdown(ts->sock, SHUT_WR);
}

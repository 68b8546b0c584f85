// SPDX-License-Identifier: GPL-2.0-only
/*
 * tcp/lane: bytes and pages in and out of a lane's socket.
 *
 * For both sides; who uses a lane is its only user, in process context, and never
 * waits: where a call says -EAGAIN the socket's callback comes when it is worth
 * another try.
 */
#include <linux/crc32c.h>
#include <linux/net.h>
#include <linux/tcp.h>
#include <linux/uio.h>
#include <net/inet_connection_sock.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "fault/fault.h"
#include "tcp/tcp.h"

int te_tcp_send(struct socket *sock, const void *buf, u32 len, bool more)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	struct kvec iov = { .iov_base = (void *)buf, .iov_len = len };

	if (more)
		msg.msg_flags |= MSG_MORE;
	return kernel_sendmsg(sock, &msg, &iov, 1, len);
}

int te_tcp_send_pages(struct te_tcp_lane *lane, u32 nr, u32 len,
		      int how, struct ubuf_info *ubuf)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };

	if (how == MSG_SPLICE_PAGES)
		return te_splice_pages(lane->sock, lane->bv, nr, len,
				       msg.msg_flags);
	if (how == MSG_ZEROCOPY) {
		msg.msg_flags |= MSG_ZEROCOPY;
		msg.msg_ubuf = ubuf;
	}
	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, lane->bv, nr, len);
	return sock_sendmsg(lane->sock, &msg);
}

int te_tcp_how(const struct te_peer *peer, const struct te_tcp_lane *lane)
{
	if (lane->near)
		return MSG_SPLICE_PAGES;
	if (peer->own || peer->net->user_ns != &init_user_ns ||
	    READ_ONCE(peer->net->ipv4.sysctl_tcp_mtu_probing) ||
	    inet_csk(lane->sock->sk)->icsk_mtup.enabled)
		return 0;
	return MSG_ZEROCOPY;
}

static int sock_recv(struct socket *sock, struct msghdr *msg, int flags)
{
	int ret;

	flags |= MSG_DONTWAIT | MSG_NOSIGNAL;
	ret = sock_recvmsg(sock, msg, flags);
	return ret ? ret : -ECONNRESET;
}

int te_tcp_recv(struct socket *sock, void *buf, u32 len)
{
	struct kvec iov = { .iov_base = buf, .iov_len = len };
	struct msghdr msg = {};

	iov_iter_kvec(&msg.msg_iter, ITER_DEST, &iov, 1, len);
	return sock_recv(sock, &msg, 0);
}

/* Of a near lane. What has been read is freed here, see near_recv(). */
static int near_take(read_descriptor_t *desc, struct sk_buff *skb,
		     unsigned int off, size_t len)
{
	size_t n = min(len, desc->count);

	if (skb_copy_datagram_iter(skb, off, desc->arg.data, n))
		return -EFAULT;
	desc->count -= n;
	if (off + n == skb->len)
		skb_orphan(skb);
	return n;
}

/*
 * recvmsg() leaves socket buffers to the CPU that made them, which may sleep for long
 * (skb_attempt_defer_free()), and these refer to pages of users.
 */
static int near_recv(struct sock *sk, struct iov_iter *to)
{
	read_descriptor_t desc = {
		.arg.data = to,
		.count = iov_iter_count(to),
	};
	int ret;

	lock_sock(sk);
	ret = tcp_read_sock(sk, &desc, near_take);
	if (!ret)
		ret = sock_error(sk);
	if (!ret)
		ret = sk->sk_shutdown & RCV_SHUTDOWN ? -ECONNRESET : -EAGAIN;
	release_sock(sk);
	return ret;
}

static int lane_recv(struct te_tcp_lane *lane, struct msghdr *msg, int flags)
{
	if (lane->near)
		return near_recv(lane->sock->sk, &msg->msg_iter);
	return sock_recv(lane->sock, msg, flags);
}

int te_tcp_recv_pages(struct te_tcp_lane *lane, u32 nr, u32 len)
{
	struct msghdr msg = {};

	te_delay(TE_DELAY_LANE_TAKE);
	iov_iter_bvec(&msg.msg_iter, ITER_DEST, lane->bv, nr, len);
	return lane_recv(lane, &msg, 0);
}

u32 te_tcp_crc_pages(struct te_tcp_lane *lane, u32 nr, u32 crc)
{
	struct bio_vec *bv;
	void *p;

	/* As iSCSI, NVMe/TCP and others have it: seeded and closed with ones. */
	crc = ~crc;
	for (bv = lane->bv; bv < lane->bv + nr; bv++) {
		p = bvec_kmap_local(bv);
		crc = crc32c(crc, p, bv->bv_len);
		kunmap_local(p);
	}
	return ~crc;
}

int te_tcp_skip(struct te_tcp_lane *lane, u32 len)
{
	struct msghdr msg = {};

	iov_iter_discard(&msg.msg_iter, ITER_DEST, len);
	return lane_recv(lane, &msg, MSG_TRUNC);
}

int te_tcp_recv_frame(struct te_tcp_lane *lane, struct te_msg_lane *msg)
{
	int ret;

	while (lane->rx_have < sizeof(lane->rx)) {
		struct kvec iov = {
			.iov_base = (u8 *)&lane->rx + lane->rx_have,
			.iov_len = sizeof(lane->rx) - lane->rx_have,
		};
		struct msghdr to = {};

		iov_iter_kvec(&to.msg_iter, ITER_DEST, &iov, 1, iov.iov_len);
		ret = lane_recv(lane, &to, 0);
		if (ret < 0)
			return ret;
		lane->rx_have += ret;
	}
	lane->rx_have = 0;
	return te_wire_lane_decode(&lane->rx, msg) ?: 1;
}

void te_tcp_set_frame(struct te_tcp_lane *lane, const struct te_msg_lane *msg)
{
	te_wire_lane_encode(&lane->tx, msg);
	lane->tx_left = sizeof(lane->tx);
}

int te_tcp_send_frame(struct te_tcp_lane *lane, bool more)
{
	int ret;

	while (lane->tx_left) {
		ret = te_tcp_send(lane->sock,
				  (u8 *)(&lane->tx + 1) - lane->tx_left,
				  lane->tx_left, more);
		if (ret < 0)
			return ret;
		lane->tx_left -= ret;
	}
	return 0;
}

void te_tcp_close(struct te_tcp_lane *lane)
{
	if (lane->sock)
		te_sock_abort(lane->sock, &lane->calls);
	lane->sock = NULL;
}

void te_tcp_tune(struct te_tcp_lane *lane)
{
	tcp_sock_set_user_timeout(lane->sock->sk, TE_TCP_UNACKED_MS);
	/* A peer that is gone without a word shows though nothing is sent to it. */
	sock_set_keepalive(lane->sock->sk);
	tcp_sock_set_keepidle(lane->sock->sk, TE_TCP_UNACKED_MS / 1000);
	tcp_sock_set_keepintvl(lane->sock->sk, 1);
	tcp_sock_set_keepcnt(lane->sock->sk, 3);
}

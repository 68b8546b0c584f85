// SPDX-License-Identifier: GPL-2.0-only
/*
 * floor/tcp: pages sent over TCP connections of this node to itself and received
 * in place: what te's lanes do, with no requests, answers or engine around them.
 *
 * Each connection has a thread that sends and one that receives, in calls of
 * 64 KiB at most, as te cuts slices. They belong to the run, which waits for all of
 * them; a sender stops when its time is over and says so to its receiver by the end
 * of the stream.
 */
#include <linux/bvec.h>
#include <linux/in.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/net.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "floor.h"

#define TCP_CALL	65536U
#define TCP_BVECS	(TCP_CALL / PAGE_SIZE)

#ifndef MSG_SPLICE_PAGES
#define MSG_SPLICE_PAGES	0	/* refused below */
#endif

/**
 * struct tcp_lane - a connection
 * @run: it belongs to
 * @sock: FLOOR_A sends, FLOOR_B receives
 * @thread: of each; referenced
 * @done: of each: its thread has done its work
 * @error: of each: 0 or -errno, then
 * @bv: of each: pages of a call
 * @moved: bytes received
 */
struct tcp_lane {
	struct tcp_run *run;
	struct socket *sock[2];
	struct task_struct *thread[2];
	struct completion done[2];
	int error[2];
	struct bio_vec bv[2][TCP_BVECS];
	u64 moved;
};

struct tcp_run {
	struct floor_tcp_cmd cmd;
	struct floor_side side[2];
	u32 buffer;
	bool begun;
	u64 end;
	struct tcp_lane lane[FLOOR_MAX_LANES];
};

/* @iter: @len bytes at @off of the memory of @which, which is pages. */
static void pages_at(struct tcp_lane *lane, u32 which, u32 off, u32 len,
		     struct iov_iter *iter)
{
	struct floor_side *side = &lane->run->side[which];
	struct bio_vec *bv = lane->bv[which];
	u32 nr = 0, left = len;

	while (left) {
		u32 n = min_t(u32, left, PAGE_SIZE - off % PAGE_SIZE);

		bvec_set_page(&bv[nr++], side->pages[off / PAGE_SIZE], n,
			      off % PAGE_SIZE);
		off += n;
		left -= n;
	}
	iov_iter_bvec(iter, which == FLOOR_A ? ITER_SOURCE : ITER_DEST, bv, nr,
		      len);
}

static int send_call(struct tcp_lane *lane, u32 off, u32 len)
{
	struct msghdr msg = {
		.msg_flags = MSG_NOSIGNAL |
			     (lane->run->cmd.splice ? MSG_SPLICE_PAGES : 0),
	};
	int ret;

	pages_at(lane, FLOOR_A, off, len, &msg.msg_iter);
	while (msg_data_left(&msg)) {
		ret = sock_sendmsg(lane->sock[FLOOR_A], &msg);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int sender(void *arg)
{
	struct tcp_lane *lane = arg;
	struct tcp_run *run = lane->run;
	u32 step = min(run->cmd.bytes, TCP_CALL);
	u32 off = 0;
	int ret = 0;

	do {
		ret = send_call(lane, off, step);
		off = (off + step) % run->buffer;
		cond_resched();
	} while (!ret && (off % run->cmd.bytes || ktime_get_ns() < run->end));
	lane->error[FLOOR_A] = ret;
	kernel_sock_shutdown(lane->sock[FLOOR_A], SHUT_WR);
	complete(&lane->done[FLOOR_A]);
	return 0;
}

static int receiver(void *arg)
{
	struct tcp_lane *lane = arg;
	struct tcp_run *run = lane->run;
	u32 step = min(run->cmd.bytes, TCP_CALL);
	u32 off = 0;
	int ret;

	do {
		struct msghdr msg = { .msg_flags = MSG_NOSIGNAL };

		pages_at(lane, FLOOR_B, off, step - off % step, &msg.msg_iter);
		ret = sock_recvmsg(lane->sock[FLOOR_B], &msg, 0);
		if (ret > 0) {
			off = (off + ret) % run->buffer;
			lane->moved += ret;
		}
		cond_resched();
	} while (ret > 0);
	lane->error[FLOOR_B] = ret;
	/* Or the sender would wait for room. */
	kernel_sock_shutdown(lane->sock[FLOOR_B], SHUT_RDWR);
	complete(&lane->done[FLOOR_B]);
	return 0;
}

static int lane_connect(struct tcp_lane *lane, struct socket *listener,
			struct sockaddr_in *addr)
{
	int ret;

	ret = sock_create_kern(&init_net, PF_INET, SOCK_STREAM, IPPROTO_TCP,
			       &lane->sock[FLOOR_A]);
	if (ret)
		return ret;
	ret = kernel_connect(lane->sock[FLOOR_A], (struct sockaddr *)addr,
			     sizeof(*addr), 0);
	return ret ?: kernel_accept(listener, &lane->sock[FLOOR_B], 0);
}

static int lanes_connect(struct tcp_run *run)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct socket *listener;
	u32 i;
	int ret;

	ret = sock_create_kern(&init_net, PF_INET, SOCK_STREAM, IPPROTO_TCP,
			       &listener);
	if (ret)
		return ret;
	ret = kernel_bind(listener, (struct sockaddr *)&addr, sizeof(addr));
	ret = ret ?: kernel_listen(listener, FLOOR_MAX_LANES);
	if (!ret)
		ret = kernel_getsockname(listener, (struct sockaddr *)&addr);
	ret = min(ret, 0);
	for (i = 0; !ret && i < run->cmd.lanes; i++)
		ret = lane_connect(&run->lane[i], listener, &addr);
	sock_release(listener);
	return ret;
}

static int lane_start(struct tcp_lane *lane, u32 which)
{
	struct task_struct *task;

	task = kthread_create(which == FLOOR_A ? sender : receiver, lane,
			      "te_floor_%s", which == FLOOR_A ? "out" : "in");
	if (IS_ERR(task))
		return PTR_ERR(task);
	init_completion(&lane->done[which]);
	lane->thread[which] = get_task_struct(task);
	return 0;
}

/* Nobody has begun: so a thread that cannot be made leaves none that waits. */
static int lanes_start(struct tcp_run *run)
{
	u32 i, which;
	int ret = 0;

	for (i = 0; !ret && i < run->cmd.lanes; i++)
		ret = lane_start(&run->lane[i], FLOOR_A) ?:
		      lane_start(&run->lane[i], FLOOR_B);
	if (ret)
		return ret;
	run->begun = true;
	run->end = ktime_get_ns() + (u64)run->cmd.ms * NSEC_PER_MSEC;
	for (i = 0; i < run->cmd.lanes; i++)
		for (which = FLOOR_A; which <= FLOOR_B; which++)
			wake_up_process(run->lane[i].thread[which]);
	return 0;
}

/*
 * Waits for those that run; those that never began just go. kthread_stop() would
 * interrupt who waits for a socket.
 */
static int lanes_end(struct tcp_run *run, u64 *moved)
{
	u32 i, which;
	int ret = 0;

	for (i = 0; i < run->cmd.lanes; i++) {
		struct tcp_lane *lane = &run->lane[i];

		for (which = FLOOR_A; which <= FLOOR_B; which++) {
			if (!lane->thread[which])
				continue;
			if (run->begun)
				wait_for_completion(&lane->done[which]);
			kthread_stop(lane->thread[which]);
			put_task_struct(lane->thread[which]);
			ret = ret ?: lane->error[which];
		}
		*moved += lane->moved;
	}
	return ret;
}

static void lanes_close(struct tcp_run *run)
{
	u32 i, which;

	for (i = 0; i < run->cmd.lanes; i++)
		for (which = FLOOR_A; which <= FLOOR_B; which++)
			if (run->lane[i].sock[which])
				sock_release(run->lane[i].sock[which]);
}

int floor_tcp(const struct floor_tcp_cmd *cmd, struct floor_result *result)
{
	struct tcp_run *run;
	u64 start, moved = 0;
	u32 i, nr_pages;
	int ret, error;

	if (cmd->splice && !MSG_SPLICE_PAGES)
		return -EOPNOTSUPP;
	run = kvzalloc(sizeof(*run), GFP_KERNEL);
	if (!run)
		return -ENOMEM;
	run->cmd = *cmd;
	run->buffer = max(cmd->bytes, FLOOR_MIN_BUFFER);
	nr_pages = DIV_ROUND_UP(run->buffer, PAGE_SIZE);
	for (i = 0; i < cmd->lanes; i++)
		run->lane[i].run = run;

	ret = floor_pages_alloc(&run->side[FLOOR_A], nr_pages, true);
	ret = ret ?: floor_pages_alloc(&run->side[FLOOR_B], nr_pages, false);
	ret = ret ?: lanes_connect(run);
	start = ktime_get_ns();
	ret = ret ?: lanes_start(run);
	error = lanes_end(run, &moved);
	ret = ret ?: error;
	*result = (struct floor_result) {
		.requests = moved / cmd->bytes,
		.bytes = moved,
		.ns = ktime_get_ns() - start,
	};
	ret = ret ?: floor_pages_check(run->side, min_t(u64, moved, run->buffer));
	lanes_close(run);
	floor_pages_free(&run->side[FLOOR_A]);
	floor_pages_free(&run->side[FLOOR_B]);
	kvfree(run);
	return ret;
}

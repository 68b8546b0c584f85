// SPDX-License-Identifier: GPL-2.0-only
/* relay: see relay.h. One thread; it ends by the pipe that relay_stop() shuts. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/raw.h"
#include "lib/relay.h"
#include "lib/sock.h"
#include "lib/stats.h"

/* After a bent byte: te waits for more than there is, so somebody must end. */
#define QUIET_MS	10

size_t frame_len(const unsigned char *buf)
{
	uint32_t len;

	memcpy(&len, buf + 8, sizeof(len));
	return FRAME_HEADER + len;
}

const unsigned char *relay_next(const struct relay *r, enum relay_dir dir,
				size_t *off)
{
	const unsigned char *frame = r->log[dir] + *off;
	size_t len = __atomic_load_n(&r->len[dir], __ATOMIC_ACQUIRE);

	if (*off + FRAME_HEADER > len || *off + frame_len(frame) > len)
		return NULL;
	*off += frame_len(frame);
	return frame;
}

void relay_url(const struct relay *r, char *url, size_t len, const char *name)
{
	snprintf(url, len, "%s:%u/%s", te_peer_addr(), r->port, name);
}

static int send_in_grains(const struct relay *r, int fd,
			  const unsigned char *buf, size_t n)
{
	size_t grain = r->grain ?: n;
	int ret = 0;

	while (n && !ret) {
		grain = grain < n ? grain : n;
		ret = sock_send(fd, buf, grain);
		buf += grain;
		n -= grain;
	}
	return ret;
}

/* Passes on what @dir has said. Return: 0, or -errno: the connection ends. */
static int pass(struct relay *r, enum relay_dir dir, int from, int to)
{
	unsigned char *buf = r->log[dir] + r->len[dir];
	size_t at = r->at - r->len[dir];
	unsigned char out[4096];
	ssize_t n;
	int ret;

	n = sizeof(r->log[dir]) - r->len[dir];
	n = recv(from, buf, n < 4096 ? n : 4096, 0);
	if (n <= 0)
		return -EPIPE;
	memcpy(out, buf, n);
	__atomic_store_n(&r->len[dir], r->len[dir] + n, __ATOMIC_RELEASE);
	if (r->fault == RELAY_NONE || r->dir != dir || r->hit ||
	    at >= (size_t)n)
		return send_in_grains(r, to, out, n);

	r->hit = true;
	if (r->fault == RELAY_BEND) {
		out[at] ^= r->bend;
		return send_in_grains(r, to, out, n);
	}
	ret = send_in_grains(r, to, out, at);
	return ret ?: -EPIPE;
}

static void hang_up(struct relay *r, int fd)
{
	struct linger hard = { .l_onoff = 1 };

	if (r->fault == RELAY_RESET && r->hit)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	close(fd);
}

static void serve(struct relay *r, int asking, int answering)
{
	struct pollfd p[] = {
		{ .fd = asking, .events = POLLIN },
		{ .fd = answering, .events = POLLIN },
		{ .fd = r->stop[0], .events = POLLIN },
	};
	int ret = 0, one = 1;
	bool bent;

	setsockopt(asking, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(answering, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	r->len[0] = r->len[1] = 0;
	r->hit = false;
	while (!ret) {
		bent = r->fault == RELAY_BEND && r->hit;
		if (!poll(p, 3, bent ? QUIET_MS : -1) || p[2].revents)
			break;
		if (r->hold_ms)
			te_sleep_ms(r->hold_ms);
		if (p[0].revents)
			ret = pass(r, RELAY_ASK, asking, answering);
		if (!ret && p[1].revents)
			ret = pass(r, RELAY_ANSWER, answering, asking);
	}
	hang_up(r, asking);
	hang_up(r, answering);
	__atomic_fetch_add(&r->served, 1, __ATOMIC_RELEASE);
}

static void *run(void *arg)
{
	struct relay *r = arg;
	struct pollfd p[] = {
		{ .fd = r->listener, .events = POLLIN },
		{ .fd = r->stop[0], .events = POLLIN },
	};
	int asking, answering;

	while (poll(p, 2, -1) > 0 && !p[1].revents) {
		asking = accept(r->listener, NULL, NULL);
		answering = sock_connect(te_peer_addr(), TE_DEFAULT_PORT);
		if (asking >= 0 && answering >= 0) {
			serve(r, asking, answering);
			continue;
		}
		close(asking);
		close(answering);
	}
	return NULL;
}

int relay_start(struct relay *r)
{
	int ret;

	r->listener = sock_listen(16, &r->port);
	if (r->listener < 0)
		return r->listener;
	if (pipe(r->stop))
		return -errno;
	ret = pthread_create(&r->thread, NULL, run, r);
	return -ret;
}

int relay_await(const struct relay *r, unsigned int n)
{
	unsigned long long end = te_now_ms() + TE_SETTLE_MS;

	while (__atomic_load_n(&r->served, __ATOMIC_ACQUIRE) < n) {
		if (te_now_ms() > end)
			return -ETIME;
		te_sleep_ms(1);
	}
	return 0;
}

void relay_stop(struct relay *r)
{
	close(r->stop[1]);
	pthread_join(r->thread, NULL);
	close(r->stop[0]);
	close(r->listener);
}

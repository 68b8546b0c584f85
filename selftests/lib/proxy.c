// SPDX-License-Identifier: GPL-2.0-only
/*
 * proxy: see proxy.h. One thread carries bytes; it holds the lock while it uses
 * a descriptor, so whoever takes one away does so between two uses.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/pair.h"
#include "lib/proxy.h"
#include "lib/sock.h"

static void take_away(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void admit(struct proxy *x)
{
	int *fd;

	if (x->nr == PROXY_MAX)
		return;
	fd = x->fd[x->nr];
	fd[PROXY_ASKING] = accept4(x->listener, NULL, NULL,
				   SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd[PROXY_ASKING] < 0)
		return;
	fd[PROXY_ANSWERING] = sock_connect(te_peer_addr(), TE_DEFAULT_PORT);
	if (fd[PROXY_ANSWERING] < 0)
		take_away(&fd[PROXY_ASKING]);
	else
		x->nr++;
}

/* An end that hangs up is gone; the other one is not told. */
static void carry(int *from, int *to)
{
	char buf[65536];
	ssize_t n = recv(*from, buf, sizeof(buf), MSG_DONTWAIT);

	if (n > 0 && *to >= 0)
		sock_send(*to, buf, n);
	else if (n == 0 || (n < 0 && errno != EAGAIN))
		take_away(from);
}

static bool readable(int fd)
{
	char c;

	return fd >= 0 && recv(fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

static void serve(struct proxy *x)
{
	int i, end;

	admit(x);
	for (i = 0; i < x->nr; i++) {
		for (end = 0; end < PROXY_NR_ENDS; end++) {
			if (x->paused)
				x->pending |= readable(x->fd[i][end]);
			else if (x->fd[i][end] >= 0)
				carry(&x->fd[i][end], &x->fd[i][!end]);
		}
	}
}

static void *run(void *arg)
{
	struct proxy *x = arg;
	bool stop;

	do {
		pthread_mutex_lock(&x->lock);
		serve(x);
		stop = x->stop;
		pthread_mutex_unlock(&x->lock);
		te_sleep_ms(1);
	} while (!stop);
	return NULL;
}

int proxy_start(struct proxy *x)
{
	*x = (struct proxy) { .listener = -1 };
	x->listener = sock_listen(PROXY_MAX, &x->port);
	if (x->listener < 0)
		return x->listener;
	if (fcntl(x->listener, F_SETFL, O_NONBLOCK))
		return -errno;
	pthread_mutex_init(&x->lock, NULL);
	return -pthread_create(&x->thread, NULL, run, x);
}

void proxy_stop(struct proxy *x)
{
	pthread_mutex_lock(&x->lock);
	x->stop = true;
	pthread_mutex_unlock(&x->lock);
	pthread_join(x->thread, NULL);
	proxy_cut(x, PROXY_ASKING);
	proxy_cut(x, PROXY_ANSWERING);
	close(x->listener);
}

void proxy_url(const struct proxy *x, char *url, size_t len, const char *name)
{
	snprintf(url, len, "%s:%u/%s", te_peer_addr(), x->port, name);
}

void proxy_pause(struct proxy *x)
{
	pthread_mutex_lock(&x->lock);
	x->paused = true;
	x->pending = false;
	pthread_mutex_unlock(&x->lock);
}

int proxy_await_pending(struct proxy *x)
{
	unsigned long long end = te_now_ms() + TE_WAIT_MS;
	bool pending;

	do {
		te_sleep_ms(1);
		pthread_mutex_lock(&x->lock);
		pending = x->pending;
		pthread_mutex_unlock(&x->lock);
	} while (!pending && te_now_ms() < end);
	return pending ? 0 : -ETIME;
}

void proxy_resume(struct proxy *x)
{
	pthread_mutex_lock(&x->lock);
	x->paused = false;
	pthread_mutex_unlock(&x->lock);
}

void proxy_cut(struct proxy *x, enum proxy_end end)
{
	int i;

	pthread_mutex_lock(&x->lock);
	for (i = 0; i < x->nr; i++)
		take_away(&x->fd[i][end]);
	pthread_mutex_unlock(&x->lock);
}

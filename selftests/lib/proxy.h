/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * proxy: stands between the two ends of control connections, so that a test can
 * stop what they say and take either end away. Data connections go past it. A
 * segment opened by proxy_url() has a session of its own.
 */
#ifndef TE_TEST_PROXY_H
#define TE_TEST_PROXY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROXY_MAX	8

enum proxy_end { PROXY_ASKING, PROXY_ANSWERING, PROXY_NR_ENDS };

/**
 * struct proxy - one listener and what it carries
 * @fd: of connection i its two ends, -1 when taken away
 * @nr: connections so far, at most PROXY_MAX
 * @paused: what is said stays where it is
 * @pending: something has been said while @paused
 */
struct proxy {
	int listener;
	uint16_t port;
	pthread_t thread;
	pthread_mutex_t lock; /* protects what follows */
	int fd[PROXY_MAX][PROXY_NR_ENDS];
	int nr;
	bool paused, pending, stop;
};

int proxy_start(struct proxy *x);

/* Takes all away. */
void proxy_stop(struct proxy *x);

/* Url of a segment of this guest, through the proxy. */
void proxy_url(const struct proxy *x, char *url, size_t len, const char *name);

/* From now on nothing passes. */
void proxy_pause(struct proxy *x);

/* Waits until somebody says something in vain: 0 or -ETIME. */
int proxy_await_pending(struct proxy *x);

void proxy_resume(struct proxy *x);

/* Takes this end of all connections away; the other end is not told. */
void proxy_cut(struct proxy *x, enum proxy_end end);

#endif

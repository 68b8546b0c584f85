/* SPDX-License-Identifier: GPL-2.0-only */
/* go: one call in a thread of its own, for calls that another one overtakes. */
#ifndef TE_TEST_GO_H
#define TE_TEST_GO_H

#include <pthread.h>

/**
 * struct go - the call
 * @thread: runs it
 * @fn: called with @arg
 * @ret: what it returned, once go_wait() has
 */
struct go {
	pthread_t thread;
	int (*fn)(void *arg);
	void *arg;
	int ret;
};

int go_start(struct go *g, int (*fn)(void *arg), void *arg);

/* What it returned; -ETIME when it does not return. */
int go_wait(struct go *g);

#endif

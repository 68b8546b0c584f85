// SPDX-License-Identifier: GPL-2.0-only
/* go: see go.h. */
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "lib/go.h"
#include "lib/pair.h"

static void *run(void *arg)
{
	struct go *g = arg;

	g->ret = g->fn(g->arg);
	return NULL;
}

int go_start(struct go *g, int (*fn)(void *arg), void *arg)
{
	g->fn = fn;
	g->arg = arg;
	return -pthread_create(&g->thread, NULL, run, g);
}

int go_wait(struct go *g)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 2 * TE_WAIT_MS / 1000;
	if (pthread_timedjoin_np(g->thread, NULL, &end)) {
		printf("# a call does not return\n");
		return -ETIME;
	}
	return g->ret;
}

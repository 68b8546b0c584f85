// SPDX-License-Identifier: GPL-2.0-only
/*
 * Node b of the pair test: exports memory, tells node a over plain TCP where it
 * is, and does what that asks for: checks what must be in it, and what happens to
 * the network on this side. Exits with 0 if all is as node a says. See initiator.c.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/lanes.h"
#include "lib/pair.h"
#include "lib/sock.h"
#include "pair/pair.h"

static int fail(const char *what, long ret)
{
	printf("# target: %s: %ld\n", what, ret);
	return 1;
}

static int check(const unsigned char *mem, const struct pair_ask *a)
{
	long at = pattern_check(mem + a->offset, a->length, a->seed);

	return at == -1 ? 0 : fail("wrong byte at", a->offset + at);
}

static int obey(const unsigned char *mem, const struct pair_ask *a)
{
	static struct lanes lanes;
	int ret;

	switch (a->what) {
	case PAIR_HAS:
		return check(mem, a);
	case PAIR_NETEM:
		ret = pair_netem(a->seed);
		return ret ? fail("netem", ret) : 0;
	case PAIR_KILL:
		lanes.spare = a->seed;
		lanes.ms = a->length;
		lanes.every_ms = PAIR_KILL_MS;
		ret = lanes_kill(&lanes);
		return ret ? fail("no thread", ret) : 0;
	case PAIR_KILLED:
		ret = go_wait(&lanes.go);
		printf("# target: %u connections reset\n", lanes.killed);
		return ret ? fail("ss", ret) : 0;
	default:
		return fail("what?", a->what);
	}
}

/* One test of node a's, to its end. */
static int serve(int listener, const struct area *mem)
{
	struct pair_place place = { .addr = (uintptr_t)mem->p };
	struct pair_ask ask;
	int ret = 0, fd;

	fd = accept(listener, NULL, NULL);
	if (fd < 0 || sock_send(fd, &place, sizeof(place)))
		return fail("no word from node a", -1);
	while (!ret && sock_receive(fd, &ask, sizeof(ask), TE_WAIT_MS * 2) ==
	       sizeof(ask))
		ret = obey(mem->p, &ask) || sock_send(fd, "y", 1);
	close(fd);
	return ret;
}

/* The number of tests is the one argument. */
int main(int argc, char **argv)
{
	int nr = argc > 1 ? atoi(argv[1]) : 1;
	uint16_t port = PAIR_PORT;
	struct area mem;
	int listener, ret;
	struct te *te;
	uint32_t mr;

	ret = area_alloc(&mem, PAIR_LEN);
	ret = ret ?: te_open(&te, NULL);
	ret = ret ?: te_mr_register(te, mem.p, mem.len, TE_REMOTE_ALL, NULL,
				    &mr);
	ret = ret ?: te_segment_export(te, PAIR_NAME, NULL);
	if (ret)
		return fail("cannot export", ret);
	pattern_fill(mem.p, mem.len, PAIR_SEED);

	listener = sock_listen(4, &port);
	if (listener < 0)
		return fail("cannot listen", listener);
	while (!ret && nr--)
		ret = serve(listener, &mem);
	te_close(te);
	if (ret)
		return ret;
	ret = te_settle();
	return ret ? fail("not clean", ret) : 0;
}

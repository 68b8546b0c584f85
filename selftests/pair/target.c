// SPDX-License-Identifier: GPL-2.0-only
/*
 * Node b of the pair test: exports memory, tells node a over plain TCP where it
 * is, waits for its word on what must be in it, and checks. Exits with 0 if all
 * is as node a says. See initiator.c.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/pair.h"
#include "lib/sock.h"
#include "pair/pair.h"

static int fail(const char *what, long ret)
{
	printf("# target: %s: %ld\n", what, ret);
	return 1;
}

static int check(const unsigned char *mem, const struct pair_claim *c)
{
	long at = pattern_check(mem + c->offset, c->length, c->seed);

	return at == -1 ? 0 : fail("wrong byte at", c->offset + at);
}

int main(void)
{
	struct pair_place place = { 0 };
	struct pair_claim claim;
	uint16_t port = PAIR_PORT;
	int listener, fd, ret;
	struct area mem;
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
	fd = accept(listener, NULL, NULL);
	place.addr = (uintptr_t)mem.p;
	if (listener < 0 || fd < 0 || sock_send(fd, &place, sizeof(place)))
		return fail("no word from node a", -1);
	while (sock_receive(fd, &claim, sizeof(claim), TE_WAIT_MS * 2) ==
	       sizeof(claim)) {
		ret = check(mem.p, &claim);
		if (ret || sock_send(fd, "y", 1))
			return 1;
	}
	te_close(te);
	ret = te_settle();
	return ret ? fail("not clean", ret) : 0;
}

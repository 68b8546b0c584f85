// SPDX-License-Identifier: GPL-2.0-only
/*
 * Node a of the pair test: two kernels, one wire. Bytes go both ways and each
 * node checks its own memory. run.sh runs one of the tests by name, as te was
 * loaded on both nodes: "transfers" with insecure=1, "refused" without.
 */
#include <stdlib.h>

#include "lib/test.h"
#include "lib/pair.h"
#include "lib/sock.h"
#include "pair/pair.h"

FIXTURE(pair)
{
	int fd;
	struct te *te;
	struct area mem;
	struct pair_place place;
	uint32_t mr, seg;
	struct te_segment_opts o;
	char url[64];
};

/* The target may take a while to be there. */
static int meet(void)
{
	unsigned long long end = te_now_ms() + TE_WAIT_MS;
	int fd;

	do {
		fd = sock_connect(te_peer_addr(), PAIR_PORT);
		if (fd >= 0)
			return fd;
		te_sleep_ms(200);
	} while (te_now_ms() < end);
	return fd;
}

FIXTURE_SETUP(pair)
{
	self->fd = meet();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(sizeof(self->place),
		  sock_receive(self->fd, &self->place, sizeof(self->place),
			       TE_WAIT_MS));
	ASSERT_EQ(0, te_open(&self->te, NULL));
	ASSERT_EQ(0, area_alloc(&self->mem, PAIR_LEN));
	ASSERT_EQ(0, te_mr_register(self->te, self->mem.p, PAIR_LEN,
				    TE_LOCAL_ALL, NULL, &self->mr));
	te_url(self->url, sizeof(self->url), PAIR_NAME);
	self->o.sz = sizeof(self->o);
	self->o.timeout_ms = 30000;
}

FIXTURE_TEARDOWN(pair)
{
	te_close(self->te);
	close(self->fd);
	CLEAN();
}

static int run(struct te *te, const struct te_request *r, uint32_t n)
{
	struct te_status st;
	uint32_t batch;
	int ret;

	ret = te_batch_alloc(te, n, NULL, &batch);
	ret = ret ?: te_submit(te, batch, r, n);
	ret = ret ?: te_wait(te, batch, TE_WAIT_MS);
	ret = ret ?: te_batch_status(te, batch, &st);
	ret = ret ?: te_batch_free(te, batch);
	if (ret)
		return ret;
	return st.state == TE_COMPLETED ? 0 : st.error;
}

/* Does the target have these bytes? */
static bool has(int fd, uint64_t offset, uint64_t length, uint64_t seed)
{
	struct pair_claim c = { offset, length, seed };
	char answer;

	return !sock_send(fd, &c, sizeof(c)) &&
	       sock_receive(fd, &answer, 1, TE_WAIT_MS) == 1 && answer == 'y';
}

TEST_F_TIMEOUT(pair, transfers, SLOW)
{
	static const size_t lengths[] = { 1, 4095, 65537, 1000000, PAIR_LEN };
	struct te_request r, many[200];
	size_t i, off;

	ASSERT_EQ(0, te_segment_open(self->te, self->url, &self->o,
				     &self->seg));
	for (i = 0; i < ROWS(lengths); i++) {
		memset(self->mem.p, 0, PAIR_LEN);
		r = (struct te_request) {
			.opcode = TE_READ,
			.segment = self->seg,
			.local_addr = (uintptr_t)self->mem.p,
			.remote_addr = self->place.addr,
			.length = lengths[i],
		};
		ASSERT_EQ(0, run(self->te, &r, 1));
		EXPECT_ROW(-1, pattern_check(self->mem.p, lengths[i],
					     PAIR_SEED), "READ of %zu",
			   lengths[i]);
	}
	/* Nothing has changed there by being read. */
	EXPECT_TRUE(has(self->fd, 0, PAIR_LEN, PAIR_SEED));

	for (i = 0; i < ROWS(lengths); i++) {
		off = lengths[i] == PAIR_LEN ? 0 : 5000 + i;
		pattern_fill(self->mem.p + off, lengths[i], 100 + i);
		r.opcode = TE_WRITE;
		r.local_addr = (uintptr_t)self->mem.p + off;
		r.remote_addr = self->place.addr + off;
		r.length = lengths[i];
		ASSERT_EQ(0, run(self->te, &r, 1));
		EXPECT_TRUE(has(self->fd, off, lengths[i], 100 + i));
	}
	pattern_fill(self->mem.p, PAIR_LEN, 200);
	for (i = 0; i < ROWS(many); i++) {
		many[i] = r;
		many[i].local_addr = (uintptr_t)self->mem.p + i * 5000;
		many[i].remote_addr = self->place.addr + i * 5000;
		many[i].length = 5000;
	}
	ASSERT_EQ(0, run(self->te, many, ROWS(many)));
	EXPECT_TRUE(has(self->fd, 0, ROWS(many) * 5000, 200));
}

TEST_F_TIMEOUT(pair, refused, SLOW)
{
	int ret, i;

	for (i = 0; i < 3; i++) {
		ret = te_segment_open(self->te, self->url, &self->o,
				      &self->seg);
		EXPECT_EQ(-EACCES, ret);
	}
	EXPECT_TRUE(has(self->fd, 0, PAIR_LEN, PAIR_SEED));
}

TEST_HARNESS_MAIN

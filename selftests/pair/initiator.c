// SPDX-License-Identifier: GPL-2.0-only
/*
 * Node a of the pair test: two kernels, one wire. Bytes go both ways and each
 * node checks its own memory. run.sh runs one of the tests by name, as te was
 * loaded on both nodes: "transfers" and "quiet" with insecure=1, "refused" without.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

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

/* ---- a peer that stands still */

/* The other guest does, or goes on; see vm/README.md. 0 or -errno. */
static int pause_peer(bool on)
{
	unsigned long long end = te_now_ms() + TE_WAIT_MS;
	const char *path = getenv("TE_PAUSE") ?: "";
	char done[256];
	int fd;

	snprintf(done, sizeof(done), "%s.done", path);
	if (on) {
		fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
		if (fd < 0)
			return -errno;
		close(fd);
	} else if (unlink(path)) {
		return -errno;
	}
	while (!access(done, F_OK) != on) {
		if (te_now_ms() > end)
			return -ETIME;
		te_sleep_ms(10);
	}
	return 0;
}

#define QUIET_LEN	(64 * KIB)
#define QUIET_MAX	1000

/*
 * @nr: requests of @len bytes
 * @flowing: they are being done when the peer stops, which does not end before
 */
static const struct quiet {
	const char *desc;
	uint32_t op, nr;
	size_t len;
	bool flowing;
	uint32_t deadline_ms;
} quiets[] = {
	{ "READ of who stands still", TE_READ, 1, PAIR_LEN, false, 2000 },
	{ "READs in full swing", TE_READ, QUIET_MAX, PAIR_LEN, true, 6000 },
	{ "WRITE", TE_WRITE, 1, QUIET_LEN, false, 2000 },
};

static int quiet_submit(struct te *te, const struct quiet *q,
			const struct te_request *r, uint32_t *batch)
{
	struct te_batch_opts o = {
		.sz = sizeof(o),
		.deadline_ms = q->deadline_ms,
	};
	static struct te_request many[QUIET_MAX];
	uint32_t i;
	int ret;

	for (i = 0; i < q->nr; i++)
		many[i] = *r;
	if (!q->flowing) {
		ret = pause_peer(true);
		ret = ret ?: te_batch_alloc(te, q->nr, &o, batch);
		return ret ?: te_submit(te, *batch, many, q->nr);
	}
	ret = te_batch_alloc(te, q->nr, &o, batch);
	ret = ret ?: te_submit(te, *batch, many, q->nr);
	ret = ret ?: pause_peer(true);
	if (!ret && te_wait(te, *batch, 0) != -ETIME)
		ret = -EALREADY;
	return ret;
}

/* All have ended, in time, the last one for want of an answer. */
static int quiet_end(struct te *te, const struct quiet *q, uint32_t batch)
{
	unsigned long long from = te_now_ms();
	struct te_status st = { 0 };
	uint32_t i;
	int ret;

	ret = te_wait(te, batch, TE_WAIT_MS);
	printf("# %s: %llu ms\n", q->desc, te_now_ms() - from);
	for (i = 0; i < q->nr && !ret; i++) {
		ret = te_status(te, batch, i, &st);
		if (!ret && st.state != TE_COMPLETED && st.state != TE_TIMEOUT)
			ret = st.error ?: -EBADMSG;
	}
	if (!ret && st.state != TE_TIMEOUT)
		ret = -EALREADY;
	/* 200 ms of grace and 2 s to flush; generous for who emulates. */
	if (!ret && te_now_ms() - from > q->deadline_ms + 10000)
		ret = -ETIME;
	return te_batch_free(te, batch) ?: ret;
}

/* The peer answers again. */
static int quiet_await(struct te *te, const struct te_request *r)
{
	unsigned long long end = te_now_ms() + TE_WAIT_MS;
	int ret;

	do {
		ret = run(te, r, 1);
	} while (ret && te_now_ms() < end);
	return ret;
}

/*
 * Deadlines pass while the peer stands still, with the QPs still hoping for an
 * answer (qp_timeout=20). The buffers are given other contents: what the peer has
 * to say when it goes on touches nothing, and it sends nothing of them.
 */
TEST_F_TIMEOUT(pair, quiet, SLOW)
{
	unsigned char *old, *was;
	struct te_request r, back;
	struct area other;
	uint32_t batch, mr;
	size_t i, at;

	ASSERT_EQ(0, te_segment_open(self->te, self->url, &self->o,
				     &self->seg));
	ASSERT_EQ(0, area_alloc(&other, QUIET_LEN));
	ASSERT_EQ(0, te_mr_register(self->te, other.p, other.len, TE_LOCAL_ALL,
				    NULL, &mr));
	old = malloc(QUIET_LEN);
	was = malloc(QUIET_LEN);
	pattern_fill(old, QUIET_LEN, PAIR_SEED);
	back = (struct te_request) {
		.opcode = TE_READ,
		.segment = self->seg,
		.local_addr = (uintptr_t)other.p,
		.remote_addr = self->place.addr,
		.length = QUIET_LEN,
	};
	for (i = 0; i < ROWS(quiets); i++) {
		const struct quiet *q = &quiets[i];

		/* Connected before anything happens. */
		ASSERT_EQ(0, run(self->te, &back, 1));
		pattern_fill(self->mem.p, PAIR_LEN, 300 + i);
		pattern_fill(was, QUIET_LEN, 300 + i);
		r = back;
		r.opcode = q->op;
		r.local_addr = (uintptr_t)self->mem.p;
		r.length = q->len;
		EXPECT_ROW(0, quiet_submit(self->te, q, &r, &batch), "%s",
			   q->desc);
		EXPECT_ROW(0, quiet_end(self->te, q, batch), "%s", q->desc);
		pattern_fill(self->mem.p, PAIR_LEN, 400 + i);
		ASSERT_EQ(0, pause_peer(false));
		/* All that was on its way comes before this. */
		EXPECT_ROW(0, quiet_await(self->te, &back), "%s", q->desc);
		te_sleep_ms(3000);
		EXPECT_ROW(-1, pattern_check(self->mem.p, PAIR_LEN, 400 + i),
			   "%s", q->desc);
		ASSERT_EQ(0, run(self->te, &back, 1));
		for (at = 0; at < QUIET_LEN; at++)
			if (other.p[at] != old[at] &&
			    (q->op != TE_WRITE || other.p[at] != was[at]))
				break;
		EXPECT_ROW(QUIET_LEN, at, "%s", q->desc);
	}
	/* Nor has the peer's memory beside that of the WRITE changed. */
	back.local_addr = (uintptr_t)self->mem.p;
	back.length = PAIR_LEN;
	ASSERT_EQ(0, run(self->te, &back, 1));
	pattern_fill(self->mem.want, PAIR_LEN, PAIR_SEED);
	EXPECT_EQ(0, memcmp(self->mem.p + QUIET_LEN, self->mem.want + QUIET_LEN,
			    PAIR_LEN - QUIET_LEN));
	EXPECT_EQ(0, te_mr_unregister(self->te, mr, 0));
	area_free(&other);
	free(old);
	free(was);
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Node a of the pair test: two kernels, one wire. Bytes go both ways and each
 * node checks its own memory. run.sh runs tests by name, as te was loaded on both
 * nodes: "refused" without insecure=1, the others with it.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/test.h"
#include "lib/lanes.h"
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

/* Tells the target. */
static bool ask(int fd, const struct pair_ask *a)
{
	char answer;

	return !sock_send(fd, a, sizeof(*a)) &&
	       sock_receive(fd, &answer, 1, TE_WAIT_MS) == 1 && answer == 'y';
}

/* Does it have these bytes? */
static bool has(int fd, uint64_t offset, uint64_t length, uint64_t seed)
{
	return ask(fd, &(struct pair_ask) {
		.what = PAIR_HAS,
		.offset = offset,
		.length = length,
		.seed = seed,
	});
}

/* Another node's memory is not copied by this one's CPU, whoever asks for that. */
TEST_F_TIMEOUT(pair, local, SLOW)
{
	struct te_request r = {
		.opcode = TE_READ,
		.local_addr = (uintptr_t)self->mem.p,
		.remote_addr = self->place.addr,
		.length = PAIR_LEN,
	};
	struct te_route route;
	uint32_t batch;

	self->o.transport = TE_LOCAL;
	ASSERT_EQ(0, te_segment_open(self->te, self->url, &self->o,
				     &self->seg));
	ASSERT_EQ(0, te_segment_route(self->te, self->seg, &route));
	EXPECT_EQ(TE_ANY, route.transport);
	EXPECT_EQ(TE_LOCAL, route.forced);
	EXPECT_EQ(0, route.known & 1 << TE_LOCAL);
	r.segment = self->seg;
	ASSERT_EQ(0, te_batch_alloc(self->te, 1, NULL, &batch));
	EXPECT_EQ(-ENXIO, te_submit(self->te, batch, &r, 1));
	EXPECT_EQ(0, te_batch_free(self->te, batch));
	EXPECT_TRUE(has(self->fd, 0, PAIR_LEN, PAIR_SEED));
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

/* ---- TCP: here bytes leave from the pages of their owner, uncopied */

#define EACH	(60001UL)
#define NR	32U

/* A batch there and one back, of other bytes each time, and all of them right. */
static int both_ways(FIXTURE_DATA(pair) *self, uint64_t seed)
{
	struct te_request r[NR];
	uint32_t i;
	int ret;

	pattern_fill(self->mem.p, NR * EACH, seed);
	for (i = 0; i < NR; i++)
		r[i] = (struct te_request) {
			.opcode = TE_WRITE,
			.segment = self->seg,
			.local_addr = (uintptr_t)self->mem.p + i * EACH,
			.remote_addr = self->place.addr + i * EACH,
			.length = EACH,
		};
	ret = run(self->te, r, NR);
	if (!ret && !has(self->fd, 0, NR * EACH, seed))
		ret = -EILSEQ;
	memset(self->mem.p, 0, NR * EACH);
	for (i = 0; i < NR; i++)
		r[i].opcode = TE_READ;
	ret = ret ?: run(self->te, r, NR);
	if (!ret && pattern_check(self->mem.p, NR * EACH, seed) != -1)
		ret = -EBADMSG;
	return ret;
}

static int open_tcp(FIXTURE_DATA(pair) *self)
{
	self->o.transport = TE_TCP;
	return te_segment_open(self->te, self->url, &self->o, &self->seg);
}

/* On both nodes. */
static int netem(int fd, uint64_t row)
{
	struct pair_ask a = { .what = PAIR_NETEM, .seed = row };

	return pair_netem(row) ?: !ask(fd, &a);
}

/* Either way through a network that loses, repeats, damages, reorders, delays. */
TEST_F_TIMEOUT(pair, lossy, SLOW)
{
	unsigned long long from;
	size_t i;

	ASSERT_EQ(0, open_tcp(self));
	for (i = 0; i < NR_NETWORKS; i++) {
		MUST(netem(self->fd, i));
		from = te_now_ms();
		EXPECT_ROW(0, both_ways(self, 500 + i), "%s", networks[i]);
		TH_LOG("%s: %llu ms", networks[i], te_now_ms() - from);
		MUST(netem(self->fd, NR_NETWORKS));
	}
	EXPECT_EQ(0, both_ways(self, 7));
}

/* Endpoints made until now. */
static unsigned long long made(void)
{
	struct te_ioc_stats s = { 0 };

	return te_stats(&s) ? 0 : s.store_misses;
}

/* @rounds: of bytes that were right, until the others have done their worst. */
static int work_until(FIXTURE_DATA(pair) *self, unsigned long long end,
		      unsigned int *rounds)
{
	int ret = 0;

	while (!ret && te_now_ms() < end)
		ret = both_ways(self, 600 + (*rounds)++);
	return ret;
}

#define HALF_MS	30000

/*
 * A minute in which connections are reset under work, first by who answers, then by
 * who asked: no task fails, and no byte is wrong.
 */
TEST_F_TIMEOUT(pair, killed, SLOW)
{
	struct lanes lanes = {
		.dialed = 1, .ms = HALF_MS, .every_ms = PAIR_KILL_MS,
	};
	struct pair_ask a = { .what = PAIR_KILL, .length = HALF_MS };
	unsigned long long at, there;
	unsigned int rounds = 0;
	int session;

	ASSERT_EQ(0, open_tcp(self));
	/* Connections for data are not there before there is any. */
	session = lanes_only();
	ASSERT_LT(0, session);
	lanes.spare = session;
	a.seed = session;

	at = made();
	ASSERT_TRUE(ask(self->fd, &a));
	EXPECT_EQ(0, work_until(self, te_now_ms() + HALF_MS, &rounds));
	a.what = PAIR_KILLED;
	ASSERT_TRUE(ask(self->fd, &a));
	there = made() - at;

	at = made();
	ASSERT_EQ(0, lanes_kill(&lanes));
	EXPECT_EQ(0, work_until(self, te_now_ms() + HALF_MS, &rounds));
	EXPECT_EQ(0, go_wait(&lanes.go));
	at = made() - at;
	TH_LOG("%u rounds; %llu and %llu endpoints, %u connections reset here",
	       rounds, there, at, lanes.killed);
	/* More on a machine that is less busy. */
	EXPECT_LE(5, there);
	EXPECT_LE(5, at);
	/* And now that nobody does. */
	EXPECT_EQ(0, both_ways(self, 7));
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

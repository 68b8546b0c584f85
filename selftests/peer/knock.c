// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who knocks at a NIC and is not te: a connection by rdma_cm from user space, with
 * the hello of a session of its own, or nearly that. Whose hello is not right is told
 * why, and costs nothing; who is let in goes with its session, or when it dies.
 */
#include <sys/socket.h>
#include <unistd.h>

#include "lib/test.h"
#include "lib/dialer.h"
#include "lib/nic.h"
#include "lib/pair.h"
#include "lib/proc.h"

/* Kinds of connections that are not for us. */
enum { SERVICE = 2, LANE };

FIXTURE(knock)
{
	struct pair p;
	struct asker t;
	/* Without anything; with the pair and nobody connected. */
	struct te_rdma none, devs;
	struct te_ioc_stats base;
};

FIXTURE_SETUP(knock)
{
	ASSERT_EQ(0, te_settle_all());
	ASSERT_EQ(0, te_rdma(&self->none));
	ASSERT_EQ(0, pair_open(&self->p, NULL));
	ASSERT_EQ(0, asker_begin(&self->t, self->p.name));
	ASSERT_NE(0, self->t.nic.port);
	ASSERT_NE(self->t.te_gen, self->t.boot_gen);
	ASSERT_EQ(0, te_stats(&self->base));
	ASSERT_EQ(0, te_rdma(&self->devs));
	ASSERT_EQ(0, self->base.endpoints);
}

FIXTURE_TEARDOWN(knock)
{
	EXPECT_EQ(0, pair_check(&self->p));
	EXPECT_EQ(0, pair_xfer(&self->p, TE_WRITE, 9 * KIB, 9 * KIB, 100000));
	close(self->t.session);
	pair_close(&self->p);
	CLEAN();
	EXPECT_EQ(0, te_settle_all());
	EXPECT_EQ(0, te_rdma_settle(&self->none));
}

/* Knocks and leaves: the answer. What it cost must be what @base says, and 0. */
static int knock(const struct asker *t, const void *hello, size_t len,
		 const struct te_ioc_stats *base)
{
	struct te_ioc_stats before, after;
	struct lane_reply want = {
		.magic = htole32(CONN_MAGIC), .version = 1,
		.length = sizeof(want),
	};
	struct dialer d;
	int ret, bad;

	asker_ping(t);
	bad = te_stats(&before);
	ret = dialer_dial(&d, &t->nic, hello, len);
	if (ret) {
		/* A stranger learns nothing else. */
		want.status = htole32(-ret);
	} else {
		want.dev_id = htole32(t->nic.dev_id);
		want.boot_gen = htole64(t->te_gen);
		want.proof_key = nic_is_siw() ? d.reply.proof_key : 0;
		bad = dialer_await_nr(base->endpoints + 1) ?: bad;
	}
	bad = memcmp(&want, &d.reply, sizeof(want)) ? -EBADMSG : bad;
	bad = te_stats(&after) ?: bad;
	if (after.endpoints != base->endpoints + !ret ||
	    after.sessions_refused - before.sessions_refused != !!ret ||
	    after.sessions_broken != before.sessions_broken)
		bad = -ENOMSG;
	dialer_end(&d);
	bad = dialer_await_nr(base->endpoints) ?: bad;
	if (bad)
		printf("# answer %d, and then: %s\n", ret, strerror(-bad));
	return bad ?: ret;
}

/* Fields are made what they should not be, or each bit of @value is turned. */
struct change {
	unsigned int at, len;
	uint64_t value;
	bool turn;
};

#define AT(field) offsetof(struct lane_hello, field), \
		  sizeof(((struct lane_hello *)NULL)->field)
#define SET(field, value)	{ AT(field), value, false }
#define TURN(field, bits)	{ AT(field), bits, true }

static const struct hello {
	const char *desc;
	int status;
	struct change change[2];
} hellos[] = {
	{ "as it should be", OK, { } },
	{ "magic of a session", PROTO, { SET(magic, MAGIC) } },
	{ "magic of a lane's frame", PROTO, { SET(magic, LANE_MAGIC) } },
	{ "a bit of the magic", PROTO, { TURN(magic, 1U << 31) } },
	{ "version 0", PROTO, { SET(version, 0) } },
	{ "version 2", PROTO, { SET(version, 2) } },
	{ "version 255", PROTO, { SET(version, 255) } },
	{ "kind 0", PROTO, { SET(kind, 0) } },
	{ "a lane", PROTO, { SET(kind, LANE) } },
	{ "a lane as it should be", PROTO,
	  { SET(kind, LANE), SET(number, 1) } },
	{ "kind 4", PROTO, { SET(kind, 4) } },
	{ "kind 255", PROTO, { SET(kind, 255) } },
	{ "length 0", PROTO, { SET(length, 0) } },
	{ "length 47", PROTO, { SET(length, 47) } },
	{ "length 49", PROTO, { SET(length, 49) } },
	{ "length 255", PROTO, { SET(length, 255) } },
	{ "first bit reserved", PROTO, { SET(reserved, 1) } },
	{ "another", PROTO, { SET(reserved, 0x80) } },
	{ "first bit reserved at the end", PROTO, { SET(reserved1, 1) } },
	{ "the last", PROTO, { SET(reserved1, 1ULL << 63) } },
	{ "no token", TOKEN, { SET(token, 0) } },
	{ "all bits of the token", TOKEN, { SET(token, ~0ULL) } },
	{ "token, first bit", TOKEN, { TURN(token, 1) } },
	{ "token, a bit of the upper half", TOKEN, { TURN(token, 1ULL << 32) } },
	{ "token, last bit", TOKEN, { TURN(token, 1ULL << 63) } },
	{ "generation, first bit", GENERATION, { TURN(boot_gen, 1) } },
	{ "generation, a bit of the upper half", GENERATION,
	  { TURN(boot_gen, 1ULL << 32) } },
	{ "generation, last bit", GENERATION, { TURN(boot_gen, 1ULL << 63) } },
	{ "te's own generation", GENERATION, { TURN(boot_gen, 2) } },
	{ "no generation", GENERATION, { SET(boot_gen, 0) } },
	{ "all bits of the generation", GENERATION, { SET(boot_gen, ~0ULL) } },
	{ "neither is right", TOKEN, { TURN(token, 1), TURN(boot_gen, 1) } },
	{ "last dev", OK, { SET(dev_id, 31) } },
	{ "a dev too many", PROTO, { SET(dev_id, 32) } },
	{ "all bits of the dev", PROTO, { SET(dev_id, ~0U) } },
	{ "none of none", PROTO, { SET(nr, 0) } },
	{ "the second of one", PROTO, { SET(index, 1) } },
	{ "the last of many", OK, { SET(index, 65534), SET(nr, 65535) } },
	{ "one behind them", PROTO, { SET(index, 65535), SET(nr, 65535) } },
	{ "number 1", PROTO, { SET(number, 1) } },
	{ "number, last bit", PROTO, { SET(number, 1ULL << 63) } },
	/* Whose cookie is drawn anew each time, and good once. */
	{ "te to itself, with our token", TOKEN, { SET(kind, SERVICE) } },
	{ "te to itself, without", TOKEN, { SET(kind, SERVICE), SET(token, 0) } },
	{ "as it should be, again", OK, { } },
};

static void apply(struct lane_hello *h, const struct change *c)
{
	uint64_t v = 0;

	memcpy(&v, (char *)h + c->at, c->len);
	v = htole64(c->turn ? le64toh(v) ^ c->value : c->value);
	memcpy((char *)h + c->at, &v, c->len);
}

TEST_F_TIMEOUT(knock, hellos, SLOW)
{
	struct lane_hello h;
	size_t i, k;

	for (i = 0; i < ROWS(hellos); i++) {
		h = dialer_hello(&self->t);
		for (k = 0; k < ROWS(hellos[i].change); k++)
			apply(&h, &hellos[i].change[k]);
		EXPECT_ROW(-hellos[i].status,
			   knock(&self->t, &h, sizeof(h), &self->base), "%s",
			   hellos[i].desc);
	}
}

/*
 * On RoCE what does not come is zero, says rdma_cm: no more of a hello is needed than
 * up to its last byte that is not. iWARP says how much came.
 */
TEST_F_TIMEOUT(knock, cut_anywhere, SLOW)
{
	struct lane_hello h = dialer_hello(&self->t);
	size_t len, whole = sizeof(h);

	while (!((char *)&h)[whole - 1])
		whole--;
	ASSERT_EQ(31, whole);
	if (nic_is_siw())
		whole = sizeof(h);
	for (len = 0; len < sizeof(h); len++)
		EXPECT_ROW(len < whole ? -PROTO : OK,
			   knock(&self->t, &h, len, &self->base), "%zu bytes",
			   len);
}

/* Nobody looks at what is behind it; and what is no hello at all. */
TEST_F_TIMEOUT(knock, other_bytes, SLOW)
{
	static const char http[DIALER_MAX] = "GET / HTTP/1.1\r\nHost: te\r\n\r\n";
	static const unsigned char zeros[DIALER_MAX];
	unsigned char noise[DIALER_MAX], ones[DIALER_MAX], more[DIALER_MAX];
	struct frame f = asker_request(&self->t, WRITE, 0, 100);
	struct lane_hello h = dialer_hello(&self->t);
	const struct {
		const char *desc;
		const void *bytes;
		size_t len;
		int status;
	} rows[] = {
		{ "more behind it", more, sizeof(more), OK },
		{ "zeros", zeros, sizeof(zeros), PROTO },
		{ "ones", ones, sizeof(ones), PROTO },
		{ "noise", noise, sizeof(noise), PROTO },
		{ "HTTP", http, sizeof(http), PROTO },
		{ "a lane's request", &f, sizeof(f), PROTO },
		{ "the end of a hello", (char *)&h + 8, sizeof(h) - 8, PROTO },
	};
	size_t i;

	memset(ones, 0xff, sizeof(ones));
	memset(more, 0xff, sizeof(more));
	memcpy(more, &h, sizeof(h));
	pattern_fill(noise, sizeof(noise), 3);
	for (i = 0; i < ROWS(rows); i++)
		EXPECT_ROW(-rows[i].status,
			   knock(&self->t, rows[i].bytes, rows[i].len,
				 &self->base), "%s", rows[i].desc);
}

/* With a session its connections go, at once, and its token; others' stay. */
static const struct end {
	const char *desc;
	bool reset, heard;
} ends[] = {
	{ "closed", false, true },
	{ "reset", true, true },
	{ "closed, before the answer was heard", false, false },
};

TEST_F_TIMEOUT(knock, session_ends, SLOW)
{
	struct linger hard = { .l_onoff = 1 };
	struct dialer other;
	size_t i;

	ASSERT_EQ(0, dialer_get_in(&other, &self->t));
	ASSERT_EQ(0, dialer_await_nr(1));
	for (i = 0; i < ROWS(ends); i++) {
		struct lane_hello h;
		struct te_rdma with;
		struct dialer d;
		struct asker t;
		unsigned long long from;

		asker_ping(&self->t);
		MUST(asker_begin(&t, self->p.name));
		h = dialer_hello(&t);
		MUST(te_rdma(&with));
		MUST(dialer_ask(&d, &t.nic, &h, sizeof(h)));
		MUST(ends[i].heard ? dialer_hear(&d) : 0);
		MUST(dialer_await_nr(2));
		if (ends[i].heard)
			EXPECT_ROW(0, dialer_works(&d, &t, &self->p), "%s",
				   ends[i].desc);
		if (ends[i].reset)
			setsockopt(t.session, SOL_SOCKET, SO_LINGER, &hard,
				   sizeof(hard));
		from = te_now_ms();
		close(t.session);
		EXPECT_ROW(0, dialer_await_nr(1), "%s", ends[i].desc);
		/* Not when the peer's silence has lasted for so long. */
		EXPECT_GT(native() ? 3000 : 15000, te_now_ms() - from);
		if (ends[i].heard)
			EXPECT_ROW(0, dialer_await_end(&d), "%s", ends[i].desc);
		/* Ours still asks: nobody is there. On siw that does not end. */
		dialer_wipe(&d);
		if (ends[i].heard && !nic_is_siw())
			EXPECT_ROW(IBV_WC_RETRY_EXC_ERR,
				   dialer_move(&d, IBV_WR_RDMA_READ, t.base,
					       t.nic.key, 64), "%s",
				   ends[i].desc);
		EXPECT_ROW(0, dialer_touched(&d), "%s", ends[i].desc);
		dialer_end(&d);
		EXPECT_ROW(0, te_rdma_settle(&with), "%s", ends[i].desc);
		EXPECT_ROW(-TOKEN, dialer_dial(&d, &t.nic, &h, sizeof(h)), "%s",
			   ends[i].desc);
		dialer_end(&d);
		EXPECT_ROW(0, dialer_works(&other, &self->t, &self->p), "%s",
			   ends[i].desc);
	}
	dialer_end(&other);
}

/* What a child that is to be killed does before. */
static const struct goner {
	const char *desc;
	uint64_t wrong;
	bool hears;
} goners[] = {
	{ "asks, and does not hear", 0, false },
	{ "asks wrong, and does not hear", 1, false },
	{ "is let in", 0, true },
	{ "is not", 1, true },
};

struct child {
	const struct goner *g;
	const struct asker *t;
	struct proc proc;
};

static int go(void *arg, int in, int out)
{
	struct child *c = arg;
	struct lane_hello h = dialer_hello(c->t);
	struct dialer d;
	int ret;

	h.boot_gen ^= htole64(c->g->wrong);
	ret = proc_get(in, &ret, 1);
	ret = ret ?: dialer_ask(&d, &c->t->nic, &h, sizeof(h));
	if (!ret && c->g->hears)
		ret = dialer_hear(&d);
	proc_put(out, &ret, sizeof(ret));
	/* For ever. */
	return proc_get(in, &ret, 1);
}

TEST_F_TIMEOUT(knock, killed, SLOW)
{
	static struct child child[5 * ROWS(goners)];
	const size_t nr = native() ? ROWS(child) : ROWS(goners);
	struct dialer other;
	struct te_rdma with;
	size_t i;
	int said;

	/* All before rdma_cm is used here: it does not survive a fork. */
	for (i = 0; i < nr; i++) {
		child[i].g = &goners[i % ROWS(goners)];
		child[i].t = &self->t;
		MUST(proc_start(&child[i].proc, go, &child[i]));
	}
	ASSERT_EQ(0, dialer_get_in(&other, &self->t));
	ASSERT_EQ(0, dialer_await_nr(1));
	ASSERT_EQ(0, te_rdma(&with));
	for (i = 0; i < nr; i++) {
		const struct goner *g = child[i].g;
		struct proc *p = &child[i].proc;

		asker_ping(&self->t);
		MUST(proc_put(p->to, "", 1));
		MUST(proc_get(p->from, &said, sizeof(said)));
		EXPECT_ROW(g->wrong && g->hears ? -GENERATION : 0, said, "%s",
			   g->desc);
		if (g->hears)
			MUST(dialer_await_nr(1 + !g->wrong));
		EXPECT_ROW(128 + SIGKILL, proc_kill(p), "%s", g->desc);
		EXPECT_ROW(0, dialer_await_nr(1), "%s", g->desc);
		EXPECT_ROW(0, te_rdma_settle(&with), "%s", g->desc);
		EXPECT_ROW(0, dialer_works(&other, &self->t, &self->p), "%s",
			   g->desc);
	}
	dialer_end(&other);
}

/* A thousand who are refused leave nothing, and the next is let in. */
TEST_F_TIMEOUT(knock, thousand, SLOW)
{
	const int nr = native() ? 1000 : 100;
	struct lane_hello wrong[3], h = dialer_hello(&self->t);
	static const int status[3] = { TOKEN, GENERATION, PROTO };
	struct te_ioc_stats before, after;
	struct dialer d, inside;
	int i;

	for (i = 0; i < 3; i++)
		wrong[i] = h;
	wrong[0].token ^= 1;
	wrong[1].boot_gen ^= 1;
	wrong[2].magic ^= 1;
	ASSERT_EQ(0, dialer_get_in(&inside, &self->t));
	ASSERT_EQ(0, dialer_await_nr(1));
	ASSERT_EQ(0, te_stats(&before));
	for (i = 0; i < nr; i++) {
		if (i % 20 == 0)
			asker_ping(&self->t);
		ASSERT_EQ(-status[i % 3],
			  dialer_dial(&d, &self->t.nic, &wrong[i % 3],
				      sizeof(h)));
		dialer_end(&d);
	}
	ASSERT_EQ(0, te_stats(&after));
	EXPECT_EQ(nr, (int)(after.sessions_refused - before.sessions_refused));
	EXPECT_EQ(1, after.endpoints);
	EXPECT_EQ(before.sessions, after.sessions);
	EXPECT_EQ(0, dialer_works(&inside, &self->t, &self->p));
	dialer_end(&inside);
	EXPECT_EQ(0, te_rdma_settle(&self->devs));
	EXPECT_EQ(OK, knock(&self->t, &h, sizeof(h), &self->base));
}

TEST_HARNESS_MAIN

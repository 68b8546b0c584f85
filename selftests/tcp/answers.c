// SPDX-License-Identifier: GPL-2.0-only
/*
 * A peer that is not te answers te's requests over TCP: what is no answer to what
 * was asked ends that lane, no byte of it is taken for one, and the request is
 * asked again. This peer is wrong once and honest then, so each task must end
 * well, with the right bytes and none beside them.
 */
#include <stdlib.h>
#include <unistd.h>

#include "lib/test.h"
#include "lib/fake.h"
#include "lib/module.h"
#include "lib/sock.h"

#define LEN	5000

FIXTURE(answers)
{
	struct fake k;
};

FIXTURE_SETUP(answers)
{
	struct te_segment_opts o = {
		.sz = sizeof(o), .transport = TE_TCP, .timeout_ms = TE_WAIT_MS,
	};
	struct pair *p = &self->k.p;
	char url[64];

	ASSERT_EQ(0, te_settle());
	p->margin = 8 * KIB;
	ASSERT_EQ(0, area_alloc(&p->local, 256 * KIB));
	ASSERT_EQ(0, area_alloc(&p->remote, 256 * KIB));
	area_fill(&p->local, 1);
	area_fill(&p->remote, 2);
	ASSERT_EQ(0, fake_start(&self->k));
	ASSERT_EQ(0, te_open(&p->ini, NULL));
	ASSERT_EQ(0, te_mr_register(p->ini, p->local.p + p->margin,
				    p->local.len - 2 * p->margin, TE_LOCAL_ALL,
				    NULL, &p->lmr));
	snprintf(url, sizeof(url), "%s:%u/any", te_peer_addr(), self->k.port);
	ASSERT_EQ(0, te_segment_open(p->ini, url, &o, &p->seg));
}

FIXTURE_TEARDOWN(answers)
{
	struct fake *k = &self->k;

	/* The lanes of the last round are still good. */
	EXPECT_EQ(0, pair_xfer(&k->p, TE_READ, 9 * KIB, 10 * KIB, 100000));
	te_close(k->p.ini);
	k->p.ini = NULL;
	fake_stop(k);
	pair_close(&k->p);
	CLEAN();
	EXPECT_EQ(0, te_settle_all());
}

TEST_F_TIMEOUT(answers, right_ones, SLOW)
{
	struct pair *p = &self->k.p;

	EXPECT_EQ(0, pair_xfer(p, TE_READ, 9 * KIB, 12345, LEN));
	EXPECT_EQ(0, pair_xfer(p, TE_WRITE, 8 * KIB, 8 * KIB, 200000));
	EXPECT_EQ(0, pair_xfer(p, TE_READ, 8 * KIB + 1, 8 * KIB, 200000));
	EXPECT_EQ(0, pair_xfer(p, TE_WRITE, 10 * KIB, 9 * KIB, 1));
}

static unsigned int lanes_used(struct fake *k)
{
	unsigned int i, n = 0;

	for (i = 0; i < FAKE_MAX_FDS; i++)
		n += atomic_exchange(&k->asks[i], false);
	return n;
}

/* What one lane alone would carry for long goes by more of them. */
TEST_F_TIMEOUT(answers, side_by_side, SLOW)
{
	struct fake *k = &self->k;

	lanes_used(k);
	EXPECT_EQ(0, pair_xfer(&k->p, TE_WRITE, 9 * KIB, 8 * KIB, 200000));
	EXPECT_LE(2, lanes_used(k));
	EXPECT_EQ(0, pair_xfer(&k->p, TE_READ, 9 * KIB, 8 * KIB, 200000));
	EXPECT_LE(2, lanes_used(k));
	EXPECT_EQ(0, pair_xfer(&k->p, TE_WRITE, 9 * KIB, 8 * KIB, 1));
	EXPECT_EQ(1, lanes_used(k));
}

static int other_tag(struct fake *k, int fd, const struct frame *f,
		     unsigned char *bytes)
{
	struct frame a = fake_answer_to(f);

	a.tag ^= htole32(1);
	return fake_give(k, fd, &a, bytes);
}

static int twice(struct fake *k, int fd, const struct frame *f,
		 unsigned char *bytes)
{
	struct frame a = fake_answer_to(f);

	return fake_take_bytes(fd, f, bytes) ?: fake_give(k, fd, &a, bytes) ?:
	       fake_give(k, fd, &a, bytes);
}

/* The bytes of the WRITE have not come, and there is no room for them. */
static int early(struct fake *k, int fd, const struct frame *f,
		 unsigned char *bytes)
{
	struct frame a = fake_answer_to(f);
	int ret = fake_give(k, fd, &a, bytes);

	te_sleep_ms(300);
	return ret;
}

static int http(struct fake *k, int fd, const struct frame *f,
		unsigned char *bytes)
{
	static const char text[] = "HTTP/1.1 400 Bad Request\r\n"
		"Content-Length: 0\r\nConnection: close\r\n\r\n";

	(void)k;
	(void)f;
	(void)bytes;
	return sock_send(fd, text, sizeof(text) - 1);
}

/* It is no answer: the same again, as a request. */
static int echo(struct fake *k, int fd, const struct frame *f,
		unsigned char *bytes)
{
	return fake_give(k, fd, f, bytes);
}

#define FIELD(desc, op, at, len, value)		{ desc, op, at, len, value, NULL }
#define INSTEAD(desc, op, instead)		{ desc, op, 0, 0, 0, instead }

static const struct fake_row odd_answers[] = {
	FIELD("magic of a session", TE_READ, 0, 4, MAGIC),
	FIELD("answer to a WRITE", TE_READ, 4, 1, WRITE_REPLY),
	FIELD("answer to a READ", TE_WRITE, 4, 1, READ_REPLY),
	FIELD("a request", TE_READ, 4, 1, READ),
	FIELD("no such type", TE_READ, 4, 1, 4),
	FIELD("a checksum nobody asked for", TE_READ, 5, 1, 1),
	FIELD("no such flag", TE_READ, 5, 1, 2),
	FIELD("last flag", TE_READ, 5, 1, 0x80),
	FIELD("reserved", TE_READ, 6, 2, 1),
	FIELD("no such status", TE_READ, 12, 4, 99),
	FIELD("last status", TE_READ, 12, 4, ~0U),
	FIELD("a segment", TE_READ, 16, 4, 7),
	FIELD("a region", TE_READ, 20, 4, 3),
	FIELD("a key", TE_READ, 24, 4, 0x5eed),
	FIELD("a byte more", TE_READ, 28, 4, LEN + 1),
	FIELD("a byte less", TE_READ, 28, 4, LEN - 1),
	FIELD("nothing", TE_READ, 28, 4, 0),
	FIELD("all there is", TE_READ, 28, 4, ~0U),
	FIELD("a byte more, WRITE", TE_WRITE, 28, 4, LEN + 1),
	FIELD("a byte less, WRITE", TE_WRITE, 28, 4, LEN - 1),
	FIELD("an address", TE_READ, 32, 8, 4096),
	FIELD("checksum without flag", TE_READ, 40, 4, 1),
	FIELD("behind", TE_READ, 44, 4, 1),
	INSTEAD("another tag", TE_READ, other_tag),
	INSTEAD("another tag, WRITE", TE_WRITE, other_tag),
	INSTEAD("twice", TE_READ, twice),
	INSTEAD("twice, WRITE", TE_WRITE, twice),
	INSTEAD("the request", TE_READ, echo),
	INSTEAD("HTTP", TE_READ, http),
	INSTEAD("HTTP, WRITE", TE_WRITE, http),
};

TEST_F_TIMEOUT(answers, wrong_once, SLOW)
{
	struct te_ioc_stats before, after;
	struct fake *k = &self->k;
	size_t i;

	for (i = 0; i < ROWS(odd_answers); i++) {
		const struct fake_row *row = &odd_answers[i];

		k->closed = false;
		k->answer = row;
		MUST(te_stats(&before));
		EXPECT_ROW(0, pair_xfer(&k->p, row->op, 9 * KIB + i * 100,
					8 * KIB + i, LEN), "%s", row->desc);
		EXPECT_ROW(0, fake_await_closed(k), "%s", row->desc);
		MUST(te_stats(&after));
		EXPECT_ROW(before.sessions_broken + 1, after.sessions_broken,
			   "%s", row->desc);
	}
}

TEST_F_TIMEOUT(answers, before_it_has_all, SLOW)
{
	static const struct fake_row row = { .instead = early };
	struct fake *k = &self->k;

	ASSERT_EQ(0, fake_narrow(k));
	k->answer = &row;
	EXPECT_EQ(0, pair_xfer(&k->p, TE_WRITE, 9 * KIB, 8 * KIB, 200000));
	EXPECT_EQ(0, fake_await_closed(k));
}

static int unasked(struct fake *k, int fd, const struct frame *f,
		   unsigned char *reply)
{
	struct frame a = {
		.magic = htole32(LANE_MAGIC), .type = READ_REPLY,
		.tag = htole32(1), .length = htole32(LEN),
	};

	(void)f;
	return sock_send(fd, reply, sizeof(struct lane_reply)) ?:
	       fake_give(k, fd, &a, k->p.remote.p);
}

static int half(struct fake *k, int fd, const struct frame *f,
		unsigned char *reply)
{
	(void)k;
	(void)f;
	sock_send(fd, reply, sizeof(struct lane_reply) / 2);
	return -EPIPE;
}

/* The endpoint's time to connect ends it. */
static int half_then_silence(struct fake *k, int fd, const struct frame *f,
			     unsigned char *reply)
{
	(void)k;
	(void)f;
	return sock_send(fd, reply, sizeof(struct lane_reply) / 2);
}

static const struct fake_row odd_welcomes[] = {
	FIELD("magic of a frame", 0, 0, 4, LANE_MAGIC),
	FIELD("version", 0, 4, 1, 99),
	FIELD("no such flag", 0, 5, 1, 2),
	FIELD("length", 0, 6, 1, 31),
	FIELD("reserved1", 0, 7, 1, 1),
	FIELD("no such token", 0, 8, 4, TOKEN),
	FIELD("no such status", 0, 8, 4, 99),
	FIELD("no such dev", 0, 12, 4, 32),
	FIELD("another life", 0, 16, 8, 1),
	FIELD("reserved2", 0, 28, 4, 1),
	INSTEAD("HTTP", 0, http),
	INSTEAD("an answer behind it", 0, unasked),
	INSTEAD("half of it", 0, half),
	INSTEAD("half of it, then silence", 0, half_then_silence),
};

/* Each time the lanes are new: the answer before was wrong as well. */
TEST_F_TIMEOUT(answers, wrong_welcome, SLOW)
{
	struct fake *k = &self->k;
	size_t i;

	for (i = 0; i < ROWS(odd_welcomes); i++) {
		const struct fake_row *row = &odd_welcomes[i];

		k->closed = false;
		k->welcome = row;
		k->answer = i ? &odd_answers[0] : NULL;
		EXPECT_ROW(0, pair_xfer(&k->p, TE_READ, 9 * KIB + i * 100,
					8 * KIB + i, LEN), "%s", row->desc);
		EXPECT_ROW(0, fake_await_closed(k), "%s", row->desc);
		EXPECT_ROW(NULL, k->welcome, "%s", row->desc);
	}
}

TEST_F_TIMEOUT(answers, cut_anywhere, SLOW)
{
	struct fake *k = &self->k;
	long cut;

	for (cut = 0; cut < (long)sizeof(struct frame) + 200; cut += 5) {
		k->hard = cut & 1;
		k->cut = cut;
		EXPECT_ROW(0, pair_xfer(&k->p, TE_READ, 9 * KIB + cut,
					8 * KIB + 3 * cut, 200),
			   "%ld bytes", cut);
	}
}

TEST_F_TIMEOUT(answers, byte_by_byte, SLOW)
{
	struct fake *k = &self->k;

	k->slowly = true;
	EXPECT_EQ(0, pair_xfer(&k->p, TE_READ, 9 * KIB, 8 * KIB, LEN));
	EXPECT_EQ(0, pair_xfer(&k->p, TE_WRITE, 9 * KIB, 8 * KIB, LEN));
	k->slowly = false;
}

/* What the task ends with: its state, or -errno. */
static int outcome(struct pair *p, const struct te_request *r)
{
	struct te_status st;
	uint32_t batch;
	int ret;

	ret = te_batch_alloc(p->ini, 1, NULL, &batch);
	ret = ret ?: te_submit(p->ini, batch, r, 1);
	ret = ret ?: te_wait(p->ini, batch, TE_WAIT_MS);
	ret = ret ?: te_status(p->ini, batch, 0, &st);
	ret = ret ?: te_batch_free(p->ini, batch);
	return ret ?: st.state == TE_FAILED ? st.error : (int)st.state;
}

/*
 * A peer that wants checksums gets them, and te looks at its own: bytes that do not
 * match are moved once more, and not for ever. The lane is as good as before.
 */
TEST_F_TIMEOUT(answers, checksums, SLOW)
{
	static const uint32_t ops[] = { TE_READ, TE_WRITE };
	struct te_ioc_stats before, after;
	struct fake *k = &self->k;
	struct te_request r;
	size_t i;

	EXPECT_EQ(0xe3069283, stranger_crc("123456789", 9));
	k->crc = true;
	for (i = 0; i < ROWS(ops); i++) {
		EXPECT_EQ(0, pair_xfer(&k->p, ops[i], 8 * KIB + 1, 8 * KIB,
				       200000));
		EXPECT_EQ(0, pair_xfer(&k->p, ops[i], 9 * KIB, 11 * KIB, 1));
		MUST(te_stats(&before));
		k->garble = 1;
		EXPECT_EQ(0, pair_xfer(&k->p, ops[i], 9 * KIB, 8 * KIB, LEN));
		EXPECT_EQ(0, k->garble);
		MUST(te_stats(&after));
		/* Who finds it counts it. */
		EXPECT_EQ(ops[i] == TE_READ,
			  after.crc_errors - before.crc_errors);
		k->garble = 100;
		r = pair_req(&k->p, ops[i], 9 * KIB, 8 * KIB, LEN);
		EXPECT_EQ(-EBADMSG, outcome(&k->p, &r));
		EXPECT_EQ(98, k->garble);
		k->garble = 0;
		pair_expect(&k->p, &r);
		EXPECT_EQ(0, pair_check(&k->p));
		MUST(te_stats(&after));
		EXPECT_EQ(before.sessions_broken, after.sessions_broken);
		EXPECT_EQ(before.endpoints, after.endpoints);
	}
}

/* One that wants them and does not give them ends its lane. */
TEST_F_TIMEOUT(answers, no_checksum, SLOW)
{
	static const struct fake_row row = { .op = TE_READ, .at = 5, .len = 1 };
	struct fake *k = &self->k;

	k->crc = true;
	k->answer = &row;
	EXPECT_EQ(0, pair_xfer(&k->p, TE_READ, 9 * KIB, 8 * KIB, LEN));
	EXPECT_EQ(0, fake_await_closed(k));
}

/* A minute of lanes that end in the middle: no task notices. */
TEST_F_TIMEOUT(answers, lanes_are_killed, SLOW)
{
	unsigned long long until = te_now_ms() + (native() ? 60000 : 15000);
	enum { NR = 16, EACH = 14 * KIB };
	struct te_request r[NR];
	struct fake *k = &self->k;
	uint32_t i, op = TE_READ;
	unsigned int rounds = 0;

	k->kill_every = 40;
	while (te_now_ms() < until) {
		area_fill(&k->p.local, ++rounds);
		for (i = 0; i < NR; i++)
			r[i] = pair_req(&k->p, op, 8 * KIB + i * EACH,
					8 * KIB + i * EACH, EACH);
		MUST(pair_run(&k->p, r, NR));
		op = op == TE_READ ? TE_WRITE : TE_READ;
	}
	TH_LOG("%u rounds, %u answers", rounds, k->asked);
	EXPECT_LE(100, k->asked);
	k->kill_every = 0;
}

/* Each lane ends amid its first answer: a task is not tried for ever. */
TEST_F_TIMEOUT(answers, no_lane_lasts, SLOW)
{
	static const uint32_t ops[] = { TE_READ, TE_WRITE };
	struct fake *k = &self->k;
	struct te_request r;
	size_t i;

	ASSERT_EQ(0, module_set("retry_cnt", "3"));
	for (i = 0; i < ROWS(ops); i++) {
		r = pair_req(&k->p, ops[i], 9 * KIB, 8 * KIB, LEN);
		k->asked = 0;
		k->kill_every = 1;
		EXPECT_EQ(-ECONNRESET, outcome(&k->p, &r));
		EXPECT_EQ(4, k->asked);
		k->kill_every = 0;
		EXPECT_EQ(0, pair_xfer(&k->p, ops[i], 9 * KIB, 8 * KIB, LEN));
	}
	EXPECT_EQ(0, module_set("retry_cnt", "9"));
}

/* Who reads nothing: the deadline ends it, and nobody else waits. */
static int stop_reading(struct fake *k, int fd, const struct frame *f,
			unsigned char *bytes)
{
	(void)k;
	(void)fd;
	(void)f;
	(void)bytes;
	te_sleep_ms(3000);
	return -EPIPE;
}

TEST_F_TIMEOUT(answers, reads_nothing, SLOW)
{
	static const struct fake_row row = { .instead = stop_reading };
	struct te_batch_opts o = { .sz = sizeof(o), .deadline_ms = 500 };
	unsigned long long from = te_now_ms();
	struct fake *k = &self->k;
	struct te_status st;
	struct te_request r;
	uint32_t batch;

	ASSERT_EQ(0, fake_narrow(k));
	k->answer = &row;
	r = pair_req(&k->p, TE_WRITE, 8 * KIB, 8 * KIB, 200000);
	ASSERT_EQ(0, te_batch_alloc(k->p.ini, 1, &o, &batch));
	ASSERT_EQ(0, te_submit(k->p.ini, batch, &r, 1));
	EXPECT_EQ(0, te_wait(k->p.ini, batch, TE_WAIT_MS));
	ASSERT_EQ(0, te_status(k->p.ini, batch, 0, &st));
	EXPECT_EQ(TE_TIMEOUT, st.state);
	/* It still sleeps. */
	EXPECT_GE(2500, te_now_ms() - from);
	ASSERT_EQ(0, te_batch_free(k->p.ini, batch));
	/* Some of it may have arrived. */
	EXPECT_EQ(0, pair_xfer(&k->p, TE_WRITE, 8 * KIB, 8 * KIB, 200000));
}

static int late_fd;
static struct frame late;

/* It says nothing, for now. */
static int silence(struct fake *k, int fd, const struct frame *f,
		   unsigned char *bytes)
{
	(void)k;
	(void)bytes;
	late = *f;
	late_fd = dup(fd);
	return 0;
}

/* The deadline ends a task; what is said after that finds no lane, no memory. */
TEST_F_TIMEOUT(answers, too_late, SLOW)
{
	static const struct fake_row row = { .instead = silence };
	static const uint32_t ops[] = { TE_READ, TE_WRITE };
	struct te_batch_opts o = { .sz = sizeof(o), .deadline_ms = 500 };
	struct fake *k = &self->k;
	struct te_status st;
	struct te_request r;
	struct frame a;
	uint32_t batch;
	size_t i;

	for (i = 0; i < ROWS(ops); i++) {
		k->closed = false;
		k->answer = &row;
		r = pair_req(&k->p, ops[i], 9 * KIB, 8 * KIB, LEN);
		ASSERT_EQ(0, te_batch_alloc(k->p.ini, 1, &o, &batch));
		ASSERT_EQ(0, te_submit(k->p.ini, batch, &r, 1));
		EXPECT_EQ(0, te_wait(k->p.ini, batch, TE_WAIT_MS));
		ASSERT_EQ(0, te_status(k->p.ini, batch, 0, &st));
		EXPECT_EQ(TE_TIMEOUT, st.state);
		EXPECT_EQ(0, fake_await_closed(k));
		a = fake_answer_to(&late);
		pattern_fill(k->p.remote.p, LEN, 77);
		sock_send(late_fd, &a, sizeof(a));
		sock_send(late_fd, k->p.remote.p, LEN);
		memcpy(k->p.remote.p, k->p.remote.want, LEN);
		close(late_fd);
		EXPECT_EQ(0, pair_check(&k->p));
		ASSERT_EQ(0, te_batch_free(k->p.ini, batch));
	}
}

/* There is room for them at the other end. */
#define FEW	1000

static unsigned char kept[FEW];
static atomic_long nr_kept = -1;

/* Reads what there is of a WRITE, and only keeps it. */
static int keep(struct fake *k, int fd, const struct frame *f,
		unsigned char *bytes)
{
	long n = sock_receive(fd, kept, FEW, TE_WAIT_MS);

	(void)k;
	(void)f;
	(void)bytes;
	nr_kept = n < 0 ? 0 : n;
	return -EPIPE;
}

/*
 * Packets wait on their way out when the deadline comes: it does not end the task
 * before they have left, as they hold the task's own pages. What comes out at the
 * other end is what was there then, not what is put there afterwards.
 */
TEST_F_TIMEOUT(answers, quiet_when_it_ends, SLOW)
{
	static const struct fake_row row = { .instead = keep };
	struct te_batch_opts o = { .sz = sizeof(o), .deadline_ms = 300 };
	struct fake *k = &self->k;
	unsigned long long from;
	struct te_status st;
	struct te_request r;
	uint32_t batch;

	/* The lanes are there, and none is slow to begin. */
	ASSERT_EQ(0, pair_xfer(&k->p, TE_WRITE, 9 * KIB, 8 * KIB, FEW));
	ASSERT_EQ(0, system("tc qdisc add dev lo root netem delay 1500ms"));
	k->closed = false;
	k->answer = &row;
	r = pair_req(&k->p, TE_WRITE, 9 * KIB, 8 * KIB, FEW);
	ASSERT_EQ(0, te_batch_alloc(k->p.ini, 1, &o, &batch));
	from = te_now_ms();
	ASSERT_EQ(0, te_submit(k->p.ini, batch, &r, 1));
	EXPECT_EQ(0, te_wait(k->p.ini, batch, TE_WAIT_MS));
	EXPECT_LE(1400, te_now_ms() - from);
	ASSERT_EQ(0, te_status(k->p.ini, batch, 0, &st));
	EXPECT_EQ(TE_TIMEOUT, st.state);
	memset(k->p.local.p + 9 * KIB, 0xee, FEW);
	while (nr_kept < 0 && te_now_ms() - from < TE_WAIT_MS)
		te_sleep_ms(10);
	EXPECT_EQ(FEW, nr_kept);
	memcpy(k->p.local.p + 9 * KIB, k->p.local.want + 9 * KIB, FEW);
	EXPECT_EQ(0, memcmp(kept, k->p.local.p + 9 * KIB, FEW));
	EXPECT_EQ(0, system("tc qdisc del dev lo root"));
	ASSERT_EQ(0, te_batch_free(k->p.ini, batch));
}

TEST_HARNESS_MAIN

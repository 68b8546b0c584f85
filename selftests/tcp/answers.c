// SPDX-License-Identifier: GPL-2.0-only
/*
 * A peer that is not te answers te's requests over TCP: what is no answer to what
 * was asked ends that lane, no byte of it is taken for one, and the request is
 * asked again. This peer is wrong once and honest then, so each task must end
 * well, with the right bytes and none beside them.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/test.h"
#include "lib/pair.h"
#include "lib/sock.h"
#include "lib/stranger.h"

#define LEN	5000
#define HANDLE	7
#define MR_ID	3
#define KEY	0x5eed
#define MAX_FDS	256

struct fake;

/**
 * struct row - one way to be wrong
 * @op: of the request that meets it
 * @at: offset in the frame, or the reply to the hello, to change
 * @len: bytes to change, 0: see @instead
 * @value: what to put there
 * @instead: called to answer the request @f on @fd with @bytes
 */
struct row {
	const char *desc;
	uint32_t op;
	size_t at, len;
	uint64_t value;
	int (*instead)(struct fake *k, int fd, const struct frame *f,
		       unsigned char *bytes);
};

/**
 * struct fake - a node that is not te
 * @p: the tests' side; @p.remote is the fake's memory
 * @answer: how the next answer is wrong, once
 * @welcome: how the next reply to a lane's hello is wrong, once
 * @cut: bytes of the next answer to be sent before the end, @hard: by a reset;
 *	negative: all
 * @slowly: a byte at a time
 * @crc: lanes that come shall have checksums
 * @kill_every: amid so many answers one lane is reset, 0: none
 * @garble: the next so many answers to READs have a wrong one, WRITEs are found to
 * @odd: descriptor on which it was wrong
 * @closed: te has closed that one
 */
struct fake {
	struct pair p;
	pthread_t thread;
	uint16_t port;
	int stop[2];
	struct pollfd fds[MAX_FDS];
	unsigned int nr;
	int session;
	uint64_t boot_gen;
	uint32_t cookie;
	const struct row *_Atomic answer, *_Atomic welcome;
	atomic_long cut;
	atomic_bool hard, slowly, closed, crc;
	atomic_int odd, garble;
	atomic_uint kill_every;
	unsigned int asked;
};

FIXTURE(answers)
{
	struct fake k;
};

static int welcome(struct fake *k, int fd)
{
	unsigned char payload[128] = { 0 };
	uint16_t version = htole16(1), shift = htole16(12);
	uint64_t features = htole64(3), token = htole64(0x70cee);

	memcpy(payload + 4, &version, 2);
	memcpy(payload + 6, &shift, 2);
	memcpy(payload + 16, &features, 8);
	pattern_fill(payload + 24, 16, k->boot_gen);
	memcpy(payload + 40, &k->boot_gen, 8);
	memcpy(payload + 48, &token, 8);
	return stranger_send(fd, HELLO_REPLY, payload, sizeof(payload));
}

/* One dev, TCP, at the port of the session; one region on it. */
static int describe(struct fake *k, int fd)
{
	uint32_t opened[4] = { k->cookie, 0, HANDLE }, ready[2] = { k->cookie };
	uint32_t devs[10] = { k->cookie, 1 }, mrs[10] = { k->cookie, 1 };
	uint32_t keys[5] = { k->cookie, MR_ID, 1, 0, KEY };
	uint64_t base = (uintptr_t)k->p.remote.p + k->p.margin;
	uint64_t len = k->p.remote.len - 2 * k->p.margin;

	devs[6] = k->port | 40U << 16;
	devs[8] = ~0U;
	devs[9] = 1;
	memcpy(mrs + 2, &base, 8);
	memcpy(mrs + 4, &len, 8);
	mrs[6] = MR_ID;
	mrs[7] = TE_REMOTE_ALL;
	mrs[8] = base & 4095;
	mrs[9] = 1;
	return stranger_send(fd, SEG_OPENED, opened, sizeof(opened)) ?:
	       stranger_send(fd, SEG_DEVS, devs, sizeof(devs)) ?:
	       stranger_send(fd, SEG_MRS, mrs, sizeof(mrs)) ?:
	       stranger_send(fd, SEG_KEYS, keys, sizeof(keys)) ?:
	       stranger_send(fd, SEG_READY, ready, sizeof(ready));
}

static int session_frame(struct fake *k, int fd)
{
	unsigned char buf[HEADER + 4096];
	uint32_t gone[2] = { k->cookie, 12 };
	long n = stranger_receive(fd, buf, sizeof(buf));

	if (n < 0)
		return n;
	switch (buf[4]) {
	case HELLO:
		return welcome(k, fd);
	case PING:
		return stranger_send(fd, PONG, buf + HEADER, n);
	case SEG_OPEN:
		k->cookie = get32(buf + HEADER);
		return describe(k, fd);
	case SEG_CLOSE:
		return stranger_send(fd, SEG_GONE, gone, sizeof(gone));
	default:
		return -EPIPE;
	}
}

/* What is wrong comes once: nobody else gets it. */
static const struct row *take(struct fake *k, const struct row *_Atomic *from,
			      int fd)
{
	const struct row *row = atomic_exchange(from, NULL);

	if (row)
		k->odd = fd;
	return row;
}

static int lane_greeting(struct fake *k, int fd)
{
	const struct row *row;
	struct lane_hello h;
	uint64_t value;
	struct lane_reply r = {
		.magic = htole32(CONN_MAGIC), .version = 1,
		.flags = k->crc ? WITH_CRC : 0, .length = sizeof(r),
		.boot_gen = htole64(k->boot_gen),
	};

	if (sock_receive(fd, &h, sizeof(h), TE_WAIT_MS) != sizeof(h) ||
	    h.kind != 3 || h.token != htole64(0x70cee) || !h.number)
		return -EPROTO;
	row = take(k, &k->welcome, fd);
	value = row ? htole64(row->value) : 0;
	if (row && row->instead)
		return row->instead(k, fd, NULL, (unsigned char *)&r);
	if (row)
		memcpy((char *)&r + row->at, &value, row->len);
	return sock_send(fd, &r, sizeof(r));
}

static unsigned char *memory(struct fake *k, const struct frame *f)
{
	uint64_t addr = le64toh(f->addr), len = le32toh(f->length);
	uint64_t base = (uintptr_t)k->p.remote.p + k->p.margin;
	uint64_t end = (uintptr_t)k->p.remote.p + k->p.remote.len - k->p.margin;

	if (f->magic != htole32(LANE_MAGIC) || f->segment != htole32(HANDLE) ||
	    f->mr_id != htole32(MR_ID) || f->key != htole32(KEY) ||
	    addr < base || addr > end || len > end - addr)
		return NULL;
	return (unsigned char *)(uintptr_t)addr;
}

static struct frame answer_to(const struct frame *f)
{
	return (struct frame) {
		.magic = f->magic, .type = f->type + 1, .tag = f->tag,
		.length = f->length,
	};
}

static int send_slowly(int fd, const unsigned char *p, size_t len)
{
	int ret = 0;

	while (len-- && !ret)
		ret = sock_send(fd, p++, 1);
	return ret;
}

/* @a, then the bytes; or as much of both as there is to be. */
static int give(struct fake *k, int fd, const struct frame *a,
		const unsigned char *bytes)
{
	static unsigned char msg[sizeof(*a) + LANE_MAX];
	size_t len = a->type == READ_REPLY ? le32toh(a->length) : 0;
	struct linger hard = { .l_onoff = 1 };
	long cut = atomic_exchange(&k->cut, -1);

	/* Whatever it says: there are no more than these. */
	if (len > LANE_MAX)
		len = LEN;
	memcpy(msg, a, sizeof(*a));
	memcpy(msg + sizeof(*a), bytes, len);
	len += sizeof(*a);
	if (k->slowly)
		return send_slowly(fd, msg, len);
	if (cut < 0)
		return sock_send(fd, msg, len);
	sock_send(fd, msg, cut);
	if (k->hard)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	return -EPIPE;
}

/* It was wrong here: all that te still does is to close it. */
static int hear_out(int fd)
{
	unsigned char buf[4096];

	return recv(fd, buf, sizeof(buf), 0) > 0 ? 0 : -EPIPE;
}

static int take_bytes(int fd, const struct frame *f, unsigned char *bytes)
{
	long len = f->type == WRITE ? le32toh(f->length) : 0;

	return !len || sock_receive(fd, bytes, len, TE_WAIT_MS) == len ?
	       0 : -EPIPE;
}

/* Those of the request are right, and the answer has what it should, or not. */
static int checksums(struct fake *k, const struct frame *f, struct frame *a,
		     const unsigned char *bytes)
{
	uint32_t crc = stranger_crc(bytes, le32toh(f->length));
	bool garble = k->garble > 0;

	if (f->flags != WITH_CRC || (f->type == READ && f->crc) ||
	    (f->type == WRITE && f->crc != htole32(crc)))
		return -EPROTO;
	if (garble)
		k->garble--;
	if (f->type == READ) {
		a->flags = WITH_CRC;
		a->crc = htole32(crc ^ garble);
	} else if (garble) {
		a->status = htole32(CRC);
	}
	return 0;
}

static int lane_frame(struct fake *k, int fd)
{
	const struct row *row;
	unsigned char *bytes;
	struct frame f, a;
	uint64_t value;

	if (sock_receive(fd, &f, sizeof(f), TE_WAIT_MS) != sizeof(f))
		return -EPIPE;
	bytes = memory(k, &f);
	if (!bytes)
		return -EPROTO;
	row = take(k, &k->answer, fd);
	value = row ? htole64(row->value) : 0;
	if (row && row->instead)
		return row->instead(k, fd, &f, bytes);
	if (take_bytes(fd, &f, bytes))
		return -EPIPE;
	a = answer_to(&f);
	if (k->kill_every && ++k->asked % k->kill_every == 0) {
		k->hard = true;
		k->cut = rand() % (sizeof(a) + (f.type == READ ? f.length : 0));
	}
	if (k->crc && checksums(k, &f, &a, bytes))
		return -EPROTO;
	if (row)
		memcpy((char *)&a + row->at, &value, row->len);
	return give(k, fd, &a, bytes);
}

/* What begins here: a session or a lane? */
static int first_word(struct fake *k, int fd)
{
	uint32_t magic;

	if (recv(fd, &magic, 4, MSG_PEEK | MSG_WAITALL) != 4)
		return -EPIPE;
	if (magic == htole32(CONN_MAGIC))
		return lane_greeting(k, fd);
	k->session = fd;
	return session_frame(k, fd);
}

static void drop(struct fake *k, unsigned int i)
{
	if (k->fds[i].fd == k->odd) {
		k->closed = true;
		k->odd = -1;
	}
	if (k->fds[i].fd == k->session)
		k->session = -1;
	close(k->fds[i].fd);
	k->fds[i] = k->fds[--k->nr];
}

static void meet(struct fake *k)
{
	int fd = accept(k->fds[0].fd, NULL, NULL), one = 1;

	if (fd < 0 || k->nr == MAX_FDS) {
		close(fd);
		return;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	/* POLLRDHUP stands for "has said nothing yet". */
	k->fds[k->nr++] = (struct pollfd) { .fd = fd, .events = POLLIN,
					    .revents = POLLRDHUP };
}

static void *fake_thread(void *arg)
{
	struct fake *k = arg;
	bool fresh[MAX_FDS] = { 0 };
	unsigned int i;
	int ret;

	while (poll(k->fds, k->nr, -1) >= 0 && !k->fds[1].revents) {
		for (i = k->nr - 1; i >= 2; i--) {
			int fd = k->fds[i].fd;

			if (!k->fds[i].revents)
				continue;
			/* Descriptors are small. */
			if (fresh[fd % MAX_FDS])
				ret = first_word(k, fd);
			else if (fd == k->session)
				ret = session_frame(k, fd);
			else if (fd == k->odd)
				ret = hear_out(fd);
			else
				ret = lane_frame(k, fd);
			fresh[fd % MAX_FDS] = false;
			if (ret)
				drop(k, i);
		}
		if (k->fds[0].revents) {
			meet(k);
			fresh[k->fds[k->nr - 1].fd % MAX_FDS] = true;
		}
	}
	return NULL;
}

static int fake_start(struct fake *k)
{
	int listener = sock_listen(64, &k->port);

	k->session = -1;
	k->odd = -1;
	k->cut = -1;
	k->boot_gen = htole64(te_now_ms() + 1);
	if (listener < 0 || pipe(k->stop))
		return -1;
	k->fds[0] = (struct pollfd) { .fd = listener, .events = POLLIN };
	k->fds[1] = (struct pollfd) { .fd = k->stop[0], .events = POLLIN };
	k->nr = 2;
	return pthread_create(&k->thread, NULL, fake_thread, k);
}

static void fake_stop(struct fake *k)
{
	close(k->stop[1]);
	pthread_join(k->thread, NULL);
	while (k->nr)
		close(k->fds[--k->nr].fd);
}

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

/* Lanes that come have little room: te cannot send much that is not read. */
static int narrow(struct fake *k)
{
	int small = 4096;

	return setsockopt(k->fds[0].fd, SOL_SOCKET, SO_RCVBUF, &small,
			  sizeof(small));
}

/* Was it noticed? Lanes go with their endpoint. */
static int await_closed(struct fake *k)
{
	unsigned long long until = te_now_ms() + TE_WAIT_MS;

	while (!k->closed && te_now_ms() < until)
		usleep(1000);
	return k->closed ? 0 : -ETIME;
}

TEST_F_TIMEOUT(answers, right_ones, SLOW)
{
	struct pair *p = &self->k.p;

	EXPECT_EQ(0, pair_xfer(p, TE_READ, 9 * KIB, 12345, LEN));
	EXPECT_EQ(0, pair_xfer(p, TE_WRITE, 8 * KIB, 8 * KIB, 200000));
	EXPECT_EQ(0, pair_xfer(p, TE_READ, 8 * KIB + 1, 8 * KIB, 200000));
	EXPECT_EQ(0, pair_xfer(p, TE_WRITE, 10 * KIB, 9 * KIB, 1));
}

static int other_tag(struct fake *k, int fd, const struct frame *f,
		     unsigned char *bytes)
{
	struct frame a = answer_to(f);

	a.tag ^= htole32(1);
	return give(k, fd, &a, bytes);
}

static int twice(struct fake *k, int fd, const struct frame *f,
		 unsigned char *bytes)
{
	struct frame a = answer_to(f);

	return take_bytes(fd, f, bytes) ?: give(k, fd, &a, bytes) ?:
	       give(k, fd, &a, bytes);
}

/* The bytes of the WRITE have not come, and there is no room for them. */
static int early(struct fake *k, int fd, const struct frame *f,
		 unsigned char *bytes)
{
	struct frame a = answer_to(f);
	int ret = give(k, fd, &a, bytes);

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
	return give(k, fd, f, bytes);
}

#define FIELD(desc, op, at, len, value)		{ desc, op, at, len, value, NULL }
#define INSTEAD(desc, op, instead)		{ desc, op, 0, 0, 0, instead }

static const struct row odd_answers[] = {
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
	FIELD("a segment", TE_READ, 16, 4, HANDLE),
	FIELD("a region", TE_READ, 20, 4, MR_ID),
	FIELD("a key", TE_READ, 24, 4, KEY),
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
		const struct row *row = &odd_answers[i];

		k->closed = false;
		k->answer = row;
		MUST(te_stats(&before));
		EXPECT_ROW(0, pair_xfer(&k->p, row->op, 9 * KIB + i * 100,
					8 * KIB + i, LEN), "%s", row->desc);
		EXPECT_ROW(0, await_closed(k), "%s", row->desc);
		MUST(te_stats(&after));
		EXPECT_ROW(before.sessions_broken + 1, after.sessions_broken,
			   "%s", row->desc);
	}
}

TEST_F_TIMEOUT(answers, before_it_has_all, SLOW)
{
	static const struct row row = { .instead = early };
	struct fake *k = &self->k;

	ASSERT_EQ(0, narrow(k));
	k->answer = &row;
	EXPECT_EQ(0, pair_xfer(&k->p, TE_WRITE, 9 * KIB, 8 * KIB, 200000));
	EXPECT_EQ(0, await_closed(k));
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
	       give(k, fd, &a, k->p.remote.p);
}

static int half(struct fake *k, int fd, const struct frame *f,
		unsigned char *reply)
{
	(void)k;
	(void)f;
	sock_send(fd, reply, sizeof(struct lane_reply) / 2);
	return -EPIPE;
}

static const struct row odd_welcomes[] = {
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
};

/* Each time the lanes are new: the answer before was wrong as well. */
TEST_F_TIMEOUT(answers, wrong_welcome, SLOW)
{
	struct fake *k = &self->k;
	size_t i;

	for (i = 0; i < ROWS(odd_welcomes); i++) {
		const struct row *row = &odd_welcomes[i];

		k->closed = false;
		k->welcome = row;
		k->answer = i ? &odd_answers[0] : NULL;
		EXPECT_ROW(0, pair_xfer(&k->p, TE_READ, 9 * KIB + i * 100,
					8 * KIB + i, LEN), "%s", row->desc);
		EXPECT_ROW(0, await_closed(k), "%s", row->desc);
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
	static const struct row row = { .op = TE_READ, .at = 5, .len = 1 };
	struct fake *k = &self->k;

	k->crc = true;
	k->answer = &row;
	EXPECT_EQ(0, pair_xfer(&k->p, TE_READ, 9 * KIB, 8 * KIB, LEN));
	EXPECT_EQ(0, await_closed(k));
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
	static const struct row row = { .instead = stop_reading };
	struct te_batch_opts o = { .sz = sizeof(o), .deadline_ms = 500 };
	unsigned long long from = te_now_ms();
	struct fake *k = &self->k;
	struct te_status st;
	struct te_request r;
	uint32_t batch;

	ASSERT_EQ(0, narrow(k));
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
	static const struct row row = { .instead = silence };
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
		EXPECT_EQ(0, await_closed(k));
		a = answer_to(&late);
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
	static const struct row row = { .instead = keep };
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

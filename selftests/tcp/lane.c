// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP lanes of a peer that is not te: a plain socket that says what it likes, with
 * the token of a session of its own. What it may not have is refused and the lane
 * goes on; what is not a request ends that lane; nothing of either touches memory,
 * and others are served.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/test.h"
#include "lib/pair.h"
#include "lib/sock.h"
#include "lib/stranger.h"

/* What the session tells of the region: a good READ of all of it, and more. */
struct told {
	int session;
	uint64_t token, boot_gen, base, length;
	uint32_t segment, mr_id, key;
};

FIXTURE(lane)
{
	struct pair p;
	struct told t;
};

static int ask_for(int fd, const char *name)
{
	unsigned char payload[16 + 64] = { 0 };
	uint32_t words[] = { htole32(1), 0, htole32(strlen(name)), 0 };

	memcpy(payload, words, sizeof(words));
	memcpy(payload + sizeof(words), name, strlen(name));
	return stranger_send(fd, SEG_OPEN, payload,
			     sizeof(words) + strlen(name));
}

/* The description: one region, and its key on the dev that is TCP. */
static int hear_of(struct told *t)
{
	static unsigned char f[HEADER + 65536];
	unsigned char *p = f + HEADER;
	uint32_t tcp = ~0U, shift[32] = { 0 }, page_off = 0, mask = 0;
	uint32_t i, dev, at = 0;

	do {
		if (stranger_receive(t->session, f, sizeof(f)) < 0)
			return -EPIPE;
		switch (f[4]) {
		case SEG_OPENED:
			if (get32(p + 4))
				return -ENOENT;
			t->segment = get32(p + 8);
			break;
		case SEG_DEVS:
			for (i = 0; i < get32(p + 4); i++) {
				dev = get32(p + 8 + 32 * i + 20);
				shift[dev & 31] = p[8 + 32 * i + 18];
				if (p[8 + 32 * i + 28] == 1)
					tcp = dev;
			}
			break;
		case SEG_MRS:
			t->base = get64(p + 8);
			t->length = get64(p + 16);
			t->mr_id = get32(p + 24);
			page_off = get32(p + 32);
			mask = get32(p + 36);
			break;
		case SEG_KEYS:
			for (dev = 0; dev < tcp && tcp < 32; dev++)
				if (mask & 1U << dev)
					at += ((page_off + t->length - 1) >>
					       shift[dev]) + 1;
			t->key = get32(p + 16 + 4 * at);
			break;
		}
	} while (f[4] != SEG_READY);
	return tcp < 32 ? 0 : -ENODEV;
}

/* A session as te would have it, and the segment of the pair over it. */
static int begin(struct told *t, const char *name)
{
	static unsigned char hello[4096], reply[4096];
	long n = stranger_catch_hello(hello, sizeof(hello));

	if (n < HEADER)
		return -EIO;
	t->boot_gen = get64(hello + HEADER + 32);
	t->session = sock_connect(te_peer_addr(), TE_DEFAULT_PORT);
	if (t->session < 0)
		return t->session;
	if (sock_send(t->session, hello, n) ||
	    stranger_receive(t->session, reply, sizeof(reply)) < 0 ||
	    get32(reply + HEADER))
		return -EPROTO;
	t->token = get64(reply + HEADER + 48);
	return ask_for(t->session, name) ?: hear_of(t);
}

FIXTURE_SETUP(lane)
{
	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, pair_open(&self->p, NULL));
	ASSERT_EQ(0, begin(&self->t, self->p.name));
	ASSERT_EQ((uintptr_t)self->p.remote.p + self->p.margin, self->t.base);
}

FIXTURE_TEARDOWN(lane)
{
	EXPECT_EQ(0, pair_check(&self->p));
	EXPECT_EQ(0, pair_xfer(&self->p, TE_WRITE, 9 * KIB, 9 * KIB, 100000));
	close(self->t.session);
	pair_close(&self->p);
	CLEAN();
	EXPECT_EQ(0, te_settle_all());
}

static struct lane_hello hello_of(const struct told *t)
{
	return (struct lane_hello) {
		.magic = htole32(CONN_MAGIC), .version = 1, .kind = 3,
		.length = sizeof(struct lane_hello),
		.token = htole64(t->token), .boot_gen = htole64(t->boot_gen),
		.nr = htole16(1), .number = htole64(1),
	};
}

/* fd, or what te said to the hello, negative; -EPIPE: nothing. */
static int lane_with(const struct lane_hello *h)
{
	int fd = sock_connect(te_peer_addr(), TE_DEFAULT_PORT), one = 1;
	unsigned char reply[32];
	int ret = fd;

	if (fd < 0)
		return fd;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	ret = sock_send(fd, h, sizeof(*h));
	if (!ret && sock_receive(fd, reply, sizeof(reply), TE_WAIT_MS) !=
		    sizeof(reply))
		ret = -EPIPE;
	if (!ret)
		ret = -(int)get32(reply + 8);
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

static int lane_open(const struct told *t)
{
	struct lane_hello h = hello_of(t);

	return lane_with(&h);
}

static struct frame request(const struct told *t, uint8_t type, uint64_t off,
			    uint32_t len)
{
	return (struct frame) {
		.magic = htole32(LANE_MAGIC), .type = type,
		.tag = htole32(0x1234), .segment = htole32(t->segment),
		.mr_id = htole32(t->mr_id), .key = htole32(t->key),
		.length = htole32(len), .addr = htole64(t->base + off),
	};
}

/* Its status; with OK and a READ, the bytes are at @buf. Negative: the lane ended. */
static int ask(int fd, const struct frame *f, unsigned char *buf)
{
	uint32_t len = le32toh(f->length);
	struct frame a;
	int ret;

	ret = sock_send(fd, f, sizeof(*f));
	if (!ret && f->type == WRITE)
		ret = sock_send(fd, buf, len);
	if (ret || sock_receive(fd, &a, sizeof(a), TE_WAIT_MS) != sizeof(a))
		return -EPIPE;
	if (a.magic != htole32(LANE_MAGIC) || a.type != f->type + 1 ||
	    a.tag != f->tag || a.length != f->length)
		return -EPROTO;
	if (!a.status && f->type == READ &&
	    sock_receive(fd, buf, len, TE_WAIT_MS) != (long)len)
		return -EPIPE;
	return le32toh(a.status);
}

/* Until te has so many, of this node's endpoints and of lanes to it. */
static int await_lanes(uint64_t nr)
{
	return te_settle_one(offsetof(struct te_ioc_stats, endpoints), nr,
			     TE_WAIT_MS);
}

/* It still does what it should. */
static int lane_works(int fd, const struct told *t, struct pair *p)
{
	static unsigned char buf[LANE_MAX];
	struct frame f = request(t, READ, 100, 5000);
	int ret = ask(fd, &f, buf);

	return ret ?: memcmp(buf, p->remote.p + p->margin + 100, 5000);
}

TEST_F_TIMEOUT(lane, good_requests, SLOW)
{
	static unsigned char buf[LANE_MAX];
	struct pair *p = &self->p;
	struct frame f;
	int fd = lane_open(&self->t);

	ASSERT_LE(0, fd);
	pattern_fill(buf, LANE_MAX, 5);
	f = request(&self->t, WRITE, 4096 - 7, LANE_MAX);
	EXPECT_EQ(OK, ask(fd, &f, buf));
	memcpy(p->remote.want + p->margin + 4096 - 7, buf, LANE_MAX);
	EXPECT_EQ(0, pair_check(p));
	EXPECT_EQ(0, lane_works(fd, &self->t, p));
	close(fd);
}

/* Refused, whatever the direction: the lane goes on, no byte has changed. */
static const struct refused {
	const char *desc;
	int64_t off;
	uint32_t len, segment, mr_id, key;
	int status;
} refused[] = {
	{ "a byte before it", -1, 1, 0, 0, 0, REFUSED },
	{ "into it from before", -1, 100, 0, 0, 0, REFUSED },
	{ "a byte behind it", 1 << 30, 1, 0, 0, 0, REFUSED },
	{ "out of it", 0, 0, 0, 0, 0, REFUSED },	/* filled in */
	{ "another segment", 0, 64, 1, 0, 0, GONE },
	{ "another region", 0, 64, 0, 1, 0, GONE },
	{ "a region far off", 0, 64, 0, 1U << 31, 0, GONE },
	{ "another key", 0, 64, 0, 0, 1, GONE },
};

TEST_F_TIMEOUT(lane, refused, SLOW)
{
	static unsigned char buf[LANE_MAX];
	int fd = lane_open(&self->t), type;
	size_t i;

	ASSERT_LE(0, fd);
	for (i = 0; i < ROWS(refused); i++) {
		struct refused r = refused[i];

		if (!r.len) {
			r.len = 4096;
			r.off = self->t.length - 4095;
		} else if (r.off == 1 << 30) {
			r.off = self->t.length;
		}
		for (type = READ; type <= WRITE; type += WRITE - READ) {
			struct frame f = request(&self->t, type, r.off, r.len);

			f.segment = htole32(self->t.segment + r.segment);
			f.mr_id = htole32(self->t.mr_id + r.mr_id);
			f.key = htole32(self->t.key + r.key);
			memset(buf, 0xee, r.len);
			EXPECT_ROW(r.status, ask(fd, &f, buf), "%s, type %d",
				   r.desc, type);
			EXPECT_ROW(0, lane_works(fd, &self->t, &self->p),
				   "%s, type %d", r.desc, type);
		}
	}
	close(fd);
}

/* A region that peers may only read. */
TEST_F_TIMEOUT(lane, wrong_direction, SLOW)
{
	struct pair_opts o = { .remote_access = TE_REMOTE_READ };
	unsigned char buf[64] = { 0 };
	struct frame f;
	struct told t;
	struct pair p;
	int fd;

	ASSERT_EQ(0, pair_open(&p, &o));
	ASSERT_EQ(0, begin(&t, p.name));
	fd = lane_open(&t);
	ASSERT_LE(0, fd);
	f = request(&t, WRITE, 0, sizeof(buf));
	EXPECT_EQ(REFUSED, ask(fd, &f, buf));
	f.type = READ;
	EXPECT_EQ(OK, ask(fd, &f, buf));
	EXPECT_EQ(0, pair_check(&p));
	close(fd);
	close(t.session);
	pair_close(&p);
}

/* Not a request: each ends its lane, and its lane only. */
static const struct broken {
	const char *desc;
	size_t at, len;
	uint64_t value;
} broken[] = {
	{ "magic of a session", 0, 4, MAGIC },
	{ "an answer to a READ", 4, 1, READ_REPLY },
	{ "an answer to a WRITE", 4, 1, WRITE_REPLY },
	{ "no such type", 4, 1, 4 },
	{ "last type", 4, 1, 255 },
	{ "no such flag", 5, 1, 2 },
	{ "last flag", 5, 1, 0x80 },
	{ "reserved", 6, 2, 1 },
	{ "a status", 12, 4, 1 },
	{ "no segment", 16, 4, 0 },
	{ "no bytes", 28, 4, 0 },
	{ "a byte too many", 28, 4, LANE_MAX + 1 },
	{ "all there are", 28, 4, ~0U },
	{ "round the corner", 32, 8, ~0ULL },
	{ "checksum without flag", 40, 4, 1 },
	{ "behind", 44, 4, 1 },
	{ "HTTP", 0, 8, 0x2f20544547202020 },
};

TEST_F_TIMEOUT(lane, broken, SLOW)
{
	int good = lane_open(&self->t), fd;
	struct te_ioc_stats before, after;
	size_t i;

	ASSERT_LE(0, good);
	ASSERT_EQ(0, te_stats(&before));
	/* It is the peer's, and no endpoint of ours. */
	EXPECT_EQ(0, before.endpoints_draining);
	for (i = 0; i < ROWS(broken); i++) {
		struct frame f = request(&self->t, WRITE, 0, 4096);
		uint64_t value = htole64(broken[i].value);

		fd = lane_open(&self->t);
		ASSERT_LE(0, fd);
		memcpy((char *)&f + broken[i].at, &value, broken[i].len);
		EXPECT_ROW(0, sock_send(fd, &f, sizeof(f)), "%s",
			   broken[i].desc);
		EXPECT_ROW(0, sock_await_close(fd, TE_WAIT_MS), "%s",
			   broken[i].desc);
		close(fd);
		EXPECT_ROW(0, lane_works(good, &self->t, &self->p), "%s",
			   broken[i].desc);
	}
	ASSERT_EQ(0, te_stats(&after));
	EXPECT_EQ(ROWS(broken), after.sessions_broken - before.sessions_broken);
	close(good);
}

/* Cut anywhere; what did not come does not change, and each end is counted. */
TEST_F_TIMEOUT(lane, cut_anywhere, SLOW)
{
	struct linger hard = { .l_onoff = 1 };
	unsigned char msg[sizeof(struct frame) + 200];
	struct frame f = request(&self->t, WRITE, 300, 200);
	unsigned char *at = self->p.remote.p + self->p.margin + 300;
	struct te_ioc_stats before, after;
	size_t cut;
	int fd;

	memcpy(msg, &f, sizeof(f));
	/* The bytes that are there: so that no part of it shows. */
	memcpy(msg + sizeof(f), at, 200);
	ASSERT_EQ(0, te_stats(&before));
	for (cut = 0; cut < sizeof(msg); cut++) {
		fd = lane_open(&self->t);
		ASSERT_LE(0, fd);
		EXPECT_EQ(0, sock_send(fd, msg, cut));
		if (cut & 1)
			setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard,
				   sizeof(hard));
		close(fd);
	}
	ASSERT_EQ(0, await_lanes(before.endpoints));
	ASSERT_EQ(0, te_stats(&after));
	/* One was not begun. */
	EXPECT_EQ(sizeof(msg) - 1, after.sessions_lost - before.sessions_lost);
	EXPECT_EQ(before.sessions_broken, after.sessions_broken);
}

TEST_F_TIMEOUT(lane, byte_by_byte, SLOW)
{
	struct frame f = request(&self->t, WRITE, 1000, 300), a;
	unsigned char msg[sizeof(f) + 300];
	size_t i;
	int fd = lane_open(&self->t);

	ASSERT_LE(0, fd);
	memcpy(msg, &f, sizeof(f));
	pattern_fill(msg + sizeof(f), 300, 9);
	for (i = 0; i < sizeof(msg); i++)
		ASSERT_EQ(0, sock_send(fd, msg + i, 1));
	ASSERT_EQ((long)sizeof(a), sock_receive(fd, &a, sizeof(a), TE_WAIT_MS));
	EXPECT_EQ(OK, (int)a.status);
	memcpy(self->p.remote.want + self->p.margin + 1000, msg + sizeof(f),
	       300);
	close(fd);
}

/* Bytes that TCP holds, in all sockets. */
static long tcp_mem(void)
{
	FILE *f = fopen("/proc/net/sockstat", "re");
	long pages = -1;
	char line[200];

	while (f && pages < 0 && fgets(line, sizeof(line), f))
		if (sscanf(line, "TCP: %*[^m]mem %ld", &pages) != 1)
			pages = -1;
	if (f)
		fclose(f);
	return pages < 0 ? -1 : pages * sysconf(_SC_PAGESIZE);
}

/*
 * Who asks for much and reads nothing costs a lane for some seconds, and no more
 * memory than two sockets may have.
 */
TEST_F_TIMEOUT(lane, reads_nothing, SLOW)
{
	struct frame f = request(&self->t, READ, 0, LANE_MAX);
	int fd = lane_open(&self->t), good = lane_open(&self->t), i, ret = 0;
	struct pollfd pfd = { .fd = fd };
	struct te_ioc_stats before, after;
	long had = tcp_mem();

	ASSERT_LE(0, fd);
	ASSERT_LE(0, good);
	ASSERT_LE(0, had);
	ASSERT_EQ(0, te_stats(&before));
	for (i = 0; i < 100000 && !ret; i++)
		ret = send(fd, &f, sizeof(f), MSG_DONTWAIT | MSG_NOSIGNAL) ==
		      sizeof(f) ? 0 : -1;
	EXPECT_EQ(0, lane_works(good, &self->t, &self->p));
	EXPECT_GT(32 * MIB, tcp_mem() - had);
	/* te ends it: here nothing is read, which would open the window. */
	EXPECT_EQ(1, poll(&pfd, 1, TE_WAIT_MS));
	EXPECT_NE(0, pfd.revents & (POLLHUP | POLLERR));
	ASSERT_EQ(0, await_lanes(before.endpoints - 1));
	ASSERT_EQ(0, te_stats(&after));
	EXPECT_EQ(1, after.sessions_lost - before.sessions_lost);
	EXPECT_EQ(0, lane_works(good, &self->t, &self->p));
	close(fd);
	close(good);
}

/* What arrives is compared with what the peer says of it. */
TEST_F_TIMEOUT(lane, checksums, SLOW)
{
	static unsigned char buf[LANE_MAX];
	struct te_ioc_stats before, after;
	struct pair *p = &self->p;
	struct frame f, a;
	int fd = lane_open(&self->t);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, te_stats(&before));
	pattern_fill(buf, LANE_MAX, 6);
	f = request(&self->t, WRITE, 4096 - 7, LANE_MAX);
	f.flags = WITH_CRC;
	f.crc = htole32(stranger_crc(buf, LANE_MAX));
	EXPECT_EQ(OK, ask(fd, &f, buf));
	memcpy(p->remote.want + p->margin + 4096 - 7, buf, LANE_MAX);
	f.crc ^= htole32(1U << 31);
	EXPECT_EQ(CRC, ask(fd, &f, buf));
	/* For one byte, too, and not for bytes that may not be there. */
	f = request(&self->t, WRITE, 5, 1);
	f.flags = WITH_CRC;
	f.crc = htole32(stranger_crc(buf, 1) ^ 1);
	EXPECT_EQ(CRC, ask(fd, &f, buf));
	p->remote.want[p->margin + 5] = buf[0];
	f = request(&self->t, WRITE, self->t.length, 1);
	f.flags = WITH_CRC;
	EXPECT_EQ(REFUSED, ask(fd, &f, buf));
	ASSERT_EQ(0, te_stats(&after));
	EXPECT_EQ(2, after.crc_errors - before.crc_errors);

	f = request(&self->t, READ, 100, 5000);
	f.flags = WITH_CRC;
	ASSERT_EQ(0, sock_send(fd, &f, sizeof(f)));
	ASSERT_EQ((long)sizeof(a), sock_receive(fd, &a, sizeof(a), TE_WAIT_MS));
	ASSERT_EQ(5000, sock_receive(fd, buf, 5000, TE_WAIT_MS));
	EXPECT_EQ(WITH_CRC, a.flags);
	EXPECT_EQ(stranger_crc(buf, 5000), le32toh(a.crc));
	EXPECT_EQ(0, memcmp(buf, p->remote.p + p->margin + 100, 5000));
	EXPECT_EQ(0, lane_works(fd, &self->t, p));
	close(fd);
}

TEST_F_TIMEOUT(lane, hellos, SLOW)
{
	struct lane_hello h = hello_of(&self->t);
	struct te_ioc_stats before, after;

	ASSERT_EQ(0, te_stats(&before));
	h.token ^= 1;
	EXPECT_EQ(-TOKEN, lane_with(&h));
	h = hello_of(&self->t);
	h.boot_gen ^= htole64(1);
	EXPECT_EQ(-GENERATION, lane_with(&h));
	h = hello_of(&self->t);
	h.kind = 1;
	EXPECT_EQ(-PROTO, lane_with(&h));
	h = hello_of(&self->t);
	h.version = 99;
	EXPECT_EQ(-PROTO, lane_with(&h));
	h = hello_of(&self->t);
	h.nr = 0;
	EXPECT_EQ(-PROTO, lane_with(&h));
	h = hello_of(&self->t);
	h.number = 0;
	EXPECT_EQ(-PROTO, lane_with(&h));
	ASSERT_EQ(0, te_stats(&after));
	EXPECT_EQ(6, after.sessions_refused - before.sessions_refused);
}

/* No hello comes to its end: whether the peer hangs up or not, te does. */
TEST_F_TIMEOUT(lane, cut_hellos, SLOW)
{
	enum { NR = sizeof(struct lane_hello) - 1 };
	struct lane_hello h = hello_of(&self->t);
	struct te_ioc_stats before, after;
	int fd[NR], i;

	ASSERT_EQ(0, te_stats(&before));
	for (i = 0; i < NR; i++) {
		fd[i] = sock_connect(te_peer_addr(), TE_DEFAULT_PORT);
		ASSERT_LE(0, fd[i]);
		EXPECT_EQ(0, sock_send(fd[i], &h, i + 1));
		if (i & 1)
			shutdown(fd[i], SHUT_WR);
	}
	for (i = 0; i < NR; i++) {
		EXPECT_ROW(0, sock_await_close(fd[i], TE_WAIT_MS), "%d bytes",
			   i + 1);
		close(fd[i]);
	}
	ASSERT_EQ(0, te_stats(&after));
	EXPECT_EQ(NR, after.sessions_refused - before.sessions_refused);
	EXPECT_EQ(before.endpoints, after.endpoints);
}

/* TLS 1.3, as a browser begins; it waits for an answer. */
static const char client_hello[] =
	"\x16\x03\x01\0\x4a" "\x01\0\0\x46" "\x03\x03"
	"0123456789abcdefghijklmnopqrstuv"
	"\0" "\0\x06\x13\x01\x13\x02\xc0\x2f" "\x01\0" "\0\x17"
	"\0\x2b\0\x03\x02\x03\x04"
	"\0\x0a\0\x04\0\x02\0\x1d"
	"\0\x0d\0\x04\0\x02\x04\x03";
static const char http[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

/* The first bytes of a connection are those of something else. */
TEST_F_TIMEOUT(lane, no_hellos, SLOW)
{
	struct frame f = request(&self->t, WRITE, 0, 100);
	unsigned char write[sizeof(f) + 100] = { 0 };
	const struct {
		const char *desc;
		const void *bytes;
		size_t len;
	} rows[] = {
		{ "a good request, for a lane", write, sizeof(write) },
		{ "TLS", client_hello, sizeof(client_hello) - 1 },
		{ "HTTP", http, sizeof(http) - 1 },
	};
	struct te_ioc_stats before, after;
	size_t i;
	int fd;

	memcpy(write, &f, sizeof(f));
	for (i = 0; i < ROWS(rows); i++) {
		MUST(te_stats(&before));
		fd = sock_connect(te_peer_addr(), TE_DEFAULT_PORT);
		ASSERT_LE(0, fd);
		EXPECT_ROW(0, sock_send(fd, rows[i].bytes, rows[i].len), "%s",
			   rows[i].desc);
		EXPECT_ROW(0, sock_await_close(fd, TE_WAIT_MS), "%s",
			   rows[i].desc);
		close(fd);
		MUST(te_stats(&after));
		EXPECT_ROW(1, after.sessions_broken - before.sessions_broken,
			   "%s", rows[i].desc);
		EXPECT_ROW(0, pair_check(&self->p), "%s", rows[i].desc);
	}
}

/* One peer may have so many; with one more, all of them still work. */
TEST_F_TIMEOUT(lane, limit, SLOW)
{
	enum { NR = 1024 };
	struct rlimit many = { 2 * NR, 2 * NR };
	struct te_ioc_stats before, after;
	static int fd[NR];
	int i;

	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &many));
	ASSERT_EQ(0, te_stats(&before));
	for (i = 0; i < NR; i++) {
		fd[i] = lane_open(&self->t);
		ASSERT_LE(0, fd[i]);
	}
	EXPECT_EQ(-LIMIT, lane_open(&self->t));
	ASSERT_EQ(0, te_stats(&after));
	EXPECT_EQ(1, after.sessions_refused - before.sessions_refused);
	for (i = 0; i < NR; i++)
		MUST(lane_works(fd[i], &self->t, &self->p));
	close(fd[0]);
	ASSERT_EQ(0, await_lanes(before.endpoints + NR - 1));
	fd[0] = lane_open(&self->t);
	ASSERT_LE(0, fd[0]);
	EXPECT_EQ(0, lane_works(fd[0], &self->t, &self->p));
	for (i = 0; i < NR; i++)
		close(fd[i]);
}

/*
 * A later endpoint of the dev is welcome when nothing can come by earlier ones any
 * more; other devs' are theirs.
 */
TEST_F_TIMEOUT(lane, given_up, SLOW)
{
	struct lane_hello h = hello_of(&self->t);
	struct frame f = request(&self->t, WRITE, 3000, 1000);
	unsigned char *want = self->p.remote.want + self->p.margin + 3000;
	unsigned char bytes[1000];
	int old = lane_open(&self->t), other, later, fd;

	h.dev_id = htole32(5);
	other = lane_with(&h);
	ASSERT_LE(0, old);
	ASSERT_LE(0, other);
	pattern_fill(bytes, sizeof(bytes), 8);
	ASSERT_EQ(0, sock_send(old, &f, sizeof(f)));
	ASSERT_EQ(0, sock_send(old, bytes, 500));
	h = hello_of(&self->t);
	h.number = htole64(2);
	later = lane_with(&h);
	ASSERT_LE(0, later);
	sock_send(old, bytes + 500, 500);
	EXPECT_EQ(0, sock_await_close(old, TE_WAIT_MS));
	close(old);
	/* So much it had, or nothing of it yet. */
	if (!memcmp(self->p.remote.p + self->p.margin + 3000, bytes, 500))
		memcpy(want, bytes, 500);
	EXPECT_EQ(0, pair_check(&self->p));
	EXPECT_EQ(0, lane_works(later, &self->t, &self->p));
	EXPECT_EQ(0, lane_works(other, &self->t, &self->p));
	/* Those of one endpoint live side by side. */
	fd = lane_with(&h);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, lane_works(fd, &self->t, &self->p));
	EXPECT_EQ(0, lane_works(later, &self->t, &self->p));
	close(fd);
	close(later);
	close(other);
}

/* With the session its lanes go. */
TEST_F_TIMEOUT(lane, session_ends, SLOW)
{
	int fd = lane_open(&self->t);

	ASSERT_LE(0, fd);
	EXPECT_EQ(0, lane_works(fd, &self->t, &self->p));
	shutdown(self->t.session, SHUT_RDWR);
	EXPECT_EQ(0, sock_await_close(fd, TE_WAIT_MS));
	close(fd);
	EXPECT_EQ(-TOKEN, lane_open(&self->t));
}

TEST_HARNESS_MAIN

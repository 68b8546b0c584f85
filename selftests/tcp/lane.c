// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP lanes of a peer that is not te: a plain socket that says what it likes, with
 * the token of a session of its own. What it may not have is refused and the lane
 * goes on; what is not a request ends that lane; nothing of either touches memory,
 * and others are served.
 */
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/test.h"
#include "lib/asker.h"
#include "lib/pair.h"
#include "lib/sock.h"
#include "lib/stranger.h"

FIXTURE(lane)
{
	struct pair p;
	struct asker t;
};

FIXTURE_SETUP(lane)
{
	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, pair_open(&self->p, NULL));
	ASSERT_EQ(0, asker_begin(&self->t, self->p.name));
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

/* Until te has so many, of this node's endpoints and of lanes to it. */
static int await_lanes(uint64_t nr)
{
	return te_settle_one(offsetof(struct te_ioc_stats, endpoints), nr,
			     TE_WAIT_MS);
}

/* It still does what it should. */
static int lane_works(int fd, const struct asker *t, struct pair *p)
{
	static unsigned char buf[LANE_MAX];
	struct frame f = asker_request(t, READ, 100, 5000);
	int ret = asker_ask(fd, &f, buf);

	return ret ?: memcmp(buf, p->remote.p + p->margin + 100, 5000);
}

TEST_F_TIMEOUT(lane, good_requests, SLOW)
{
	static unsigned char buf[LANE_MAX];
	struct pair *p = &self->p;
	struct frame f;
	int fd = asker_lane(&self->t);

	ASSERT_LE(0, fd);
	pattern_fill(buf, LANE_MAX, 5);
	f = asker_request(&self->t, WRITE, 4096 - 7, LANE_MAX);
	EXPECT_EQ(OK, asker_ask(fd, &f, buf));
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
	int fd = asker_lane(&self->t), type;
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
			struct frame f = asker_request(&self->t, type, r.off, r.len);

			f.segment = htole32(self->t.segment + r.segment);
			f.mr_id = htole32(self->t.mr_id + r.mr_id);
			f.key = htole32(self->t.key + r.key);
			memset(buf, 0xee, r.len);
			EXPECT_ROW(r.status, asker_ask(fd, &f, buf), "%s, type %d",
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
	struct asker t;
	struct pair p;
	int fd;

	ASSERT_EQ(0, pair_open(&p, &o));
	ASSERT_EQ(0, asker_begin(&t, p.name));
	fd = asker_lane(&t);
	ASSERT_LE(0, fd);
	f = asker_request(&t, WRITE, 0, sizeof(buf));
	EXPECT_EQ(REFUSED, asker_ask(fd, &f, buf));
	f.type = READ;
	EXPECT_EQ(OK, asker_ask(fd, &f, buf));
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
	int good = asker_lane(&self->t), fd;
	struct te_ioc_stats before, after;
	size_t i;

	ASSERT_LE(0, good);
	ASSERT_EQ(0, te_stats(&before));
	/* It is the peer's, and no endpoint of ours. */
	EXPECT_EQ(0, before.endpoints_draining);
	for (i = 0; i < ROWS(broken); i++) {
		struct frame f = asker_request(&self->t, WRITE, 0, 4096);
		uint64_t value = htole64(broken[i].value);

		fd = asker_lane(&self->t);
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
	struct frame f = asker_request(&self->t, WRITE, 300, 200);
	unsigned char *at = self->p.remote.p + self->p.margin + 300;
	struct te_ioc_stats before, after;
	size_t cut;
	int fd;

	memcpy(msg, &f, sizeof(f));
	/* The bytes that are there: so that no part of it shows. */
	memcpy(msg + sizeof(f), at, 200);
	ASSERT_EQ(0, te_stats(&before));
	for (cut = 0; cut < sizeof(msg); cut++) {
		fd = asker_lane(&self->t);
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
	struct frame f = asker_request(&self->t, WRITE, 1000, 300), a;
	unsigned char msg[sizeof(f) + 300];
	size_t i;
	int fd = asker_lane(&self->t);

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
	struct frame f = asker_request(&self->t, READ, 0, LANE_MAX);
	int fd = asker_lane(&self->t), good = asker_lane(&self->t), i, ret = 0;
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
	int fd = asker_lane(&self->t);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, te_stats(&before));
	pattern_fill(buf, LANE_MAX, 6);
	f = asker_request(&self->t, WRITE, 4096 - 7, LANE_MAX);
	f.flags = WITH_CRC;
	f.crc = htole32(stranger_crc(buf, LANE_MAX));
	EXPECT_EQ(OK, asker_ask(fd, &f, buf));
	memcpy(p->remote.want + p->margin + 4096 - 7, buf, LANE_MAX);
	f.crc ^= htole32(1U << 31);
	EXPECT_EQ(CRC, asker_ask(fd, &f, buf));
	/* For one byte, too, and not for bytes that may not be there. */
	f = asker_request(&self->t, WRITE, 5, 1);
	f.flags = WITH_CRC;
	f.crc = htole32(stranger_crc(buf, 1) ^ 1);
	EXPECT_EQ(CRC, asker_ask(fd, &f, buf));
	p->remote.want[p->margin + 5] = buf[0];
	f = asker_request(&self->t, WRITE, self->t.length, 1);
	f.flags = WITH_CRC;
	EXPECT_EQ(REFUSED, asker_ask(fd, &f, buf));
	ASSERT_EQ(0, te_stats(&after));
	EXPECT_EQ(2, after.crc_errors - before.crc_errors);

	f = asker_request(&self->t, READ, 100, 5000);
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
	struct lane_hello h = asker_hello(&self->t);
	struct te_ioc_stats before, after;

	ASSERT_EQ(0, te_stats(&before));
	h.token ^= 1;
	EXPECT_EQ(-TOKEN, asker_lane_with(&h));
	h = asker_hello(&self->t);
	h.boot_gen ^= htole64(1);
	EXPECT_EQ(-GENERATION, asker_lane_with(&h));
	h = asker_hello(&self->t);
	h.kind = 1;
	EXPECT_EQ(-PROTO, asker_lane_with(&h));
	h = asker_hello(&self->t);
	h.version = 99;
	EXPECT_EQ(-PROTO, asker_lane_with(&h));
	h = asker_hello(&self->t);
	h.nr = 0;
	EXPECT_EQ(-PROTO, asker_lane_with(&h));
	h = asker_hello(&self->t);
	h.number = 0;
	EXPECT_EQ(-PROTO, asker_lane_with(&h));
	ASSERT_EQ(0, te_stats(&after));
	EXPECT_EQ(6, after.sessions_refused - before.sessions_refused);
}

/* No hello comes to its end: whether the peer hangs up or not, te does. */
TEST_F_TIMEOUT(lane, cut_hellos, SLOW)
{
	enum { NR = sizeof(struct lane_hello) - 1 };
	struct lane_hello h = asker_hello(&self->t);
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
	struct frame f = asker_request(&self->t, WRITE, 0, 100);
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
		fd[i] = asker_lane(&self->t);
		ASSERT_LE(0, fd[i]);
	}
	EXPECT_EQ(-LIMIT, asker_lane(&self->t));
	ASSERT_EQ(0, te_stats(&after));
	EXPECT_EQ(1, after.sessions_refused - before.sessions_refused);
	for (i = 0; i < NR; i++)
		MUST(lane_works(fd[i], &self->t, &self->p));
	close(fd[0]);
	ASSERT_EQ(0, await_lanes(before.endpoints + NR - 1));
	fd[0] = asker_lane(&self->t);
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
	struct lane_hello h = asker_hello(&self->t);
	struct frame f = asker_request(&self->t, WRITE, 3000, 1000);
	unsigned char *want = self->p.remote.want + self->p.margin + 3000;
	unsigned char bytes[1000];
	int old = asker_lane(&self->t), other, later, fd;

	h.dev_id = htole32(5);
	other = asker_lane_with(&h);
	ASSERT_LE(0, old);
	ASSERT_LE(0, other);
	pattern_fill(bytes, sizeof(bytes), 8);
	ASSERT_EQ(0, sock_send(old, &f, sizeof(f)));
	ASSERT_EQ(0, sock_send(old, bytes, 500));
	h = asker_hello(&self->t);
	h.number = htole64(2);
	later = asker_lane_with(&h);
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
	fd = asker_lane_with(&h);
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
	int fd = asker_lane(&self->t);

	ASSERT_LE(0, fd);
	EXPECT_EQ(0, lane_works(fd, &self->t, &self->p));
	shutdown(self->t.session, SHUT_RDWR);
	EXPECT_EQ(0, sock_await_close(fd, TE_WAIT_MS));
	close(fd);
	EXPECT_EQ(-TOKEN, asker_lane(&self->t));
}

TEST_HARNESS_MAIN

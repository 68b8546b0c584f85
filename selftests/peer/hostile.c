// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hostile neighbours at the control port: each is dropped in bounded time, costs
 * others nothing, and leaves no session.
 *
 * A real hello is caught, see stranger.h; it is then replayed cut, bent and
 * repeated, so that the test does not go stale when the protocol grows.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/test.h"
#include "lib/pair.h"
#include "lib/sock.h"
#include "lib/stranger.h"

/* te gives a stranger 5 s for its hello, then some for a slow guest. */
#define PATIENCE_MS	40000
/* Sessions that have not said hello, at once: twice TE_SESSION_MAX_HALF_OPEN. */
#define MOST		128

FIXTURE(hostile)
{
	struct pair p;
	unsigned char hello[4096];
	size_t len;
};

FIXTURE_SETUP(hostile)
{
	long n;

	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, pair_open(&self->p, NULL));
	n = stranger_catch_hello(self->hello, sizeof(self->hello));
	ASSERT_LT(HEADER, n);
	self->len = n;
}

FIXTURE_TEARDOWN(hostile)
{
	EXPECT_EQ(0, pair_xfer(&self->p, TE_WRITE, 9 * KIB, 9 * KIB, 100000));
	pair_close(&self->p);
	CLEAN();
	EXPECT_EQ(0, te_settle_all());
}

static int knock(void)
{
	return sock_connect(te_peer_addr(), TE_DEFAULT_PORT);
}

/* Says @len bytes, then perhaps that it is done, and waits to be dropped. */
static int say(const void *bytes, size_t len, bool finish)
{
	int fd = knock();
	int ret;

	if (fd < 0)
		return fd;
	ret = sock_send(fd, bytes, len);
	if (ret == -EPIPE || ret == -ECONNRESET)
		ret = 0;
	if (finish)
		shutdown(fd, SHUT_WR);
	ret = ret ?: sock_await_close(fd, PATIENCE_MS);
	close(fd);
	return ret;
}

TEST_F_TIMEOUT(hostile, strangers, SLOW)
{
	static unsigned char noise[65536], zeros[65536];
	static const char http[] = "GET / HTTP/1.1\r\nHost: te\r\n\r\n";

	pattern_fill(noise, sizeof(noise), 1);
	EXPECT_EQ(0, say(http, sizeof(http) - 1, false));
	EXPECT_EQ(0, say(noise, sizeof(noise), false));
	EXPECT_EQ(0, say(zeros, sizeof(zeros), false));
	EXPECT_EQ(0, say(noise, 1, true));
	EXPECT_EQ(0, say(noise, 0, true));
	EXPECT_EQ(0, say("\026\003\001\002", 4, true));
}

TEST_F_TIMEOUT(hostile, silence, SLOW)
{
	unsigned long long from = te_now_ms();

	EXPECT_EQ(0, say("", 0, false));
	/* Not at once either: a slow peer has its time. */
	EXPECT_LE(1000, te_now_ms() - from);
	EXPECT_EQ(0, say(self->hello, self->len / 2, false));
	EXPECT_EQ(0, say(self->hello, HEADER, false));
}

TEST_F_TIMEOUT(hostile, lengths, SLOW)
{
	static const uint32_t rows[] = {
		0, 1, 4096, 65535, 65536, 65537, 1U << 20, 1U << 31, ~0U,
	};
	unsigned char bent[sizeof(self->hello)];
	size_t i;

	for (i = 0; i < ROWS(rows); i++) {
		memcpy(bent, self->hello, self->len);
		memcpy(bent + 8, &rows[i], 4);
		EXPECT_ROW(0, say(bent, self->len, true), "length %u", rows[i]);
	}
}

TEST_F_TIMEOUT(hostile, cut_anywhere, SLOW)
{
	size_t i;

	for (i = 0; i < self->len; i++)
		EXPECT_ROW(0, say(self->hello, i, true), "%zu bytes", i);
}

TEST_F_TIMEOUT(hostile, bent_anywhere, SLOW)
{
	static const unsigned char bends[] = { 1, 0x80, 0xff };
	unsigned char bent[sizeof(self->hello)];
	size_t i, k;

	for (i = 0; i < self->len; i++) {
		for (k = 0; k < ROWS(bends); k++) {
			memcpy(bent, self->hello, self->len);
			bent[i] ^= bends[k];
			EXPECT_ROW(0, say(bent, self->len, true),
				   "byte %zu, %#x", i, bends[k]);
		}
	}
}

/* Past the door: every type of frame, with nonsense behind it. */
TEST_F_TIMEOUT(hostile, after_the_hello, SLOW)
{
	static const uint32_t lengths[] = { 0, 1, 8, 24, 300, 65536 };
	static unsigned char msg[4096 + HEADER + 65536];
	size_t i, len;
	int type;

	for (type = 0; type < 256; type += type < 40 ? 1 : 43) {
		for (i = 0; i < ROWS(lengths); i++) {
			len = self->len + HEADER + lengths[i];
			memcpy(msg, self->hello, self->len);
			memcpy(msg + self->len, self->hello, HEADER);
			msg[self->len + 4] = type;
			memcpy(msg + self->len + 8, &lengths[i], 4);
			pattern_fill(msg + self->len + HEADER, lengths[i],
				     type * 10 + i);
			EXPECT_ROW(0, say(msg, len, true),
				   "type %d, %u bytes", type, lengths[i]);
		}
	}
}

/* The same hello twice, and a thousand times. */
TEST_F_TIMEOUT(hostile, repeats_itself, SLOW)
{
	unsigned char *msg = malloc(self->len * 1000);
	size_t i;

	ASSERT_NE(NULL, msg);
	for (i = 0; i < 1000; i++)
		memcpy(msg + i * self->len, self->hello, self->len);
	EXPECT_EQ(0, say(msg, self->len * 2, true));
	EXPECT_EQ(0, say(msg, self->len * 1000, true));
	free(msg);
}

TEST_F_TIMEOUT(hostile, resets, SLOW)
{
	struct linger hard = { .l_onoff = 1 };
	size_t i;
	int fd;

	for (i = 0; i <= self->len; i += 5) {
		fd = knock();
		ASSERT_LE(0, fd);
		sock_send(fd, self->hello, i);
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
		close(fd);
	}
}

/* Many who say nothing: others are served meanwhile, and all of them go. */
TEST_F_TIMEOUT(hostile, crowd, SLOW)
{
	enum { NR = 300 };
	static int fd[NR];
	uint32_t seg;
	int i;

	for (i = 0; i < NR; i++) {
		fd[i] = knock();
		/* A full queue refuses by itself; that is fine. */
		if (fd[i] >= 0 && i % 3)
			sock_send(fd[i], self->hello, i % self->len);
		if (i % 50)
			continue;
		ASSERT_EQ(0, te_open_segment(self->p.ini, self->p.name, &seg));
		ASSERT_EQ(0, te_segment_close(self->p.ini, seg));
		ASSERT_EQ(0, pair_xfer(&self->p, TE_READ, 8 * KIB, 9 * KIB,
				       50000));
	}
	for (i = 0; i < NR; i++) {
		if (fd[i] < 0)
			continue;
		ASSERT_EQ(0, sock_await_close(fd[i], PATIENCE_MS)) {
			TH_LOG("number %d", i);
		}
		close(fd[i]);
	}
}

/* Ten thousand who say nothing: there is room for few of them, and for others. */
TEST_F_TIMEOUT(hostile, ten_thousand, SLOW)
{
	enum { NR = 10000 };
	struct rlimit files = { NR + 100, NR + 100 };
	struct te_ioc_stats before, after;
	static int fd[NR];
	int i, open = 0;

	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &files));
	ASSERT_EQ(0, te_stats(&before));
	for (i = 0; i < NR; i++) {
		fd[i] = knock();
		open += fd[i] >= 0;
		if (i % 1000)
			continue;
		ASSERT_EQ(0, pair_xfer(&self->p, TE_READ, 8 * KIB, 9 * KIB,
				       50000));
		ASSERT_EQ(0, te_stats(&after));
		EXPECT_GE(before.sessions + MOST, after.sessions);
	}
	/* A queue that is full refuses by itself, and not all the time. */
	EXPECT_LE(NR / 2, open);
	for (i = 0; i < NR; i++)
		if (fd[i] >= 0)
			close(fd[i]);
}

/* Lines of te's in the kernel log since @fd was opened. */
static int log_lines(int fd)
{
	char line[8192];
	int n = 0;
	ssize_t len;

	while ((len = read(fd, line, sizeof(line) - 1)) > 0 ||
	       errno == EPIPE) {
		line[len < 0 ? 0 : len] = 0;
		n += strstr(line, "te: ") || strstr(line, "suppressed");
	}
	return n;
}

/* Breaking the protocol over and over is told a few times only. */
TEST_F_TIMEOUT(hostile, cannot_flood_the_log, SLOW)
{
	unsigned long long from = te_now_ms();
	unsigned char bent[sizeof(self->hello)];
	struct te_ioc_stats before, after;
	int fd, i;

	fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, lseek(fd, 0, SEEK_END));
	ASSERT_EQ(0, te_stats(&before));
	memcpy(bent, self->hello, self->len);
	bent[0] ^= 1;
	for (i = 0; i < 300; i++)
		MUST(say(bent, self->len, true));
	ASSERT_EQ(0, te_stats(&after));
	EXPECT_LE(300, after.sessions_broken - before.sessions_broken);
	/* 10 each 5 seconds, one that says how many were left out. */
	EXPECT_GE(22 + 11 * (te_now_ms() - from) / 5000, log_lines(fd));
	close(fd);
}

TEST_HARNESS_MAIN

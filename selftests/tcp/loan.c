// SPDX-License-Identifier: GPL-2.0-only
/*
 * Answers to READs leave from the pages of their region. Whoever asks, and takes no
 * answer, cannot keep the region from being unregistered, nor get to see what is put
 * there afterwards.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/test.h"
#include "lib/asker.h"
#include "lib/pair.h"
#include "lib/sock.h"

#define LANES	4
#define OFF	(4096 - 7)
/* Requests of a lane: more than any socket has room for the answers of. */
#define NR	400
/* te gives a peer that takes nothing 5 s; this is to be over long before. */
#define SOON_MS	2000

FIXTURE(loan)
{
	struct pair p;
	struct asker t;
	int lanes[LANES];
};

FIXTURE_SETUP(loan)
{
	struct pair_opts o = { .remote = MIB, .margin = ~0UL };
	struct frame f;
	int i, n;

	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, pair_open(&self->p, &o));
	ASSERT_EQ(0, asker_begin(&self->t, self->p.name));
	area_fill(&self->p.remote, 1);
	f = asker_request(&self->t, READ, OFF, LANE_MAX);
	for (i = 0; i < LANES; i++) {
		self->lanes[i] = asker_lane(&self->t);
		ASSERT_LE(0, self->lanes[i]);
		for (n = 0; n < NR; n++)
			ASSERT_EQ(0, sock_send(self->lanes[i], &f, sizeof(f)));
	}
	/* As much as the sockets hold is on its way. */
	te_sleep_ms(500);
}

FIXTURE_TEARDOWN(loan)
{
	int i;

	for (i = 0; i < LANES; i++)
		close(self->lanes[i]);
	close(self->t.session);
	pair_close(&self->p);
	CLEAN();
	EXPECT_EQ(0, te_settle_all());
}

/* What came of a lane until it ended: bytes, or negative. */
static long take_all(int fd, unsigned char *buf, size_t max)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	size_t all = 0;
	ssize_t n;

	do {
		if (poll(&pfd, 1, TE_WAIT_MS) <= 0)
			return -ETIME;
		n = recv(fd, buf + all, max - all, 0);
		all += n > 0 ? n : 0;
	} while (n > 0 && all < max);
	return all;
}

/* Whole answers, and the beginning of one, with bytes as they were in the region. */
static int answers_are(const unsigned char *buf, size_t len,
		       const unsigned char *want)
{
	size_t step;
	struct frame a;

	for (; len >= sizeof(a); buf += step, len -= step) {
		memcpy(&a, buf, sizeof(a));
		if (a.type != READ_REPLY || a.status || a.length != LANE_MAX)
			return -EPROTO;
		buf += sizeof(a);
		len -= sizeof(a);
		step = len < LANE_MAX ? len : LANE_MAX;
		if (memcmp(buf, want, step))
			return -EILSEQ;
	}
	return 0;
}

static void ended_with_old_bytes(struct __test_metadata *_metadata,
				 FIXTURE_DATA(loan) *self)
{
	static unsigned char buf[16 * MIB], old[MIB];
	long n;
	int i;

	pattern_fill(old, sizeof(old), 1);
	for (i = 0; i < LANES; i++) {
		n = take_all(self->lanes[i], buf, sizeof(buf));
		TH_LOG("lane %d: %ld bytes of answers", i, n);
		EXPECT_LT((long)LANE_MAX / 8, n);
		EXPECT_GT((long)NR * LANE_MAX, n);
		EXPECT_EQ(0, answers_are(buf, n, old + OFF));
	}
}

TEST_F_TIMEOUT(loan, unregister, SLOW)
{
	unsigned long long from = te_now_ms();

	EXPECT_EQ(0, te_mr_unregister(self->p.tgt, self->p.rmr, 0));
	EXPECT_GT(SOON_MS, te_now_ms() - from);
	memset(self->p.remote.p, 0xee, self->p.remote.len);
	ended_with_old_bytes(_metadata, self);
}

/*
 * What has been taken is as good as back, though nobody said so yet: TCP puts off to
 * acknowledge less than a segment. The lane goes on, for other regions.
 */
TEST_F_TIMEOUT(loan, taken, SLOW)
{
	static unsigned char buf[LANE_MAX];
	struct frame f = asker_request(&self->t, READ, OFF, 20000);
	int fd = asker_lane(&self->t), off = 0, i;

	ASSERT_LE(0, fd);
	for (i = 0; i < 50; i++) {
		setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &off, sizeof(off));
		ASSERT_EQ(OK, asker_ask(fd, &f, buf));
	}
	EXPECT_EQ(0, te_mr_unregister(self->p.tgt, self->p.rmr, 0));
	EXPECT_EQ(GONE, asker_ask(fd, &f, buf));
	close(fd);
}

/* With its owner all of it goes, and pages are not pinned for what nobody takes. */
TEST_F_TIMEOUT(loan, closed, SLOW)
{
	unsigned long long from;
	struct te_ioc_stats s;

	/* With the last export the listener goes, and all that it took with it. */
	ASSERT_EQ(0, te_segment_export(self->p.ini, te_unique_name(), NULL));
	ASSERT_EQ(0, te_stats(&s));
	from = te_now_ms();
	te_close(self->p.tgt);
	self->p.tgt = NULL;
	EXPECT_EQ(0, te_settle_one(offsetof(struct te_ioc_stats, mrs),
				   s.mrs - 1, SOON_MS));
	EXPECT_GT(SOON_MS, te_now_ms() - from);
	memset(self->p.remote.p, 0xee, self->p.remote.len);
	ended_with_old_bytes(_metadata, self);
}

/* The region is free again as soon as who asked has gone. */
TEST_F_TIMEOUT(loan, left, SLOW)
{
	int i;

	for (i = 0; i < LANES; i++)
		shutdown(self->lanes[i], SHUT_RDWR);
	EXPECT_EQ(0, te_settle_one(offsetof(struct te_ioc_stats, endpoints), 0,
				   SOON_MS));
	EXPECT_EQ(0, te_mr_unregister(self->p.tgt, self->p.rmr, 0));
}

/* Right bytes, at any offset, from pages and copied. */
TEST_F_TIMEOUT(loan, right_bytes, SLOW)
{
	static const uint32_t lengths[] = {
		1, 4095, 16383, 16384, 16385, 65536, LANE_MAX - 1, LANE_MAX,
	};
	static unsigned char buf[LANE_MAX];
	struct frame f;
	uint32_t off;
	size_t i;
	int fd = asker_lane(&self->t);

	ASSERT_LE(0, fd);
	for (i = 0; i < ROWS(lengths); i++) {
		for (off = 0; off < 3 * 4096; off += 1021) {
			f = asker_request(&self->t, READ, off, lengths[i]);
			MUST(asker_ask(fd, &f, buf));
			EXPECT_ROW(0, memcmp(buf, self->p.remote.p + off,
					     lengths[i]),
				   "%u bytes at %u", lengths[i], off);
		}
	}
	close(fd);
}

TEST_HARNESS_MAIN

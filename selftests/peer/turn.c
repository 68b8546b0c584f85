// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every type of message at every point of a conversation, to the side that
 * answers and to the one that asks: what is out of turn, repeated or unknown
 * ends the connection and is counted, what is in turn does not.
 *
 * The messages are real ones, heard by listening to te talking to itself; those
 * of NICs that come and go are made to fit, and the few that are not said then
 * have eight bytes of payload each.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/test.h"
#include "lib/pair.h"
#include "lib/relay.h"
#include "lib/sock.h"

/* Numbers are never used again, so they may stand here. */
enum {
	HELLO = 1, REPLY = 2, PING = 3, PONG = 4, BYE = 5,
	OPEN = 16, OPENED = 17, DEVS = 18, MRS = 19, KEYS = 20, READY = 21,
	MR_GONE = 22, GONE = 23, CLOSE = 24, DEV_GONE = 25, DEV_KEYS = 26,
	NR_TYPES = 28,
};

#define PATIENCE_MS	20000

static unsigned char msgs[NR_TYPES][4096];

FIXTURE(turn)
{
	struct pair p;
	struct relay r;
	struct te_ioc_stats base;
};

/* A frame of @nr words, the first of which is the cookie. */
static void make(int type, const uint32_t *words, uint32_t nr)
{
	uint32_t len = nr * sizeof(*words);

	memcpy(msgs[type], msgs[DEVS], FRAME_HEADER + 4);
	msgs[type][4] = type;
	memcpy(msgs[type] + 8, &len, 4);
	memcpy(msgs[type] + FRAME_HEADER + 4, words + 1, len - 4);
}

/* The first dev goes; the first region has one key more on it. */
static void make_news(void)
{
	uint32_t dev, mr;

	memcpy(&dev, msgs[DEVS] + FRAME_HEADER + 28, 4);
	memcpy(&mr, msgs[MRS] + FRAME_HEADER + 24, 4);
	make(DEV_GONE, (uint32_t[]){ 0, 1U << dev }, 2);
	make(DEV_KEYS, (uint32_t[]){ 0, mr, dev, 0, 1, 0, 77 }, 7);
}

/* One whole conversation; its frames, or made-up ones, are then in msgs[]. */
static int overhear(struct pair *p, struct relay *r)
{
	const unsigned char *frame;
	size_t off[2] = { 0, 0 };
	char url[128];
	uint32_t seg;
	int ret, i;

	relay_url(r, url, sizeof(url), p->name);
	ret = te_segment_open(p->ini, url, NULL, &seg);
	ret = ret ?: te_mr_unregister(p->tgt, p->rmr, 0);
	ret = ret ?: te_await_buffers(p->ini, seg, 0);
	ret = ret ?: te_segment_close(p->ini, seg);
	while (!ret && !msgs[GONE][4]) {
		for (i = 0; i < 2; i++) {
			while ((frame = relay_next(r, i, &off[i])))
				memcpy(msgs[frame[4]], frame, frame_len(frame));
		}
		te_sleep_ms(1);
	}
	make_news();
	for (i = 0; i < NR_TYPES; i++) {
		if (msgs[i][4])
			continue;
		memcpy(msgs[i], msgs[HELLO], FRAME_HEADER);
		msgs[i][4] = i;
		memcpy(msgs[i] + 8, &(uint32_t){ 8 }, 4);
		msgs[i][FRAME_HEADER] = 1;	/* a BYE needs a reason */
	}
	return ret ?: te_mr_register(p->tgt, p->remote.p + p->margin,
				     p->remote.len - 2 * p->margin,
				     TE_REMOTE_ALL, NULL, &p->rmr);
}

FIXTURE_SETUP(turn)
{
	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, pair_open(&self->p, NULL));
	ASSERT_EQ(0, te_stats(&self->base));
	ASSERT_EQ(0, relay_start(&self->r));
	ASSERT_EQ(0, overhear(&self->p, &self->r));
	relay_stop(&self->r);
}

FIXTURE_TEARDOWN(turn)
{
	ASSERT_EQ(0, te_await_buffers(self->p.ini, self->p.seg, 1));
	EXPECT_EQ(0, pair_xfer(&self->p, TE_WRITE, 9 * KIB, 9 * KIB, 100000));
	pair_close(&self->p);
	CLEAN();
	EXPECT_EQ(0, te_settle_all());
}

static int say(int fd, int type)
{
	return sock_send(fd, msgs[type], frame_len(msgs[type]));
}

/* Reads frames until one of @type: 0, -EPIPE at the end, -ETIME. */
static int hear(int fd, int type, unsigned char *frame)
{
	long n, len;

	do {
		n = sock_receive(fd, frame, FRAME_HEADER, PATIENCE_MS);
		if (n != FRAME_HEADER)
			return n == -ETIME ? -ETIME : -EPIPE;
		len = frame_len(frame) - FRAME_HEADER;
		if (len > 65536)
			return -EMSGSIZE;
		n = sock_receive(fd, frame + FRAME_HEADER, len, PATIENCE_MS);
		if (n != len)
			return n == -ETIME ? -ETIME : -EPIPE;
	} while (frame[4] != type);
	return 0;
}

static int hear_any(int fd, int type)
{
	static unsigned char frame[FRAME_HEADER + 65536];

	return hear(fd, type, frame);
}

enum end { GOES_ON, BROKEN, OVER };

/* What has become of the connection: a PING tells, if it lives. */
static enum end judge(int fd, unsigned long long broken)
{
	struct te_ioc_stats s;

	say(fd, PING);
	if (!hear_any(fd, PONG))
		return GOES_ON;
	te_stats(&s);
	return s.sessions_broken == broken ? OVER : BROKEN;
}

#define T(type) (1UL << (type))
/* Allowed once both have said hello. */
#define ALWAYS	(T(PING) | T(PONG))

/* Whoever answers: how we come there, and what may come next. */
struct answering {
	const char *desc;
	int steps[6];		/* what we say; negative: what we wait for */
	unsigned long good;
};

static const struct answering answering[] = {
	{ "before the hello", { 0 }, T(HELLO) },
	{ "after it", { HELLO, -REPLY }, ALWAYS | T(OPEN) },
	{ "with a segment", { HELLO, -REPLY, OPEN, -READY },
	  ALWAYS | T(OPEN) | T(CLOSE) },
	{ "after its end", { HELLO, -REPLY, OPEN, -READY, CLOSE, -GONE },
	  ALWAYS | T(OPEN) },
};

static int take_steps(int fd, const int *steps, size_t n)
{
	size_t i;
	int ret = 0;

	for (i = 0; i < n && steps[i] && !ret; i++)
		ret = steps[i] > 0 ? say(fd, steps[i]) :
				     hear_any(fd, -steps[i]);
	return ret;
}

static enum end expected(unsigned long good, int type, bool greeted)
{
	if (good & T(type))
		return GOES_ON;
	return type == BYE && greeted ? OVER : BROKEN;
}

TEST_F_TIMEOUT(turn, to_who_answers, SLOW)
{
	struct te_ioc_stats s;
	enum end end;
	int fd, type;
	size_t i;

	for (i = 0; i < ROWS(answering); i++) {
		const struct answering *row = &answering[i];

		for (type = 0; type < NR_TYPES; type++) {
			ASSERT_EQ(0, te_stats(&s));
			fd = sock_connect(te_peer_addr(), TE_DEFAULT_PORT);
			ASSERT_LE(0, fd);
			ASSERT_EQ(0, take_steps(fd, row->steps, 6));
			say(fd, type);
			end = judge(fd, s.sessions_broken);
			close(fd);
			EXPECT_ROW(expected(row->good, type, i > 0), end,
				   "type %d %s", type, row->desc);
		}
	}
}

/* Whoever asks: one thread opens and closes, this one plays the target. */
struct asking {
	const char *desc;
	int steps[10];
	unsigned long good;
	bool opens;	/* the open has succeeded by then */
	bool closes;	/* and the segment was closed again */
};

/* All that may be said of an open segment, and of one with a region. */
#define NEWS	(ALWAYS | T(READY) | T(MR_GONE) | T(GONE))
#define DEV_NEWS	(NEWS | T(DEVS) | T(DEV_GONE) | T(DEV_KEYS))

static const struct asking asking[] = {
	{ "for the hello", { -HELLO }, T(REPLY), false, false },
	{ "for the segment", { -HELLO, REPLY, -OPEN }, ALWAYS | T(OPENED),
	  false, false },
	{ "for its description", { -HELLO, REPLY, -OPEN, OPENED },
	  NEWS | T(DEVS) | T(MRS), false, false },
	{ "for the end of it", { -HELLO, REPLY, -OPEN, OPENED, DEVS, MRS,
	  KEYS }, DEV_NEWS, false, false },
	{ "for keys", { -HELLO, REPLY, -OPEN, OPENED, DEVS, MRS },
	  NEWS | T(KEYS), false, false },
	{ "for nothing", { -HELLO, REPLY, -OPEN, OPENED, DEVS, MRS, KEYS,
	  READY }, DEV_NEWS, true, false },
	{ "for the answer to its close", { -HELLO, REPLY, -OPEN, OPENED, DEVS,
	  MRS, KEYS, READY, -CLOSE }, DEV_NEWS | T(MRS) | T(KEYS), true, true },
	{ "for nothing any more", { -HELLO, REPLY, -OPEN, OPENED, DEVS, MRS,
	  KEYS, READY, -CLOSE, GONE }, ALWAYS, true, true },
};

struct asker {
	struct te *te;
	uint16_t port;
	uint32_t seg;
	bool closes;
	int ret;
};

static void *ask(void *arg)
{
	struct asker *a = arg;
	char url[64];

	snprintf(url, sizeof(url), "%s:%u/name", te_peer_addr(), a->port);
	a->ret = te_segment_open(a->te, url, NULL, &a->seg);
	if (!a->ret && a->closes)
		a->ret = te_segment_close(a->te, a->seg);
	return NULL;
}

/* One row and type; the errno of the open in *@ret. */
static enum end ask_and_say(struct te *te, const struct asking *row, int type,
			    int *ret)
{
	struct asker a = { .te = te, .closes = row->closes };
	struct te_ioc_stats s;
	enum end end;
	pthread_t t;
	int listener, fd;

	te_stats(&s);
	listener = sock_listen(4, &a.port);
	if (pthread_create(&t, NULL, ask, &a))
		return -1;
	fd = accept(listener, NULL, NULL);
	*ret = take_steps(fd, row->steps, 10);
	if (row->opens)
		pthread_join(t, NULL);
	say(fd, type);
	end = judge(fd, s.sessions_broken);
	close(fd);
	close(listener);
	if (!row->opens)
		pthread_join(t, NULL);
	*ret = *ret ?: a.ret;
	if (!a.ret && !row->closes)
		te_segment_close(te, a.seg);
	return end;
}

TEST_F_TIMEOUT(turn, to_who_asks, SLOW)
{
	enum end end, want;
	int type, ret = 0;
	size_t i;

	for (i = 0; i < ROWS(asking); i++) {
		const struct asking *row = &asking[i];

		for (type = 0; type < NR_TYPES; type++) {
			end = ask_and_say(self->p.ini, row, type, &ret);
			want = expected(row->good, type, true);
			EXPECT_ROW(want, end, "type %d to who waits %s", type,
				   row->desc);
			if (row->opens)
				EXPECT_ROW(0, ret, "type %d, %s", type,
					   row->desc);
			else if (want == BROKEN)
				EXPECT_ROW(-EPROTO, ret, "type %d, %s", type,
					   row->desc);
			EXPECT_ROW(0, te_settle_to(&self->base), "type %d, %s",
				   type, row->desc);
		}
	}
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every type of message at every point of a conversation, to the side that
 * answers and to the one that asks: what is out of turn, repeated or unknown
 * ends the connection and is counted, what is in turn does not.
 *
 * The messages are real ones, heard by listening to te talking to itself; those
 * of NICs that come and go are made to fit, and the few that are not said then
 * have eight bytes of payload each.
 *
 * What is far from a region is said only where both have agreed to that, by who
 * answers, and checked by who asks.
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
	FAR = 27,
	NR_TYPES = 29,
};

/* Where the features stand, eight bytes of them. */
#define HELLO_FEATURES	(FRAME_HEADER + 8)
#define REPLY_FEATURES	(FRAME_HEADER + 16)
#define FEAT_FAR	4

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

/* The first dev goes; the first region has one key more on it, and it is far. */
static void make_news(void)
{
	uint32_t dev, mr;

	memcpy(&dev, msgs[DEVS] + FRAME_HEADER + 28, 4);
	memcpy(&mr, msgs[MRS] + FRAME_HEADER + 24, 4);
	make(DEV_GONE, (uint32_t[]){ 0, 1U << dev }, 2);
	make(DEV_KEYS, (uint32_t[]){ 0, mr, dev, 0, 1, 0, 77 }, 7);
	make(FAR, (uint32_t[]){ 0, 1, mr, 1U << dev }, 4);
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
	EXPECT_EQ(0, pair_carry_only(&self->p, NULL));
	EXPECT_EQ(0, pair_xfer(&self->p, TE_WRITE, 9 * KIB, 9 * KIB, 100000));
	pair_close(&self->p);
	CLEAN();
	EXPECT_EQ(0, te_settle_all());
}

static int say(int fd, int type)
{
	return sock_send(fd, msgs[type], frame_len(msgs[type]));
}

/* Reads a frame: 0, -EPIPE at the end, -ETIME. */
static int hear(int fd, unsigned char *frame)
{
	long n, len;

	n = sock_receive(fd, frame, FRAME_HEADER, PATIENCE_MS);
	if (n != FRAME_HEADER)
		return n == -ETIME ? -ETIME : -EPIPE;
	len = frame_len(frame) - FRAME_HEADER;
	if (len > 65536)
		return -EMSGSIZE;
	n = sock_receive(fd, frame + FRAME_HEADER, len, PATIENCE_MS);
	if (n != len)
		return n == -ETIME ? -ETIME : -EPIPE;
	return 0;
}

/* What was said of far devs. */
struct far {
	int nr;			/* frames */
	uint32_t words[4];	/* of the last one */
};

/* The same until one of @type. */
static int hear_until(int fd, int type, struct far *far)
{
	static unsigned char frame[FRAME_HEADER + 65536];
	int ret;

	do {
		ret = hear(fd, frame);
		if (!ret && frame[4] == FAR) {
			far->nr++;
			memcpy(far->words, frame + FRAME_HEADER,
			       sizeof(far->words));
		}
	} while (!ret && frame[4] != type);
	return ret;
}

static int hear_any(int fd, int type)
{
	struct far far = { 0 };

	return hear_until(fd, type, &far);
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
#define DEV_NEWS	(NEWS | T(DEVS) | T(DEV_GONE) | T(DEV_KEYS) | T(FAR))

static const struct asking asking[] = {
	{ "for the hello", { -HELLO }, T(REPLY), false, false },
	{ "for the segment", { -HELLO, REPLY, -OPEN }, ALWAYS | T(OPENED),
	  false, false },
	{ "for its description", { -HELLO, REPLY, -OPEN, OPENED },
	  NEWS | T(DEVS) | T(MRS), false, false },
	{ "for the end of it", { -HELLO, REPLY, -OPEN, OPENED, DEVS, MRS,
	  KEYS }, DEV_NEWS, false, false },
	{ "for keys", { -HELLO, REPLY, -OPEN, OPENED, DEVS, MRS },
	  NEWS | T(KEYS) | T(FAR), false, false },
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

/* To who waits for nothing; the dev and the region are those of msgs[FAR]. */
static const struct bad_far {
	const char *desc;
	uint32_t nr;		/* of entries, as it says */
	uint32_t words;		/* that there are, of 6 */
	uint32_t mr, mask;	/* added to the region, exclusive or with the devs */
	bool without;		/* it was not agreed on */
	enum end end;
} bad_far[] = {
	{ "as it should be", 1, 4, 0, 0, false, GOES_ON },
	{ "the same again", 2, 6, 0, 0, false, GOES_ON },
	{ "it was not agreed on", 1, 4, 0, 0, true, BROKEN },
	{ "no entry", 0, 2, 0, 0, false, BROKEN },
	{ "no entry where one is said to be", 1, 2, 0, 0, false, BROKEN },
	{ "half an entry", 1, 3, 0, 0, false, BROKEN },
	{ "an entry too few", 2, 4, 0, 0, false, BROKEN },
	{ "an entry too many", 1, 6, 0, 0, false, BROKEN },
	{ "2^32 - 1 entries", ~0U, 4, 0, 0, false, BROKEN },
	{ "as many as make no bytes", 1U << 29, 2, 0, 0, false, BROKEN },
	{ "no number of entries", 1, 1, 0, 0, false, BROKEN },
	{ "a region that is not there", 1, 4, 1, 0, false, BROKEN },
	{ "a region far away", 1, 4, 1U << 31, 0, false, BROKEN },
	{ "devs that are not there", 1, 4, 0, ~0U, false, BROKEN },
};

static void set_feature(int type, size_t off, uint64_t feature, bool on)
{
	uint64_t features;

	memcpy(&features, msgs[type] + off, 8);
	features = on ? features | feature : features & ~feature;
	memcpy(msgs[type] + off, &features, 8);
}

TEST_F_TIMEOUT(turn, far_is_checked, SLOW)
{
	static const struct asking row = {
		.steps = { -HELLO, REPLY, -OPEN, OPENED, DEVS, MRS, KEYS,
			   READY },
		.opens = true,
	};
	uint32_t good[4], words[6];
	enum end end;
	int ret = 0;
	size_t i;

	memcpy(good, msgs[FAR] + FRAME_HEADER, sizeof(good));
	for (i = 0; i < ROWS(bad_far); i++) {
		words[1] = bad_far[i].nr;
		words[2] = words[4] = good[2] + bad_far[i].mr;
		words[3] = words[5] = good[3] ^ bad_far[i].mask;
		make(FAR, words, bad_far[i].words);
		set_feature(REPLY, REPLY_FEATURES, FEAT_FAR,
			    !bad_far[i].without);
		end = ask_and_say(self->p.ini, &row, FAR, &ret);
		set_feature(REPLY, REPLY_FEATURES, FEAT_FAR, true);
		EXPECT_ROW(bad_far[i].end, end, "%s", bad_far[i].desc);
		EXPECT_ROW(0, ret, "%s", bad_far[i].desc);
		EXPECT_ROW(0, te_settle_to(&self->base), "%s",
			   bad_far[i].desc);
	}
}

/* Of all regions; NULL: no matrix. */
static int prefer(struct pair *p, const char *near, const char *far)
{
	struct te_topology_entry e[2] = { { .tier = 0 }, { .tier = 1 } };
	struct te_ioc_topology_set set = { .size = sizeof(set) };

	if (near) {
		strcpy((char *)e[0].location, "*");
		strcpy((char *)e[1].location, "*");
		strcpy((char *)e[0].device, near);
		strcpy((char *)e[1].device, far);
		set.nr = 2;
		set.entries = (uintptr_t)e;
	}
	return raw_ioctl(te_fd(p->ini), TE_IOC_TOPOLOGY_SET, &set);
}

/* One who asks for the segment: its socket, when that was described. */
static int ask_for(struct __test_metadata *_metadata, bool agrees,
		   struct far *far)
{
	int fd = sock_connect(te_peer_addr(), TE_DEFAULT_PORT);

	set_feature(HELLO, HELLO_FEATURES, FEAT_FAR, agrees);
	EXPECT_EQ(0, say(fd, HELLO));
	set_feature(HELLO, HELLO_FEATURES, FEAT_FAR, true);
	EXPECT_EQ(0, hear_any(fd, REPLY));
	EXPECT_EQ(0, say(fd, OPEN));
	*far = (struct far) { 0 };
	EXPECT_EQ(0, hear_until(fd, READY, far));
	return fd;
}

/* One dev. */
static bool is_one(uint32_t mask)
{
	return mask && !(mask & (mask - 1));
}

TEST_F_TIMEOUT(turn, far_is_told, SLOW)
{
	const char *a = getenv("TE_DEV_A"), *b = getenv("TE_DEV_B");
	struct pair *p = &self->p;
	uint32_t was, mr;
	struct far far;
	int fd;

	memcpy(&mr, msgs[FAR] + FRAME_HEADER + 8, 4);
	/* It was registered anew meanwhile. */
	fd = ask_for(_metadata, true, &far);
	EXPECT_EQ(0, far.nr);
	close(fd);

	ASSERT_EQ(0, prefer(p, a, b));
	fd = ask_for(_metadata, true, &far);
	EXPECT_EQ(1, far.nr);
	EXPECT_EQ(1, far.words[1]);
	EXPECT_NE(mr, far.words[2]);
	mr = far.words[2];
	was = far.words[3];
	EXPECT_TRUE(is_one(was));

	ASSERT_EQ(0, prefer(p, b, a));
	EXPECT_EQ(0, hear_until(fd, FAR, &far));
	EXPECT_EQ(1, far.words[1]);
	EXPECT_EQ(mr, far.words[2]);
	EXPECT_TRUE(is_one(far.words[3]));
	EXPECT_NE(was, far.words[3]);

	/* That nothing is any more is told, too. */
	ASSERT_EQ(0, prefer(p, NULL, NULL));
	EXPECT_EQ(0, hear_until(fd, FAR, &far));
	EXPECT_EQ(1, far.words[1]);
	EXPECT_EQ(mr, far.words[2]);
	EXPECT_EQ(0, far.words[3]);
	EXPECT_EQ(3, far.nr);
	close(fd);
}

TEST_F_TIMEOUT(turn, far_is_not_told, SLOW)
{
	const char *a = getenv("TE_DEV_A"), *b = getenv("TE_DEV_B");
	struct pair *p = &self->p;
	struct far far;
	int fd, i;

	ASSERT_EQ(0, prefer(p, a, b));
	fd = ask_for(_metadata, false, &far);
	EXPECT_EQ(0, prefer(p, b, a));
	/* A PONG goes first; before the next one all would have been said. */
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(0, say(fd, PING));
		EXPECT_EQ(0, hear_until(fd, PONG, &far));
	}
	EXPECT_EQ(0, far.nr);
	close(fd);
}

TEST_HARNESS_MAIN

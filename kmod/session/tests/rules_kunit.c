// SPDX-License-Identifier: GPL-2.0-only
/*
 * session/tests/rules: who may say what when, and what time brings. The
 * sessions are values: they have no actor and no socket, so time is moved by
 * moving what they remember of it.
 */
#include <kunit/test.h>

#include "session/priv.h"

/* ---- what may come in which state */

/* Columns: DIALING GREETING ACCEPTED ASKING ANSWERING CLOSING DEAD */
static const char *const hears[TE_WIRE_NR_TYPES] = {
	[0]			= "-------",
	[TE_WIRE_HELLO]		= "--x----",
	[TE_WIRE_HELLO_REPLY]	= "-x-----",
	[TE_WIRE_PING]		= "---xx--",
	[TE_WIRE_PONG]		= "---xx--",
	[TE_WIRE_BYE]		= "-x-xx--",
	[6]			= "-------",
	[7]			= "-------",
	[8]			= "-------",
	[9]			= "-------",
	[10]			= "-------",
	[11]			= "-------",
	[12]			= "-------",
	[13]			= "-------",
	[14]			= "-------",
	[15]			= "-------",
	[TE_WIRE_SEG_OPEN]	= "----x--",
	[TE_WIRE_SEG_OPENED]	= "---x---",
	[TE_WIRE_SEG_DEVS]	= "---x---",
	[TE_WIRE_SEG_MRS]	= "---x---",
	[TE_WIRE_SEG_KEYS]	= "---x---",
	[TE_WIRE_SEG_READY]	= "---x---",
	[TE_WIRE_SEG_MR_GONE]	= "---x---",
	[TE_WIRE_SEG_GONE]	= "---x---",
	[TE_WIRE_SEG_CLOSE]	= "----x--",
	[TE_WIRE_SEG_DEV_GONE]	= "---x---",
	[TE_WIRE_SEG_DEV_KEYS]	= "---x---",
	[TE_WIRE_SEG_FAR]	= "---x---",
};

static void what_may_come(struct kunit *test)
{
	u32 type, state;

	for (type = 0; type < TE_WIRE_NR_TYPES; type++)
		for (state = 0; state <= TE_SESSION_DEAD; state++)
			KUNIT_EXPECT_EQ_MSG(test,
					    te_session_may_hear(state, type),
					    hears[type][state] == 'x',
					    "type %u in state %u", type, state);
}

/* ---- what time brings */

struct tick_case {
	const char *desc;
	enum te_session_state state;
	unsigned int quiet_ms;	/* since we heard or PINGed it */
	int more;		/* jiffies */
	u32 nr_pings;
	bool heard;
	int ret;
	bool ping_due;		/* then */
	u32 pings;		/* then */
};

static const struct tick_case tick_cases[] = {
	{ "asking, just heard", TE_SESSION_ASKING, 0, 0, 2, true, 0, false, 0 },
	{ "asking, quiet", TE_SESSION_ASKING, 5000, -1, 0, false, 0, false, 0 },
	{ "asking, quiet for long", TE_SESSION_ASKING, 5000, 0, 0, false, 0,
	  true, 1 },
	{ "answering, quiet for long", TE_SESSION_ANSWERING, 5000, 0, 0, false,
	  0, true, 1 },
	{ "answering, one PING unanswered", TE_SESSION_ANSWERING, 5000, 0, 1,
	  false, 0, true, 2 },
	{ "the last PING has time", TE_SESSION_ANSWERING, 5000, -1, 3, false,
	  0, false, 3 },
	{ "three PINGs unanswered", TE_SESSION_ANSWERING, 5000, 0, 3, false,
	  -ETIMEDOUT, false, 3 },
	{ "heard at last", TE_SESSION_ANSWERING, 5000, 0, 3, true, 0, false,
	  0 },
	{ "heard when the actor was late", TE_SESSION_ASKING, 3600000, 0, 0,
	  true, 0, false, 0 },
	{ "last words need no PING", TE_SESSION_CLOSING, 3600000, 0, 3, false,
	  0, false, 3 },
	{ "nor do the dead", TE_SESSION_DEAD, 3600000, 0, 3, false, 0, false,
	  3 },
};

KUNIT_ARRAY_PARAM_DESC(tick, tick_cases, desc);

static struct te_session *session_alloc(struct kunit *test)
{
	struct te_session *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, s);
	return s;
}

static void tick_pings(struct kunit *test)
{
	const struct tick_case *c = test->param_value;
	struct te_session *s = session_alloc(test);
	unsigned long now;
	int ret;

	/* Again if time went on meanwhile. */
	do {
		now = jiffies;
		s->state = c->state;
		s->quiet_since = now - msecs_to_jiffies(c->quiet_ms) - c->more;
		s->nr_pings = c->nr_pings;
		s->sock.heard = c->heard;
		s->ping_due = false;
		ret = te_session_tick(s);
	} while (time_after(jiffies, now));

	KUNIT_EXPECT_EQ(test, ret, c->ret);
	KUNIT_EXPECT_EQ(test, s->ping_due, c->ping_due);
	KUNIT_EXPECT_EQ(test, s->nr_pings, c->pings);
	if (c->heard || c->ping_due)
		KUNIT_EXPECT_EQ(test, s->quiet_since, now);
	if (s->state == TE_SESSION_ASKING || s->state == TE_SESSION_ANSWERING)
		KUNIT_EXPECT_FALSE(test, s->sock.heard);
}

/* A silent peer is given up when TCP would, too. */
static void tick_until_lost(struct kunit *test)
{
	struct te_session *s = session_alloc(test);
	u32 waited_ms = 0;
	int ret;

	s->state = TE_SESSION_ANSWERING;
	do {
		s->quiet_since = jiffies - msecs_to_jiffies(TE_SESSION_PING_MS);
		s->ping_due = false;
		waited_ms += TE_SESSION_PING_MS;
		ret = te_session_tick(s);
		KUNIT_EXPECT_EQ(test, s->ping_due, !ret);
	} while (!ret && waited_ms < 100 * TE_SESSION_PING_MS);
	KUNIT_EXPECT_EQ(test, ret, -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, waited_ms, TE_SESSION_UNACKED_MS);
}

static void tick_deadlines(struct kunit *test)
{
	static const struct {
		enum te_session_state state;
		int ret;	/* at the deadline */
	} rows[] = {
		{ TE_SESSION_DIALING, -ETIMEDOUT },
		{ TE_SESSION_GREETING, -ETIMEDOUT },
		{ TE_SESSION_ACCEPTED, -ETIMEDOUT },
		{ TE_SESSION_ASKING, 0 },
		{ TE_SESSION_ANSWERING, 0 },
		{ TE_SESSION_CLOSING, 0 },
		{ TE_SESSION_DEAD, 0 },
	};
	struct te_session *s = session_alloc(test);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		s->state = rows[i].state;
		s->quiet_since = jiffies;
		s->deadline = jiffies;
		KUNIT_EXPECT_EQ_MSG(test, te_session_tick(s), rows[i].ret,
				    "state %u", s->state);
		s->deadline = jiffies + 3600 * HZ;
		KUNIT_EXPECT_EQ_MSG(test, te_session_tick(s), 0, "state %u",
				    s->state);
	}
}

/* ---- when to look again */

struct next_case {
	const char *desc;
	enum te_session_state state;
	unsigned int quiet_ms, idle_ms;	/* so far; 0 idle_ms: not idle */
	u32 nr_segs;
	bool fade;
	unsigned int next_ms;
};

static const struct next_case next_cases[] = {
	{ "asking, in use", TE_SESSION_ASKING, 0, 0, 1, false, 5000 },
	{ "asking, in use, quiet", TE_SESSION_ASKING, 3000, 0, 1, false, 2000 },
	{ "asking, PING is due", TE_SESSION_ASKING, 5000, 0, 1, false, 0 },
	{ "asking, PING is late", TE_SESSION_ASKING, 3600000, 0, 1, false, 0 },
	{ "asking, only requests", TE_SESSION_ASKING, 0, 0, 0, false, 250 },
	{ "asking, only requests, PING is near", TE_SESSION_ASKING, 4900, 0, 0,
	  false, 100 },
	{ "asking, idle", TE_SESSION_ASKING, 0, 1000, 0, false, 1000 },
	{ "asking, idle for long", TE_SESSION_ASKING, 0, 2000, 0, false, 0 },
	{ "answering, idle, PING is first", TE_SESSION_ANSWERING, 0, 1000, 0,
	  false, 5000 },
	{ "answering, idle for long", TE_SESSION_ANSWERING, 0, 29000, 0, false,
	  1000 },
	{ "answering, nothing exported", TE_SESSION_ANSWERING, 0, 300, 0, true,
	  200 },
	{ "answering, nothing exported for long", TE_SESSION_ANSWERING, 0,
	  1000, 0, true, 0 },
	{ "answering, ended segments only", TE_SESSION_ANSWERING, 0, 28000, 7,
	  false, 2000 },
};

KUNIT_ARRAY_PARAM_DESC(next, next_cases, desc);

static void next_look(struct kunit *test)
{
	const struct next_case *c = test->param_value;
	struct te_session *s = session_alloc(test);
	unsigned long now, next;

	s->state = c->state;
	s->asking = c->state == TE_SESSION_ASKING;
	s->nr_segs = c->nr_segs;
	s->idle = c->idle_ms;
	assign_bit(TE_SESSION_FADE, &s->bits, c->fade);
	/* Long past, and of no concern to the living. */
	s->deadline = jiffies - HZ;
	do {
		now = jiffies;
		s->quiet_since = now - msecs_to_jiffies(c->quiet_ms);
		s->idle_since = now - msecs_to_jiffies(c->idle_ms);
		next = te_session_next(s);
	} while (time_after(jiffies, now));
	KUNIT_EXPECT_EQ(test, next, msecs_to_jiffies(c->next_ms));
}

static void next_deadline(struct kunit *test)
{
	static const enum te_session_state states[] = {
		TE_SESSION_DIALING, TE_SESSION_GREETING, TE_SESSION_ACCEPTED,
		TE_SESSION_CLOSING,
	};
	struct te_session *s = session_alloc(test);
	unsigned long now, next, late;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(states); i++) {
		s->state = states[i];
		do {
			now = jiffies;
			s->deadline = now + 7;
			next = te_session_next(s);
			s->deadline = now - 7;
			late = te_session_next(s);
		} while (time_after(jiffies, now));
		KUNIT_EXPECT_EQ_MSG(test, next, 7, "state %u", s->state);
		KUNIT_EXPECT_EQ_MSG(test, late, 0, "state %u", s->state);
	}
}

static struct kunit_case te_session_cases[] = {
	KUNIT_CASE(what_may_come),
	KUNIT_CASE_PARAM(tick_pings, tick_gen_params),
	KUNIT_CASE(tick_until_lost),
	KUNIT_CASE(tick_deadlines),
	KUNIT_CASE_PARAM(next_look, next_gen_params),
	KUNIT_CASE(next_deadline),
	{}
};

static struct kunit_suite te_session_suite = {
	.name = "te_session",
	.test_cases = te_session_cases,
};

kunit_test_suite(te_session_suite);

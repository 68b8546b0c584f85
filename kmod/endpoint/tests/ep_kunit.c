// SPDX-License-Identifier: GPL-2.0-only
/*
 * endpoint/tests: every move between states, what a move leaves behind, and
 * what the last reference gives back. The dev, the mover and the peer are
 * stand-ins that count.
 */
#include <kunit/test.h>
#include <net/net_namespace.h>
#include <linux/slab.h>

#include "endpoint/endpoint.h"

/**
 * struct ep_fixture - an endpoint with what it needs
 * @dev: never released
 * @mover: its looks are counted
 * @peer: a real one, the test's reference
 * @ep: with one reference, or NULL when it was freed
 * @looks: calls of te_mover.look
 * @frees: calls of ep_free
 * @gone: calls of te_mover.gone
 */
struct ep_fixture {
	struct te_dev dev;
	struct te_mover mover;
	struct te_peer *peer;
	struct te_ep *ep;
	u32 looks;
	u32 frees;
	u32 gone;
};

static void fixture_look(struct te_mover *mover)
{
	container_of(mover, struct ep_fixture, mover)->looks++;
}

static void fixture_gone(struct te_mover *mover)
{
	container_of(mover, struct ep_fixture, mover)->gone++;
}

static void fixture_ep_free(struct te_ep *ep)
{
	struct ep_fixture *f = container_of(ep->dev, struct ep_fixture, dev);

	f->frees++;
	f->ep = NULL;
	kfree(ep);
}

static const struct te_transport_ops fixture_ops = {
	.name		= "kunit",
	.ep_free	= fixture_ep_free,
};

static int ep_init(struct kunit *test)
{
	const struct te_rdev rdev = { .dev_id = 7, .port = 1234 };
	struct ep_fixture *f;

	f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f);
	kref_init(&f->dev.ref);
	f->dev.ops = &fixture_ops;
	f->mover.dev = &f->dev;
	f->mover.look = fixture_look;
	f->mover.gone = fixture_gone;
	f->peer = te_peer_create(&init_net, &in6addr_loopback, 0);
	KUNIT_ASSERT_NOT_NULL(test, f->peer);
	f->ep = kzalloc(sizeof(*f->ep), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f->ep);
	te_ep_init(f->ep, &f->mover, f->peer, &rdev);
	test->priv = f;
	return 0;
}

static void ep_exit(struct kunit *test)
{
	struct ep_fixture *f = test->priv;

	if (!f)
		return;
	if (f->ep)
		te_ep_put(f->ep);
	te_peer_put(f->peer);
}

/* Columns as in enum te_ep_state; 1: the move is allowed. */
static const struct ep_move_case {
	const char *desc;
	enum te_ep_state from;
	u8 allowed[TE_EP_NR_STATES];
} ep_move_cases[] = {
	/*				NEW CON RDY FLD DRN DEAD */
	{ "new",	TE_EP_NEW,	{ 0, 1, 0, 0, 0, 0 } },
	{ "connecting",	TE_EP_CONNECTING, { 0, 0, 1, 1, 0, 0 } },
	{ "ready",	TE_EP_READY,	{ 0, 0, 0, 1, 1, 0 } },
	{ "failed",	TE_EP_FAILED,	{ 0, 0, 0, 0, 1, 0 } },
	{ "draining",	TE_EP_DRAINING,	{ 0, 0, 0, 0, 0, 1 } },
	{ "dead",	TE_EP_DEAD,	{ 0, 0, 0, 0, 0, 0 } },
};

KUNIT_ARRAY_PARAM_DESC(ep_move, ep_move_cases, desc);

/* An allowed move changes the state and makes the mover look, others nothing. */
static void ep_moves(struct kunit *test)
{
	const struct ep_move_case *c = test->param_value;
	struct ep_fixture *f = test->priv;
	struct te_ep *ep = f->ep;
	u32 to;

	for (to = 0; to < TE_EP_NR_STATES; to++) {
		bool allowed = c->allowed[to];

		ep->state = c->from;
		ep->was_ready = false;
		f->looks = 0;
		KUNIT_EXPECT_EQ_MSG(test, te_ep_set_state(ep, to), allowed,
				    "to %u", to);
		KUNIT_EXPECT_EQ_MSG(test, te_ep_state(ep),
				    allowed ? to : c->from, "to %u", to);
		KUNIT_EXPECT_EQ_MSG(test, f->looks, allowed, "to %u", to);
		KUNIT_EXPECT_EQ_MSG(test, ep->was_ready,
				    allowed && to == TE_EP_READY, "to %u", to);
		KUNIT_EXPECT_EQ(test, ep->error, 0);
	}
}

/* A failure brings its reason along if the move is allowed, else nothing. */
static void ep_fails(struct kunit *test)
{
	const struct ep_move_case *c = test->param_value;
	struct ep_fixture *f = test->priv;
	bool allowed = c->allowed[TE_EP_FAILED];
	struct te_ep *ep = f->ep;

	ep->state = c->from;
	ep->error = -EPERM;
	KUNIT_EXPECT_EQ(test, te_ep_fail(ep, -ECONNREFUSED), allowed);
	KUNIT_EXPECT_EQ(test, ep->error, allowed ? -ECONNREFUSED : -EPERM);
	KUNIT_EXPECT_EQ(test, f->looks, allowed);
	KUNIT_EXPECT_FALSE(test, te_ep_fail(ep, -EIO));
	KUNIT_EXPECT_EQ(test, ep->error, allowed ? -ECONNREFUSED : -EPERM);
}

/* Whole lives, by all ways there are; none leads back, each to the end. */
static const struct ep_life_case {
	const char *desc;
	enum te_ep_state states[6]; /* ends with TE_EP_DEAD */
	bool was_ready;
} ep_life_cases[] = {
	{ "used, then drained", {
		TE_EP_CONNECTING, TE_EP_READY, TE_EP_DRAINING, TE_EP_DEAD,
	}, true },
	{ "used, then broken", {
		TE_EP_CONNECTING, TE_EP_READY, TE_EP_FAILED, TE_EP_DRAINING,
		TE_EP_DEAD,
	}, true },
	{ "never connected", {
		TE_EP_CONNECTING, TE_EP_FAILED, TE_EP_DRAINING, TE_EP_DEAD,
	}, false },
};

KUNIT_ARRAY_PARAM_DESC(ep_life, ep_life_cases, desc);

static void ep_lives(struct kunit *test)
{
	const struct ep_life_case *c = test->param_value;
	struct ep_fixture *f = test->priv;
	struct te_ep *ep = f->ep;
	const enum te_ep_state *s;
	bool ready = false;

	KUNIT_EXPECT_EQ(test, te_ep_state(ep), TE_EP_NEW);
	for (s = c->states;; s++) {
		KUNIT_EXPECT_TRUE(test, te_ep_set_state(ep, *s));
		KUNIT_EXPECT_FALSE(test, te_ep_set_state(ep, TE_EP_NEW));
		KUNIT_EXPECT_FALSE(test, te_ep_set_state(ep, *s));
		if (ready)
			KUNIT_EXPECT_FALSE(test,
					   te_ep_set_state(ep, TE_EP_READY));
		ready |= *s == TE_EP_READY;
		if (*s == TE_EP_DEAD)
			break;
	}
	KUNIT_EXPECT_EQ(test, f->looks, s - c->states + 1);
	KUNIT_EXPECT_EQ(test, ep->was_ready, c->was_ready);
	KUNIT_EXPECT_FALSE(test, completion_done(&ep->quiet));
}

/* An event is a word for the mover; the state is the mover's to change. */
static void ep_event(struct kunit *test)
{
	struct ep_fixture *f = test->priv;

	f->ep->state = TE_EP_READY;
	te_ep_event(f->ep, -EIO);
	KUNIT_EXPECT_EQ(test, f->ep->event_error, -EIO);
	KUNIT_EXPECT_EQ(test, f->ep->error, 0);
	KUNIT_EXPECT_EQ(test, te_ep_state(f->ep), TE_EP_READY);
	KUNIT_EXPECT_EQ(test, f->looks, 1);
}

/* Dev and peer are held until the last put, and no longer. */
static void ep_references(struct kunit *test)
{
	struct ep_fixture *f = test->priv;
	struct te_ep *ep = f->ep;

	KUNIT_EXPECT_EQ(test, ep->key.peer_id, f->peer->id);
	KUNIT_EXPECT_EQ(test, ep->key.dev_id, 7);
	KUNIT_EXPECT_EQ(test, ep->rdev.port, 1234);
	KUNIT_EXPECT_EQ(test, kref_read(&f->dev.ref), 2);
	KUNIT_EXPECT_EQ(test, kref_read(&f->peer->ref), 2);
	te_ep_get(ep);
	te_ep_put(ep);
	KUNIT_EXPECT_EQ(test, f->frees, 0);
	KUNIT_EXPECT_EQ(test, f->gone, 0);
	KUNIT_EXPECT_EQ(test, kref_read(&f->dev.ref), 2);
	te_ep_put(ep);
	KUNIT_EXPECT_EQ(test, f->frees, 1);
	KUNIT_EXPECT_EQ(test, f->gone, 1);
	KUNIT_EXPECT_EQ(test, kref_read(&f->dev.ref), 1);
	KUNIT_EXPECT_EQ(test, kref_read(&f->peer->ref), 1);
}

static struct kunit_case ep_cases[] = {
	KUNIT_CASE_PARAM(ep_moves, ep_move_gen_params),
	KUNIT_CASE_PARAM(ep_fails, ep_move_gen_params),
	KUNIT_CASE_PARAM(ep_lives, ep_life_gen_params),
	KUNIT_CASE(ep_event),
	KUNIT_CASE(ep_references),
	{}
};

static struct kunit_suite ep_suite = {
	.name = "te_ep",
	.init = ep_init,
	.exit = ep_exit,
	.test_cases = ep_cases,
};

kunit_test_suite(ep_suite);

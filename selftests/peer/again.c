// SPDX-License-Identifier: GPL-2.0-only
/*
 * A peer whose session was lost, as when its node starts anew, and that is opened
 * again: it is used at once.
 */
#include "lib/test.h"
#include "lib/pair.h"
#include "lib/proxy.h"

#define ROUNDS	(PROXY_MAX - 1)
/* Connecting for the first time takes some ms; a rail that rests, up to 30 s. */
#define SOON_MS	(native() ? 1000 : 10000)

FIXTURE(again)
{
	struct pair p;
	struct proxy proxy;
	char url[128];
};

FIXTURE_SETUP(again)
{
	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, pair_open(&self->p, NULL));
	ASSERT_EQ(0, te_segment_close(self->p.ini, self->p.seg));
	ASSERT_EQ(0, proxy_start(&self->proxy));
	proxy_url(&self->proxy, self->url, sizeof(self->url), self->p.name);
}

FIXTURE_TEARDOWN(again)
{
	pair_close(&self->p);
	proxy_stop(&self->proxy);
	CLEAN();
}

TEST_F_TIMEOUT(again, at_once, SLOW)
{
	struct te_segment_opts o = { .sz = sizeof(o), .timeout_ms = 30000 };
	unsigned long long from, took;
	struct pair *p = &self->p;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, te_segment_open(p->ini, self->url, &o, &p->seg));
		from = te_now_ms();
		ASSERT_EQ(0, pair_xfer(p, i & 1, 8 * KIB + i, 9 * KIB, 200000));
		took = te_now_ms() - from;
		EXPECT_ROW(true, took < SOON_MS, "round %d: %llu ms", i, took);
		/* Each end in turn is the one that goes. */
		proxy_cut(&self->proxy, i & 1 ? PROXY_ASKING : PROXY_ANSWERING);
		proxy_cut(&self->proxy, i & 1 ? PROXY_ANSWERING : PROXY_ASKING);
		ASSERT_GT(0, te_await_gone(p->ini, p->seg));
		ASSERT_EQ(0, te_segment_close(p->ini, p->seg));
	}
}

TEST_HARNESS_MAIN

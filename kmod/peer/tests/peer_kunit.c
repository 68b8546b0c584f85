// SPDX-License-Identifier: GPL-2.0-only
/*
 * peer/tests: tokens, who is found by them and for how long, the walk over all
 * peers, and the connections that a peer may have. Other peers may live meanwhile.
 */
#include <kunit/test.h>
#include <net/net_namespace.h>
#include <linux/bits.h>

#include "peer/peer.h"

struct peer_conn {
	struct te_conn conn;
	u32 kills;
};

static void conn_kill(struct te_conn *conn)
{
	container_of(conn, struct peer_conn, conn)->kills++;
}

static void conn_init(struct peer_conn *c)
{
	c->kills = 0;
	c->conn.kill = conn_kill;
	INIT_LIST_HEAD(&c->conn.link);
}

static struct te_peer *peer_create(struct kunit *test)
{
	struct te_peer *peer = te_peer_create(&init_net, &in6addr_loopback, 7);

	KUNIT_ASSERT_NOT_NULL(test, peer);
	return peer;
}

/* Is it the one that is found? */
static bool finds(struct te_peer *peer, u64 token)
{
	struct te_peer *found = te_peer_find(token);

	if (found)
		te_peer_put(found);
	return found == peer;
}

static void peers_are_told_apart(struct kunit *test)
{
	struct te_peer *a = peer_create(test), *b = peer_create(test);

	KUNIT_EXPECT_GT(test, b->id, a->id);
	KUNIT_EXPECT_EQ(test, a->scope_id, 7);
	KUNIT_EXPECT_MEMEQ(test, &a->addr, &in6addr_loopback, sizeof(a->addr));
	KUNIT_EXPECT_EQ(test, te_peer_error(a), 0);
	KUNIT_EXPECT_EQ(test, te_peer_publish(a), 0);
	KUNIT_EXPECT_EQ(test, te_peer_publish(b), 0);
	KUNIT_EXPECT_NE(test, a->token, b->token);
	KUNIT_EXPECT_TRUE(test, finds(a, a->token));
	KUNIT_EXPECT_TRUE(test, finds(b, b->token));

	/* The one's end is not the other's. */
	te_peer_bury(a, -ECONNRESET);
	KUNIT_EXPECT_FALSE(test, finds(a, a->token));
	KUNIT_EXPECT_TRUE(test, finds(b, b->token));
	KUNIT_EXPECT_EQ(test, te_peer_error(b), 0);
	te_peer_bury(b, -ECONNRESET);
	te_peer_put(a);
	te_peer_put(b);
}

/* The low half is an index and no secret: alone it opens nothing. */
static void token_must_be_whole(struct kunit *test)
{
	struct te_peer *peer = peer_create(test);
	u32 bit;

	KUNIT_ASSERT_EQ(test, te_peer_publish(peer), 0);
	for (bit = 0; bit < 64; bit++)
		KUNIT_EXPECT_FALSE_MSG(test,
				       finds(peer, peer->token ^ BIT_ULL(bit)),
				       "bit %u is for nothing", bit);
	KUNIT_EXPECT_FALSE(test, finds(peer, lower_32_bits(peer->token)));
	KUNIT_EXPECT_EQ(test, kref_read(&peer->ref), 1);
	te_peer_bury(peer, -ECONNRESET);
	te_peer_put(peer);
}

/* Found, it lives on with whoever found it; buried, it is found by nobody. */
static void found_and_buried(struct kunit *test)
{
	struct te_peer *peer = peer_create(test), *found;

	KUNIT_ASSERT_EQ(test, te_peer_publish(peer), 0);
	found = te_peer_find(peer->token);
	KUNIT_ASSERT_PTR_EQ(test, found, peer);
	KUNIT_EXPECT_EQ(test, kref_read(&peer->ref), 2);

	KUNIT_EXPECT_TRUE(test, te_peer_bury(peer, -ETIMEDOUT));
	KUNIT_EXPECT_EQ(test, te_peer_error(found), -ETIMEDOUT);
	KUNIT_EXPECT_NULL(test, te_peer_find(found->token));
	/* The first reason counts. */
	KUNIT_EXPECT_FALSE(test, te_peer_bury(peer, -ECONNRESET));
	KUNIT_EXPECT_EQ(test, te_peer_error(found), -ETIMEDOUT);
	te_peer_put(peer);
	te_peer_put(found);
}

/* Who dialled is never published: burying it must not hide another. */
static void buried_without_token(struct kunit *test)
{
	struct te_peer *accepted = peer_create(test);
	struct te_peer *dialled = peer_create(test);

	KUNIT_ASSERT_EQ(test, te_peer_publish(accepted), 0);
	dialled->token = accepted->token;
	KUNIT_EXPECT_TRUE(test, te_peer_bury(dialled, 0));
	KUNIT_EXPECT_EQ(test, te_peer_error(dialled), -ECONNRESET);
	KUNIT_EXPECT_TRUE(test, finds(accepted, accepted->token));
	te_peer_bury(accepted, -ECONNRESET);
	te_peer_put(accepted);
	te_peer_put(dialled);
}

/* Others of the node may come in between. */
static u32 nr_walked(struct te_peer **peers, u32 nr)
{
	struct te_peer *peer = NULL;
	u32 i, n = 0;

	while ((peer = te_peer_next(peer))) {
		for (i = 0; i < nr; i++)
			n += peer == peers[i];
	}
	return n;
}

/* Each once, though the one stood on is released by its last other holder. */
static void all_are_walked(struct kunit *test)
{
	struct te_peer *peers[3], *peer = NULL;
	u32 i, n = 0;

	for (i = 0; i < 3; i++)
		peers[i] = peer_create(test);
	KUNIT_EXPECT_EQ(test, nr_walked(peers, 3), 3);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, kref_read(&peers[i]->ref), 1);

	while ((peer = te_peer_next(peer))) {
		for (i = 0; i < 3; i++) {
			if (peer != peers[i])
				continue;
			KUNIT_EXPECT_EQ(test, kref_read(&peer->ref), 2);
			te_peer_put(peer);
			n++;
		}
	}
	KUNIT_EXPECT_EQ(test, n, 3);
	/* Only compared: they are gone. */
	KUNIT_EXPECT_EQ(test, nr_walked(peers, 3), 0);
}

static void conns_are_killed_once(struct kunit *test)
{
	struct te_peer *peer = peer_create(test);
	struct peer_conn kept, left, late;

	conn_init(&kept);
	conn_init(&left);
	conn_init(&late);
	KUNIT_EXPECT_TRUE(test, te_peer_add_conn(peer, &kept.conn));
	KUNIT_EXPECT_TRUE(test, te_peer_add_conn(peer, &left.conn));
	KUNIT_EXPECT_EQ(test, peer->nr_conns, 2);
	te_peer_del_conn(peer, &left.conn);
	te_peer_del_conn(peer, &left.conn);
	KUNIT_EXPECT_EQ(test, peer->nr_conns, 1);

	te_peer_bury(peer, -ECONNRESET);
	te_peer_bury(peer, -ECONNRESET);
	KUNIT_EXPECT_EQ(test, kept.kills, 1);
	KUNIT_EXPECT_EQ(test, left.kills, 0);
	KUNIT_EXPECT_FALSE(test, te_peer_add_conn(peer, &late.conn));
	te_peer_del_conn(peer, &late.conn);
	KUNIT_EXPECT_EQ(test, late.kills, 0);
	te_peer_del_conn(peer, &kept.conn);
	KUNIT_EXPECT_EQ(test, peer->nr_conns, 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&peer->conns));
	te_peer_put(peer);
}

static void conns_are_bounded(struct kunit *test)
{
	struct te_peer *peer = peer_create(test);
	struct peer_conn *conns, *last;
	u32 i;

	conns = kunit_kcalloc(test, TE_PEER_MAX_CONNS + 1, sizeof(*conns),
			      GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, conns);
	last = &conns[TE_PEER_MAX_CONNS];
	for (i = 0; i <= TE_PEER_MAX_CONNS; i++)
		conn_init(&conns[i]);
	for (i = 0; i < TE_PEER_MAX_CONNS; i++)
		KUNIT_EXPECT_TRUE(test, te_peer_add_conn(peer, &conns[i].conn));
	KUNIT_EXPECT_FALSE(test, te_peer_add_conn(peer, &last->conn));
	KUNIT_EXPECT_EQ(test, peer->nr_conns, TE_PEER_MAX_CONNS);

	/* A place that is given back is there for the next one. */
	te_peer_del_conn(peer, &conns[5].conn);
	KUNIT_EXPECT_TRUE(test, te_peer_add_conn(peer, &last->conn));
	te_peer_bury(peer, -ECONNRESET);
	for (i = 0; i <= TE_PEER_MAX_CONNS; i++) {
		KUNIT_EXPECT_EQ(test, conns[i].kills, i != 5);
		te_peer_del_conn(peer, &conns[i].conn);
	}
	KUNIT_EXPECT_EQ(test, peer->nr_conns, 0);
	te_peer_put(peer);
}

static struct kunit_case te_peer_cases[] = {
	KUNIT_CASE(peers_are_told_apart),
	KUNIT_CASE(token_must_be_whole),
	KUNIT_CASE(found_and_buried),
	KUNIT_CASE(buried_without_token),
	KUNIT_CASE(all_are_walked),
	KUNIT_CASE(conns_are_killed_once),
	KUNIT_CASE(conns_are_bounded),
	{}
};

static struct kunit_suite te_peer_suite = {
	.name = "te_peer",
	.test_cases = te_peer_cases,
};

kunit_test_suite(te_peer_suite);

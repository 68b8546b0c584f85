// SPDX-License-Identifier: GPL-2.0-only
/*
 * xport/tests/dev: devs come, go up and down, and go. They have real movers and
 * a transport that never does anything. Devs of this node may be there too.
 */
#include <kunit/test.h>
#include <linux/rculist.h>

#include "xport/xport.h"

/**
 * struct dev_fixture - a dev of a test
 * @dev: the dev
 * @releases: how often its last reference went
 */
struct dev_fixture {
	struct te_dev dev;
	u32 releases;
};

static int idle_mover_start(struct te_mover *mover)
{
	return 0;
}

static int idle_mover_fail(struct te_mover *mover)
{
	return -EIO;
}

static void idle_mover_stop(struct te_mover *mover)
{
}

static u32 idle_poll(struct te_mover *mover, struct list_head *finished)
{
	return 0;
}

static bool idle_arm(struct te_mover *mover)
{
	return false;
}

static const struct te_transport_ops idle_ops = {
	.name		= "kunit",
	.mover_start	= idle_mover_start,
	.mover_stop	= idle_mover_stop,
	.poll		= idle_poll,
	.arm		= idle_arm,
};

static const struct te_transport_ops nic_ops = {
	.transport	= TE_RDMA,
	.name		= "kunit",
	.mover_start	= idle_mover_start,
	.mover_stop	= idle_mover_stop,
	.poll		= idle_poll,
	.arm		= idle_arm,
};

static const struct te_transport_ops broken_ops = {
	.name		= "kunit",
	.mover_start	= idle_mover_fail,
	.mover_stop	= idle_mover_stop,
	.poll		= idle_poll,
	.arm		= idle_arm,
};

static void dev_released(struct te_dev *dev)
{
	container_of(dev, struct dev_fixture, dev)->releases++;
}

static struct dev_fixture *dev_alloc(struct kunit *test)
{
	struct dev_fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, f);
	f->dev.ops = &idle_ops;
	f->dev.numa_node = NUMA_NO_NODE;
	f->dev.release = dev_released;
	strscpy(f->dev.name, "kunit", sizeof(f->dev.name));
	return f;
}

static u32 nr_listed(struct te_dev *dev)
{
	struct te_dev *other;
	u32 n = 0;

	rcu_read_lock();
	list_for_each_entry_rcu(other, &te_devs, link)
		n += other == dev;
	rcu_read_unlock();
	return n;
}

/* Does it stand in what peers are told? */
static u32 nr_described(struct kunit *test, struct te_dev *dev)
{
	struct te_rdev *rdevs;
	u32 i, nr, n = 0;

	rdevs = kunit_kcalloc(test, TE_MAX_DEVS, sizeof(*rdevs), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, rdevs);
	nr = te_dev_describe(rdevs, TE_MAX_DEVS);
	for (i = 0; i < nr; i++)
		n += rdevs[i].port == dev->self.port;
	return n;
}

static void up_and_down(struct kunit *test)
{
	struct dev_fixture *f = dev_alloc(test);
	struct te_rdev one;
	u32 others = te_dev_describe(&one, 1);

	/* Of no family: nobody is led here. */
	f->dev.self.port = 1;
	KUNIT_ASSERT_EQ(test, te_dev_add(&f->dev), 0);
	KUNIT_EXPECT_LT(test, f->dev.id, TE_MAX_DEVS);
	KUNIT_EXPECT_EQ(test, nr_listed(&f->dev), 0);
	te_dev_down(&f->dev);

	te_dev_up(&f->dev);
	te_dev_up(&f->dev);
	KUNIT_EXPECT_EQ(test, nr_listed(&f->dev), 1);
	KUNIT_EXPECT_EQ(test, nr_described(test, &f->dev), 1);
	KUNIT_EXPECT_EQ(test, te_dev_describe(&one, 1), 1);
	KUNIT_EXPECT_EQ(test, te_dev_describe(&one, 0), 0);

	te_dev_down(&f->dev);
	te_dev_down(&f->dev);
	KUNIT_EXPECT_EQ(test, nr_listed(&f->dev), 0);
	KUNIT_EXPECT_EQ(test, nr_described(test, &f->dev), 0);
	KUNIT_EXPECT_EQ(test, te_dev_describe(&one, 1), others);

	te_dev_up(&f->dev);
	KUNIT_EXPECT_EQ(test, nr_listed(&f->dev), 1);
	te_dev_del(&f->dev);
	KUNIT_EXPECT_EQ(test, nr_listed(&f->dev), 0);
	te_dev_put(&f->dev);
	KUNIT_EXPECT_EQ(test, f->releases, 1);
}

/* Who picked a dev keeps it, and nobody gets it when it is on its way out. */
static void last_reference_releases(struct kunit *test)
{
	struct dev_fixture *f = dev_alloc(test);

	KUNIT_ASSERT_EQ(test, te_dev_add(&f->dev), 0);
	KUNIT_EXPECT_TRUE(test, te_dev_tryget(&f->dev));
	te_dev_del(&f->dev);
	te_dev_put(&f->dev);
	KUNIT_EXPECT_EQ(test, f->releases, 0);
	te_dev_get(&f->dev);
	te_dev_put(&f->dev);
	KUNIT_EXPECT_EQ(test, f->releases, 0);
	te_dev_put(&f->dev);
	KUNIT_EXPECT_EQ(test, f->releases, 1);
	KUNIT_EXPECT_FALSE(test, te_dev_tryget(&f->dev));
}

/* Peers name devs by their ids for a while after they went. */
static void ids_come_back_late(struct kunit *test)
{
	struct dev_fixture *f = dev_alloc(test);
	u32 i, last = TE_MAX_DEVS;

	for (i = 0; i < 4; i++) {
		KUNIT_ASSERT_EQ(test, te_dev_add(&f->dev), 0);
		KUNIT_EXPECT_NE(test, f->dev.id, last);
		last = f->dev.id;
		te_dev_del(&f->dev);
		te_dev_put(&f->dev);
	}
}

static void ids_run_out(struct kunit *test)
{
	struct dev_fixture *f[TE_MAX_DEVS + 1], *broken = dev_alloc(test);
	u32 i, j, n;
	int ret = 0;

	/* One whose movers do not start leaves no id behind. */
	broken->dev.ops = &broken_ops;
	for (i = 0; i <= TE_MAX_DEVS; i++)
		KUNIT_EXPECT_EQ(test, te_dev_add(&broken->dev), -EIO);
	KUNIT_EXPECT_EQ(test, broken->releases, 0);

	for (n = 0; n <= TE_MAX_DEVS; n++) {
		f[n] = dev_alloc(test);
		ret = te_dev_add(&f[n]->dev);
		if (ret)
			break;
		for (j = 0; j < n; j++)
			KUNIT_EXPECT_NE(test, f[n]->dev.id, f[j]->dev.id);
	}
	KUNIT_EXPECT_EQ(test, ret, -ENOSPC);
	/* The node's own have ids as well. */
	KUNIT_EXPECT_GT(test, n, TE_MAX_DEVS / 2);
	KUNIT_EXPECT_LE(test, n, TE_MAX_DEVS);
	while (n--) {
		te_dev_del(&f[n]->dev);
		te_dev_put(&f[n]->dev);
		KUNIT_EXPECT_EQ(test, f[n]->releases, 1);
	}
}

/* NICs 0 and 1 on those nodes, 2 on none that is known; 3 is no NIC, on node 1. */
enum { NIC_0 = BIT(0), NIC_1 = BIT(1), NIC_X = BIT(2), SOFT = BIT(3), FAR_DEVS = 4 };

static const struct far_case {
	const char *desc;
	u32 location;
	u32 among;
	u32 down;
	u32 far;
} far_cases[] = {
	{ "anywhere", TE_LOCATION_ANY, ~0U, 0, 0 },
	{ "on node 0", TE_LOCATION_CPU(0), ~0U, 0, NIC_1 },
	{ "on node 1", TE_LOCATION_CPU(1), ~0U, 0, NIC_0 },
	{ "elsewhere", TE_LOCATION_CPU(7), ~0U, 0, NIC_0 | NIC_1 },
	{ "elsewhere, none may be near", TE_LOCATION_CPU(7), ~NIC_X, 0, 0 },
	{ "the near one is left", TE_LOCATION_CPU(0), NIC_0, 0, 0 },
	{ "the far one is left", TE_LOCATION_CPU(0), NIC_1 | SOFT, 0, 0 },
	{ "none is left", TE_LOCATION_CPU(0), 0, 0, 0 },
	{ "the far one is down", TE_LOCATION_CPU(0), ~0U, NIC_1, 0 },
	{ "those that are nearer are down", TE_LOCATION_CPU(0), ~0U,
	  NIC_0 | NIC_X, 0 },
};

/* Bits of @mask as bits of the devs' ids. */
static u32 far_ids(struct dev_fixture **f, u32 mask)
{
	u32 i, ids = 0;

	for (i = 0; i < FAR_DEVS; i++)
		if (mask & BIT(i))
			ids |= BIT(f[i]->dev.id);
	return ids;
}

static void far_devs(struct kunit *test)
{
	static const int nodes[FAR_DEVS] = { 0, 1, NUMA_NO_NODE, 1 };
	struct dev_fixture *f[FAR_DEVS];
	const struct far_case *c;
	u32 i;

	for (i = 0; i < FAR_DEVS; i++) {
		f[i] = dev_alloc(test);
		f[i]->dev.numa_node = nodes[i];
		if (BIT(i) != SOFT)
			f[i]->dev.ops = &nic_ops;
		KUNIT_ASSERT_EQ(test, te_dev_add(&f[i]->dev), 0);
	}
	for (c = far_cases; c < far_cases + ARRAY_SIZE(far_cases); c++) {
		for (i = 0; i < FAR_DEVS; i++) {
			if (c->down & BIT(i))
				te_dev_down(&f[i]->dev);
			else
				te_dev_up(&f[i]->dev);
		}
		KUNIT_EXPECT_EQ_MSG(test,
				    te_dev_far(c->location,
					       far_ids(f, c->among)),
				    far_ids(f, c->far), "%s", c->desc);
	}
	for (i = 0; i < FAR_DEVS; i++) {
		te_dev_del(&f[i]->dev);
		te_dev_put(&f[i]->dev);
	}
}

static struct kunit_case te_dev_cases[] = {
	KUNIT_CASE(up_and_down),
	KUNIT_CASE(last_reference_releases),
	KUNIT_CASE(ids_come_back_late),
	KUNIT_CASE(ids_run_out),
	KUNIT_CASE(far_devs),
	{}
};

static struct kunit_suite te_dev_suite = {
	.name = "te_dev",
	.test_cases = te_dev_cases,
};

kunit_test_suite(te_dev_suite);

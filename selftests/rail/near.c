// SPDX-License-Identifier: GPL-2.0-only
/*
 * The NIC of the peer that is near to its region carries little work alone; much
 * work goes over the far one as well. `--net rails`.
 *
 * The node is its own peer: rxe_a and rxe_c ask, both as near as can be to the
 * local memory, rxe_b and rxe_d answer. Which of those is near is the matrix' word
 * on the location of the remote region, which the asking side is told of.
 */
#include <stdio.h>

#include "lib/test.h"
#include "lib/wires.h"

#define LITTLE	(16 * KIB)
#define MUCH	(200 * KIB)
/* Requests of a measurement, one after the other; and all at once. */
#define NR_LITTLE	200
#define NR_MUCH		300
/* Percent of all bytes: over the near wire, the far one, one of equals. */
#define ALONE	95
#define SPILLS	10
#define EQUAL	30

FIXTURE(near)
{
	struct pair p;
};

/* @near and @far: devices that answer. */
static int prefer(struct pair *p, const char *near, const char *far)
{
	const struct {
		const char *location, *device;
		uint32_t tier;
	} rows[] = {
		{ "*", "rxe_a", 0 }, { "*", "rxe_c", 0 },
		{ "there", near, 0 }, { "there", far, 1 },
	};
	struct te_topology_entry e[ROWS(rows)] = {};
	struct te_ioc_topology_set set = {
		.size = sizeof(set),
		.nr = ROWS(rows),
		.entries = (uintptr_t)e,
	};
	size_t i;

	for (i = 0; i < ROWS(rows); i++) {
		strcpy((char *)e[i].location, rows[i].location);
		strcpy((char *)e[i].device, rows[i].device);
		e[i].tier = rows[i].tier;
	}
	return raw_ioctl(te_fd(p->ini), TE_IOC_TOPOLOGY_SET, &set);
}

static int reopen(struct pair *p)
{
	return te_segment_close(p->ini, p->seg) ?:
	       te_open_segment(p->ini, p->name, &p->seg);
}

/* Both wires have carried, so that either could take what comes at once. */
static int connect_both(struct pair *p)
{
	int ret = wire_await(p, "ab");

	if (ret >= 0)
		ret = wire_await(p, "cd");
	return ret < 0 ? ret : 0;
}

FIXTURE_SETUP(near)
{
	struct te_mr_opts there = { .sz = sizeof(there), .location = "there" };
	struct pair *p = &self->p;

	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, pair_open(p, NULL));
	ASSERT_EQ(0, te_mr_unregister(p->tgt, p->rmr, 0));
	ASSERT_EQ(0, te_mr_register(p->tgt, p->remote.p + p->margin,
				    p->remote.len - 2 * p->margin,
				    TE_REMOTE_ALL, &there, &p->rmr));
	ASSERT_EQ(0, pair_carry_only(p, "rxe_a rxe_c"));
	ASSERT_EQ(0, reopen(p));
}

FIXTURE_TEARDOWN(near)
{
	EXPECT_EQ(0, pair_carry_only(&self->p, NULL));
	pair_close(&self->p);
	CLEAN();
}

/* Percent of what both wires carry that goes over @wire; -errno. */
static int share(struct pair *p, uint32_t op, const char *wire, uint32_t loads,
		 uint32_t nr, size_t len)
{
	unsigned long long ab = wire_carried("ab"), cd = wire_carried("cd");
	struct load l;
	uint32_t i;
	int ret;

	for (i = 0; i < loads; i++) {
		/* Other bytes each time. */
		area_fill(op == TE_READ ? &p->remote : &p->local,
			  te_now_ms() + i);
		ret = load_start(&l, p, op, nr, len);
		ret = ret ?: load_end(&l);
		if (ret < 0)
			return ret;
	}
	ab = wire_carried("ab") - ab;
	cd = wire_carried("cd") - cd;
	printf("# %s %u * %u of %zu: %llu bytes over ab, %llu over cd\n",
	       op == TE_READ ? "READ" : "WRITE", loads, nr, len, ab, cd);
	return (*wire == 'a' ? ab : cd) * 100 / (ab + cd);
}

static int little(struct pair *p, uint32_t op, const char *wire)
{
	return share(p, op, wire, NR_LITTLE, 1, LITTLE);
}

static int much(struct pair *p, uint32_t op, const char *wire)
{
	return share(p, op, wire, 1, NR_MUCH, MUCH);
}

static const struct row {
	const char *near, *far;		/* devices */
	const char *wire, *other;
} rows[] = {
	{ "rxe_b", "rxe_d", "ab", "cd" },
	{ "rxe_d", "rxe_b", "cd", "ab" },
};

/* Told before the segment is open. */
TEST_F_TIMEOUT(near, opened, SLOW)
{
	struct pair *p = &self->p;
	uint32_t op;
	size_t i;

	for (i = 0; i < ROWS(rows); i++) {
		ASSERT_EQ(0, prefer(p, rows[i].near, rows[i].far));
		ASSERT_EQ(0, reopen(p));
		ASSERT_EQ(0, connect_both(p));
		for (op = TE_READ; op <= TE_WRITE; op++) {
			EXPECT_ROW(true, little(p, op, rows[i].wire) >= ALONE,
				   "little for %s, op %u", rows[i].near, op);
			EXPECT_ROW(true, much(p, op, rows[i].other) >= SPILLS,
				   "much for %s, op %u", rows[i].near, op);
		}
	}
}

/* Nobody is nearer: each has its turn. */
TEST_F_TIMEOUT(near, equal, SLOW)
{
	uint32_t op;
	int ab;

	ASSERT_EQ(0, connect_both(&self->p));
	for (op = TE_READ; op <= TE_WRITE; op++) {
		ab = little(&self->p, op, "ab");
		EXPECT_ROW(true, ab >= EQUAL && ab <= 100 - EQUAL, "op %u: %d",
			   op, ab);
	}
}

/* 0 as soon as little work goes over @wire alone. */
static int await_alone(struct pair *p, uint32_t op, const char *wire)
{
	unsigned long long end = te_now_ms() + TE_WAIT_MS;
	int ret;

	do {
		ret = little(p, op, wire);
	} while (ret >= 0 && ret < ALONE && te_now_ms() < end);
	if (ret < 0)
		return ret;
	/* Not by chance: as it is from now on. */
	return ret >= ALONE && little(p, op, wire) >= ALONE ? 0 : -ETIME;
}

/* Told while it is open: another matrix, a NIC that comes, one that goes. */
TEST_F_TIMEOUT(near, news, SLOW)
{
	struct pair *p = &self->p;
	size_t i;

	ASSERT_EQ(0, connect_both(p));
	for (i = 0; i < ROWS(rows); i++) {
		ASSERT_EQ(0, prefer(p, rows[i].near, rows[i].far));
		EXPECT_ROW(0, await_alone(p, TE_WRITE, rows[i].wire), "%s",
			   rows[i].near);
		EXPECT_ROW(0, await_alone(p, TE_READ, rows[i].wire), "%s",
			   rows[i].near);
	}

	ASSERT_EQ(0, prefer(p, "rxe_b", "rxe_d"));
	ASSERT_EQ(0, system(DEL("d") " && " MEND));
	ASSERT_EQ(0, connect_both(p));
	EXPECT_EQ(0, await_alone(p, TE_WRITE, "ab"));
	EXPECT_LE(SPILLS, much(p, TE_WRITE, "cd"));

	/* The near one goes: what is left is as near as can be. */
	ASSERT_EQ(0, system(DEL("b")));
	EXPECT_EQ(0, await_alone(p, TE_WRITE, "cd"));
	ASSERT_EQ(0, system(MEND));
	ASSERT_EQ(0, connect_both(p));
	EXPECT_EQ(0, await_alone(p, TE_WRITE, "ab"));
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0-only
/*
 * One of two wires fails under work: no task fails, no byte is wrong, and when it
 * is whole again it carries its share. The gap between two completions is
 * printed. `--net rails`.
 */
#include <stdlib.h>

#include "lib/test.h"
#include "lib/pair.h"

#define LEN	(200 * KIB)
#define NR	3000
/* The design's word: used again within. */
#define BACK_MS	5000

FIXTURE(failover)
{
	struct pair p;
	uint32_t batch;
};

FIXTURE_SETUP(failover)
{
	struct pair_opts o = { .cq_entries = 8192, .task_slots = 8192 };

	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, pair_open(&self->p, &o));
}

FIXTURE_TEARDOWN(failover)
{
	pair_close(&self->p);
	CLEAN();
}

/* Bytes that a wire has carried, both ways. */
static unsigned long long carried(const char *wire)
{
	unsigned long long sum = 0, n;
	char path[80];
	FILE *f;
	size_t i;

	for (i = 0; i < 2; i++) {
		snprintf(path, sizeof(path),
			 "/sys/class/net/v%c/statistics/tx_bytes", wire[i]);
		f = fopen(path, "r");
		if (!f)
			return 0;
		if (fscanf(f, "%llu", &n) == 1)
			sum += n;
		fclose(f);
	}
	return sum;
}

/* As many tasks of the same bytes, with an entry each. */
static int start(struct pair *p, uint32_t op, uint32_t *batch)
{
	struct te_batch_opts o = {
		.sz = sizeof(o),
		.deadline_ms = TE_WAIT_MS,
		.entries = TE_ENTRIES_TASK,
	};
	static struct te_request r[NR];
	uint32_t i;
	int ret;

	for (i = 0; i < NR; i++)
		r[i] = pair_req(p, op, 8 * KIB, 8 * KIB, LEN);
	pair_expect(p, &r[0]);
	ret = te_batch_alloc(p->ini, NR, &o, batch);
	return ret ?: te_submit(p->ini, *batch, r, NR);
}

/*
 * Take completions until @left is 0 or, with @until, so few are left. Return: the
 * longest time between two, ms, or -errno of a task that did not complete.
 */
static int drain(struct pair *p, uint32_t *left, uint32_t until)
{
	unsigned long long last = te_now_ms(), now, end = last + TE_WAIT_MS;
	struct te_completion c[64];
	int n, i, gap = 0;

	while (*left > until) {
		n = te_poll(p->ini, c, ROWS(c));
		now = te_now_ms();
		if (n < 0)
			return n;
		if (!n) {
			if (now > end)
				return -ETIME;
			te_sleep_ms(1);
			continue;
		}
		for (i = 0; i < n; i++) {
			if (c[i].state == TE_COMPLETED && c[i].bytes == LEN)
				continue;
			printf("# state %u error %d\n", c[i].state, c[i].error);
			return c[i].error ?: -EBADMSG;
		}
		if (now - last > (unsigned int)gap)
			gap = now - last;
		last = now;
		*left -= n;
	}
	return gap;
}

/* Work until the wire is seen to carry some of it. Return: ms, or -ETIME. */
static int await_wire(struct pair *p, const char *wire)
{
	unsigned long long from = te_now_ms(), was = carried(wire);
	int ret;

	while (carried(wire) - was < 16 * LEN) {
		if (te_now_ms() - from > TE_WAIT_MS)
			return -ETIME;
		ret = pair_xfer(p, TE_WRITE, 8 * KIB, 8 * KIB, LEN);
		if (ret)
			return ret;
	}
	return te_now_ms() - from;
}

#define MEND "selftests/vm/net/rails.sh mend"
#define DEL(dev) "rdma link delete rxe_" dev
/* A CM message that cannot be sent leaves rxe's GSI QP in error, for ever. */
#define ANEW DEL("c") " && " DEL("d") " && " MEND
#define NETEM(dev) "tc qdisc change dev v" dev " root netem limit 100000 "

static const struct row {
	const char *desc, *away, *back;
} rows[] = {
	{ "link", "ip link set vd down",
	  "ip link set vd up && selftests/vm/net/rails.sh settled && " ANEW },
	{ "NIC, here", DEL("c"), MEND },
	{ "NIC, there", DEL("d"), MEND },
	{ "both NICs of a wire", DEL("c") " && " DEL("d"), MEND },
	{ "address", "ip addr del 10.78.0.2/32 dev vd", ANEW },
	{ "all that is sent is lost",
	  NETEM("c") "loss 100% && " NETEM("d") "loss 100%",
	  NETEM("c") "loss 0 && " NETEM("d") "loss 0" },
};

static void fail_one(struct __test_metadata *_metadata,
		     FIXTURE_DATA(failover) *self, uint32_t op)
{
	size_t i;

	for (i = 0; i < ROWS(rows); i++) {
		uint32_t left = NR;
		int gap, back;

		ASSERT_LE(0, await_wire(&self->p, "cd"));
		ASSERT_EQ(0, start(&self->p, op, &self->batch));
		EXPECT_LE(0, drain(&self->p, &left, NR - NR / 8));
		ASSERT_EQ(0, system(rows[i].away));
		gap = drain(&self->p, &left, 0);
		EXPECT_ROW(true, gap >= 0, "%s: %d", rows[i].desc, gap);
		ASSERT_EQ(0, te_wait(self->p.ini, self->batch, TE_WAIT_MS));
		EXPECT_ROW(0, pair_check(&self->p), "%s", rows[i].desc);
		EXPECT_EQ(0, te_batch_free(self->p.ini, self->batch));

		ASSERT_EQ(0, system(rows[i].back));
		back = await_wire(&self->p, "cd");
		EXPECT_ROW(true, back >= 0, "%s is back: %d", rows[i].desc,
			   back);
		printf("# %s: gap %d ms, used again after %d ms (%d)\n",
		       rows[i].desc, gap, back, BACK_MS);
		EXPECT_ROW(0, pair_check(&self->p), "%s is back", rows[i].desc);
	}
}

TEST_F_TIMEOUT(failover, write, SLOW)
{
	fail_one(_metadata, self, TE_WRITE);
}

TEST_F_TIMEOUT(failover, read, SLOW)
{
	fail_one(_metadata, self, TE_READ);
}

/* Equal wires carry equal shares. */
TEST_F_TIMEOUT(failover, shares, SLOW)
{
	unsigned long long ab, cd;
	uint32_t left = NR;

	ASSERT_LE(0, await_wire(&self->p, "ab"));
	ASSERT_LE(0, await_wire(&self->p, "cd"));
	ab = carried("ab");
	cd = carried("cd");
	ASSERT_EQ(0, start(&self->p, TE_WRITE, &self->batch));
	EXPECT_LE(0, drain(&self->p, &left, 0));
	ab = carried("ab") - ab;
	cd = carried("cd") - cd;
	printf("# bytes: %llu and %llu\n", ab, cd);
	EXPECT_LE(ab * 8, cd * 10);
	EXPECT_LE(cd * 8, ab * 10);
	ASSERT_EQ(0, te_wait(self->p.ini, self->batch, TE_WAIT_MS));
	EXPECT_EQ(0, te_batch_free(self->p.ini, self->batch));
	EXPECT_EQ(0, pair_check(&self->p));
}

TEST_HARNESS_MAIN

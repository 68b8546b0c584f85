// SPDX-License-Identifier: GPL-2.0-only
/*
 * What wires do to packets: lose, delay, repeat and damage them, all of them for
 * a while, or those above a size. Bytes are right or the task has
 * failed, by its deadline; what comes late touches nothing. netem on both ends
 * of the veth pair of `--net wire`; control connections run over lo.
 *
 * READ responses that come twice or out of order can make rxe warn by itself
 * (rxe_comp.c, COMPST_ERROR): not here.
 */
#include <stdlib.h>

#include "lib/test.h"
#include "lib/module.h"
#include "lib/nic.h"
#include "lib/pair.h"

#define LEN	(200 * KIB)
/*
 * Longer than a NIC takes to say that a connection is dead, so that there is time for
 * another one: 30 s on kernels that watch, with their qp_timeout. When packets are lost
 * soft-RoCE's answering end may take to error for no reason that te could know.
 */
#define DEADLINE_MS	50000

static int netem(const char *how)
{
	static const char *const ends[] = { "va", "vb" };
	char cmd[200];
	size_t i;
	int ret = 0;

	for (i = 0; i < ROWS(ends) && !ret; i++) {
		if (how)
			snprintf(cmd, sizeof(cmd),
				 "tc qdisc replace dev %s root netem limit 10000 %s",
				 ends[i], how);
		else
			snprintf(cmd, sizeof(cmd),
				 "tc qdisc del dev %s root 2>&-", ends[i]);
		ret = system(cmd);
	}
	return how ? ret : 0;
}

FIXTURE(wire)
{
	struct pair p;
};

FIXTURE_SETUP(wire)
{
	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, pair_open(&self->p, NULL));
	/* The connection is there before anything happens to it. */
	ASSERT_EQ(0, pair_xfer(&self->p, TE_WRITE, 8 * KIB, 8 * KIB, 4096));
}

FIXTURE_TEARDOWN(wire)
{
	netem(NULL);
	EXPECT_EQ(0, module_set("retry_cnt", "9"));
	EXPECT_EQ(0, pair_carry_only(&self->p, NULL));
	pair_close(&self->p);
	CLEAN();
}

/* Submits @n times the same request and waits: the state of the batch. */
static int attempt(struct pair *p, uint32_t op, uint32_t n, uint32_t deadline,
		   struct te_status *st)
{
	struct te_batch_opts o = { .sz = sizeof(o), .deadline_ms = deadline };
	struct te_request r[16];
	uint32_t batch, i;
	int ret;

	for (i = 0; i < n; i++)
		r[i] = pair_req(p, op, 8 * KIB, 8 * KIB, LEN);
	ret = te_batch_alloc(p->ini, n, &o, &batch);
	ret = ret ?: te_submit(p->ini, batch, r, n);
	ret = ret ?: te_wait(p->ini, batch, TE_WAIT_MS);
	ret = ret ?: te_batch_status(p->ini, batch, st);
	return te_batch_free(p->ini, batch) ?: ret;
}

/* Until one has worked, or not within the time that tests have. */
static int await_success(struct pair *p)
{
	unsigned long long end = te_now_ms() + TE_WAIT_MS;
	struct te_status st;
	int ret;

	do {
		ret = attempt(p, TE_WRITE, 1, 10000, &st);
	} while (!ret && st.state != TE_COMPLETED && te_now_ms() < end);
	return ret ?: st.state == TE_COMPLETED ? 0 : st.error;
}

/*
 * A NIC gives up after some retries, and in the end te does, too: what
 * has failed is submitted once more, what has completed must be right.
 */
TEST_F_TIMEOUT(wire, right_bytes, SLOW)
{
	static const struct {
		const char *how;
		uint32_t first;	/* operation */
	} rows[] = {
		{ "loss 1%", TE_READ },
		{ "loss 10%", TE_READ },
		{ "corrupt 2%", TE_READ },
		{ "duplicate 20%", TE_WRITE },
		{ "delay 100ms", TE_WRITE },	/* longer than a NIC waits */
	};
	struct te_status st;
	struct te_request r;
	size_t i, op, tries;

	for (i = 0; i < ROWS(rows); i++) {
		MUST(netem(rows[i].how));
		for (op = rows[i].first; op <= TE_WRITE; op++) {
			area_fill(&self->p.local, 10 + i);
			area_fill(&self->p.remote, 20 + i);
			r = pair_req(&self->p, op, 8 * KIB, 8 * KIB, LEN);
			pair_expect(&self->p, &r);
			for (tries = 0; tries < 5; tries++) {
				ASSERT_EQ(0, attempt(&self->p, op, 1,
						     DEADLINE_MS, &st));
				if (st.state == TE_COMPLETED)
					break;
				ASSERT_EQ(TE_FAILED, st.state);
				ASSERT_EQ(-ETIMEDOUT, st.error);
			}
			EXPECT_ROW(TE_COMPLETED, st.state, "%s, %s", rows[i].how,
				   op ? "write" : "read");
			EXPECT_ROW(0, pair_check(&self->p), "%s, %s", rows[i].how,
				   op ? "write" : "read");
		}
	}
}

/* Nothing gets through: an end by the deadline, also of what comes after. */
TEST_F_TIMEOUT(wire, black_hole, SLOW)
{
	unsigned long long from;
	struct te_status st;
	int i;

	ASSERT_EQ(0, netem("loss 100%"));
	/* Over the old connection, then over one that cannot come about. */
	for (i = 0; i < 3; i++) {
		from = te_now_ms();
		ASSERT_EQ(0, attempt(&self->p, i & 1, 3, 1500, &st));
		EXPECT_ROW(true, st.state == TE_FAILED ||
			   st.state == TE_TIMEOUT, "%d: state %u", i, st.state);
		EXPECT_ROW(true, st.error < 0, "%d", i);
		EXPECT_ROW(true, te_now_ms() - from < 20000, "%d", i);
	}
	ASSERT_EQ(0, netem(NULL));
	area_fill(&self->p.local, 30);
	area_fill(&self->p.remote, 31);
	EXPECT_EQ(0, await_success(&self->p));
	memcpy(self->p.remote.want + 8 * KIB, self->p.local.want + 8 * KIB,
	       LEN);
	EXPECT_EQ(0, pair_check(&self->p));
}

/*
 * Nothing comes back: the NIC tries 7 times, 67 ms each (qp_timeout), then the
 * connection is dead, and so is what may not be tried again.
 */
TEST_F_TIMEOUT(wire, silence_shows_soon, SLOW)
{
	unsigned long long took;
	struct te_status st;

	ASSERT_EQ(0, pair_carry_only(&self->p, getenv("TE_DEV_A")));
	ASSERT_EQ(0, await_success(&self->p));
	ASSERT_EQ(0, module_set("retry_cnt", "0"));
	ASSERT_EQ(0, netem("loss 100%"));
	took = te_now_ms();
	ASSERT_EQ(0, attempt(&self->p, TE_WRITE, 1, 2 * TE_WAIT_MS, &st));
	took = te_now_ms() - took;
	TH_LOG("failed after %llu ms", took);
	EXPECT_EQ(TE_FAILED, st.state);
	EXPECT_EQ(-ETIMEDOUT, st.error);
	/* What runs over TCP has its patience. */
	if (native() && !nic_is_siw()) {
		EXPECT_LT(300, took);
		EXPECT_GT(1500, took);
	}
	ASSERT_EQ(0, module_set("retry_cnt", "9"));
	ASSERT_EQ(0, netem(NULL));
	EXPECT_EQ(0, await_success(&self->p));
}

/*
 * Large packets alone get lost, till then: a failure, or right bytes. Then both sides
 * use what the narrower one can take, the wider one too when it is all there is.
 */
TEST_F_TIMEOUT(wire, narrower, SLOW)
{
	struct te_status st;
	size_t op;

	ASSERT_EQ(0, system("ip link set vb mtu 1500"));
	for (op = TE_READ; op <= TE_WRITE; op++) {
		ASSERT_EQ(0, attempt(&self->p, op, 1, 2000, &st));
		EXPECT_ROW(true, st.state == TE_COMPLETED ||
			   st.state == TE_FAILED || st.state == TE_TIMEOUT,
			   "state %u", st.state);
		TH_LOG("%s: state %u error %d", op ? "write" : "read",
		       st.state, st.error);
	}
	ASSERT_EQ(0, pair_carry_only(&self->p, getenv("TE_DEV_A")));
	EXPECT_EQ(0, await_success(&self->p));
	area_fill(&self->p.local, 50);
	area_fill(&self->p.remote, 51);
	EXPECT_EQ(0, pair_xfer(&self->p, TE_READ, 8 * KIB, 8 * KIB, LEN));
	EXPECT_EQ(0, pair_xfer(&self->p, TE_WRITE, 8 * KIB, 8 * KIB, LEN));
	ASSERT_EQ(0, system("ip link set vb mtu 9000 && "
			    "selftests/vm/net/wire.sh routes"));
	EXPECT_EQ(0, await_success(&self->p));
}

/*
 * Packets are still under way when the task has ended: the local buffer has
 * other contents by then, which no late answer overwrites and no target gets;
 * but siw leaves pages of the buffer itself with TCP, to be sent later.
 */
TEST_F_TIMEOUT(wire, late, SLOW)
{
	struct te_status st;
	uint32_t op;

	for (op = TE_READ; op <= TE_WRITE; op++) {
		EXPECT_EQ(0, await_success(&self->p));
		area_fill(&self->p.local, 40);
		area_fill(&self->p.remote, 41);
		ASSERT_EQ(0, netem("delay 800ms"));
		ASSERT_EQ(0, attempt(&self->p, op, 1, 300, &st));
		EXPECT_TRUE(st.state == TE_TIMEOUT || st.state == TE_FAILED) {
			TH_LOG("state %u", st.state);
		}
		area_fill(&self->p.local, 42);
		/* There and back, and a tick more. */
		te_sleep_ms(2000);
		EXPECT_EQ(0, area_check(&self->p.local, "local memory"));
		if (op == TE_WRITE)
			pattern_fill(self->p.local.want, 256 * KIB, 40);
		for (size_t i = 0; i < self->p.remote.len; i++) {
			uint8_t byte = self->p.remote.p[i];

			ASSERT_TRUE(byte == self->p.remote.want[i] ||
				    (op == TE_WRITE &&
				     (byte == self->p.local.want[i] ||
				      (nic_is_siw() &&
				       byte == self->p.local.p[i])))) {
				TH_LOG("byte %zu", i);
			}
		}
		ASSERT_EQ(0, netem(NULL));
	}
}

TEST_HARNESS_MAIN

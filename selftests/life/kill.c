// SPDX-License-Identifier: GPL-2.0-only
/*
 * SIGKILL of an initiator with 256 MiB in flight, a hundred times (40 on kernels
 * that watch, where each takes seconds): afterwards no page, batch, session, QP
 * or MR of it is left, its target holds old or new bytes and none else, nothing
 * arrives late, and the next transfer is right.
 *
 * A round counts only if tasks were in flight when the signal was sent.
 */
#include <signal.h>
#include <stdlib.h>

#include "lib/test.h"
#include "lib/proc.h"

#define LEN	(64 * MIB)
/* All of it so often: TCP within the node moves 10 GB/s. */
#define TIMES	4
#define OLD	2
#define NEW	50

FIXTURE(killed)
{
	struct pair p;
	struct te_rdma idle;
	struct te_ioc_stats base;
};

FIXTURE_SETUP(killed)
{
	struct pair_opts o = { .remote = LEN, .margin = ~0UL };

	/* te keeps something for each device, from its first use on. */
	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, pair_open(&self->p, NULL));
	ASSERT_EQ(0, pair_xfer(&self->p, TE_WRITE, 8 * KIB, 8 * KIB, 4096));
	pair_close(&self->p);
	ASSERT_EQ(0, te_settle_all());
	ASSERT_EQ(0, te_rdma(&self->idle));

	ASSERT_EQ(0, pair_open(&self->p, &o));
	ASSERT_EQ(0, te_stats(&self->base));
}

FIXTURE_TEARDOWN(killed)
{
	pair_close(&self->p);
	CLEAN();
	EXPECT_EQ(0, te_settle_all());
	EXPECT_EQ(0, te_rdma_settle(&self->idle));
}

struct victim {
	const struct pair *p;
	uint32_t op;
	bool one;	/* one request of 64 MiB, else 64 of them; some times */
	bool wait;	/* dies inside te_wait() */
};

static int be_victim(void *arg, int in, int out)
{
	const struct victim *v = arg;
	struct te_request r[64];
	uint32_t mr, seg, batch, i, n = v->one ? 1 : 64;
	int times = TIMES, ret = 0;
	struct area a;
	struct te *te;
	char c;

	(void)in;
	if (area_alloc(&a, LEN) || te_open(&te, NULL))
		return 1;
	/* Filling all of it would take longer than everything else. */
	for (i = 0; i < 64; i++)
		pattern_fill(a.p + i * MIB, 4096, NEW);
	if (te_mr_register(te, a.p, LEN, TE_LOCAL_ALL, NULL, &mr) ||
	    te_open_segment(te, v->p->name, &seg) ||
	    te_batch_alloc(te, n * TIMES, NULL, &batch))
		return 2;
	for (i = 0; i < n; i++)
		r[i] = (struct te_request) {
			.opcode = v->op,
			.segment = seg,
			.local_addr = (uintptr_t)a.p + i * MIB,
			.remote_addr = (uintptr_t)v->p->remote.p + i * MIB,
			.length = v->one ? LEN : MIB,
		};
	while (!ret && times--)
		ret = te_submit(te, batch, r, n);
	if (ret || proc_put(out, "g", 1))
		return 3;
	if (v->wait)
		te_wait(te, batch, -1);
	read(in, &c, 1);
	return 4;
}

/* Each MiB of the target: what was there, what the victim had, in that order. */
static int check_target(struct pair *p)
{
	static unsigned char new[MIB], *old;
	size_t i, k;

	pattern_fill(new, 4096, NEW);
	for (i = 0; i < LEN; i += 64) {
		old = p->remote.want + i;
		k = i % MIB;
		if (!memcmp(p->remote.p + i, old, 64) ||
		    !memcmp(p->remote.p + i, new + k, 64))
			continue;
		for (k = 0; k < 64; k++)
			if (p->remote.p[i + k] != old[k] &&
			    p->remote.p[i + k] != new[(i + k) % MIB])
				return -EBADMSG;
	}
	memcpy(p->remote.p, p->remote.want, LEN);
	return 0;
}

TEST_F_TIMEOUT(killed, initiator, 2 * SLOW)
{
	unsigned int rounds = watched() ? 40 : 100;
	unsigned int round, in_flight = 0, seed = 1;
	struct te_ioc_stats s;
	struct proc child;
	char c;

	for (round = 0; in_flight < rounds && round < 5 * rounds; round++) {
		struct victim v = {
			.p = &self->p,
			.op = round & 1 ? TE_WRITE : TE_READ,
			.one = round & 2,
			.wait = round & 4,
		};

		ASSERT_EQ(0, proc_start(&child, be_victim, &v));
		ASSERT_EQ(0, proc_get(child.from, &c, 1));
		if (round % 3)
			usleep(rand_r(&seed) % 3000);
		ASSERT_EQ(0, te_stats(&s));
		ASSERT_EQ(0, kill(child.pid, SIGKILL));
		in_flight += s.tasks > 0;
		ASSERT_EQ(128 + SIGKILL, proc_wait(&child));
		ASSERT_EQ(0, te_settle_to(&self->base)) {
			TH_LOG("after round %u", round);
		}
		if (round % 10 > 1)
			continue;
		ASSERT_EQ(0, check_target(&self->p));
		ASSERT_EQ(0, pair_xfer(&self->p, round & 1, 9 * KIB,
				       round * 4096, 50000));
	}
	EXPECT_EQ(rounds, in_flight);
	EXPECT_EQ(0, check_target(&self->p));
	te_sleep_ms(300);
	EXPECT_EQ(0, pair_check(&self->p));
}

TEST_HARNESS_MAIN

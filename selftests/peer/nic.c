// SPDX-License-Identifier: GPL-2.0-only
/*
 * A NIC loses its link, its address, or goes away altogether, with more work in
 * flight than can be done: every task ends, no byte is wrong, descriptors and
 * regions stay; when the NIC is back the next segment works. `--net wire`.
 */
#include <stdlib.h>

#include "lib/test.h"
#include "lib/pair.h"

#define LEN	(200 * KIB)
#define NR	4000

FIXTURE(nic)
{
	struct pair p;
};

FIXTURE_SETUP(nic)
{
	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, pair_open(&self->p, NULL));
}

FIXTURE_TEARDOWN(nic)
{
	pair_close(&self->p);
	CLEAN();
}

static int start(struct pair *p, uint32_t *batch)
{
	static struct te_request r[NR];
	unsigned long long end = te_now_ms() + TE_WAIT_MS;
	struct te_status st;
	uint32_t i;
	int ret;

	for (i = 0; i < NR; i++)
		r[i] = pair_req(p, TE_WRITE, 8 * KIB, 8 * KIB, LEN);
	pair_expect(p, &r[0]);
	ret = te_batch_alloc(p->ini, NR, NULL, batch);
	ret = ret ?: te_submit(p->ini, *batch, r, NR);
	do {
		ret = ret ?: te_status(p->ini, *batch, 0, &st);
		te_sleep_ms(1);
	} while (!ret && !st.bytes && te_now_ms() < end);
	return ret ?: st.bytes ? 0 : -ETIME;
}

/* Completed, failed for a reason of the NIC's, or cancelled: nothing else. */
static int check_ends(struct te *te, uint32_t batch)
{
	static const int reasons[] = {
		-EREMOTEIO, -ECONNRESET, -ETIMEDOUT, -ENODEV, -ENXIO, -EIO,
		-EHOSTUNREACH, -ENETUNREACH, -ECONNREFUSED, -ECANCELED,
	};
	struct te_status st;
	uint32_t i;
	size_t k;

	for (i = 0; i < NR; i++) {
		if (te_status(te, batch, i, &st))
			return -1;
		if (st.state == TE_COMPLETED && st.bytes == LEN)
			continue;
		for (k = 0; k < ROWS(reasons) && st.error != reasons[k]; k++)
			;
		if (k < ROWS(reasons) && (st.state == TE_FAILED ||
					  st.state == TE_CANCELED))
			continue;
		printf("# task %u: state %u error %d\n", i, st.state, st.error);
		return -EBADMSG;
	}
	return 0;
}

/* A segment opened now, and bytes over it; -EAGAIN: not yet. */
static int works(struct pair *p)
{
	struct te_request r = pair_req(p, TE_READ, 8 * KIB, 8 * KIB, LEN);
	struct te_batch_opts o = { .sz = sizeof(o), .deadline_ms = 10000 };
	struct te_status st = { .state = TE_FAILED };
	uint32_t batch;

	if (te_open_segment(p->ini, p->name, &r.segment))
		return -EAGAIN;
	if (te_batch_alloc(p->ini, 1, &o, &batch))
		return -ENOMEM;
	if (!te_submit(p->ini, batch, &r, 1) &&
	    !te_wait(p->ini, batch, TE_WAIT_MS))
		te_batch_status(p->ini, batch, &st);
	te_batch_free(p->ini, batch);
	te_segment_close(p->ini, r.segment);
	if (st.state != TE_COMPLETED)
		return -EAGAIN;
	pair_expect(p, &r);
	return pair_check(p);
}

static int await_work(struct pair *p)
{
	unsigned long long end = te_now_ms() + TE_WAIT_MS;
	int ret;

	while ((ret = works(p)) == -EAGAIN && te_now_ms() < end)
		te_sleep_ms(50);
	return ret;
}

#define ROUTES "selftests/vm/net/wire.sh routes"
#define DELETE "rdma link delete $TE_DEV_A && rdma link delete $TE_DEV_B"
#define ADD_A "rdma link add $TE_DEV_A type $TE_DEV_TYPE netdev va"
#define ADD_B "rdma link add $TE_DEV_B type $TE_DEV_TYPE netdev vb"
#define ADD ADD_A " && " ADD_B
/*
 * A message of the CM that cannot be sent, for want of a link or an address,
 * leaves rxe's GSI QP in error.
 */
#define ANEW ROUTES " && selftests/vm/net/wire.sh settle && " DELETE " && " ADD

static const struct row {
	const char *desc, *away, *back;
} rows[] = {
	{ "link of a", "ip link set va down", "ip link set va up && " ANEW },
	{ "link of b", "ip link set vb down", "ip link set vb up && " ANEW },
	{ "address of a", "ip addr del $TE_ADDR_A/32 dev va", ROUTES },
	{ "address of b", "ip addr del $TE_ADDR_B/32 dev vb", ROUTES },
	{ "NIC a", "rdma link delete $TE_DEV_A", ADD_A },
	{ "NIC b", "rdma link delete $TE_DEV_B", ADD_B },
	{ "NIC b, and then an address", "rdma link delete $TE_DEV_B && "
	  "ip addr flush dev vb", ADD_B " && " ROUTES },
	{ "both NICs", DELETE, ADD },
};

TEST_F_TIMEOUT(nic, goes_and_comes_back, SLOW)
{
	uint32_t batch;
	size_t i;

	for (i = 0; i < ROWS(rows); i++) {
		EXPECT_ROW(0, await_work(&self->p), "before %s", rows[i].desc);
		ASSERT_EQ(0, te_segment_close(self->p.ini, self->p.seg));
		ASSERT_EQ(0, te_open_segment(self->p.ini, self->p.name,
					     &self->p.seg));
		ASSERT_EQ(0, start(&self->p, &batch));
		ASSERT_EQ(0, system(rows[i].away));
		te_sleep_ms(100);
		EXPECT_EQ(0, te_cancel(self->p.ini, batch));
		EXPECT_ROW(0, te_wait(self->p.ini, batch, TE_WAIT_MS), "%s",
			   rows[i].desc);
		EXPECT_ROW(0, check_ends(self->p.ini, batch), "%s",
			   rows[i].desc);
		EXPECT_EQ(0, te_batch_free(self->p.ini, batch));
		ASSERT_EQ(0, system(rows[i].back));
		EXPECT_ROW(0, await_work(&self->p), "after %s", rows[i].desc);
	}
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0-only
/*
 * A segment that may go any way: RDMA carries it while a NIC can, TCP when none
 * is left or gets anything through, and RDMA again when one does; no task fails
 * for it, no byte is wrong. te is kept from knowing that the peer is itself: it
 * would just copy.
 */
#include <stdlib.h>

#include "lib/fault.h"
#include "lib/lanes.h"
#include "lib/module.h"
#include "lib/nic.h"
#include "lib/test.h"
#include "lib/wires.h"

#define LEN	(200 * KIB)
#define NR	500
/* Slices of one: two of 64 KiB, and what is left. */
#define SLICES	3

FIXTURE(fallback)
{
	struct pair p;
	uint32_t batch;
};

FIXTURE_SETUP(fallback)
{
	struct pair_opts o = { .cq_entries = 1024, .task_slots = 1024 };

	ASSERT_EQ(0, te_settle());
	/* Before anything is under way: see wires.h. */
	ASSERT_EQ(0, system("tc qdisc add dev va root netem limit 100000 && "
			    "tc qdisc add dev vb root netem limit 100000"));
	te_fault_arm("own", 0, EPERM);
	ASSERT_EQ(0, setenv("TE_TRANSPORT", "any", 1));
	ASSERT_EQ(0, pair_open(&self->p, &o));
}

FIXTURE_TEARDOWN(fallback)
{
	pair_close(&self->p);
	te_fault_fired("own");
	CLEAN();
	EXPECT_EQ(0, te_settle_all());
	EXPECT_EQ(0, system("tc qdisc del dev va root && "
			    "tc qdisc del dev vb root"));
}

/* Bytes that both ends of the wire have sent: RDMA's only. */
static unsigned long long wire_bytes(void)
{
	static const char * const files[] = {
		"/sys/class/net/va/statistics/tx_bytes",
		"/sys/class/net/vb/statistics/tx_bytes",
	};
	unsigned long long sum = 0, n;
	size_t i;
	FILE *f;

	for (i = 0; i < ROWS(files); i++) {
		f = fopen(files[i], "re");
		if (!f)
			return 0;
		if (fscanf(f, "%llu", &n) == 1)
			sum += n;
		fclose(f);
	}
	return sum;
}

/* Both ends; netem is there already, see wires.h. */
static int wire_loses(const char *percent)
{
	char cmd[200];

	snprintf(cmd, sizeof(cmd), NETEM("a") "loss %s && " NETEM("b") "loss %s",
		 percent, percent);
	return system(cmd);
}

/* What te says carries it. */
static int carrier(struct pair *p)
{
	struct te_route r;
	int ret = te_segment_route(p->ini, p->seg, &r);

	return ret ?: (int)r.transport;
}

/* Why: nobody forced it, both nodes have RDMA, it is able to carry or not. */
static bool is_why(struct pair *p, bool able)
{
	struct te_route r;

	return !te_segment_route(p->ini, p->seg, &r) && r.forced == TE_ANY &&
	       (r.known & 1 << TE_TCP) && (r.able & 1 << TE_TCP) &&
	       !(r.able & 1 << TE_RDMA) == !able;
}

/* Slices that went by TCP since the last call, by the reason. */
static struct fallbacks {
	unsigned long long no_rdma, rdma_down;
} fallbacks_new(void)
{
	static struct te_ioc_stats was;
	struct fallbacks new;
	struct te_ioc_stats s;

	if (te_stats(&s))
		return (struct fallbacks) { ~0ULL, ~0ULL };
	new.no_rdma = s.slices_no_rdma - was.slices_no_rdma;
	new.rdma_down = s.slices_rdma_down - was.slices_rdma_down;
	was = s;
	return new;
}

static int await_carrier(struct pair *p, int transport)
{
	unsigned long long end = te_now_ms() + TE_WAIT_MS;

	while (carrier(p) != transport) {
		if (te_now_ms() > end)
			return -ETIME;
		te_sleep_ms(10);
	}
	return 0;
}

static int start(struct pair *p, uint32_t op, uint32_t *batch)
{
	struct te_batch_opts o = {
		.sz = sizeof(o),
		.deadline_ms = 2 * TE_WAIT_MS,
	};
	static struct te_request r[NR];
	uint32_t i;
	int ret;

	area_fill(&p->local, te_now_ms());
	for (i = 0; i < NR; i++)
		r[i] = pair_req(p, op, 8 * KIB, 8 * KIB, LEN);
	pair_expect(p, &r[0]);
	ret = te_batch_alloc(p->ini, NR, &o, batch);
	return ret ?: te_submit(p->ini, *batch, r, NR);
}

/* Until some are done, or all. */
static int await_done(struct pair *p, uint32_t batch, uint32_t nr)
{
	unsigned long long end = te_now_ms() + TE_WAIT_MS;
	struct te_status st;
	uint32_t i, done;

	do {
		for (i = 0, done = 0; i < NR; i++) {
			if (te_status(p->ini, batch, i, &st))
				return -EINVAL;
			if (st.state == TE_COMPLETED && st.bytes == LEN)
				done++;
			else if (st.state > TE_PENDING)
				return st.error ?: -EBADE;
		}
		if (done >= nr)
			return 0;
		te_sleep_ms(1);
	} while (te_now_ms() < end);
	return -ETIME;
}

static int finish(struct pair *p, uint32_t batch)
{
	int ret = await_done(p, batch, NR);

	ret = ret ?: te_batch_free(p->ini, batch);
	return ret ?: pair_check(p);
}

/* Small work until RDMA has carried its bytes: 0, or why not. */
static int await_rdma(struct pair *p)
{
	unsigned long long end = te_now_ms() + TE_WAIT_MS, was;
	int ret;

	do {
		was = wire_bytes();
		ret = pair_xfer(p, TE_WRITE, 8 * KIB, 8 * KIB, LEN);
		if (ret || wire_bytes() - was >= LEN)
			return ret;
		te_sleep_ms(10);
	} while (te_now_ms() < end);
	return -ETIME;
}

/*
 * Connections of TCP have no work any more, whatever else goes on over there: they
 * go long before tcp_idle as it is by default.
 */
static int await_no_lanes(struct pair *p)
{
	unsigned long long end = te_now_ms() + TE_WAIT_MS / 2;
	uint32_t other;
	int ret;

	do {
		ret = pair_xfer(p, TE_WRITE, 8 * KIB, 8 * KIB, LEN);
		ret = ret ?: te_open_segment(p->ini, p->name, &other);
		ret = ret ?: te_segment_close(p->ini, other);
		/* The session's connection is left. */
		if (ret || lanes_only() > 0)
			return ret;
	} while (te_now_ms() < end);
	return -ETIME;
}

static void goes_and_comes(struct __test_metadata *_metadata,
			   FIXTURE_DATA(fallback) *self, uint32_t op)
{
	struct pair *p = &self->p;
	unsigned long long was;
	struct fallbacks f;

	ASSERT_EQ(0, await_rdma(p));
	EXPECT_EQ(TE_RDMA, carrier(p));
	EXPECT_TRUE(is_why(p, true));
	ASSERT_EQ(0, start(p, op, &self->batch));
	ASSERT_EQ(0, await_done(p, self->batch, NR / 10));
	ASSERT_EQ(0, nic_delete(0) ?: nic_delete(1));
	EXPECT_EQ(0, finish(p, self->batch));

	/* A whole batch with no NIC at all, begun and ended so. */
	was = wire_bytes();
	fallbacks_new();
	ASSERT_EQ(0, start(p, op, &self->batch));
	EXPECT_EQ(0, finish(p, self->batch));
	EXPECT_GT(LEN, wire_bytes() - was);
	EXPECT_EQ(TE_TCP, carrier(p));
	EXPECT_TRUE(is_why(p, false));
	f = fallbacks_new();
	EXPECT_EQ(SLICES * NR, f.no_rdma);
	EXPECT_EQ(0, f.rdma_down);

	ASSERT_EQ(0, nic_add(0) ?: nic_add(1));
	EXPECT_EQ(0, await_rdma(p));
	EXPECT_EQ(TE_RDMA, carrier(p));
	was = wire_bytes();
	fallbacks_new();
	ASSERT_EQ(0, start(p, op, &self->batch));
	EXPECT_EQ(0, finish(p, self->batch));
	EXPECT_EQ(0, fallbacks_new().no_rdma);
	/* A NIC that talks to itself sends nothing by wire, so half is a lot. */
	EXPECT_LT(1ULL * NR * LEN / 4, wire_bytes() - was);

	ASSERT_EQ(0, module_set("tcp_idle", "1"));
	EXPECT_EQ(0, await_no_lanes(p));
	EXPECT_EQ(0, module_set("tcp_idle", "60"));
	EXPECT_EQ(TE_RDMA, carrier(p));
}

TEST_F_TIMEOUT(fallback, write, SLOW)
{
	goes_and_comes(_metadata, self, TE_WRITE);
}

TEST_F_TIMEOUT(fallback, read, SLOW)
{
	goes_and_comes(_metadata, self, TE_READ);
}

/* The NICs stay, and say nothing of it: no packet gets through. */
static void goes_silent(struct __test_metadata *_metadata,
			FIXTURE_DATA(fallback) *self, uint32_t op)
{
	struct pair *p = &self->p;
	unsigned long long was;
	struct fallbacks f;

	ASSERT_EQ(0, await_rdma(p));
	ASSERT_EQ(0, start(p, op, &self->batch));
	ASSERT_EQ(0, await_done(p, self->batch, NR / 10));
	ASSERT_EQ(0, wire_loses("100%"));
	EXPECT_EQ(0, finish(p, self->batch));
	EXPECT_EQ(0, await_carrier(p, TE_TCP));

	was = wire_bytes();
	fallbacks_new();
	ASSERT_EQ(0, start(p, op, &self->batch));
	EXPECT_EQ(0, finish(p, self->batch));
	EXPECT_GT(LEN, wire_bytes() - was);
	EXPECT_EQ(0, await_carrier(p, TE_TCP));
	f = fallbacks_new();
	EXPECT_EQ(SLICES * NR, f.rdma_down);
	EXPECT_EQ(0, f.no_rdma);

	ASSERT_EQ(0, wire_loses("0%"));
	EXPECT_EQ(0, await_rdma(p));
	EXPECT_EQ(0, await_carrier(p, TE_RDMA));
	EXPECT_EQ(0, pair_check(p));
}

TEST_F_TIMEOUT(fallback, silent_write, SLOW)
{
	goes_silent(_metadata, self, TE_WRITE);
}

TEST_F_TIMEOUT(fallback, silent_read, SLOW)
{
	goes_silent(_metadata, self, TE_READ);
}

/* One that must be RDMA does not go over TCP: it waits, or is told at once. */
TEST_F_TIMEOUT(fallback, forced, SLOW)
{
	struct pair *p = &self->p;
	uint32_t seg, batch, own = p->seg;
	struct te_request r;

	ASSERT_EQ(0, setenv("TE_TRANSPORT", "rdma", 1));
	ASSERT_EQ(0, te_open_segment(p->ini, p->name, &seg));
	r = pair_req(p, TE_WRITE, 8 * KIB, 8 * KIB, LEN);
	r.segment = seg;
	ASSERT_EQ(0, nic_delete(0) ?: nic_delete(1));
	ASSERT_EQ(0, te_batch_alloc(p->ini, 1, NULL, &batch));
	EXPECT_EQ(-ENXIO, te_submit(p->ini, batch, &r, 1));
	self->p.seg = seg;
	EXPECT_EQ(TE_ANY, carrier(p));
	self->p.seg = own;
	EXPECT_EQ(0, pair_xfer(p, TE_WRITE, 8 * KIB, 8 * KIB, LEN));
	ASSERT_EQ(0, nic_add(0) ?: nic_add(1));
	EXPECT_EQ(0, te_batch_free(p->ini, batch));
	EXPECT_EQ(0, te_segment_close(p->ini, seg));
	EXPECT_EQ(0, pair_check(p));
}

/* What was meant for TCP falls back to nothing. */
TEST_F_TIMEOUT(fallback, forced_tcp, SLOW)
{
	struct pair *p = &self->p;
	uint32_t seg, own = p->seg;
	struct fallbacks f;

	ASSERT_EQ(0, setenv("TE_TRANSPORT", "tcp", 1));
	ASSERT_EQ(0, te_open_segment(p->ini, p->name, &seg));
	fallbacks_new();
	p->seg = seg;
	EXPECT_EQ(0, pair_xfer(p, TE_READ, 8 * KIB, 9 * KIB, LEN));
	EXPECT_EQ(TE_TCP, carrier(p));
	p->seg = own;
	f = fallbacks_new();
	EXPECT_EQ(0, f.no_rdma);
	EXPECT_EQ(0, f.rdma_down);
	EXPECT_EQ(0, te_segment_close(p->ini, seg));
	EXPECT_EQ(0, pair_check(p));
}

/* No NIC may carry it, says the matrix, which is of NICs: TCP does. */
TEST_F_TIMEOUT(fallback, no_nic_allowed, SLOW)
{
	static const size_t lengths[] = { 64, 4 * KIB, LEN };
	struct pair *p = &self->p;
	unsigned long long was;
	struct fallbacks f;
	size_t i;

	ASSERT_EQ(0, pair_carry_only(p, "no_such_nic"));
	was = wire_bytes();
	fallbacks_new();
	for (i = 0; i < ROWS(lengths); i++)
		EXPECT_EQ(0, pair_xfer(p, TE_WRITE, 8 * KIB, 9 * KIB,
				       lengths[i]));
	EXPECT_GT(LEN, wire_bytes() - was);
	f = fallbacks_new();
	EXPECT_EQ(1 + 1 + SLICES, f.rdma_down);
	EXPECT_EQ(0, f.no_rdma);
	EXPECT_EQ(0, pair_carry_only(p, NULL));
	EXPECT_EQ(0, pair_check(p));
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0-only
/*
 * A device that runs out of what te asks for: sizes that it refuses are lowered, an
 * endpoint without work is given up for new QPs and MRs, and when there is none the
 * task or the call fails, after a number of tries that does not depend on how long
 * it takes. And peers that refuse all connections: QPs stay within their bound.
 *
 * One device, which talks to itself, one mover and one QP for each endpoint, so that
 * passes of the points come one by one.
 */
#include <sys/param.h>

#include "lib/test.h"
#include "lib/fault.h"
#include "lib/klog.h"
#include "lib/module.h"
#include "lib/nic.h"
#include "lib/pair.h"

#define LEN		(5 * MIB)
#define PARAMS		"num_qp=1 workers_per_dev=1"
/* Sizes that are tried for a QP: 256, 128, 64, 32, 17; and failures of a rail. */
#define QP_TRIES	5
#define RAIL_TRIES	8
#define PEERS		100
/* The least that a rail rests after so many failures, see worker/health.c. */
#define MANY_FAILURES	10
#define LONG_REST_MS	2560

FIXTURE(limits)
{
	struct pair p;
	struct te_rdma idle;
	struct te_ioc_stats base;
	uint32_t seg[PEERS];
	int log;
};

static int start(FIXTURE_DATA(limits) *self, const char *params)
{
	static const struct pair_opts o = {
		.local = 6 * MIB,
		.remote = 6 * MIB,
	};

	return module_load(params) ?: te_rdma(&self->idle) ?:
	       pair_open(&self->p, &o) ?: te_stats(&self->base);
}

FIXTURE_SETUP(limits)
{
	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, module_unload_soon());
	ASSERT_EQ(0, nic_delete(1));
	self->log = klog_open();
	ASSERT_LE(0, self->log);
}

FIXTURE_TEARDOWN(limits)
{
	pair_close(&self->p);
	CLEAN();
	close(self->log);
	ASSERT_EQ(0, module_unload_soon());
	ASSERT_EQ(0, nic_add(1));
	ASSERT_EQ(0, module_load(""));
}

/* To peer @i, opened when it is first used. */
static int use(FIXTURE_DATA(limits) *self, unsigned int i)
{
	uint32_t own = self->p.seg;
	int ret = 0;

	if (!self->seg[i])
		ret = te_open_segment_at(self->p.ini, i, self->p.name,
					 &self->seg[i]);
	self->p.seg = self->seg[i];
	ret = ret ?: pair_xfer(&self->p, i & 1, 8 * KIB + i, 9 * KIB,
			       20000 + i);
	self->p.seg = own;
	return ret;
}

/* Endpoints without work, as the mover sees it a moment later. */
static int use_all(FIXTURE_DATA(limits) *self, unsigned int nr)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < nr; i++)
		ret = ret ?: use(self, i);
	te_sleep_ms(100);
	return ret;
}

static unsigned long long evictions(FIXTURE_DATA(limits) *self)
{
	struct te_ioc_stats s;

	te_stats(&s);
	return s.store_evictions - self->base.store_evictions;
}

static int use_much(struct pair *p)
{
	return pair_xfer(p, TE_WRITE, 9 * KIB, 10 * KIB, LEN) ?:
	       pair_xfer(p, TE_READ, 11 * KIB, 9 * KIB, LEN);
}

static const struct {
	const char *desc, *point, *says;
	unsigned int nth, count;
	int error;
} sizes[] = {
	{ "half", "create_qp", "QPs of 128 work requests", 1, 1, EINVAL },
	{ "a quarter", "create_qp", "QPs of 64 work requests", 1, 2, ENOMEM },
	{ "the least", "create_qp", "QPs of 17 work requests", 1, 4, ENOSPC },
};

/* Slices of 64 KiB: 80 of them, more than the smallest QP takes at once. */
TEST_F_TIMEOUT(limits, smaller_qps, SLOW)
{
	size_t i;

	for (i = 0; i < ROWS(sizes); i++) {
		MUST(start(self, PARAMS));
		klog_skip(self->log);
		te_fault_arm_many(sizes[i].point, sizes[i].nth, sizes[i].error,
				  sizes[i].count);
		EXPECT_ROW(0, use_much(&self->p), "%s", sizes[i].desc);
		EXPECT_ROW(sizes[i].count, te_fault_fired(sizes[i].point), "%s",
			   sizes[i].desc);
		EXPECT_ROW(0, klog_wait(self->log, sizes[i].says, NULL), "%s",
			   sizes[i].desc);
		pair_close(&self->p);
		MUST(module_unload_soon());
	}
	ASSERT_EQ(0, module_load(""));
}

/* The service's CQ is the first that a device gets. */
TEST_F_TIMEOUT(limits, smaller_cqs, SLOW)
{
	static const struct {
		const char *says;
		unsigned int count;
	} cqs[] = {
		{ "CQs of 2048 completions", 1 },
		{ "CQs of 512 completions", 3 },
		{ "CQs of 64 completions", 6 },
	};
	struct pair_opts o = { .local = 6 * MIB, .remote = 6 * MIB };
	size_t i;

	ASSERT_EQ(0, module_load(""));
	for (i = 0; i < ROWS(cqs); i++) {
		MUST(nic_delete(0));
		klog_skip(self->log);
		te_fault_arm_many("create_cq", 2, EINVAL, cqs[i].count);
		MUST(nic_add(0));
		EXPECT_ROW(0, klog_wait(self->log, cqs[i].says, NULL), "%s",
			   cqs[i].says);
		EXPECT_ROW(0, klog_wait(self->log, ": up at", NULL), "%s",
			   cqs[i].says);
		EXPECT_ROW(cqs[i].count, te_fault_fired("create_cq"), "%s",
			   cqs[i].says);
		MUST(pair_open(&self->p, &o));
		EXPECT_ROW(0, use_much(&self->p), "%s", cqs[i].says);
		pair_close(&self->p);
		MUST(te_settle_all());
	}
}

/* All sizes of one QP are refused: an idle endpoint goes, and the work goes on. */
TEST_F_TIMEOUT(limits, qps_evict, SLOW)
{
	ASSERT_EQ(0, start(self, PARAMS));
	ASSERT_EQ(0, use_all(self, 4));
	ASSERT_EQ(0, evictions(self));
	klog_skip(self->log);
	te_fault_arm_many("create_qp", 1, ENOMEM, QP_TRIES);
	EXPECT_EQ(0, use(self, 4));
	EXPECT_EQ(QP_TRIES, te_fault_fired("create_qp"));
	EXPECT_EQ(1, evictions(self));
	EXPECT_EQ(0, klog_wait(self->log, "no QP is to be had: -12", NULL));
	EXPECT_EQ(0, use_all(self, 5));
}

/* A request to a peer, which fails: its errno, or -EBADE. */
static int fails_with(struct pair *p, uint32_t seg)
{
	struct te_request r = pair_req(p, TE_WRITE, 8 * KIB, 8 * KIB, 9 * KIB);
	struct te_status st;
	uint32_t batch;
	int ret;

	r.segment = seg;
	ret = te_batch_alloc(p->ini, 1, NULL, &batch) ?:
	      te_submit(p->ini, batch, &r, 1) ?:
	      te_wait(p->ini, batch, TE_WAIT_MS) ?:
	      te_status(p->ini, batch, 0, &st) ?: te_batch_free(p->ini, batch);
	if (ret)
		return ret;
	return st.state == TE_FAILED && !st.bytes ? st.error : -EBADE;
}

/* None ever: all that are idle go, then the task fails; and nobody tries on. */
TEST_F_TIMEOUT(limits, qps_are_out, SLOW)
{
	static const int errors[] = { ENOMEM, EINVAL, ENOSPC, EAGAIN };
	size_t i;

	for (i = 0; i < ROWS(errors); i++) {
		MUST(start(self, PARAMS));
		MUST(use_all(self, 4));
		MUST(te_open_segment_at(self->p.ini, 50, self->p.name,
					&self->seg[50]));
		te_fault_arm_many("create_qp", 1, errors[i], ~0U);
		EXPECT_ROW(-ENOMEM, fails_with(&self->p, self->seg[50]),
			   "error %d", errors[i]);
		te_sleep_ms(1500);
		EXPECT_ROW(QP_TRIES * RAIL_TRIES, te_fault_fired("create_qp"),
			   "error %d", errors[i]);
		EXPECT_ROW(4, evictions(self), "error %d", errors[i]);
		/* Both that one and those that went. */
		EXPECT_ROW(0, use(self, 50), "error %d", errors[i]);
		EXPECT_ROW(0, use_all(self, 4), "error %d", errors[i]);
		memset(self->seg, 0, sizeof(self->seg));
		pair_close(&self->p);
		MUST(module_unload_soon());
	}
	ASSERT_EQ(0, module_load(""));
}

/* The same for MRs: one idle endpoint goes for each that is refused. */
static const struct {
	const char *desc;
	unsigned int idle, count, fired, evicted;
	int want;
} regions[] = {
	{ "once", 2, 1, 1, 1, 0 },
	{ "for ever", 2, ~0U, 2, 1, -ENOMEM },
	{ "once, nothing idle", 0, 1, 1, 0, -ENOMEM },
	{ "for ever, nothing idle", 0, ~0U, 1, 0, -ENOMEM },
};

TEST_F_TIMEOUT(limits, regions_evict, SLOW)
{
	static unsigned char mem[8 * KIB] __attribute__((aligned(4096)));
	uint32_t mr;
	size_t i;

	for (i = 0; i < ROWS(regions); i++) {
		MUST(start(self, PARAMS));
		MUST(use_all(self, regions[i].idle));
		klog_skip(self->log);
		te_fault_arm_many("alloc_mr", 1, ENOMEM, regions[i].count);
		EXPECT_ROW(regions[i].want,
			   te_mr_register(self->p.ini, mem, sizeof(mem),
					  TE_LOCAL_ALL, NULL, &mr),
			   "%s", regions[i].desc);
		EXPECT_ROW(regions[i].fired, te_fault_fired("alloc_mr"), "%s",
			   regions[i].desc);
		EXPECT_ROW(regions[i].evicted, evictions(self), "%s",
			   regions[i].desc);
		if (regions[i].want) {
			EXPECT_ROW(0, klog_wait(self->log, "no MR is to be had",
						NULL), "%s", regions[i].desc);
			MUST(te_mr_register(self->p.ini, mem, sizeof(mem),
					    TE_LOCAL_ALL, NULL, &mr));
		}
		EXPECT_ROW(0, pair_move(&self->p, TE_READ, mem, 9 * KIB,
					sizeof(mem)), "%s", regions[i].desc);
		EXPECT_ROW(0, memcmp(mem, self->p.remote.p + 9 * KIB,
				     sizeof(mem)), "%s", regions[i].desc);
		MUST(te_mr_unregister(self->p.ini, mr, 0));
		memset(self->seg, 0, sizeof(self->seg));
		pair_close(&self->p);
		MUST(module_unload_soon());
	}
	ASSERT_EQ(0, module_load(""));
}

/* Waits until the other end has refused, and this one has heard: its QP is in error. */
static int await_refused(void)
{
	unsigned long long end = te_now_ms() + TE_WAIT_MS;

	fflush(stdout);
	while (te_fault_seen("accept") != 1 ||
	       system("rdma resource show qp | grep -q 'type RC.*state ERR'")) {
		if (te_now_ms() > end)
			return -ETIME;
		te_sleep_ms(10);
	}
	/* What is told of it right after that. */
	te_sleep_ms(50);
	return 0;
}

/*
 * An endpoint that fails after its mover has looked, and before its rail has its turn:
 * that rests as after any other failure. The mover is held in the turn of another rail
 * meanwhile.
 */
TEST_F_TIMEOUT(limits, failure_amid_a_turn, SLOW)
{
	struct te_request r[2];
	uint32_t batch[2];
	size_t i;

	ASSERT_EQ(0, start(self, PARAMS));
	ASSERT_EQ(0, use_all(self, 1));
	ASSERT_EQ(0, te_open_segment_at(self->p.ini, 50, self->p.name,
					&self->seg[50]));
	for (i = 0; i < 2; i++) {
		r[i] = pair_req(&self->p, TE_WRITE, (8 + i) * KIB,
				(10 + i) * KIB, KIB);
		r[i].segment = self->seg[i ? 0 : 50];
		ASSERT_EQ(0, te_batch_alloc(self->p.ini, 1, NULL, &batch[i]));
	}
	/* After so many it rests for LONG_REST_MS. */
	te_fault_arm_many("create_id", 1, EIO, MANY_FAILURES - 1);
	te_hold("ep_connect");
	ASSERT_EQ(0, te_submit(self->p.ini, batch[0], &r[0], 1));
	EXPECT_EQ(0, te_delay_wait("ep_connect", 1));
	EXPECT_EQ(MANY_FAILURES - 1, te_fault_fired("create_id"));

	te_hold("ep_found");
	ASSERT_EQ(0, te_submit(self->p.ini, batch[1], &r[1], 1));
	EXPECT_EQ(0, te_delay_wait("ep_found", 1));
	te_fault_arm("accept", 0, EIO);
	te_delay_release("ep_connect");
	EXPECT_EQ(0, await_refused());
	te_delay_release("ep_found");
	EXPECT_EQ(0, te_wait(self->p.ini, batch[1], TE_WAIT_MS));
	te_sleep_ms(LONG_REST_MS / 8);
	EXPECT_EQ(1, te_fault_fired("accept"));

	EXPECT_EQ(0, te_wait(self->p.ini, batch[0], TE_WAIT_MS));
	for (i = 0; i < 2; i++) {
		pair_expect(&self->p, &r[i]);
		EXPECT_EQ(0, te_batch_free(self->p.ini, batch[i]));
	}
	EXPECT_EQ(0, pair_check(&self->p));
}

/*
 * 100 peers that refuse every connection, four endpoints: no more than eight are
 * alive at any time, and within 2 s after the last failure the device holds what it
 * held before, with nothing new coming.
 */
TEST_F_TIMEOUT(limits, failures_to_dead_peers, SLOW)
{
	struct te_batch_opts bo = { .sz = sizeof(bo), .deadline_ms = 5000 };
	unsigned int kept = 0, alive = 0, i;
	struct te_request r[PEERS];
	unsigned long long end;
	struct te_ioc_stats s;
	struct te_status st;
	struct te_rdma now;
	uint32_t batch;
	long qps = 0;
	int ret;

	ASSERT_EQ(0, start(self, PARAMS " max_ep=4"));
	for (i = 0; i < PEERS; i++) {
		MUST(te_open_segment_at(self->p.ini, i, self->p.name,
					&self->seg[i]));
		r[i] = pair_req(&self->p, TE_WRITE, 8 * KIB, 8 * KIB, 9 * KIB);
		r[i].segment = self->seg[i];
	}
	/* Each QP lives long enough to be seen. */
	te_delay_arm("ep_connect", 5, ~0U);
	te_fault_arm_many("accept", 1, ENOMEM, ~0U);
	ASSERT_EQ(0, te_batch_alloc(self->p.ini, PEERS, &bo, &batch));
	ASSERT_EQ(0, te_submit(self->p.ini, batch, r, PEERS));
	while ((ret = te_wait(self->p.ini, batch, 1)) == -ETIME) {
		MUST(te_stats(&s));
		kept = MAX(kept, s.endpoints_stored);
		alive = MAX(alive, s.endpoints_stored + s.endpoints_draining);
		MUST(te_rdma(&now));
		qps = MAX(qps, now.qp - self->idle.qp);
	}
	ASSERT_EQ(0, ret);
	EXPECT_EQ(4, kept);
	EXPECT_GE(8, alive);
	EXPECT_LT(0, qps);
	EXPECT_GE(8, qps);
	te_delay_release("ep_connect");
	for (i = 0; i < PEERS; i++) {
		MUST(te_status(self->p.ini, batch, i, &st));
		EXPECT_ROW(TE_TIMEOUT, st.state, "peer %u", i);
		EXPECT_ROW(0, st.bytes, "peer %u", i);
	}
	end = te_now_ms() + (watched() ? 20000 : 2000);
	do {
		te_sleep_ms(20);
		ASSERT_EQ(0, te_rdma(&now));
		ASSERT_EQ(0, te_stats(&s));
	} while ((now.qp != self->idle.qp || s.endpoints) &&
		 te_now_ms() < end);
	EXPECT_EQ(self->idle.qp, now.qp);
	EXPECT_EQ(0, s.endpoints);
	EXPECT_LT(PEERS, te_fault_fired("accept"));
	TH_LOG("%llu failures; at most %u endpoints kept, %u alive, %ld QPs",
	       s.store_misses - self->base.store_misses, kept, alive, qps);
	EXPECT_EQ(0, pair_check(&self->p));
	EXPECT_EQ(0, use_all(self, 6));
}

TEST_HARNESS_MAIN

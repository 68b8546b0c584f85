// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events of devices and QPs that come with work in flight, or do not come though
 * they should: no task fails, no byte is wrong, what was connected is left and
 * something new is used. What no device here does by itself te does to itself,
 * see kmod/fault/. `--net wire`.
 *
 * Each endpoint has two QPs at either end; the devices tell which there are.
 */
#include <stddef.h>
#include <stdlib.h>

#include "lib/test.h"
#include "lib/fault.h"
#include "lib/module.h"
#include "lib/nic.h"
#include "lib/pair.h"

#define LEN	(200 * KIB)
#define AT	(8 * KIB)
#define NR	400
/* Of one endpoint: both ends'. */
#define QPS	4
/* What te counts for one: itself, and two connections at the other end. */
#define COUNTS	3
/* A tick is a second. More than that: nobody looks. */
#define TICKS_MS	5000

struct qps {
	unsigned int nr;
	char name[64][24];
};

FIXTURE(events)
{
	struct pair p;
	struct te_rdma idle;
	unsigned int nr_idle, nr;
};

/* Where one NIC carries it all, only a new endpoint can go on. */
FIXTURE_VARIANT(events)
{
	bool one;
};

FIXTURE_VARIANT_ADD(events, two_nics)
{
	.one = false,
};

FIXTURE_VARIANT_ADD(events, one_nic)
{
	.one = true,
};

/* The connected QPs of all devices. */
static int qps_now(struct qps *q)
{
	FILE *f = popen("rdma resource show qp", "re");
	char line[256], dev[16];
	unsigned int lqpn;

	q->nr = 0;
	if (!f)
		return -errno;
	while (q->nr < ROWS(q->name) && fgets(line, sizeof(line), f))
		if (strstr(line, " type RC ") &&
		    sscanf(line, "link %15s lqpn %u", dev, &lqpn) == 2)
			snprintf(q->name[q->nr++], sizeof(q->name[0]), "%s %u",
				 dev, lqpn);
	pclose(f);
	return 0;
}

/* How many of @q are there no more. */
static unsigned int qps_gone(const struct qps *q)
{
	unsigned int i, j, gone = 0;
	struct qps now;

	if (qps_now(&now))
		return 0;
	for (i = 0; i < q->nr; i++) {
		for (j = 0; j < now.nr; j++)
			if (!strcmp(q->name[i], now.name[j]))
				break;
		gone += j == now.nr;
	}
	return gone;
}

/* Waits until there are @nr. Return: ms that it took, or -ETIME. */
static int qps_await(struct qps *q, unsigned int nr)
{
	unsigned long long from = te_now_ms();

	while (!qps_now(q)) {
		if (q->nr == nr)
			return te_now_ms() - from;
		if (te_now_ms() - from > TE_WAIT_MS)
			break;
		te_sleep_ms(10);
	}
	printf("# %u QPs, not %u\n", q->nr, nr);
	return -ETIME;
}

FIXTURE_SETUP(events)
{
	struct pair_opts o = { .cq_entries = 4096, .task_slots = 4096 };
	struct qps q;

	ASSERT_EQ(0, te_settle_all());
	ASSERT_EQ(0, te_rdma(&self->idle));
	ASSERT_EQ(0, qps_now(&q));
	self->nr_idle = q.nr;
	/* Both connect, whoever carries. */
	self->nr = q.nr + NR_NICS * QPS;
	ASSERT_EQ(0, pair_open(&self->p, &o));
	if (variant->one)
		ASSERT_EQ(0, pair_carry_only(&self->p, getenv("TE_DEV_A")));
}

FIXTURE_TEARDOWN(events)
{
	te_fault_fired("other_port");
	EXPECT_EQ(0, pair_carry_only(&self->p, NULL));
	pair_close(&self->p);
	CLEAN();
	EXPECT_EQ(0, te_settle_all());
	EXPECT_EQ(0, te_rdma_settle(&self->idle));
}

/* NR tasks of the same bytes, with an entry each. */
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
		r[i] = pair_req(p, op, AT, AT, LEN);
	pair_expect(p, &r[0]);
	ret = te_batch_alloc(p->ini, NR, &o, batch);
	return ret ?: te_submit(p->ini, *batch, r, NR);
}

/* All of them have completed, with all bytes. */
static int finish(struct pair *p, uint32_t batch)
{
	static struct te_completion c[NR + 1];
	int ret, i;

	ret = te_wait(p->ini, batch, 2 * TE_WAIT_MS);
	if (ret)
		return ret;
	if (te_poll(p->ini, c, NR + 1) != NR)
		return -EBADMSG;
	for (i = 0; i < NR; i++) {
		if (c[i].state == TE_COMPLETED && c[i].bytes == LEN)
			continue;
		printf("# state %u error %d\n", c[i].state, c[i].error);
		return c[i].error ?: -EBADMSG;
	}
	return te_batch_free(p->ini, batch) ?: pair_check(p);
}

static int work(struct pair *p, uint32_t op)
{
	uint32_t batch;

	return start(p, op, &batch) ?: finish(p, batch);
}

/*
 * Work until the @nth pass of @point has failed; 0: until each of some has, which
 * are not all of one device.
 */
static int work_until(struct pair *p, uint32_t op, const char *point, int nth)
{
	unsigned int want = nth ? 1 : 4;
	int ret;

	te_fault_arm(point, nth, EIO);
	do {
		ret = work(p, op);
	} while (!ret && te_fault_seen(point) < want);
	te_fault_fired(point);
	return ret;
}

/* Work until all that can be connected is. */
static int connect_all(struct pair *p, struct qps *q, unsigned int nr)
{
	unsigned long long end = te_now_ms() + TE_WAIT_MS;
	int ret;

	do {
		ret = work(p, TE_WRITE);
		ret = ret ?: qps_now(q);
		if (ret || q->nr == nr)
			return ret;
	} while (te_now_ms() < end);
	return qps_await(q, nr);
}

static const struct row {
	const char *point;
	int nth;
	uint32_t op;
} rows[] = {
	{ "qp_fatal", 1, TE_WRITE },
	{ "qp_fatal", 30, TE_READ },
	{ "device_fatal", 1, TE_READ },
	{ "device_fatal", 30, TE_WRITE },
	{ "conn_fatal", 0, TE_WRITE },
	{ "conn_fatal", 0, TE_READ },
	/* The peer has nothing to do with it. */
	{ "invalid_request", 1, TE_WRITE },
	{ "invalid_request", 30, TE_READ },
};

/* With work in flight, each time. */
TEST_F_TIMEOUT(events, fatal, SLOW)
{
	struct qps q, now;
	size_t i;

	for (i = 0; i < ROWS(rows); i++) {
		const struct row *r = &rows[i];

		MUST(connect_all(&self->p, &q, self->nr));
		EXPECT_ROW(0, work_until(&self->p, r->op, r->point, r->nth),
			   "%s, pass %d", r->point, r->nth);
		MUST(connect_all(&self->p, &now, self->nr));
		EXPECT_ROW(r->nth ? QPS : self->nr - self->nr_idle,
			   qps_gone(&q), "%s, pass %d", r->point, r->nth);
	}
}

/* One of another port of a device is nothing to its endpoints. */
TEST_F_TIMEOUT(events, of_another_port, SLOW)
{
	unsigned long long end;
	struct qps q;
	uint32_t op = TE_WRITE;

	ASSERT_EQ(0, connect_all(&self->p, &q, self->nr));
	te_fault_arm("other_port", 0, EIO);
	end = te_now_ms() + TE_WAIT_MS;
	/* Each device looks once a second, and there was work afterwards. */
	do {
		MUST(work(&self->p, op));
		op = op == TE_WRITE ? TE_READ : TE_WRITE;
	} while (te_fault_seen("other_port") <= 2 * NR_NICS &&
		 te_now_ms() < end);
	EXPECT_LT(2 * NR_NICS, te_fault_fired("other_port"));
	EXPECT_EQ(0, work(&self->p, op));
	EXPECT_EQ(0, qps_gone(&q));
}

/*
 * While QPs are flushed, and before those of the other end are destroyed: when an
 * endpoint fails, and when its session ends with work in flight.
 */
TEST_F_TIMEOUT(events, fatal_amid_teardown, SLOW)
{
	struct qps q, now;
	uint32_t batch;

	ASSERT_EQ(0, connect_all(&self->p, &q, self->nr));
	te_fault_arm("drain_fatal", 0, EIO);
	EXPECT_EQ(0, work_until(&self->p, TE_WRITE, "qp_fatal", 10));
	EXPECT_EQ(0, connect_all(&self->p, &now, self->nr));
	EXPECT_EQ(QPS, qps_gone(&q));
	/* The other end has only one left if this one disconnects first. */
	EXPECT_LE(QPS / 2, te_fault_seen("drain_fatal"));

	te_fault_arm("drain_fatal", 0, EIO);
	ASSERT_EQ(0, start(&self->p, TE_WRITE, &batch));
	ASSERT_EQ(0, pair_carry_only(&self->p, NULL));
	pair_close(&self->p);
	EXPECT_EQ(0, te_settle_all());
	EXPECT_EQ(0, te_rdma_settle(&self->idle));
	EXPECT_LE(NR_NICS * QPS / 2, te_fault_fired("drain_fatal"));
	ASSERT_EQ(0, pair_open(&self->p, NULL));
	EXPECT_EQ(0, pair_xfer(&self->p, TE_READ, AT, AT, LEN));
}

/* Endpoints that te holds, both ends' counted. */
static int endpoints_await(unsigned long long nr)
{
	return te_settle_one(offsetof(struct te_ioc_stats, endpoints), nr,
			     TE_WAIT_MS);
}

/* One that cannot be freed does not hold up the others, nor what comes after. */
TEST_F_TIMEOUT(events, one_is_not_freed, SLOW)
{
	struct te_ioc_stats st;
	struct qps q, now;
	int i;

	ASSERT_EQ(0, connect_all(&self->p, &q, self->nr));
	ASSERT_EQ(0, te_stats(&st));
	te_hold("ep_flushed");
	for (i = 0; i < 4; i++) {
		EXPECT_ROW(0, work_until(&self->p, i & 1, "qp_fatal", 5),
			   "endpoint %d", i);
		EXPECT_EQ(0, te_delay_wait("ep_flushed", 1));
		EXPECT_EQ(0, connect_all(&self->p, &now, self->nr + QPS));
		EXPECT_ROW(0, endpoints_await(st.endpoints + COUNTS),
			   "endpoint %d", i);
	}
	te_delay_release("ep_flushed");
	EXPECT_LE(0, qps_await(&now, self->nr));
	EXPECT_EQ(0, endpoints_await(st.endpoints));
	EXPECT_LE(QPS, qps_gone(&q));
}

/* ---- events that do not come */

/*
 * A QP that takes work and never says anything again. te gives it twice as long as
 * all attempts to be answered may take, and 10 s at least: those, with this
 * parameter. Else a slow guest has minutes. Then it waits for completions of what it
 * gave up, which do not come either.
 */
#define HANG_PARAM	"qp_timeout=14"
#define HANG_MS		10000
#define DRAIN_MS	2000

FIXTURE(hang)
{
	struct pair p;
	struct te_rdma idle;
	struct qps q;
};

FIXTURE_SETUP(hang)
{
	struct te_rdma rdma;

	ASSERT_EQ(0, te_settle_all());
	ASSERT_EQ(0, te_rdma(&rdma));
	ASSERT_EQ(0, module_reload(HANG_PARAM));
	ASSERT_EQ(0, te_rdma_settle(&rdma));
	ASSERT_EQ(0, te_rdma(&self->idle));
	ASSERT_EQ(0, qps_now(&self->q));
	ASSERT_EQ(0, pair_open(&self->p, NULL));
}

FIXTURE_TEARDOWN(hang)
{
	te_fault_fired("completion");
	pair_close(&self->p);
	CLEAN();
	EXPECT_EQ(0, te_settle_all());
	EXPECT_EQ(0, te_rdma_settle(&self->idle));
	EXPECT_EQ(0, module_reload(""));
}

/* What it had goes over another one, and it ends: no byte comes late. */
TEST_F_TIMEOUT(hang, completion, SLOW)
{
	static const uint32_t ops[] = { TE_WRITE, TE_READ };
	unsigned int nr = self->q.nr + NR_NICS * QPS;
	unsigned long long ms;
	struct qps q, now;
	size_t i;

	for (i = 0; i < ROWS(ops); i++) {
		ASSERT_EQ(0, connect_all(&self->p, &q, nr));
		te_fault_arm("completion", 1, EIO);
		ms = te_now_ms();
		EXPECT_ROW(0, pair_xfer(&self->p, ops[i], AT, AT, LEN / 4),
			   "op %u", ops[i]);
		ms = te_now_ms() - ms;
		printf("# given up, and done, after %llu ms\n", ms);
		EXPECT_EQ(1, te_fault_fired("completion"));
		EXPECT_LE(HANG_MS + DRAIN_MS, ms);
		EXPECT_GE(HANG_MS + DRAIN_MS + TICKS_MS, ms);
		EXPECT_EQ(0, connect_all(&self->p, &now, nr));
		EXPECT_EQ(QPS, qps_gone(&q));
		EXPECT_EQ(0, work(&self->p, ops[i]));
	}
}

/* A request whose only completion is lost: it waits in vain. */
static int post_lost(struct pair *p, uint32_t op, uint32_t *batch)
{
	struct te_batch_opts o = { .sz = sizeof(o), .deadline_ms = TE_WAIT_MS };
	struct te_request r = pair_req(p, op, AT, AT, LEN / 4);
	unsigned long long end = te_now_ms() + TE_WAIT_MS;
	int ret;

	pair_expect(p, &r);
	te_fault_arm("completion", 1, EIO);
	ret = te_batch_alloc(p->ini, 1, &o, batch);
	ret = ret ?: te_submit(p->ini, *batch, &r, 1);
	while (!ret && !te_fault_seen("completion")) {
		if (te_now_ms() > end)
			return -ETIME;
		te_sleep_ms(1);
	}
	return ret ?: te_fault_fired("completion") == 1 ? 0 : -EBADMSG;
}

/* Others have work all the while: a QP is watched, not an endpoint. */
TEST_F_TIMEOUT(hang, amid_work, SLOW)
{
	unsigned long long from;
	uint32_t batch;

	ASSERT_EQ(0, work(&self->p, TE_WRITE));
	from = te_now_ms();
	ASSERT_EQ(0, post_lost(&self->p, TE_WRITE, &batch));
	while (te_now_ms() - from < HANG_MS + DRAIN_MS + TICKS_MS &&
	       te_wait(self->p.ini, batch, 0) == -ETIME)
		MUST(pair_xfer(&self->p, TE_READ, AT, AT, LEN / 4));
	EXPECT_EQ(0, te_wait(self->p.ini, batch, 0));
	EXPECT_LE(HANG_MS + DRAIN_MS, te_now_ms() - from);
	EXPECT_EQ(0, te_batch_free(self->p.ini, batch));
	EXPECT_EQ(0, pair_check(&self->p));
}

/* The address that it was connected from goes: it need not hang for long. */
TEST_F_TIMEOUT(hang, address, SLOW)
{
	unsigned long long ms;
	uint32_t batch;

	ASSERT_EQ(0, pair_carry_only(&self->p, getenv("TE_DEV_B")));
	ASSERT_EQ(0, work(&self->p, TE_WRITE));
	ASSERT_EQ(0, post_lost(&self->p, TE_WRITE, &batch));
	ms = te_now_ms();
	ASSERT_EQ(0, nic_move());
	EXPECT_EQ(0, te_wait(self->p.ini, batch, TE_WAIT_MS));
	ms = te_now_ms() - ms;
	printf("# given up, and done, after %llu ms\n", ms);
	EXPECT_GT(HANG_MS, ms);
	EXPECT_EQ(0, te_batch_free(self->p.ini, batch));
	EXPECT_EQ(0, pair_check(&self->p));
	EXPECT_EQ(0, pair_carry_only(&self->p, NULL));
	ASSERT_EQ(0, nic_move_back());
	EXPECT_EQ(0, work(&self->p, TE_READ));
}

FIXTURE(lost)
{
	struct pair p;
	struct te_rdma idle;
	unsigned int nr_idle;
};

FIXTURE_SETUP(lost)
{
	struct qps q;

	ASSERT_EQ(0, te_settle_all());
	ASSERT_EQ(0, te_rdma(&self->idle));
	ASSERT_EQ(0, qps_now(&q));
	self->nr_idle = q.nr;
	ASSERT_EQ(0, pair_open(&self->p, NULL));
	ASSERT_EQ(0, connect_all(&self->p, &q, q.nr + NR_NICS * QPS));
	te_fault_arm("news", 0, EIO);
}

FIXTURE_TEARDOWN(lost)
{
	te_fault_fired("port");
	te_fault_fired("news");
	pair_close(&self->p);
	CLEAN();
	EXPECT_EQ(0, te_settle_all());
	EXPECT_EQ(0, te_rdma_settle(&self->idle));
}

/*
 * Nothing is in flight that could fail. The way back is made ready with te still
 * finding no link: what cannot be sent is the end of soft-RoCE's GSI QP.
 */
TEST_F_TIMEOUT(lost, link, SLOW)
{
	struct te_request r = pair_req(&self->p, TE_WRITE, AT, AT, LEN);
	unsigned int lost;
	uint32_t batch;
	struct qps q;
	int ms;

	ASSERT_EQ(0, system("ip link set vb down"));
	/* The asking ends. */
	ms = qps_await(&q, self->nr_idle + NR_NICS * QPS / 2);
	lost = te_fault_seen("news");
	EXPECT_LE(NR_NICS, lost);
	printf("# no link: seen after %d ms, %u events lost\n", ms, lost);
	EXPECT_LE(0, ms);
	EXPECT_GE(TICKS_MS, ms);

	te_fault_arm("port", 0, EIO);
	ASSERT_EQ(0, system("ip link set vb up && "
			    "selftests/vm/net/wire.sh settle && "
			    "selftests/vm/net/wire.sh routes"));
	ASSERT_EQ(0, te_batch_alloc(self->p.ini, 1, NULL, &batch));
	ASSERT_EQ(0, te_submit(self->p.ini, batch, &r, 1));
	EXPECT_EQ(-ETIME, te_wait(self->p.ini, batch, 100));
	EXPECT_LT(lost, te_fault_seen("news"));
	te_fault_fired("port");
	ms = te_now_ms();
	EXPECT_EQ(0, te_wait(self->p.ini, batch, TE_WAIT_MS));
	ms = te_now_ms() - ms;
	printf("# a link again: used after %d ms\n", ms);
	EXPECT_GE(TICKS_MS, ms);
	pair_expect(&self->p, &r);
	EXPECT_EQ(0, te_batch_free(self->p.ini, batch));
	EXPECT_EQ(0, pair_check(&self->p));
	EXPECT_EQ(0, work(&self->p, TE_READ));
}

/* Does te listen at that address? */
static bool listens_at(const char *addr)
{
	char command[128];

	snprintf(command, sizeof(command),
		 "rdma resource show cm_id | grep -q 'LISTEN.* src-addr %s:'",
		 addr);
	fflush(stdout);
	return !system(command);
}

static int await_listener(const char *addr)
{
	unsigned long long from = te_now_ms();

	while (!listens_at(addr)) {
		if (te_now_ms() - from > TE_WAIT_MS)
			return -ETIME;
		te_sleep_ms(20);
	}
	return te_now_ms() - from;
}

/* A device has another address, and nobody says so. */
TEST_F_TIMEOUT(lost, address, SLOW)
{
	static int (*const moves[])(void) = { nic_move, nic_move_back };
	size_t i;
	int ms;

	for (i = 0; i < ROWS(moves); i++) {
		unsigned int lost = te_fault_seen("news");

		ASSERT_EQ(0, moves[i]());
		ms = await_listener(i ? getenv("TE_ADDR_B") : NIC_OTHER_ADDR);
		printf("# another address: seen after %d ms\n", ms);
		EXPECT_LE(0, ms);
		EXPECT_GE(TICKS_MS, ms);
		EXPECT_LT(lost, te_fault_seen("news"));
		EXPECT_EQ(0, work(&self->p, TE_WRITE));
		EXPECT_EQ(0, work(&self->p, TE_READ));
	}
}

TEST_HARNESS_MAIN

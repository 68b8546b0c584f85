// SPDX-License-Identifier: GPL-2.0-only
/*
 * NICs that go, and come back, against registering, submitting, connecting and
 * posting. Each test ends with both of them there, holding what they held.
 */
#include <stddef.h>

#include "lib/test.h"
#include "lib/fault.h"
#include "lib/go.h"
#include "lib/nic.h"
#include "lib/pair.h"

#define LEN	(64 * KIB)
#define AT	(8 * KIB)

FIXTURE(race_dev)
{
	struct pair p;
	struct te_rdma idle;
	struct te_request r;
	uint32_t batch;
	bool gone[NR_NICS];
};

/* The connection manager tries a NIC that has gone for a minute: the deadline. */
static int new_batch(struct te *te, uint32_t *batch)
{
	struct te_batch_opts o = {
		.sz = sizeof(o),
		.deadline_ms = 5000,
		.entries = TE_ENTRIES_TASK,
	};

	return te_batch_alloc(te, 3, &o, batch);
}

FIXTURE_SETUP(race_dev)
{
	ASSERT_EQ(0, te_settle_all());
	ASSERT_EQ(0, te_rdma(&self->idle));
	ASSERT_EQ(0, pair_open(&self->p, NULL));
	ASSERT_EQ(0, new_batch(self->p.ini, &self->batch));
	self->r = pair_req(&self->p, TE_WRITE, AT + LEN, AT, LEN);
}

/* A new segment of the target's, until it can be used: the NICs are up. */
static int reopen(struct pair *p)
{
	unsigned long long end = te_now_ms() + TE_WAIT_MS;
	struct te_request r = pair_req(p, TE_READ, AT, AT, LEN);
	struct te_status st = { 0 };
	uint32_t batch;
	int ret;

	do {
		te_segment_close(p->ini, p->seg);
		ret = te_open_segment(p->ini, p->name, &p->seg);
		ret = ret ?: te_batch_alloc(p->ini, 1, NULL, &batch);
		if (ret)
			return ret;
		r.segment = p->seg;
		ret = te_submit(p->ini, batch, &r, 1);
		ret = ret ?: te_wait(p->ini, batch, TE_WAIT_MS);
		ret = ret ?: te_status(p->ini, batch, 0, &st);
		te_batch_free(p->ini, batch);
		if (!ret && st.state == TE_COMPLETED) {
			pair_expect(p, &r);
			return pair_check(p);
		}
		te_sleep_ms(20);
	} while (te_now_ms() < end);
	printf("# NICs do not come back: %d, state %u error %d\n", ret,
	       st.state, st.error);
	return ret ?: -ETIME;
}

FIXTURE_TEARDOWN(race_dev)
{
	int i;

	for (i = 0; i < NR_NICS; i++)
		if (self->gone[i])
			EXPECT_EQ(0, nic_add(i));
	EXPECT_EQ(0, reopen(&self->p));
	EXPECT_EQ(0, pair_xfer(&self->p, TE_WRITE, AT, AT + LEN, LEN));
	pair_close(&self->p);
	CLEAN();
	EXPECT_EQ(0, te_settle_all());
	EXPECT_EQ(0, te_rdma_settle(&self->idle));
}

struct job {
	struct te *te;
	const struct te_request *r;
	void *addr;
	size_t len;
	uint32_t batch, mr;
	int nic;
};

static int do_submit(void *arg)
{
	struct job *j = arg;

	return te_submit(j->te, j->batch, j->r, 1);
}

static int do_register(void *arg)
{
	struct job *j = arg;

	return te_mr_register(j->te, j->addr, j->len, TE_LOCAL_ALL, NULL,
			      &j->mr);
}

static int do_delete(void *arg)
{
	struct job *j = arg;

	return nic_delete(j->nic);
}

/* What a task may say that lost its NIC, or the peer's. */
static bool may_end(const struct te_status *st)
{
	static const int reasons[] = {
		-ENODEV, -ENXIO, -EHOSTUNREACH, -ENETUNREACH, -ECONNREFUSED,
		-ECONNRESET, -ETIMEDOUT, -EREMOTEIO,
	};
	size_t i;

	if (st->state == TE_COMPLETED)
		return st->bytes == LEN && !st->error;
	if (st->state == TE_TIMEOUT)
		return st->error == -ETIMEDOUT && !st->bytes;
	for (i = 0; i < ROWS(reasons); i++)
		if (st->error == reasons[i])
			return st->state == TE_FAILED && !st->bytes;
	return false;
}

/*
 * One end, one entry. A WRITE whose answer was lost may have moved any of its
 * bytes, and none else.
 */
static int ended(struct pair *p, const struct job *j)
{
	const struct te_request *r = j->r;
	size_t at = r->remote_addr - (uintptr_t)p->remote.p, i;
	const unsigned char *src = (void *)(uintptr_t)r->local_addr;
	struct te_completion c[2];
	struct te_status st;
	int ret;

	/* The end of a command that deletes a NIC is a signal to us. */
	do {
		ret = te_wait(p->ini, j->batch, TE_WAIT_MS);
	} while (ret == -EINTR);
	if (ret ||
	    te_status(p->ini, j->batch, 0, &st) ||
	    te_poll(p->ini, c, 2) != 1 || c[0].state != st.state ||
	    c[0].error != st.error || c[0].bytes != st.bytes)
		return -EBADMSG;
	if (!may_end(&st)) {
		printf("# state %u error %d bytes %llu\n", st.state, st.error,
		       (unsigned long long)st.bytes);
		return -EBADMSG;
	}
	for (i = 0; i < LEN; i++)
		if (st.state == TE_COMPLETED || p->remote.p[at + i] == src[i])
			p->remote.want[at + i] = src[i];
	return pair_check(p);
}

/* Both go while a submit is between its checks and the queue. */
TEST_F_TIMEOUT(race_dev, removal_before_the_queue, SLOW)
{
	struct pair *p = &self->p;
	struct job j = { .te = p->ini, .r = &self->r, .batch = self->batch };
	struct te_status st;
	struct go g;
	int i;

	te_hold("submit_queue");
	ASSERT_EQ(0, go_start(&g, do_submit, &j));
	ASSERT_EQ(0, te_delay_wait("submit_queue", 1));
	for (i = 0; i < NR_NICS; i++) {
		EXPECT_EQ(0, nic_delete(i));
		self->gone[i] = true;
	}
	EXPECT_EQ(0, te_delay_wait("submit_queue", 1));
	te_delay_release("submit_queue");
	EXPECT_EQ(0, go_wait(&g));
	EXPECT_EQ(0, ended(p, &j));
	ASSERT_EQ(0, te_status(p->ini, j.batch, 0, &st));
	EXPECT_EQ(-ENXIO, st.error);
	EXPECT_EQ(-ENXIO, pair_refuse(p, &self->r));
}

/* They go while a region is on both of them and on no table yet. */
TEST_F_TIMEOUT(race_dev, removal_amid_registration, SLOW)
{
	struct pair *p = &self->p;
	struct job j = { .te = p->ini, .addr = p->local.p, .len = AT };
	struct te_request r = pair_req(p, TE_WRITE, 0, AT, AT);
	struct go g;
	int i;

	te_hold("mr_publish");
	ASSERT_EQ(0, go_start(&g, do_register, &j));
	ASSERT_EQ(0, te_delay_wait("mr_publish", 1));
	for (i = 0; i < NR_NICS; i++)
		EXPECT_EQ(0, nic_delete(i));
	EXPECT_EQ(0, te_delay_wait("mr_publish", 1));
	/* Back before it is published: it is on them again when that is. */
	for (i = 0; i < NR_NICS; i++)
		ASSERT_EQ(0, nic_add(i));
	te_delay_release("mr_publish");
	EXPECT_EQ(0, go_wait(&g));
	ASSERT_EQ(0, reopen(p));
	r.segment = p->seg;
	EXPECT_EQ(0, pair_run(p, &r, 1));
	EXPECT_EQ(0, te_mr_unregister(p->ini, j.mr, 0));
}

/*
 * One goes, the asking end's or the answering end's, while a thread is held on
 * the way from the task to the wire.
 */
TEST_F_TIMEOUT(race_dev, removal_on_the_way, SLOW)
{
	static const struct {
		const char *point;
		bool connected;
	} rows[] = {
		{ "ep_connect", false },
		{ "conn_publish", false },
		{ "ep_found", true },
		{ "task_end", true },
	};
	struct pair *p = &self->p;
	struct job j = { .te = p->ini, .r = &self->r };
	struct go g;
	size_t i;

	for (i = 0; i < 2 * ROWS(rows); i++) {
		const char *point = rows[i / 2].point;

		j.nic = i % 2;
		if (rows[i / 2].connected)
			ASSERT_EQ(0, pair_xfer(p, TE_READ, AT, AT, LEN));
		ASSERT_EQ(0, new_batch(p->ini, &j.batch));
		self->r.segment = p->seg;
		te_hold(point);
		ASSERT_EQ(0, do_submit(&j));
		ASSERT_EQ(0, te_delay_wait(point, 1));
		ASSERT_EQ(0, go_start(&g, do_delete, &j));
		EXPECT_EQ(0, nic_await_going(j.nic));
		EXPECT_EQ(0, te_delay_wait(point, 1));
		te_delay_release(point);
		EXPECT_ROW(0, ended(p, &j), "%s, NIC %d", point, j.nic);
		EXPECT_ROW(0, go_wait(&g), "%s, NIC %d", point, j.nic);
		EXPECT_EQ(0, te_batch_free(p->ini, j.batch));
		ASSERT_EQ(0, nic_add(j.nic));
		ASSERT_EQ(0, reopen(p));
		/* No session, no endpoint: the next row connects again. */
		pair_close(p);
		ASSERT_EQ(0, te_settle_all());
		ASSERT_EQ(0, te_rdma_settle(&self->idle));
		ASSERT_EQ(0, pair_open(p, NULL));
		j.te = p->ini;
		self->r = pair_req(p, TE_WRITE, AT + LEN, AT, LEN);
	}
}

/*
 * A NIC that makes its service connection anew is picked by nobody, but has
 * work in flight: that is cancelled as at any other time.
 */
TEST_F_TIMEOUT(race_dev, cancel_amid_restart, SLOW)
{
	struct pair *p = &self->p;
	struct te_batch_opts o = {
		.sz = sizeof(o),
		.deadline_ms = TE_MAX_DEADLINE_MS,
	};
	struct job j = {
		.te = p->ini, .r = &self->r, .addr = p->local.p, .len = AT,
	};
	struct te_status st;

	ASSERT_EQ(0, te_batch_alloc(p->ini, 1, &o, &j.batch));
	te_hold("ep_connect");
	ASSERT_EQ(0, do_submit(&j));
	ASSERT_EQ(0, te_delay_wait("ep_connect", 1));
	/* Routes and registrations take the same one first. */
	te_hold("dev_restart");
	te_fault_arm("post", 1, EIO);
	EXPECT_EQ(-EIO, do_register(&j));
	EXPECT_EQ(1, te_fault_fired("post"));
	ASSERT_EQ(0, te_delay_wait("dev_restart", 1));
	EXPECT_EQ(0, te_cancel(p->ini, j.batch));
	EXPECT_EQ(0, te_wait(p->ini, j.batch, TE_WAIT_MS / 3));
	ASSERT_EQ(0, te_status(p->ini, j.batch, 0, &st));
	EXPECT_EQ(TE_CANCELED, st.state);
	EXPECT_EQ(-ECANCELED, st.error);
	EXPECT_EQ(0, st.bytes);
	EXPECT_EQ(0, te_delay_wait("dev_restart", 1));
	EXPECT_EQ(0, te_delay_wait("ep_connect", 1));
	te_delay_release("dev_restart");
	te_delay_release("ep_connect");
	EXPECT_EQ(0, pair_check(p));
}

TEST_HARNESS_MAIN

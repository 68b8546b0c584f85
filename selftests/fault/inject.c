// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the core can hardly be made to refuse is refused by te's own wrappers,
 * each time it is asked for in turn, until all goes through: registering, moving
 * bytes, and a device that comes. Each time the errno is one of the table,
 * nothing is left, and the next try works.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/test.h"
#include "lib/fault.h"
#include "lib/klog.h"
#include "lib/module.h"
#include "lib/pair.h"

/* Three chunks of 2 MiB on each device, two calls to pin. */
#define LEN	(5 * MIB)
/* More passes than any row has: something fails for ever. */
#define MANY	200

/* A task's end: 0 or its error. */
static int run(struct te *te, const struct te_request *r)
{
	struct te_status st;
	uint32_t batch;
	int ret;

	ret = te_batch_alloc(te, 1, NULL, &batch);
	ret = ret ?: te_submit(te, batch, r, 1);
	ret = ret ?: te_wait(te, batch, TE_WAIT_MS);
	ret = ret ?: te_status(te, batch, 0, &st);
	ret = ret ?: te_batch_free(te, batch);
	if (ret)
		return ret;
	if (st.state == TE_COMPLETED)
		return st.bytes == r->length ? st.error : -EBADMSG;
	return st.state == TE_FAILED ? st.error : -EBADE;
}

FIXTURE(inject)
{
	struct pair p;
	struct area extra;
	struct te_ioc_stats base;
	struct te_rdma rdma;
	long pinned;
	int log;
};

FIXTURE_SETUP(inject)
{
	static const struct pair_opts o = {
		.local = 6 * MIB,
		.remote = 6 * MIB,
	};

	ASSERT_EQ(0, te_settle_all());
	self->log = klog_open();
	ASSERT_LE(0, self->log);
	ASSERT_EQ(0, pair_open(&self->p, &o));
	ASSERT_EQ(0, area_alloc(&self->extra, LEN));
	area_fill(&self->extra, 5);
	ASSERT_EQ(0, pair_xfer(&self->p, TE_WRITE, 9 * KIB, 9 * KIB, 100));
	ASSERT_EQ(0, te_stats(&self->base));
	ASSERT_EQ(0, te_rdma(&self->rdma));
	self->pinned = te_vm_pin_kib();
}

FIXTURE_TEARDOWN(inject)
{
	if (self->p.ini)
		pair_close(&self->p);
	area_free(&self->extra);
	close(self->log);
	CLEAN();
}

/*
 * All that was there before, and no more; but of connections: the first use of
 * the other device leaves some.
 */
static int as_before(FIXTURE_DATA(inject) *self)
{
	int ret = te_settle_to(&self->base);
	struct te_rdma now;

	ret = ret ?: te_rdma(&now);
	if (now.pd != self->rdma.pd || now.cq != self->rdma.cq ||
	    now.mr != self->rdma.mr) {
		printf("# devices hold pd %ld cq %ld mr %ld, not %ld %ld %ld\n",
		       now.pd, now.cq, now.mr, self->rdma.pd, self->rdma.cq,
		       self->rdma.mr);
		ret = -EBADE;
	}
	if (te_vm_pin_kib() != self->pinned) {
		printf("# pinned: %ld KiB, not %ld\n", te_vm_pin_kib(),
		       self->pinned);
		ret = -EBADE;
	}
	return ret;
}

static int register_extra(FIXTURE_DATA(inject) *self, uint32_t *mr)
{
	return te_mr_register(self->p.ini, self->extra.p, LEN, TE_LOCAL_ALL,
			      NULL, mr);
}

/* Every byte of the region arrives, and goes. */
static int use_extra(FIXTURE_DATA(inject) *self, unsigned int seed)
{
	struct te_request r = pair_req(&self->p, TE_READ, 0, 8 * KIB, LEN);
	unsigned char *remote = self->p.remote.want + 8 * KIB;
	int ret;

	r.local_addr = (uintptr_t)self->extra.p;
	ret = run(self->p.ini, &r);
	memcpy(self->extra.want, remote, LEN);
	ret = ret ?: area_check(&self->extra, "read by the region");

	area_fill(&self->extra, seed);
	r.opcode = TE_WRITE;
	ret = ret ?: run(self->p.ini, &r);
	memcpy(remote, self->extra.want, LEN);
	ret = ret ?: area_check(&self->extra, "written from the region");
	return ret ?: pair_check(&self->p);
}

static const struct {
	const char *point;
	int error, want;
	unsigned int count;
	/* The device is away until it has restarted: the other one serves. */
	bool restarts;
} registering[] = {
	{ "pin", ENOMEM, -ENOMEM, 1, false },
	{ "pin", EFAULT, -EFAULT, 1, false },
	{ "pin", EOPNOTSUPP, -EOPNOTSUPP, 1, false },
	{ "dma_map", ENOMEM, -ENOMEM, 1, false },
	{ "dma_map", EINVAL, -EIO, 1, false },
	{ "alloc_mr", EIO, -EIO, 1, false },
	/* Once, and there may be one after all: see fault/limits */
	{ "alloc_mr", ENOMEM, -ENOMEM, ~0U, false },
	{ "alloc_mr", EINVAL, -ENOMEM, ~0U, false },
	{ "map_mr", EINVAL, -EIO, 1, false },
	{ "post", ENOMEM, -ENOMEM, 1, true },
	{ "post", EINVAL, -EIO, 1, true },
};

TEST_F_TIMEOUT(inject, registering, SLOW)
{
	unsigned int n, fired;
	uint32_t mr;
	size_t i;
	int ret;

	for (i = 0; i < ROWS(registering); i++) {
		for (n = 1; n < MANY; n++) {
			klog_skip(self->log);
			te_delay_arm("dev_broken", 60000, 1);
			te_fault_arm_many(registering[i].point, n,
					  registering[i].error,
					  registering[i].count);
			ret = register_extra(self, &mr);
			fired = te_fault_fired(registering[i].point);
			if (!fired)
				break;
			EXPECT_ROW(registering[i].want, ret, "%s %d, pass %u",
				   registering[i].point, registering[i].error,
				   n);
			if (registering[i].restarts)
				MUST(te_delay_wait("dev_broken", 1));
			MUST(register_extra(self, &mr));
			EXPECT_ROW(0, use_extra(self, 10 + n), "%s, pass %u",
				   registering[i].point, n);
			MUST(te_mr_unregister(self->p.ini, mr, 0));
			te_delay_release("dev_broken");
			if (registering[i].restarts)
				MUST(klog_wait(self->log, ": up at", NULL));
			EXPECT_ROW(0, as_before(self), "%s, pass %u",
				   registering[i].point, n);
		}
		te_delay_release("dev_broken");
		/* Two devices, or two steps: one pass alone proves little. */
		EXPECT_LT(2, n);
		EXPECT_EQ(0, ret);
		EXPECT_EQ(0, te_mr_unregister(self->p.ini, mr, 0));
		EXPECT_ROW(0, as_before(self), "%s", registering[i].point);
	}
}

/*
 * Connections, of endpoints that are made anew each time. What fails once is tried
 * again; a task that never gets anything to connect with fails with @want, unless
 * one of the rails had it all before.
 */
static const struct {
	const char *point;
	int error, want;
	unsigned int count;
} connecting[] = {
	{ "create_id", ENOMEM, 0, 1 },
	{ "create_id", EINVAL, 0, 1 },
	{ "create_qp", ENOMEM, 0, 1 },
	{ "create_qp", EINVAL, 0, 1 },
	{ "create_qp", EIO, 0, 1 },
	{ "accept", ENOMEM, 0, 1 },
	{ "create_id", ENOMEM, -ENOMEM, ~0U },
	{ "create_qp", ENOMEM, -ENOMEM, ~0U },
	{ "create_qp", EINVAL, -ENOMEM, ~0U },
};

TEST_F_TIMEOUT(inject, connecting, SLOW)
{
	unsigned int n, fired, seen;
	struct te_request r;
	size_t i;
	int ret;

	for (i = 0; i < ROWS(connecting); i++) {
		seen = 0;
		for (n = 1; n < MANY; n++) {
			pair_close(&self->p);
			MUST(te_settle_all());
			MUST(pair_open(&self->p, NULL));
			r = pair_req(&self->p, TE_WRITE, 9 * KIB, 10 * KIB,
				     100000);
			te_fault_arm_many(connecting[i].point, n,
					  connecting[i].error,
					  connecting[i].count);
			ret = run(self->p.ini, &r);
			fired = te_fault_fired(connecting[i].point);
			if (!ret)
				pair_expect(&self->p, &r);
			if (!fired)
				break;
			seen += ret == connecting[i].want;
			EXPECT_ROW(true, !ret || ret == connecting[i].want,
				   "%s %d, %u times, pass %u: %d",
				   connecting[i].point, connecting[i].error,
				   connecting[i].count, n, ret);
			EXPECT_ROW(0, pair_check(&self->p), "%s, pass %u",
				   connecting[i].point, n);
			EXPECT_ROW(0, pair_xfer(&self->p, TE_WRITE, 9 * KIB,
						10 * KIB, 100000),
				   "%s, pass %u", connecting[i].point, n);
		}
		EXPECT_EQ(0, ret);
		EXPECT_ROW(true, seen > 0, "%s %d, %u times",
			   connecting[i].point, connecting[i].error,
			   connecting[i].count);
		EXPECT_EQ(0, pair_check(&self->p));
	}
}

/* A chain that is refused is sent again over another endpoint. */
TEST_F_TIMEOUT(inject, posting, SLOW)
{
	static const int errors[] = { ENOMEM, EINVAL };
	unsigned int n;
	size_t i;

	for (i = 0; i < ROWS(errors); i++) {
		for (n = 1; n < MANY; n++) {
			te_fault_arm("post", n, errors[i]);
			EXPECT_ROW(0, pair_xfer(&self->p, n & 1, 9 * KIB,
						11 * KIB, LEN),
				   "pass %u", n);
			if (!te_fault_fired("post"))
				break;
		}
		/* 80 slices in chains of 16 at most */
		EXPECT_LT(5, n);
		EXPECT_GT(MANY, n);
		EXPECT_EQ(0, te_settle_to(&self->base));
	}
}

/* A device that refuses all: each time is a try, and the first error is the end. */
TEST_F_TIMEOUT(inject, posting_never, SLOW)
{
	static const struct {
		const char *retry_cnt;
		unsigned int passes;
		int error, want;
	} rows[] = {
		{ "9", 10, EINVAL, -EIO },
		{ "9", 10, ENOMEM, -ENOMEM },
		{ "0", 1, EINVAL, -EIO },
	};
	struct te_request r = pair_req(&self->p, TE_WRITE, 9 * KIB, 10 * KIB,
				       100);
	size_t i;

	for (i = 0; i < ROWS(rows); i++) {
		MUST(module_set("retry_cnt", rows[i].retry_cnt));
		te_fault_arm("post", 0, rows[i].error);
		EXPECT_ROW(rows[i].want, run(self->p.ini, &r), "row %zu", i);
		EXPECT_ROW(rows[i].passes, te_fault_fired("post"), "row %zu",
			   i);
		MUST(module_set("retry_cnt", "9"));
		EXPECT_ROW(0, pair_xfer(&self->p, TE_WRITE, 9 * KIB, 10 * KIB,
					100), "row %zu", i);
	}
}

static int shell(const char *format, const char *dev, const char *netdev)
{
	char cmd[256];
	int status;

	snprintf(cmd, sizeof(cmd), format, dev, netdev);
	status = system(cmd);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -EINTR;
}

FIXTURE(arrival)
{
	struct te_rdma with, without, left_alone;
	char dev[32], netdev[32];
	char up[64], left_out[64];
	int log;
};

static int link_delete(FIXTURE_DATA(arrival) *self)
{
	return shell("rdma link delete %s", self->dev, NULL);
}

static int link_add(FIXTURE_DATA(arrival) *self)
{
	klog_skip(self->log);
	return shell("rdma link add %s type rxe netdev %s", self->dev,
		     self->netdev);
}

/* Peers with segments open know the devices by heart: begin anew. */
static int use_devices(void)
{
	struct pair p;
	int ret;

	ret = pair_open(&p, NULL);
	ret = ret ?: pair_xfer(&p, TE_WRITE, 9 * KIB, 10 * KIB, 100000);
	ret = ret ?: pair_xfer(&p, TE_READ, 11 * KIB, 8 * KIB, 100000);
	pair_close(&p);
	return te_settle_all() ?: ret;
}

FIXTURE_SETUP(arrival)
{
	char path[128];
	FILE *f;

	snprintf(self->dev, sizeof(self->dev), "%s", getenv("TE_DEV_A"));
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/parent",
		 self->dev);
	f = fopen(path, "re");
	ASSERT_NE(NULL, f);
	ASSERT_EQ(1, fscanf(f, "%31s", self->netdev));
	fclose(f);
	snprintf(self->up, sizeof(self->up), "te: %s/1: up at", self->dev);
	snprintf(self->left_out, sizeof(self->left_out),
		 "te: %s: port 1 not used: %d", self->dev, -ENOMEM);
	self->log = klog_open();
	ASSERT_LE(0, self->log);

	ASSERT_EQ(0, te_settle_all());
	ASSERT_EQ(0, te_rdma(&self->with));
	ASSERT_EQ(0, link_delete(self));
	ASSERT_EQ(0, te_rdma(&self->without));
	/* What the core itself has on it: the PD is the first thing of te's. */
	te_fault_arm("alloc_pd", 1, ENOMEM);
	ASSERT_EQ(0, link_add(self));
	ASSERT_EQ(0, klog_wait(self->log, self->left_out, NULL));
	ASSERT_EQ(1, te_fault_fired("alloc_pd"));
	ASSERT_EQ(0, te_rdma(&self->left_alone));
	ASSERT_EQ(0, link_delete(self));
}

FIXTURE_TEARDOWN(arrival)
{
	EXPECT_EQ(0, link_add(self));
	EXPECT_EQ(0, klog_wait(self->log, self->up, NULL));
	EXPECT_EQ(0, te_rdma_settle(&self->with));
	EXPECT_EQ(0, use_devices());
	close(self->log);
	CLEAN();
}

static const struct {
	const char *point;
	unsigned int count;
	unsigned int left_out;	/* up to this pass, else it is made good */
	unsigned int passes;	/* at least */
} arriving[] = {
	{ "alloc_pd", 1, MANY, 1 },
	{ "create_cq", 1, 1, 3 },	/* service, two movers */
	{ "create_cq", ~0U, MANY, 3 },
	{ "create_thread", 1, MANY, 2 },
	{ "create_id", 1, 0, 2 },	/* listener, service */
	{ "create_qp", 1, 0, 2 },	/* both ends of the service */
};

TEST_F_TIMEOUT(arrival, of_a_device, SLOW)
{
	unsigned int n, fired;
	size_t i;
	int ret;

	for (i = 0; i < ROWS(arriving); i++) {
		for (n = 1; n < MANY; n++) {
			te_fault_arm_many(arriving[i].point, n, ENOMEM,
					  arriving[i].count);
			MUST(link_add(self));
			ret = klog_wait(self->log, self->up, self->left_out);
			fired = te_fault_fired(arriving[i].point);
			EXPECT_ROW(fired && n <= arriving[i].left_out, ret,
				   "%s, pass %u", arriving[i].point, n);
			EXPECT_ROW(0, te_rdma_settle(ret ? &self->left_alone :
							   &self->with),
				   "%s, pass %u", arriving[i].point, n);
			EXPECT_ROW(0, use_devices(), "%s, pass %u",
				   arriving[i].point, n);
			MUST(link_delete(self));
			MUST(te_rdma_settle(&self->without));
			if (!fired)
				break;
		}
		EXPECT_ROW(true, n > arriving[i].passes && n < MANY,
			   "%s: %u passes", arriving[i].point, n);
	}
}

/* Memory that was there first is mapped on it, if not at once then later. */
static const char *const mapping[] = { "dma_map", "alloc_mr", "map_mr", "post" };

TEST_F_TIMEOUT(arrival, of_a_device_with_memory_there, SLOW)
{
	unsigned int n, fired;
	struct te_rdma held;
	struct te_ioc_stats base;
	struct pair p;
	size_t i;

	ASSERT_EQ(0, te_stats(&base));
	ASSERT_EQ(0, pair_open(&p, NULL));
	for (i = 0; i < ROWS(mapping); i++) {
		for (n = 1; n < MANY; n++) {
			te_fault_arm(mapping[i], n, ENOMEM);
			MUST(link_add(self));
			MUST(klog_wait(self->log, self->up, NULL));
			fired = te_fault_fired(mapping[i]);
			/* Two regions, a chunk each, on both devices */
			held = self->with;
			held.mr += 4;
			EXPECT_ROW(0, te_rdma_settle(&held), "%s, pass %u",
				   mapping[i], n);
			EXPECT_ROW(0, pair_xfer(&p, n & 1, 9 * KIB, 10 * KIB,
						100000),
				   "%s, pass %u", mapping[i], n);
			MUST(link_delete(self));
			if (!fired)
				break;
		}
		EXPECT_ROW(true, n > 2 && n < MANY, "%s: %u passes",
			   mapping[i], n);
	}
	pair_close(&p);
	EXPECT_EQ(0, te_settle_all());
}

TEST_HARNESS_MAIN

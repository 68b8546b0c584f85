// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls against each other: two that free one batch, submit against close,
 * unregister, segment close and cancel. Whatever the order, each call answers
 * with something the contract knows, and nothing is left.
 */
#include <pthread.h>

#include "lib/test.h"
#include "lib/pair.h"

#define LEN	(256 * KIB)

FIXTURE(race)
{
	struct raw tgt;
	struct area local, remote;
	char name[48];
};

FIXTURE_SETUP(race)
{
	ASSERT_EQ(0, te_settle());
	snprintf(self->name, sizeof(self->name), "%s", te_unique_name());
	ASSERT_EQ(0, area_alloc(&self->local, LEN));
	ASSERT_EQ(0, area_alloc(&self->remote, LEN));
	area_fill(&self->local, 1);
	area_fill(&self->remote, 1);
	ASSERT_EQ(0, raw_open(&self->tgt, 0, 0));
	ASSERT_EQ(0, raw_mr(self->tgt.fd, self->remote.p, LEN, TE_REMOTE_ALL,
			    NULL));
	ASSERT_EQ(0, raw_export(self->tgt.fd, self->name));
}

FIXTURE_TEARDOWN(race)
{
	raw_close(&self->tgt);
	area_free(&self->local);
	area_free(&self->remote);
	CLEAN();
}

/* What the threads of a test share. */
struct shared {
	struct raw r;
	const struct area *local, *remote;
	const char *name;
	uint32_t seg, mr, batch, op;
	pthread_barrier_t turn;
	bool stop;
	int freed, wrong;
	unsigned long done;
};

static int open_shared(struct shared *s)
{
	int ret = raw_open(&s->r, 64, 1024);

	ret = ret ?: raw_mr(s->r.fd, s->local->p, LEN, TE_LOCAL_ALL, &s->mr);
	return ret ?: raw_segment(s->r.fd, s->name, &s->seg);
}

/* An errno that none of these calls may give is counted and shown. */
static void judge(struct shared *s, const char *what, int ret, const int *may)
{
	for (; *may != 1; may++)
		if (ret == *may)
			return;
	__atomic_fetch_add(&s->wrong, 1, __ATOMIC_RELAXED);
	printf("# %s: %d\n", what, ret);
}

#define MAY(...) ((const int[]){ __VA_ARGS__, 1 })

static struct te_request any(const struct shared *s, size_t off, size_t len)
{
	return (struct te_request) {
		.opcode = s->op,
		.segment = __atomic_load_n(&s->seg, __ATOMIC_RELAXED),
		.local_addr = (uintptr_t)s->local->p + off,
		.remote_addr = (uintptr_t)s->remote->p + off,
		.length = len,
	};
}

static void *free_batches(void *arg)
{
	struct shared *s = arg;
	int ret;

	for (;;) {
		pthread_barrier_wait(&s->turn);
		if (s->stop)
			return NULL;
		do {
			ret = raw_free(s->r.fd, s->batch);
		} while (ret == -EBUSY);
		judge(s, "free", ret, MAY(0, -ENOENT));
		if (!ret)
			__atomic_fetch_add(&s->freed, 1, __ATOMIC_RELAXED);
		pthread_barrier_wait(&s->turn);
	}
}

TEST_F_TIMEOUT(race, one_batch_freed_by_two, SLOW)
{
	struct shared s = {
		.local = &self->local, .remote = &self->remote,
		.name = self->name, .op = TE_WRITE,
	};
	struct te_request r;
	pthread_t t[2];
	int i;

	ASSERT_EQ(0, open_shared(&s));
	pthread_barrier_init(&s.turn, NULL, 3);
	for (i = 0; i < 2; i++)
		MUST(pthread_create(&t[i], NULL, free_batches, &s));
	for (i = 0; i < 500; i++) {
		ASSERT_EQ(0, raw_batch(s.r.fd, 3, TE_ENTRIES_NONE, &s.batch));
		r = any(&s, i % 64 * 4096, 4096);
		/* With work in flight, and without. */
		if (i & 1)
			ASSERT_EQ(0, raw_submit(s.r.fd, s.batch, &r, 1));
		pthread_barrier_wait(&s.turn);
		pthread_barrier_wait(&s.turn);
		ASSERT_EQ(i + 1, s.freed);
	}
	s.stop = true;
	pthread_barrier_wait(&s.turn);
	for (i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	EXPECT_EQ(0, s.wrong);
	EXPECT_EQ(0, memcmp(self->local.p, self->remote.p, LEN));
	raw_close(&s.r);
}

/* Allocates, submits, waits and frees until the descriptor is gone. */
static void *work(void *arg)
{
	struct shared *s = arg;
	struct te_request r[4];
	uint32_t batch, i;
	int ret;

	while (!__atomic_load_n(&s->stop, __ATOMIC_RELAXED)) {
		for (i = 0; i < 4; i++)
			r[i] = any(s, i * 64 * KIB, 64 * KIB);
		ret = raw_batch(s->r.fd, 4, TE_ENTRIES_NONE, &batch);
		judge(s, "alloc", ret, MAY(0, -EBADF, -EBUSY));
		if (ret)
			continue;
		ret = raw_submit(s->r.fd, batch, r, 4);
		judge(s, "submit", ret, MAY(0, -EBADF, -ENOENT, -ERANGE,
					    -ESTALE));
		if (!ret)
			__atomic_fetch_add(&s->done, 1, __ATOMIC_RELAXED);
		ret = raw_wait(s->r.fd, batch, TE_WAIT_MS);
		judge(s, "wait", ret, MAY(0, -EBADF));
		ret = raw_free(s->r.fd, batch);
		judge(s, "free", ret, MAY(0, -EBADF));
	}
	return NULL;
}

/*
 * The workers need a CPU too, where there is only one: a test goes on until some
 * of their submits came through, but not for ever.
 */
static bool enough(const struct shared *s, int rounds)
{
	return __atomic_load_n(&s->done, __ATOMIC_RELAXED) >= 10 ||
	       rounds > 5000;
}

TEST_F_TIMEOUT(race, submit_against_close, SLOW)
{
	struct shared s = {
		.local = &self->local, .remote = &self->remote,
		.name = self->name,
	};
	pthread_t t[2];
	int i, k;

	for (i = 0; i < 20; i++) {
		s.op = i & 1;
		s.stop = false;
		ASSERT_EQ(0, open_shared(&s));
		for (k = 0; k < 2; k++)
			MUST(pthread_create(&t[k], NULL, work, &s));
		usleep(1000 * (i % 10));
		/* The number stays free: nobody opens anything meanwhile. */
		close(s.r.fd);
		usleep(1000);
		__atomic_store_n(&s.stop, true, __ATOMIC_RELAXED);
		for (k = 0; k < 2; k++)
			pthread_join(t[k], NULL);
		s.r.fd = -1;
		raw_close(&s.r);
	}
	EXPECT_EQ(0, s.wrong);
	EXPECT_EQ(0, memcmp(self->local.p, self->remote.p, LEN));
}

TEST_F_TIMEOUT(race, submit_against_unregister, SLOW)
{
	struct shared s = {
		.local = &self->local, .remote = &self->remote,
		.name = self->name,
	};
	pthread_t t[2];
	int i, k, ret;

	ASSERT_EQ(0, open_shared(&s));
	for (k = 0; k < 2; k++)
		MUST(pthread_create(&t[k], NULL, work, &s));
	for (i = 0; i < 200 || !enough(&s, i); i++) {
		if (i % 4 == 0)
			usleep(1000);
		ret = raw_unmr(s.r.fd, s.mr, i & 1 ? TE_FORCE : 0);
		judge(&s, "unregister", ret, i & 1 ? MAY(0) : MAY(0, -EBUSY));
		if (ret)
			continue;
		/*
		 * Ours again. What is put there now, with the right bytes put
		 * back, would be hit by anything that still runs.
		 */
		memset(self->local.p, 0xee, 4096);
		ASSERT_EQ(0xee, self->local.p[4095]);
		memcpy(self->local.p, self->local.want, 4096);
		ASSERT_EQ(0, raw_mr(s.r.fd, self->local.p, LEN, TE_LOCAL_ALL,
				    &s.mr));
	}
	s.stop = true;
	for (k = 0; k < 2; k++)
		pthread_join(t[k], NULL);
	EXPECT_EQ(0, s.wrong);
	EXPECT_NE(0, s.done);
	EXPECT_EQ(0, area_check(&self->local, "local memory"));
	raw_close(&s.r);
}

TEST_F_TIMEOUT(race, submit_against_segment_close, SLOW)
{
	struct shared s = {
		.local = &self->local, .remote = &self->remote,
		.name = self->name, .op = TE_WRITE,
	};
	pthread_t t[2];
	uint32_t seg;
	int i, k;

	ASSERT_EQ(0, open_shared(&s));
	for (k = 0; k < 2; k++)
		MUST(pthread_create(&t[k], NULL, work, &s));
	for (i = 0; i < 200 || !enough(&s, i); i++) {
		if (i % 4 == 0)
			usleep(1000);
		ASSERT_EQ(0, raw_segment_close(s.r.fd, s.seg));
		ASSERT_EQ(0, raw_segment(s.r.fd, s.name, &seg));
		__atomic_store_n(&s.seg, seg, __ATOMIC_RELAXED);
	}
	s.stop = true;
	for (k = 0; k < 2; k++)
		pthread_join(t[k], NULL);
	EXPECT_EQ(0, s.wrong);
	EXPECT_NE(0, s.done);
	raw_close(&s.r);
}

static int cancel(struct shared *s)
{
	struct te_ioc_batch_cancel a = {
		.size = sizeof(a),
		.batch = s->batch,
	};

	return raw_ioctl(s->r.fd, TE_IOC_BATCH_CANCEL, &a);
}

static void *cancel_batches(void *arg)
{
	struct shared *s = arg;

	for (;;) {
		pthread_barrier_wait(&s->turn);
		if (s->stop)
			return NULL;
		if (s->done++ % 3)
			usleep(s->done % 7 * 100);
		judge(s, "cancel", cancel(s), MAY(0));
		pthread_barrier_wait(&s->turn);
	}
}

/* One terminal state and one entry for each task, whoever comes first. */
TEST_F_TIMEOUT(race, cancel_against_completion, SLOW)
{
	enum { NR = 64 };
	struct shared s = {
		.local = &self->local, .remote = &self->remote,
		.name = self->name,
	};
	unsigned int ended[7] = { 0 }, i, k, n;
	const struct te_slot *slot;
	struct te_completion c;
	struct te_request r[NR];
	uint64_t seen;
	pthread_t t;

	ASSERT_EQ(0, open_shared(&s));
	ASSERT_EQ(NR, s.r.setup.cq_entries);
	pthread_barrier_init(&s.turn, NULL, 2);
	ASSERT_EQ(0, pthread_create(&t, NULL, cancel_batches, &s));
	for (i = 0; i < 150; i++) {
		s.op = i & 1;
		n = 1 + i * 13 % NR;
		for (k = 0; k < n; k++)
			r[k] = any(&s, k % 4 * 64 * KIB, 64 * KIB);
		ASSERT_EQ(0, raw_batch(s.r.fd, n, TE_ENTRIES_TASK, &s.batch));
		ASSERT_EQ(0, raw_submit(s.r.fd, s.batch, r, n));
		/* With one CPU the other thread seldom comes in between. */
		if (i % 5 == 0)
			ASSERT_EQ(0, cancel(&s));
		pthread_barrier_wait(&s.turn);
		ASSERT_EQ(0, raw_wait(s.r.fd, s.batch, TE_WAIT_MS));
		slot = &s.r.slots[s.batch & (s.r.setup.task_slots - 1)];
		for (k = 0, seen = 0; k < n; k++) {
			ASSERT_EQ(1, raw_next(&s.r, &c));
			ASSERT_GT(n, c.task);
			ASSERT_EQ(0, seen & 1ULL << c.task);
			seen |= 1ULL << c.task;
			ASSERT_EQ(slot[1 + c.task].state, c.state);
			ASSERT_TRUE(c.state == TE_COMPLETED ||
				    c.state == TE_CANCELED);
			ended[c.state]++;
		}
		ASSERT_EQ(0, raw_next(&s.r, &c));
		pthread_barrier_wait(&s.turn);
		ASSERT_EQ(0, raw_free(s.r.fd, s.batch));
	}
	s.stop = true;
	pthread_barrier_wait(&s.turn);
	pthread_join(t, NULL);
	TH_LOG("%u completed, %u canceled", ended[TE_COMPLETED],
	       ended[TE_CANCELED]);
	EXPECT_EQ(0, s.wrong);
	raw_close(&s.r);
	EXPECT_EQ(0, memcmp(self->local.p, self->remote.p, LEN));
}

TEST_HARNESS_MAIN

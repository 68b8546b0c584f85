// SPDX-License-Identifier: GPL-2.0-only
/*
 * The completion ring as a consumer sees it: what an entry holds, that a full
 * ring refuses work instead of losing entries, that it wraps, and that a head
 * which cannot be ends this context's work only.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/test.h"
#include "lib/pair.h"

#define LEN	(64 * KIB)

/* An initiator without libte, so that the ring itself is in our hands. */
FIXTURE(ring)
{
	struct raw r, tgt;
	struct area local, remote;
	uint32_t seg;
	char name[48];
};

FIXTURE_SETUP(ring)
{
	ASSERT_EQ(0, te_settle());
	snprintf(self->name, sizeof(self->name), "%s", te_unique_name());
	ASSERT_EQ(0, area_alloc(&self->local, LEN));
	ASSERT_EQ(0, area_alloc(&self->remote, LEN));
	area_fill(&self->local, 1);
	area_fill(&self->remote, 2);
	ASSERT_EQ(0, raw_open(&self->tgt, 0, 0));
	ASSERT_EQ(0, raw_mr(self->tgt.fd, self->remote.p, LEN, TE_REMOTE_ALL,
			    NULL));
	ASSERT_EQ(0, raw_export(self->tgt.fd, self->name));
	ASSERT_EQ(0, raw_open(&self->r, 8, 64));
	ASSERT_EQ(0, raw_mr(self->r.fd, self->local.p, LEN, TE_LOCAL_ALL,
			    NULL));
	ASSERT_EQ(0, raw_segment(self->r.fd, self->name, &self->seg));
}

FIXTURE_TEARDOWN(ring)
{
	raw_close(&self->r);
	raw_close(&self->tgt);
	area_free(&self->local);
	area_free(&self->remote);
	CLEAN();
}

/* Task @i writes its own 64 bytes. */
static struct te_request req(const struct area *local,
			     const struct area *remote, uint32_t seg,
			     uint64_t i)
{
	return (struct te_request) {
		.opcode = TE_WRITE,
		.segment = seg,
		.local_addr = (uintptr_t)local->p + i % 1024 * 64,
		.remote_addr = (uintptr_t)remote->p + i % 1024 * 64,
		.length = 64,
		.user_data = 0xabcd000000000000ULL + i,
	};
}

TEST_F_TIMEOUT(ring, what_batches_push, SLOW)
{
	static const struct {
		const char *desc;
		uint32_t entries, want;
	} rows[] = {
		{ "none", TE_ENTRIES_NONE, 0 },
		{ "one for each task", TE_ENTRIES_TASK, 5 },
		{ "one for the batch", TE_ENTRIES_BATCH, 1 },
	};
	struct te_completion c;
	struct te_request r[5];
	uint32_t batch, i, k, n, seen;

	for (i = 0; i < 5; i++)
		r[i] = req(&self->local, &self->remote, self->seg, i);
	for (k = 0; k < ROWS(rows); k++) {
		ASSERT_EQ(0, raw_batch(self->r.fd, 5, rows[k].entries, &batch));
		ASSERT_EQ(0, raw_submit(self->r.fd, batch, r, 5));
		EXPECT_EQ(0, raw_wait(self->r.fd, batch, TE_WAIT_MS));
		for (n = 0, seen = 0; raw_next(&self->r, &c); n++) {
			EXPECT_ROW(batch, c.batch, "%s", rows[k].desc);
			EXPECT_ROW(TE_COMPLETED, c.state, "%s", rows[k].desc);
			EXPECT_ROW(0, c.error, "%s", rows[k].desc);
			if (rows[k].entries == TE_ENTRIES_BATCH) {
				EXPECT_EQ(~0U, c.task);
				EXPECT_EQ(r[0].user_data, c.user_data);
				EXPECT_EQ(5 * 64, c.bytes);
				continue;
			}
			ASSERT_GT(5, c.task);
			EXPECT_EQ(r[c.task].user_data, c.user_data);
			EXPECT_EQ(64, c.bytes);
			seen |= 1U << c.task;
		}
		EXPECT_ROW(rows[k].want, n, "%s", rows[k].desc);
		if (rows[k].entries == TE_ENTRIES_TASK)
			EXPECT_EQ(31, seen);
		EXPECT_EQ(0, raw_free(self->r.fd, batch));
	}
}

/* A batch entry comes each time the batch becomes terminal. */
TEST_F_TIMEOUT(ring, batch_ends_twice, SLOW)
{
	struct te_completion c;
	struct te_request r;
	uint32_t batch, i;

	ASSERT_EQ(0, raw_batch(self->r.fd, 2, TE_ENTRIES_BATCH, &batch));
	for (i = 0; i < 2; i++) {
		r = req(&self->local, &self->remote, self->seg, i);
		ASSERT_EQ(0, raw_submit(self->r.fd, batch, &r, 1));
		EXPECT_EQ(0, raw_wait(self->r.fd, batch, TE_WAIT_MS));
		ASSERT_EQ(1, raw_next(&self->r, &c));
		EXPECT_EQ(TE_COMPLETED, c.state);
		EXPECT_EQ(64 * (i + 1), c.bytes);
		EXPECT_EQ(0, raw_next(&self->r, &c));
	}
	EXPECT_EQ(0, raw_free(self->r.fd, batch));
}

/* Status slots say the same as the ring, and are found as documented. */
TEST_F_TIMEOUT(ring, slots, SLOW)
{
	const struct te_slot *slot;
	struct te_request r[3];
	uint32_t batch, i, mask = self->r.setup.task_slots - 1;

	for (i = 0; i < 3; i++)
		r[i] = req(&self->local, &self->remote, self->seg, i);
	ASSERT_EQ(0, raw_batch(self->r.fd, 3, TE_ENTRIES_NONE, &batch));
	slot = &self->r.slots[batch & mask];
	EXPECT_EQ(batch, slot->batch);
	EXPECT_EQ(TE_WAITING, slot->state);
	EXPECT_EQ(0, slot->nr_tasks);
	ASSERT_EQ(0, raw_submit(self->r.fd, batch, r, 3));
	EXPECT_EQ(0, raw_wait(self->r.fd, batch, TE_WAIT_MS));
	EXPECT_EQ(TE_COMPLETED, slot->state);
	EXPECT_EQ(3, slot->nr_tasks);
	EXPECT_EQ(3 * 64, slot->bytes);
	for (i = 1; i <= 3; i++) {
		EXPECT_EQ(TE_COMPLETED, slot[i].state);
		EXPECT_EQ(0, slot[i].error);
		EXPECT_EQ(64, slot[i].bytes);
		EXPECT_EQ(0, slot[i].batch);
		EXPECT_EQ(0, slot[i].reserved);
	}
	EXPECT_EQ(0, raw_free(self->r.fd, batch));
	EXPECT_EQ(0, slot->batch);
}

TEST_F_TIMEOUT(ring, full, SLOW)
{
	struct te_completion c;
	struct te_request r[9];
	uint32_t batch, other, i, seen = 0;

	ASSERT_EQ(8, self->r.setup.cq_entries);
	for (i = 0; i < 9; i++)
		r[i] = req(&self->local, &self->remote, self->seg, i);
	ASSERT_EQ(0, raw_batch(self->r.fd, 20, TE_ENTRIES_TASK, &batch));
	EXPECT_EQ(-EBUSY, raw_submit(self->r.fd, batch, r, 9));
	ASSERT_EQ(0, raw_submit(self->r.fd, batch, r, 7));
	EXPECT_EQ(-EBUSY, raw_submit(self->r.fd, batch, r, 2));
	ASSERT_EQ(0, raw_submit(self->r.fd, batch, r + 7, 1));
	EXPECT_EQ(-EBUSY, raw_submit(self->r.fd, batch, r + 8, 1));
	EXPECT_EQ(0, raw_wait(self->r.fd, batch, TE_WAIT_MS));

	/* Done, but not taken: still full. Those that push nothing may go. */
	EXPECT_EQ(-EBUSY, raw_submit(self->r.fd, batch, r + 8, 1));
	ASSERT_EQ(0, raw_batch(self->r.fd, 1, TE_ENTRIES_NONE, &other));
	EXPECT_EQ(0, raw_submit(self->r.fd, other, r + 8, 1));
	EXPECT_EQ(0, raw_wait(self->r.fd, other, TE_WAIT_MS));
	EXPECT_EQ(0, raw_free(self->r.fd, other));
	ASSERT_EQ(0, raw_batch(self->r.fd, 1, TE_ENTRIES_BATCH, &other));
	EXPECT_EQ(-EBUSY, raw_submit(self->r.fd, other, r + 8, 1));
	EXPECT_EQ(0, raw_free(self->r.fd, other));

	EXPECT_EQ(0, raw_wait_entries(self->r.fd, 8, 0));
	ASSERT_EQ(1, raw_next(&self->r, &c));
	seen |= 1U << c.task;
	EXPECT_EQ(-ETIME, raw_wait_entries(self->r.fd, 8, 0));
	EXPECT_EQ(0, raw_submit(self->r.fd, batch, r + 8, 1));
	EXPECT_EQ(0, raw_wait(self->r.fd, batch, TE_WAIT_MS));
	for (i = 0; raw_next(&self->r, &c); i++) {
		EXPECT_EQ(TE_COMPLETED, c.state);
		EXPECT_EQ(0, seen & 1U << c.task);
		seen |= 1U << c.task;
	}
	EXPECT_EQ(8, i);
	EXPECT_EQ(0x1ff, seen);
	EXPECT_EQ(0, raw_free(self->r.fd, batch));
}

/* Entries of a batch stay in the ring when the batch has gone. */
TEST_F_TIMEOUT(ring, entries_outlive_batches, SLOW)
{
	struct te_completion c;
	struct te_request r;
	uint32_t batch[5], i;

	for (i = 0; i < 5; i++) {
		r = req(&self->local, &self->remote, self->seg, i);
		ASSERT_EQ(0, raw_batch(self->r.fd, 1, TE_ENTRIES_TASK,
				       &batch[i]));
		ASSERT_EQ(0, raw_submit(self->r.fd, batch[i], &r, 1));
		EXPECT_EQ(0, raw_wait(self->r.fd, batch[i], TE_WAIT_MS));
		EXPECT_EQ(0, raw_free(self->r.fd, batch[i]));
	}
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(1, raw_next(&self->r, &c));
		EXPECT_EQ(batch[i], c.batch);
		EXPECT_EQ(0xabcd000000000000ULL + i, c.user_data);
	}
}

/* Around the ring of eight more than a thousand times, never quite in step. */
TEST_F_TIMEOUT(ring, wraps, SLOW)
{
	enum { NR = 8192 };
	uint8_t *seen = calloc(NR, 1);
	struct te_request r[7];
	struct te_completion c;
	uint32_t batch, i, n, sent = 0, got = 0;
	uint64_t which;

	ASSERT_NE(NULL, seen);
	while (got < NR) {
		n = 1 + sent % 7;
		if (n > NR - sent)
			n = NR - sent;
		for (i = 0; i < n; i++)
			r[i] = req(&self->local, &self->remote, self->seg,
				   sent + i);
		ASSERT_EQ(0, raw_batch(self->r.fd, n ?: 1, TE_ENTRIES_TASK,
				       &batch));
		if (n)
			ASSERT_EQ(0, raw_submit(self->r.fd, batch, r, n));
		sent += n;
		ASSERT_EQ(0, raw_wait(self->r.fd, batch, TE_WAIT_MS));
		while (raw_next(&self->r, &c)) {
			which = c.user_data - 0xabcd000000000000ULL;
			ASSERT_GT(NR, which);
			ASSERT_EQ(0, seen[which]++);
			ASSERT_EQ(TE_COMPLETED, c.state);
			got++;
		}
		ASSERT_EQ(0, raw_free(self->r.fd, batch));
		ASSERT_EQ(sent, got);
	}
	EXPECT_EQ(NR, self->r.ring->tail);
	memcpy(self->remote.want, self->local.want, LEN);
	EXPECT_EQ(0, area_check(&self->remote, "remote memory"));
	free(seen);
}

TEST_F_TIMEOUT(ring, impossible_heads, SLOW)
{
	static const int32_t off[] = { 1, 2, 100, 0x7fffffff, -9, -100,
				       -0x7fffffff - 1 };
	struct te_completion c;
	struct te_request r;
	uint32_t batch, head, i;

	/* Two entries in the ring: head 0, tail 2. */
	ASSERT_EQ(0, raw_batch(self->r.fd, 20, TE_ENTRIES_TASK, &batch));
	for (i = 0; i < 2; i++) {
		r = req(&self->local, &self->remote, self->seg, i);
		ASSERT_EQ(0, raw_submit(self->r.fd, batch, &r, 1));
	}
	ASSERT_EQ(0, raw_wait(self->r.fd, batch, TE_WAIT_MS));
	ASSERT_EQ(2, self->r.ring->tail);
	for (i = 0; i < ROWS(off); i++) {
		head = 2u + off[i];
		__atomic_store_n(&self->r.ring->head, head, __ATOMIC_RELEASE);
		EXPECT_ROW(-EBADFD, raw_submit(self->r.fd, batch, &r, 1),
			   "head %#x", head);
		EXPECT_ROW(-EBADFD, raw_wait_entries(self->r.fd, 1, 0),
			   "head %#x", head);
	}
	/* Other words of the page are the process's own; only head counts. */
	memset(self->r.ring->reserved0, 0xff, sizeof(self->r.ring->reserved0));
	memset(self->r.ring->reserved1, 0xff, sizeof(self->r.ring->reserved1));
	/* Entries too: what the process writes there means nothing. */
	memset((void *)self->r.entries, 0xff, 8 * sizeof(c));
	raw_close(&self->r);
	EXPECT_EQ(0, area_check(&self->local, "local memory"));
}

/* The tail is the kernel's: writing to it confuses nobody but the reader. */
TEST_F_TIMEOUT(ring, scribbled_tail, SLOW)
{
	struct te_completion c;
	struct te_request r;
	uint32_t batch, i;

	ASSERT_EQ(0, raw_batch(self->r.fd, 8, TE_ENTRIES_TASK, &batch));
	for (i = 0; i < 8; i++) {
		self->r.ring->tail = 0xdeadbeef;
		r = req(&self->local, &self->remote, self->seg, i);
		ASSERT_EQ(0, raw_submit(self->r.fd, batch, &r, 1));
		ASSERT_EQ(0, raw_wait(self->r.fd, batch, TE_WAIT_MS));
		EXPECT_EQ(i + 1, self->r.ring->tail);
		ASSERT_EQ(1, raw_next(&self->r, &c));
		EXPECT_EQ(r.user_data, c.user_data);
	}
}

struct scribbler {
	struct te_ring_hdr *ring;
	bool stop;
};

static void *scribble(void *arg)
{
	struct scribbler *s = arg;
	uint64_t x = 88172645463325252ULL;

	while (!__atomic_load_n(&s->stop, __ATOMIC_RELAXED)) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		/* Near the truth more often than not. */
		__atomic_store_n(&s->ring->head, x & 1 ? x >> 32 :
				 s->ring->tail - (x >> 32) % 16,
				 __ATOMIC_RELEASE);
	}
	return NULL;
}

/*
 * A head that changes all the time while work goes on: each call does its work
 * or says why not, and a context beside it notices nothing.
 */
TEST_F_TIMEOUT(ring, scribbled_head, SLOW)
{
	struct scribbler s = { .ring = self->r.ring };
	unsigned int done = 0, bad = 0, busy = 0, i;
	struct te_request r;
	struct pair p;
	pthread_t t;
	uint32_t batch;
	int ret;

	ASSERT_EQ(0, pair_open(&p, NULL));
	ASSERT_EQ(0, pthread_create(&t, NULL, scribble, &s));
	for (i = 0; i < 300; i++) {
		r = req(&self->local, &self->remote, self->seg, i);
		ret = raw_batch(self->r.fd, 1, TE_ENTRIES_TASK, &batch);
		ASSERT_EQ(0, ret);
		/* With one CPU the scribbler runs only when we do not. */
		usleep(10);
		ret = raw_submit(self->r.fd, batch, &r, 1);
		done += !ret;
		bad += ret == -EBADFD;
		busy += ret == -EBUSY;
		ASSERT_TRUE(!ret || ret == -EBADFD || ret == -EBUSY) {
			TH_LOG("submit: %d", ret);
		}
		ret = raw_wait_entries(self->r.fd, 1, 0);
		ASSERT_TRUE(!ret || ret == -EBADFD || ret == -ETIME) {
			TH_LOG("wait: %d", ret);
		}
		/* Waiting for the batch needs no ring. */
		ret = raw_wait(self->r.fd, batch, TE_WAIT_MS);
		ASSERT_TRUE(!ret || ret == -EBADFD) {
			TH_LOG("wait for the batch: %d", ret);
		}
		while ((ret = raw_free(self->r.fd, batch)) == -EBUSY)
			te_sleep_ms(1);
		ASSERT_EQ(0, ret);
		if (i % 10 == 0)
			ASSERT_EQ(0, pair_xfer(&p, i & 1, 8 * KIB + i, 9 * KIB,
					       3000));
	}
	s.stop = true;
	pthread_join(t, NULL);
	TH_LOG("%u done, %u bad head, %u full", done, bad, busy);
	EXPECT_LE(1, done);
	EXPECT_LE(1, bad);
	EXPECT_EQ(0, pair_check(&p));
	pair_close(&p);
}

TEST_HARNESS_MAIN

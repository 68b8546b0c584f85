// SPDX-License-Identifier: GPL-2.0-only
/*
 * One context used by several threads: te_poll() gives each entry to exactly one
 * of them, and threads that submit to one batch or to their own do not disturb
 * each other.
 */
#include <pthread.h>
#include <stdlib.h>

#include "lib/test.h"
#include "lib/pair.h"

#define NR	12000
#define EACH	100		/* tasks of a batch */
#define POLLERS	3

FIXTURE(threads)
{
	struct pair p;
};

FIXTURE_SETUP(threads)
{
	struct pair_opts o = { .cq_entries = 256 };

	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, pair_open(&self->p, &o));
}

FIXTURE_TEARDOWN(threads)
{
	pair_close(&self->p);
	CLEAN();
}

struct poller {
	struct te *te;
	uint8_t *seen;
	uint32_t *total;
	uint32_t took, wrong;
};

static void *poll_entries(void *arg)
{
	struct poller *p = arg;
	struct te_completion c[16];
	int i, n;

	while (__atomic_load_n(p->total, __ATOMIC_RELAXED) < NR) {
		n = te_poll(p->te, c, 1 + p->took % 16);
		if (n < 0)
			p->wrong++;
		if (n <= 0) {
			raw_wait_entries(te_fd(p->te), 1, 20);
			continue;
		}
		for (i = 0; i < n; i++)
			if (c[i].user_data >= NR || c[i].state != TE_COMPLETED ||
			    __atomic_fetch_add(&p->seen[c[i].user_data], 1,
					       __ATOMIC_RELAXED))
				p->wrong++;
		p->took += n;
		__atomic_fetch_add(p->total, n, __ATOMIC_RELAXED);
	}
	return NULL;
}

TEST_F_TIMEOUT(threads, each_entry_once, SLOW)
{
	uint8_t *seen = calloc(NR, 1);
	struct poller p[POLLERS];
	struct te_batch_opts o = {
		.sz = sizeof(o),
		.entries = TE_ENTRIES_TASK,
	};
	struct te_request r[EACH];
	uint32_t batch, total = 0, i, k;
	pthread_t t[POLLERS];
	int ret;

	ASSERT_NE(NULL, seen);
	for (i = 0; i < POLLERS; i++) {
		p[i] = (struct poller) { self->p.ini, seen, &total, 0, 0 };
		ASSERT_EQ(0, pthread_create(&t[i], NULL, poll_entries, &p[i]));
	}
	for (i = 0; i < NR; i += EACH) {
		for (k = 0; k < EACH; k++) {
			r[k] = pair_req(&self->p, TE_WRITE, 8 * KIB + k * 32,
					8 * KIB + k * 32, 32);
			r[k].user_data = i + k;
		}
		ASSERT_EQ(0, te_batch_alloc(self->p.ini, EACH, &o, &batch));
		while ((ret = te_submit(self->p.ini, batch, r, EACH)) == -EBUSY)
			te_sleep_ms(1);
		ASSERT_EQ(0, ret);
		ASSERT_EQ(0, te_wait(self->p.ini, batch, TE_WAIT_MS));
		ASSERT_EQ(0, te_batch_free(self->p.ini, batch));
	}
	for (i = 0; i < POLLERS; i++) {
		pthread_join(t[i], NULL);
		EXPECT_EQ(0, p[i].wrong);
	}
	EXPECT_EQ(NR, total);
	for (i = 0; i < NR; i++)
		MUST(seen[i] != 1);
	for (k = 0; k < EACH; k++)
		pair_expect(&self->p, &r[k]);
	EXPECT_EQ(0, pair_check(&self->p));
	free(seen);
}

struct submitter {
	struct pair *p;
	uint32_t batch;		/* 0: own ones */
	unsigned int index, errors;
};

static void *submit_loop(void *arg)
{
	struct submitter *s = arg;
	struct te_request r = pair_req(s->p, TE_WRITE,
				       8 * KIB + s->index * 4 * KIB,
				       8 * KIB + s->index * 4 * KIB, 4000);
	uint32_t batch = s->batch;
	struct te_status st;
	int i;

	for (i = 0; i < 200; i++) {
		if (!s->batch)
			s->errors += !!te_batch_alloc(s->p->ini, 1, NULL,
						      &batch);
		s->errors += !!te_submit(s->p->ini, batch, &r, 1);
		if (s->batch)
			continue;
		s->errors += !!te_wait(s->p->ini, batch, TE_WAIT_MS);
		s->errors += !!te_status(s->p->ini, batch, 0, &st);
		s->errors += st.state != TE_COMPLETED || st.bytes != 4000;
		s->errors += !!te_batch_free(s->p->ini, batch);
	}
	return NULL;
}

static unsigned int submit_together(struct pair *p, uint32_t batch)
{
	struct submitter s[4];
	unsigned int errors = 0;
	struct te_request r;
	pthread_t t[4];
	int i;

	for (i = 0; i < 4; i++) {
		s[i] = (struct submitter) { p, batch, i, 0 };
		if (pthread_create(&t[i], NULL, submit_loop, &s[i]))
			return ~0U;
	}
	for (i = 0; i < 4; i++) {
		pthread_join(t[i], NULL);
		errors += s[i].errors;
		r = pair_req(p, TE_WRITE, 8 * KIB + i * 4 * KIB,
			     8 * KIB + i * 4 * KIB, 4000);
		pair_expect(p, &r);
	}
	return errors;
}

TEST_F_TIMEOUT(threads, own_batches, SLOW)
{
	EXPECT_EQ(0, submit_together(&self->p, 0));
	EXPECT_EQ(0, pair_check(&self->p));
}

TEST_F_TIMEOUT(threads, one_batch, SLOW)
{
	struct te_status st;
	uint32_t batch;

	ASSERT_EQ(0, te_batch_alloc(self->p.ini, 800, NULL, &batch));
	EXPECT_EQ(0, submit_together(&self->p, batch));
	EXPECT_EQ(0, te_wait(self->p.ini, batch, TE_WAIT_MS));
	EXPECT_EQ(0, te_batch_status(self->p.ini, batch, &st));
	EXPECT_EQ(TE_COMPLETED, st.state);
	EXPECT_EQ(800 * 4000, st.bytes);
	EXPECT_EQ(0, pair_check(&self->p));
	EXPECT_EQ(0, te_batch_free(self->p.ini, batch));
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many at once: contexts that open one segment in the same moment, and contexts
 * that open each other in a ring.
 */
#include <pthread.h>

#include "lib/test.h"
#include "lib/module.h"
#include "lib/pair.h"

#define EACH	4096

/* One request that must complete. */
static int move(struct te *te, const struct te_request *r)
{
	struct te_batch_opts o = { .sz = sizeof(o), .deadline_ms = 120000 };
	struct te_status st;
	uint32_t batch;
	int ret;

	ret = te_batch_alloc(te, 1, &o, &batch);
	ret = ret ?: te_submit(te, batch, r, 1);
	ret = ret ?: te_wait(te, batch, 2 * TE_WAIT_MS);
	ret = ret ?: te_status(te, batch, 0, &st);
	if (ret)
		return ret;
	if (st.state != TE_COMPLETED || st.bytes != r->length) {
		printf("# state %u error %d\n", st.state, st.error);
		return -EBADMSG;
	}
	return te_batch_free(te, batch);
}

struct member {
	pthread_t thread;
	pthread_barrier_t *start;
	const char *name;
	unsigned int nr;
	unsigned char *remote;
	int ret;
};

/* A context of its own that writes its own page of the target. */
static int come(struct member *m)
{
	struct te_open_opts oo = {
		.sz = sizeof(oo), .cq_entries = 16, .task_slots = 16,
	};
	struct te_request r = {
		.opcode = TE_WRITE,
		.remote_addr = (uintptr_t)m->remote + m->nr * EACH,
		.length = EACH,
	};
	static __thread unsigned char page[EACH];
	struct te *te;
	uint32_t mr;
	int ret;

	pattern_fill(page, EACH, 1000 + m->nr);
	r.local_addr = (uintptr_t)page;
	pthread_barrier_wait(m->start);
	ret = te_open(&te, &oo);
	if (ret)
		return ret;
	ret = te_mr_register(te, page, EACH, TE_LOCAL_READ, NULL, &mr);
	/* Half of them have a session, and so an endpoint, of their own. */
	if (m->nr & 1)
		ret = ret ?: te_open_segment_at(te, m->nr, m->name,
						&r.segment);
	else
		ret = ret ?: te_open_segment(te, m->name, &r.segment);
	ret = ret ?: move(te, &r);
	te_close(te);
	return ret;
}

static void *come_thread(void *arg)
{
	struct member *m = arg;

	m->ret = come(m);
	return NULL;
}

FIXTURE(many)
{
	struct pair p;
};

FIXTURE_SETUP(many)
{
	ASSERT_EQ(0, te_settle());
}

FIXTURE_TEARDOWN(many)
{
	pair_close(&self->p);
	CLEAN();
	ASSERT_EQ(0, module_reload(""));
}

/*
 * The first use of everything there is, by 512 in the same moment: a peer that 256
 * of them use, and 256 peers.
 */
TEST_F_TIMEOUT(many, at_once, SLOW)
{
	enum { NR = 512 };
	const unsigned int nr = native() ? NR : NR / 2;
	static struct member m[NR];
	struct pair_opts o = { .remote = NR * EACH, .margin = ~0UL };
	pthread_barrier_t start;
	unsigned int i;

	ASSERT_EQ(0, module_reload(""));
	ASSERT_EQ(0, pair_open(&self->p, &o));
	pthread_barrier_init(&start, NULL, nr);
	for (i = 0; i < nr; i++) {
		m[i] = (struct member) {
			.start = &start, .name = self->p.name, .nr = i,
			.remote = self->p.remote.p,
		};
		MUST(pthread_create(&m[i].thread, NULL, come_thread, &m[i]));
		pattern_fill(self->p.remote.want + i * EACH, EACH, 1000 + i);
	}
	for (i = 0; i < nr; i++) {
		pthread_join(m[i].thread, NULL);
		EXPECT_ROW(0, m[i].ret, "number %u", i);
	}
	EXPECT_EQ(0, pair_check(&self->p));
}

#define RINGERS	3

struct ringer {
	pthread_t thread;
	pthread_barrier_t *turn;
	struct ringer *next;
	struct te *te;
	struct area mem;	/* one page for each neighbour */
	char name[48];
	unsigned int nr, rounds;
	int ret;
};

/* Each round opens the next one anew, at an address nobody has dialled yet. */
static void *ring_thread(void *arg)
{
	struct ringer *g = arg;
	struct te_request r = { .opcode = TE_WRITE, .length = EACH };
	unsigned int i;

	r.local_addr = (uintptr_t)g->mem.p;
	r.remote_addr = (uintptr_t)g->next->mem.p + EACH;
	for (i = 0; i < g->rounds; i++) {
		pattern_fill(g->mem.p, EACH, i * RINGERS + g->nr);
		pthread_barrier_wait(g->turn);
		g->ret = g->ret ?: te_open_segment_at(g->te,
						      i * RINGERS + g->nr,
						      g->next->name,
						      &r.segment);
		g->ret = g->ret ?: move(g->te, &r);
		g->ret = g->ret ?: te_segment_close(g->te, r.segment);
		if (!g->ret && memcmp(g->mem.p, g->next->mem.p + EACH, EACH))
			g->ret = -EILSEQ;
		pthread_barrier_wait(g->turn);
	}
	return NULL;
}

TEST_F_TIMEOUT(many, each_other, SLOW)
{
	static struct ringer g[RINGERS];
	pthread_barrier_t turn;
	struct te_rdma base;
	unsigned int i;
	uint32_t mr;

	ASSERT_EQ(0, te_settle_all());
	ASSERT_EQ(0, te_rdma(&base));
	ASSERT_EQ(0, pair_open(&self->p, NULL));
	pthread_barrier_init(&turn, NULL, RINGERS);
	for (i = 0; i < RINGERS; i++) {
		g[i] = (struct ringer) {
			.turn = &turn, .next = &g[(i + 1) % RINGERS],
			.nr = i, .rounds = native() ? 1000 : 60,
		};
		snprintf(g[i].name, sizeof(g[i].name), "%s", te_unique_name());
		ASSERT_EQ(0, area_alloc(&g[i].mem, 2 * EACH));
		ASSERT_EQ(0, te_open(&g[i].te, NULL));
		ASSERT_EQ(0, te_mr_register(g[i].te, g[i].mem.p, EACH,
					    TE_LOCAL_READ, NULL, &mr));
		ASSERT_EQ(0, te_mr_register(g[i].te, g[i].mem.p + EACH, EACH,
					    TE_REMOTE_WRITE, NULL, &mr));
		ASSERT_EQ(0, te_segment_export(g[i].te, g[i].name, NULL));
	}
	for (i = 0; i < RINGERS; i++)
		MUST(pthread_create(&g[i].thread, NULL, ring_thread, &g[i]));
	for (i = 0; i < RINGERS; i++) {
		pthread_join(g[i].thread, NULL);
		EXPECT_ROW(0, g[i].ret, "number %u", i);
	}
	for (i = 0; i < RINGERS; i++) {
		te_close(g[i].te);
		area_free(&g[i].mem);
	}
	pair_close(&self->p);
	/* No QP is left over, nor anything else of the devices. */
	EXPECT_EQ(0, te_settle_all());
	EXPECT_EQ(0, te_rdma_settle(&base));
}

TEST_HARNESS_MAIN

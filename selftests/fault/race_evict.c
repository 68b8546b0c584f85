// SPDX-License-Identifier: GPL-2.0-only
/*
 * Eviction against posting: a store with room for one endpoint, a mover for each
 * shard, more peers than that.
 */
#include <dirent.h>
#include <stddef.h>

#include "lib/test.h"
#include "lib/fault.h"
#include "lib/module.h"
#include "lib/pair.h"

#define LEN	(16 * KIB)
#define AT	(8 * KIB)
#define PEERS	8

FIXTURE(race_evict)
{
	struct pair p;
	uint32_t seg[PEERS], batch[PEERS];
};

FIXTURE_SETUP(race_evict)
{
	struct te_batch_opts bo = {
		.sz = sizeof(bo),
		.deadline_ms = TE_MAX_DEADLINE_MS,
		.entries = TE_ENTRIES_TASK,
	};
	struct pair *p = &self->p;
	int i;

	ASSERT_EQ(0, module_reload("max_ep=1 workers_per_dev=8"));
	ASSERT_EQ(0, pair_open(p, NULL));
	for (i = 0; i < PEERS; i++) {
		MUST(te_open_segment_at(p->ini, i, p->name, &self->seg[i]));
		MUST(te_batch_alloc(p->ini, 1, &bo, &self->batch[i]));
	}
	p->seg = self->seg[0];
	ASSERT_EQ(0, pair_xfer(p, TE_WRITE, AT, AT, LEN));
}

FIXTURE_TEARDOWN(race_evict)
{
	pair_close(&self->p);
	CLEAN();
	EXPECT_EQ(0, te_settle_all());
	EXPECT_EQ(0, module_reload(""));
}

/* One WRITE to each peer, to a place of its own. */
static int submit(struct pair *p, const uint32_t *seg, const uint32_t *batch,
		  int i)
{
	struct te_request r = pair_req(p, TE_WRITE, AT + i * LEN, AT + i * LEN,
				       LEN);

	r.segment = seg[i];
	pair_expect(p, &r);
	return te_submit(p->ini, batch[i], &r, 1);
}

static int nr_in(struct pair *p, const uint32_t *batch, uint32_t state)
{
	struct te_status st;
	int i, n = 0;

	for (i = 0; i < PEERS; i++)
		n += !te_status(p->ini, batch[i], 0, &st) && st.state == state;
	return n;
}

/* All completed, each with one entry and all its bytes. */
static int all_moved(struct pair *p, const uint32_t *batch)
{
	struct te_completion c[PEERS + 1];
	int i, n = 0;

	for (i = 0; i < PEERS; i++)
		if (te_wait(p->ini, batch[i], TE_WAIT_MS))
			return -ETIME;
	if (nr_in(p, batch, TE_COMPLETED) != PEERS ||
	    te_poll(p->ini, c, PEERS + 1) != PEERS)
		return -EBADMSG;
	for (i = 0; i < PEERS; i++)
		n += c[i].state == TE_COMPLETED && c[i].bytes == LEN;
	return n == PEERS ? pair_check(p) : -EBADMSG;
}

/* Found by its mover, and evicted by another before it is kept. */
TEST_F_TIMEOUT(race_evict, found_but_evicted, SLOW)
{
	unsigned long long end = te_now_ms() + TE_WAIT_MS;
	struct te_ioc_stats before, now;
	struct pair *p = &self->p;
	int i;

	/* One place in all: who takes it evicts the one that was found. */
	ASSERT_EQ(0, pair_carry_only(p, getenv("TE_DEV_A")));
	ASSERT_EQ(0, pair_xfer(p, TE_WRITE, AT, AT, LEN));
	ASSERT_EQ(0, te_stats(&before));
	te_hold("ep_found");
	ASSERT_EQ(0, submit(p, self->seg, self->batch, 0));
	ASSERT_EQ(0, te_delay_wait("ep_found", 1));
	for (i = 1; i < PEERS; i++)
		MUST(submit(p, self->seg, self->batch, i));
	/* Not all of them are served by the mover that is held. */
	do {
		te_sleep_ms(1);
		ASSERT_EQ(0, te_stats(&now));
	} while (now.store_evictions == before.store_evictions &&
		 te_now_ms() < end);
	EXPECT_LT(before.store_evictions, now.store_evictions);
	EXPECT_EQ(0, te_delay_wait("ep_found", 1));
	te_delay_release("ep_found");
	EXPECT_EQ(0, all_moved(p, self->batch));
	/* One made for each of the others, and a new one for who was held. */
	ASSERT_EQ(0, te_stats(&now));
	EXPECT_LE(before.store_misses + PEERS, now.store_misses);
}

static unsigned int nr_devs(void)
{
	DIR *dir = opendir("/sys/class/infiniband");
	struct dirent *entry;
	unsigned int n = 0;

	while (dir && (entry = readdir(dir)))
		n += entry->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return n;
}

/*
 * What it posted has completed, but it has not let go: nobody evicts it. Each dev
 * has one place, and whoever takes it is held.
 */
TEST_F_TIMEOUT(race_evict, busy_is_not_evicted, SLOW)
{
	struct pair *p = &self->p;
	int i;

	te_delay_arm("task_end", TE_HOLD_MS, nr_devs());
	ASSERT_EQ(0, submit(p, self->seg, self->batch, 0));
	ASSERT_EQ(0, te_delay_wait("task_end", 1));
	for (i = 1; i < PEERS; i++)
		MUST(submit(p, self->seg, self->batch, i));
	/* Long enough for movers that have no room to try ten times. */
	te_sleep_ms(200);
	EXPECT_EQ(PEERS, nr_in(p, self->batch, TE_PENDING));
	EXPECT_EQ(0, te_delay_wait("task_end", 1));
	te_delay_release("task_end");
	EXPECT_EQ(0, all_moved(p, self->batch));
}

TEST_HARNESS_MAIN

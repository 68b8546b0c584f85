// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copy-on-write: a registered page is the one that its process goes on seeing,
 * whether it was shared with a child before or is after, and whoever writes
 * first. Parent and child keep what is theirs, to the byte.
 */
#include <sys/mman.h>

#include "lib/test.h"
#include "lib/proc.h"

#define LEN	(64 * KIB)

FIXTURE(cow)
{
	struct pair p;
	struct te_ioc_stats base;
};

FIXTURE_SETUP(cow)
{
	struct pair_opts o = { .remote = 2 * LEN, .margin = ~0UL };

	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, pair_open(&self->p, &o));
	ASSERT_EQ(0, te_stats(&self->base));
}

FIXTURE_TEARDOWN(cow)
{
	pair_close(&self->p);
	CLEAN();
}

struct row {
	const char *desc;
	uint32_t access;
	bool fork_first;	/* shared with the child when it is pinned */
	bool child_first;	/* the child writes before the parent does */
	bool untouched;		/* no page is there before */
	int prot;		/* when it is pinned */
};

#define RW	(PROT_READ | PROT_WRITE)
#define RO	PROT_READ

static const struct row rows[] = {
	{ "fork, source, parent writes", TE_LOCAL_READ, true, false, false,
	  RW },
	{ "fork, source, child writes", TE_LOCAL_READ, true, true, false, RW },
	{ "fork, both, parent writes", TE_LOCAL_ALL, true, false, false, RW },
	{ "fork, both, child writes", TE_LOCAL_ALL, true, true, false, RW },
	{ "source, fork, parent writes", TE_LOCAL_READ, false, false, false,
	  RW },
	{ "source, fork, child writes", TE_LOCAL_READ, false, true, false,
	  RW },
	{ "both, fork, parent writes", TE_LOCAL_ALL, false, false, false, RW },
	{ "both, fork, child writes", TE_LOCAL_ALL, false, true, false, RW },
	{ "fork, read-only source", TE_LOCAL_READ, true, false, false, RO },
	{ "fork, read-only source, child writes", TE_LOCAL_READ, true, true,
	  false, RO },
	{ "fork, untouched source", TE_LOCAL_READ, true, false, true, RW },
	{ "fork, untouched, both", TE_LOCAL_ALL, true, true, true, RW },
	{ "untouched source, fork", TE_LOCAL_READ, false, false, true, RW },
};

struct child {
	unsigned char *mem;
	unsigned int seed;	/* 0: zeroes */
};

static bool holds(const unsigned char *mem, unsigned int seed)
{
	static const unsigned char zero[LEN];

	return seed ? pattern_check(mem, LEN, seed) < 0 :
		      !memcmp(mem, zero, LEN);
}

/* 'w' writes its own, 'k' looks whether it has what it should. */
static int be_child(void *arg, int in, int out)
{
	struct child *c = arg;
	char order;

	mprotect(c->mem, LEN, RW);
	while (!proc_put(out, "r", 1) && read(in, &order, 1) == 1) {
		if (order == 'w')
			pattern_fill(c->mem, LEN, c->seed = 60);
		else if (!holds(c->mem, c->seed))
			return 1;
	}
	return holds(c->mem, c->seed) ? 0 : 2;
}

static int order(struct proc *p, char what)
{
	char c;

	return proc_put(p->to, &what, 1) ?: proc_get(p->from, &c, 1);
}

static int start(struct proc *p, struct child *c)
{
	char ready;

	return proc_start(p, be_child, c) ?: proc_get(p->from, &ready, 1);
}

/* @mr is registered and the child lives: both see their own, and only that. */
static int share(struct pair *p, const struct row *row, struct proc *child,
		 unsigned char *mem)
{
	int i, ret = 0;

	for (i = 0; i < 2 && !ret; i++) {
		if ((i == 0) == row->child_first) {
			ret = order(child, 'w');
		} else {
			mprotect(mem, LEN, RW);
			pattern_fill(mem, LEN, 61);
			ret = order(child, 'k');
		}
	}
	ret = ret ?: pair_move(p, TE_WRITE, mem, 0, LEN);
	if (!ret && pattern_check(p->remote.p, LEN, 61) >= 0)
		ret = -EBADMSG;
	if (ret || !(row->access & TE_LOCAL_WRITE))
		return ret;
	ret = pair_move(p, TE_READ, mem, LEN, LEN) ?: order(child, 'k');
	if (!ret && memcmp(mem, p->remote.p + LEN, LEN))
		ret = -EILSEQ;
	return ret;
}

TEST_F_TIMEOUT(cow, table, SLOW)
{
	const struct row *row;
	struct proc child;
	struct child c;
	uint32_t mr;
	size_t i;

	for (i = 0; i < ROWS(rows); i++) {
		row = &rows[i];
		c.mem = mmap(NULL, LEN, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		ASSERT_NE(MAP_FAILED, (void *)c.mem);
		c.seed = row->untouched ? 0 : 59;
		if (c.seed)
			pattern_fill(c.mem, LEN, c.seed);
		if (row->fork_first)
			MUST(start(&child, &c));
		mprotect(c.mem, LEN, row->prot);
		MUST(te_mr_register(self->p.ini, c.mem, LEN, row->access, NULL,
				    &mr));
		if (!row->fork_first)
			MUST(start(&child, &c));
		EXPECT_ROW(0, share(&self->p, row, &child, c.mem), "%s",
			   row->desc);
		close(child.to);
		child.to = -1;
		EXPECT_ROW(0, proc_wait(&child), "%s", row->desc);
		/* The child is gone, and all is as it was. */
		EXPECT_ROW(0, pair_move(&self->p, TE_WRITE, c.mem, 0, LEN),
			   "%s", row->desc);
		EXPECT_ROW(0, memcmp(self->p.remote.p, c.mem, LEN), "%s",
			   row->desc);
		MUST(te_mr_unregister(self->p.ini, mr, 0));
		munmap(c.mem, LEN);
		EXPECT_ROW(0, te_settle_to(&self->base), "%s", row->desc);
	}
}

TEST_HARNESS_MAIN

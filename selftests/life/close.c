// SPDX-License-Identifier: GPL-2.0-only
/*
 * Other ways to leave with work in flight: close, exit, exec. Close does not wait
 * for the wire; when te's counts are back, nothing touches the memory any more.
 */
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/test.h"
#include "lib/proc.h"

#define LEN	(64 * MIB)
#define NR	200	/* 12.8 GB: none of the ways out waits for that */

FIXTURE(leave)
{
	struct pair p;
};

FIXTURE_VARIANT(leave)
{
	uint32_t op;
};

FIXTURE_VARIANT_ADD(leave, read) { TE_READ };
FIXTURE_VARIANT_ADD(leave, write) { TE_WRITE };

FIXTURE_SETUP(leave)
{
	struct pair_opts o = { .remote = LEN, .margin = ~0UL };

	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, pair_open(&self->p, &o));
}

FIXTURE_TEARDOWN(leave)
{
	pair_close(&self->p);
	CLEAN();
}

/* A context with NR requests in flight. */
static int start(const struct pair *p, uint32_t op, struct area *a,
		 struct te **te)
{
	struct te_batch_opts o = {
		.sz = sizeof(o),
		.deadline_ms = TE_MAX_DEADLINE_MS,
	};
	struct te_request r[NR];
	uint32_t mr, seg, batch, i;
	int ret;

	ret = area_alloc(a, LEN);
	ret = ret ?: te_open(te, NULL);
	ret = ret ?: te_mr_register(*te, a->p, LEN, TE_LOCAL_ALL, NULL, &mr);
	ret = ret ?: te_open_segment(*te, p->name, &seg);
	ret = ret ?: te_batch_alloc(*te, NR, &o, &batch);
	for (i = 0; i < NR; i++)
		r[i] = (struct te_request) {
			.opcode = op,
			.segment = seg,
			.local_addr = (uintptr_t)a->p,
			.remote_addr = (uintptr_t)p->remote.p,
			.length = LEN,
		};
	return ret ?: te_submit(*te, batch, r, NR);
}

TEST_F_TIMEOUT(leave, close, SLOW)
{
	struct te_ioc_stats base, s;
	long pinned = te_vm_pin_kib();
	unsigned long long from;
	struct te *te;
	struct area a;

	ASSERT_EQ(0, te_stats(&base));
	ASSERT_EQ(0, start(&self->p, variant->op, &a, &te));
	ASSERT_EQ(0, te_stats(&s));
	EXPECT_NE(0, s.tasks);
	from = te_now_ms();
	te_close(te);
	EXPECT_GE(10000, te_now_ms() - from);
	EXPECT_EQ(0, te_settle_to(&base));
	EXPECT_EQ(pinned, te_vm_pin_kib());

	area_fill(&a, 99);
	area_fill(&self->p.remote, 98);
	te_sleep_ms(300);
	EXPECT_EQ(0, area_check(&a, "memory of a closed context"));
	EXPECT_EQ(0, area_check(&self->p.remote, "its target"));
	EXPECT_EQ(0, pair_xfer(&self->p, variant->op, 0, 0, 256 * KIB));
	area_free(&a);
}

static struct pair *shared;
static uint32_t shared_op;

/* Ends as @arg says: by exit, by a fatal signal of its own, by exec. */
static int leave_how(void *arg, int in, int out)
{
	const char *how = arg;
	struct area a;
	struct te *te;

	(void)in;
	if (start(shared, shared_op, &a, &te))
		return 1;
	if (proc_put(out, "g", 1))
		return 2;
	if (*how == 'm')
		munmap(a.p, a.len);
	if (*how == 'a')
		abort();
	if (*how == 'x')
		execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
	return 0;
}

TEST_F_TIMEOUT(leave, process_ends, SLOW)
{
	static const struct {
		const char *desc;
		int status;
	} rows[] = {
		{ "exit", 0 },
		{ "munmap, then exit", 0 },
		{ "abort", 128 + SIGABRT },
		{ "x: exec", 7 },
	};
	struct te_ioc_stats base;
	struct proc child;
	size_t i;
	char c;

	shared = &self->p;
	shared_op = variant->op;
	ASSERT_EQ(0, te_stats(&base));
	for (i = 0; i < ROWS(rows); i++) {
		ASSERT_EQ(0, proc_start(&child, leave_how,
					(void *)rows[i].desc));
		ASSERT_EQ(0, proc_get(child.from, &c, 1));
		EXPECT_ROW(rows[i].status, proc_wait(&child), "%s",
			   rows[i].desc);
		EXPECT_ROW(0, te_settle_to(&base), "%s", rows[i].desc);
		area_fill(&self->p.remote, 70 + i);
		EXPECT_ROW(0, pair_xfer(&self->p, variant->op, 0, 0,
					256 * KIB), "after %s", rows[i].desc);
	}
}

TEST_HARNESS_MAIN

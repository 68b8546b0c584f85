// SPDX-License-Identifier: GPL-2.0-only
/*
 * event/count: sums of the per-CPU object counts, and the last look at them.
 */
#include <linux/cpumask.h>
#include <linux/printk.h>

#include "event/count.h"

DEFINE_PER_CPU(struct te_counts, te_counts);

static const char *const te_kind_name[TE_NR_KINDS] = {
	[TE_NR_CONTEXTS]	= "contexts",
	[TE_NR_MRS]		= "mrs",
	[TE_NR_PINNED_PAGES]	= "pinned pages",
	[TE_NR_BATCHES]		= "batches",
	[TE_NR_TASKS]		= "tasks",
	[TE_NR_SEGMENTS]	= "segments",
	[TE_NR_EXPORTS]		= "exports",
	[TE_NR_SESSIONS]	= "sessions",
	[TE_NR_ENDPOINTS]	= "endpoints",
	[TE_NR_STORED]		= "stored endpoints",
	[TE_NR_CONNS]		= "connections of peers",
	[TE_NR_SLICES]		= "slices",
};

long te_count_sum(enum te_counter which)
{
	long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu(te_counts, cpu).nr[which]);
	return sum;
}

void te_count_check(void)
{
	int i;

	for (i = 0; i < TE_NR_KINDS; i++) {
		long left = te_count_sum(i);

		if (left)
			pr_err("BUG: te: %ld %s left at unload\n", left,
			       te_kind_name[i]);
	}
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * event/count: how many objects of each kind live on this node, and how often
 * some things happened since load.
 *
 * One number per CPU and kind, so that counting costs the data path no shared
 * cache line. Any context may count. TE_IOC_STATS reads the sums, and unload
 * complains of what is left.
 */
#ifndef TE_COUNT_H
#define TE_COUNT_H

#include <linux/percpu.h>

enum te_counter {
	TE_NR_CONTEXTS,
	TE_NR_MRS,
	TE_NR_PINNED_PAGES,
	TE_NR_BATCHES,
	TE_NR_TASKS,
	TE_NR_SEGMENTS,
	TE_NR_EXPORTS,
	TE_NR_SESSIONS,
	TE_NR_ENDPOINTS,	/* of ours */
	TE_NR_STORED,		/* those of them that a store keeps */
	TE_NR_CONNS,		/* that peers opened */
	TE_NR_SLICES,
	TE_NR_KINDS,		/* so many kinds; what follows only grows */
	TE_NR_STORE_HITS = TE_NR_KINDS,
	TE_NR_STORE_MISSES,
	TE_NR_STORE_EVICTIONS,
	TE_NR_SESSIONS_REFUSED,	/* these: lanes too */
	TE_NR_SESSIONS_BROKEN,
	TE_NR_SESSIONS_LOST,
	TE_NR_CRC_ERRORS,
	TE_NR_ENDPOINTS_FAILED,
	TE_NR_SLICES_NO_RDMA,
	TE_NR_SLICES_RDMA_DOWN,
	TE_NR_COUNTERS,
};

struct te_counts {
	long nr[TE_NR_COUNTERS];
};

DECLARE_PER_CPU(struct te_counts, te_counts);

static inline void te_count(enum te_counter which, long n)
{
	this_cpu_add(te_counts.nr[which], n);
}

/* Sum over all CPUs; exact only while nobody counts. */
long te_count_sum(enum te_counter which);

/* Complain of objects that outlived the module. */
void te_count_check(void);

#endif /* TE_COUNT_H */

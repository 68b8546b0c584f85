/* SPDX-License-Identifier: LGPL-2.1-only OR MIT */
/*
 * Histogram of times in nanoseconds: 32 buckets to each power of two, so a
 * percentile is right within 3 %, whatever the range, in a fixed 15 KiB.
 */
#ifndef TE_BENCH_HIST_H
#define TE_BENCH_HIST_H

#include <stdint.h>

#define HIST_SUB_BITS	5
#define HIST_BUCKETS	((64 - HIST_SUB_BITS + 1) << HIST_SUB_BITS)

/**
 * struct hist - histogram; zero it before use
 * @nr: values added
 * @max_ns: the largest
 * @buckets: how many values fell into each
 */
struct hist {
	uint64_t nr;
	uint64_t max_ns;
	uint64_t buckets[HIST_BUCKETS];
};

void hist_add(struct hist *h, uint64_t ns);
void hist_merge(struct hist *to, const struct hist *from);

/* hist_percentile() - a time that @percent of the values do not exceed. */
uint64_t hist_percentile(const struct hist *h, double percent);

#endif /* TE_BENCH_HIST_H */

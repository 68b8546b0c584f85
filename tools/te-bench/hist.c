// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/* Histogram of times; see hist.h. */
#include "hist.h"

/* Values below 2^SUB_BITS have a bucket each; above, the top bits choose. */
static unsigned int bucket_of(uint64_t ns)
{
	unsigned int shift;

	if (ns < 1U << HIST_SUB_BITS)
		return ns;
	shift = 63 - __builtin_clzll(ns) - HIST_SUB_BITS;
	return (shift << HIST_SUB_BITS) + (ns >> shift);
}

/* The largest value that falls into a bucket. */
static uint64_t bucket_last(unsigned int bucket)
{
	unsigned int shift;
	uint64_t top;

	if (bucket < 1U << HIST_SUB_BITS)
		return bucket;
	shift = (bucket >> HIST_SUB_BITS) - 1;
	top = bucket - (shift << HIST_SUB_BITS);
	return ((top + 1) << shift) - 1;
}

void hist_add(struct hist *h, uint64_t ns)
{
	h->nr++;
	if (ns > h->max_ns)
		h->max_ns = ns;
	h->buckets[bucket_of(ns)]++;
}

void hist_merge(struct hist *to, const struct hist *from)
{
	unsigned int i;

	to->nr += from->nr;
	if (from->max_ns > to->max_ns)
		to->max_ns = from->max_ns;
	for (i = 0; i < HIST_BUCKETS; i++)
		to->buckets[i] += from->buckets[i];
}

uint64_t hist_percentile(const struct hist *h, double percent)
{
	double share = h->nr * percent / 100;
	uint64_t want = share, seen = 0, last;
	unsigned int i;

	if (want < share || !want)
		want++;
	for (i = 0; i < HIST_BUCKETS; i++) {
		seen += h->buckets[i];
		if (seen >= want) {
			last = bucket_last(i);
			return last < h->max_ns ? last : h->max_ns;
		}
	}

	return h->max_ns;
}

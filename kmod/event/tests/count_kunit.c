// SPDX-License-Identifier: GPL-2.0-only
/*
 * event/tests: counts of objects, over CPUs. What lives while the suite runs
 * stays as it is: te is being loaded, and only differences are looked at.
 */
#include <kunit/test.h>
#include <linux/cpumask.h>

#include "event/count.h"

/* What another CPU would have counted. */
static void count_on(int cpu, enum te_counter which, long n)
{
	per_cpu(te_counts, cpu).nr[which] += n;
}

/* Objects are counted up on one CPU and down on another. */
static void sums_are_over_cpus(struct kunit *test)
{
	const enum te_counter which = TE_NR_EXPORTS;
	const long before = te_count_sum(which);
	int cpu;

	for_each_possible_cpu(cpu) {
		count_on(cpu, which, 5);
		KUNIT_EXPECT_EQ_MSG(test, te_count_sum(which), before + 5,
				    "CPU %d", cpu);
		te_count(which, -5);
		KUNIT_EXPECT_EQ_MSG(test, te_count_sum(which), before,
				    "CPU %d", cpu);
	}
}

static void kinds_do_not_mix(struct kunit *test)
{
	long before[TE_NR_COUNTERS];
	u32 i, other;

	for (i = 0; i < TE_NR_COUNTERS; i++)
		before[i] = te_count_sum(i);
	for (i = 0; i < TE_NR_COUNTERS; i++) {
		te_count(i, 3);
		for (other = 0; other < TE_NR_COUNTERS; other++)
			KUNIT_EXPECT_EQ_MSG(test, te_count_sum(other),
					    before[other] + (other == i) * 3,
					    "count %u shows in %u", i, other);
		te_count(i, -3);
	}
}

static struct kunit_case te_count_cases[] = {
	KUNIT_CASE(sums_are_over_cpus),
	KUNIT_CASE(kinds_do_not_mix),
	{}
};

static struct kunit_suite te_count_suite = {
	.name = "te_count",
	.test_cases = te_count_cases,
};

kunit_test_suite(te_count_suite);

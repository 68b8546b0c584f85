/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * stats: how many objects te holds, and whether that is none. Tests are alone
 * on their node, so "back to the start" means zero, not a difference.
 */
#ifndef TE_TEST_STATS_H
#define TE_TEST_STATS_H

#include <linux/te.h>

/* te cleans up behind close(); more than this is a leak, even emulated. */
#define TE_SETTLE_MS	30000

/* Counts, not counting the descriptor that asks. 0 or -errno. */
int te_stats(struct te_ioc_stats *s);

/*
 * Waits until nothing is left that a process owns: all counts but those of
 * sessions and endpoints, which outlive their users for a while. 0, or -ETIME
 * after printing what is left.
 */
int te_settle(void);

/* The same, with sessions and endpoints. */
int te_settle_all(void);

/* Waits until the counts of te_settle() are those of @base again. */
int te_settle_to(const struct te_ioc_stats *base);

/* Waits until the count at byte @offset of the struct is @want. */
int te_settle_one(unsigned int offset, unsigned long long want,
		  int timeout_ms);

/**
 * struct te_rdma - what the RDMA devices hold, all of them together
 * Nothing but te uses them in a test, but te has some for each device as long
 * as it is loaded: compare with a count taken when it was idle.
 */
struct te_rdma {
	long pd, cq, qp, cm_id, mr;
};

int te_rdma(struct te_rdma *r);

/* Waits until the devices hold what @base says. 0 or -ETIME, printed. */
int te_rdma_settle(const struct te_rdma *base);

/* VmPin of this process, KiB; -1 when the kernel does not tell. */
long te_vm_pin_kib(void);

/*
 * Pins that the kernel has given out and not got back, by anybody; pages that
 * te has lost count of show here and nowhere else.
 */
long te_pins(void);

/* Waits until there are none. 0 or -ETIME, printed. */
int te_pins_settle(void);

/* Milliseconds of a clock that does not jump. */
unsigned long long te_now_ms(void);
void te_sleep_ms(unsigned int ms);

#endif

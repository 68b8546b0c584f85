/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * nth: makes the nth thing fail that a thread asks for, by fail-nth: an
 * allocation, or a copy from or to user memory. A test goes through n = 1, 2, ...
 * until nothing strikes any more. Only debug kernels have it; without it a program
 * ends with a message.
 *
 * Of te's threads all that they ask for counts. The workers that the kernel has for
 * everybody would lose what is not te's: rxe's QPs, and with them the connection
 * manager, for good.
 */
#ifndef TE_TEST_NTH_H
#define TE_TEST_NTH_H

#include <stdbool.h>

/* Nothing in the log about what fails; for the calling thread. */
void nth_start(void);
void nth_stop(void);

/* Do allocations that may sleep count? If not, copies and little else does. */
void nth_count_allocations(bool count);

/* The @n-th of this thread from now; whether it has struck, and no more of it. */
void nth_arm(unsigned int n);
bool nth_struck(void);

/*
 * te's work items get workers of their own, or go back to those that all share; and
 * how their names start.
 */
void nth_own_workers(bool own);
#define NTH_WORKERS	"kworker/u"

/*
 * The @n-th of each of te's threads whose name starts with @name: how many; then
 * how many it has struck in, and no more of it.
 */
unsigned int nth_arm_threads(const char *name, unsigned int n);
unsigned int nth_struck_threads(void);

/**
 * struct turns - n = 1, 2, ..., each with several turns
 * @each: how many
 * @nr: turns so far
 * @n: of this turn
 * @quiet: turns on end that nothing has struck in
 */
struct turns {
	unsigned int each, nr, n, quiet;
};

/* The next turn, unless nothing has struck for some n on end. */
bool next_turn(struct turns *t);

/* Ends a turn: was it @hit? Returns that. */
bool turn_end(struct turns *t, bool hit);

/* Whether it ended as it should: with nothing left to strike. */
bool ran_out(const struct turns *t);

#endif

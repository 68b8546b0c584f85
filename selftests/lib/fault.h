/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fault: arms the points of kmod/fault/fault.h, which only test builds of te
 * have. Names are those of the files in debugfs, "pin" or "mr_publish".
 *
 * Every call ends the program with a message when the point is not there: the
 * suites that use this run on debug kernels only.
 */
#ifndef TE_TEST_FAULT_H
#define TE_TEST_FAULT_H

/* The @nth pass of @point from now fails with -@error, once; 0: each does. */
void te_fault_arm(const char *point, unsigned int nth, int error);

/* The same for @count passes in a row; ~0U: for ever. */
void te_fault_arm_many(const char *point, unsigned int nth, int error,
		       unsigned int count);

/* How often @point has failed since it was armed. */
unsigned int te_fault_seen(const char *point);

/* The same; disarms it. */
unsigned int te_fault_fired(const char *point);

/* Longer than anything takes that is to overtake; a test that failed still ends. */
#define TE_HOLD_MS	60000

/* The next thread at @point is held there. */
void te_hold(const char *point);

/* The next @count passes of @point are held for @ms milliseconds each. */
void te_delay_arm(const char *point, unsigned int ms, unsigned int count);

/* Waits until @n threads are held at @point; 0, or -ETIME after 20 s. */
int te_delay_wait(const char *point, unsigned int n);

/* Lets all go that are held at @point and holds nobody any more. */
void te_delay_release(const char *point);

#endif

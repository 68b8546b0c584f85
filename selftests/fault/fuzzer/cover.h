/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cover: which code of te a thread's calls reached, by KCOV. Only te is
 * instrumented, and only what the calling thread runs is seen: not movers, not
 * work items. A kernel without KCOV reaches nothing.
 */
#ifndef TE_FUZZ_COVER_H
#define TE_FUZZ_COVER_H

#include <stdbool.h>
#include <stdint.h>

/* Starts recording for this thread: its buffer, or NULL without KCOV. */
uint64_t *cover_start(void);

/* Forgets what was recorded. */
void cover_reset(uint64_t *buf);

/* Adds what was recorded to what all have reached; how much of it was new. */
unsigned int cover_collect(const uint64_t *buf);

/* What all have reached, and whether there is KCOV. */
unsigned int cover_total(void);
bool cover_there(void);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR MIT */
/*
 * Bytes that tell a seed and a place: a block that is missing, stale, shifted or
 * swapped with another one does not match.
 */
#ifndef TOOLS_PATTERN_H
#define TOOLS_PATTERN_H

#include <stddef.h>
#include <stdint.h>

/* pattern_seed() - a seed that was not used before; never 0. */
uint64_t pattern_seed(void);

/* pattern_fill() - write the pattern of @seed to @len bytes at @buf. */
void pattern_fill(void *buf, size_t len, uint64_t seed);

/* pattern_invert() - turn each of @len bytes at @buf into its complement. */
void pattern_invert(void *buf, size_t len);

/* pattern_check() - how many of @len bytes at @buf are not the pattern's. */
uint64_t pattern_check(const void *buf, size_t len, uint64_t seed);

#endif /* TOOLS_PATTERN_H */

/* SPDX-License-Identifier: LGPL-2.1-only OR MIT */
/* Numbers on a command line. */
#ifndef TOOLS_NUMBER_H
#define TOOLS_NUMBER_H

#include <stdint.h>

/**
 * number_parse() - decimal number, with K, M or G behind it for powers of 1024
 * @s: whole string
 * @min: smallest and
 * @max: largest value allowed
 * @value: result
 *
 * Return: 0, -EINVAL not a number, -ERANGE.
 */
int number_parse(const char *s, uint64_t min, uint64_t max, uint64_t *value);

#endif /* TOOLS_NUMBER_H */

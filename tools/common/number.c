// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/* Numbers on a command line; see number.h. strtoull() would take "-1" and " 1". */
#include <errno.h>
#include <string.h>

#include "number.h"

int number_parse(const char *s, uint64_t min, uint64_t max, uint64_t *value)
{
	static const char units[] = "KMG";
	const char *unit;
	uint64_t v = 0;

	if (*s < '0' || *s > '9')
		return -EINVAL;
	for (; *s >= '0' && *s <= '9'; s++)
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, *s - '0', &v))
			return -ERANGE;

	if (*s) {
		unit = strchr(units, *s & ~0x20);
		if (!unit || s[1])
			return -EINVAL;
		if (__builtin_mul_overflow(v, 1024ULL << 10 * (unit - units),
					   &v))
			return -ERANGE;
	}
	if (v < min || v > max)
		return -ERANGE;

	*value = v;
	return 0;
}

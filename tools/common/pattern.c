// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/* Seeded pattern; see pattern.h. Both nodes run it on their own CPU. */
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "pattern.h"

uint64_t pattern_seed(void)
{
	struct timespec now;
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed)) {
		clock_gettime(CLOCK_REALTIME, &now);
		seed = now.tv_sec * 1000000000ULL + now.tv_nsec;
	}

	return seed | 1;
}

/* splitmix64's output function of word @index */
static uint64_t word_at(uint64_t seed, uint64_t index)
{
	uint64_t x = seed + index * 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

void pattern_fill(void *buf, size_t len, uint64_t seed)
{
	size_t i, n;
	uint64_t w;

	for (i = 0; i < len; i += n) {
		w = word_at(seed, i / sizeof(w));
		n = len - i < sizeof(w) ? len - i : sizeof(w);
		memcpy((char *)buf + i, &w, n);
	}
}

void pattern_invert(void *buf, size_t len)
{
	unsigned char *p = buf;
	size_t i;

	for (i = 0; i < len; i++)
		p[i] = ~p[i];
}

uint64_t pattern_check(const void *buf, size_t len, uint64_t seed)
{
	unsigned char got[8], want[8];
	uint64_t w, bad = 0;
	size_t i, j, n;

	for (i = 0; i < len; i += n) {
		w = word_at(seed, i / sizeof(w));
		n = len - i < sizeof(w) ? len - i : sizeof(w);
		if (!memcmp((const char *)buf + i, &w, n))
			continue;
		memcpy(got, (const char *)buf + i, n);
		memcpy(want, &w, n);
		for (j = 0; j < n; j++)
			bad += got[j] != want[j];
	}

	return bad;
}

// SPDX-License-Identifier: GPL-2.0-only
/* pattern: see pattern.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/pattern.h"

/* splitmix64's finaliser: neighbouring words have nothing in common. */
static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

void pattern_fill(void *buf, size_t len, uint64_t seed)
{
	unsigned char *p = buf;
	uint64_t word, base = mix(seed);
	size_t i;

	for (i = 0; i + 8 <= len; i += 8) {
		word = mix(base + i / 8);
		memcpy(p + i, &word, 8);
	}
	word = mix(base + i / 8);
	memcpy(p + i, &word, len - i);
}

long pattern_check(const void *buf, size_t len, uint64_t seed)
{
	const unsigned char *p = buf;
	uint64_t word, base = mix(seed);
	size_t i, n, j;

	for (i = 0; i < len; i += 8) {
		n = len - i < 8 ? len - i : 8;
		word = mix(base + i / 8);
		if (!memcmp(p + i, &word, n))
			continue;
		for (j = 0; j < n; j++)
			if (p[i + j] != ((unsigned char *)&word)[j])
				return i + j;
	}
	return -1;
}

int area_alloc(struct area *a, size_t len)
{
	size_t page = sysconf(_SC_PAGESIZE);
	unsigned char *map;

	memset(a, 0, sizeof(*a));
	len = (len + page - 1) / page * page;
	map = mmap(NULL, len + 2 * page, PROT_NONE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		return -errno;
	if (mprotect(map + page, len, PROT_READ | PROT_WRITE))
		return -errno;
	a->want = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (a->want == MAP_FAILED)
		return -errno;
	a->p = map + page;
	a->len = len;
	return 0;
}

void area_free(struct area *a)
{
	size_t page = sysconf(_SC_PAGESIZE);

	if (!a->p)
		return;
	munmap(a->p - page, a->len + 2 * page);
	munmap(a->want, a->len);
	memset(a, 0, sizeof(*a));
}

void area_fill(struct area *a, uint64_t seed)
{
	pattern_fill(a->p, a->len, seed);
	memcpy(a->want, a->p, a->len);
}

int area_check(const struct area *a, const char *what)
{
	size_t i, last, bad = 0;

	if (!memcmp(a->p, a->want, a->len))
		return 0;
	for (i = a->len, last = 0; i-- > 0;) {
		if (a->p[i] == a->want[i])
			continue;
		if (!bad++)
			last = i;
	}
	for (i = 0; a->p[i] == a->want[i]; i++)
		;
	printf("# %s: %zu wrong bytes, first at offset %zu (has %02x, wants %02x), last at %zu\n",
	       what, bad, i, a->p[i], a->want[i], last);
	return -EBADMSG;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * memcpy BLOCK MS: copies a block from one shared mapping to another, over and over,
 * for so many ms. Prints how many bytes and MB/s (10^6). What te's copies within a
 * node are measured against: like those, over as much memory as one block.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define SMALLEST 65536UL

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static char *mapping(size_t len)
{
	char *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

int main(int argc, char **argv)
{
	size_t block = argc == 3 ? strtoul(argv[1], NULL, 0) : 0, at = 0, size;
	double ms = argc == 3 ? atof(argv[2]) : 0, from, end;
	unsigned long long bytes = 0;
	char *a, *b;

	if (!block || ms <= 0) {
		fprintf(stderr, "usage: memcpy BLOCK MS\n");
		return 2;
	}
	size = block < SMALLEST ? SMALLEST / block * block : block;
	a = mapping(size);
	b = mapping(size);
	if (!a || !b) {
		perror("mmap");
		return 1;
	}
	memset(a, 0x5a, size);
	from = now();
	do {
		/* A clock for each block would be what is measured. */
		for (int i = 0; i < 64; i++) {
			memcpy(b + at, a + at, block);
			/* Nor may the compiler do it once for all. */
			__asm__ volatile("" : : "r"(b) : "memory");
			at = at + 2 * block > size ? 0 : at + block;
			bytes += block;
		}
		end = now();
	} while (end - from < ms);
	if (memcmp(a, b, size)) {
		fprintf(stderr, "memcpy: wrong bytes\n");
		return 1;
	}
	printf("%llu %.1f\n", bytes, bytes / (end - from) / 1e3);
	return 0;
}

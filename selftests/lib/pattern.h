/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * pattern: bytes that can be told apart, and areas that know what they should
 * hold. An area lies between two pages without access; beside it stands an
 * image of what it must contain, so that one comparison finds a byte that is
 * wrong inside a transfer's range as well as one that was touched outside.
 */
#ifndef TE_TEST_PATTERN_H
#define TE_TEST_PATTERN_H

#include <stddef.h>
#include <stdint.h>

#define KIB	1024UL
#define MIB	(1024 * KIB)

/* Byte @i of the result depends on @seed and @i only. */
void pattern_fill(void *buf, size_t len, uint64_t seed);

/* Offset of the first byte that differs from pattern_fill(), or -1. */
long pattern_check(const void *buf, size_t len, uint64_t seed);

/**
 * struct area - memory under test
 * @p: first byte, page aligned
 * @want: what it must hold
 * @len: bytes, whole pages
 */
struct area {
	unsigned char *p;
	unsigned char *want;
	size_t len;
};

int area_alloc(struct area *a, size_t len);
void area_free(struct area *a);

/* Writes a pattern to the area and to its image. */
void area_fill(struct area *a, uint64_t seed);

/* 0, or -EBADMSG after printing where and what. @what names the area. */
int area_check(const struct area *a, const char *what);

#endif

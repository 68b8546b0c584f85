/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * test: the kernel's harness plus what every program here uses of it. Included
 * by the one file of a program that holds its tests.
 *
 * A case is a row of a table; EXPECT_ROW() says which one failed. CLEAN() at
 * the end of a test is the common oracle: nothing of te is left, no page is
 * pinned, by te's count and by the kernel's.
 */
#ifndef TE_TEST_TEST_H
#define TE_TEST_TEST_H

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"

#include "lib/pattern.h"
#include "lib/raw.h"
#include "lib/stats.h"

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

/* Seconds; hung tests must end, slow ones must not. */
#define SLOW 300

/* On a kernel that watches and is slow: repeat less often. */
static inline bool watched(void)
{
	const char *kernel = getenv("TE_KERNEL");

	return kernel && (strstr(kernel, "kasan") || strstr(kernel, "kcsan"));
}

/* As fast as this machine, and nobody watches: repeat as often as was promised. */
static inline bool native(void)
{
	const char *kernel = getenv("TE_KERNEL");

	return kernel && !strcmp(kernel, "um");
}

#define EXPECT_ROW(want, seen, ...) do { \
	EXPECT_EQ(want, seen) { TH_LOG("case: " __VA_ARGS__); } \
} while (0)

/*
 * An ASSERT that may be the body of a loop: those of the harness look at what
 * they found only behind the loop.
 */
#define MUST(ret) do { ASSERT_EQ(0, ret); } while (0)

#define CLEAN() do { \
	EXPECT_EQ(0, te_settle()); \
	EXPECT_EQ(0, te_vm_pin_kib()); \
	EXPECT_EQ(0, te_pins_settle()); \
} while (0)

#endif

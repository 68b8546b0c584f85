/* SPDX-License-Identifier: LGPL-2.1-only OR MIT */
/*
 * What both sides of te-demo agree on: segment names and a small page in the
 * first segment, through which they talk by READ and WRITE alone.
 */
#ifndef TE_DEMO_H
#define TE_DEMO_H

#include <stdint.h>

#define DEMO_SEGMENT		"demo"		/* the file and the page */
#define DEMO_BACK_SEGMENT	"demo-back"	/* room for the way back */
#define DEMO_PAGE_BYTES		4096
#define DEMO_MAGIC		0x6f6d65642d6574ULL	/* "te-demo" */
#define DEMO_SHA_BYTES		32

/* demo_page.verdict */
#define DEMO_UNKNOWN		0
#define DEMO_EQUAL		1
#define DEMO_DIFFERENT		2

/* demo_page.command, in this order */
#define DEMO_NONE		0
#define DEMO_CHECK		1	/* the file is back: compare */
#define DEMO_BYE		2	/* end */

/**
 * struct demo_page - the page; the first part is the server's to write
 * @magic: DEMO_MAGIC
 * @length: bytes of the file
 * @sha256: of the file
 * @verdict: DEMO_EQUAL or DEMO_DIFFERENT once what came back was compared
 * @reserved: zero
 * @command: the fetcher's: DEMO_CHECK, then DEMO_BYE
 */
struct demo_page {
	uint64_t magic;
	uint64_t length;
	uint8_t sha256[DEMO_SHA_BYTES];
	uint64_t verdict;
	uint64_t reserved[9];
	uint64_t command;
};

/* All return 0 or -errno, which has been told. */
int demo_serve(const char *path);
int demo_fetch(const char *host, const char *path);
int demo_bye(const char *host);

#endif /* TE_DEMO_H */

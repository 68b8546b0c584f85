/* SPDX-License-Identifier: LGPL-2.1-only OR MIT */
/* SHA-256 of memory and of files, by libcrypto. */
#ifndef TE_DEMO_SHA256_H
#define TE_DEMO_SHA256_H

#include <stddef.h>

#include "demo.h"

/* Both return 0 or -errno, which has been told. */
int sha256_memory(const void *buf, size_t len, uint8_t sum[DEMO_SHA_BYTES]);
int sha256_file(const char *path, uint8_t sum[DEMO_SHA_BYTES]);

/* sha256_print() - "words" and the sum in hex, one line on stdout. */
void sha256_print(const char *words, const uint8_t sum[DEMO_SHA_BYTES]);

#endif /* TE_DEMO_SHA256_H */

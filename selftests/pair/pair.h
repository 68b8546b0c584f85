/* SPDX-License-Identifier: GPL-2.0-only */
/* pair: what the two nodes of the pair test say to each other over plain TCP. */
#ifndef TE_TEST_PAIR_PAIR_H
#define TE_TEST_PAIR_PAIR_H

#include <stdint.h>

#define PAIR_PORT	29800
#define PAIR_NAME	"pair"
#define PAIR_LEN	(16UL << 20)
#define PAIR_SEED	33	/* of the memory as exported */

/* First word of the target: where its memory is. */
struct pair_place {
	uint64_t addr;
};

/* The initiator: so much of your memory must be this. Answer: 'y', or the end. */
struct pair_claim {
	uint64_t offset, length, seed;
};

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/* pair: what the two nodes of the pair test say to each other over plain TCP. */
#ifndef TE_TEST_PAIR_PAIR_H
#define TE_TEST_PAIR_PAIR_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define PAIR_PORT	29800
#define PAIR_NAME	"pair"
#define PAIR_LEN	(16UL << 20)
#define PAIR_SEED	33	/* of the memory as exported */

/* First word of the target: where its memory is. */
struct pair_place {
	uint64_t addr;
};

enum pair_what {
	PAIR_HAS,	/* so much of your memory must be this */
	PAIR_NETEM,	/* networks[@seed]; NR_NETWORKS: as it was */
	PAIR_KILL,	/* connections that you answer, for @length ms; not from @seed */
	PAIR_KILLED,	/* wait for that */
};

/* The initiator. Answer: 'y', or the end. */
struct pair_ask {
	uint32_t what, reserved;
	uint64_t offset, length, seed;
};

#define PAIR_KILL_MS	300	/* so often */

static const char *const networks[] = {
	"loss 1%", "loss 10%", "duplicate 10%", "corrupt 1%",
	"delay 10ms 5ms reorder 25% 50%", "delay 200ms",
	"loss 1% duplicate 1% delay 5ms 5ms",
};

#define NR_NETWORKS	(sizeof(networks) / sizeof(networks[0]))

/* On the way out of this node; each does for its own. 0 or not. */
static inline int pair_netem(unsigned int row)
{
	char cmd[160] = "tc qdisc del dev eth0 root";

	if (row < NR_NETWORKS)
		snprintf(cmd, sizeof(cmd),
			 "tc qdisc add dev eth0 root netem limit 10000 %s",
			 networks[row]);
	return system(cmd);
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * lanes: resets TCP connections to te's port, again and again, with the kernel's own
 * means (ss -K, CONFIG_INET_DIAG_DESTROY): both ends hear of it. Control connections
 * are to be spared: with them all work ends.
 */
#ifndef TE_TEST_LANES_H
#define TE_TEST_LANES_H

#include <stdint.h>

#include "lib/go.h"

/* te's, unless it was loaded with another. */
#define LANES_PORT	29797

/**
 * struct lanes - who does it
 * @dialed: those that this node dialed; else those that it answers
 * @spare: port, of who dialed, of the connection to be spared
 * @ms: for so long
 * @every_ms: so often
 * @killed: connections
 */
struct lanes {
	int dialed;
	uint16_t spare;
	unsigned int ms, every_ms;
	unsigned int killed;
	struct go go;
};

/* In a thread; wait for it by go_wait(): 0 or -errno. */
int lanes_kill(struct lanes *l);

/* Port that this node dialed te from, of the only such connection; -errno. */
int lanes_only(void);

#endif

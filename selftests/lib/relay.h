/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * relay: a man in the middle of control connections. te dials the relay's port,
 * the relay dials te's own, and what either says is kept and passed on: as it
 * comes, in small pieces, or cut, reset or bent at one byte.
 *
 * So a test has real frames of every kind without knowing how they are made.
 */
#ifndef TE_TEST_RELAY_H
#define TE_TEST_RELAY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum relay_dir {
	RELAY_ASK,	/* said by who dials */
	RELAY_ANSWER,
};

enum relay_fault {
	RELAY_NONE,
	RELAY_CUT,	/* nothing from byte @at on; both hear the end */
	RELAY_RESET,	/* the same, as a reset */
	RELAY_BEND,	/* byte @at is changed; the end when it is quiet after */
};

/**
 * struct relay - what it does, and what it has heard
 * @grain: bytes passed on at a time, 0: what has come
 * @hold_ms: waits so long before it passes on
 * @fault, @dir, @at: what happens to byte @at of direction @dir
 * @bend: exclusive or with that byte
 * @port: dial this one
 * @log, @len: bytes of the last connection, as they came
 * @served: connections that have ended
 *
 * Connections are served one after the other. Set the fields between them only.
 */
struct relay {
	size_t grain;
	int hold_ms;
	enum relay_fault fault;
	enum relay_dir dir;
	size_t at;
	unsigned char bend;
	uint16_t port;
	unsigned char log[2][65536];
	size_t len[2];
	unsigned int served;

	int listener;
	int stop[2];
	pthread_t thread;
	bool hit;
};

/* Fields but those at the end are the caller's, the others zero. 0 or -errno. */
int relay_start(struct relay *r);
void relay_stop(struct relay *r);

/* Waits until @n connections have ended: 0 or -ETIME. */
int relay_await(const struct relay *r, unsigned int n);

/* Dials the relay by the name of te's own segment @name. */
void relay_url(const struct relay *r, char *url, size_t len, const char *name);

#define FRAME_HEADER	16	/* bytes; length at 8, type at 4 */

/* Bytes of the whole frame at @buf, of which FRAME_HEADER are there. */
size_t frame_len(const unsigned char *buf);

/*
 * Next frame of what was heard, from *@off on, which moves behind it. NULL when
 * no whole one is left.
 */
const unsigned char *relay_next(const struct relay *r, enum relay_dir dir,
				size_t *off);

#endif

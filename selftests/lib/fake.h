/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fake: a node that is not te, in a thread of the test: it describes one region,
 * which is @p.remote of a pair, and answers what te asks for on its lanes; well, or
 * as it was told to.
 */
#ifndef TE_TEST_FAKE_H
#define TE_TEST_FAKE_H

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "lib/pair.h"
#include "lib/stranger.h"

#define FAKE_MAX_FDS	256

struct fake;

/**
 * struct fake_row - one way to be wrong
 * @op: of the request that meets it
 * @at: offset in the frame, or the reply to the hello, to change
 * @len: bytes to change, 0: see @instead
 * @value: what to put there
 * @instead: called to answer the request @f on @fd with @bytes
 */
struct fake_row {
	const char *desc;
	uint32_t op;
	size_t at, len;
	uint64_t value;
	int (*instead)(struct fake *k, int fd, const struct frame *f,
		       unsigned char *bytes);
};

/**
 * struct fake - a node that is not te
 * @p: the tests' side; @p.remote is the fake's memory
 * @answer: how the next answer is wrong, once
 * @welcome: how the next reply to a lane's hello is wrong, once
 * @cut: bytes of the next answer to be sent before the end, @hard: by a reset;
 *	negative: all
 * @slowly: a byte at a time
 * @crc: lanes that come shall have checksums
 * @asks: requests have come by this descriptor
 * @kill_every: amid so many answers one lane is reset, 0: none
 * @garble: the next so many answers to READs have a wrong one, WRITEs are found to
 * @odd: descriptor on which it was wrong
 * @closed: te has closed that one
 */
struct fake {
	struct pair p;
	pthread_t thread;
	uint16_t port;
	int stop[2];
	struct pollfd fds[FAKE_MAX_FDS];
	unsigned int nr;
	int session;
	uint64_t boot_gen;
	uint32_t cookie;
	const struct fake_row *_Atomic answer, *_Atomic welcome;
	atomic_long cut;
	atomic_bool hard, slowly, closed, crc;
	atomic_int odd, garble;
	atomic_bool asks[FAKE_MAX_FDS];
	atomic_uint kill_every;
	unsigned int asked;
};

/* @k->p.remote is there, and its margin. 0 or -1; its port is @k->port. */
int fake_start(struct fake *k);
void fake_stop(struct fake *k);

/* Lanes that come have little room: te cannot send much that is not read. */
int fake_narrow(struct fake *k);

/* Waits until te has closed what it was wrong on: 0 or -ETIME. */
int fake_await_closed(struct fake *k);

/* For fake_row.instead: the right answer, without its bytes; the bytes of a WRITE. */
struct frame fake_answer_to(const struct frame *f);
int fake_take_bytes(int fd, const struct frame *f, unsigned char *bytes);

/* Sends @a, with bytes if it says so; cut short or slowly, if that was asked for. */
int fake_give(struct fake *k, int fd, const struct frame *a,
	      const unsigned char *bytes);

#endif

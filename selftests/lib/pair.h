/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * pair: an initiator and a target context of this process, the initiator having
 * the target's segment open over the guest's network. Both areas are in sight,
 * so every run compares all of them, not only what was moved.
 *
 * Functions return 0 or -errno; what failed is printed as a KTAP comment.
 */
#ifndef TE_TEST_PAIR_H
#define TE_TEST_PAIR_H

#include <te.h>

#include "lib/pattern.h"
#include "lib/raw.h"
#include "lib/stats.h"

/* Generous: emulated guests are ten times slower, and share two cores. */
#define TE_WAIT_MS	60000

#define TE_LOCAL_ALL	(TE_LOCAL_READ | TE_LOCAL_WRITE)
#define TE_REMOTE_ALL	(TE_REMOTE_READ | TE_REMOTE_WRITE)

/**
 * struct pair_opts - what to build; zero fields take the default
 * @local, @remote: bytes of each area, 256 KiB
 * @margin: bytes at both ends of each area that are not registered, 8 KiB;
 *	~0: register all of it
 * @cq_entries, @task_slots: of the initiator, 4096
 * @local_access, @remote_access: all bits of their side
 */
struct pair_opts {
	size_t local, remote, margin;
	uint32_t cq_entries, task_slots;
	unsigned int local_access, remote_access;
};

struct pair {
	struct te *ini, *tgt;
	struct area local, remote;
	uint32_t lmr, rmr, seg;
	size_t margin;
	char name[48], url[112];
};

int pair_open(struct pair *p, const struct pair_opts *o);
void pair_close(struct pair *p);

/* Url of a segment of this guest. */
void te_url(char *url, size_t len, const char *name);

/* A request; @lo and @ro are offsets in the areas. */
struct te_request pair_req(const struct pair *p, uint32_t op, size_t lo,
			   size_t ro, size_t len);

/*
 * Lets no other NICs of this node than @devs, 8 at most with a space between them,
 * carry anything; NULL: all may.
 */
int pair_carry_only(const struct pair *p, const char *devs);

/* Applies @r to the images. */
void pair_expect(struct pair *p, const struct te_request *r);

/* Compares both areas with their images. */
int pair_check(const struct pair *p);

/*
 * One batch of @n requests that must complete, in every byte, state and count;
 * the areas are compared afterwards. No byte may be written by two of them.
 */
int pair_run(struct pair *p, const struct te_request *r, uint32_t n);

/* The same for one request. */
int pair_xfer(struct pair *p, uint32_t op, size_t lo, size_t ro, size_t len);

/* A submit of one request that must be refused: returns what it answered. */
int pair_refuse(struct pair *p, const struct te_request *r);

/*
 * One request between registered memory anywhere and offset @ro of the remote
 * area: 0 when it has completed; the bytes are for the caller to look at.
 */
int pair_move(struct pair *p, uint32_t op, void *mem, size_t ro, size_t len);

/*
 * Registers @mem, READs into it, WRITEs other bytes from it, each checked, and
 * unregisters it. The remote area has twice @len.
 */
int pair_use(struct pair *p, unsigned char *mem, size_t len);

/* Waits until @seg has @n regions. */
int te_await_buffers(struct te *te, uint32_t seg, int n);

/* Opens a segment of this guest. */
int te_open_segment(struct te *te, const char *name, uint32_t *seg);

/*
 * The same at address @n of this guest, below 60000: each is a peer of its own, and
 * 127.0.0.0/8 is many.
 */
int te_open_segment_at(struct te *te, unsigned int n, const char *name,
		       uint32_t *seg);

/* Waits until the opener knows that the segment is gone: why, or -ETIME. */
int te_await_gone(struct te *te, uint32_t seg);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * asker: a peer of te's that is not te, with a session as te would have it, and lanes
 * over which it asks for what it likes. It says that it is another node.
 */
#ifndef TE_TEST_ASKER_H
#define TE_TEST_ASKER_H

#include "lib/stranger.h"

/* A NIC of te's, the one at te_peer_addr(), and the region's key on it. */
struct asker_nic {
	uint32_t dev_id, key;
	uint16_t port;
};

/*
 * What the session tells of a segment with one region, and its key on TCP. Of both
 * generations @boot_gen is ours. @nic.port is 0 if there is no such NIC.
 */
struct asker {
	int session;
	uint64_t token, boot_gen, te_gen, base, length;
	uint32_t segment, mr_id, key;
	struct asker_nic nic;
};

/* A session, and the segment @name over it; close t->session. 0 or negative. */
int asker_begin(struct asker *t, const char *name);

/* A sign of life; te gives a session up that is silent for 20 s. 0 or -errno. */
int asker_ping(const struct asker *t);

/* Of a lane that is welcome. */
struct lane_hello asker_hello(const struct asker *t);

/* fd, or what te said to the hello, negative; -EPIPE: nothing. */
int asker_lane_with(const struct lane_hello *h);

/* The same, welcome. */
int asker_lane(const struct asker *t);

/* A good one if @off and @len are in the region. */
struct frame asker_request(const struct asker *t, uint8_t type, uint64_t off,
			   uint32_t len);

/* Its status; with OK and a READ, the bytes are at @buf. Negative: the lane ended. */
int asker_ask(int fd, const struct frame *f, unsigned char *buf);

#endif

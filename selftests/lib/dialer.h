/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dialer: a peer of te's that is not te, with a NIC: it asks te's RDMA listener for
 * a connection, by rdma_cm from user space, with private data of the caller's making,
 * and uses what it is given as it likes.
 */
#ifndef TE_TEST_DIALER_H
#define TE_TEST_DIALER_H

#include <rdma/rdma_cma.h>

#include "lib/asker.h"
#include "lib/pair.h"

#define DIALER_BYTES	(64 * 1024)
/* Private data of a request that rdma_cm leaves on RoCE. */
#define DIALER_MAX	56

/**
 * struct dialer - one connection
 * @events, @id, @pd, @cq, @mr: what it is made of
 * @buf: DIALER_BYTES of its own, to move to and from
 * @reply: what te said to the hello; all 0xff if it said nothing
 */
struct dialer {
	struct rdma_event_channel *events;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	unsigned char *buf;
	struct lane_reply reply;
};

/* Of a connection that is welcome. */
struct lane_hello dialer_hello(const struct asker *t);

/* Asks the NIC from the other end of the wire; returns before there is an answer. */
int dialer_ask(struct dialer *d, const struct asker_nic *nic, const void *hello,
	       size_t len);

/*
 * The answer, and the connection stands if it was accepted: 0, or what te said,
 * negative; -EPIPE: nothing that te says.
 */
int dialer_hear(struct dialer *d);

/* Both; the caller ends it whatever comes. */
int dialer_dial(struct dialer *d, const struct asker_nic *nic, const void *hello,
		size_t len);

/* The same, welcome; and the session shows that it lives. */
int dialer_get_in(struct dialer *d, const struct asker *t);

/*
 * One work request of @len bytes at the front of @buf and at @addr, as @op says; it
 * adds one if that is an atomic. enum ibv_wc_status, or -ETIME, -errno.
 */
int dialer_move(struct dialer *d, enum ibv_wr_opcode op, uint64_t addr,
		uint32_t key, uint32_t len);

/* It does what it was made for: READs some of @p's memory, which @t is told of. */
int dialer_works(struct dialer *d, const struct asker *t, const struct pair *p);

/* Sets all of @buf; whether a byte of it has changed since. */
void dialer_wipe(struct dialer *d);
int dialer_touched(const struct dialer *d);

/* Until te has so many, of this node's endpoints and of connections to it. */
int dialer_await_nr(uint64_t nr);

/* Waits until te has ended it: 0 or -ETIME. */
int dialer_await_end(struct dialer *d);

/* Ends it, in any state. */
void dialer_end(struct dialer *d);

#endif

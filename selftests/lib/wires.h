/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * wires: the two wires of vm/net/rails.sh, "ab" and "cd", what they carry, and
 * work that lasts while something happens to them.
 */
#ifndef TE_TEST_WIRES_H
#define TE_TEST_WIRES_H

#include "lib/pair.h"

/* For system(). */
#define MEND "selftests/vm/net/rails.sh mend"
#define SETTLED "selftests/vm/net/rails.sh settled"
#define DEL(dev) "rdma link delete rxe_" dev
/* A CM message that cannot be sent leaves rxe's GSI QP in error, for ever. */
#define ANEW DEL("c") " && " DEL("d") " && " MEND
/* Changed in place: where another qdisc takes its place a packet is lost so, too. */
#define NETEM(dev) "tc qdisc change dev v" dev " root netem limit 100000 "

/* Bytes that were sent from these ends: "ab" is all that this wire has carried. */
unsigned long long wire_carried(const char *ends);

/* WRITEs until these ends have sent some of it. Return: ms, or -errno. */
int wire_await(struct pair *p, const char *ends);

/**
 * struct load - a batch of tasks that all move the same bytes
 * @p: over which
 * @batch: id
 * @left: tasks that have not been seen to complete
 * @len: bytes of each
 */
struct load {
	struct pair *p;
	uint32_t batch, left;
	size_t len;
};

/* As many tasks as @nr, with a completion entry each. */
int load_start(struct load *l, struct pair *p, uint32_t op, uint32_t nr,
	       size_t len);

/*
 * Takes completions until @until tasks are left. Return: the longest time
 * between two, ms, or -errno of a task that did not complete.
 */
int load_drain(struct load *l, uint32_t until);

/* The same for all that are left; all bytes are compared, and the batch freed. */
int load_end(struct load *l);

#endif

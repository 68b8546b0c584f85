/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * calls: every ioctl as a row that knows how to make a good argument for it,
 * so that a test can spoil one thing at a time..
 */
#ifndef TE_TEST_CALLS_H
#define TE_TEST_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/raw.h"

#define ARG_MAX_BYTES	4096

/**
 * struct world - what good arguments refer to
 * @ctx: the context under test
 * @other: another one of this process, with ids of its own
 * @target: exports @name
 * @fd: descriptor the next call is made on, set by the row's make()
 * @fresh: descriptor made for one call, or -1
 * @mem: 64 KiB, registered in no context
 * @efd: an eventfd
 */
struct world {
	struct raw ctx, other, target;
	int fd, fresh, efd;
	char *mem;
	char name[48], new_name[48];
	uint32_t segment;
	struct te_request request;
	struct te_topology_entry entry;
};

/**
 * struct call - an ioctl
 * @size: as it is now
 * @first: of its first version, if that was less
 * @flags: those defined
 * @reserved: offset of its reserved word, 0: none
 * @id: offset of the id it refers to, 0: none
 * @id_zero: id 0 has another meaning
 * @anyone: open to any process and descriptor
 * @answers: writes to its argument
 * @unset, @unset2: what it may answer before TE_IOC_SETUP
 * @make: fills in @arg, zeroed, and makes what it refers to; 0 or -errno
 * @undo: @ret is what the call answered
 */
struct call {
	const char *name;
	unsigned long cmd;
	uint32_t size, first, flags, reserved, id;
	bool id_zero, anyone, answers;
	int unset, unset2;
	int (*make)(struct world *w, void *arg);
	void (*undo)(struct world *w, void *arg, int ret);
};

extern const struct call calls[];
extern const size_t nr_calls;

int world_open(struct world *w);
void world_close(struct world *w);

/* The row of an ioctl. */
const struct call *call_of(unsigned long cmd);

#endif

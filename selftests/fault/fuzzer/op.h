/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * op: the operations that a step can be. An ioctl is a row of fields, each with
 * a function that picks a value by a number: nearly always one that makes sense
 * in the world as it is, seldom one that does not. What is no ioctl is a
 * function (act.c).
 */
#ifndef TE_FUZZ_OP_H
#define TE_FUZZ_OP_H

#include <stdbool.h>
#include <stdint.h>

#include "fault/fuzzer/seq.h"
#include "fault/fuzzer/world.h"

/* Memory of a lane, with a page behind it that cannot be accessed. */
#define ROOM		(32UL << 10)

/**
 * struct call - a step that runs
 * @step: the step
 * @op: its operation
 * @ctx: the context it is about
 * @fd: the descriptor it uses
 * @room: ROOM bytes of its lane
 * @arg: argument of the ioctl, in @room
 */
struct call {
	const struct step *step;
	const struct op *op;
	unsigned int ctx;
	int fd;
	char *room, *arg;
};

/**
 * struct field - of an ioctl's argument
 * @off: offset
 * @bytes: 4 or 8; 0: pick() writes it itself
 * @pick: value, by a number
 */
struct field {
	uint16_t off, bytes;
	uint64_t (*pick)(const struct call *c, uint32_t v);
};

/**
 * struct op - an operation
 * @weight: how often it is chosen, relative to others
 * @cmd: of an ioctl
 * @size: of its struct
 * @id_off: offset of the id it gives out
 * @id: what kind of id, or ID_NONE
 * @fields: behind size, in order
 * @run: an operation that is no ioctl; what it returns is as below
 */
struct op {
	const char *name;
	unsigned int weight;
	unsigned long cmd;
	uint32_t size, id_off;
	enum id_kind id;
	struct field fields[STEP_VALUES];
	long (*run)(const struct call *c);
};

extern const struct op ops[];
extern const unsigned int nr_ops;

/* One in 32. What is left of the number may pick the rest. */
static inline bool odd(uint32_t *v)
{
	uint32_t rest = *v / 32;
	bool is = *v % 32 == 0;

	*v = rest;
	return is;
}

/* Picks an address in the arena, and a length that often fits there. */
char *pick_place(uint32_t v);
size_t pick_room(uint32_t v);

/*
 * Runs a step: what the kernel answered, 0 or more, or -errno. @room is ROOM
 * bytes. An answer outside the contract is printed, and false in @good.
 */
long op_run(const struct step *step, char *room, bool *good);

/* Prints arguments and answers as they come. */
extern bool op_verbose;

/* act.c */
long act_open(const struct call *c);
long act_close(const struct call *c);
long act_dup(const struct call *c);
long act_map(const struct call *c);
long act_unmap(const struct call *c);
long act_scribble(const struct call *c);
long act_poll(const struct call *c);
long act_file(const struct call *c);
long act_memory(const struct call *c);
long act_truncate(const struct call *c);
long act_fork(const struct call *c);
long act_child(const struct call *c);

#endif

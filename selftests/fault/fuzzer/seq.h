/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * seq: what one thread does in one round, a few steps. A step is an operation
 * and the numbers it is made from. A number has no meaning of its own: the
 * operation picks by it from what makes sense, and seldom from what does not,
 * when it runs (op.h). So any numbers make a step, to change a number is to
 * mutate it, and a sequence can be run again in another process.
 */
#ifndef TE_FUZZ_SEQ_H
#define TE_FUZZ_SEQ_H

#include <stdint.h>

#define SEQ_STEPS	16
#define STEP_VALUES	12

/**
 * struct step - one operation
 * @op: index in ops[]
 * @ctx: picks the context, and by which of its descriptors
 * @keep: where an id that comes out is kept
 * @where: picks where the argument lies
 * @v: what the fields of the argument are picked by
 */
struct step {
	uint8_t op, ctx, keep, where;
	uint32_t v[STEP_VALUES];
};

struct seq {
	uint32_t nr;
	struct step step[SEQ_STEPS];
};

struct rng {
	uint64_t state;
};

uint32_t rnd(struct rng *r);

/* 0 to @n - 1 */
uint32_t rnd_below(struct rng *r, uint32_t n);

void seq_make(struct seq *s, struct rng *r);

/* Changes @s in a few places; some steps may come from @other. */
void seq_mutate(struct seq *s, const struct seq *other, struct rng *r);

#endif

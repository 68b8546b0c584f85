// SPDX-License-Identifier: GPL-2.0-only
/* seq: see seq.h. */
#include <string.h>

#include "fault/fuzzer/op.h"
#include "fault/fuzzer/seq.h"

/* splitmix64: any seed is a good one. */
uint32_t rnd(struct rng *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (z ^ z >> 31) >> 32;
}

uint32_t rnd_below(struct rng *r, uint32_t n)
{
	return (uint64_t)rnd(r) * n >> 32;
}

static uint8_t pick_op(struct rng *r)
{
	unsigned int sum = 0, i;

	for (i = 0; i < nr_ops; i++)
		sum += ops[i].weight;
	sum = rnd_below(r, sum);
	for (i = 0; sum >= ops[i].weight; i++)
		sum -= ops[i].weight;
	return i;
}

static void step_make(struct step *s, struct rng *r)
{
	int i;

	s->op = pick_op(r);
	s->ctx = rnd(r);
	s->keep = rnd(r);
	s->where = rnd(r);
	for (i = 0; i < STEP_VALUES; i++)
		s->v[i] = rnd(r);
}

void seq_make(struct seq *s, struct rng *r)
{
	uint32_t i;

	s->nr = 1 + rnd_below(r, SEQ_STEPS);
	for (i = 0; i < s->nr; i++)
		step_make(&s->step[i], r);
}

static void insert(struct seq *s, const struct step *step, struct rng *r)
{
	uint32_t at = rnd_below(r, s->nr + 1);

	if (s->nr == SEQ_STEPS) {
		s->step[rnd_below(r, SEQ_STEPS)] = *step;
		return;
	}
	memmove(&s->step[at + 1], &s->step[at],
		(s->nr++ - at) * sizeof(*step));
	s->step[at] = *step;
}

static void delete(struct seq *s, uint32_t at)
{
	if (s->nr > 1)
		memmove(&s->step[at], &s->step[at + 1],
			(--s->nr - at) * sizeof(s->step[0]));
}

static void mutate_once(struct seq *s, const struct seq *other, struct rng *r)
{
	uint32_t at = rnd_below(r, s->nr);
	struct step step;

	switch (rnd_below(r, 10)) {
	case 0:
		delete(s, at);
		break;
	case 1:
		step = s->step[at];
		insert(s, &step, r);
		break;
	case 2:
		insert(s, &other->step[rnd_below(r, other->nr)], r);
		break;
	case 3:
		s->step[at].ctx = rnd(r);
		s->step[at].where = rnd(r);
		break;
	case 4:
		step_make(&step, r);
		insert(s, &step, r);
		break;
	default:
		s->step[at].v[rnd_below(r, STEP_VALUES)] = rnd(r);
	}
}

void seq_mutate(struct seq *s, const struct seq *other, struct rng *r)
{
	int n = 1 + rnd_below(r, 5);

	while (n--)
		mutate_once(s, other, r);
}

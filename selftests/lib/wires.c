// SPDX-License-Identifier: GPL-2.0-only
/* wires: see wires.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/wires.h"

/* What wire_await() tries with: more than one rail takes alone. */
#define TRY	(200 * KIB)
#define NR_TRIES 64

unsigned long long wire_carried(const char *ends)
{
	unsigned long long sum = 0, n;
	char path[80];
	FILE *f;

	for (; *ends; ends++) {
		snprintf(path, sizeof(path),
			 "/sys/class/net/v%c/statistics/tx_bytes", *ends);
		f = fopen(path, "r");
		if (!f)
			return 0;
		if (fscanf(f, "%llu", &n) == 1)
			sum += n;
		fclose(f);
	}
	return sum;
}

int wire_await(struct pair *p, const char *ends)
{
	unsigned long long from = te_now_ms(), was = wire_carried(ends);
	struct load l;
	int ret;

	while (wire_carried(ends) - was < 16 * TRY) {
		if (te_now_ms() - from > TE_WAIT_MS)
			return -ETIME;
		ret = load_start(&l, p, TE_WRITE, NR_TRIES, TRY);
		ret = ret ?: load_end(&l);
		if (ret < 0)
			return ret;
	}
	return te_now_ms() - from;
}

int load_start(struct load *l, struct pair *p, uint32_t op, uint32_t nr,
	       size_t len)
{
	struct te_batch_opts o = {
		.sz = sizeof(o),
		.deadline_ms = 2 * TE_WAIT_MS,
		.entries = TE_ENTRIES_TASK,
	};
	struct te_request *r = calloc(nr, sizeof(*r));
	uint32_t i;
	int ret;

	if (!r)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		r[i] = pair_req(p, op, p->margin, p->margin, len);
	pair_expect(p, r);
	*l = (struct load) { .p = p, .left = nr, .len = len };
	ret = te_batch_alloc(p->ini, nr, &o, &l->batch);
	/* In one go: one after the other a single rail may be fast enough for. */
	ret = ret ?: te_submit(p->ini, l->batch, r, nr);
	free(r);
	return ret;
}

int load_drain(struct load *l, uint32_t until)
{
	unsigned long long last = te_now_ms(), now, end = last + TE_WAIT_MS;
	struct te_completion c[64];
	int n, i, gap = 0;

	while (l->left > until) {
		n = te_poll(l->p->ini, c, sizeof(c) / sizeof(c[0]));
		now = te_now_ms();
		if (n < 0)
			return n;
		if (!n) {
			if (now > end)
				return -ETIME;
			te_sleep_ms(1);
			continue;
		}
		for (i = 0; i < n; i++) {
			if (c[i].state == TE_COMPLETED && c[i].bytes == l->len)
				continue;
			printf("# state %u error %d\n", c[i].state, c[i].error);
			return c[i].error ?: -EBADMSG;
		}
		if (now - last > (unsigned int)gap)
			gap = now - last;
		last = now;
		l->left -= n;
	}
	return gap;
}

int load_end(struct load *l)
{
	int gap = load_drain(l, 0);
	int ret = te_wait(l->p->ini, l->batch, TE_WAIT_MS);

	ret = pair_check(l->p) ?: ret;
	ret = te_batch_free(l->p->ini, l->batch) ?: ret;
	return gap < 0 ? gap : ret ?: gap;
}

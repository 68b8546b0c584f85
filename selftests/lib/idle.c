// SPDX-License-Identifier: GPL-2.0-only
/*
 * idle: the oracle around a suite.
 *
 *   idle record FILE   make te's devices do something once, wait until nothing
 *                      is left of it, write down what the devices hold
 *   idle check FILE    wait until te holds nothing and the devices what is in
 *                      FILE; prints KTAP
 *
 * Status 0 if so.
 */
#include <stdio.h>
#include <string.h>

#include "lib/pair.h"

static int record(const char *path)
{
	struct te_rdma r;
	struct pair p;
	FILE *f;
	int ret;

	ret = pair_open(&p, NULL);
	if (ret)
		return ret;
	ret = pair_xfer(&p, TE_WRITE, 8 * KIB, 8 * KIB, 100000);
	ret = ret ?: pair_xfer(&p, TE_READ, 8 * KIB, 8 * KIB, 100000);
	pair_close(&p);
	ret = ret ?: te_settle_all();
	ret = ret ?: te_rdma(&r);
	f = fopen(path, "we");
	if (ret || !f)
		return ret ?: -1;
	fprintf(f, "%ld %ld %ld %ld %ld\n", r.pd, r.cq, r.qp, r.cm_id, r.mr);
	return fclose(f);
}

static int check(const char *path)
{
	struct te_rdma r;
	FILE *f = fopen(path, "re");
	int ret;

	if (!f || fscanf(f, "%ld %ld %ld %ld %ld", &r.pd, &r.cq, &r.qp,
			 &r.cm_id, &r.mr) != 5)
		return -1;
	fclose(f);
	ret = te_settle_all();
	ret = te_rdma_settle(&r) ?: ret;
	return te_pins_settle() ?: ret;
}

int main(int argc, char **argv)
{
	int ret;

	if (argc == 3 && !strcmp(argv[1], "record")) {
		ret = record(argv[2]);
		if (ret)
			printf("# te does not work at all: %s\n",
			       strerror(-ret));
	} else if (argc == 3 && !strcmp(argv[1], "check")) {
		ret = check(argv[2]);
		printf("TAP version 13\n1..1\n%sok 1 nothing left\n",
		       ret ? "not " : "");
	} else {
		return 2;
	}
	return ret ? 1 : 0;
}

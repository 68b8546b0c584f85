// SPDX-License-Identifier: GPL-2.0-only
/* stats: see stats.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/raw.h"
#include "lib/stats.h"

int te_stats(struct te_ioc_stats *s)
{
	int fd = open(TE_DEVICE, O_RDONLY | O_CLOEXEC);
	int ret;

	if (fd < 0)
		return -errno;
	memset(s, 0, sizeof(*s));
	s->size = sizeof(*s);
	ret = raw_ioctl(fd, TE_IOC_STATS, s);
	close(fd);
	/*
	 * An earlier descriptor of ours may still count, so this is at least 1,
	 * but a caller that waits for 0 must be able to see it.
	 */
	if (!ret && s->contexts)
		s->contexts--;
	return ret;
}

static const struct te_ioc_stats zero;

static bool equal(const struct te_ioc_stats *a, const struct te_ioc_stats *b,
		  bool all)
{
	if (a->contexts != b->contexts || a->mrs != b->mrs ||
	    a->pinned_pages != b->pinned_pages || a->batches != b->batches ||
	    a->tasks != b->tasks || a->segments != b->segments ||
	    a->exports != b->exports || a->slices != b->slices)
		return false;
	return !all || (a->sessions == b->sessions &&
			a->endpoints == b->endpoints);
}

static void show(const char *what, const struct te_ioc_stats *s)
{
	printf("# %s: contexts %llu mrs %llu pinned_pages %llu batches %llu tasks %llu segments %llu exports %llu sessions %llu endpoints %llu slices %llu\n",
	       what, s->contexts, s->mrs, s->pinned_pages, s->batches, s->tasks,
	       s->segments, s->exports, s->sessions, s->endpoints, s->slices);
}

static int settle(const struct te_ioc_stats *base, bool all)
{
	unsigned long long end = te_now_ms() + TE_SETTLE_MS;
	struct te_ioc_stats s;
	int ret;

	for (;;) {
		ret = te_stats(&s);
		if (ret)
			return ret;
		if (equal(&s, base, all))
			return 0;
		if (te_now_ms() > end)
			break;
		te_sleep_ms(10);
	}
	show("wanted", base);
	show("left", &s);
	return -ETIME;
}

int te_settle(void)
{
	return settle(&zero, false);
}

int te_settle_all(void)
{
	return settle(&zero, true);
}

int te_settle_to(const struct te_ioc_stats *base)
{
	return settle(base, false);
}

int te_settle_one(unsigned int offset, unsigned long long want, int timeout_ms)
{
	unsigned long long end = te_now_ms() + timeout_ms;
	unsigned long long is;
	struct te_ioc_stats s;
	int ret;

	for (;;) {
		ret = te_stats(&s);
		if (ret)
			return ret;
		memcpy(&is, (char *)&s + offset, sizeof(is));
		if (is == want)
			return 0;
		if (te_now_ms() > end)
			break;
		te_sleep_ms(10);
	}
	printf("# count at %u is %llu, not %llu\n", offset, is, want);
	return -ETIME;
}

/* A line reads "0: rxe_a: pd 1 cq 1 qp 1 cm_id 0 mr 0 ctx 0 srq 0". */
int te_rdma(struct te_rdma *r)
{
	FILE *f = popen("rdma resource show", "re");
	struct te_rdma d;
	char line[256], *at;
	int lines = 0;

	if (!f)
		return -errno;
	memset(r, 0, sizeof(*r));
	while (fgets(line, sizeof(line), f)) {
		at = strstr(line, ": pd ");
		if (!at || sscanf(at, ": pd %ld cq %ld qp %ld cm_id %ld mr %ld",
				  &d.pd, &d.cq, &d.qp, &d.cm_id, &d.mr) != 5)
			continue;
		r->pd += d.pd;
		r->cq += d.cq;
		r->qp += d.qp;
		r->cm_id += d.cm_id;
		r->mr += d.mr;
		lines++;
	}
	pclose(f);
	return lines ? 0 : -ENODATA;
}

int te_rdma_settle(const struct te_rdma *base)
{
	unsigned long long end = te_now_ms() + TE_SETTLE_MS;
	struct te_rdma r;
	int ret;

	do {
		ret = te_rdma(&r);
		if (ret)
			return ret;
		if (!memcmp(&r, base, sizeof(r)))
			return 0;
		te_sleep_ms(100);
	} while (te_now_ms() < end);
	printf("# devices hold pd %ld cq %ld qp %ld cm_id %ld mr %ld, held %ld %ld %ld %ld %ld\n",
	       r.pd, r.cq, r.qp, r.cm_id, r.mr, base->pd, base->cq, base->qp,
	       base->cm_id, base->mr);
	return -ETIME;
}

long te_vm_pin_kib(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[128];
	long kib = -1;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmPin: %ld", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib;
}

long te_pins(void)
{
	int refresh = open("/proc/sys/vm/stat_refresh", O_WRONLY | O_CLOEXEC);
	long acquired = 0, released = 0;
	char line[128];
	FILE *f;

	/* Counts are kept by CPU; one CPU alone has no such file. */
	if (refresh >= 0) {
		if (write(refresh, "1", 1) != 1)
			printf("# stat_refresh: %s\n", strerror(errno));
		close(refresh);
	}
	f = fopen("/proc/vmstat", "re");
	while (f && fgets(line, sizeof(line), f)) {
		sscanf(line, "nr_foll_pin_acquired %ld", &acquired);
		sscanf(line, "nr_foll_pin_released %ld", &released);
	}
	if (f)
		fclose(f);
	return acquired - released;
}

int te_pins_settle(void)
{
	unsigned long long end = te_now_ms() + TE_SETTLE_MS;
	long pins;

	while ((pins = te_pins()) != 0) {
		if (te_now_ms() > end) {
			printf("# %ld pages are still pinned\n", pins);
			return -ETIME;
		}
		te_sleep_ms(20);
	}
	return 0;
}

unsigned long long te_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ULL + t.tv_nsec / 1000000;
}

void te_sleep_ms(unsigned int ms)
{
	struct timespec t = {
		.tv_sec = ms / 1000,
		.tv_nsec = ms % 1000 * 1000000L,
	};

	nanosleep(&t, NULL);
}

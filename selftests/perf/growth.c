// SPDX-License-Identifier: GPL-2.0-only
/*
 * What te costs as things grow. Prints
 *
 *   submit KERNEL/one FEW MANY MANY/FEW    nanoseconds for each request of a
 *   submit KERNEL/turns FEW MANY MANY/FEW  submit, all to one peer or each to
 *                                          another of 128; with so many peers
 *                                          open, and with 1000
 *   memory KERNEL BIG SMALL                slices alive at most: one request of
 *                                          1 GiB, many of 64 KiB
 *   inflight KERNEL NR LIVE SLICES         requests of 4 KiB of one submit, that
 *                                          moved the right bytes; how many were
 *                                          in flight when it returned; slices
 *
 * Slices are all the memory that a request takes beside its place in its batch.
 * A node has as many peers as it has addresses, and 127.0.0.0/8 is many. No
 * test: figures depend on the machine. But what does not work ends it.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "lib/pair.h"

#define GIB		(1024 * MIB)
#define PEERS		1000
#define BATCH		128
#define SUBMITS		201	/* for one figure; odd: there is a median */
#define BLOCK		4096UL
#define REGION		(64 * MIB)
#define IN_FLIGHT	100000U
#define SAMPLE_MS	2000

/**
 * struct place - a context and its memory
 * @te: the context
 * @mem: @len bytes, registered
 */
struct place {
	struct te *te;
	unsigned char *mem;
	size_t len;
};

static struct place ini, tgt;
static char seg_name[48];
static const char *kernel;

static void must(int ret, const char *what)
{
	if (ret >= 0)
		return;
	printf("# growth: %s: %s\n", what, strerror(-ret));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* Maps the @real bytes of @fd over @len bytes from @p on, again and again. */
static void map_again(unsigned char *p, size_t len, int fd, size_t real)
{
	size_t at;

	for (at = 0; at < len; at += real)
		must(mmap(p + at, real, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED ?
		     -errno : 0, "mmap");
}

/* Addresses for @len bytes; @p: where, or NULL. */
static unsigned char *reserve(unsigned char *p, size_t len)
{
	p = mmap(p, len, PROT_NONE,
		 MAP_PRIVATE | MAP_ANONYMOUS | (p ? MAP_FIXED : 0), -1, 0);
	must(p == MAP_FAILED ? -errno : 0, "mmap");
	return p;
}

/*
 * A context with @len bytes over @real bytes of memory. With less memory than
 * addresses these can be used by te only: registered pages stay, and User Mode
 * Linux pays for each page that is mapped with a mapping of its own.
 */
static void place_open(struct place *p, size_t len, size_t real,
		       unsigned int access)
{
	struct te_open_opts o = {
		.sz = sizeof(o), .task_slots = 4 * IN_FLIGHT,
	};
	size_t region = real < len ? REGION : len, at;
	int fd = memfd_create("growth", 0);
	uint32_t mr;

	must(fd < 0 || ftruncate(fd, real) ? -errno : 0, "memfd");
	must(te_open(&p->te, &o), "open");
	p->len = len;
	p->mem = reserve(NULL, len);
	for (at = 0; at < len; at += region) {
		map_again(p->mem + at, region, fd, real);
		must(te_mr_register(p->te, p->mem + at, region, access, NULL,
				    &mr), "register");
		if (real < len)
			reserve(p->mem + at, region);
	}
	close(fd);
}

static void place_close(struct place *p)
{
	te_close(p->te);
	munmap(p->mem, p->len);
}

static uint32_t open_pair(size_t local, size_t local_real, size_t remote,
			  size_t remote_real)
{
	uint32_t seg;

	place_open(&ini, local, local_real, TE_LOCAL_ALL);
	place_open(&tgt, remote, remote_real, TE_REMOTE_ALL);
	snprintf(seg_name, sizeof(seg_name), "%s", te_unique_name());
	must(te_segment_export(tgt.te, seg_name, NULL), "export");
	must(te_open_segment(ini.te, seg_name, &seg), "open of the segment");
	return seg;
}

static void close_pair(void)
{
	place_close(&ini);
	place_close(&tgt);
	must(te_settle(), "settle");
}

static uint32_t batch_of(uint32_t nr)
{
	struct te_batch_opts o = { .sz = sizeof(o), .deadline_ms = 600000 };
	uint32_t batch;

	must(te_batch_alloc(ini.te, nr, &o, &batch), "batch");
	return batch;
}

/* Waits for @batch, which must have moved all. */
static void finish(uint32_t batch)
{
	struct te_status st;

	must(te_wait(ini.te, batch, 600000), "wait");
	must(te_batch_status(ini.te, batch, &st), "status");
	if (st.state != TE_COMPLETED)
		must(st.error ? st.error : -EIO, "transfer");
	must(te_batch_free(ini.te, batch), "free");
}

/* Slices alive, now. */
static unsigned long long slices(void)
{
	struct te_ioc_stats s;

	must(te_stats(&s), "stats");
	return s.slices;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Nanoseconds per request of a submit to the first @nr of @segs in turn. */
static double submit_ns(const uint32_t *segs, uint32_t nr)
{
	static struct te_request r[BATCH];
	uint64_t took[SUBMITS], from;
	uint32_t i, batch;

	for (i = 0; i < BATCH; i++)
		r[i] = (struct te_request) {
			.opcode = TE_WRITE,
			.segment = segs[i % nr],
			.local_addr = (uintptr_t)ini.mem + i * 64,
			.remote_addr = (uintptr_t)tgt.mem + i * 64,
			.length = 64,
		};
	/* The first one finds nothing connected. */
	for (i = 0; i <= SUBMITS; i++) {
		batch = batch_of(BATCH);
		from = now_ns();
		must(te_submit(ini.te, batch, r, BATCH), "submit");
		took[i ? i - 1 : 0] = now_ns() - from;
		finish(batch);
	}
	qsort(took, SUBMITS, sizeof(took[0]), by_value);
	return (double)took[SUBMITS / 2] / BATCH;
}

static void open_peers(uint32_t *segs, uint32_t from, uint32_t to)
{
	struct te_segment_opts o = { .sz = sizeof(o), .timeout_ms = 60000 };
	char url[128];
	uint32_t i;

	for (i = from; i < to; i++) {
		snprintf(url, sizeof(url), "127.77.%u.%u/%s", i / 250,
			 i % 250 + 1, seg_name);
		must(te_segment_open(ini.te, url, &o, &segs[i]),
		     "open of a peer");
	}
}

static void print_submit(const char *what, double few, double many)
{
	printf("submit %s/%s %.0f %.0f %.2f\n", kernel, what, few, many,
	       many / few);
}

/*
 * So that the movers which a submit wakes run when it sleeps, not within the time
 * that is taken: on one CPU the scheduler may do either.
 */
static void go_first(int policy)
{
	struct sched_param p = { .sched_priority = policy != SCHED_OTHER };

	must(sched_setscheduler(0, policy, &p) ? -errno : 0, "scheduling class");
}

static void submit_cost(void)
{
	static uint32_t segs[PEERS];
	double one, turns;

	go_first(SCHED_FIFO);
	open_pair(MIB, MIB, MIB, MIB);
	open_peers(segs, 0, 1);
	one = submit_ns(segs, 1);
	open_peers(segs, 1, BATCH);
	turns = submit_ns(segs, BATCH);
	open_peers(segs, BATCH, PEERS);
	print_submit("one", one, submit_ns(segs, 1));
	print_submit("turns", turns, submit_ns(segs, BATCH));
	go_first(SCHED_OTHER);
	close_pair();
}

/* The most slices that @nr requests of @len have alive while they move. */
static unsigned long long most_slices(uint32_t seg, uint32_t nr, size_t len)
{
	uint64_t end = now_ns() + SAMPLE_MS * 1000000ULL;
	struct te_request *r = calloc(nr, sizeof(*r));
	unsigned long long most = 0, live;
	uint32_t i, batch = batch_of(nr);
	int ret;

	must(r ? 0 : -ENOMEM, "requests");
	for (i = 0; i < nr; i++)
		r[i] = (struct te_request) {
			.opcode = TE_WRITE,
			.segment = seg,
			.local_addr = (uintptr_t)ini.mem + i * len,
			.remote_addr = (uintptr_t)tgt.mem + i * len,
			.length = len,
		};
	must(te_submit(ini.te, batch, r, nr), "submit");
	do {
		live = slices();
		most = live > most ? live : most;
		ret = te_wait(ini.te, batch, 1);
	} while (ret == -ETIME && now_ns() < end);
	must(te_cancel(ini.te, batch), "cancel");
	must(te_wait(ini.te, batch, 600000), "wait");
	must(te_batch_free(ini.te, batch), "free");
	free(r);
	return most;
}

static void memory(void)
{
	uint32_t seg = open_pair(GIB, 4 * MIB, GIB, 4 * MIB);
	unsigned long long big, small;

	most_slices(seg, 1, 64 * KIB);	/* connects */
	big = most_slices(seg, 1, GIB);
	small = most_slices(seg, GIB / (64 * KIB), 64 * KIB);
	printf("memory %s %llu %llu\n", kernel, big, small);
	close_pair();
}

/* Which of the target's blocks request @i reads. */
static uint32_t block_of(uint32_t i)
{
	return i * 769 % (4 * MIB / BLOCK);
}

static void in_flight(void)
{
	uint32_t seg = open_pair(IN_FLIGHT * BLOCK, IN_FLIGHT * BLOCK,
				 4 * MIB, 4 * MIB);
	struct te_request *r = calloc(IN_FLIGHT, sizeof(*r));
	uint32_t i, batch = batch_of(IN_FLIGHT);
	unsigned long long most = 0, live;
	struct te_ioc_stats s;

	must(r ? 0 : -ENOMEM, "requests");
	pattern_fill(tgt.mem, tgt.len, 1);
	for (i = 0; i < IN_FLIGHT; i++)
		r[i] = (struct te_request) {
			.opcode = TE_READ,
			.segment = seg,
			.local_addr = (uintptr_t)ini.mem + i * BLOCK,
			.remote_addr = (uintptr_t)tgt.mem +
				       block_of(i) * BLOCK,
			.length = BLOCK,
		};
	must(te_submit(ini.te, batch, r, IN_FLIGHT), "submit");
	must(te_stats(&s), "stats");
	while (te_wait(ini.te, batch, 1) == -ETIME) {
		live = slices();
		most = live > most ? live : most;
	}
	finish(batch);
	for (i = 0; i < IN_FLIGHT; i++)
		must(memcmp(ini.mem + i * BLOCK,
			    tgt.mem + block_of(i) * BLOCK, BLOCK) ? -EBADMSG :
		     0, "bytes");
	printf("inflight %s %u %llu %llu\n", kernel, IN_FLIGHT, s.tasks, most);
	free(r);
	close_pair();
}

int main(void)
{
	kernel = getenv("TE_KERNEL") ?: "host";
	setvbuf(stdout, NULL, _IOLBF, 0);
	submit_cost();
	memory();
	in_flight();
	return 0;
}

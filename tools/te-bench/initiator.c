// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * te-bench --mode=initiator: opens the target's segment, lays the patterns out,
 * runs the load, has the bytes checked, tells the result.
 *
 * What --verify proves. "Used" is what the load moves: threads x inflight x
 * batch_size x block_size bytes at the start of both buffers. Before the run the
 * source's used bytes are a fresh pattern and the destination's its complement,
 * so no byte is right by chance or from an earlier run.
 *   read   After the run the local bytes must be the pattern: a READ of the run
 *          brought each of them.
 *   write  After the run the local bytes are turned into the complement and read
 *          back: they must be the pattern, so a WRITE of the run brought each of
 *          them.
 *   both   The target then compares its own memory with the pattern on its own
 *          CPU, so READ and WRITE cannot agree on a wrong place.
 * What it does not prove: that a block was right each time. Every round moves the
 * same bytes, and only what they are at the end is looked at.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "load.h"
#include "pattern.h"
#include "say.h"
#include "te.h"
#include "xfer.h"

#define PIECE		(1ULL << 20)	/* request size outside the run, */
#define MAX_PIECES	1024		/* or more when there would be too many */
#define MIN_TASK_SLOTS	(2 * MAX_PIECES)
#define ANSWER_MS	30000		/* the target checks GiBs in that time */
#define SETTLE_MS	20

struct initiator {
	const struct bench_opts *opts;
	struct load load;
	uint64_t used;
	uint32_t transport;
	uint64_t seed;
	uint64_t control_addr;
	struct bench_control *control;
};

static int used_bytes(const struct bench_opts *o, uint64_t *used)
{
	uint64_t slots = (uint64_t)o->threads * o->inflight;

	if (__builtin_mul_overflow(slots, o->batch_size, used) ||
	    __builtin_mul_overflow(*used, o->block_size, used))
		return say_error(0, "threads x inflight x batch_size x block_size is absurd");
	if (o->share && *used > o->buffer_size)
		*used = o->buffer_size - o->buffer_size % o->block_size;
	if (*used > o->buffer_size || !*used)
		return say_error(0, "threads x inflight x batch_size x block_size is %" PRIu64
				 " bytes: raise --buffer_size on both sides, or lower one of them",
				 *used);
	if (slots * (o->batch_size + 1ULL) > TE_MAX_TASK_SLOTS)
		return say_error(0, "threads x inflight x batch_size is over %u requests in flight",
				 TE_MAX_TASK_SLOTS);

	return 0;
}

/* Twice what is in flight, so that runs of free slots are always found. */
static uint32_t task_slots(const struct bench_opts *o)
{
	uint64_t slots = 2ULL * o->threads * o->inflight * (o->batch_size + 1ULL);

	if (slots < MIN_TASK_SLOTS)
		return MIN_TASK_SLOTS;
	return slots < TE_MAX_TASK_SLOTS ? slots : TE_MAX_TASK_SLOTS;
}

static int register_local(struct initiator *in)
{
	const unsigned int access = TE_LOCAL_READ | TE_LOCAL_WRITE;
	uint64_t bytes = in->opts->buffer_size;
	void *control;
	uint32_t mr;
	int ret;

	ret = xfer_map(bytes, &in->load.local);
	if (ret)
		return ret;
	ret = te_mr_register(in->load.te, in->load.local, bytes, access, NULL,
			     &mr);
	if (ret)
		return say_error(ret, "register %" PRIu64 " bytes", bytes);

	ret = xfer_map(BENCH_CONTROL_BYTES, &control);
	if (ret)
		return ret;
	in->control = control;
	ret = te_mr_register(in->load.te, control, BENCH_CONTROL_BYTES, access,
			     NULL, &mr);
	if (ret)
		return say_error(ret, "register the control page");

	return 0;
}

static int open_remote(struct initiator *in)
{
	const struct bench_opts *opts = in->opts;
	struct te_segment_opts o = {
		.sz = sizeof(o),
		.transport = opts->transport,
	};
	struct te_route route;
	struct te_buffer buf;
	uint32_t access;
	int ret;

	ret = te_segment_open(in->load.te, opts->segment_id, &o, &in->load.seg);
	if (ret)
		return say_error(ret, "open segment %s", opts->segment_id);
	ret = te_segment_route(in->load.te, in->load.seg, &route);
	if (ret)
		return say_error(ret, "ask what carries %s", opts->segment_id);
	in->transport = route.transport;

	access = opts->opcode == TE_READ ? TE_REMOTE_READ : TE_REMOTE_WRITE;
	if (opts->verify)
		access = TE_REMOTE_READ | TE_REMOTE_WRITE;
	ret = xfer_find(in->load.te, in->load.seg, access, 0, &buf);
	if (ret)
		return say_error(ret, "find memory to use in %s",
				 opts->segment_id);
	if (buf.length < in->used)
		return say_error(0, "%s is too small, the target's --buffer_size must be %" PRIu64,
				 opts->segment_id, in->used);
	in->load.remote = buf.addr;
	in->load.used = in->used;
	return 0;
}

/* One move outside the run; tells what failed. */
static int move(struct initiator *in, uint32_t opcode, void *local,
		uint64_t remote, uint64_t bytes)
{
	uint64_t piece = (bytes - 1) / MAX_PIECES + 1;
	int ret;

	ret = xfer_run(in->load.te, opcode, in->load.seg, local, remote, bytes,
		       piece > PIECE ? piece : PIECE);
	if (ret)
		say_error(ret, "%s %" PRIu64 " bytes outside the run",
			  opcode == TE_READ ? "READ" : "WRITE", bytes);

	return ret;
}

static int find_control(struct initiator *in)
{
	struct te_buffer buf;
	int ret;

	ret = xfer_find(in->load.te, in->load.seg,
			TE_REMOTE_READ | TE_REMOTE_WRITE, BENCH_CONTROL_BYTES,
			&buf);
	if (ret)
		return say_error(ret, "find a te-bench target's control page in %s",
				 in->opts->segment_id);
	in->control_addr = buf.addr;
	ret = move(in, TE_READ, in->control, buf.addr, sizeof(*in->control));
	if (ret)
		return ret;
	if (in->control->magic != BENCH_MAGIC)
		return say_error(0, "%s is not a te-bench target's, --verify needs one",
				 in->opts->segment_id);

	return 0;
}

static int lay_pattern(struct initiator *in)
{
	void *local = in->load.local;
	int ret;

	ret = find_control(in);
	if (ret)
		return ret;

	in->seed = pattern_seed();
	pattern_fill(local, in->used, in->seed);
	if (in->opts->opcode == TE_WRITE)
		pattern_invert(local, in->used);
	ret = move(in, TE_WRITE, local, in->load.remote, in->used);
	if (ret)
		return ret;
	pattern_invert(local, in->used);
	return 0;
}

static int check_here(struct initiator *in)
{
	void *local = in->load.local;
	uint64_t bad;
	int ret;

	if (in->opts->opcode == TE_WRITE) {
		pattern_invert(local, in->used);
		ret = move(in, TE_READ, local, in->load.remote, in->used);
		if (ret)
			return ret;
	}
	bad = pattern_check(local, in->used, in->seed);
	if (bad)
		return say_error(0, "verify: here %" PRIu64 " of %" PRIu64 " bytes differ",
				 bad, in->used);

	return 0;
}

/* A READ may be taken while the target writes, so what counts is read again. */
static int read_answer(struct initiator *in, uint64_t ask)
{
	const struct timespec settle = { .tv_nsec = SETTLE_MS * 1000000 };
	struct bench_control *c = in->control;
	int ret, tries;

	for (tries = ANSWER_MS / SETTLE_MS; tries; tries--) {
		nanosleep(&settle, NULL);
		ret = move(in, TE_READ, c, in->control_addr, sizeof(*c));
		if (ret)
			return ret;
		if (c->answered == ask)
			return move(in, TE_READ, c, in->control_addr,
				    sizeof(*c));
	}

	return say_error(-ETIMEDOUT, "verify: no answer from the target");
}

static int check_there(struct initiator *in)
{
	uint64_t ask = pattern_seed();
	struct bench_control *c = in->control;
	int ret;

	c->seed = in->seed;
	c->bytes = in->used;
	ret = move(in, TE_WRITE, &c->seed,
		   in->control_addr + offsetof(struct bench_control, seed),
		   sizeof(c->seed) + sizeof(c->bytes));
	if (ret)
		return ret;
	c->ask = ask;
	ret = move(in, TE_WRITE, &c->ask,
		   in->control_addr + offsetof(struct bench_control, ask),
		   sizeof(c->ask));
	if (ret)
		return ret;
	ret = read_answer(in, ask);
	if (ret)
		return ret;
	if (c->bad_bytes)
		return say_error(0, "verify: at the target %" PRIu64 " of %" PRIu64 " bytes differ",
				 c->bad_bytes, in->used);

	return 0;
}

static double us(const struct hist *h, double percent)
{
	return hist_percentile(h, percent) / 1e3;
}

static const char *transport_name(uint32_t transport)
{
	static const char * const names[] = { "any", "rdma", "tcp", "local" };

	return transport < sizeof(names) / sizeof(names[0]) ? names[transport] :
		"unknown";
}

static void print_text(const struct initiator *in, const struct load_result *r,
		       double seconds, const char *verify)
{
	const struct bench_opts *o = in->opts;

	printf("%s %s over %s: %u thread(s), each %u batch(es) of %u requests in flight\n",
	       o->opcode == TE_READ ? "read" : "write", o->segment_id,
	       transport_name(in->transport), o->threads, o->inflight,
	       o->batch_size);
	printf("block      %" PRIu64 " bytes\n", o->block_size);
	printf("moved      %" PRIu64 " bytes, %" PRIu64 " requests in %.3f s\n",
	       r->bytes, r->requests, r->seconds);
	printf("throughput %.3f GB/s, %.1f MB/s, %.0f requests/s\n",
	       r->bytes / seconds / 1e9, r->bytes / seconds / 1e6,
	       r->requests / seconds);
	printf("latency    of a batch, us: p50 %.1f, p99 %.1f, p99.9 %.1f, max %.1f\n",
	       us(&r->latency, 50), us(&r->latency, 99), us(&r->latency, 99.9),
	       r->latency.max_ns / 1e3);
	printf("failed     %" PRIu64 " requests\n", r->failed);
	printf("verify     %s\n", verify);
}

static void print_json(const struct initiator *in, const struct load_result *r,
		       double seconds, const char *verify)
{
	const struct bench_opts *o = in->opts;

	printf("{\"operation\":\"%s\",\"segment\":\"%s\",\"transport\":\"%s\",",
	       o->opcode == TE_READ ? "read" : "write", o->segment_id,
	       transport_name(in->transport));
	printf("\"threads\":%u,\"inflight\":%u,\"batch_size\":%u,",
	       o->threads, o->inflight, o->batch_size);
	printf("\"block_size\":%" PRIu64 ",", o->block_size);
	printf("\"seconds\":%.6f,\"bytes\":%" PRIu64 ",", r->seconds, r->bytes);
	printf("\"requests\":%" PRIu64 ",\"failed\":%" PRIu64 ",",
	       r->requests, r->failed);
	printf("\"gb_per_s\":%.6f,\"mb_per_s\":%.3f,\"requests_per_s\":%.1f,",
	       r->bytes / seconds / 1e9, r->bytes / seconds / 1e6,
	       r->requests / seconds);
	printf("\"batch_latency_us\":{\"p50\":%.1f,\"p99\":%.1f,\"p99_9\":%.1f,\"max\":%.1f},",
	       us(&r->latency, 50), us(&r->latency, 99), us(&r->latency, 99.9),
	       r->latency.max_ns / 1e3);
	printf("\"verify\":\"%s\"}\n", verify);
}

static void report(const struct initiator *in, const struct load_result *r,
		   const char *verify)
{
	double seconds = r->seconds > 0 ? r->seconds : 1;

	if (in->opts->json)
		print_json(in, r, seconds, verify);
	else
		print_text(in, r, seconds, verify);
}

/* The run and what is checked after it; the result is told in any case. */
static int measure(struct initiator *in)
{
	const char *verify = "off";
	struct load_result result;
	int ret, there;

	ret = load_run(in->opts, &in->load, &result);
	if (ret)
		return ret;

	if (in->opts->verify && !result.first_error) {
		ret = check_here(in);
		there = check_there(in);
		ret = ret ? ret : there;
		verify = ret ? "failed" : "good";
	} else if (in->opts->verify) {
		verify = "skipped";
	}
	report(in, &result, verify);

	return ret ? ret : result.first_error;
}

static int run(struct initiator *in)
{
	int ret;

	ret = register_local(in);
	if (ret)
		return ret;
	ret = open_remote(in);
	if (ret)
		return ret;
	/* connects the nodes before the clock starts */
	ret = move(in, in->opts->opcode, in->load.local, in->load.remote,
		   in->opts->block_size);
	if (ret)
		return ret;
	if (in->opts->verify) {
		ret = lay_pattern(in);
		if (ret)
			return ret;
	}

	return measure(in);
}

int bench_initiator(const struct bench_opts *opts)
{
	struct initiator in = { .opts = opts };
	int ret;

	ret = used_bytes(opts, &in.used);
	if (ret)
		return ret;
	ret = bench_open(opts, task_slots(opts), &in.load.te);
	if (ret)
		return ret;
	ret = run(&in);
	te_close(in.load.te);

	return ret;
}

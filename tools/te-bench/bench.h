/* SPDX-License-Identifier: LGPL-2.1-only OR MIT */
/*
 * What te-bench's files share: the options, and the page through which an
 * initiator asks the target to check its memory.
 */
#ifndef TE_BENCH_H
#define TE_BENCH_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct bench_opts - the command line
 * @is_target: --mode
 * @verify: check patterns on both sides
 * @share: requests in flight may use the same bytes
 * @json: print one JSON object in place of text
 * @duration_given: --duration was there; a target otherwise runs for ever
 * @opcode: TE_READ or TE_WRITE
 * @transport: TE_ANY ...
 * @batch_size: requests in a batch
 * @threads: submitting threads
 * @inflight: batches each thread keeps in flight
 * @duration_s: seconds
 * @block_size: bytes of a request
 * @buffer_size: bytes of registered memory
 * @device: path, or NULL
 * @segment_id: what an initiator opens, host[:port]/name
 * @segment_name: what a target exports
 */
struct bench_opts {
	bool is_target;
	bool verify;
	bool share;
	bool json;
	bool duration_given;
	uint32_t opcode;
	uint32_t transport;
	uint32_t batch_size;
	uint32_t threads;
	uint32_t inflight;
	uint32_t duration_s;
	uint64_t block_size;
	uint64_t buffer_size;
	const char *device;
	const char *segment_id;
	const char *segment_name;
};

#define BENCH_CONTROL_BYTES	4096
#define BENCH_MAGIC		0x68636e65622d6574ULL	/* "te-bench" */

/**
 * struct bench_control - page of the target that an initiator can READ and WRITE
 * @magic: BENCH_MAGIC, written by the target at start
 * @answered: @ask of the last question answered; written after @bad_bytes
 * @bad_bytes: how many bytes were not the pattern's
 * @reserved0: zero
 * @seed: question: pattern of the first @bytes bytes of the target's buffer
 * @bytes: question: how many
 * @ask: a number not used before; WRITTEN when @seed and @bytes have arrived
 * @reserved1: zero
 *
 * The first line is the target's to write, the second the initiator's.
 */
struct bench_control {
	uint64_t magic;
	uint64_t answered;
	uint64_t bad_bytes;
	uint64_t reserved0[5];
	uint64_t seed;
	uint64_t bytes;
	uint64_t ask;
	uint64_t reserved1[5];
};

/* Both return 0 or -errno, which has been told. */
int bench_target(const struct bench_opts *opts);
int bench_initiator(const struct bench_opts *opts);

/* bench_open() - a context with @task_slots status slots. */
struct te;
int bench_open(const struct bench_opts *opts, uint32_t task_slots,
	       struct te **te);

#endif /* TE_BENCH_H */

/* SPDX-License-Identifier: LGPL-2.1-only OR MIT */
/* The measured part of te-bench: threads that keep batches in flight. */
#ifndef TE_BENCH_LOAD_H
#define TE_BENCH_LOAD_H

#include <stdint.h>

#include "bench.h"
#include "hist.h"

struct te;

/**
 * struct load - where to and where from
 * @te: context
 * @seg: open segment
 * @local: registered memory
 * @remote: address in the segment
 * @used: bytes of both ranges that are used, a multiple of the block size
 *
 * Request i of batch k of thread t moves block (t * inflight + k) * batch_size + i
 * of both ranges, modulo @used: unless that is made small on purpose, no two
 * requests in flight share a byte.
 */
struct load {
	struct te *te;
	uint32_t seg;
	void *local;
	uint64_t remote;
	uint64_t used;
};

/**
 * struct load_result - what was measured
 * @seconds: from before the first submit to the end of the last batch
 * @bytes: of completed requests
 * @requests: completed
 * @failed: requests that ended otherwise
 * @first_error: -errno of the first of them, or of a call that failed
 * @latency: of batches, from before their submit until their thread saw that they
 *	were complete
 */
struct load_result {
	double seconds;
	uint64_t bytes;
	uint64_t requests;
	uint64_t failed;
	int first_error;
	struct hist latency;
};

/**
 * load_run() - run all threads for the duration, or until SIGINT or SIGTERM
 * @opts: the command line
 * @load: where
 * @result: what was measured, also when something failed
 *
 * Return: 0, or -errno when threads could not be started; failed requests are
 * in @result.
 */
int load_run(const struct bench_opts *opts, const struct load *load,
	     struct load_result *result);

#endif /* TE_BENCH_LOAD_H */

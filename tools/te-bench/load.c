// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * The measured part; see load.h.
 *
 * Each thread owns its batches, requests and numbers; only the stop flag and the
 * progress counter are shared. A thread waits for its oldest batch asleep: on one
 * CPU a spinning one would take the time that moves the bytes. The main thread
 * keeps the clock, takes the signals and draws the progress line.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "load.h"
#include "say.h"
#include "te.h"

#define TICK_MS	50	/* how late the end of the duration may be seen */

/* One batch that a thread submits again and again. */
struct lane {
	struct te_request *reqs;
	uint32_t batch;
	bool busy;
	uint64_t start_ns;
};

struct load_thread {
	struct load_run *run;
	pthread_t id;
	struct lane *lanes;
	uint64_t end_ns;
	uint64_t bytes;		/* read by the progress line */
	uint64_t requests, failed;
	int first_error;
	struct hist latency;
};

struct load_run {
	const struct bench_opts *opts;
	const struct load *load;
	bool stop;
	uint32_t nr_running;
	struct load_thread *threads;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static void thread_fail(struct load_thread *t, int err, const char *what)
{
	if (!t->first_error) {
		t->first_error = err;
		say_error(err, "%s", what);
	}
	__atomic_store_n(&t->run->stop, true, __ATOMIC_RELAXED);
}

static void thread_count(struct load_thread *t, uint32_t requests,
			 uint64_t bytes)
{
	t->requests += requests;
	__atomic_store_n(&t->bytes, t->bytes + bytes, __ATOMIC_RELAXED);
}

static void lane_submit(struct load_thread *t, struct lane *lane)
{
	const struct bench_opts *opts = t->run->opts;
	struct te *te = t->run->load->te;
	int ret;

	/* Just taken, and where there is no vDSO a clock is a system call. */
	lane->start_ns = t->end_ns;
	ret = te_batch_alloc(te, opts->batch_size, NULL, &lane->batch);
	if (ret) {
		thread_fail(t, ret, "allocate a batch");
		return;
	}
	ret = te_submit(te, lane->batch, lane->reqs, opts->batch_size);
	if (ret) {
		te_batch_free(te, lane->batch);
		thread_fail(t, ret, "submit");
		return;
	}
	lane->busy = true;
}

static void count_tasks(struct load_thread *t, struct lane *lane)
{
	const struct bench_opts *opts = t->run->opts;
	struct te_status st;
	uint32_t i;
	int ret;

	for (i = 0; i < opts->batch_size; i++) {
		ret = te_status(t->run->load->te, lane->batch, i, &st);
		if (!ret && st.state == TE_COMPLETED) {
			thread_count(t, 1, st.bytes);
			continue;
		}
		t->failed++;
		if (!ret)
			ret = st.error ? st.error : -EIO;
		thread_fail(t, ret, opts->opcode == TE_READ ?
			    "READ request" : "WRITE request");
	}
}

static void lane_collect(struct load_thread *t, struct lane *lane)
{
	const struct bench_opts *opts = t->run->opts;
	struct te *te = t->run->load->te;
	struct te_status st;
	int ret;

	do {
		ret = te_wait(te, lane->batch, -1);
	} while (ret == -EINTR);
	lane->busy = false;
	t->end_ns = now_ns();
	if (!ret)
		ret = te_batch_status(te, lane->batch, &st);
	if (ret) {
		t->failed += opts->batch_size;
		thread_fail(t, ret, "wait for a batch");
		return;
	}

	if (st.state == TE_COMPLETED) {
		hist_add(&t->latency, t->end_ns - lane->start_ns);
		thread_count(t, opts->batch_size, st.bytes);
	} else {
		count_tasks(t, lane);
	}

	ret = te_batch_free(te, lane->batch);
	if (ret)
		thread_fail(t, ret, "free a batch");
}

static void *thread_main(void *arg)
{
	struct load_thread *t = arg;
	struct load_run *run = t->run;
	uint32_t nr_busy = 0, i;
	struct lane *lane;

	t->end_ns = now_ns();
	for (i = 0; i < run->opts->inflight; i++) {
		lane_submit(t, &t->lanes[i]);
		nr_busy += t->lanes[i].busy;
	}

	for (i = 0; nr_busy; i = (i + 1) % run->opts->inflight) {
		lane = &t->lanes[i];
		if (!lane->busy)
			continue;
		lane_collect(t, lane);
		if (!__atomic_load_n(&run->stop, __ATOMIC_RELAXED))
			lane_submit(t, lane);
		nr_busy -= !lane->busy;
	}

	__atomic_fetch_sub(&run->nr_running, 1, __ATOMIC_RELAXED);
	return NULL;
}

static int thread_prepare(struct load_thread *t, uint32_t index)
{
	const struct bench_opts *opts = t->run->opts;
	const struct load *load = t->run->load;
	struct te_request *req;
	uint64_t offset;
	uint32_t k, i;

	t->lanes = calloc(opts->inflight, sizeof(*t->lanes));
	if (!t->lanes)
		return -ENOMEM;

	offset = opts->block_size * opts->batch_size * opts->inflight * index;
	for (k = 0; k < opts->inflight; k++) {
		req = calloc(opts->batch_size, sizeof(*req));
		if (!req)
			return -ENOMEM;
		t->lanes[k].reqs = req;
		for (i = 0; i < opts->batch_size; i++, req++) {
			req->opcode = opts->opcode;
			req->segment = load->seg;
			req->local_addr = (uintptr_t)load->local +
					  offset % load->used;
			req->remote_addr = load->remote + offset % load->used;
			req->length = opts->block_size;
			offset += opts->block_size;
		}
	}

	return 0;
}

static void thread_release(struct load_thread *t)
{
	uint32_t k;

	if (!t->lanes)
		return;
	for (k = 0; k < t->run->opts->inflight; k++)
		free(t->lanes[k].reqs);
	free(t->lanes);
}

static void draw_progress(const struct load_run *run, uint64_t start,
			  uint64_t *last_bytes)
{
	uint64_t bytes = 0;
	uint32_t i;

	for (i = 0; i < run->opts->threads; i++)
		bytes += __atomic_load_n(&run->threads[i].bytes,
					 __ATOMIC_RELAXED);
	fprintf(stderr, "\r%4.0f s %10.1f MB/s ", (now_ns() - start) / 1e9,
		(bytes - *last_bytes) / 1e6);
	*last_bytes = bytes;
}

/* Returns when it is time to stop. */
static void keep_clock(struct load_run *run, uint64_t start,
		       const sigset_t *stop_signals)
{
	const struct timespec tick = { .tv_nsec = TICK_MS * 1000000 };
	uint64_t end = start + run->opts->duration_s * 1000000000ULL;
	uint64_t next_line = start + 1000000000, last_bytes = 0, now;
	bool draw = isatty(STDERR_FILENO);

	while ((now = now_ns()) < end &&
	       __atomic_load_n(&run->nr_running, __ATOMIC_RELAXED)) {
		if (draw && now >= next_line) {
			draw_progress(run, start, &last_bytes);
			next_line += 1000000000;
		}
		if (sigtimedwait(stop_signals, NULL, &tick) > 0)
			break;
	}
	if (draw)
		fprintf(stderr, "\r%30s\r", "");
}

static void add_up(const struct load_run *run, uint64_t start,
		   struct load_result *result)
{
	const struct load_thread *t = run->threads;
	uint64_t end = start;
	uint32_t i;

	for (i = 0; i < run->opts->threads; i++, t++) {
		result->bytes += t->bytes;
		result->requests += t->requests;
		result->failed += t->failed;
		if (!result->first_error)
			result->first_error = t->first_error;
		if (t->end_ns > end)
			end = t->end_ns;
		hist_merge(&result->latency, &t->latency);
	}
	result->seconds = (end - start) / 1e9;
}

static int run_threads(struct load_run *run, struct load_result *result)
{
	uint32_t nr_threads = run->opts->threads, nr;
	sigset_t stop_signals;
	uint64_t start;
	int ret = 0;

	/* the threads inherit the mask: signals come to the clock alone */
	sigemptyset(&stop_signals);
	sigaddset(&stop_signals, SIGINT);
	sigaddset(&stop_signals, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &stop_signals, NULL);

	start = now_ns();
	for (nr = 0; nr < nr_threads && !ret; nr += !ret)
		ret = -pthread_create(&run->threads[nr].id, NULL, thread_main,
				      &run->threads[nr]);
	if (ret)
		say_error(ret, "start thread %u", nr);
	else
		keep_clock(run, start, &stop_signals);
	__atomic_store_n(&run->stop, true, __ATOMIC_RELAXED);

	/* a second Ctrl-C does not wait for what is in flight */
	pthread_sigmask(SIG_UNBLOCK, &stop_signals, NULL);
	while (nr)
		pthread_join(run->threads[--nr].id, NULL);

	add_up(run, start, result);
	return ret;
}

int load_run(const struct bench_opts *opts, const struct load *load,
	     struct load_result *result)
{
	struct load_run run = {
		.opts = opts,
		.load = load,
		.nr_running = opts->threads,
	};
	uint32_t i;
	int ret = 0;

	memset(result, 0, sizeof(*result));
	run.threads = calloc(opts->threads, sizeof(*run.threads));
	if (!run.threads)
		return say_error(-ENOMEM, "memory for threads");
	for (i = 0; i < opts->threads && !ret; i++) {
		run.threads[i].run = &run;
		ret = thread_prepare(&run.threads[i], i);
	}
	if (ret) {
		say_error(ret, "memory for requests");
		goto out_release;
	}

	ret = run_threads(&run, result);

out_release:
	for (i = 0; i < opts->threads; i++)
		thread_release(&run.threads[i]);
	free(run.threads);
	return ret;
}

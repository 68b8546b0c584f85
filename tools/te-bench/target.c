// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * te-bench --mode=target: holds memory for initiators. Peers move the bytes; this
 * process sleeps, and wakes now and then to see whether an initiator asks what
 * its memory holds.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "pattern.h"
#include "say.h"
#include "te.h"
#include "xfer.h"

#define LOOK_MS	20	/* an initiator waits about this long for its answer */

struct target {
	const struct bench_opts *opts;
	struct te *te;
	struct bench_control *control;
	void *buf;
	unsigned int nr_checks, nr_bad;
};

static int share(struct target *t)
{
	const unsigned int access = TE_LOCAL_READ | TE_LOCAL_WRITE |
				    TE_REMOTE_READ | TE_REMOTE_WRITE;
	uint64_t bytes = t->opts->buffer_size;
	void *control;
	uint32_t mr;
	int ret;

	ret = xfer_map(bytes, &t->buf);
	if (ret)
		return ret;
	ret = xfer_map(BENCH_CONTROL_BYTES, &control);
	if (ret)
		return ret;
	t->control = control;
	t->control->magic = BENCH_MAGIC;

	ret = te_mr_register(t->te, t->buf, bytes, access, NULL, &mr);
	if (ret)
		return say_error(ret, "register %" PRIu64 " bytes", bytes);
	ret = te_mr_register(t->te, control, BENCH_CONTROL_BYTES, access, NULL,
			     &mr);
	if (ret)
		return say_error(ret, "register the control page");
	ret = te_segment_export(t->te, t->opts->segment_name, NULL);
	if (ret)
		return say_error(ret, "export segment '%s'",
				 t->opts->segment_name);

	return 0;
}

/* The page is a peer's to write: every word is taken once, then checked. */
static void answer(struct target *t)
{
	struct bench_control *c = t->control;
	uint64_t ask, bytes, bad;

	ask = __atomic_load_n(&c->ask, __ATOMIC_ACQUIRE);
	if (ask == c->answered)
		return;

	bytes = __atomic_load_n(&c->bytes, __ATOMIC_RELAXED);
	if (bytes > t->opts->buffer_size)
		bad = UINT64_MAX;
	else
		bad = pattern_check(t->buf, bytes,
				    __atomic_load_n(&c->seed, __ATOMIC_RELAXED));
	t->nr_checks++;
	if (bad) {
		t->nr_bad++;
		say_error(0, "verify: %" PRIu64 " of %" PRIu64 " bytes differ",
			  bad, bytes);
	}

	__atomic_store_n(&c->bad_bytes, bad, __ATOMIC_RELAXED);
	__atomic_store_n(&c->answered, ask, __ATOMIC_RELEASE);
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static void serve(struct target *t, const sigset_t *stop)
{
	const struct timespec look = { .tv_nsec = LOOK_MS * 1000000 };
	int64_t end = now_ms() + t->opts->duration_s * 1000LL;

	while (!t->opts->duration_given || now_ms() < end) {
		if (sigtimedwait(stop, NULL, &look) > 0)
			break;
		answer(t);
	}
	answer(t);
}

static int verdict(const struct target *t)
{
	if (t->opts->verify && !t->nr_checks)
		return say_error(0, "verify: no initiator asked for a check");
	if (t->nr_checks)
		printf("verify: %u of %u checks good\n",
		       t->nr_checks - t->nr_bad, t->nr_checks);

	return t->nr_bad ? -EIO : 0;
}

int bench_target(const struct bench_opts *opts)
{
	struct target t = { .opts = opts };
	char host[256] = "";
	sigset_t stop;
	int ret;

	/* blocked before anybody can know that we are ready */
	sigemptyset(&stop);
	sigaddset(&stop, SIGINT);
	sigaddset(&stop, SIGTERM);
	sigprocmask(SIG_BLOCK, &stop, NULL);

	ret = bench_open(opts, 0, &t.te);
	if (ret)
		return ret;
	ret = share(&t);
	if (ret)
		goto out_close;

	gethostname(host, sizeof(host) - 1);
	printf("ready %s %s %" PRIu64 " bytes\n", host, opts->segment_name,
	       opts->buffer_size);
	fflush(stdout);
	serve(&t, &stop);
	ret = verdict(&t);

out_close:
	te_close(t.te);
	return ret;
}

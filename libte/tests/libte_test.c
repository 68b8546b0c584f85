// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * What libte decides by itself, without a kernel: taking a URL apart, options of
 * older and newer callers, reading slots and ring in plain memory. Prints KTAP;
 * exit status 1 if a case failed.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "private.h"

static int nr_cases, nr_failed;

static void result(int ok, const char *desc)
{
	nr_cases++;
	nr_failed += !ok;
	printf("%s %d %s\n", ok ? "ok" : "not ok", nr_cases, desc);
}

static const struct {
	const char *desc, *url;
	int ret;
	const char *host, *name;
	uint16_t port;
} url_cases[] = {
	{ "url: host", "node-b/kv", 0, "node-b", "kv", 0 },
	{ "url: host and port", "node-b:1/kv", 0, "node-b", "kv", 1 },
	{ "url: highest port", "10.0.0.1:65535/a.b:c", 0, "10.0.0.1", "a.b:c", 65535 },
	{ "url: IPv6", "[fe80::1%eth0]/kv", 0, "fe80::1%eth0", "kv", 0 },
	{ "url: IPv6 and port", "[::1]:29797/kv", 0, "::1", "kv", 29797 },
	{ "url: empty name is the kernel's to refuse", "h/", 0, "h", "", 0 },
	{ "url: slash in name is the kernel's to refuse", "h/a/b", 0, "h", "a/b", 0 },
	{ "url: empty", "", -EINVAL, NULL, NULL, 0 },
	{ "url: no name", "host", -EINVAL, NULL, NULL, 0 },
	{ "url: no host", "/kv", -EINVAL, NULL, NULL, 0 },
	{ "url: port without host", ":1/kv", -EINVAL, NULL, NULL, 0 },
	{ "url: empty brackets", "[]/kv", -EINVAL, NULL, NULL, 0 },
	{ "url: no closing bracket", "[::1/kv", -EINVAL, NULL, NULL, 0 },
	{ "url: closing bracket in name", "[::1/kv]", -EINVAL, NULL, NULL, 0 },
	{ "url: rubbish behind bracket", "[::1]x/kv", -EINVAL, NULL, NULL, 0 },
	{ "url: bare IPv6", "fe80::1/kv", -EINVAL, NULL, NULL, 0 },
	{ "url: bare IPv6 with number at the end", "1:2:3/kv", -EINVAL, NULL, NULL, 0 },
	{ "url: empty port", "h:/kv", -EINVAL, NULL, NULL, 0 },
	{ "url: port 0", "h:0/kv", -EINVAL, NULL, NULL, 0 },
	{ "url: port 65536", "h:65536/kv", -EINVAL, NULL, NULL, 0 },
	{ "url: port wraps", "h:4294967297/kv", -EINVAL, NULL, NULL, 0 },
	{ "url: sign in port", "h:+1/kv", -EINVAL, NULL, NULL, 0 },
	{ "url: blank in port", "h: 1/kv", -EINVAL, NULL, NULL, 0 },
};

static void test_urls(void)
{
	struct te_url url;
	size_t i;
	int ok;

	for (i = 0; i < sizeof(url_cases) / sizeof(url_cases[0]); i++) {
		ok = te_url_parse(url_cases[i].url, &url) == url_cases[i].ret;
		if (ok && !url_cases[i].ret)
			ok = !strcmp(url.host, url_cases[i].host) &&
			     !strcmp(url.name, url_cases[i].name) &&
			     url.port == url_cases[i].port;
		result(ok, url_cases[i].desc);
	}
}

static void test_host_length(void)
{
	struct te_url url;
	char s[300];

	memset(s, 'h', sizeof(s));
	memcpy(s + sizeof(url.host) - 1, "/n", 3);
	result(!te_url_parse(s, &url) &&
	       strlen(url.host) == sizeof(url.host) - 1, "url: longest host");

	memset(s, 'h', sizeof(s));
	memcpy(s + sizeof(url.host), "/n", 3);
	result(te_url_parse(s, &url) == -EINVAL, "url: host too long");
}

static void test_opts(void)
{
	struct {
		struct te_batch_opts opts;
		uint64_t more;
	} newer = { .opts = { .deadline_ms = 5, .entries = 2 } };
	struct te_batch_opts *user = &newer.opts, opts;

	memset(&opts, 0xff, sizeof(opts));
	result(!te_opts_get(&opts, sizeof(opts), NULL) && !opts.deadline_ms &&
	       !opts.priority && !opts.entries, "opts: NULL is all zero");

	user->sz = sizeof(opts);
	result(!te_opts_get(&opts, sizeof(opts), user) &&
	       opts.deadline_ms == 5 && opts.entries == 2, "opts: same size");

	user->sz = offsetof(struct te_batch_opts, priority);
	memset(&opts, 0xff, sizeof(opts));
	result(!te_opts_get(&opts, sizeof(opts), user) &&
	       opts.deadline_ms == 5 && !opts.entries, "opts: older caller");

	user->sz = sizeof(newer);
	result(!te_opts_get(&opts, sizeof(opts), user) && opts.entries == 2,
	       "opts: newer caller, zero tail");

	newer.more = 1;
	result(te_opts_get(&opts, sizeof(opts), user) == -E2BIG,
	       "opts: newer caller, dirty tail");

	user->sz = sizeof(size_t);
	result(!te_opts_get(&opts, sizeof(opts), user) && !opts.deadline_ms,
	       "opts: size alone");
	user->sz = sizeof(size_t) - 1;
	result(te_opts_get(&opts, sizeof(opts), user) == -EINVAL,
	       "opts: too short for its size");
	user->sz = 0;
	result(te_opts_get(&opts, sizeof(opts), user) == -EINVAL,
	       "opts: size forgotten");
}

static void test_status(void)
{
	struct te_slot slots[8] = {
		[3] = { .state = TE_PENDING, .bytes = 64, .batch = 11,
			.nr_tasks = 2 },
		[4] = { .state = TE_FAILED, .error = -EIO, .bytes = 1 },
		[5] = { .state = TE_COMPLETED, .bytes = 63 },
	};
	struct te te = { .fd = -1, .task_slots = 8, .slots = slots };
	struct te_status st;

	result(!te_batch_status(&te, 11, &st) && st.state == TE_PENDING &&
	       !st.error && st.bytes == 64, "status: batch");
	result(!te_status(&te, 11, 0, &st) && st.state == TE_FAILED &&
	       st.error == -EIO && st.bytes == 1, "status: first task");
	result(!te_status(&te, 11, 1, &st) && st.state == TE_COMPLETED &&
	       !st.error && st.bytes == 63, "status: last task");
	result(!te_status(&te, 11, 2, &st) && st.state == TE_INVALID &&
	       st.error == -ENOENT && !st.bytes, "status: task not submitted");
	result(!te_status(&te, 11, UINT32_MAX, &st) && st.state == TE_INVALID,
	       "status: absurd task");
	result(te_batch_status(&te, 3, &st) == -ENOENT &&
	       te_status(&te, 3, 0, &st) == -ENOENT,
	       "status: id of the same slot");
	result(te_batch_status(&te, 0, &st) == -ENOENT,
	       "status: 0 is no batch, though free slots say 0");
	result(te_batch_status(&te, 4, &st) == -ENOENT,
	       "status: a task slot is no header");
}

/* The descriptor is -1: whatever reaches the kernel gets -EBADF. */
static void test_wait(void)
{
	struct te_slot slots[4] = {
		[1] = { .state = TE_PENDING, .batch = 1, .nr_tasks = 1 },
	};
	struct te_ring_hdr ring = { 0 };
	struct te te = { .fd = -1, .task_slots = 4, .slots = slots,
			 .ring = &ring };

	result(te_wait(&te, 1, 0) == -ETIME, "wait: looks without a call");
	result(te_wait(&te, 1, 9) == -EBADF, "wait: pending makes the call");
	result(te_wait(&te, 1, -2) == -EINVAL, "wait: bad timeout");
	result(te_wait(&te, 2, -1) == -ENOENT, "wait: no such batch");
	result(te_wait(&te, 0, 0) == -ETIME, "wait: empty ring");
	ring.tail = 1;
	result(!te_wait(&te, 0, -1), "wait: entry is there, no call");
	slots[1].state = TE_TIMEOUT;
	result(!te_wait(&te, 1, -1), "wait: terminal makes no call");
	slots[1].state = TE_WAITING;
	result(!te_wait(&te, 1, -1), "wait: nothing submitted makes no call");
}

static void test_ring(void)
{
	struct te_completion entries[4] = {
		{ .user_data = 0 }, { .user_data = 1 }, { .user_data = 2 },
		{ .user_data = 3 },
	};
	struct te_completion out[8];
	struct te_ring_hdr ring = { .head = UINT32_MAX - 1, .tail = UINT32_MAX };
	struct te te = { .cq_entries = 4, .ring = &ring, .entries = entries };

	result(te_poll(&te, out, 8) == 1 && out[0].user_data == 2 &&
	       ring.head == UINT32_MAX, "ring: one entry");
	result(te_poll(&te, out, 8) == 0, "ring: empty");
	ring.tail = 3;
	result(te_poll(&te, out, 0) == 0 && ring.head == UINT32_MAX,
	       "ring: max 0 takes nothing");
	result(te_poll(&te, out, -1) == -EINVAL, "ring: max negative");
	result(te_poll(&te, out, 3) == 3 && out[0].user_data == 3 &&
	       out[1].user_data == 0 && out[2].user_data == 1 && ring.head == 2,
	       "ring: full ring, in part, across the wrap");
	result(te_poll(&te, out, 3) == 1 && out[0].user_data == 2,
	       "ring: the rest");
	ring.head = 100;
	result(te_poll(&te, out, 8) == -EBADFD, "ring: impossible head");
}

/* One thread plays the kernel, which fills a small ring again and again. */
#define NR_CONSUMERS	3
#define NR_ENTRIES	200000U

static struct te_completion shared_entries[16];
static struct te_ring_hdr shared_ring;
static struct te shared_te = {
	.cq_entries = 16, .ring = &shared_ring, .entries = shared_entries,
};

static unsigned char nr_seen[NR_ENTRIES];
static unsigned int nr_taken;

static void *consume(void *unused)
{
	struct te_completion out[5];
	int n, i;

	while (__atomic_load_n(&nr_taken, __ATOMIC_RELAXED) < NR_ENTRIES) {
		n = te_poll(&shared_te, out, 5);
		for (i = 0; i < n; i++)
			__atomic_fetch_add(&nr_seen[out[i].user_data], 1,
					   __ATOMIC_RELAXED);
		if (n > 0)
			__atomic_fetch_add(&nr_taken, n, __ATOMIC_RELAXED);
		else
			sched_yield();
	}

	return unused;
}

static void produce(void)
{
	uint32_t tail;

	for (tail = 0; tail < NR_ENTRIES; tail++) {
		while (tail - __atomic_load_n(&shared_ring.head,
					      __ATOMIC_ACQUIRE) == 16)
			sched_yield();
		shared_entries[tail % 16].user_data = tail;
		__atomic_store_n(&shared_ring.tail, tail + 1, __ATOMIC_RELEASE);
	}
}

static void test_consumers(void)
{
	pthread_t threads[NR_CONSUMERS];
	unsigned int i, nr_wrong = 0;

	for (i = 0; i < NR_CONSUMERS; i++)
		if (pthread_create(&threads[i], NULL, consume, NULL)) {
			perror("pthread_create");
			exit(1);
		}
	produce();
	for (i = 0; i < NR_CONSUMERS; i++)
		pthread_join(threads[i], NULL);

	for (i = 0; i < NR_ENTRIES; i++)
		nr_wrong += nr_seen[i] != 1;
	result(!nr_wrong && nr_taken == NR_ENTRIES,
	       "ring: three consumers, each entry taken exactly once");
}

int main(void)
{
	printf("KTAP version 1\n");
	test_urls();
	test_host_length();
	test_opts();
	test_status();
	test_wait();
	test_ring();
	test_consumers();
	printf("1..%d\n", nr_cases);

	return nr_failed != 0;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many contexts that start at once: each exports memory and opens that of another
 * one, all on this node, by TCP. They share the one listener, and no port is short.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/test.h"
#include "lib/lanes.h"
#include "lib/pair.h"

#define NR	200
#define LEN	(32 * KIB)
#define TCP_LISTEN 0x0a

FIXTURE(contexts)
{
	struct one *all;
};

/**
 * struct one - a context; WRITEs the first half of its memory to the second half of
 * the next one's
 */
struct one {
	struct te *te;
	struct area mem;
	uint32_t mr, seg, batch;
	unsigned int index;
	pthread_t thread;
	const char *step;
	int ret;
};

static pthread_barrier_t together;

FIXTURE_SETUP(contexts)
{
	ASSERT_EQ(0, setenv("TE_TRANSPORT", "tcp", 1));
	ASSERT_EQ(0, te_settle_all());
	ASSERT_EQ(0, pthread_barrier_init(&together, NULL, NR));
	self->all = calloc(NR, sizeof(struct one));
	ASSERT_NE(NULL, self->all);
}

FIXTURE_TEARDOWN(contexts)
{
	int i;

	for (i = 0; i < NR; i++) {
		te_close(self->all[i].te);
		area_free(&self->all[i].mem);
	}
	free(self->all);
	pthread_barrier_destroy(&together);
	CLEAN();
	EXPECT_EQ(0, te_settle_all());
}

static int name_of(char *name, size_t len, unsigned int index)
{
	return snprintf(name, len, "contexts-%u", index % NR) < 0;
}

static int begin(struct one *one)
{
	struct te_open_opts o = {
		.sz = sizeof(o), .cq_entries = 64, .task_slots = 64,
	};
	char name[48];

	name_of(name, sizeof(name), one->index);
	one->step = "begin";
	return te_open(&one->te, &o) ?:
	       area_alloc(&one->mem, 2 * LEN) ?:
	       te_mr_register(one->te, one->mem.p, 2 * LEN,
			      TE_LOCAL_ALL | TE_REMOTE_ALL, NULL, &one->mr) ?:
	       te_segment_export(one->te, name, NULL);
}

static int move(struct one *one)
{
	const struct one *next = one - one->index + (one->index + 1) % NR;
	struct te_request r;
	struct te_status st;
	char name[48];
	int ret;

	name_of(name, sizeof(name), one->index + 1);
	one->step = "open";
	ret = te_open_segment(one->te, name, &one->seg);
	if (ret)
		return ret;
	one->step = "move";
	r = (struct te_request) {
		.opcode = TE_WRITE,
		.segment = one->seg,
		.local_addr = (uintptr_t)one->mem.p,
		.remote_addr = (uintptr_t)next->mem.p + LEN,
		.length = LEN,
	};
	ret = te_await_buffers(one->te, one->seg, 1);
	ret = ret ?: te_batch_alloc(one->te, 1, NULL, &one->batch);
	ret = ret ?: te_submit(one->te, one->batch, &r, 1);
	ret = ret ?: te_wait(one->te, one->batch, 2 * TE_WAIT_MS);
	ret = ret ?: te_batch_status(one->te, one->batch, &st);
	if (!ret && st.state != TE_COMPLETED)
		ret = st.error ?: -EIO;
	return ret;
}

/* Goes on to the end whatever goes wrong: others wait at the barrier. */
static void *run(void *arg)
{
	struct one *one = arg;

	pthread_barrier_wait(&together);
	one->ret = begin(one);
	if (!one->ret) {
		pattern_fill(one->mem.p, LEN, one->index);
		memset(one->mem.p + LEN, 0, LEN);
	}
	pthread_barrier_wait(&together);
	one->ret = one->ret ?: move(one);
	return NULL;
}

/* Sockets of this namespace that listen at te's port, of both families. */
static int listeners(void)
{
	static const char *const files[] = { "/proc/net/tcp", "/proc/net/tcp6" };
	unsigned int port, state;
	char line[256];
	int nr = 0;
	size_t i;
	FILE *f;

	for (i = 0; i < ROWS(files); i++) {
		f = fopen(files[i], "re");
		while (f && fgets(line, sizeof(line), f))
			nr += sscanf(line, " %*d: %*x:%x %*x:%*x %x", &port,
				     &state) == 2 &&
			      port == LANES_PORT && state == TCP_LISTEN;
		if (f)
			fclose(f);
	}
	return nr;
}

TEST_F_TIMEOUT(contexts, start_at_once, SLOW)
{
	unsigned long long from = te_now_ms();
	struct one *one;
	int i;

	for (i = 0; i < NR; i++) {
		one = &self->all[i];
		one->index = i;
		MUST(pthread_create(&one->thread, NULL, run, one));
	}
	for (i = 0; i < NR; i++)
		MUST(pthread_join(self->all[i].thread, NULL));
	TH_LOG("%llu ms", te_now_ms() - from);
	for (i = 0; i < NR; i++) {
		one = &self->all[i];
		EXPECT_ROW(0, one->ret, "%d: %s", i, one->step);
		if (one->ret)
			continue;
		EXPECT_ROW(-1, pattern_check(one->mem.p, LEN, i), "%d", i);
		EXPECT_ROW(-1, pattern_check(one->mem.p + LEN, LEN,
					     (i + NR - 1) % NR), "%d", i);
	}
	EXPECT_EQ(1, listeners());
}

TEST_HARNESS_MAIN

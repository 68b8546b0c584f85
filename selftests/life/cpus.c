// SPDX-License-Identifier: GPL-2.0-only
/*
 * CPUs that go and come back under work, and one that a real-time thread keeps for
 * itself: movers and completions are nobody's on one CPU. Not with one CPU only.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#include "lib/test.h"
#include "lib/go.h"
#include "lib/pair.h"

#define CPU	1
#define NR	32U
#define EACH	(6 * KIB)

FIXTURE(cpus)
{
	struct pair p;
	bool done;
};

static int cpu_online(bool on)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online",
		 CPU);
	f = fopen(path, "we");
	if (!f)
		return -errno;
	fprintf(f, "%d", on);
	return fclose(f) ? -errno : 0;
}

FIXTURE_SETUP(cpus)
{
	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, pair_open(&self->p, NULL));
}

FIXTURE_TEARDOWN(cpus)
{
	EXPECT_EQ(0, cpu_online(true));
	pair_close(&self->p);
	CLEAN();
}

static bool is_done(const bool *done)
{
	return __atomic_load_n(done, __ATOMIC_ACQUIRE);
}

static int hotplug(void *arg)
{
	int ret = 0, i;

	for (i = 0; i < 20 && !ret; i++) {
		ret = cpu_online(i & 1);
		te_sleep_ms(200);
	}
	__atomic_store_n((bool *)arg, true, __ATOMIC_RELEASE);
	return ret;
}

/* The kernel lets others have 50 ms of each second. */
static int hog(void *arg)
{
	unsigned long long until = te_now_ms() + 4000;
	struct sched_param param = { .sched_priority = 50 };
	cpu_set_t set;
	int ret;

	CPU_ZERO(&set);
	CPU_SET(CPU, &set);
	ret = -pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	ret = ret ?: -pthread_setschedparam(pthread_self(), SCHED_FIFO, &param);
	while (!ret && te_now_ms() < until)
		;
	__atomic_store_n((bool *)arg, true, __ATOMIC_RELEASE);
	return ret;
}

static const struct cpus_row {
	const char *desc;
	int (*fn)(void *done);
} rows[] = {
	{ "goes and comes back", hotplug },
	{ "is kept by a real-time thread", hog },
};

TEST_F_TIMEOUT(cpus, under_work, SLOW)
{
	struct te_request r[NR];
	unsigned int rounds;
	struct go g;
	uint32_t i;
	size_t row;
	int ret;

	for (row = 0; row < ROWS(rows); row++) {
		self->done = false;
		ret = 0;
		MUST(go_start(&g, rows[row].fn, &self->done));
		for (rounds = 0; !ret && !is_done(&self->done); rounds++) {
			area_fill(&self->p.local, rounds);
			for (i = 0; i < NR; i++)
				r[i] = pair_req(&self->p, rounds & 1,
						8 * KIB + i * EACH,
						9 * KIB + i * EACH, EACH);
			ret = pair_run(&self->p, r, NR);
		}
		/* Whatever came of it: the CPU has to be back. */
		EXPECT_ROW(0, ret, "%s", rows[row].desc);
		EXPECT_ROW(0, go_wait(&g), "%s", rows[row].desc);
		EXPECT_ROW(true, rounds > 1, "%s", rows[row].desc);
		TH_LOG("%s: %u rounds", rows[row].desc, rounds);
	}
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Movers sleep when there is nothing to do, and what comes then, after a gap of
 * any length, is done at once: no wake-up is lost, none is for nothing.
 *
 * Each submitter has a mover of its own on each device, so that nobody but it
 * wakes that: a wake-up that is lost is lost until the task's deadline. Peers are
 * addresses of 127/8; which mover has which shows in who wakes up.
 */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/test.h"
#include "lib/module.h"
#include "lib/pair.h"

#define MOVERS	8
#define PEERS	64
#define LEN	512
#define ROUNDS	10000
/* Far from any time that polls hide (20 ms), below the monitor's second. */
#define LATE_US	500000
#define BEAT_MS	10

/* ---- te's threads */

enum { THREADS = 64 };

struct threads {
	int nr;
	char name[THREADS][16];
	unsigned long switches[THREADS];
};

static void thread_add(struct threads *t, const char *pid)
{
	char path[64], line[128], name[32] = "";
	unsigned long sum = 0, n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%.20s/status", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		sscanf(line, "Name: %31s", name);
		if (sscanf(line, "voluntary_ctxt_switches: %lu", &n) == 1 ||
		    sscanf(line, "nonvoluntary_ctxt_switches: %lu", &n) == 1)
			sum += n;
	}
	if (f)
		fclose(f);
	if (strncmp(name, "te/", 3) || t->nr == THREADS)
		return;
	snprintf(t->name[t->nr], sizeof(t->name[0]), "%.15s", name);
	t->switches[t->nr++] = sum;
}

/* How often each mover has been switched to, in the order of /proc. */
static void threads_now(struct threads *t)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	t->nr = 0;
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9')
			thread_add(t, entry->d_name);
	if (dir)
		closedir(dir);
}

/* ---- rounds */

struct submitter {
	struct pair *p;
	pthread_t thread;
	uint32_t seg;
	int mover, ret;
	unsigned int rounds, seed;
	unsigned long late, longest, hist[24];
};

FIXTURE(sleep)
{
	struct pair p;
	char qp_timeout[32];
	struct submitter s[MOVERS];
	int nr;
};

/* How long the machine has let nobody run who wanted to. */
static unsigned long stalled_us;
static bool stop_beating;

static unsigned long long now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000ULL + t.tv_nsec / 1000;
}

static void *beat(void *arg)
{
	unsigned long long last = now_us(), now;

	(void)arg;
	while (!__atomic_load_n(&stop_beating, __ATOMIC_RELAXED)) {
		te_sleep_ms(BEAT_MS);
		now = now_us();
		if (now - last > 2 * BEAT_MS * 1000)
			__atomic_fetch_add(&stalled_us,
					   now - last - BEAT_MS * 1000,
					   __ATOMIC_RELAXED);
		last = now;
	}
	return NULL;
}

/*
 * One request, or another right behind it that may complete when the mover goes
 * to sleep; asleep until they have ended. Their bytes are right.
 */
static int one(struct submitter *s, unsigned int round)
{
	struct te_batch_opts o = { .sz = sizeof(o), .deadline_ms = TE_WAIT_MS };
	size_t at = 8 * KIB + s->mover * LEN;
	struct te_request r = pair_req(s->p, round & 1, at, at, LEN / 2);
	unsigned char *from = s->p->local.p + at, *to = s->p->remote.p + at;
	bool two = round & 2;
	struct te_status st;
	uint32_t batch;
	int ret;

	r.segment = s->seg;
	pattern_fill(r.opcode == TE_READ ? to : from, LEN, round);
	ret = te_batch_alloc(s->p->ini, 2, &o, &batch);
	ret = ret ?: te_submit(s->p->ini, batch, &r, 1);
	r.local_addr += LEN / 2;
	r.remote_addr += LEN / 2;
	if (two)
		ret = ret ?: te_submit(s->p->ini, batch, &r, 1);
	ret = ret ?: te_wait(s->p->ini, batch, 2 * TE_WAIT_MS);
	ret = ret ?: te_batch_status(s->p->ini, batch, &st);
	ret = ret ?: te_batch_free(s->p->ini, batch);
	if (ret || st.state != TE_COMPLETED)
		return ret ?: st.error ?: -EIO;
	return memcmp(from, to, two ? LEN : LEN / 2) ? -EILSEQ : 0;
}

/* 0 to 200 ms, each order of magnitude as often; short ones awake. */
static void gap(struct submitter *s)
{
	unsigned int max = 200000 >> rand_r(&s->seed) % 14;
	unsigned int us = rand_r(&s->seed) % (max + 1);
	unsigned long long end = now_us() + us;

	if (us > 1000)
		usleep(us);
	while (now_us() < end)
		sched_yield();
}

static void count(struct submitter *s, unsigned long us, unsigned long stalled)
{
	unsigned int i = 0;

	if (us > s->longest)
		s->longest = us;
	s->late += us > stalled + LATE_US;
	while (us >>= 1)
		i++;
	s->hist[i < ROWS(s->hist) ? i : ROWS(s->hist) - 1]++;
}

static void *submit_rounds(void *arg)
{
	struct submitter *s = arg;
	unsigned long long from;
	unsigned long stalled;
	unsigned int i;

	for (i = 0; i < s->rounds && !s->ret; i++) {
		gap(s);
		stalled = __atomic_load_n(&stalled_us, __ATOMIC_RELAXED);
		from = now_us();
		s->ret = one(s, i);
		from = now_us() - from;
		/* A beat that is late is counted when it comes. */
		if (from > LATE_US)
			te_sleep_ms(2 * BEAT_MS);
		count(s, from, __atomic_load_n(&stalled_us, __ATOMIC_RELAXED) -
			       stalled);
	}
	return NULL;
}

/* The mover that a submitter's requests wake, by its number. */
static int find_mover(struct submitter *s)
{
	struct threads before, after;
	unsigned long most = 0;
	int i, best = 0;

	s->mover = 0;
	/* Both devices connect. */
	for (i = 0; i < 8 && !s->ret; i++)
		s->ret = one(s, i);
	te_sleep_ms(100);
	threads_now(&before);
	for (i = 0; i < 20 && !s->ret; i++) {
		s->ret = one(s, i);
		te_sleep_ms(5);
	}
	threads_now(&after);
	for (i = 0; i < after.nr; i++) {
		if (after.switches[i] - before.switches[i] > most) {
			most = after.switches[i] - before.switches[i];
			best = i;
		}
	}
	return strrchr(after.name[best], '/')[1] - '0';
}

FIXTURE_SETUP(sleep)
{
	struct te_segment_opts so = {
		.sz = sizeof(so),
		.timeout_ms = TE_WAIT_MS,
	};
	bool taken[MOVERS] = { false };
	char url[300], params[64];
	int i;

	ASSERT_EQ(0, te_settle_all());
	ASSERT_EQ(0, module_qp_timeout(self->qp_timeout,
				       sizeof(self->qp_timeout)));
	/* To close what has no work they would wake up. */
	snprintf(params, sizeof(params), "workers_per_dev=8 tcp_idle=0 %s",
		 self->qp_timeout);
	ASSERT_EQ(0, module_reload(params));
	ASSERT_EQ(0, pair_open(&self->p, NULL));
	for (i = 0; i < PEERS && self->nr < MOVERS; i++) {
		struct submitter *s = &self->s[self->nr];

		*s = (struct submitter) { .p = &self->p, .seed = i };
		snprintf(url, sizeof(url), "127.0.1.%d/%s", i + 1,
			 self->p.name);
		MUST(te_segment_open(self->p.ini, url, &so, &s->seg));
		s->mover = find_mover(s);
		MUST(s->ret);
		ASSERT_GT(MOVERS, s->mover);
		if (taken[s->mover]) {
			MUST(te_segment_close(self->p.ini, s->seg));
			continue;
		}
		taken[s->mover] = true;
		self->nr++;
	}
	ASSERT_EQ(MOVERS, self->nr);
}

FIXTURE_TEARDOWN(sleep)
{
	pair_close(&self->p);
	CLEAN();
	EXPECT_EQ(0, te_settle_all());
	EXPECT_EQ(0, module_reload(self->qp_timeout));
}

static int set_busy_poll(unsigned int us)
{
	char value[16];

	snprintf(value, sizeof(value), "%u", us);
	return module_set("busy_poll_us", value);
}

static void show(const struct submitter *s, int nr, unsigned int us)
{
	unsigned long n, longest = 0;
	size_t k;
	int i;

	printf("# busy_poll_us %u:", us);
	for (k = 0; k < ROWS(s->hist); k++) {
		for (n = i = 0; i < nr; i++)
			n += s[i].hist[k];
		if (n)
			printf(" %lu us: %lu", 1UL << k, n);
	}
	for (i = 0; i < nr; i++)
		if (s[i].longest > longest)
			longest = s[i].longest;
	printf("; longest %lu us\n", longest);
}

TEST_F_TIMEOUT(sleep, gaps, SLOW)
{
	static const unsigned int busy_poll_us[] = { 0, 50, 20000 };
	unsigned int rounds = (watched() ? ROUNDS / 5 : ROUNDS) /
			      ROWS(busy_poll_us) / self->nr + 1;
	pthread_t heart;
	size_t row;
	int i;

	ASSERT_EQ(0, pthread_create(&heart, NULL, beat, NULL));
	for (row = 0; row < ROWS(busy_poll_us); row++) {
		ASSERT_EQ(0, set_busy_poll(busy_poll_us[row]));
		for (i = 0; i < self->nr; i++) {
			struct submitter *s = &self->s[i];

			s->late = s->longest = 0;
			s->rounds = rounds;
			memset(s->hist, 0, sizeof(s->hist));
			MUST(pthread_create(&s->thread, NULL, submit_rounds,
					    s));
		}
		for (i = 0; i < self->nr; i++) {
			pthread_join(self->s[i].thread, NULL);
			EXPECT_ROW(0, self->s[i].ret, "mover %d",
				   self->s[i].mover);
			EXPECT_ROW(0, self->s[i].late, "mover %d",
				   self->s[i].mover);
		}
		show(self->s, self->nr, busy_poll_us[row]);
	}
	stop_beating = true;
	pthread_join(heart, NULL);
	printf("# the machine stood still for %lu ms\n", stalled_us / 1000);
}

/* ---- nothing to do */

#define TRACING	"/sys/kernel/tracing/"
#define STARTED	TRACING "events/workqueue/workqueue_execute_start/enable"
#define IDLE_S	5

static int write_to(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	if (!f)
		return -errno;
	fputs(text, f);
	return fclose(f) ? -errno : 0;
}

/* How often te's work items have run since the trace was emptied; "": all. */
static int work_items(const char *function)
{
	FILE *f = fopen(TRACING "trace", "re");
	char line[300];
	int n = 0;

	while (f && fgets(line, sizeof(line), f)) {
		const char *at = strstr(line, " function ");

		n += at && strstr(at, "[te]") && strstr(at, function);
	}
	if (f)
		fclose(f);
	return n;
}

/*
 * A segment is open, everything is connected: of each device the monitor ticks,
 * of each session somebody may say that it is alive, and that is all.
 */
TEST_F_TIMEOUT(sleep, nothing_to_do, SLOW)
{
	struct threads before, after;
	int i, ticks, sessions, devs;

	/* What connecting and opening have left to do. */
	te_sleep_ms(3000);
	ASSERT_EQ(0, write_to(STARTED, "1"));
	threads_now(&before);
	ASSERT_EQ(0, write_to(TRACING "trace", ""));
	te_sleep_ms(IDLE_S * 1000);
	threads_now(&after);
	ASSERT_EQ(0, write_to(STARTED, "0"));

	devs = after.nr / MOVERS;
	ASSERT_LT(0, devs);
	ASSERT_EQ(devs * MOVERS, after.nr);
	for (i = 0; i < after.nr; i++)
		EXPECT_ROW(before.switches[i], after.switches[i], "%s",
			   after.name[i]);
	ticks = work_items("monitor_work");
	sessions = work_items("te_session_actor");
	printf("# in %d s: %d movers asleep, %d ticks, %d work items of sessions\n",
	       IDLE_S, after.nr, ticks, sessions);
	/* A machine that is slow may be late, not early. */
	EXPECT_LE(devs, ticks);
	EXPECT_GE(devs * (IDLE_S + 1), ticks);
	/* A PING in 5 s, its answer, and a look at the clock. */
	EXPECT_GE(4 * PEERS, sessions);
	EXPECT_EQ(ticks + sessions, work_items(""));
}

TEST_HARNESS_MAIN

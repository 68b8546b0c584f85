// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random calls from several threads, with feedback: what reached code of te that
 * nothing before it had reached, or got an answer that no call of its kind had
 * got, goes to the corpus and is what later ones are mutated from.
 *
 *   fuzz [-s SEED] [-t SECONDS] [-n THREADS]	60 s, 3 threads, any seed
 *   fuzz -r FILE				runs again what FILE holds
 *   -v						shows each call; -r does
 *
 * Threads are lanes. In a round each lane runs one sequence (fuzzer/seq.h), all
 * at once; after some rounds the world starts anew (fuzzer/world.h). Rounds are
 * made from the seed, between rounds, by one thread: one lane and the same
 * kernel make the same run, as far as the answers do not depend on time. Before
 * a round starts it is written to PROGRAM.SEED.log, which holds the last few and
 * goes away when all is well. It is what -r takes.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "kselftest.h"

#include "fault/fuzzer/cover.h"
#include "fault/fuzzer/op.h"
#include "fault/fuzzer/world.h"
#include "lib/stats.h"

#define MAX_LANES	4
/* Rounds until the world starts anew: enough for a state to grow on. */
#define LIFE		32
#define LOGGED		(2 * LIFE)
#define CORPUS		4096

/* A lane that sleeps so long gets a signal, and so a wait its end. */
#define NUDGE_MS	300
/* No call takes this long; emulated, and with all detectors. */
#define HANG_MS		120000
/* Regions of a life that has ended may still be pinned. */
#define LOCKED_BYTES	(256UL << 20)

/* A run of some seconds that reaches less than this has not done its work. */
#define ENOUGH_ANSWERS	60
#define ENOUGH_BLOCKS	800

#define MAGIC		0x74652d66757a7a31ULL

/**
 * struct round - as it stands in the log
 * @nr: of the round, from 0; the world starts anew when it is divisible by LIFE
 */
struct round {
	uint64_t magic, nr;
	uint32_t lanes, reserved;
	struct seq seq[MAX_LANES];
};

/**
 * struct lane - a thread
 * @room: for arguments, see op.h
 * @at: step it is at, for whoever asks why it hangs
 * @fresh: the round reached something new
 */
struct lane {
	pthread_t thread;
	unsigned int id;
	char *room;
	uint32_t at;
	bool fresh, busy;
};

static struct lane lanes[MAX_LANES];
static struct round round_now;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects busy, turn */
static pthread_cond_t start = PTHREAD_COND_INITIALIZER;
static pthread_cond_t end = PTHREAD_COND_INITIALIZER;
static uint64_t turn;

static struct seq corpus[CORPUS];
static uint32_t nr_corpus;
static bool answered[64][256];
static unsigned int nr_answers, nr_bad;
static bool complaint;
static unsigned long nr_steps;

static bool new_answer(const struct step *s, long ret)
{
	uint8_t code = ret < 0 ? -ret : 0;

	if (__atomic_exchange_n(&answered[s->op % nr_ops][code], true,
				__ATOMIC_RELAXED))
		return false;
	__atomic_fetch_add(&nr_answers, 1, __ATOMIC_RELAXED);
	return true;
}

static void run_seq(struct lane *lane, const struct seq *seq, uint64_t *buf)
{
	bool good;
	long ret;

	for (lane->at = 0; lane->at < seq->nr; lane->at++) {
		const struct step *step = &seq->step[lane->at];

		cover_reset(buf);
		ret = op_run(step, lane->room, &good);
		lane->fresh |= cover_collect(buf);
		lane->fresh |= new_answer(step, ret);
		if (!good)
			__atomic_fetch_add(&nr_bad, 1, __ATOMIC_RELAXED);
	}
	__atomic_fetch_add(&nr_steps, seq->nr, __ATOMIC_RELAXED);
}

static void *run_lane(void *arg)
{
	uint64_t *buf = cover_start();
	struct lane *lane = arg;
	uint64_t done = 0;

	for (;;) {
		pthread_mutex_lock(&lock);
		while (turn == done)
			pthread_cond_wait(&start, &lock);
		done = turn;
		pthread_mutex_unlock(&lock);

		lane->fresh = false;
		run_seq(lane, &round_now.seq[lane->id], buf);

		pthread_mutex_lock(&lock);
		lane->busy = false;
		pthread_cond_signal(&end);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static int lanes_start(unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		struct lane *lane = &lanes[i];

		lane->id = i;
		lane->room = mmap(NULL, ROOM + 4096, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (lane->room == MAP_FAILED ||
		    mprotect(lane->room + ROOM, 4096, PROT_NONE))
			return -errno;
		if (pthread_create(&lane->thread, NULL, run_lane, lane))
			return -EAGAIN;
	}
	return 0;
}

static unsigned int nudge(unsigned int n)
{
	unsigned int busy = 0, i;

	for (i = 0; i < n; i++)
		if (lanes[i].busy) {
			busy++;
			pthread_kill(lanes[i].thread, SIGUSR1);
		}
	return busy;
}

static void show_hang(void)
{
	unsigned int i;

	for (i = 0; i < round_now.lanes; i++)
		if (lanes[i].busy)
			printf("# lane %u hangs in step %u: %s\n", i,
			       lanes[i].at,
			       ops[round_now.seq[i].step[lanes[i].at].op %
				   nr_ops].name);
}

/* Runs round_now; 0 or -ETIME. */
static int run_round(void)
{
	unsigned long long give_up = te_now_ms() + HANG_MS;
	unsigned int n = round_now.lanes, busy = n, i;
	struct timespec t;

	pthread_mutex_lock(&lock);
	for (i = 0; i < n; i++)
		lanes[i].busy = true;
	turn++;
	pthread_cond_broadcast(&start);
	while (busy && te_now_ms() < give_up) {
		clock_gettime(CLOCK_REALTIME, &t);
		t.tv_nsec += NUDGE_MS * 1000000L;
		t.tv_sec += t.tv_nsec / 1000000000;
		t.tv_nsec %= 1000000000;
		if (pthread_cond_timedwait(&end, &lock, &t) == ETIMEDOUT)
			nudge(n);
		for (i = busy = 0; i < n; i++)
			busy += lanes[i].busy;
	}
	pthread_mutex_unlock(&lock);
	return busy ? -ETIME : 0;
}

/* The world anew, when it is time: what has ended may take its time. */
static int next_life(void)
{
	unsigned long long give_up = te_now_ms() + TE_SETTLE_MS;
	int ret;

	if (round_now.nr % LIFE)
		return 0;
	do {
		ret = world_reset();
	} while (ret && te_now_ms() < give_up);
	if (ret)
		printf("# a new world: %s\n", strerror(-ret));
	return ret;
}

static int step_forward(void)
{
	int ret = next_life();

	if (ret)
		return ret;
	ret = run_round();
	if (ret)
		show_hang();
	return ret;
}

/* ---- making rounds */

/* Later ones are more likely: they stand on others. */
static const struct seq *pick_seq(struct rng *r)
{
	uint32_t a = rnd_below(r, nr_corpus), b = rnd_below(r, nr_corpus);

	return &corpus[a > b ? a : b];
}

static void make_seq(struct seq *seq, struct rng *r)
{
	if (!nr_corpus || !rnd_below(r, 5)) {
		seq_make(seq, r);
		return;
	}
	*seq = *pick_seq(r);
	seq_mutate(seq, pick_seq(r), r);
}

static void make_round(struct rng *r)
{
	bool alike = !rnd_below(r, 3);
	struct seq *seq = round_now.seq;
	unsigned int i;

	make_seq(seq, r);
	for (i = 1; i < round_now.lanes; i++) {
		if (!alike) {
			make_seq(&seq[i], r);
			continue;
		}
		/* The same against itself, a little different. */
		seq[i] = seq[0];
		seq_mutate(&seq[i], &seq[0], r);
	}
}

static void keep_fresh(struct rng *r)
{
	unsigned int i;

	for (i = 0; i < round_now.lanes; i++) {
		if (!lanes[i].fresh)
			continue;
		if (nr_corpus < CORPUS)
			corpus[nr_corpus++] = round_now.seq[i];
		else
			corpus[rnd_below(r, CORPUS)] = round_now.seq[i];
	}
}

/* ---- the log */

/* It must be out of this kernel before the round can kill it. */
static int log_round(int fd)
{
	off_t at = round_now.nr % LOGGED * sizeof(round_now);

	if (pwrite(fd, &round_now, sizeof(round_now), at) !=
	    sizeof(round_now))
		return -errno;
	sync_file_range(fd, at, sizeof(round_now), SYNC_FILE_RANGE_WAIT_BEFORE |
			SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
	return 0;
}

static int by_nr(const void *a, const void *b)
{
	const struct round *x = a, *y = b;

	return x->nr < y->nr ? -1 : x->nr > y->nr;
}

/* Runs what a log holds, from the first start of a world on. */
static int replay(const char *path)
{
	static struct round rounds[LOGGED];
	int fd = open(path, O_RDONLY | O_CLOEXEC), i, n, ret = 0;

	if (fd < 0)
		return -errno;
	n = read(fd, rounds, sizeof(rounds)) / (ssize_t)sizeof(rounds[0]);
	close(fd);
	if (n <= 0 || rounds[0].magic != MAGIC ||
	    rounds[0].lanes - 1 >= MAX_LANES)
		return -EINVAL;
	qsort(rounds, n, sizeof(rounds[0]), by_nr);
	ret = lanes_start(rounds[0].lanes);
	for (i = 0; i < n && rounds[i].nr % LIFE; i++)
		;
	for (; i < n && !ret; i++) {
		round_now = rounds[i];
		printf("# round %llu\n", (unsigned long long)round_now.nr);
		ret = step_forward();
	}
	return ret;
}

/* ---- the run */

/*
 * What the kernel said since the last time: most reports do not stop it, but the
 * log should still hold the round that brought them about.
 */
static bool kernel_complains(int kmsg)
{
	static const char *const words[] = {
		"WARNING: ", "BUG: ", "KASAN: ", "UBSAN: ", "ODEBUG: ",
		"refcount_t: ", "corruption", "Oops",
	};
	char line[8192];
	size_t i;
	long n;

	while ((n = read(kmsg, line, sizeof(line) - 1)) > 0) {
		line[n] = '\0';
		for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
			if (strstr(line, words[i])) {
				printf("# round %llu: %s",
				       (unsigned long long)round_now.nr, line);
				return true;
			}
	}
	return false;
}

static int open_kmsg(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		lseek(fd, 0, SEEK_END);
	return fd;
}

static int fuzz(uint64_t seed, unsigned int seconds, unsigned int n,
		const char *path)
{
	unsigned long long stop = te_now_ms() + 1000ULL * seconds;
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	int kmsg = open_kmsg();
	struct rng r = { seed };
	int ret;

	if (fd < 0 || kmsg < 0)
		return -errno;
	round_now.magic = MAGIC;
	round_now.lanes = n;
	ret = lanes_start(n);
	while (!ret && te_now_ms() < stop && !nr_bad && !complaint) {
		make_round(&r);
		ret = log_round(fd) ?: step_forward();
		keep_fresh(&r);
		complaint = kernel_complains(kmsg);
		round_now.nr++;
	}
	close(kmsg);
	close(fd);
	return ret;
}

static void ignore(int sig)
{
	(void)sig;
}

static int prepare(void)
{
	const struct rlimit locked = { LOCKED_BYTES, LOCKED_BYTES };
	/* No SA_RESTART: a wait shall end. */
	const struct sigaction nudged = { .sa_handler = ignore };

	sigaction(SIGUSR1, &nudged, NULL);
	if (setrlimit(RLIMIT_MEMLOCK, &locked))
		return -errno;
	return world_init();
}

static bool clean(void)
{
	int left;

	world_clear();
	left = te_settle();
	left = te_pins_settle() ?: left;
	return !left && !te_vm_pin_kib();
}

static int usage(void)
{
	fprintf(stderr,
		"usage: fuzz [-s SEED] [-t SECONDS] [-n THREADS] [-v] | -r FILE\n");
	return KSFT_FAIL;
}

int main(int argc, char **argv)
{
	unsigned int seconds = 60, n = 3;
	const char *file = NULL;
	char path[4096];
	uint32_t seed;
	int opt, ret;

	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		return KSFT_FAIL;
	while ((opt = getopt(argc, argv, "s:t:n:r:v")) != -1) {
		switch (opt) {
		case 's': seed = strtoul(optarg, NULL, 0); break;
		case 't': seconds = strtoul(optarg, NULL, 0); break;
		case 'n': n = strtoul(optarg, NULL, 0); break;
		case 'r': file = optarg; op_verbose = true; break;
		case 'v': op_verbose = true; break;
		default: return usage();
		}
	}
	if (optind != argc || n < 1 || n > MAX_LANES)
		return usage();

	setvbuf(stdout, NULL, _IOLBF, 0);
	ksft_print_header();
	ksft_set_plan(4);
	snprintf(path, sizeof(path), "%s.%u.log", argv[0], seed);
	ret = prepare();
	if (ret)
		ksft_exit_fail_msg("start: %s\n", strerror(-ret));
	if (file) {
		ret = replay(file);
	} else {
		ksft_print_msg("seed %u, %u threads, %u s\n", seed, n, seconds);
		ret = fuzz(seed, seconds, n, path);
	}
	if (ret)
		ksft_exit_fail_msg("round %llu: %s\n",
				   (unsigned long long)round_now.nr,
				   strerror(-ret));
	ksft_print_msg("%llu rounds, %lu calls, %u blocks of te, %u kinds of answers, corpus %u\n",
		       (unsigned long long)round_now.nr, nr_steps,
		       cover_total(), nr_answers, nr_corpus);
	ksft_test_result(!complaint, "the kernel does not complain\n");
	ksft_test_result(!nr_bad, "answers are those of the contract\n");
	ksft_test_result(clean(), "nothing is left\n");
	ksft_test_result(file || (nr_answers >= ENOUGH_ANSWERS &&
				  (!cover_there() ||
				   cover_total() >= ENOUGH_BLOCKS)),
			 "enough of te was reached\n");
	if (!ksft_get_fail_cnt())
		unlink(path);
	ksft_finished();
}

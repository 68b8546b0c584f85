// SPDX-License-Identifier: GPL-2.0-only
/*
 * The nth allocation, or the nth copy from or to user memory, of a call fails,
 * for n = 1, 2, ... until the call gets by with less: every ioctl, open, mmap,
 * a submit that crosses regions, and the end of a context that has it all. Each
 * time the errno is right, nothing is left or shown, and the same call then works.
 *
 * fail-nth counts all kinds of faults of one thread. Allocations that may sleep
 * are left out of the count by the kernel unless it is told otherwise: that
 * makes a run over copies and little else. How many allocations a call makes, and
 * in which order, depends on what the caches have just then, so each n has several
 * turns, and a run ends only when nothing has struck for some n on end.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/test.h"
#include "lib/calls.h"
#include "lib/nth.h"
#include "lib/pair.h"
#include "lib/proc.h"

#define TURNS	5
#define RUNS	20

FIXTURE(nth)
{
	struct world w;
	struct te_ioc_stats base;
};

FIXTURE_SETUP(nth)
{
	nth_start();
	nth_count_allocations(false);
	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, world_open(&self->w));
	ASSERT_EQ(0, te_stats(&self->base));
}

FIXTURE_TEARDOWN(nth)
{
	world_close(&self->w);
	nth_stop();
	CLEAN();
}

/* A batch that was refused something shows nothing of it. */
static int slots_untouched(struct world *w, const struct call *c, void *arg)
{
	struct te_ioc_batch_submit *a = arg;
	const struct te_slot *slot;

	if (c->cmd != TE_IOC_BATCH_SUBMIT)
		return 0;
	slot = &w->ctx.slots[a->batch % w->ctx.setup.task_slots];
	return slot->state == TE_WAITING && !slot->nr_tasks ? 0 : -EBADE;
}

/* Calls until nothing strikes; adds up what they answered. */
static void call_nth(struct __test_metadata *_metadata,
			     FIXTURE_DATA(nth) *self, const struct call *c,
			     unsigned int *efault, unsigned int *enomem)
{
	_Alignas(8) char arg[ARG_MAX_BYTES];
	struct turns t = { .each = TURNS };
	bool hit;
	int ret;

	*efault = *enomem = 0;
	while (next_turn(&t)) {
		memset(arg, 0, sizeof(arg));
		EXPECT_ROW(0, c->make(&self->w, arg), "%s", c->name);
		nth_arm(t.n);
		ret = raw_ioctl(self->w.fd, c->cmd, arg);
		hit = turn_end(&t, nth_struck());
		*efault += ret == -EFAULT;
		*enomem += ret == -ENOMEM;
		EXPECT_TRUE(!ret ||
			    (hit && (ret == -EFAULT || ret == -ENOMEM))) {
			TH_LOG("case: %s, n %u: %d", c->name, t.n, ret);
		}
		if (ret)
			EXPECT_ROW(0, slots_untouched(&self->w, c, arg),
				   "%s, n %u", c->name, t.n);
		c->undo(&self->w, arg, ret);
		EXPECT_ROW(0, te_settle_to(&self->base), "%s, n %u", c->name,
			   t.n);

		memset(arg, 0, sizeof(arg));
		EXPECT_ROW(0, c->make(&self->w, arg), "%s", c->name);
		ret = raw_ioctl(self->w.fd, c->cmd, arg);
		EXPECT_ROW(0, ret, "%s after n %u", c->name, t.n);
		c->undo(&self->w, arg, ret);
	}
	EXPECT_ROW(true, ran_out(&t), "%s", c->name);
}

/*
 * The others allocate nothing: they cannot fail for lack of it. An export does
 * when it is the first, see below; a submit when it crosses regions.
 */
static const unsigned long need_memory[] = {
	TE_IOC_SETUP, TE_IOC_MR_REGISTER, TE_IOC_SEGMENT_OPEN,
	TE_IOC_BATCH_ALLOC, TE_IOC_TOPOLOGY_SET, TE_IOC_TOPOLOGY_GET,
};

TEST_F_TIMEOUT(nth, ioctls, SLOW)
{
	unsigned int efault, enomem;
	size_t i, j;
	bool needs;

	for (i = 0; i < nr_calls; i++) {
		nth_count_allocations(false);
		/* The argument in, and out; a run may step over one. */
		for (j = 0; j < RUNS; j++) {
			call_nth(_metadata, self, &calls[i], &efault, &enomem);
			if (efault >= 1U + calls[i].answers)
				break;
		}
		EXPECT_ROW(true, j < RUNS, "%s: %u times -EFAULT",
			   calls[i].name, efault);

		nth_count_allocations(true);
		call_nth(_metadata, self, &calls[i], &efault, &enomem);
		needs = false;
		for (j = 0; j < ROWS(need_memory); j++)
			needs |= need_memory[j] == calls[i].cmd;
		EXPECT_ROW(needs, enomem > 0, "%s: %u times -ENOMEM",
			   calls[i].name, enomem);
	}
}

/* What the file operations answer: 0 or -errno, and undo what they did. */
static int try_open(struct world *w)
{
	int fd = open(TE_DEVICE, O_RDWR | O_CLOEXEC);

	(void)w;
	if (fd < 0)
		return -errno;
	w->fd = fd;
	return 0;
}

static void end_open(struct world *w)
{
	close(w->fd);
}

static int try_mmap(struct world *w)
{
	void *p = mmap(NULL, w->ctx.setup.ring_bytes, PROT_READ | PROT_WRITE,
		       MAP_SHARED, w->ctx.fd, TE_MMAP_RING);

	if (p == MAP_FAILED)
		return -errno;
	w->request.local_addr = (uintptr_t)p;
	return 0;
}

static void end_mmap(struct world *w)
{
	munmap((void *)(uintptr_t)w->request.local_addr,
	       w->ctx.setup.ring_bytes);
}

static const struct {
	const char *name;
	int (*try)(struct world *w);
	void (*end)(struct world *w);
} file_calls[] = {
	{ "open", try_open, end_open },
	{ "mmap", try_mmap, end_mmap },
};

TEST_F_TIMEOUT(nth, file_calls, SLOW)
{
	unsigned int failed;
	struct turns t;
	bool hit;
	size_t i;
	int ret;

	nth_count_allocations(true);
	for (i = 0; i < ROWS(file_calls); i++) {
		failed = 0;
		t = (struct turns){ .each = TURNS };
		while (next_turn(&t)) {
			nth_arm(t.n);
			ret = file_calls[i].try(&self->w);
			hit = turn_end(&t, nth_struck());
			failed += ret != 0;
			/* The name of the file is copied too. */
			EXPECT_TRUE(!ret || (hit && (ret == -ENOMEM ||
						     ret == -EFAULT))) {
				TH_LOG("case: %s, n %u: %d",
				       file_calls[i].name, t.n, ret);
			}
			if (!ret)
				file_calls[i].end(&self->w);
			EXPECT_ROW(0, te_settle_to(&self->base), "%s, n %u",
				   file_calls[i].name, t.n);
			MUST(file_calls[i].try(&self->w));
			file_calls[i].end(&self->w);
		}
		EXPECT_LT(0, failed);
		EXPECT_TRUE(ran_out(&t));
	}
}

/* Requests that cross regions: tables of them, and bytes afterwards. */
TEST_F_TIMEOUT(nth, submit_across_regions, SLOW)
{
	static const struct pair_opts o = { .margin = ~0UL, .local = 128 * KIB };
	struct turns t = { .each = TURNS };
	struct te_ioc_stats base;
	unsigned int failed = 0;
	struct te_request r;
	struct te_status st;
	uint32_t batch, mr;
	struct area more;
	struct pair p;
	bool hit;
	int ret, i;

	ASSERT_EQ(0, pair_open(&p, &o));
	ASSERT_EQ(0, te_mr_unregister(p.ini, p.lmr, 0));
	for (i = 0; i < 4; i++)
		MUST(te_mr_register(p.ini, p.local.p + i * 32 * KIB, 32 * KIB,
				    TE_LOCAL_ALL, NULL, &mr));
	ASSERT_EQ(0, area_alloc(&more, 4096));
	ASSERT_EQ(0, pair_xfer(&p, TE_WRITE, 0, 0, 128 * KIB));
	ASSERT_EQ(0, te_stats(&base));
	r = pair_req(&p, TE_READ, 5, 6, 120 * KIB);
	nth_count_allocations(true);
	while (next_turn(&t)) {
		MUST(te_batch_alloc(p.ini, 1, NULL, &batch));
		nth_arm(t.n);
		ret = te_submit(p.ini, batch, &r, 1);
		hit = turn_end(&t, nth_struck());
		failed += ret != 0;
		EXPECT_TRUE(!ret || (hit && (ret == -ENOMEM ||
					     ret == -EFAULT))) {
			TH_LOG("case: n %u: %d", t.n, ret);
		}
		MUST(te_wait(p.ini, batch, TE_WAIT_MS));
		MUST(te_batch_status(p.ini, batch, &st));
		EXPECT_ROW(ret ? TE_WAITING : TE_COMPLETED, (int)st.state,
			   "n %u", t.n);
		MUST(te_batch_free(p.ini, batch));
		if (!ret)
			pair_expect(&p, &r);
		MUST(pair_check(&p));
		EXPECT_ROW(0, te_settle_to(&base), "n %u", t.n);
	}
	EXPECT_LT(1, failed);
	EXPECT_TRUE(ran_out(&t));
	area_free(&more);
	pair_close(&p);
}

/* The first export of a node makes the listener. */
FIXTURE(alone)
{
};

FIXTURE_SETUP(alone)
{
	nth_start();
	ASSERT_EQ(0, te_settle());
}

FIXTURE_TEARDOWN(alone)
{
	nth_stop();
	CLEAN();
}

TEST_F_TIMEOUT(alone, first_export, SLOW)
{
	struct turns t = { .each = TURNS };
	unsigned int enomem = 0;
	struct raw r;
	bool hit;
	int ret;

	nth_count_allocations(true);
	while (next_turn(&t)) {
		MUST(raw_open(&r, 0, 0));
		nth_arm(t.n);
		ret = raw_export(r.fd, "first");
		hit = turn_end(&t, nth_struck());
		enomem += ret == -ENOMEM;
		/* A port that TCP has no memory to note down is "in use". */
		EXPECT_TRUE(!ret || (hit && (ret == -ENOMEM ||
					     ret == -EFAULT ||
					     ret == -EADDRINUSE))) {
			TH_LOG("case: n %u: %d", t.n, ret);
		}
		EXPECT_ROW(ret ? 0 : -EEXIST, raw_export(r.fd, "first"),
			   "n %u", t.n);
		raw_close(&r);
		EXPECT_ROW(0, te_settle(), "n %u", t.n);
	}
	EXPECT_TRUE(ran_out(&t));
	EXPECT_LT(0, enomem);
}

/* A process that has no file of te's yet: more is made than for its second. */
enum { OPENED, OPENED_ALL_THE_SAME, REFUSED, ANOTHER_ERROR };

static int first_open(void *arg, int in, int out)
{
	unsigned int n = *(unsigned int *)arg;
	bool hit;
	int fd;

	(void)in;
	(void)out;
	nth_start();
	nth_arm(n);
	fd = open(TE_DEVICE, O_RDWR | O_CLOEXEC);
	if (fd < 0 && errno != ENOMEM && errno != EFAULT)
		return ANOTHER_ERROR;
	hit = nth_struck();
	if (fd < 0)
		return hit ? REFUSED : ANOTHER_ERROR;
	return hit ? OPENED_ALL_THE_SAME : OPENED;
}

TEST_F_TIMEOUT(alone, first_open, SLOW)
{
	struct turns t = { .each = TURNS };
	unsigned int refused = 0;
	struct proc child;
	int ret;

	nth_count_allocations(true);
	while (next_turn(&t)) {
		ASSERT_EQ(0, proc_start(&child, first_open, &t.n));
		ret = proc_wait(&child);
		turn_end(&t, ret != OPENED);
		refused += ret == REFUSED;
		EXPECT_ROW(true, ret >= OPENED && ret <= REFUSED,
			   "n %u: status %d", t.n, ret);
		EXPECT_ROW(0, te_settle(), "n %u", t.n);
	}
	EXPECT_TRUE(ran_out(&t));
	EXPECT_LT(1, refused);
}

static int segment_at(int fd, const char *host, const char *name, uint32_t *seg)
{
	struct te_ioc_segment_open a;
	int ret;

	raw_fill_open(&a, name);
	inet_pton(AF_INET, host, a.addr);
	ret = raw_ioctl(fd, TE_IOC_SEGMENT_OPEN, &a);
	*seg = a.segment;
	return ret;
}

/* Each time a peer that nobody spoke to before: this host has many addresses. */
TEST_F_TIMEOUT(alone, first_segment_of_a_peer, SLOW)
{
	struct turns t = { .each = TURNS };
	unsigned int enomem = 0;
	char host[32];
	struct raw r;
	uint32_t seg;
	bool hit;
	int ret;

	ASSERT_EQ(0, raw_open(&r, 0, 0));
	ASSERT_EQ(0, raw_export(r.fd, "known"));
	nth_count_allocations(true);
	while (next_turn(&t)) {
		snprintf(host, sizeof(host), "127.78.%u.%u", t.nr / 250,
			 t.nr % 250 + 1);
		nth_arm(t.n);
		ret = segment_at(r.fd, host, "known", &seg);
		hit = turn_end(&t, nth_struck());
		enomem += ret == -ENOMEM;
		EXPECT_TRUE(!ret || (hit && (ret == -ENOMEM ||
					     ret == -EFAULT))) {
			TH_LOG("case: n %u: %d", t.n, ret);
		}
		if (!ret)
			MUST(raw_segment_close(r.fd, seg));
		MUST(segment_at(r.fd, host, "known", &seg));
		MUST(raw_segment_close(r.fd, seg));
	}
	EXPECT_TRUE(ran_out(&t));
	EXPECT_LT(2, enomem);
	raw_close(&r);
}

/*
 * A context with everything alive in it: regions, an export that a peer has open,
 * a segment of that peer's, and more work than is done by when it ends.
 */
#define WORK	48
#define PART	(256 * KIB)

struct whole {
	struct raw raw;
	struct area mem;
	uint32_t theirs;
};

static int whole_open(struct whole *w, struct pair *p)
{
	const char *name = te_unique_name();
	struct te_request r[WORK];
	uint32_t mr, seg, batch;
	int ret, i;

	ret = raw_open(&w->raw, 64, 64);
	for (i = 0; i < 2; i++)
		ret = ret ?: raw_mr(w->raw.fd, w->mem.p + i * PART, PART,
				    TE_LOCAL_ALL | TE_REMOTE_ALL, &mr);
	ret = ret ?: raw_export(w->raw.fd, name);
	ret = ret ?: te_open_segment(p->ini, name, &w->theirs);
	ret = ret ?: raw_segment(w->raw.fd, p->name, &seg);
	ret = ret ?: raw_batch(w->raw.fd, WORK, TE_ENTRIES_TASK, &batch);
	for (i = 0; i < WORK; i++) {
		r[i] = pair_req(p, i % 2 ? TE_WRITE : TE_READ, 0, 0, 2 * PART);
		r[i].local_addr = (uintptr_t)w->mem.p;
		r[i].segment = seg;
	}
	return ret ?: raw_submit(w->raw.fd, batch, r, WORK);
}

TEST_F_TIMEOUT(alone, close, SLOW)
{
	static const struct pair_opts o = {
		.margin = ~0UL, .local = 2 * PART, .remote = 2 * PART,
	};
	struct turns t = { .each = TURNS };
	struct te_ioc_stats base, now;
	unsigned int busy = 0;
	struct whole w;
	struct pair p;
	int ret;

	ASSERT_EQ(0, pair_open(&p, &o));
	ASSERT_EQ(0, area_alloc(&w.mem, 2 * PART));
	/* Whatever of the work is done, both sides stay as they are. */
	memcpy(w.mem.p, p.remote.p, 2 * PART);
	memcpy(w.mem.want, p.remote.p, 2 * PART);
	ASSERT_EQ(0, te_stats(&base));
	nth_count_allocations(true);
	while (next_turn(&t)) {
		MUST(whole_open(&w, &p));
		/* So that the file goes with the descriptor. */
		munmap((void *)w.raw.slots, w.raw.setup.status_bytes);
		munmap(w.raw.ring, w.raw.setup.ring_bytes);
		MUST(te_stats(&now));
		busy += now.tasks > 0;
		nth_arm(t.n);
		ret = close(w.raw.fd) ? -errno : 0;
		turn_end(&t, nth_struck());
		EXPECT_ROW(0, ret, "n %u", t.n);
		EXPECT_ROW(-ESTALE, te_await_gone(p.ini, w.theirs), "n %u",
			   t.n);
		MUST(te_segment_close(p.ini, w.theirs));
		EXPECT_ROW(0, te_settle_to(&base), "n %u", t.n);
		MUST(area_check(&w.mem, "of who closed"));
		MUST(pair_check(&p));
	}
	EXPECT_TRUE(ran_out(&t));
	EXPECT_LT(0, busy);
	EXPECT_EQ(0, pair_xfer(&p, TE_WRITE, 0, 0, 2 * PART));
	area_free(&w.mem);
	pair_close(&p);
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0-only
/*
 * A submitter that does not run: by SIGSTOP, in a frozen cgroup, held by a
 * debugger. Its work goes on meanwhile; what a debugger writes into registered
 * memory is what peers see; going on, it finds its tasks in order.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/test.h"
#include "lib/proc.h"

#define LEN	(16 * MIB)
/*
 * Tasks take turns, so each is a slice longer than the one before: one ends in
 * each turn, and 14 GB are not done before it stops.
 */
#define NR	1024
#define SLICE	(64 * KIB)
#define CGROUPS	"/run/te-cgroup"
#define GROUP	CGROUPS "/frozen"

FIXTURE(stopped)
{
	struct pair p;
	struct proc child;
};

FIXTURE_SETUP(stopped)
{
	struct pair_opts o = { .remote = LEN, .margin = ~0UL };

	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, pair_open(&self->p, &o));
}

FIXTURE_TEARDOWN(stopped)
{
	pair_close(&self->p);
	CLEAN();
}

struct way {
	const char *desc;
	int (*stop)(pid_t pid);
	int (*go)(pid_t pid);
};

/* Waits until @pid is stopped by a signal or for us as its debugger. */
static int await_stop(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, WUNTRACED | __WALL) != pid ||
	    !WIFSTOPPED(status))
		return -ECHILD;
	return 0;
}

static int stop_signal(pid_t pid)
{
	return kill(pid, SIGSTOP) ?: await_stop(pid);
}

static int go_signal(pid_t pid)
{
	return kill(pid, SIGCONT);
}

static int stop_trace(pid_t pid)
{
	return ptrace(PTRACE_ATTACH, pid, NULL, NULL) ?: await_stop(pid);
}

static int go_trace(pid_t pid)
{
	return ptrace(PTRACE_DETACH, pid, NULL, NULL);
}

static int put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int ret = write(fd, text, strlen(text)) < 0 ? -errno : 0;

	close(fd);
	return ret;
}

/* Waits until the group says that it is frozen. */
static int await_frozen(void)
{
	char text[256];
	int fd, i;

	for (i = 0; i < TE_WAIT_MS; i++, te_sleep_ms(1)) {
		memset(text, 0, sizeof(text));
		fd = open(GROUP "/cgroup.events", O_RDONLY | O_CLOEXEC);
		if (read(fd, text, sizeof(text) - 1) < 0)
			text[0] = '\0';
		close(fd);
		if (strstr(text, "frozen 1"))
			return 0;
	}
	return -ETIME;
}

static int stop_freeze(pid_t pid)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", pid);
	if (mkdir(CGROUPS, 0700) || mount("te", CGROUPS, "cgroup2", 0, NULL) ||
	    mkdir(GROUP, 0700))
		return -errno;
	return put(GROUP "/cgroup.procs", number) ?:
	       put(GROUP "/cgroup.freeze", "1") ?: await_frozen();
}

static int go_freeze(pid_t pid)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", pid);
	if (put(GROUP "/cgroup.freeze", "0") ||
	    put(CGROUPS "/cgroup.procs", number) || rmdir(GROUP) ||
	    umount2(CGROUPS, MNT_DETACH) || rmdir(CGROUPS))
		return -errno;
	return 0;
}

static const struct way ways[] = {
	{ "SIGSTOP", stop_signal, go_signal },
	{ "debugger", stop_trace, go_trace },
	{ "frozen cgroup", stop_freeze, go_freeze },
};

/* What the submitter gets. */
struct arg {
	const struct pair *p;
	unsigned char *mem;
	char name[48];
	bool waits;	/* is stopped inside te_wait(), and goes back there */
};

static size_t length(uint32_t i)
{
	return i < LEN / SLICE ? (i + 1) * SLICE : LEN;
}

/* All that was not done is cancelled. */
static int check_tasks(struct te *te, uint32_t batch)
{
	uint32_t i, done = 0, canceled = 0;
	struct te_status st;

	for (i = 0; i < NR; i++) {
		if (te_status(te, batch, i, &st))
			return 10;
		if (st.state == TE_COMPLETED && st.bytes == length(i))
			done++;
		else if (st.state == TE_CANCELED && st.error == -ECANCELED)
			canceled++;
		else
			return 11;
	}
	return done > 1 && canceled ? 0 : 12;
}

static int submit(const struct arg *a, struct te **te, uint32_t *batch)
{
	struct te_batch_opts o = {
		.sz = sizeof(o),
		.deadline_ms = TE_MAX_DEADLINE_MS,
	};
	struct te_request r[NR];
	uint32_t mr, seg, i;
	int ret;

	ret = te_open(te, NULL);
	ret = ret ?: te_mr_register(*te, a->mem, LEN,
				    TE_LOCAL_ALL | TE_REMOTE_ALL, NULL, &mr);
	ret = ret ?: te_segment_export(*te, a->name, NULL);
	ret = ret ?: te_open_segment(*te, a->p->name, &seg);
	ret = ret ?: te_batch_alloc(*te, NR, &o, batch);
	for (i = 0; i < NR; i++)
		r[i] = (struct te_request) {
			.opcode = TE_WRITE,
			.segment = seg,
			.local_addr = (uintptr_t)a->mem,
			.remote_addr = (uintptr_t)a->p->remote.p,
			.length = length(i),
		};
	return ret ?: te_submit(*te, *batch, r, NR);
}

static int be_submitter(void *arg, int in, int out)
{
	const struct arg *a = arg;
	uint32_t batch;
	struct te *te;
	int ret;
	char c;

	ret = submit(a, &te, &batch);
	if (ret || proc_put(out, "g", 1))
		return 1;
	if (a->waits) {
		/* The end of the wait is this signal's, not the work's. */
		do
			ret = te_wait(te, batch, 600000);
		while (ret == -EINTR && !proc_put(out, "i", 1));
		return ret || proc_get(in, &c, 1) ? 2 : 0;
	}
	if (proc_get(in, &c, 1))
		return 3;
	if (te_cancel(te, batch) || te_wait(te, batch, TE_WAIT_MS))
		return 4;
	ret = check_tasks(te, batch);
	te_close(te);
	return ret;
}

/* Tasks end while the process does not run. */
static int await_progress(void)
{
	struct te_ioc_stats first, s;
	int i;

	if (te_stats(&first) || first.tasks < 3)
		return -EINVAL;
	for (i = 0; i < TE_WAIT_MS / 10; i++, te_sleep_ms(10))
		if (!te_stats(&s) && s.tasks && s.tasks <= first.tasks - 2)
			return 0;
	return -ETIME;
}

TEST_F_TIMEOUT(stopped, work_goes_on, SLOW)
{
	struct arg a = { .p = &self->p };
	const struct way *w;
	size_t i;
	char c;

	a.mem = mmap(NULL, LEN, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)a.mem);
	for (i = 0; i < ROWS(ways); i++) {
		w = &ways[i];
		snprintf(a.name, sizeof(a.name), "%s", te_unique_name());
		pattern_fill(a.mem, LEN, 30 + i);
		ASSERT_EQ(0, proc_start(&self->child, be_submitter, &a));
		ASSERT_EQ(0, proc_get(self->child.from, &c, 1));
		EXPECT_ROW(0, w->stop(self->child.pid), "%s", w->desc);
		EXPECT_ROW(0, await_progress(), "%s", w->desc);
		/* All have had two turns. */
		EXPECT_ROW(-1, pattern_check(self->p.remote.p, 2 * SLICE,
					     30 + i), "%s", w->desc);
		EXPECT_ROW(0, w->go(self->child.pid), "%s", w->desc);
		ASSERT_EQ(0, proc_put(self->child.to, "c", 1));
		EXPECT_ROW(0, proc_wait(&self->child), "%s", w->desc);
	}
	munmap(a.mem, LEN);
}

/* A wait that is stopped ends with EINTR, and can be had again. */
TEST_F_TIMEOUT(stopped, inside_wait, SLOW)
{
	struct arg a = { .p = &self->p, .waits = true };
	char c, state[64];
	FILE *f;
	int i;

	a.mem = mmap(NULL, LEN, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)a.mem);
	snprintf(a.name, sizeof(a.name), "%s", te_unique_name());
	ASSERT_EQ(0, proc_start(&self->child, be_submitter, &a));
	ASSERT_EQ(0, proc_get(self->child.from, &c, 1));
	/* Asleep: it can only be in the wait. */
	snprintf(state, sizeof(state), "/proc/%d/stat", self->child.pid);
	for (i = 0, c = 0; i < TE_WAIT_MS && c != 'S'; i++, te_sleep_ms(1)) {
		f = fopen(state, "re");
		ASSERT_NE(NULL, f);
		ASSERT_EQ(1, fscanf(f, "%*d (%*[^)]) %c", &c));
		fclose(f);
	}
	ASSERT_EQ('S', c);
	ASSERT_EQ(0, stop_signal(self->child.pid));
	ASSERT_EQ(0, go_signal(self->child.pid));
	ASSERT_EQ(0, proc_get(self->child.from, &c, 1));
	EXPECT_EQ('i', c);
	EXPECT_EQ(128 + SIGKILL, proc_kill(&self->child));
	munmap(a.mem, LEN);
}

/* Private memory: the debugger's word must go to the pinned page, not a copy. */
TEST_F_TIMEOUT(stopped, debugger_writes, SLOW)
{
	struct arg a = { .p = &self->p };
	unsigned long word = 0x1122334455667788;
	struct te_request r;
	uint32_t seg, batch;
	char c;

	a.mem = mmap(NULL, LEN, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)a.mem);
	pattern_fill(a.mem, LEN, 40);
	snprintf(a.name, sizeof(a.name), "%s", te_unique_name());
	ASSERT_EQ(0, proc_start(&self->child, be_submitter, &a));
	ASSERT_EQ(0, proc_get(self->child.from, &c, 1));
	ASSERT_EQ(0, te_open_segment(self->p.ini, a.name, &seg));
	ASSERT_EQ(0, stop_trace(self->child.pid));
	ASSERT_EQ(0, ptrace(PTRACE_POKEDATA, self->child.pid, a.mem + 64,
			    (void *)word));

	/* A peer reads what the debugger wrote, between what was there. */
	r = pair_req(&self->p, TE_READ, 4096, 0, 4096);
	r.segment = seg;
	r.remote_addr = (uintptr_t)a.mem;
	ASSERT_EQ(0, te_batch_alloc(self->p.ini, 1, NULL, &batch));
	ASSERT_EQ(0, te_submit(self->p.ini, batch, &r, 1));
	ASSERT_EQ(0, te_wait(self->p.ini, batch, TE_WAIT_MS));
	memcpy(a.mem + 64, &word, sizeof(word));
	memcpy(self->p.local.want + 4096, a.mem, 4096);
	EXPECT_EQ(0, area_check(&self->p.local, "what a peer reads"));

	errno = 0;
	EXPECT_EQ((long)word, ptrace(PTRACE_PEEKDATA, self->child.pid,
				     a.mem + 64, NULL));
	EXPECT_EQ(0, errno);
	EXPECT_EQ(0, await_progress());
	EXPECT_EQ(0, go_trace(self->child.pid));
	ASSERT_EQ(0, proc_put(self->child.to, "c", 1));
	EXPECT_EQ(0, proc_wait(&self->child));
	EXPECT_EQ(0, te_batch_free(self->p.ini, batch));
	EXPECT_EQ(0, te_segment_close(self->p.ini, seg));
	munmap(a.mem, LEN);
}

TEST_HARNESS_MAIN

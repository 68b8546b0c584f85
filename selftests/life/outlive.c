// SPDX-License-Identifier: GPL-2.0-only
/*
 * A file of te that lives longer than the process that opened it: inherited over
 * exec or by a child, or on its way in a socket. The context ends with the
 * process all the same: no pin, batch or export is left of it while somebody
 * still holds the file, who can do nothing with it.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/test.h"
#include "lib/proc.h"
#include "lib/sock.h"

#define LEN	(16 * MIB)
#define NR	800	/* 12.8 GB: still in flight when the owner goes */
#define EXEC_FD	"TE_TEST_EXEC_FD"

/* Where proc_start() puts a child's pipes. */
#define IN	3
#define OUT	4

struct row {
	const char *desc;
	void (*leave)(void);	/* NULL: by exec, and is the holder itself */
	void (*hold)(int fd);
	int flags;
	int ends;	/* the owner's status */
	bool open;	/* the file is still open when it is gone */
};

static void do_exit(void)
{
	_exit(5);
}

static void do_kill(void)
{
	raise(SIGKILL);
}

/* Ends when the test closes the pipe. */
static int hold(void)
{
	char c = 'h';

	proc_put(OUT, &c, 1);
	return read(IN, &c, 1);
}

static void in_child(int fd)
{
	(void)fd;
	if (!fork())
		_exit(hold());
}

/* The child has the receiving end of a socket and never looks into it. */
static void in_socket(int fd)
{
	int sock[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sock) ||
	    sock_send_fd(sock[0], fd))
		_exit(1);
	if (!fork()) {
		close(fd);
		close(sock[0]);
		_exit(hold());
	}
}

static const struct row rows[] = {
	{ "child, owner exits", do_exit, in_child, O_CLOEXEC, 5, true },
	{ "child, owner is killed", do_kill, in_child, O_CLOEXEC,
	  128 + SIGKILL, true },
	{ "socket, owner exits", do_exit, in_socket, 0, 5, true },
	{ "exec", NULL, NULL, 0, -EPERM, true },
	{ "exec, close-on-exec", NULL, NULL, O_CLOEXEC, -EBADF, false },
};

FIXTURE(outlive)
{
	struct pair p;
};

FIXTURE_SETUP(outlive)
{
	struct pair_opts o = { .remote = LEN, .margin = ~0UL };

	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, pair_open(&self->p, &o));
}

FIXTURE_TEARDOWN(outlive)
{
	pair_close(&self->p);
	CLEAN();
}

/* What the owner gets, and what it tells the test. */
struct owner {
	const struct row *row;
	const struct pair *p;
	char name[48];
	unsigned char *mem;
};

/* Exports memory, and has work in flight. */
static int use(const struct owner *o, int fd)
{
	struct te_request r[NR];
	struct te_ioc_setup s = { .size = sizeof(s) };
	struct te_ioc_batch_alloc b = {
		.size = sizeof(b),
		.nr_tasks = NR,
		.deadline_ms = TE_MAX_DEADLINE_MS,
	};
	uint32_t seg, i;
	int ret;

	ret = raw_ioctl(fd, TE_IOC_SETUP, &s);
	ret = ret ?: raw_mr(fd, o->mem, LEN, TE_LOCAL_ALL | TE_REMOTE_ALL,
			    NULL);
	ret = ret ?: raw_export(fd, o->name);
	ret = ret ?: raw_segment(fd, o->p->name, &seg);
	ret = ret ?: raw_ioctl(fd, TE_IOC_BATCH_ALLOC, &b);
	for (i = 0; i < NR; i++)
		r[i] = (struct te_request) {
			.opcode = TE_READ,
			.segment = seg,
			.local_addr = (uintptr_t)o->mem,
			.remote_addr = (uintptr_t)o->p->remote.p,
			.length = LEN,
		};
	return ret ?: raw_submit(fd, b.batch, r, NR);
}

static int own(void *arg, int in, int out)
{
	const struct owner *o = arg;
	char number[16], c;
	int fd;

	fd = open(TE_DEVICE, O_RDWR | o->row->flags);
	if (fd < 0 || use(o, fd) || proc_put(out, "g", 1) ||
	    proc_get(in, &c, 1))
		return 1;
	if (o->row->hold) {
		o->row->hold(fd);
		o->row->leave();
	}
	snprintf(number, sizeof(number), "%d", fd);
	setenv(EXEC_FD, number, 1);
	execl("/proc/self/exe", "outlive", (char *)NULL);
	return 2;
}

/* The program after exec: 0 when the file is what the row says. */
static int after_exec(int fd)
{
	struct te_ioc_batch_wait w = { .size = sizeof(w), .batch = 1 };
	int ret = raw_ioctl(fd, TE_IOC_BATCH_WAIT, &w);

	hold();
	return -ret;
}

/* The owner is gone, or has become another program. */
static int await_owner(struct proc *p, const struct row *row)
{
	siginfo_t si;
	char c;

	return proc_get(p->from, &c, 1) ?:
	       row->leave && waitid(P_PID, p->pid, &si, WEXITED | WNOWAIT);
}

TEST_F_TIMEOUT(outlive, table, 2 * SLOW)
{
	unsigned char *mem = mmap(NULL, LEN, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct te_ioc_stats base, want;
	const struct row *row;
	struct te_request r;
	struct proc child;
	uint32_t seg;
	size_t i;
	char c;

	ASSERT_NE(MAP_FAILED, (void *)mem);
	ASSERT_EQ(0, te_stats(&base));
	for (i = 0; i < ROWS(rows); i++) {
		struct owner o = { .row = &rows[i], .p = &self->p, .mem = mem };

		row = o.row;
		snprintf(o.name, sizeof(o.name), "%s", te_unique_name());
		ASSERT_EQ(0, proc_start(&child, own, &o));
		ASSERT_EQ(0, proc_get(child.from, &c, 1));
		MUST(te_open_segment(self->p.ini, o.name, &seg));
		r = pair_req(&self->p, TE_WRITE, 8 * KIB, 0, 4 * KIB);
		r.segment = seg;
		r.remote_addr = (uintptr_t)mem;

		MUST(proc_put(child.to, "e", 1));
		MUST(await_owner(&child, row));
		want = base;
		want.contexts += row->open;
		want.segments++;
		EXPECT_ROW(0, te_settle_to(&want), "%s", row->desc);
		EXPECT_ROW(-ESTALE, pair_refuse(&self->p, &r), "%s",
			   row->desc);
		/* Nothing comes late: neither our READ nor a peer's WRITE. */
		pattern_fill(mem, LEN, i);
		te_sleep_ms(100);
		EXPECT_ROW(-1, pattern_check(mem, LEN, i), "%s", row->desc);

		MUST(te_segment_close(self->p.ini, seg));
		close(child.to);
		child.to = -1;
		EXPECT_ROW(row->leave ? row->ends : -row->ends,
			   proc_wait(&child), "%s", row->desc);
		EXPECT_ROW(0, te_settle_to(&base), "%s", row->desc);
	}
	munmap(mem, LEN);
	EXPECT_EQ(0, pair_xfer(&self->p, TE_READ, 0, 0, 256 * KIB));
}

int main(int argc, char **argv)
{
	if (getenv(EXEC_FD))
		return after_exec(atoi(getenv(EXEC_FD)));
	return test_harness_run(argc, argv);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * A context belongs to the address space that opened it. A forked child, a
 * receiver of the descriptor and the program that runs after exec get EPERM for
 * all but INFO and STATS, harm nothing, and keep nothing when they are gone.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/test.h"
#include "lib/calls.h"
#include "lib/proc.h"
#include "lib/sock.h"

FIXTURE(foreign)
{
	struct world w;
};

FIXTURE_SETUP(foreign)
{
	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, world_open(&self->w));
}

FIXTURE_TEARDOWN(foreign)
{
	world_close(&self->w);
	CLEAN();
}

/* Good arguments, made by the owner before anything is shared. */
static unsigned char args[32][ARG_MAX_BYTES];
static int fds[32];

static int make_all(struct world *w)
{
	size_t i;
	int ret;

	for (i = 0; i < nr_calls; i++) {
		ret = calls[i].make(w, args[i]);
		if (ret)
			return ret;
		fds[i] = w->fd;
	}
	return 0;
}

/* Contexts that make() opened for single calls, and what is the node's. */
static void close_all(struct world *w)
{
	const struct call *set = call_of(TE_IOC_TOPOLOGY_SET);
	size_t i;

	set->undo(w, args[set - calls], 0);
	for (i = 0; i < nr_calls; i++)
		if (fds[i] != w->ctx.fd)
			close(fds[i]);
}

/* What a stranger gets; -1 for @fd means the descriptor the row was made for. */
static int try_all(int fd)
{
	int ret, bad = 0;
	void *p;
	size_t i;

	for (i = 0; i < nr_calls; i++) {
		ret = raw_ioctl(fd < 0 ? fds[i] : fd, calls[i].cmd, args[i]);
		if (ret == (calls[i].anyone ? 0 : -EPERM))
			continue;
		printf("# %s: %d\n", calls[i].name, ret);
		bad++;
	}
	p = mmap(NULL, 4096 * 32, PROT_READ, MAP_SHARED, fd < 0 ? fds[0] : fd,
		 TE_MMAP_STATUS);
	if (p != MAP_FAILED || errno != EPERM) {
		printf("# mmap: %s\n", p == MAP_FAILED ? strerror(errno) :
		       "works");
		bad++;
	}
	return bad;
}

TEST_F_TIMEOUT(foreign, forked_child, SLOW)
{
	struct te_ioc_stats before;
	int status;
	pid_t pid;

	ASSERT_EQ(0, make_all(&self->w));
	ASSERT_EQ(0, te_stats(&before));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(try_all(-1));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, te_settle_to(&before));
	/* The owner goes on. */
	EXPECT_EQ(0, raw_mr(self->w.ctx.fd, self->w.mem, 4096, TE_LOCAL_READ,
			    NULL));
	close_all(&self->w);
}

/* A child that shares the address space is the same process in this sense. */
static int same_mm(void *arg)
{
	struct world *w = arg;

	return !!raw_mr(w->ctx.fd, w->mem + 8192, 4096, TE_LOCAL_READ, NULL);
}

TEST_F_TIMEOUT(foreign, shared_address_space, SLOW)
{
	static char stack[65536] __attribute__((aligned(16)));
	int status;
	pid_t pid;

	pid = clone(same_mm, stack + sizeof(stack), CLONE_VM | SIGCHLD,
		    &self->w);
	ASSERT_LE(0, pid);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

/* Forked before the context was opened: all it has came through the socket. */
TEST(passed_descriptor)
{
	struct te_ioc_stats base;
	int sock[2], status, fd;
	struct world w;
	pid_t pid;

	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sock));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		close(sock[0]);
		fd = sock_receive_fd(sock[1]);
		/* It has no arguments that mean anything, but good sizes. */
		for (size_t i = 0; i < nr_calls; i++)
			*(uint32_t *)args[i] = calls[i].size;
		status = fd < 0 ? 99 : try_all(fd);
		/* Keep it until told. */
		read(sock[1], &fd, 1);
		_exit(status);
	}
	close(sock[1]);
	ASSERT_EQ(0, world_open(&w));
	ASSERT_EQ(0, te_stats(&base));
	ASSERT_EQ(0, sock_send_fd(sock[0], w.ctx.fd));
	EXPECT_EQ(0, raw_mr(w.ctx.fd, w.mem, 4096, TE_LOCAL_READ, NULL));
	world_close(&w);
	shutdown(sock[0], SHUT_RDWR);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	CLEAN();
}

/* The owner is killed while a child still holds the descriptor. */
static int own_and_wait(void *arg, int in, int out)
{
	struct world w;
	int hold[2];
	pid_t pid;
	char c;

	(void)arg;
	if (world_open(&w) || raw_mr(w.ctx.fd, w.mem, 65536, TE_LOCAL_READ,
				     NULL) || pipe(hold))
		return 1;
	pid = fork();
	if (!pid) {
		/* Ends when the test closes our pipe. */
		proc_put(out, "c", 1);
		read(in, &c, 1);
		_exit(try_all(w.ctx.fd));
	}
	proc_put(out, "p", 1);
	waitpid(pid, NULL, 0);
	return 0;
}

TEST(owner_dies_first)
{
	struct proc owner;
	size_t i;
	char c;

	for (i = 0; i < nr_calls; i++)
		*(uint32_t *)args[i] = calls[i].size;
	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, proc_start(&owner, own_and_wait, NULL));
	ASSERT_EQ(0, proc_get(owner.from, &c, 1));
	ASSERT_EQ(0, proc_get(owner.from, &c, 1));
	/* Closes the pipes as well, which ends the child. */
	EXPECT_EQ(128 + SIGKILL, proc_kill(&owner));
	CLEAN();
}

#define EXEC_FD "TE_TEST_EXEC_FD"

/* This program again, with the descriptor it had before. */
static int after_exec(void)
{
	size_t i;

	for (i = 0; i < nr_calls; i++)
		*(uint32_t *)args[i] = calls[i].size;
	return try_all(atoi(getenv(EXEC_FD)));
}

TEST_F_TIMEOUT(foreign, exec, SLOW)
{
	char number[16];
	int status;
	pid_t pid;

	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		int fd = open(TE_DEVICE, O_RDWR);
		struct te_ioc_setup s = { .size = sizeof(s) };

		if (fd < 0 || raw_ioctl(fd, TE_IOC_SETUP, &s) ||
		    raw_mr(fd, self->w.mem, 4096, TE_LOCAL_READ, NULL))
			_exit(98);
		snprintf(number, sizeof(number), "%d", fd);
		setenv(EXEC_FD, number, 1);
		execl("/proc/self/exe", "foreign", (char *)NULL);
		_exit(97);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

int main(int argc, char **argv)
{
	if (getenv(EXEC_FD))
		return after_exec();
	return test_harness_run(argc, argv);
}

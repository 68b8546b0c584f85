// SPDX-License-Identifier: GPL-2.0-only
/* proc: see proc.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/proc.h"

/* Leaves the pipes at 3 and 4, and nothing behind them. */
static void only_pipes(int in, int out)
{
	int a = fcntl(in, F_DUPFD, 5);
	int b = fcntl(out, F_DUPFD, 5);

	dup2(a, 3);
	dup2(b, 4);
	close_range(5, ~0U, 0);
}

int proc_start(struct proc *p, int (*fn)(void *arg, int in, int out), void *arg)
{
	pid_t parent = getpid();
	int down[2], up[2];

	if (pipe2(down, O_CLOEXEC) || pipe2(up, O_CLOEXEC))
		return -errno;
	fflush(stdout);
	p->pid = fork();
	if (p->pid < 0)
		return -errno;
	if (!p->pid) {
		int ret;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		only_pipes(down[0], up[1]);
		ret = fn(arg, 3, 4);
		fflush(stdout);
		_exit(ret);
	}
	close(down[0]);
	close(up[1]);
	p->to = down[1];
	p->from = up[0];
	return 0;
}

int proc_put(int fd, const void *msg, size_t len)
{
	return write(fd, msg, len) == (ssize_t)len ? 0 : -EPIPE;
}

int proc_get(int fd, void *msg, size_t len)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	char *p = msg;
	ssize_t n;

	while (len) {
		if (poll(&pfd, 1, TE_WAIT_MS) <= 0)
			return -ETIME;
		n = read(fd, p, len);
		if (n <= 0)
			return -EPIPE;
		p += n;
		len -= n;
	}
	return 0;
}

int proc_wait(struct proc *p)
{
	unsigned long long end = te_now_ms() + TE_WAIT_MS;
	int status;

	if (!p->pid)
		return 0;
	while (waitpid(p->pid, &status, WNOHANG) == 0) {
		if (te_now_ms() > end) {
			printf("# process %d does not end\n", p->pid);
			return -ETIME;
		}
		te_sleep_ms(1);
	}
	close(p->to);
	close(p->from);
	memset(p, 0, sizeof(*p));
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
				     WEXITSTATUS(status);
}

int proc_kill(struct proc *p)
{
	if (!p->pid)
		return 0;
	kill(p->pid, SIGKILL);
	return proc_wait(p);
}

static int serve(void *arg, int in, int out)
{
	struct server *s = arg;
	struct te *te = NULL;
	uint32_t mr = 0;
	char order;
	int ret;

	ret = te_open(&te, NULL);
	if (!ret)
		ret = te_mr_register(te, s->mem.p, s->mem.len, s->access, NULL,
				     &mr);
	if (!ret)
		ret = te_segment_export(te, s->name, NULL);

	while (!proc_put(out, &ret, sizeof(ret)) &&
	       read(in, &order, 1) == 1) {
		switch (order) {
		case 'u':
			ret = te_mr_unregister(te, mr, 0);
			break;
		case 'r':
			ret = te_mr_register(te, s->mem.p, s->mem.len,
					     s->access, NULL, &mr);
			break;
		case 'c':
			te_close(te);
			te = NULL;
			break;
		case 'x':
			ret = munmap(s->mem.p, s->mem.len) ? -errno : 0;
			break;
		default:
			ret = -EINVAL;
		}
	}
	if (te)
		te_close(te);
	return 0;
}

static int alloc_shared(struct area *a, size_t len)
{
	a->len = len;
	a->p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	a->want = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return a->p == MAP_FAILED || a->want == MAP_FAILED ? -ENOMEM : 0;
}

static void free_shared(struct area *a)
{
	munmap(a->p, a->len);
	munmap(a->want, a->len);
	memset(a, 0, sizeof(*a));
}

int server_start(struct server *s, size_t len, unsigned int access)
{
	int ret, answer;

	memset(s, 0, sizeof(*s));
	s->access = access ?: TE_REMOTE_ALL;
	snprintf(s->name, sizeof(s->name), "%s", te_unique_name());
	ret = alloc_shared(&s->mem, len);
	if (ret)
		return ret;
	area_fill(&s->mem, 3);
	ret = proc_start(&s->proc, serve, s);
	if (ret)
		return ret;
	ret = proc_get(s->proc.from, &answer, sizeof(answer)) ?: answer;
	if (ret) {
		printf("# server does not start: %s\n", strerror(-ret));
		server_kill(s);
	}
	return ret;
}

int server_order(struct server *s, char order)
{
	int ret, answer;

	ret = proc_put(s->proc.to, &order, 1);
	if (!ret)
		ret = proc_get(s->proc.from, &answer, sizeof(answer));
	return ret ?: answer;
}

int server_stop(struct server *s)
{
	int ret;

	close(s->proc.to);
	s->proc.to = -1;
	ret = proc_wait(&s->proc);
	free_shared(&s->mem);
	return ret;
}

void server_kill(struct server *s)
{
	proc_kill(&s->proc);
	if (s->mem.p)
		free_shared(&s->mem);
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * proc: other processes of a test, and one kind of them, the server: a target
 * whose memory this process sees too, at the same address, so that it can be
 * checked while the server runs and after it was killed.
 *
 * A child has only stdin, stdout, stderr and its two pipes: it keeps no
 * context of its parent open. It dies with its parent.
 */
#ifndef TE_TEST_PROC_H
#define TE_TEST_PROC_H

#include <sys/types.h>

#include "lib/pair.h"

/**
 * struct proc - a child process
 * @pid: 0 when none
 * @to, @from: pipes to and from it
 */
struct proc {
	pid_t pid;
	int to, from;
};

/* Child runs @fn(@arg, in, out) and exits with what it returns. */
int proc_start(struct proc *p, int (*fn)(void *arg, int in, int out),
	       void *arg);

/* Whole messages over the pipes: 0, -EPIPE at the end, -ETIME. */
int proc_put(int fd, const void *msg, size_t len);
int proc_get(int fd, void *msg, size_t len);

/* Waits for its end: exit status, 128 + signal, or -ETIME. */
int proc_wait(struct proc *p);

/* SIGKILL, then as proc_wait(). */
int proc_kill(struct proc *p);

/**
 * struct server - a target in its own process
 * @mem: its memory, also seen here; all of it is registered
 * @name: of its segment
 */
struct server {
	struct proc proc;
	struct area mem;
	char name[48];
	unsigned int access;
};

int server_start(struct server *s, size_t len, unsigned int access);

/*
 * One order, done when this returns: 0 or -errno of what it did.
 *   'u'  unregister the memory	 'r'  register it again
 *   'c'  close the context	 'x'  unmap the memory
 */
int server_order(struct server *s, char order);

/* Ends it in an orderly way, or kills it, and frees the memory. */
int server_stop(struct server *s);
void server_kill(struct server *s);

#endif

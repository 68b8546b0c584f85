/* SPDX-License-Identifier: GPL-2.0-only */
/* sock: plain sockets: TCP for peers that are not te, Unix to hand files over. */
#ifndef TE_TEST_SOCK_H
#define TE_TEST_SOCK_H

#include <stddef.h>
#include <stdint.h>

/* Listens on the peer address; @port in: 0 for any, out: the one. fd or -errno. */
int sock_listen(int backlog, uint16_t *port);

/* fd or -errno. */
int sock_connect(const char *addr, uint16_t port);

/* All of it, or -errno. A peer that closes is -EPIPE, never a signal. */
int sock_send(int fd, const void *buf, size_t len);

/* Bytes read until the end or @len; 0 at once at the end; -ETIME, -errno. */
long sock_receive(int fd, void *buf, size_t len, int timeout_ms);

/* Waits until the peer has closed, ignoring what it sends: 0 or -ETIME. */
int sock_await_close(int fd, int timeout_ms);

/* A descriptor as a message over a Unix socket: 0 or -errno; fd or -1. */
int sock_send_fd(int sock, int fd);
int sock_receive_fd(int sock);

#endif

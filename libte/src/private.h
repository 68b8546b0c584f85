/* SPDX-License-Identifier: LGPL-2.1-only OR MIT */
/*
 * What libte's files share and nobody else sees. Everything is hidden by
 * default; only what te.h declares is exported.
 *
 * struct te is written by te_open() alone; after that all calls only read it,
 * so they need no lock. Shared with the kernel are the two areas: status slots
 * (never written here) and the ring's head.
 */
#ifndef LIBTE_PRIVATE_H
#define LIBTE_PRIVATE_H

#pragma GCC visibility push(default)
#include "te.h"
#pragma GCC visibility pop

/**
 * struct te - one open context
 * @fd: the open file
 * @cq_entries: entries of the ring, a power of two
 * @task_slots: status slots, a power of two
 * @slots: status area
 * @ring: ring area
 * @entries: first entry, inside @ring
 * @status_bytes: length of the status area
 * @ring_bytes: length of the ring area
 */
struct te {
	int fd;
	uint32_t cq_entries;
	uint32_t task_slots;
	const struct te_slot *slots;
	struct te_ring_hdr *ring;
	const struct te_completion *entries;
	size_t status_bytes;
	size_t ring_bytes;
};

/* te_ioctl() - returns what ioctl() returns, or -errno. */
int te_ioctl(int fd, unsigned long cmd, void *arg);

/* te_check_version() - 0 if the kernel speaks this library's contract. */
int te_check_version(int fd);

/**
 * te_opts_get() - copy a caller's options into a zeroed struct
 * @opts: ours, @size bytes; its first word is the size
 * @size: bytes of @opts
 * @user: the caller's, or NULL: all fields zero
 *
 * A smaller struct is an older caller's: its missing fields stay zero. A bigger
 * one is a newer caller's: what we do not know must be zero.
 *
 * Return: 0, -EINVAL size too small to hold itself, -E2BIG.
 */
int te_opts_get(void *opts, size_t size, const void *user);

/**
 * struct te_url - host[:port]/name taken apart
 * @host: NUL-terminated, without brackets
 * @name: rest of the caller's string, may be empty
 * @port: 0 if none was given
 * @numeric_ipv6: host stood in brackets
 */
struct te_url {
	char host[256];
	const char *name;
	uint16_t port;
	int numeric_ipv6;
};

/* te_url_parse() - 0 or -EINVAL; looks nothing up. */
int te_url_parse(const char *s, struct te_url *url);

/* te_ring_holds_entry() - whether te_poll() would return something. */
int te_ring_holds_entry(const struct te *te);

#endif /* LIBTE_PRIVATE_H */

// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/pair.h"
#include "lib/proc.h"
#include "lib/sock.h"
#include "lib/stranger.h"

long stranger_receive(int fd, unsigned char *buf, size_t max)
{
	uint32_t len;

	if (sock_receive(fd, buf, HEADER, TE_WAIT_MS) != HEADER)
		return -EPIPE;
	len = get32(buf + 8);
	if (len > max - HEADER)
		return -EMSGSIZE;
	return sock_receive(fd, buf + HEADER, len, TE_WAIT_MS) == (long)len ?
	       (long)len : -EPIPE;
}

int stranger_send(int fd, int type, const void *payload, size_t len)
{
	unsigned char buf[HEADER + 512] = { 0 };
	uint32_t words[] = { htole32(MAGIC), htole32(type), htole32(len), 0 };

	if (len > sizeof(buf) - HEADER)
		return -EMSGSIZE;
	memcpy(buf, words, sizeof(words));
	memcpy(buf + HEADER, payload, len);
	return sock_send(fd, buf, HEADER + len);
}

uint32_t stranger_crc(const void *buf, size_t len)
{
	const unsigned char *p = buf;
	uint32_t crc = ~0U;
	int bit;

	while (len--) {
		crc ^= *p++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return ~crc;
}

static int dial(void *arg, int in, int out)
{
	char url[64];
	uint32_t seg;
	struct te *te;

	(void)in;
	(void)out;
	snprintf(url, sizeof(url), "%s:%u/name", te_peer_addr(),
		 *(uint16_t *)arg);
	return te_open(&te, NULL) ?: te_segment_open(te, url, NULL, &seg);
}

long stranger_catch_hello(unsigned char *buf, size_t max)
{
	struct proc child;
	uint16_t port = 0;
	int listener = sock_listen(4, &port);
	long n;
	int fd;

	if (listener < 0 || proc_start(&child, dial, &port))
		return -1;
	fd = accept(listener, NULL, NULL);
	n = stranger_receive(fd, buf, max);
	proc_kill(&child);
	close(fd);
	close(listener);
	return n < 0 ? n : n + HEADER;
}

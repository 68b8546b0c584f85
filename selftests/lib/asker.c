// SPDX-License-Identifier: GPL-2.0-only
/* asker: see asker.h. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/asker.h"
#include "lib/pair.h"
#include "lib/sock.h"

static int ask_for(int fd, const char *name)
{
	unsigned char payload[16 + 64] = { 0 };
	uint32_t words[] = { htole32(1), 0, htole32(strlen(name)), 0 };

	memcpy(payload, words, sizeof(words));
	memcpy(payload + sizeof(words), name, strlen(name));
	return stranger_send(fd, SEG_OPEN, payload,
			     sizeof(words) + strlen(name));
}

/* The description: one region, and its key on the dev that is TCP. */
static int hear_of(struct asker *t)
{
	static unsigned char f[HEADER + 65536];
	unsigned char *p = f + HEADER;
	uint32_t tcp = ~0U, shift[32] = { 0 }, page_off = 0, mask = 0;
	uint32_t i, dev, at = 0;

	do {
		if (stranger_receive(t->session, f, sizeof(f)) < 0)
			return -EPIPE;
		switch (f[4]) {
		case SEG_OPENED:
			if (get32(p + 4))
				return -ENOENT;
			t->segment = get32(p + 8);
			break;
		case SEG_DEVS:
			for (i = 0; i < get32(p + 4); i++) {
				dev = get32(p + 8 + 32 * i + 20);
				shift[dev & 31] = p[8 + 32 * i + 18];
				if (p[8 + 32 * i + 28] == 1)
					tcp = dev;
			}
			break;
		case SEG_MRS:
			t->base = get64(p + 8);
			t->length = get64(p + 16);
			t->mr_id = get32(p + 24);
			page_off = get32(p + 32);
			mask = get32(p + 36);
			break;
		case SEG_KEYS:
			for (dev = 0; dev < tcp && tcp < 32; dev++)
				if (mask & 1U << dev)
					at += ((page_off + t->length - 1) >>
					       shift[dev]) + 1;
			t->key = get32(p + 16 + 4 * at);
			break;
		}
	} while (f[4] != SEG_READY);
	return tcp < 32 ? 0 : -ENODEV;
}

int asker_begin(struct asker *t, const char *name)
{
	static unsigned char hello[4096], reply[4096];
	long n = stranger_catch_hello(hello, sizeof(hello));

	if (n < HEADER)
		return -EIO;
	/* Of another node: te treats itself otherwise. */
	hello[HEADER + 16] ^= 1;
	t->boot_gen = get64(hello + HEADER + 32);
	t->session = sock_connect(te_peer_addr(), TE_DEFAULT_PORT);
	if (t->session < 0)
		return t->session;
	if (sock_send(t->session, hello, n) ||
	    stranger_receive(t->session, reply, sizeof(reply)) < 0 ||
	    get32(reply + HEADER))
		return -EPROTO;
	t->token = get64(reply + HEADER + 48);
	return ask_for(t->session, name) ?: hear_of(t);
}

struct lane_hello asker_hello(const struct asker *t)
{
	return (struct lane_hello) {
		.magic = htole32(CONN_MAGIC), .version = 1, .kind = 3,
		.length = sizeof(struct lane_hello),
		.token = htole64(t->token), .boot_gen = htole64(t->boot_gen),
		.nr = htole16(1), .number = htole64(1),
	};
}

int asker_lane_with(const struct lane_hello *h)
{
	int fd = sock_connect(te_peer_addr(), TE_DEFAULT_PORT), one = 1;
	unsigned char reply[32];
	int ret = fd;

	if (fd < 0)
		return fd;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	ret = sock_send(fd, h, sizeof(*h));
	if (!ret && sock_receive(fd, reply, sizeof(reply), TE_WAIT_MS) !=
		    sizeof(reply))
		ret = -EPIPE;
	if (!ret)
		ret = -(int)get32(reply + 8);
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

int asker_lane(const struct asker *t)
{
	struct lane_hello h = asker_hello(t);

	return asker_lane_with(&h);
}

struct frame asker_request(const struct asker *t, uint8_t type, uint64_t off,
			   uint32_t len)
{
	return (struct frame) {
		.magic = htole32(LANE_MAGIC), .type = type,
		.tag = htole32(0x1234), .segment = htole32(t->segment),
		.mr_id = htole32(t->mr_id), .key = htole32(t->key),
		.length = htole32(len), .addr = htole64(t->base + off),
	};
}

int asker_ask(int fd, const struct frame *f, unsigned char *buf)
{
	uint32_t len = le32toh(f->length);
	struct frame a;
	int ret;

	ret = sock_send(fd, f, sizeof(*f));
	if (!ret && f->type == WRITE)
		ret = sock_send(fd, buf, len);
	if (ret || sock_receive(fd, &a, sizeof(a), TE_WAIT_MS) != sizeof(a))
		return -EPIPE;
	if (a.magic != htole32(LANE_MAGIC) || a.type != f->type + 1 ||
	    a.tag != f->tag || a.length != f->length)
		return -EPROTO;
	if (!a.status && f->type == READ &&
	    sock_receive(fd, buf, len, TE_WAIT_MS) != (long)len)
		return -EPIPE;
	return le32toh(a.status);
}

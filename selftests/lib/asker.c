// SPDX-License-Identifier: GPL-2.0-only
/* asker: see asker.h. */
#include <arpa/inet.h>
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

/* Of the devs that have keys of the region, and how many each. */
struct told {
	uint32_t tcp, shift[32], page_off, mask;
};

/* Where the first key of @dev stands. */
static uint32_t key_at(const struct asker *t, const struct told *told,
		       uint32_t dev)
{
	uint32_t i, at = 0;

	for (i = 0; i < dev; i++)
		if (told->mask & 1U << i)
			at += ((told->page_off + t->length - 1) >>
			       told->shift[i]) + 1;
	return at;
}

/* One of SEG_DEVS. */
static void hear_of_dev(struct asker *t, struct told *told,
			const unsigned char *p)
{
	uint32_t dev = get32(p + 20) & 31;
	struct in_addr addr;

	told->shift[dev] = p[18];
	if (p[28] == 1)
		told->tcp = dev;
	inet_pton(AF_INET, te_peer_addr(), &addr);
	if (p[28] == 0 && !memcmp(p + 12, &addr, 4)) {
		t->nic.dev_id = dev;
		t->nic.port = p[16] | p[17] << 8;
	}
}

/* The description: one region, and its key on the dev that is TCP, and on the NIC. */
static int hear_of(struct asker *t)
{
	static unsigned char f[HEADER + 65536];
	unsigned char *p = f + HEADER;
	struct told told = { .tcp = ~0U };
	uint32_t i;

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
			for (i = 0; i < get32(p + 4); i++)
				hear_of_dev(t, &told, p + 8 + 32 * i);
			break;
		case SEG_MRS:
			t->base = get64(p + 8);
			t->length = get64(p + 16);
			t->mr_id = get32(p + 24);
			told.page_off = get32(p + 32);
			told.mask = get32(p + 36);
			break;
		case SEG_KEYS:
			t->key = get32(p + 16 +
				       4 * key_at(t, &told, told.tcp & 31));
			t->nic.key = get32(p + 16 +
					   4 * key_at(t, &told, t->nic.dev_id));
			break;
		}
	} while (f[4] != SEG_READY);
	return told.tcp < 32 ? 0 : -ENODEV;
}

int asker_begin(struct asker *t, const char *name)
{
	static unsigned char hello[4096], reply[4096];
	long n = stranger_catch_hello(hello, sizeof(hello));

	if (n < HEADER)
		return -EIO;
	/* Of another node, in a life of its own: te treats itself otherwise. */
	t->te_gen = get64(hello + HEADER + 32);
	hello[HEADER + 16] ^= 1;
	hello[HEADER + 32] ^= 2;
	t->boot_gen = get64(hello + HEADER + 32);
	t->nic = (struct asker_nic) {};
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

int asker_ping(const struct asker *t)
{
	static const uint64_t stamp = 77;

	return stranger_send(t->session, PING, &stamp, sizeof(stamp));
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

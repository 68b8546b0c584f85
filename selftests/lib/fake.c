// SPDX-License-Identifier: GPL-2.0-only
/* fake: see fake.h. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/fake.h"
#include "lib/sock.h"

#define HANDLE	7
#define MR_ID	3
#define KEY	0x5eed
#define SECRET	0x70cee

static int welcome(struct fake *k, int fd)
{
	unsigned char payload[128] = { 0 };
	uint16_t version = htole16(1), shift = htole16(12);
	uint64_t features = htole64(3), token = htole64(SECRET);

	memcpy(payload + 4, &version, 2);
	memcpy(payload + 6, &shift, 2);
	memcpy(payload + 16, &features, 8);
	pattern_fill(payload + 24, 16, k->boot_gen);
	memcpy(payload + 40, &k->boot_gen, 8);
	memcpy(payload + 48, &token, 8);
	return stranger_send(fd, HELLO_REPLY, payload, sizeof(payload));
}

/* One dev, TCP, at the port of the session; one region on it. */
static int describe(struct fake *k, int fd)
{
	uint32_t opened[4] = { k->cookie, 0, HANDLE }, ready[2] = { k->cookie };
	uint32_t devs[10] = { k->cookie, 1 }, mrs[10] = { k->cookie, 1 };
	uint32_t keys[5] = { k->cookie, MR_ID, 1, 0, KEY };
	uint64_t base = (uintptr_t)k->p.remote.p + k->p.margin;
	uint64_t len = k->p.remote.len - 2 * k->p.margin;

	devs[6] = k->port | 40U << 16;
	devs[8] = ~0U;
	devs[9] = 1;
	memcpy(mrs + 2, &base, 8);
	memcpy(mrs + 4, &len, 8);
	mrs[6] = MR_ID;
	mrs[7] = TE_REMOTE_ALL;
	mrs[8] = base & 4095;
	mrs[9] = 1;
	return stranger_send(fd, SEG_OPENED, opened, sizeof(opened)) ?:
	       stranger_send(fd, SEG_DEVS, devs, sizeof(devs)) ?:
	       stranger_send(fd, SEG_MRS, mrs, sizeof(mrs)) ?:
	       stranger_send(fd, SEG_KEYS, keys, sizeof(keys)) ?:
	       stranger_send(fd, SEG_READY, ready, sizeof(ready));
}

static int session_frame(struct fake *k, int fd)
{
	unsigned char buf[HEADER + 4096];
	uint32_t gone[2] = { k->cookie, 12 };
	long n = stranger_receive(fd, buf, sizeof(buf));

	if (n < 0)
		return n;
	switch (buf[4]) {
	case HELLO:
		return welcome(k, fd);
	case PING:
		return stranger_send(fd, PONG, buf + HEADER, n);
	case SEG_OPEN:
		k->cookie = get32(buf + HEADER);
		return describe(k, fd);
	case SEG_CLOSE:
		return stranger_send(fd, SEG_GONE, gone, sizeof(gone));
	default:
		return -EPIPE;
	}
}

/* What is wrong comes once: nobody else gets it. */
static const struct fake_row *take(struct fake *k, const struct fake_row *_Atomic *from,
			      int fd)
{
	const struct fake_row *row = atomic_exchange(from, NULL);

	if (row)
		k->odd = fd;
	return row;
}

static int lane_greeting(struct fake *k, int fd)
{
	const struct fake_row *row;
	struct lane_hello h;
	uint64_t value;
	struct lane_reply r = {
		.magic = htole32(CONN_MAGIC), .version = 1,
		.flags = k->crc ? WITH_CRC : 0, .length = sizeof(r),
		.boot_gen = htole64(k->boot_gen),
	};

	if (sock_receive(fd, &h, sizeof(h), TE_WAIT_MS) != sizeof(h) ||
	    h.kind != 3 || h.token != htole64(SECRET) || !h.number)
		return -EPROTO;
	row = take(k, &k->welcome, fd);
	value = row ? htole64(row->value) : 0;
	if (row && row->instead)
		return row->instead(k, fd, NULL, (unsigned char *)&r);
	if (row)
		memcpy((char *)&r + row->at, &value, row->len);
	return sock_send(fd, &r, sizeof(r));
}

static unsigned char *memory(struct fake *k, const struct frame *f)
{
	uint64_t addr = le64toh(f->addr), len = le32toh(f->length);
	uint64_t base = (uintptr_t)k->p.remote.p + k->p.margin;
	uint64_t end = (uintptr_t)k->p.remote.p + k->p.remote.len - k->p.margin;

	if (f->magic != htole32(LANE_MAGIC) || f->segment != htole32(HANDLE) ||
	    f->mr_id != htole32(MR_ID) || f->key != htole32(KEY) ||
	    addr < base || addr > end || len > end - addr)
		return NULL;
	return (unsigned char *)(uintptr_t)addr;
}

struct frame fake_answer_to(const struct frame *f)
{
	return (struct frame) {
		.magic = f->magic, .type = f->type + 1, .tag = f->tag,
		.length = f->length,
	};
}

static int send_slowly(int fd, const unsigned char *p, size_t len)
{
	int ret = 0;

	while (len-- && !ret)
		ret = sock_send(fd, p++, 1);
	return ret;
}

/* @a, then the bytes; or as much of both as there is to be. */
int fake_give(struct fake *k, int fd, const struct frame *a,
		const unsigned char *bytes)
{
	static unsigned char msg[sizeof(*a) + LANE_MAX];
	size_t len = a->type == READ_REPLY ? le32toh(a->length) : 0;
	struct linger hard = { .l_onoff = 1 };
	long cut = atomic_exchange(&k->cut, -1);

	/* Whatever it says: there are no more than these. */
	if (len > LANE_MAX)
		len = LANE_MAX;
	memcpy(msg, a, sizeof(*a));
	memcpy(msg + sizeof(*a), bytes, len);
	len += sizeof(*a);
	if (k->slowly)
		return send_slowly(fd, msg, len);
	if (cut < 0)
		return sock_send(fd, msg, len);
	sock_send(fd, msg, cut);
	if (k->hard)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	return -EPIPE;
}

/* It was wrong here: all that te still does is to close it. */
static int hear_out(int fd)
{
	unsigned char buf[4096];

	return recv(fd, buf, sizeof(buf), 0) > 0 ? 0 : -EPIPE;
}

int fake_take_bytes(int fd, const struct frame *f, unsigned char *bytes)
{
	long len = f->type == WRITE ? le32toh(f->length) : 0;

	return !len || sock_receive(fd, bytes, len, TE_WAIT_MS) == len ?
	       0 : -EPIPE;
}

/* Those of the request are right, and the answer has what it should, or not. */
static int checksums(struct fake *k, const struct frame *f, struct frame *a,
		     const unsigned char *bytes)
{
	uint32_t crc = stranger_crc(bytes, le32toh(f->length));
	bool garble = k->garble > 0;

	if (f->flags != WITH_CRC || (f->type == READ && f->crc) ||
	    (f->type == WRITE && f->crc != htole32(crc)))
		return -EPROTO;
	if (garble)
		k->garble--;
	if (f->type == READ) {
		a->flags = WITH_CRC;
		a->crc = htole32(crc ^ garble);
	} else if (garble) {
		a->status = htole32(CRC);
	}
	return 0;
}

static int lane_frame(struct fake *k, int fd)
{
	const struct fake_row *row;
	unsigned char *bytes;
	struct frame f, a;
	uint64_t value;

	if (sock_receive(fd, &f, sizeof(f), TE_WAIT_MS) != sizeof(f))
		return -EPIPE;
	bytes = memory(k, &f);
	if (!bytes)
		return -EPROTO;
	k->asks[fd] = true;
	row = take(k, &k->answer, fd);
	value = row ? htole64(row->value) : 0;
	if (row && row->instead)
		return row->instead(k, fd, &f, bytes);
	if (fake_take_bytes(fd, &f, bytes))
		return -EPIPE;
	a = fake_answer_to(&f);
	if (k->kill_every && ++k->asked % k->kill_every == 0) {
		k->hard = true;
		k->cut = rand() % (sizeof(a) + (f.type == READ ? f.length : 0));
	}
	if (k->crc && checksums(k, &f, &a, bytes))
		return -EPROTO;
	if (row)
		memcpy((char *)&a + row->at, &value, row->len);
	return fake_give(k, fd, &a, bytes);
}

/* What begins here: a session or a lane? */
static int first_word(struct fake *k, int fd)
{
	uint32_t magic;

	if (recv(fd, &magic, 4, MSG_PEEK | MSG_WAITALL) != 4)
		return -EPIPE;
	if (magic == htole32(CONN_MAGIC))
		return lane_greeting(k, fd);
	k->session = fd;
	return session_frame(k, fd);
}

static void drop(struct fake *k, unsigned int i)
{
	if (k->fds[i].fd == k->odd) {
		k->closed = true;
		k->odd = -1;
	}
	if (k->fds[i].fd == k->session)
		k->session = -1;
	close(k->fds[i].fd);
	k->fds[i] = k->fds[--k->nr];
}

/* Whom we do not know yet; -1: nobody, or one too many. */
static int meet(struct fake *k)
{
	int fd = accept(k->fds[0].fd, NULL, NULL), one = 1;

	if (fd < 0 || fd >= FAKE_MAX_FDS || k->nr == FAKE_MAX_FDS) {
		close(fd);
		return -1;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	k->fds[k->nr++] = (struct pollfd) { .fd = fd, .events = POLLIN };
	return fd;
}

static void *fake_thread(void *arg)
{
	struct fake *k = arg;
	/* Who has said nothing yet; descriptors are small. */
	bool fresh[FAKE_MAX_FDS] = { 0 };
	unsigned int i;
	int fd, ret;

	while (poll(k->fds, k->nr, -1) >= 0 && !k->fds[1].revents) {
		for (i = k->nr - 1; i >= 2; i--) {
			if (!k->fds[i].revents)
				continue;
			fd = k->fds[i].fd;
			if (fresh[fd])
				ret = first_word(k, fd);
			else if (fd == k->session)
				ret = session_frame(k, fd);
			else if (fd == k->odd)
				ret = hear_out(fd);
			else
				ret = lane_frame(k, fd);
			fresh[fd] = false;
			if (ret)
				drop(k, i);
		}
		if (k->fds[0].revents) {
			fd = meet(k);
			if (fd >= 0)
				fresh[fd] = true;
		}
	}
	return NULL;
}

int fake_start(struct fake *k)
{
	int listener = sock_listen(64, &k->port);

	k->session = -1;
	k->odd = -1;
	k->cut = -1;
	k->boot_gen = htole64(te_now_ms() + 1);
	if (listener < 0 || pipe(k->stop))
		return -1;
	k->fds[0] = (struct pollfd) { .fd = listener, .events = POLLIN };
	k->fds[1] = (struct pollfd) { .fd = k->stop[0], .events = POLLIN };
	k->nr = 2;
	return pthread_create(&k->thread, NULL, fake_thread, k);
}

void fake_stop(struct fake *k)
{
	close(k->stop[1]);
	pthread_join(k->thread, NULL);
	while (k->nr)
		close(k->fds[--k->nr].fd);
}

int fake_narrow(struct fake *k)
{
	int small = 4096;

	return setsockopt(k->fds[0].fd, SOL_SOCKET, SO_RCVBUF, &small,
			  sizeof(small));
}

int fake_await_closed(struct fake *k)
{
	unsigned long long until = te_now_ms() + TE_WAIT_MS;

	while (!k->closed && te_now_ms() < until)
		usleep(1000);
	return k->closed ? 0 : -ETIME;
}

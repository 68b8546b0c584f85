/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * stranger: a peer that is not te, over plain sockets: te's wire with its numbers
 * written down as they are for ever, not taken from te.
 */
#ifndef TE_TEST_STRANGER_H
#define TE_TEST_STRANGER_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MAGIC		0x65742d74	/* frames of a session */
#define CONN_MAGIC	0x63742d74	/* hello of a lane, and its reply */
#define LANE_MAGIC	0x6c742d74	/* frames of a lane */
#define HEADER		16		/* bytes; its length field is at 8 */
#define LANE_MAX	(128 * 1024)

enum {
	HELLO = 1, HELLO_REPLY, PING, PONG, BYE,
	SEG_OPEN = 16, SEG_OPENED, SEG_DEVS, SEG_MRS, SEG_KEYS, SEG_READY,
	SEG_GONE = 23, SEG_CLOSE,
};
/* Requests of a lane, and their answers. */
enum { READ, READ_REPLY, WRITE, WRITE_REPLY };
/* Status. */
enum {
	OK, PROTO = 4, LIMIT = 6, GONE = 13, TOKEN, GENERATION, REFUSED = 17, CRC,
};
/* Flag of lane frames, and of the reply to a lane's hello. */
#define WITH_CRC	1

struct lane_hello {
	uint32_t magic;
	uint8_t version, kind, length, reserved;
	uint64_t token, boot_gen;
	uint32_t dev_id;
	uint16_t index, nr;
	uint64_t number, reserved1;
} __attribute__((packed));

struct lane_reply {
	uint32_t magic;
	uint8_t version, flags, length, reserved1;
	uint32_t status, dev_id;
	uint64_t boot_gen;
	uint32_t proof_key, reserved2;
} __attribute__((packed));

struct frame {
	uint32_t magic;
	uint8_t type, flags;
	uint16_t reserved;
	uint32_t tag, status, segment, mr_id, key, length;
	uint64_t addr;
	uint32_t crc, reserved1;
} __attribute__((packed));

/* CRC-32C (Castagnoli, reflected, as iSCSI has it). */
uint32_t stranger_crc(const void *buf, size_t len);

static inline uint32_t get32(const unsigned char *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return le32toh(v);
}

static inline uint64_t get64(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return le64toh(v);
}

/* A frame of a session, header first: bytes behind the header, or -errno. */
long stranger_receive(int fd, unsigned char *buf, size_t max);

/* Payload of @len bytes with a header of @type before it: 0 or -errno. */
int stranger_send(int fd, int type, const void *payload, size_t len);

/*
 * A hello of te's, header and all: it is made to dial a listener of ours, by a
 * child that is then killed. Bytes, or negative.
 */
long stranger_catch_hello(unsigned char *buf, size_t max);

#endif

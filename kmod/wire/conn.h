/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * wire/conn: hellos of data connections, in rdma_cm private data or at the start of a
 * TCP lane, and the answers. As pure and as strict as wire.h.
 */
#ifndef TE_WIRE_CONN_H
#define TE_WIRE_CONN_H

#include "wire/wire.h"

/* Kinds of data connections. */
#define TE_WIRE_CONN_DATA	1	/* QP of an endpoint */
#define TE_WIRE_CONN_SERVICE	2	/* a dev's connection to itself */
#define TE_WIRE_CONN_LANE	3	/* TCP: a lane, see lane.h */

/*
 * Private data of a connection request, or what a lane begins with. rdma_cm leaves
 * 56 bytes on RoCE, and says no more than the most that could have come: so it
 * carries its length.
 */
struct te_wire_conn_hello {
	__le32 magic;		/* TE_WIRE_CONN_MAGIC */
	u8 version;
	u8 kind;		/* TE_WIRE_CONN_* */
	u8 length;		/* of this struct, bytes */
	u8 reserved0;
	__le64 token;
	__le64 boot_gen;	/* of the sender */
	__le32 dev_id;		/* of the sender */
	__le16 qp_index;
	__le16 nr_qps;
	__le64 number;		/* lane: of the sender's endpoint */
	__le64 reserved1;
};

static_assert(offsetof(struct te_wire_conn_hello, token) == 8);
static_assert(offsetof(struct te_wire_conn_hello, dev_id) == 24);
static_assert(sizeof(struct te_wire_conn_hello) == 48);

#define TE_WIRE_CONN_CRC	BIT(0)	/* lane: its requests shall have checksums */

/* Private data of accept (196 bytes on RoCE) and of reject (148). */
struct te_wire_conn_reply {
	__le32 magic;
	u8 version;
	u8 flags;		/* TE_WIRE_CONN_CRC */
	u8 length;
	u8 reserved1;
	__le32 status;		/* enum te_wire_code */
	__le32 dev_id;		/* of the sender */
	__le64 boot_gen;	/* of the sender */
	__le32 proof_key;	/* iWARP: of a word to READ behind WRITEs */
	__le32 reserved2;
};

static_assert(offsetof(struct te_wire_conn_reply, boot_gen) == 16);
static_assert(sizeof(struct te_wire_conn_reply) == 32);

/**
 * struct te_msg_conn_hello - hello of a data connection
 * @kind: TE_WIRE_CONN_*
 * @token: te_peer.token of the session it belongs to; service: chosen by the dev
 * @boot_gen: te_node.boot_gen of the sender
 * @dev_id: the sender's dev, below TE_WIRE_MAX_DEVS
 * @qp_index: of this connection in its endpoint, below @nr_qps
 * @nr_qps: of the endpoint, not 0
 * @number: lane: of its endpoint, not 0; a later one of the dev has a larger one. Other
 *	kinds: 0
 */
struct te_msg_conn_hello {
	u8 kind;
	u64 token;
	u64 boot_gen;
	u32 dev_id;
	u16 qp_index;
	u16 nr_qps;
	u64 number;
};

/**
 * struct te_msg_conn_reply - answer to it
 * @status: TE_WIRE_OK with accept, else why it was rejected
 * @dev_id: the sender's dev, below TE_WIRE_MAX_DEVS
 * @boot_gen: te_node.boot_gen of the sender
 * @proof_key: iWARP: key of a word of the sender's at address 0, which is READ
 *	to prove that WRITEs before it have been placed; else 0
 * @crc: lane: its requests shall have checksums
 */
struct te_msg_conn_reply {
	bool crc;
	u32 status;
	u32 dev_id;
	u64 boot_gen;
	u32 proof_key;
};

/* Fill @wire whole. */
void te_wire_conn_hello_encode(struct te_wire_conn_hello *wire,
			       const struct te_msg_conn_hello *msg);
void te_wire_conn_reply_encode(struct te_wire_conn_reply *wire,
			       const struct te_msg_conn_reply *msg);

/**
 * te_wire_conn_hello_decode() - check private data of a connection request
 * @buf: bytes, or NULL with @len 0
 * @len: at least what was sent; what is behind the struct is not looked at
 * @msg: filled on success
 *
 * Return: 0, -EBADMSG, -EPROTO another version.
 */
int te_wire_conn_hello_decode(const void *buf, size_t len,
			      struct te_msg_conn_hello *msg);
/* Same for the answer. */
int te_wire_conn_reply_decode(const void *buf, size_t len,
			      struct te_msg_conn_reply *msg);

#endif /* TE_WIRE_CONN_H */

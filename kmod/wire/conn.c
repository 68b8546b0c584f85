// SPDX-License-Identifier: GPL-2.0-only
/*
 * wire/conn: the hello of a data connection, in rdma_cm private data or at the
 * start of a TCP lane, and the answer to it. See wire.h.
 */
#include <linux/errno.h>
#include <linux/string.h>

#include "wire/conn.h"
#include "wire/wire.h"

void te_wire_conn_hello_encode(struct te_wire_conn_hello *wire,
			       const struct te_msg_conn_hello *msg)
{
	*wire = (struct te_wire_conn_hello) {
		.magic = cpu_to_le32(TE_WIRE_CONN_MAGIC),
		.version = TE_WIRE_VERSION_MAX,
		.kind = msg->kind,
		.length = sizeof(*wire),
		.token = cpu_to_le64(msg->token),
		.boot_gen = cpu_to_le64(msg->boot_gen),
		.dev_id = cpu_to_le32(msg->dev_id),
		.qp_index = cpu_to_le16(msg->qp_index),
		.nr_qps = cpu_to_le16(msg->nr_qps),
		.number = cpu_to_le64(msg->number),
	};
}

int te_wire_conn_hello_decode(const void *buf, size_t len,
			      struct te_msg_conn_hello *msg)
{
	struct te_wire_conn_hello w;

	/* Private data sits at any alignment. */
	if (!buf || len < sizeof(w))
		return -EBADMSG;
	memcpy(&w, buf, sizeof(w));
	if (w.magic != cpu_to_le32(TE_WIRE_CONN_MAGIC))
		return -EBADMSG;
	if (w.version < TE_WIRE_VERSION_MIN || w.version > TE_WIRE_VERSION_MAX)
		return -EPROTO;
	if (w.length != sizeof(w) || w.reserved0 || w.reserved1 ||
	    (w.kind == TE_WIRE_CONN_LANE ? !w.number : w.number != 0) ||
	    w.kind < TE_WIRE_CONN_DATA || w.kind > TE_WIRE_CONN_LANE ||
	    le32_to_cpu(w.dev_id) >= TE_WIRE_MAX_DEVS ||
	    le16_to_cpu(w.qp_index) >= le16_to_cpu(w.nr_qps))
		return -EBADMSG;

	*msg = (struct te_msg_conn_hello) {
		.kind = w.kind,
		.token = le64_to_cpu(w.token),
		.boot_gen = le64_to_cpu(w.boot_gen),
		.dev_id = le32_to_cpu(w.dev_id),
		.qp_index = le16_to_cpu(w.qp_index),
		.nr_qps = le16_to_cpu(w.nr_qps),
		.number = le64_to_cpu(w.number),
	};
	return 0;
}

void te_wire_conn_reply_encode(struct te_wire_conn_reply *wire,
			       const struct te_msg_conn_reply *msg)
{
	*wire = (struct te_wire_conn_reply) {
		.magic = cpu_to_le32(TE_WIRE_CONN_MAGIC),
		.version = TE_WIRE_VERSION_MAX,
		.flags = msg->crc ? TE_WIRE_CONN_CRC : 0,
		.length = sizeof(*wire),
		.status = cpu_to_le32(msg->status),
		.dev_id = cpu_to_le32(msg->dev_id),
		.boot_gen = cpu_to_le64(msg->boot_gen),
		.proof_key = cpu_to_le32(msg->proof_key),
	};
}

int te_wire_conn_reply_decode(const void *buf, size_t len,
			      struct te_msg_conn_reply *msg)
{
	struct te_wire_conn_reply w;

	if (!buf || len < sizeof(w))
		return -EBADMSG;
	memcpy(&w, buf, sizeof(w));
	if (w.magic != cpu_to_le32(TE_WIRE_CONN_MAGIC))
		return -EBADMSG;
	if (w.version < TE_WIRE_VERSION_MIN || w.version > TE_WIRE_VERSION_MAX)
		return -EPROTO;
	if (w.length != sizeof(w) || (w.flags & ~TE_WIRE_CONN_CRC) ||
	    w.reserved1 || w.reserved2 ||
	    le32_to_cpu(w.dev_id) >= TE_WIRE_MAX_DEVS)
		return -EBADMSG;

	*msg = (struct te_msg_conn_reply) {
		.crc = w.flags & TE_WIRE_CONN_CRC,
		.status = le32_to_cpu(w.status),
		.dev_id = le32_to_cpu(w.dev_id),
		.boot_gen = le64_to_cpu(w.boot_gen),
		.proof_key = le32_to_cpu(w.proof_key),
	};
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * session/talk: who may say what when.
 *
 * Frames in: one table says for each type in which states it may come and who
 * hears it; all else ends the session. Said and heard here: hello and its reply,
 * PING, PONG and BYE. What is said of segments is open.c's and serve.c's.
 *
 * Frames out: nothing is queued. While the socket takes more, who has something
 * to say is asked for the next frame.
 *
 * Context: actor. Nothing here waits for the peer.
 */
#include "event/count.h"
#include "fault/fault.h"
#include "session/priv.h"
#include "wire/conn.h"

/* Are we talking to ourselves? */
static bool session_is_own(const u8 *node_id, u64 boot_gen)
{
	return boot_gen == te_node.boot_gen &&
	       !memcmp(node_id, te_node.id, sizeof(te_node.id));
}

static void session_greet(struct te_session *s)
{
	struct te_msg_hello hello = {
		.version_min = TE_WIRE_VERSION_MIN,
		.version_max = TE_WIRE_VERSION_MAX,
		.page_shift = PAGE_SHIFT,
		.auth_method = TE_WIRE_AUTH_NONE,
		.features = TE_WIRE_FEATURES,
		.boot_gen = te_node.boot_gen,
	};
	void *buf;

	memcpy(hello.node_id, te_node.id, sizeof(hello.node_id));
	/* The first frame: there is room. */
	buf = te_sock_reserve(&s->sock, TE_WIRE_FRAME(sizeof(struct te_wire_hello)),
			      false);
	te_sock_push(&s->sock, te_wire_hello_encode(buf, &hello));
	s->state = TE_SESSION_GREETING;
}

/* Connect, then say hello. Return: 0, also if not yet; or what ends the session. */
int te_session_dial(struct te_session *s)
{
	int ret;

	if (!s->sock.sock) {
		ret = te_sock_dial(&s->sock, s->net, &s->addr);
		if (ret)
			return ret;
	}
	ret = te_sock_connected(s->sock.sock);
	if (ret)
		return ret == -EINPROGRESS ? 0 : ret;
	session_greet(s);
	return 0;
}

static int session_hear_hello_reply(struct te_session *s, const void *buf,
				    u32 len)
{
	struct te_msg_hello_reply reply;
	int ret;

	ret = te_wire_hello_reply_decode(buf, len, &reply);
	if (ret)
		return ret;
	if (reply.status != TE_WIRE_OK) {
		te_session_lost(s, te_wire_errno(reply.status));
		return 0;
	}
	if (reply.auth_method != TE_WIRE_AUTH_NONE)
		return -EPROTO;
	ret = te_sock_grow(&s->sock, TE_WIRE_MAX_PAYLOAD, TE_SESSION_SHORT_TX);
	if (ret)
		return ret;

	/* Nobody looks at these before a segment is READY. */
	s->peer->token = reply.token;
	s->peer->boot_gen = reply.boot_gen;
	memcpy(s->peer->node_id, reply.node_id, sizeof(s->peer->node_id));
	s->peer->own = session_is_own(reply.node_id, reply.boot_gen);
	s->page_shift = reply.page_shift;
	s->features = reply.features & TE_WIRE_FEATURES;
	s->state = TE_SESSION_ASKING;
	return 0;
}

static int session_welcome(struct te_session *s, const struct te_msg_hello *hello,
			   u16 version)
{
	struct te_msg_hello_reply reply = {
		.status = TE_WIRE_OK,
		.version = version,
		.page_shift = PAGE_SHIFT,
		.auth_method = TE_WIRE_AUTH_NONE,
		.features = hello->features & TE_WIRE_FEATURES,
		.boot_gen = te_node.boot_gen,
	};
	void *buf;
	int ret;

	ret = te_sock_grow(&s->sock, TE_SESSION_SHORT_RX, TE_SESSION_LONG_TX);
	if (ret)
		return ret;
	s->peer = te_peer_create(s->net, &s->addr.addr, s->addr.scope_id);
	if (!s->peer)
		return -ENOMEM;
	s->peer->boot_gen = hello->boot_gen;
	memcpy(s->peer->node_id, hello->node_id, sizeof(s->peer->node_id));
	s->peer->own = !te_fault(TE_FAULT_OWN) &&
		       session_is_own(hello->node_id, hello->boot_gen);
	ret = te_peer_publish(s->peer);
	if (ret)
		return ret;

	memcpy(reply.node_id, te_node.id, sizeof(reply.node_id));
	reply.token = s->peer->token;
	/* The first frame: there is room. */
	buf = te_sock_reserve(&s->sock, TE_WIRE_FRAME(sizeof(struct te_wire_hello_reply)),
			      false);
	te_sock_push(&s->sock, te_wire_hello_reply_encode(buf, &reply));
	s->page_shift = hello->page_shift;
	s->features = reply.features;
	s->state = TE_SESSION_ANSWERING;
	te_session_leave_half_open(s);
	return 0;
}

static int session_hear_hello(struct te_session *s, const void *buf, u32 len)
{
	struct te_msg_hello hello;
	u32 code = TE_WIRE_OK;
	u16 version;
	int ret;

	ret = te_wire_hello_decode(buf, len, &hello);
	if (ret)
		return ret;
	version = te_wire_common_version(&hello);
	if (!version)
		code = TE_WIRE_ERR_VERSION;
	else if (hello.auth_method != TE_WIRE_AUTH_NONE)
		code = TE_WIRE_ERR_AUTH;
	else if (!te_session_count_answering(s))
		code = TE_WIRE_ERR_LIMIT;
	if (code != TE_WIRE_OK) {
		te_count(TE_NR_SESSIONS_REFUSED, 1);
		te_session_close(s, code, -EPROTO);
		return 0;
	}
	return session_welcome(s, &hello, version);
}

static int session_hear_ping(struct te_session *s, const void *buf, u32 len)
{
	int ret;

	ret = te_wire_ping_decode(buf, len, &s->pong_stamp);
	/* One answer does for all that came at once. */
	s->pong_due |= !ret;
	return ret;
}

static int session_hear_pong(struct te_session *s, const void *buf, u32 len)
{
	u64 stamp;

	/* That it came is all we want of it: te_sock.heard. */
	return te_wire_ping_decode(buf, len, &stamp);
}

static int session_hear_bye(struct te_session *s, const void *buf, u32 len)
{
	u32 reason;
	int ret;

	ret = te_wire_bye_decode(buf, len, &reason);
	if (ret)
		return ret;
	te_session_lost(s, te_wire_errno(reason));
	return 0;
}

/* Why we hang up, if there is room to say it. */
void te_session_last_words(struct te_session *s, u32 code)
{
	struct te_msg_hello_reply reply = {
		.status = code,
		.version = TE_WIRE_VERSION_MAX,
	};
	void *buf;

	buf = te_sock_reserve(&s->sock, TE_WIRE_FRAME(sizeof(struct te_wire_hello_reply)),
			      true);
	if (!buf)
		return;
	if (s->state == TE_SESSION_ACCEPTED)
		te_sock_push(&s->sock, te_wire_hello_reply_encode(buf, &reply));
	else
		te_sock_push(&s->sock, te_wire_bye_encode(buf, code));
}

/*
 * Who may say what when. Handlers are given the payload, may end the session,
 * and return 0, -EBADMSG or -EPROTO for what a peer must not say, or -ENOMEM.
 */
static const struct session_rule {
	unsigned long states;
	int (*hear)(struct te_session *s, const void *buf, u32 len);
} session_rules[TE_WIRE_NR_TYPES] = {
	[TE_WIRE_HELLO] = { BIT(TE_SESSION_ACCEPTED), session_hear_hello },
	[TE_WIRE_HELLO_REPLY] = { BIT(TE_SESSION_GREETING),
				  session_hear_hello_reply },
	[TE_WIRE_PING] = { BIT(TE_SESSION_ASKING) | BIT(TE_SESSION_ANSWERING),
			   session_hear_ping },
	[TE_WIRE_PONG] = { BIT(TE_SESSION_ASKING) | BIT(TE_SESSION_ANSWERING),
			   session_hear_pong },
	[TE_WIRE_BYE] = { BIT(TE_SESSION_GREETING) | BIT(TE_SESSION_ASKING) |
			  BIT(TE_SESSION_ANSWERING), session_hear_bye },
	[TE_WIRE_SEG_OPEN] = { BIT(TE_SESSION_ANSWERING), te_serve_hear_open },
	[TE_WIRE_SEG_CLOSE] = { BIT(TE_SESSION_ANSWERING),
				te_serve_hear_close },
	[TE_WIRE_SEG_OPENED] = { BIT(TE_SESSION_ASKING), te_open_hear_opened },
	[TE_WIRE_SEG_DEVS] = { BIT(TE_SESSION_ASKING), te_open_hear_devs },
	[TE_WIRE_SEG_MRS] = { BIT(TE_SESSION_ASKING), te_open_hear_mrs },
	[TE_WIRE_SEG_KEYS] = { BIT(TE_SESSION_ASKING), te_open_hear_keys },
	[TE_WIRE_SEG_READY] = { BIT(TE_SESSION_ASKING), te_open_hear_ready },
	[TE_WIRE_SEG_MR_GONE] = { BIT(TE_SESSION_ASKING),
				  te_open_hear_mr_gone },
	[TE_WIRE_SEG_GONE] = { BIT(TE_SESSION_ASKING), te_open_hear_gone },
	[TE_WIRE_SEG_DEV_GONE] = { BIT(TE_SESSION_ASKING),
				   te_open_hear_dev_gone },
	[TE_WIRE_SEG_DEV_KEYS] = { BIT(TE_SESSION_ASKING),
				   te_open_hear_dev_keys },
	[TE_WIRE_SEG_FAR] = { BIT(TE_SESSION_ASKING), te_open_hear_far },
};

/* May the peer say this now? @type is below TE_WIRE_NR_TYPES. */
bool te_session_may_hear(enum te_session_state state, u8 type)
{
	return session_rules[type].states & BIT(state);
}

static bool session_talks(const struct te_session *s)
{
	return s->state > TE_SESSION_DIALING && s->state < TE_SESSION_CLOSING;
}

/*
 * Does it begin as a lane? Then it is one as soon as its hello has come. Return:
 * true: there is nothing to hear here.
 */
static bool session_is_lane(struct te_session *s)
{
	const __le32 magic = cpu_to_le32(TE_WIRE_CONN_MAGIC);
	struct te_wire_conn_hello hello;
	int n;

	if (s->state != TE_SESSION_ACCEPTED || s->sock.rx_have)
		return false;
	n = te_sock_peek(&s->sock, &hello, sizeof(hello));
	/* What comes from here on may be one: it is looked at again. */
	if (n == -EAGAIN)
		return true;
	if (n <= 0 || memcmp(&hello.magic, &magic,
			     min_t(size_t, n, sizeof(magic))))
		return false;
	if (n == sizeof(hello))
		te_session_hand_over(s);
	return true;
}

/* Return: 0, or what ends the session; @again: more may be there. */
int te_session_receive(struct te_session *s, bool *again)
{
	struct te_msg_hdr msg;
	int budget, ret;

	if (session_is_lane(s))
		return 0;
	for (budget = TE_SESSION_RX_BUDGET; session_talks(s); budget--) {
		if (!budget) {
			*again = true;
			break;
		}
		ret = te_sock_recv(&s->sock, &msg);
		if (ret <= 0)
			return ret;
		if (!te_session_may_hear(s->state, msg.type))
			return -EPROTO;
		ret = session_rules[msg.type].hear(s, s->sock.rx_buf,
						   msg.length);
		if (ret)
			return ret;
	}
	return 0;
}

/* Return: bytes of the next frame, 0 nothing to say, -ENOBUFS flush first ... */
static int session_produce(struct te_session *s)
{
	void *buf;
	u32 n;

	if (s->state != TE_SESSION_ASKING && s->state != TE_SESSION_ANSWERING)
		return 0;
	if (s->pong_due || s->ping_due) {
		buf = te_sock_reserve(&s->sock,
				      TE_WIRE_FRAME(sizeof(struct te_wire_ping)),
				      false);
		if (!buf)
			return -ENOBUFS;
		if (s->pong_due)
			n = te_wire_ping_encode(buf, TE_WIRE_PONG, s->pong_stamp);
		else
			n = te_wire_ping_encode(buf, TE_WIRE_PING, ktime_get_ns());
		te_sock_push(&s->sock, n);
		if (s->pong_due)
			s->pong_due = false;
		else
			s->ping_due = false;
		return n;
	}
	return s->asking ? te_open_produce(s) : te_serve_produce(s);
}

/* Return: 0, or what ends the session; @again: not all was produced. */
int te_session_send(struct te_session *s, bool *again)
{
	int budget = TE_SESSION_TX_BUDGET;
	int n, ret;

	if (!session_talks(s))
		return 0;
	do {
		do {
			n = session_produce(s);
		} while ((n > 0 || n == -EAGAIN) && --budget);
		if (n < 0 && n != -ENOBUFS && n != -EAGAIN)
			return n;
		ret = te_sock_flush(&s->sock);
		if (ret)
			return ret == -EAGAIN ? 0 : ret;
	} while (n && budget);
	*again |= n != 0;
	return 0;
}

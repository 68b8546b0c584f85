/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * wire: bytes between peers: frames of the control connection. conn.h has hellos of
 * data connections, lane.h frames of TCP lanes.
 *
 * Everything here is pure: an encoder fills bytes, a decoder takes bytes and a
 * length and checks all of it (length, magic, version, reserved words, ranges)
 * before it gives anything back. No decoder allocates, sleeps, logs, or keeps a
 * pointer longer than its caller keeps the bytes; any context may call.
 *
 * Structs named te_wire_* are the bytes: little endian, without padding, their
 * offsets pinned. Structs named te_msg_* are what the rest of te works with.
 *
 * Errors of all decoders: -EBADMSG for bytes that no version would send (length,
 * magic, reserved words, ranges), -EPROTO for a version that we do not speak.
 *
 * Conversation: who dials asks, who accepts answers.
 *
 *   asking                           answering
 *   HELLO                       -->
 *                               <--  HELLO_REPLY (status, token)
 *   SEG_OPEN (cookie, name)     -->
 *                               <--  SEG_OPENED (cookie, status, handle)
 *                               <--  SEG_DEVS, SEG_MRS and SEG_KEYS, SEG_FAR ...
 *                               <--  SEG_READY
 *                               <--  SEG_MRS, SEG_KEYS, SEG_MR_GONE: news
 *                               <--  SEG_DEV_GONE: news
 *                               <--  SEG_DEVS, SEG_DEV_KEYS ..., SEG_READY: news
 *                               <--  SEG_FAR: news
 *   SEG_CLOSE (handle)          -->
 *                               <--  SEG_GONE (cookie)
 *   PING, PONG, BYE             <->
 *
 * With TE_WIRE_FEAT_DEV_NEWS, SEG_DEVS comes again when devs came or can be
 * reached at another address: those of it are added, or replace what was said of
 * the same id. Regions that are known already have their keys on new devs in
 * SEG_DEV_KEYS, then SEG_READY comes again: only now the devs are to be used.
 * SEG_DEV_GONE takes devs away, with all keys on them; their ids may come again,
 * as other devs. Neither comes while keys of a region from SEG_MRS are due.
 *
 * With TE_WIRE_FEAT_FAR, SEG_FAR tells for regions from SEG_MRS which devs are
 * far from them, where their owner has nearer ones; it may come at any time behind
 * that. A region has no far devs until then, and those of the last SEG_FAR from
 * then on, less those that SEG_DEV_GONE takes away.
 *
 * An opened segment ends with exactly one SEG_CLOSE and exactly one SEG_GONE,
 * in either order: until a side has sent the one and seen the other it keeps
 * the number, so frames that cross on the wire always find what they name.
 */
#ifndef TE_WIRE_H
#define TE_WIRE_H

#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/in6.h>
#include <linux/stddef.h>
#include <linux/types.h>

/**
 * struct te_node - who we are to our peers
 * @id: random for each load of the module
 * @boot_gen: time of the load, ns since 1970: a later load has a larger one
 */
struct te_node {
	u8 id[16];
	u64 boot_gen;
};

/* Written by te_wire_init() only. */
extern struct te_node te_node;

/**
 * te_wire_init() - give this node its identity
 *
 * Context: once, at load, before any other room uses the wire.
 */
void te_wire_init(void);

/* Versions of the protocol that this build speaks. */
#define TE_WIRE_VERSION_MIN	1
#define TE_WIRE_VERSION_MAX	1

/* What is only said to a peer that has the feature, too. */
#define TE_WIRE_FEAT_DEV_NEWS	BIT_ULL(0)	/* devs of an open segment change */
#define TE_WIRE_FEAT_TRANSPORTS	BIT_ULL(1)	/* devs that are not RDMA */
#define TE_WIRE_FEAT_FAR	BIT_ULL(2)	/* devs that are far from a region */
#define TE_WIRE_FEATURES	(TE_WIRE_FEAT_DEV_NEWS | TE_WIRE_FEAT_TRANSPORTS | \
				 TE_WIRE_FEAT_FAR)

#define TE_WIRE_MAGIC		0x65742d74U	/* "t-te" */
#define TE_WIRE_CONN_MAGIC	0x63742d74U	/* "t-tc" */

#define TE_WIRE_MAX_PAYLOAD	65536U	/* bytes behind a header */
#define TE_WIRE_MAX_AUTH	64U	/* room for a nonce or an HMAC */
#define TE_WIRE_MAX_NAME	255U	/* segment name, bytes */
#define TE_WIRE_MAX_TOKEN	64U	/* segment token, bytes */
#define TE_WIRE_MAX_DEVS	32U	/* devs of a node */
#define TE_WIRE_MIN_PAGE_SHIFT	12
#define TE_WIRE_MAX_PAGE_SHIFT	30
#define TE_WIRE_MAX_CHUNK_SHIFT	40
#define TE_WIRE_MAX_MTU		5	/* 4096 bytes: IB_MTU_4096 */

/* Types of frames. Numbers are never used again. */
enum te_wire_type {
	TE_WIRE_HELLO = 1,
	TE_WIRE_HELLO_REPLY = 2,
	TE_WIRE_PING = 3,
	TE_WIRE_PONG = 4,
	TE_WIRE_BYE = 5,
	TE_WIRE_SEG_OPEN = 16,
	TE_WIRE_SEG_OPENED = 17,
	TE_WIRE_SEG_DEVS = 18,
	TE_WIRE_SEG_MRS = 19,
	TE_WIRE_SEG_KEYS = 20,
	TE_WIRE_SEG_READY = 21,
	TE_WIRE_SEG_MR_GONE = 22,
	TE_WIRE_SEG_GONE = 23,
	TE_WIRE_SEG_CLOSE = 24,
	TE_WIRE_SEG_DEV_GONE = 25,
	TE_WIRE_SEG_DEV_KEYS = 26,
	TE_WIRE_SEG_FAR = 27,
	TE_WIRE_NR_TYPES = 28,
};

/*
 * Why: status of HELLO_REPLY, SEG_OPENED and the reply to a data connection's
 * hello, reason of BYE and SEG_GONE. Numbers are never used again.
 */
enum te_wire_code {
	TE_WIRE_OK = 0,
	TE_WIRE_ERR_VERSION = 1,	/* no common version */
	TE_WIRE_ERR_DENIED = 2,		/* not from this host, without insecure */
	TE_WIRE_ERR_AUTH = 3,		/* authentication missing or wrong */
	TE_WIRE_ERR_PROTO = 4,		/* malformed or out of turn */
	TE_WIRE_ERR_NOENT = 5,		/* no such segment */
	TE_WIRE_ERR_LIMIT = 6,		/* too many */
	TE_WIRE_ERR_NOMEM = 7,
	TE_WIRE_ERR_UNSUPPORTED = 8,
	TE_WIRE_ERR_SHUTDOWN = 9,	/* module goes away */
	TE_WIRE_ERR_IDLE = 10,		/* nobody needs the session any more */
	TE_WIRE_ERR_TIMEOUT = 11,
	TE_WIRE_ERR_CLOSED = 12,	/* closed by who opened it */
	TE_WIRE_ERR_GONE = 13,		/* segment's owner has gone */
	TE_WIRE_ERR_TOKEN = 14,		/* no session of this token */
	TE_WIRE_ERR_GENERATION = 15,	/* session of an earlier life */
	TE_WIRE_ERR_DEV = 16,		/* no such dev, or not up */
	TE_WIRE_ERR_REFUSED = 17,	/* not that range, not that direction */
	TE_WIRE_ERR_CRC = 18,		/* not the bytes that were sent */
	TE_WIRE_NR_CODES = 19,
};

/**
 * te_wire_errno() - what a code means to a caller here
 * @code: TE_WIRE_*; one that we do not know counts as -EPROTO
 *
 * Return: 0 or -errno from the table in uapi/linux/te.h.
 */
int te_wire_errno(u32 code);

/* Authentication methods (te_msg_hello.auth_method). */
#define TE_WIRE_AUTH_NONE	0

/*
 * Header of every frame. Its layout, and that of both hellos, is the same for
 * all versions.
 */
struct te_wire_hdr {
	__le32 magic;		/* TE_WIRE_MAGIC */
	u8 type;		/* enum te_wire_type */
	u8 reserved0;
	__le16 flags;		/* zero */
	__le32 length;		/* of what follows, bytes */
	__le32 reserved1;
};

static_assert(offsetof(struct te_wire_hdr, type) == 4);
static_assert(offsetof(struct te_wire_hdr, length) == 8);
static_assert(sizeof(struct te_wire_hdr) == 16);

struct te_wire_hello {
	__le16 version_min;
	__le16 version_max;
	__le16 page_shift;
	__le16 auth_method;
	__le64 features;
	u8 node_id[16];
	__le64 boot_gen;
	__le32 auth_length;
	__le32 reserved[3];
	u8 auth[TE_WIRE_MAX_AUTH];	/* zero behind auth_length */
};

static_assert(offsetof(struct te_wire_hello, features) == 8);
static_assert(offsetof(struct te_wire_hello, node_id) == 16);
static_assert(offsetof(struct te_wire_hello, boot_gen) == 32);
static_assert(offsetof(struct te_wire_hello, auth) == 56);
static_assert(sizeof(struct te_wire_hello) == 120);

struct te_wire_hello_reply {
	__le32 status;		/* enum te_wire_code */
	__le16 version;		/* chosen; with ERR_VERSION our highest */
	__le16 page_shift;
	__le16 auth_method;
	__le16 reserved0;
	__le32 auth_length;
	__le64 features;	/* common ones */
	u8 node_id[16];
	__le64 boot_gen;
	__le64 token;
	__le64 reserved1;
	u8 auth[TE_WIRE_MAX_AUTH];
};

static_assert(offsetof(struct te_wire_hello_reply, features) == 16);
static_assert(offsetof(struct te_wire_hello_reply, token) == 48);
static_assert(offsetof(struct te_wire_hello_reply, auth) == 64);
static_assert(sizeof(struct te_wire_hello_reply) == 128);

struct te_wire_ping {
	__le64 stamp;		/* PONG carries it back */
};

static_assert(sizeof(struct te_wire_ping) == 8);

struct te_wire_bye {
	__le32 reason;
	__le32 reserved;
};

static_assert(sizeof(struct te_wire_bye) == 8);

struct te_wire_seg_open {
	__le32 cookie;
	__le32 transport;	/* TE_ANY ... of uapi */
	__le16 name_length;
	__le16 token_length;
	__le32 reserved;
	u8 bytes[];		/* name, then token */
};

static_assert(sizeof(struct te_wire_seg_open) == 16);

struct te_wire_seg_opened {
	__le32 cookie;
	__le32 status;
	__le32 handle;		/* not 0 with TE_WIRE_OK, else 0 */
	__le32 reserved;
};

static_assert(sizeof(struct te_wire_seg_opened) == 16);

/* Head of the frames that are arrays: SEG_DEVS, SEG_MRS, SEG_MR_GONE, SEG_FAR. */
struct te_wire_seg_array {
	__le32 cookie;
	__le32 nr;		/* at least 1 (SEG_DEVS: 0) */
};

static_assert(sizeof(struct te_wire_seg_array) == 8);

struct te_wire_dev {
	u8 addr[16];
	__le16 port;
	__le16 chunk_shift;
	__le32 dev_id;
	__le32 numa_node;	/* ~0 unknown */
	u8 transport;		/* enum te_wire_transport */
	u8 mtu;			/* RDMA: enum ib_mtu, 0 unknown */
	u8 reserved[2];
};

static_assert(offsetof(struct te_wire_dev, dev_id) == 20);
static_assert(offsetof(struct te_wire_dev, transport) == 28);
static_assert(sizeof(struct te_wire_dev) == 32);

struct te_wire_mr {
	__le64 base;
	__le64 length;
	__le32 id;
	__le32 access;
	__le32 page_off;
	__le32 dev_mask;
};

static_assert(offsetof(struct te_wire_mr, id) == 16);
static_assert(sizeof(struct te_wire_mr) == 32);

/* What a dev speaks. Others than RDMA need TE_WIRE_FEAT_TRANSPORTS. */
enum te_wire_transport {
	TE_WIRE_DEV_RDMA = 0,
	TE_WIRE_DEV_TCP = 1,
	TE_WIRE_DEV_LOCAL = 2,	/* within one node */
	TE_WIRE_NR_TRANSPORTS = 3,
};

/* Regions first to last (inclusive) are gone; ids that never were are fine. */
struct te_wire_range {
	__le32 first;
	__le32 last;
};

static_assert(sizeof(struct te_wire_range) == 8);

/* Needs TE_WIRE_FEAT_FAR. */
struct te_wire_far {
	__le32 mr_id;
	__le32 dev_mask;	/* bit i: dev i is far from the region */
};

static_assert(offsetof(struct te_wire_far, dev_mask) == 4);
static_assert(sizeof(struct te_wire_far) == 8);

struct te_wire_seg_keys {
	__le32 cookie;
	__le32 mr_id;
	__le32 nr;		/* at least 1 */
	__le32 reserved;
	__le32 keys[];		/* by ascending dev of the mask, then by chunk */
};

static_assert(sizeof(struct te_wire_seg_keys) == 16);

struct te_wire_seg_dev_gone {
	__le32 cookie;
	__le32 dev_mask;	/* bit i: dev i; not 0 */
};

static_assert(sizeof(struct te_wire_seg_dev_gone) == 8);

/*
 * Some keys of a region on a dev, by chunk. With @first 0 they begin anew. What
 * does not follow on the keys before it counts for nothing: the receiver may
 * have had no room for those.
 */
struct te_wire_seg_dev_keys {
	__le32 cookie;
	__le32 mr_id;
	__le32 dev_id;
	__le32 first;		/* chunk of the first key */
	__le32 nr;		/* at least 1 */
	__le32 reserved;
	__le32 keys[];
};

static_assert(offsetof(struct te_wire_seg_dev_keys, first) == 12);
static_assert(sizeof(struct te_wire_seg_dev_keys) == 24);

/* SEG_READY and SEG_GONE carry a cookie, SEG_CLOSE a handle. */
struct te_wire_seg_end {
	__le32 number;
	__le32 reason;		/* SEG_GONE: enum te_wire_code, else 0 */
};

static_assert(sizeof(struct te_wire_seg_end) == 8);

#define TE_WIRE_FRAME(payload)	(sizeof(struct te_wire_hdr) + (payload))

/* Largest frame before both hellos are through. */
#define TE_WIRE_MAX_HELLO	sizeof(struct te_wire_hello_reply)

/* What fits into one frame of @room bytes. */
#define TE_WIRE_KEYS_ROOM(room)						\
	(((room) - TE_WIRE_FRAME(sizeof(struct te_wire_seg_keys))) /	\
	 sizeof(__le32))
#define TE_WIRE_DEV_KEYS_ROOM(room)					\
	(((room) - TE_WIRE_FRAME(sizeof(struct te_wire_seg_dev_keys))) / \
	 sizeof(__le32))

/**
 * struct te_msg_hdr - a header
 * @type: below TE_WIRE_NR_TYPES; not every number has a meaning
 * @length: bytes that follow, at most TE_WIRE_MAX_PAYLOAD
 */
struct te_msg_hdr {
	u8 type;
	u32 length;
};

/**
 * struct te_msg_hello - HELLO
 * @version_min: lowest version that the sender speaks, not 0
 * @version_max: highest version, not below @version_min
 * @page_shift: of its node
 * @auth_method: TE_WIRE_AUTH_*; one that we do not know is for the caller to refuse
 * @features: all it has
 * @node_id: te_node.id
 * @boot_gen: te_node.boot_gen
 * @auth_len: bytes at @auth
 * @auth: of the method
 */
struct te_msg_hello {
	u16 version_min;
	u16 version_max;
	u16 page_shift;
	u16 auth_method;
	u64 features;
	u8 node_id[16];
	u64 boot_gen;
	u32 auth_len;
	u8 auth[TE_WIRE_MAX_AUTH];
};

/**
 * struct te_msg_hello_reply - HELLO_REPLY
 * @status: enum te_wire_code; with any but TE_WIRE_OK only @version has a meaning
 * @version: that both speak; with TE_WIRE_ERR_VERSION the sender's highest
 * @page_shift: of its node
 * @auth_method: TE_WIRE_AUTH_*
 * @features: what both have
 * @node_id: te_node.id
 * @boot_gen: te_node.boot_gen
 * @token: secret that data connections of this session show
 * @auth_len: bytes at @auth
 * @auth: of the method
 */
struct te_msg_hello_reply {
	u32 status;
	u16 version;
	u16 page_shift;
	u16 auth_method;
	u64 features;
	u8 node_id[16];
	u64 boot_gen;
	u64 token;
	u32 auth_len;
	u8 auth[TE_WIRE_MAX_AUTH];
};

/**
 * struct te_msg_seg_open - SEG_OPEN
 * @cookie: the asking side's number for it, not 0
 * @transport: TE_ANY, TE_RDMA, TE_TCP or TE_LOCAL
 * @name: @name_len bytes, any content
 * @name_len: 1 to TE_WIRE_MAX_NAME
 * @token: @token_len bytes
 * @token_len: 0 to TE_WIRE_MAX_TOKEN
 */
struct te_msg_seg_open {
	u32 cookie;
	u32 transport;
	const u8 *name;
	u16 name_len;
	const u8 *token;
	u16 token_len;
};

/**
 * struct te_msg_seg_opened - SEG_OPENED
 * @cookie: from SEG_OPEN
 * @status: enum te_wire_code
 * @handle: the answering side's number, 0 if it failed
 */
struct te_msg_seg_opened {
	u32 cookie;
	u32 status;
	u32 handle;
};

/**
 * struct te_msg_dev - a dev of the answering node
 * @addr: IPv6 or IPv4-mapped address of its connection manager; TCP: unspecified,
 *	as it is that of the session
 * @port: of its connection manager, or listener; local: 0
 * @chunk_shift: TE_WIRE_MIN_PAGE_SHIFT to TE_WIRE_MAX_CHUNK_SHIFT
 * @dev_id: below TE_WIRE_MAX_DEVS
 * @numa_node: -1 unknown
 * @transport: TE_WIRE_DEV_*
 * @mtu: of its port, 1 for 256 bytes to TE_WIRE_MAX_MTU, as enum ib_mtu; 0 unknown
 */
struct te_msg_dev {
	struct in6_addr addr;
	u16 port;
	u16 chunk_shift;
	u32 dev_id;
	s32 numa_node;
	u8 transport;
	u8 mtu;
};

/**
 * struct te_msg_mr - a region
 * @base: address that peers use
 * @length: bytes, not 0; @base + @length does not wrap
 * @id: at its owner
 * @access: TE_REMOTE_READ, TE_REMOTE_WRITE or both
 * @page_off: of the first byte in its page, below 1 << TE_WIRE_MAX_PAGE_SHIFT
 * @dev_mask: bit i: mapped on dev i
 */
struct te_msg_mr {
	u64 base;
	u64 length;
	u32 id;
	u32 access;
	u32 page_off;
	u32 dev_mask;
};

/**
 * struct te_msg_array - head of a checked array frame, for the getters
 * @cookie: of the open segment
 * @nr: entries
 * @entries: borrowed from the frame
 */
struct te_msg_array {
	u32 cookie;
	u32 nr;
	const void *entries;
};

/**
 * struct te_msg_seg_keys - SEG_KEYS
 * @cookie: of the open segment
 * @mr_id: region
 * @nr: keys
 * @keys: borrowed from the frame
 */
struct te_msg_seg_keys {
	u32 cookie;
	u32 mr_id;
	u32 nr;
	const __le32 *keys;
};

/**
 * struct te_msg_seg_dev_keys - SEG_DEV_KEYS
 * @cookie: of the open segment
 * @mr_id: region
 * @dev_id: below TE_WIRE_MAX_DEVS
 * @first: chunk of the first key; @first + @nr does not wrap
 * @nr: keys, not 0
 * @keys: borrowed from the frame
 */
struct te_msg_seg_dev_keys {
	u32 cookie;
	u32 mr_id;
	u32 dev_id;
	u32 first;
	u32 nr;
	const __le32 *keys;
};

/**
 * te_wire_common_version() - what to speak with a peer
 * @msg: its hello
 *
 * Return: the highest version that both speak, or 0 there is none.
 */
u16 te_wire_common_version(const struct te_msg_hello *msg);

/*
 * Encoders write a whole frame, header first, to @buf, which has room for it
 * (TE_WIRE_FRAME(sizeof(struct te_wire_...)) and what follows), and return its
 * length in bytes.
 */
size_t te_wire_hello_encode(void *buf, const struct te_msg_hello *msg);
size_t te_wire_hello_reply_encode(void *buf,
				  const struct te_msg_hello_reply *msg);
/* @type: TE_WIRE_PING or TE_WIRE_PONG */
size_t te_wire_ping_encode(void *buf, u8 type, u64 stamp);
size_t te_wire_bye_encode(void *buf, u32 reason);
size_t te_wire_seg_open_encode(void *buf, const struct te_msg_seg_open *msg);
size_t te_wire_seg_opened_encode(void *buf,
				 const struct te_msg_seg_opened *msg);
/* @type: TE_WIRE_SEG_READY, _GONE or _CLOSE; @reason: 0 but for _GONE */
size_t te_wire_seg_end_encode(void *buf, u8 type, u32 number, u32 reason);

/*
 * Arrays are built in place: set entry after entry, then close the frame with
 * the number of entries, which gives its length.
 */
void te_wire_dev_set(void *buf, u32 i, const struct te_msg_dev *dev);
void te_wire_mr_set(void *buf, u32 i, const struct te_msg_mr *mr);
void te_wire_range_set(void *buf, u32 i, u32 first, u32 last);
void te_wire_far_set(void *buf, u32 i, u32 mr_id, u32 dev_mask);
/* @type: TE_WIRE_SEG_DEVS, _MRS, _MR_GONE or _FAR */
size_t te_wire_seg_array_encode(void *buf, u8 type, u32 cookie, u32 nr);
void te_wire_key_set(void *buf, u32 i, u32 key);
size_t te_wire_seg_keys_encode(void *buf, u32 cookie, u32 mr_id, u32 nr);
size_t te_wire_seg_dev_gone_encode(void *buf, u32 cookie, u32 dev_mask);
/* Set its keys first; @msg->keys is not looked at. */
void te_wire_dev_key_set(void *buf, u32 i, u32 key);
size_t te_wire_seg_dev_keys_encode(void *buf,
				   const struct te_msg_seg_dev_keys *msg);

/**
 * te_wire_hdr_decode() - check a header
 * @buf: bytes
 * @len: sizeof(struct te_wire_hdr)
 * @msg: filled on success
 *
 * Return: 0, -EBADMSG.
 */
int te_wire_hdr_decode(const void *buf, size_t len, struct te_msg_hdr *msg);

/*
 * Decoders of payloads: @buf and @len are what followed the header, exactly.
 * Return: 0, -EBADMSG or -EPROTO; outputs are written only on success.
 */
int te_wire_hello_decode(const void *buf, size_t len, struct te_msg_hello *msg);
int te_wire_hello_reply_decode(const void *buf, size_t len,
			       struct te_msg_hello_reply *msg);
int te_wire_ping_decode(const void *buf, size_t len, u64 *stamp);
int te_wire_bye_decode(const void *buf, size_t len, u32 *reason);
int te_wire_seg_open_decode(const void *buf, size_t len,
			    struct te_msg_seg_open *msg);
int te_wire_seg_opened_decode(const void *buf, size_t len,
			      struct te_msg_seg_opened *msg);
int te_wire_seg_devs_decode(const void *buf, size_t len,
			    struct te_msg_array *msg);
int te_wire_seg_mrs_decode(const void *buf, size_t len,
			   struct te_msg_array *msg);
int te_wire_seg_mr_gone_decode(const void *buf, size_t len,
			       struct te_msg_array *msg);
int te_wire_seg_far_decode(const void *buf, size_t len,
			   struct te_msg_array *msg);
int te_wire_seg_keys_decode(const void *buf, size_t len,
			    struct te_msg_seg_keys *msg);
int te_wire_seg_dev_gone_decode(const void *buf, size_t len, u32 *cookie,
				u32 *dev_mask);
int te_wire_seg_dev_keys_decode(const void *buf, size_t len,
				struct te_msg_seg_dev_keys *msg);
int te_wire_seg_end_decode(const void *buf, size_t len, u8 type, u32 *number,
			   u32 *reason);

/* Entry @i, below @msg->nr, of an array that its decoder has checked. */
void te_wire_dev_get(const struct te_msg_array *msg, u32 i,
		     struct te_msg_dev *dev);
void te_wire_mr_get(const struct te_msg_array *msg, u32 i,
		    struct te_msg_mr *mr);
void te_wire_range_get(const struct te_msg_array *msg, u32 i, u32 *first,
		       u32 *last);
void te_wire_far_get(const struct te_msg_array *msg, u32 i, u32 *mr_id,
		     u32 *dev_mask);

#endif /* TE_WIRE_H */

// SPDX-License-Identifier: GPL-2.0-only
/*
 * wire: encode and decode the frames of the control connection. See wire.h.
 *
 * Nothing here keeps state but the identity of this node, written once at load.
 * All bytes are a peer's until their decoder has passed them.
 */
#include <linux/errno.h>
#include <linux/overflow.h>
#include <linux/random.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/te.h>

#include "wire/wire.h"

struct te_node te_node;

void te_wire_init(void)
{
	get_random_bytes(te_node.id, sizeof(te_node.id));
	te_node.boot_gen = ktime_get_real_ns();
}

int te_wire_errno(u32 code)
{
	static const int errnos[TE_WIRE_NR_CODES] = {
		[TE_WIRE_OK] = 0,
		[TE_WIRE_ERR_VERSION] = -EPROTO,
		[TE_WIRE_ERR_DENIED] = -EACCES,
		[TE_WIRE_ERR_AUTH] = -EACCES,
		[TE_WIRE_ERR_PROTO] = -EPROTO,
		[TE_WIRE_ERR_NOENT] = -ENOENT,
		[TE_WIRE_ERR_LIMIT] = -ECONNREFUSED,
		[TE_WIRE_ERR_NOMEM] = -ECONNREFUSED,
		[TE_WIRE_ERR_UNSUPPORTED] = -EOPNOTSUPP,
		[TE_WIRE_ERR_SHUTDOWN] = -ECONNRESET,
		[TE_WIRE_ERR_IDLE] = -ECONNRESET,
		[TE_WIRE_ERR_TIMEOUT] = -ETIMEDOUT,
		[TE_WIRE_ERR_CLOSED] = -ESTALE,
		[TE_WIRE_ERR_GONE] = -ESTALE,
		[TE_WIRE_ERR_TOKEN] = -ECONNRESET,
		[TE_WIRE_ERR_GENERATION] = -ECONNRESET,
		[TE_WIRE_ERR_DEV] = -ENXIO,
		[TE_WIRE_ERR_REFUSED] = -EREMOTEIO,
		[TE_WIRE_ERR_CRC] = -EBADMSG,
	};

	return code < TE_WIRE_NR_CODES ? errnos[code] : -EPROTO;
}

static void *hdr_encode(void *buf, u8 type, u32 length)
{
	struct te_wire_hdr *hdr = buf;

	*hdr = (struct te_wire_hdr) {
		.magic = cpu_to_le32(TE_WIRE_MAGIC),
		.type = type,
		.length = cpu_to_le32(length),
	};
	return hdr + 1;
}

int te_wire_hdr_decode(const void *buf, size_t len, struct te_msg_hdr *msg)
{
	const struct te_wire_hdr *hdr = buf;

	if (len != sizeof(*hdr) || hdr->magic != cpu_to_le32(TE_WIRE_MAGIC) ||
	    hdr->reserved0 || hdr->flags || hdr->reserved1 ||
	    hdr->type >= TE_WIRE_NR_TYPES ||
	    le32_to_cpu(hdr->length) > TE_WIRE_MAX_PAYLOAD)
		return -EBADMSG;

	msg->type = hdr->type;
	msg->length = le32_to_cpu(hdr->length);
	return 0;
}

static bool page_shift_ok(u16 shift)
{
	return shift >= TE_WIRE_MIN_PAGE_SHIFT &&
	       shift <= TE_WIRE_MAX_PAGE_SHIFT;
}

/* Room for authentication: zero behind what is used. */
static bool auth_ok(const u8 *auth, u32 len)
{
	return len <= TE_WIRE_MAX_AUTH &&
	       !memchr_inv(auth + len, 0, TE_WIRE_MAX_AUTH - len);
}

size_t te_wire_hello_encode(void *buf, const struct te_msg_hello *msg)
{
	struct te_wire_hello *w;

	w = hdr_encode(buf, TE_WIRE_HELLO, sizeof(*w));
	*w = (struct te_wire_hello) {
		.version_min = cpu_to_le16(msg->version_min),
		.version_max = cpu_to_le16(msg->version_max),
		.page_shift = cpu_to_le16(msg->page_shift),
		.auth_method = cpu_to_le16(msg->auth_method),
		.features = cpu_to_le64(msg->features),
		.boot_gen = cpu_to_le64(msg->boot_gen),
		.auth_length = cpu_to_le32(msg->auth_len),
	};
	memcpy(w->node_id, msg->node_id, sizeof(w->node_id));
	memcpy(w->auth, msg->auth, msg->auth_len);
	return TE_WIRE_FRAME(sizeof(*w));
}

int te_wire_hello_decode(const void *buf, size_t len, struct te_msg_hello *msg)
{
	const struct te_wire_hello *w = buf;

	if (len != sizeof(*w) ||
	    memchr_inv(w->reserved, 0, sizeof(w->reserved)) ||
	    !w->version_min ||
	    le16_to_cpu(w->version_min) > le16_to_cpu(w->version_max) ||
	    !page_shift_ok(le16_to_cpu(w->page_shift)) ||
	    !auth_ok(w->auth, le32_to_cpu(w->auth_length)))
		return -EBADMSG;

	*msg = (struct te_msg_hello) {
		.version_min = le16_to_cpu(w->version_min),
		.version_max = le16_to_cpu(w->version_max),
		.page_shift = le16_to_cpu(w->page_shift),
		.auth_method = le16_to_cpu(w->auth_method),
		.features = le64_to_cpu(w->features),
		.boot_gen = le64_to_cpu(w->boot_gen),
		.auth_len = le32_to_cpu(w->auth_length),
	};
	memcpy(msg->node_id, w->node_id, sizeof(msg->node_id));
	memcpy(msg->auth, w->auth, sizeof(msg->auth));
	return 0;
}

u16 te_wire_common_version(const struct te_msg_hello *msg)
{
	u16 version = min_t(u16, msg->version_max, TE_WIRE_VERSION_MAX);

	if (version < msg->version_min || version < TE_WIRE_VERSION_MIN)
		return 0;
	return version;
}

size_t te_wire_hello_reply_encode(void *buf,
				  const struct te_msg_hello_reply *msg)
{
	struct te_wire_hello_reply *w;

	w = hdr_encode(buf, TE_WIRE_HELLO_REPLY, sizeof(*w));
	*w = (struct te_wire_hello_reply) {
		.status = cpu_to_le32(msg->status),
		.version = cpu_to_le16(msg->version),
		.page_shift = cpu_to_le16(msg->page_shift),
		.auth_method = cpu_to_le16(msg->auth_method),
		.auth_length = cpu_to_le32(msg->auth_len),
		.features = cpu_to_le64(msg->features),
		.boot_gen = cpu_to_le64(msg->boot_gen),
		.token = cpu_to_le64(msg->token),
	};
	memcpy(w->node_id, msg->node_id, sizeof(w->node_id));
	memcpy(w->auth, msg->auth, msg->auth_len);
	return TE_WIRE_FRAME(sizeof(*w));
}

int te_wire_hello_reply_decode(const void *buf, size_t len,
			       struct te_msg_hello_reply *msg)
{
	const struct te_wire_hello_reply *w = buf;
	u32 status;

	if (len != sizeof(*w) || w->reserved0 || w->reserved1 ||
	    !auth_ok(w->auth, le32_to_cpu(w->auth_length)))
		return -EBADMSG;
	status = le32_to_cpu(w->status);
	if (status == TE_WIRE_OK &&
	    (!w->token || !page_shift_ok(le16_to_cpu(w->page_shift))))
		return -EBADMSG;
	if (status == TE_WIRE_OK &&
	    (le16_to_cpu(w->version) < TE_WIRE_VERSION_MIN ||
	     le16_to_cpu(w->version) > TE_WIRE_VERSION_MAX))
		return -EPROTO;

	*msg = (struct te_msg_hello_reply) {
		.status = status,
		.version = le16_to_cpu(w->version),
		.page_shift = le16_to_cpu(w->page_shift),
		.auth_method = le16_to_cpu(w->auth_method),
		.features = le64_to_cpu(w->features),
		.boot_gen = le64_to_cpu(w->boot_gen),
		.token = le64_to_cpu(w->token),
		.auth_len = le32_to_cpu(w->auth_length),
	};
	memcpy(msg->node_id, w->node_id, sizeof(msg->node_id));
	memcpy(msg->auth, w->auth, sizeof(msg->auth));
	return 0;
}

size_t te_wire_ping_encode(void *buf, u8 type, u64 stamp)
{
	struct te_wire_ping *w = hdr_encode(buf, type, sizeof(*w));

	w->stamp = cpu_to_le64(stamp);
	return TE_WIRE_FRAME(sizeof(*w));
}

int te_wire_ping_decode(const void *buf, size_t len, u64 *stamp)
{
	const struct te_wire_ping *w = buf;

	if (len != sizeof(*w))
		return -EBADMSG;
	*stamp = le64_to_cpu(w->stamp);
	return 0;
}

size_t te_wire_bye_encode(void *buf, u32 reason)
{
	struct te_wire_bye *w = hdr_encode(buf, TE_WIRE_BYE, sizeof(*w));

	*w = (struct te_wire_bye) { .reason = cpu_to_le32(reason) };
	return TE_WIRE_FRAME(sizeof(*w));
}

int te_wire_bye_decode(const void *buf, size_t len, u32 *reason)
{
	const struct te_wire_bye *w = buf;

	/* A reason that we do not know yet is none of our business. */
	if (len != sizeof(*w) || w->reserved || !w->reason)
		return -EBADMSG;
	*reason = le32_to_cpu(w->reason);
	return 0;
}

size_t te_wire_seg_open_encode(void *buf, const struct te_msg_seg_open *msg)
{
	struct te_wire_seg_open *w;
	u32 length = sizeof(*w) + msg->name_len + msg->token_len;

	w = hdr_encode(buf, TE_WIRE_SEG_OPEN, length);
	*w = (struct te_wire_seg_open) {
		.cookie = cpu_to_le32(msg->cookie),
		.transport = cpu_to_le32(msg->transport),
		.name_length = cpu_to_le16(msg->name_len),
		.token_length = cpu_to_le16(msg->token_len),
	};
	memcpy(w->bytes, msg->name, msg->name_len);
	if (msg->token_len)
		memcpy(w->bytes + msg->name_len, msg->token, msg->token_len);
	return TE_WIRE_FRAME(length);
}

int te_wire_seg_open_decode(const void *buf, size_t len,
			    struct te_msg_seg_open *msg)
{
	const struct te_wire_seg_open *w = buf;
	u16 name_len, token_len;

	if (len < sizeof(*w) || w->reserved || !w->cookie ||
	    le32_to_cpu(w->transport) > TE_LOCAL)
		return -EBADMSG;
	name_len = le16_to_cpu(w->name_length);
	token_len = le16_to_cpu(w->token_length);
	if (!name_len || name_len > TE_WIRE_MAX_NAME ||
	    token_len > TE_WIRE_MAX_TOKEN ||
	    len != sizeof(*w) + name_len + token_len)
		return -EBADMSG;

	*msg = (struct te_msg_seg_open) {
		.cookie = le32_to_cpu(w->cookie),
		.transport = le32_to_cpu(w->transport),
		.name = w->bytes,
		.name_len = name_len,
		.token = w->bytes + name_len,
		.token_len = token_len,
	};
	return 0;
}

size_t te_wire_seg_opened_encode(void *buf,
				 const struct te_msg_seg_opened *msg)
{
	struct te_wire_seg_opened *w;

	w = hdr_encode(buf, TE_WIRE_SEG_OPENED, sizeof(*w));
	*w = (struct te_wire_seg_opened) {
		.cookie = cpu_to_le32(msg->cookie),
		.status = cpu_to_le32(msg->status),
		.handle = cpu_to_le32(msg->handle),
	};
	return TE_WIRE_FRAME(sizeof(*w));
}

int te_wire_seg_opened_decode(const void *buf, size_t len,
			      struct te_msg_seg_opened *msg)
{
	const struct te_wire_seg_opened *w = buf;

	/* A handle with success, and only then. */
	if (len != sizeof(*w) || w->reserved || !w->cookie ||
	    !w->status == !w->handle)
		return -EBADMSG;

	*msg = (struct te_msg_seg_opened) {
		.cookie = le32_to_cpu(w->cookie),
		.status = le32_to_cpu(w->status),
		.handle = le32_to_cpu(w->handle),
	};
	return 0;
}

/* Entries of the array frame at @buf. */
static void *array_entries(void *buf)
{
	return buf + TE_WIRE_FRAME(sizeof(struct te_wire_seg_array));
}

/* A frame of @nr entries with @entry bytes each, nothing behind them. */
static size_t array_close(void *buf, u8 type, u32 cookie, u32 nr, size_t entry)
{
	struct te_wire_seg_array *w;
	u32 length = sizeof(*w) + nr * entry;

	w = hdr_encode(buf, type, length);
	w->cookie = cpu_to_le32(cookie);
	w->nr = cpu_to_le32(nr);
	return TE_WIRE_FRAME(length);
}

static int array_open(const void *buf, size_t len, size_t entry, u32 min,
		      struct te_msg_array *msg)
{
	const struct te_wire_seg_array *w = buf;
	u32 nr;

	if (len < sizeof(*w) || !w->cookie)
		return -EBADMSG;
	/* The payload is capped, so the product below cannot overflow. */
	nr = le32_to_cpu(w->nr);
	if (nr < min || nr > TE_WIRE_MAX_PAYLOAD / entry ||
	    len != sizeof(*w) + nr * entry)
		return -EBADMSG;

	msg->cookie = le32_to_cpu(w->cookie);
	msg->nr = nr;
	msg->entries = w + 1;
	return 0;
}

void te_wire_dev_set(void *buf, u32 i, const struct te_msg_dev *dev)
{
	struct te_wire_dev *w = array_entries(buf);

	w[i] = (struct te_wire_dev) {
		.port = cpu_to_le16(dev->port),
		.chunk_shift = cpu_to_le16(dev->chunk_shift),
		.dev_id = cpu_to_le32(dev->dev_id),
		.numa_node = cpu_to_le32((u32)dev->numa_node),
		.transport = dev->transport,
		.mtu = dev->mtu,
	};
	memcpy(w[i].addr, &dev->addr, sizeof(w[i].addr));
}

void te_wire_dev_get(const struct te_msg_array *msg, u32 i,
		     struct te_msg_dev *dev)
{
	const struct te_wire_dev *w = msg->entries;

	w += i;
	*dev = (struct te_msg_dev) {
		.port = le16_to_cpu(w->port),
		.chunk_shift = le16_to_cpu(w->chunk_shift),
		.dev_id = le32_to_cpu(w->dev_id),
		.numa_node = (s32)le32_to_cpu(w->numa_node),
		.transport = w->transport,
		.mtu = w->mtu,
	};
	memcpy(&dev->addr, w->addr, sizeof(dev->addr));
}

static bool dev_ok(const struct te_wire_dev *w)
{
	u16 shift = le16_to_cpu(w->chunk_shift);

	return w->transport < TE_WIRE_NR_TRANSPORTS &&
	       w->mtu <= TE_WIRE_MAX_MTU &&
	       !memchr_inv(w->reserved, 0, sizeof(w->reserved)) &&
	       le32_to_cpu(w->dev_id) < TE_WIRE_MAX_DEVS && shift >= TE_WIRE_MIN_PAGE_SHIFT &&
	       shift <= TE_WIRE_MAX_CHUNK_SHIFT &&
	       (s32)le32_to_cpu(w->numa_node) >= -1;
}

int te_wire_seg_devs_decode(const void *buf, size_t len,
			    struct te_msg_array *msg)
{
	struct te_msg_array got;
	const struct te_wire_dev *w;
	u32 i;
	int ret;

	ret = array_open(buf, len, sizeof(*w), 0, &got);
	if (ret)
		return ret;
	if (got.nr > TE_WIRE_MAX_DEVS)
		return -EBADMSG;
	w = got.entries;
	for (i = 0; i < got.nr; i++) {
		if (!dev_ok(&w[i]))
			return -EBADMSG;
		/* Ascending: none comes twice. */
		if (i && le32_to_cpu(w[i].dev_id) <=
			 le32_to_cpu(w[i - 1].dev_id))
			return -EBADMSG;
	}
	*msg = got;
	return 0;
}

void te_wire_mr_set(void *buf, u32 i, const struct te_msg_mr *mr)
{
	struct te_wire_mr *w = array_entries(buf);

	w[i] = (struct te_wire_mr) {
		.base = cpu_to_le64(mr->base),
		.length = cpu_to_le64(mr->length),
		.id = cpu_to_le32(mr->id),
		.access = cpu_to_le32(mr->access),
		.page_off = cpu_to_le32(mr->page_off),
		.dev_mask = cpu_to_le32(mr->dev_mask),
	};
}

void te_wire_mr_get(const struct te_msg_array *msg, u32 i, struct te_msg_mr *mr)
{
	const struct te_wire_mr *w = msg->entries;

	w += i;
	*mr = (struct te_msg_mr) {
		.base = le64_to_cpu(w->base),
		.length = le64_to_cpu(w->length),
		.id = le32_to_cpu(w->id),
		.access = le32_to_cpu(w->access),
		.page_off = le32_to_cpu(w->page_off),
		.dev_mask = le32_to_cpu(w->dev_mask),
	};
}

static bool mr_ok(const struct te_wire_mr *w)
{
	u64 length = le64_to_cpu(w->length);
	u32 access = le32_to_cpu(w->access);
	u64 last;

	/* Half the address space is more than any process has. */
	return length && length <= S64_MAX &&
	       !check_add_overflow(le64_to_cpu(w->base), length - 1, &last) &&
	       access && !(access & ~(TE_REMOTE_READ | TE_REMOTE_WRITE)) &&
	       le32_to_cpu(w->page_off) < 1U << TE_WIRE_MAX_PAGE_SHIFT;
}

int te_wire_seg_mrs_decode(const void *buf, size_t len,
			   struct te_msg_array *msg)
{
	struct te_msg_array got;
	const struct te_wire_mr *w;
	u32 i;
	int ret;

	ret = array_open(buf, len, sizeof(*w), 1, &got);
	if (ret)
		return ret;
	w = got.entries;
	for (i = 0; i < got.nr; i++)
		if (!mr_ok(&w[i]))
			return -EBADMSG;
	*msg = got;
	return 0;
}

void te_wire_range_set(void *buf, u32 i, u32 first, u32 last)
{
	struct te_wire_range *w = array_entries(buf);

	w[i].first = cpu_to_le32(first);
	w[i].last = cpu_to_le32(last);
}

void te_wire_range_get(const struct te_msg_array *msg, u32 i, u32 *first,
		       u32 *last)
{
	const struct te_wire_range *w = msg->entries;

	*first = le32_to_cpu(w[i].first);
	*last = le32_to_cpu(w[i].last);
}

int te_wire_seg_mr_gone_decode(const void *buf, size_t len,
			       struct te_msg_array *msg)
{
	const struct te_wire_range *w;
	struct te_msg_array got;
	u32 i;
	int ret;

	ret = array_open(buf, len, sizeof(*w), 1, &got);
	if (ret)
		return ret;
	w = got.entries;
	for (i = 0; i < got.nr; i++)
		if (le32_to_cpu(w[i].first) > le32_to_cpu(w[i].last))
			return -EBADMSG;
	*msg = got;
	return 0;
}

void te_wire_far_set(void *buf, u32 i, u32 mr_id, u32 dev_mask)
{
	struct te_wire_far *w = array_entries(buf);

	w[i].mr_id = cpu_to_le32(mr_id);
	w[i].dev_mask = cpu_to_le32(dev_mask);
}

void te_wire_far_get(const struct te_msg_array *msg, u32 i, u32 *mr_id,
		     u32 *dev_mask)
{
	const struct te_wire_far *w = msg->entries;

	*mr_id = le32_to_cpu(w[i].mr_id);
	*dev_mask = le32_to_cpu(w[i].dev_mask);
}

int te_wire_seg_far_decode(const void *buf, size_t len,
			   struct te_msg_array *msg)
{
	return array_open(buf, len, sizeof(struct te_wire_far), 1, msg);
}

size_t te_wire_seg_array_encode(void *buf, u8 type, u32 cookie, u32 nr)
{
	switch (type) {
	case TE_WIRE_SEG_DEVS:
		return array_close(buf, type, cookie, nr,
				   sizeof(struct te_wire_dev));
	case TE_WIRE_SEG_MRS:
		return array_close(buf, type, cookie, nr,
				   sizeof(struct te_wire_mr));
	case TE_WIRE_SEG_FAR:
		return array_close(buf, type, cookie, nr,
				   sizeof(struct te_wire_far));
	default:
		return array_close(buf, type, cookie, nr,
				   sizeof(struct te_wire_range));
	}
}

void te_wire_key_set(void *buf, u32 i, u32 key)
{
	struct te_wire_seg_keys *w = buf + sizeof(struct te_wire_hdr);

	w->keys[i] = cpu_to_le32(key);
}

size_t te_wire_seg_keys_encode(void *buf, u32 cookie, u32 mr_id, u32 nr)
{
	struct te_wire_seg_keys *w;
	u32 length = sizeof(*w) + nr * sizeof(w->keys[0]);

	w = hdr_encode(buf, TE_WIRE_SEG_KEYS, length);
	w->cookie = cpu_to_le32(cookie);
	w->mr_id = cpu_to_le32(mr_id);
	w->nr = cpu_to_le32(nr);
	w->reserved = 0;
	return TE_WIRE_FRAME(length);
}

int te_wire_seg_keys_decode(const void *buf, size_t len,
			    struct te_msg_seg_keys *msg)
{
	const struct te_wire_seg_keys *w = buf;
	u32 nr;

	if (len < sizeof(*w) || w->reserved || !w->cookie)
		return -EBADMSG;
	nr = le32_to_cpu(w->nr);
	if (!nr || nr > TE_WIRE_MAX_PAYLOAD / sizeof(w->keys[0]) ||
	    len != sizeof(*w) + nr * sizeof(w->keys[0]))
		return -EBADMSG;

	*msg = (struct te_msg_seg_keys) {
		.cookie = le32_to_cpu(w->cookie),
		.mr_id = le32_to_cpu(w->mr_id),
		.nr = nr,
		.keys = w->keys,
	};
	return 0;
}

size_t te_wire_seg_dev_gone_encode(void *buf, u32 cookie, u32 dev_mask)
{
	struct te_wire_seg_dev_gone *w;

	w = hdr_encode(buf, TE_WIRE_SEG_DEV_GONE, sizeof(*w));
	w->cookie = cpu_to_le32(cookie);
	w->dev_mask = cpu_to_le32(dev_mask);
	return TE_WIRE_FRAME(sizeof(*w));
}

int te_wire_seg_dev_gone_decode(const void *buf, size_t len, u32 *cookie,
				u32 *dev_mask)
{
	const struct te_wire_seg_dev_gone *w = buf;

	if (len != sizeof(*w) || !w->cookie || !w->dev_mask)
		return -EBADMSG;
	*cookie = le32_to_cpu(w->cookie);
	*dev_mask = le32_to_cpu(w->dev_mask);
	return 0;
}

void te_wire_dev_key_set(void *buf, u32 i, u32 key)
{
	struct te_wire_seg_dev_keys *w = buf + sizeof(struct te_wire_hdr);

	w->keys[i] = cpu_to_le32(key);
}

size_t te_wire_seg_dev_keys_encode(void *buf,
				   const struct te_msg_seg_dev_keys *msg)
{
	struct te_wire_seg_dev_keys *w;
	u32 length = sizeof(*w) + msg->nr * sizeof(w->keys[0]);

	w = hdr_encode(buf, TE_WIRE_SEG_DEV_KEYS, length);
	w->cookie = cpu_to_le32(msg->cookie);
	w->mr_id = cpu_to_le32(msg->mr_id);
	w->dev_id = cpu_to_le32(msg->dev_id);
	w->first = cpu_to_le32(msg->first);
	w->nr = cpu_to_le32(msg->nr);
	w->reserved = 0;
	return TE_WIRE_FRAME(length);
}

int te_wire_seg_dev_keys_decode(const void *buf, size_t len,
				struct te_msg_seg_dev_keys *msg)
{
	const struct te_wire_seg_dev_keys *w = buf;
	u32 nr;

	if (len < sizeof(*w) || w->reserved || !w->cookie ||
	    le32_to_cpu(w->dev_id) >= TE_WIRE_MAX_DEVS)
		return -EBADMSG;
	nr = le32_to_cpu(w->nr);
	if (!nr || nr > TE_WIRE_MAX_PAYLOAD / sizeof(w->keys[0]) ||
	    len != sizeof(*w) + nr * sizeof(w->keys[0]) ||
	    le32_to_cpu(w->first) > U32_MAX - nr)
		return -EBADMSG;

	*msg = (struct te_msg_seg_dev_keys) {
		.cookie = le32_to_cpu(w->cookie),
		.mr_id = le32_to_cpu(w->mr_id),
		.dev_id = le32_to_cpu(w->dev_id),
		.first = le32_to_cpu(w->first),
		.nr = nr,
		.keys = w->keys,
	};
	return 0;
}

size_t te_wire_seg_end_encode(void *buf, u8 type, u32 number, u32 reason)
{
	struct te_wire_seg_end *w = hdr_encode(buf, type, sizeof(*w));

	w->number = cpu_to_le32(number);
	w->reason = cpu_to_le32(reason);
	return TE_WIRE_FRAME(sizeof(*w));
}

int te_wire_seg_end_decode(const void *buf, size_t len, u8 type, u32 *number,
			   u32 *reason)
{
	const struct te_wire_seg_end *w = buf;
	bool gone = type == TE_WIRE_SEG_GONE;

	/* A reason with SEG_GONE, and only there. */
	if (len != sizeof(*w) || !w->number || gone != !!w->reason)
		return -EBADMSG;
	*number = le32_to_cpu(w->number);
	*reason = le32_to_cpu(w->reason);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fields of single ioctls: each row spoils one field (or two that belong
 * together) of a good argument. What te can do decides some of the answers; they
 * are rows of their own.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/test.h"
#include "lib/calls.h"

FIXTURE(fields)
{
	struct world w;
	struct te_ioc_stats base;
	uint64_t features;
};

FIXTURE_SETUP(fields)
{
	struct te_ioc_info info;

	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, world_open(&self->w));
	ASSERT_EQ(0, te_stats(&self->base));
	ASSERT_EQ(0, raw_info(&info));
	self->features = info.features;
}

FIXTURE_TEARDOWN(fields)
{
	world_close(&self->w);
	CLEAN();
}

#define F(type, member) \
	__builtin_offsetof(struct te_ioc_##type, member), \
	sizeof(((struct te_ioc_##type *)0)->member)

struct row {
	const char *desc;
	unsigned long cmd;
	uint32_t at, bytes;
	uint64_t value;
	int want, want2;
};

static const struct row rows[] = {
	{ "no entries", TE_IOC_SETUP, F(setup, cq_entries), 0, 0, 0 },
	{ "one entry", TE_IOC_SETUP, F(setup, cq_entries), 1, 0, 0 },
	{ "odd entries", TE_IOC_SETUP, F(setup, cq_entries), 1000, 0, 0 },
	{ "most entries", TE_IOC_SETUP, F(setup, cq_entries),
	  TE_MAX_CQ_ENTRIES, 0, 0 },
	{ "an entry too many", TE_IOC_SETUP, F(setup, cq_entries),
	  TE_MAX_CQ_ENTRIES + 1, -E2BIG, -E2BIG },
	{ "2^31 entries", TE_IOC_SETUP, F(setup, cq_entries), 1U << 31,
	  -E2BIG, -E2BIG },
	{ "2^32 - 1 entries", TE_IOC_SETUP, F(setup, cq_entries), ~0U,
	  -E2BIG, -E2BIG },
	{ "one slot", TE_IOC_SETUP, F(setup, task_slots), 1, 0, 0 },
	{ "most slots", TE_IOC_SETUP, F(setup, task_slots), TE_MAX_TASK_SLOTS,
	  0, 0 },
	{ "a slot too many", TE_IOC_SETUP, F(setup, task_slots),
	  TE_MAX_TASK_SLOTS + 1, -E2BIG, -E2BIG },
	{ "2^32 - 1 slots", TE_IOC_SETUP, F(setup, task_slots), ~0U,
	  -E2BIG, -E2BIG },

	{ "descriptor that is none", TE_IOC_EVENTFD, F(eventfd, fd), 999,
	  -EBADF, -EBADF },
	{ "descriptor -2", TE_IOC_EVENTFD, F(eventfd, fd), -2ULL,
	  -EBADF, -EINVAL },
	{ "descriptor of stdin", TE_IOC_EVENTFD, F(eventfd, fd), 0,
	  -EINVAL, -EINVAL },
	{ "take away", TE_IOC_EVENTFD, F(eventfd, fd), -1ULL, 0, 0 },

	{ "length 0", TE_IOC_MR_REGISTER, F(mr_register, length), 0,
	  -EINVAL, -EINVAL },
	{ "access 0", TE_IOC_MR_REGISTER, F(mr_register, access), 0,
	  -EINVAL, -EINVAL },
	{ "access 16", TE_IOC_MR_REGISTER, F(mr_register, access), 17,
	  -EINVAL, -EINVAL },
	{ "access 2^31", TE_IOC_MR_REGISTER, F(mr_register, access),
	  1U << 31 | 1, -EINVAL, -EINVAL },
	{ "base without its flag", TE_IOC_MR_REGISTER, F(mr_register, base),
	  4096, -EINVAL, -EINVAL },
	{ "dmabuf_fd without its flag", TE_IOC_MR_REGISTER,
	  F(mr_register, dmabuf_fd), 1, -EINVAL, -EINVAL },
	{ "dmabuf_offset without its flag", TE_IOC_MR_REGISTER,
	  F(mr_register, dmabuf_offset), 4096, -EINVAL, -EINVAL },
	{ "location nowhere", TE_IOC_MR_REGISTER,
	  F(mr_register, location_len), 5, -EINVAL, -EINVAL },
	{ "location without a length", TE_IOC_MR_REGISTER,
	  F(mr_register, location), 4096, -EINVAL, -EINVAL },
	{ "location too long", TE_IOC_MR_REGISTER,
	  F(mr_register, location_len), TE_MAX_LOCATION + 1, -EINVAL, -E2BIG },

	{ "family 0", TE_IOC_SEGMENT_OPEN, F(segment_open, family), 0,
	  -EINVAL, -EINVAL },
	{ "family AF_UNIX", TE_IOC_SEGMENT_OPEN, F(segment_open, family),
	  AF_UNIX, -EINVAL, -EINVAL },
	{ "family -1", TE_IOC_SEGMENT_OPEN, F(segment_open, family), ~0U,
	  -EINVAL, -EINVAL },
	{ "port 65536", TE_IOC_SEGMENT_OPEN, F(segment_open, port), 65536,
	  -EINVAL, -EINVAL },
	{ "port -1", TE_IOC_SEGMENT_OPEN, F(segment_open, port), ~0U,
	  -EINVAL, -EINVAL },
	{ "port named", TE_IOC_SEGMENT_OPEN, F(segment_open, port),
	  TE_DEFAULT_PORT, 0, 0 },
	{ "a byte behind the IPv4 address", TE_IOC_SEGMENT_OPEN,
	  __builtin_offsetof(struct te_ioc_segment_open, addr) + 4, 1, 1,
	  -EINVAL, -EINVAL },
	{ "last byte of the address", TE_IOC_SEGMENT_OPEN,
	  __builtin_offsetof(struct te_ioc_segment_open, addr) + 15, 1, 1,
	  -EINVAL, -EINVAL },
	{ "scope of an IPv4 address", TE_IOC_SEGMENT_OPEN,
	  F(segment_open, scope_id), 1, -EINVAL, -EINVAL },
	{ "transport 4", TE_IOC_SEGMENT_OPEN, F(segment_open, transport), 4,
	  -EINVAL, -EINVAL },
	{ "transport -1", TE_IOC_SEGMENT_OPEN, F(segment_open, transport), ~0U,
	  -EINVAL, -EINVAL },
	{ "transport rdma", TE_IOC_SEGMENT_OPEN, F(segment_open, transport),
	  TE_RDMA, 0, 0 },
	{ "timeout by default", TE_IOC_SEGMENT_OPEN,
	  F(segment_open, timeout_ms), 0, 0, 0 },

	{ "no tasks", TE_IOC_BATCH_ALLOC, F(batch_alloc, nr_tasks), 0,
	  -EINVAL, -EINVAL },
	{ "more tasks than slots", TE_IOC_BATCH_ALLOC,
	  F(batch_alloc, nr_tasks), 4096, -E2BIG, -E2BIG },
	{ "2^32 - 1 tasks", TE_IOC_BATCH_ALLOC, F(batch_alloc, nr_tasks), ~0U,
	  -E2BIG, -E2BIG },
	{ "longest deadline", TE_IOC_BATCH_ALLOC, F(batch_alloc, deadline_ms),
	  TE_MAX_DEADLINE_MS, 0, 0 },
	{ "longer deadline", TE_IOC_BATCH_ALLOC, F(batch_alloc, deadline_ms),
	  TE_MAX_DEADLINE_MS + 1, -EINVAL, -EINVAL },
	{ "deadline -1", TE_IOC_BATCH_ALLOC, F(batch_alloc, deadline_ms), ~0U,
	  -EINVAL, -EINVAL },
	{ "entries 3", TE_IOC_BATCH_ALLOC, F(batch_alloc, entries), 3,
	  -EINVAL, -EINVAL },
	{ "entries -1", TE_IOC_BATCH_ALLOC, F(batch_alloc, entries), ~0U,
	  -EINVAL, -EINVAL },
	{ "an entry for each task", TE_IOC_BATCH_ALLOC,
	  F(batch_alloc, entries), TE_ENTRIES_TASK, 0, 0 },

	{ "no requests", TE_IOC_BATCH_SUBMIT, F(batch_submit, nr), 0,
	  -EINVAL, -EINVAL },
	{ "more than the batch takes", TE_IOC_BATCH_SUBMIT,
	  F(batch_submit, nr), 3, -E2BIG, -E2BIG },
	{ "2^32 - 1 requests", TE_IOC_BATCH_SUBMIT, F(batch_submit, nr), ~0U,
	  -E2BIG, -E2BIG },
	{ "requests at 0", TE_IOC_BATCH_SUBMIT, F(batch_submit, requests), 0,
	  -EFAULT, -EFAULT },
	{ "requests at 1", TE_IOC_BATCH_SUBMIT, F(batch_submit, requests), 1,
	  -EFAULT, -EFAULT },
	{ "requests in the kernel", TE_IOC_BATCH_SUBMIT,
	  F(batch_submit, requests), ~0ULL - 4095, -EFAULT, -EFAULT },
	{ "requests beyond 2^63", TE_IOC_BATCH_SUBMIT,
	  F(batch_submit, requests), 1ULL << 63, -EFAULT, -EFAULT },

	{ "a batch and entries", TE_IOC_BATCH_WAIT, F(batch_wait, nr_entries),
	  1, -EINVAL, -EINVAL },
	{ "neither batch nor entries", TE_IOC_BATCH_WAIT,
	  F(batch_wait, batch), 0, -EINVAL, -EINVAL },
	{ "timeout -2", TE_IOC_BATCH_WAIT, F(batch_wait, timeout_ms), -2ULL,
	  -EINVAL, -EINVAL },
	{ "timeout -2^31", TE_IOC_BATCH_WAIT, F(batch_wait, timeout_ms),
	  1U << 31, -EINVAL, -EINVAL },
	{ "timeout 2^31 - 1", TE_IOC_BATCH_WAIT, F(batch_wait, timeout_ms),
	  0x7fffffff, 0, 0 },

	{ "no entries, but where", TE_IOC_TOPOLOGY_SET,
	  F(topology_set, nr), 0, -EINVAL, -EINVAL },
	{ "an entry too many", TE_IOC_TOPOLOGY_SET, F(topology_set, nr),
	  TE_TOPOLOGY_LOCATIONS * TE_TOPOLOGY_DEVICES + 1, -E2BIG, -E2BIG },
	{ "2^32 - 1 entries", TE_IOC_TOPOLOGY_SET, F(topology_set, nr), ~0U,
	  -E2BIG, -E2BIG },
	{ "entries at 0", TE_IOC_TOPOLOGY_SET, F(topology_set, entries), 0,
	  -EINVAL, -EINVAL },
	{ "entries at 1", TE_IOC_TOPOLOGY_SET, F(topology_set, entries), 1,
	  -EFAULT, -EFAULT },
	{ "entries in the kernel", TE_IOC_TOPOLOGY_SET,
	  F(topology_set, entries), ~0ULL - 4095, -EFAULT, -EFAULT },
	{ "entries beyond 2^63", TE_IOC_TOPOLOGY_SET,
	  F(topology_set, entries), 1ULL << 63, -EFAULT, -EFAULT },
};

static int try(struct world *w, const struct row *row)
{
	const struct call *c = call_of(row->cmd);
	unsigned char arg[ARG_MAX_BYTES], before[ARG_MAX_BYTES];
	int ret;

	memset(arg, 0, sizeof(arg));
	ret = c->make(w, arg);
	if (ret)
		return -EBADE;
	memcpy(arg + row->at, &row->value, row->bytes);
	memcpy(before, arg, sizeof(arg));
	ret = raw_ioctl(w->fd, c->cmd, arg);
	if (ret && memcmp(before, arg, sizeof(arg)))
		ret = -EBADMSG;
	c->undo(w, arg, ret);
	return ret;
}

TEST_F_TIMEOUT(fields, all, SLOW)
{
	size_t i;
	int ret;

	for (i = 0; i < ROWS(rows); i++) {
		ret = try(&self->w, &rows[i]);
		EXPECT_ROW(true, ret == rows[i].want || ret == rows[i].want2,
			   "%s, %s: %d, not %d", call_of(rows[i].cmd)->name,
			   rows[i].desc, ret, rows[i].want);
		EXPECT_ROW(0, te_settle_to(&self->base), "%s", rows[i].desc);
	}
}

/* Things that are known but not built: only EOPNOTSUPP tells them apart. */
TEST_F_TIMEOUT(fields, features, SLOW)
{
	static const struct {
		uint64_t feature;
		struct row row;
	} table[] = {
		{ TE_FEAT_TCP, { "tcp", TE_IOC_SEGMENT_OPEN,
		  F(segment_open, transport), TE_TCP, 0, 0 } },
		{ TE_FEAT_LOCAL, { "local", TE_IOC_SEGMENT_OPEN,
		  F(segment_open, transport), TE_LOCAL, 0, 0 } },
		{ TE_FEAT_PRIORITY, { "priority", TE_IOC_BATCH_ALLOC,
		  F(batch_alloc, priority), 1, 0, 0 } },
		{ TE_FEAT_DMABUF, { "dma-buf", TE_IOC_MR_REGISTER,
		  F(mr_register, flags), TE_MR_DMABUF, -EINVAL, -EBADF } },
	};
	size_t i;
	int ret;

	for (i = 0; i < ROWS(table); i++) {
		const struct row *row = &table[i].row;

		ret = try(&self->w, row);
		if (self->features & table[i].feature)
			EXPECT_ROW(true, ret == row->want || ret == row->want2,
				   "%s: %d", row->desc, ret);
		else
			EXPECT_ROW(-EOPNOTSUPP, ret, "%s", row->desc);
	}
	EXPECT_EQ(0, te_settle_to(&self->base));
}

TEST_F(fields, tokens)
{
	struct te_ioc_segment_export e = {
		.size = sizeof(e),
		.name = (uintptr_t)"token",
		.name_len = 5,
		.token = (uintptr_t)"secret",
		.token_len = 6,
	};
	int built = self->features & TE_FEAT_TOKEN;
	struct te_ioc_segment_open o;

	raw_fill_open(&o, self->w.name);
	o.token = e.token;
	o.token_len = e.token_len;
	EXPECT_EQ(built ? -EACCES : -EOPNOTSUPP,
		  raw_ioctl(self->w.ctx.fd, TE_IOC_SEGMENT_OPEN, &o));
	EXPECT_EQ(built ? 0 : -EOPNOTSUPP,
		  raw_ioctl(self->w.ctx.fd, TE_IOC_SEGMENT_EXPORT, &e));
}

TEST_F(fields, info)
{
	struct te_ioc_info a, b;
	static const uint8_t none[16];

	memset(&a, 0xff, sizeof(a));
	a.size = sizeof(a);
	a.flags = 0;
	ASSERT_EQ(0, raw_ioctl(self->w.ctx.fd, TE_IOC_INFO, &a));
	EXPECT_EQ(sizeof(a), a.size);
	EXPECT_EQ(0, a.flags);
	EXPECT_EQ(TE_UAPI_VERSION, a.version);
	EXPECT_EQ(TE_MAX_CQ_ENTRIES, a.max_cq_entries);
	EXPECT_EQ(TE_MAX_TASK_SLOTS, a.max_task_slots);
	EXPECT_EQ(0, a.slice_bytes % 4096);
	EXPECT_NE(0, a.slice_bytes);
	EXPECT_EQ(0, a.features >> 11);
	EXPECT_EQ(TE_FEAT_RDMA | TE_FEAT_CANCEL | TE_FEAT_LOCATION |
		  TE_FEAT_TOPOLOGY,
		  a.features & (TE_FEAT_RDMA | TE_FEAT_CANCEL |
				TE_FEAT_LOCATION | TE_FEAT_TOPOLOGY));
	EXPECT_NE(0, memcmp(a.node_id, none, sizeof(none)));
	ASSERT_EQ(0, raw_info(&b));
	EXPECT_EQ(0, memcmp(&a, &b, sizeof(a)));
}

TEST_F(fields, setup_answers)
{
	static const struct {
		uint32_t entries, slots, entries_out, slots_out;
	} table[] = {
		{ 0, 0, 4096, 4096 },
		{ 1, 2, 1, 2 },
		{ 1000, 1000, 1024, 1024 },
		{ 65, 1, 128, 2 },
		{ TE_MAX_CQ_ENTRIES, TE_MAX_TASK_SLOTS, TE_MAX_CQ_ENTRIES,
		  TE_MAX_TASK_SLOTS },
	};
	struct raw r;
	size_t i;

	for (i = 0; i < ROWS(table); i++) {
		ASSERT_EQ(0, raw_open(&r, table[i].entries, table[i].slots));
		EXPECT_ROW(table[i].entries_out, r.setup.cq_entries, "%zu", i);
		EXPECT_ROW(table[i].slots_out, r.setup.task_slots, "%zu", i);
		EXPECT_LE(r.setup.task_slots * 32ULL, r.setup.status_bytes);
		EXPECT_LE(r.setup.cq_entries * 32ULL + TE_RING_ENTRIES,
			  r.setup.ring_bytes);
		EXPECT_EQ(0, r.ring->head);
		EXPECT_EQ(0, r.ring->tail);
		EXPECT_EQ(0, r.slots[0].batch);
		EXPECT_EQ(0, r.slots[r.setup.task_slots - 1].batch);
		raw_close(&r);
	}
}

/* Words that are only for the answer may hold anything before. */
TEST_F(fields, answers_in_dirty_words)
{
	static const struct row table[] = {
		{ "status_bytes", TE_IOC_SETUP, F(setup, status_bytes), ~0ULL,
		  0, 0 },
		{ "ring_bytes", TE_IOC_SETUP, F(setup, ring_bytes), 1, 0, 0 },
		{ "mr", TE_IOC_MR_REGISTER, F(mr_register, mr), 1, 0, 0 },
		{ "segment", TE_IOC_SEGMENT_OPEN, F(segment_open, segment), 1,
		  0, 0 },
		{ "nr", TE_IOC_SEGMENT_INFO, F(segment_info, nr), 1, 0, 0 },
		{ "transport", TE_IOC_SEGMENT_INFO,
		  F(segment_info, transport), 1, 0, 0 },
		{ "able", TE_IOC_SEGMENT_INFO, F(segment_info, able), 1, 0, 0 },
		{ "batch", TE_IOC_BATCH_ALLOC, F(batch_alloc, batch), 1, 0, 0 },
		{ "version", TE_IOC_INFO, F(info, version), 1, 0, 0 },
		{ "slices", TE_IOC_STATS, F(stats, slices), 1, 0, 0 },
	};
	size_t i;

	for (i = 0; i < ROWS(table); i++)
		EXPECT_ROW(0, try(&self->w, &table[i]), "%s", table[i].desc);
}

/* The answer is by ascending address; a short buffer gets the first ones. */
TEST_F(fields, segment_info)
{
	struct te_buffer buf[4];
	struct te_ioc_segment_info a = {
		.size = sizeof(a),
		.bufs = (uintptr_t)buf,
		.max = 2,
	};
	uint32_t id, i;

	for (i = 3; i-- > 0;)
		MUST(raw_mr(self->w.target.fd, self->w.mem + i * 8192,
			    1000 + i, TE_REMOTE_READ << (i & 1), &id));
	/* One that was opened after that knows all of them at once. */
	ASSERT_EQ(0, raw_segment(self->w.ctx.fd, self->w.name, &a.segment));
	memset(buf, 0xee, sizeof(buf));
	ASSERT_EQ(0, raw_ioctl(self->w.ctx.fd, TE_IOC_SEGMENT_INFO, &a));
	EXPECT_EQ(3, a.nr);
	EXPECT_EQ(2, a.max);
	EXPECT_EQ(TE_RDMA, a.transport);
	EXPECT_EQ(TE_RDMA, a.forced);
	EXPECT_EQ(1 << TE_RDMA | 1 << TE_TCP | 1 << TE_LOCAL, a.known);
	EXPECT_EQ(a.known, a.able);
	EXPECT_EQ(0, a.reserved);
	for (i = 0; i < 2; i++) {
		EXPECT_EQ((uintptr_t)self->w.mem + i * 8192, buf[i].addr);
		EXPECT_EQ(1000 + i, buf[i].length);
		EXPECT_EQ(TE_REMOTE_READ << (i & 1), buf[i].access);
		EXPECT_EQ(0, buf[i].reserved);
	}
	EXPECT_EQ(0xeeeeeeeeeeeeeeeeULL, buf[2].addr);

	a.max = 4;
	a.nr = a.transport = 0;
	ASSERT_EQ(0, raw_ioctl(self->w.ctx.fd, TE_IOC_SEGMENT_INFO, &a));
	EXPECT_EQ(3, a.max);
	EXPECT_EQ(1002, buf[2].length);
	EXPECT_EQ(0xeeeeeeeeeeeeeeeeULL, buf[3].addr);

	a.max = 4;
	a.nr = a.transport = 0;
	a.bufs = 0;
	EXPECT_EQ(-EFAULT, raw_ioctl(self->w.ctx.fd, TE_IOC_SEGMENT_INFO, &a));
	a.max = 0;
	EXPECT_EQ(0, raw_ioctl(self->w.ctx.fd, TE_IOC_SEGMENT_INFO, &a));
	EXPECT_EQ(3, a.nr);
	a.nr = a.transport = 0;
	a.max = ~0U;
	a.bufs = (uintptr_t)buf;
	EXPECT_EQ(0, raw_ioctl(self->w.ctx.fd, TE_IOC_SEGMENT_INFO, &a));
	EXPECT_EQ(3, a.max);
}

TEST_HARNESS_MAIN

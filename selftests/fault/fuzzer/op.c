// SPDX-License-Identifier: GPL-2.0-only
/* op: see op.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "fault/fuzzer/op.h"

#define SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define ARG_MAX_BYTES	4096
/* Requests, and rows of a matrix, end where a lane's room does: behind is no memory. */
#define MAX_REQUESTS	64
#define MAX_ENTRIES	128

bool op_verbose;

char *pick_place(uint32_t v)
{
	static const uint8_t usual[] = {
		PIECE_A, PIECE_A, PIECE_B, PIECE_B, PIECE_FRESH, PIECE_FRESH,
		PIECE_FILE, PIECE_COPY,
	};
	char *at = world.arena;

	if (odd(&v))
		at += v % ARENA;
	else if (v % 16 == 0)
		at = piece_at(v / 16 % NR_PIECES);
	else
		at = piece_at(usual[v / 16 % SIZE(usual)]);
	v /= 256;
	switch (v % 4) {
	case 0: return at;
	case 1: return at + v / 4 % PIECE;
	case 2: return at + v / 4 % 4 * (PIECE / 4);
	default: return at + (v / 4 % PIECE & ~4095UL);
	}
}

size_t pick_room(uint32_t v)
{
	static const uint32_t usual[] = {
		4096, 4096, 8192, PIECE / 4, PIECE / 4, PIECE, PIECE + 4096,
		2 * PIECE,
	};

	if (v % 2)
		return v / 2 % PIECE + 1;
	return usual[v / 2 % SIZE(usual)];
}

/* PICK(name, values...): each as often as it is listed. */
#define PICK(name, ...)							\
static uint64_t pick_##name(const struct call *c, uint32_t v)		\
{									\
	static const uint64_t of[] = { __VA_ARGS__ };			\
									\
	(void)c;							\
	return of[v % SIZE(of)];					\
}

#define HUGE_32	0xffffffff
#define HUGE_64	0xffffffffffffffff

/* The largest are slow to get, and have no code of their own. */
PICK(cq_entries, 1, 2, 3, 16, 16, 16, 0, 64, 1024, 65537, HUGE_32)
PICK(task_slots, 1, 2, 8, 64, 64, 64, 0, 100, 1024, (1 << 20) + 1, HUGE_32)
PICK(family, AF_INET, AF_INET, AF_INET, AF_INET, AF_INET, AF_INET, AF_INET,
     AF_INET, AF_INET, AF_INET, AF_INET6, AF_INET6, AF_INET6, AF_INET6,
     AF_INET6, AF_UNIX)
PICK(transport, TE_ANY, TE_ANY, TE_ANY, TE_ANY, TE_ANY, TE_ANY, TE_ANY, TE_RDMA,
     TE_RDMA, TE_RDMA, TE_RDMA, TE_TCP, TE_TCP, TE_LOCAL, TE_LOCAL, 4)
PICK(timeout, 0, 1, 2, 10, 100, 5000, 5000, 5000, 0x7fffffff, 0x80000000)
PICK(nr_tasks, 1, 1, 2, 2, 3, 4, 4, 8, 8, 8, 15, 31, 63, 64, 0, HUGE_32)
PICK(deadline, 0, 0, 0, 1, 5, 20, 100, TE_MAX_DEADLINE_MS,
     TE_MAX_DEADLINE_MS + 1)
PICK(entries, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 3)
PICK(nr, 1, 1, 1, 1, 1, 2, 2, 3, 4, 8, 8, 8, 9, 32, 0, HUGE_32)
PICK(nr_entries, 1, 1, 1, 1, 2, 2, 4, 16, 17, 0, HUGE_32)
PICK(wait_ms, 0, 0, 0, 0, 1, 1, 1, 1, 20, 20, 20, 20, 20, 100, HUGE_32,
     0x80000000)
PICK(max, 0, 1, 2, 8, 64, 100, HUGE_32)
PICK(rows, 0, 0, 1, 1, 2, 2, 3, 4, 6, 8, 17, MAX_ENTRIES,
     TE_TOPOLOGY_LOCATIONS * TE_TOPOLOGY_DEVICES,
     TE_TOPOLOGY_LOCATIONS * TE_TOPOLOGY_DEVICES + 1, HUGE_32)

static uint64_t pick_zero(const struct call *c, uint32_t v)
{
	(void)c;
	if (!odd(&v) || v % 4)
		return 0;
	return v / 4 % 2 ? 1U << v / 8 % 32 : v;
}

#define pick_no_flags	pick_zero

/* Fields that need a feature which is not there: seldom set. */
static uint64_t pick_pointer(const struct call *c, uint32_t v)
{
	return odd(&v) ? (uintptr_t)c->room + v % ROOM : 0;
}

static uint64_t pick_reg_flags(const struct call *c, uint32_t v)
{
	if (odd(&v))
		return pick_no_flags(c, v);
	return v % 4 ? 0 : v % 32 ? TE_MR_BASE : TE_MR_DMABUF;
}

static uint64_t pick_force(const struct call *c, uint32_t v)
{
	return odd(&v) ? pick_no_flags(c, v) : v % 2 * TE_FORCE;
}

static uint64_t pick_addr(const struct call *c, uint32_t v)
{
	static const uint64_t strange[] = {
		0, 4096, 0x7ffffffff000, 0x800000000000, HUGE_64, -PIECE,
		0xffff888000000000,
	};

	if (odd(&v) && v % 2)
		return strange[v / 2 % SIZE(strange)];
	/* Most steps shall meet others at the same place. */
	return v % 4 ? (uintptr_t)pick_place(v / 4) :
	       (uintptr_t)piece_at(c->ctx % 2);
}

static uint64_t pick_length(const struct call *c, uint32_t v)
{
	static const uint64_t strange[] = {
		0, HUGE_64, 1ULL << 63, 1ULL << 40, ARENA,
	};

	(void)c;
	if (odd(&v))
		return strange[v % SIZE(strange)];
	return pick_room(v);
}

static uint64_t pick_access(const struct call *c, uint32_t v)
{
	(void)c;
	return odd(&v) ? v : v % 2 ? 15 : v / 2 % 16;
}

static uint64_t pick_base(const struct call *c, uint32_t v)
{
	const struct te_ioc_mr_register *a = (void *)c->arg;

	if (!(a->flags & TE_MR_BASE))
		return pick_zero(c, v);
	return (odd(&v) ? v : a->addr % 4096) + (uint64_t)(v % 4096) * 4096;
}

static uint64_t pick_id(const struct call *c, enum id_kind kind, uint32_t v)
{
	const uint32_t *ids = world.ids[c->ctx][kind];
	uint32_t id, i;

	if (odd(&v))
		ids = world.ids[v / 4 % NR_CTX][v / 16 % NR_IDS];
	for (i = 0; i < KEPT; i++) {
		id = __atomic_load_n(&ids[(v + i) % KEPT], __ATOMIC_RELAXED);
		if (id)
			break;
	}
	v /= 4 * NR_CTX * NR_IDS;
	return odd(&v) ? id + v : id;
}

static uint64_t pick_mr(const struct call *c, uint32_t v)
{
	return pick_id(c, ID_MR, v);
}

static uint64_t pick_segment(const struct call *c, uint32_t v)
{
	return pick_id(c, ID_SEGMENT, v);
}

static uint64_t pick_batch(const struct call *c, uint32_t v)
{
	return pick_id(c, ID_BATCH, v);
}

/* A wait for entries names no batch. */
static uint64_t pick_wait_batch(const struct call *c, uint32_t v)
{
	return v % 4 ? pick_batch(c, v / 4) : 0;
}

static uint64_t pick_wait_entries(const struct call *c, uint32_t v)
{
	const struct te_ioc_batch_wait *a = (void *)c->arg;

	return a->batch ? pick_zero(c, v) : pick_nr_entries(c, v);
}

static uint64_t pick_fd(const struct call *c, uint32_t v)
{
	const int fds[] = { -1, -1, world.efd, world.efd, c->fd, 99, -2 };

	return (uint32_t)fds[v % SIZE(fds)];
}

/* Of memory and in matrices, so that they meet; the last ones are none. */
static const char *const locations[] = {
	"*", "cpu:0", "gpu0", "gpu1", "a.b_c-d:7", "cpu:1", "cpu:1023",
	"0123456789.123456789.123456789.",
#define NR_LOCATIONS 8
	"cpu:1024", "cpu:", "cpu:00", "two words", "",
	"0123456789.123456789.123456789.1",
};

static uint64_t pick_location(const struct call *c, uint32_t v)
{
	uint32_t nr = SIZE(locations);

	if (odd(&v))
		return pick_addr(c, v);
	if (odd(&v))
		return (uintptr_t)locations[v % nr];
	return v % 2 ? (uintptr_t)locations[v / 2 % NR_LOCATIONS] : 0;
}

/* Of a name among those its length, nearly always. */
static uint64_t pick_location_len(const struct call *c, uint32_t v)
{
	const struct te_ioc_mr_register *a = (void *)c->arg;
	size_t i;

	if (odd(&v))
		return v % 64;
	for (i = 0; i < SIZE(locations); i++)
		if (a->location == (uintptr_t)locations[i])
			return strlen(locations[i]);
	return a->location ? v % TE_MAX_LOCATION : 0;
}

static uint64_t pick_own_name(const struct call *c, uint32_t v)
{
	return odd(&v) ? pick_addr(c, v) : (uintptr_t)world.names[c->ctx];
}

static uint64_t pick_name(const struct call *c, uint32_t v)
{
	return odd(&v) ? pick_addr(c, v) :
			 (uintptr_t)world.names[v % 8 ? v / 8 % 2 : c->ctx];
}

static uint64_t pick_name_len(const struct call *c, uint32_t v)
{
	static const uint32_t strange[] = {
		0, 1, NAME_LEN - 1, NAME_LEN + 1, TE_MAX_NAME, TE_MAX_NAME + 1,
	};

	(void)c;
	return odd(&v) ? strange[v % SIZE(strange)] : NAME_LEN;
}

static uint64_t pick_port(const struct call *c, uint32_t v)
{
	(void)c;
	return odd(&v) ? v : v % 2 ? TE_DEFAULT_PORT : 0;
}

/* The ends of the wire, this host by itself, and where nobody is. */
static uint64_t pick_peer(const struct call *c, uint32_t v)
{
	static const char *const v4[] = { "127.0.0.1", "10.77.0.99", "0.0.0.0",
					  "224.0.0.1" };
	static const char *const v6[] = { "fd77::1", "fd77::1", "fd77::2",
					  "fd77::2", "::1", "fe80::1" };
	struct te_ioc_segment_open *a = (void *)c->arg;
	const char *addr;

	if (a->family == AF_INET6) {
		inet_pton(AF_INET6, v6[v % SIZE(v6)], a->addr);
		return 0;
	}
	addr = getenv(v % 2 ? "TE_ADDR_A" : "TE_ADDR_B");
	if (odd(&v) || !addr)
		addr = v4[v % SIZE(v4)];
	inet_pton(AF_INET, addr, a->addr);
	return 0;
}

/* Room for something that is written: the lane's, or anywhere. */
static uint64_t pick_room_addr(const struct call *c, uint32_t v)
{
	return odd(&v) ? pick_addr(c, v) :
			 (uintptr_t)c->room + ROOM - v % 64 * 24;
}

/* Requests of a call: as they come, long ones that stay in flight, or wild. */
enum kind { PLAIN, LONG, WILD, NR_KINDS };

static struct te_request make_request(const struct call *c, struct rng *r,
				      enum kind kind)
{
	uint32_t from = kind == LONG ? rnd(r) % 64 : rnd(r) % PIECE;
	uint32_t to = kind == LONG ? 0 : rnd(r) % PIECE, room;
	unsigned int theirs = !(c->ctx % 2);
	struct te_request q = {
		.opcode = rnd_below(r, 2),
		.segment = pick_segment(c, rnd(r)),
		.local_addr = (uintptr_t)piece_at(!theirs) + from,
		.remote_addr = (uintptr_t)piece_at(theirs) + to,
		.user_data = rnd(r),
	};

	room = PIECE - (from > to ? from : to);
	q.length = kind == LONG ? room : rnd_below(r, room + 1);
	if (kind != WILD)
		return q;
	switch (rnd_below(r, 8)) {
	case 0: q.local_addr = pick_addr(c, rnd(r)); break;
	case 1: q.remote_addr = pick_addr(c, rnd(r)); break;
	case 2: q.length = pick_length(c, rnd(r)); break;
	case 3: q.length = 0; break;
	case 4: q.opcode = rnd_below(r, 4); break;
	case 5: q.flags = pick_zero(c, rnd(r)); break;
	case 6: q.reserved = pick_zero(c, rnd(r)); break;
	}
	return q;
}

static uint64_t pick_requests(const struct call *c, uint32_t v)
{
	const struct te_ioc_batch_submit *a = (void *)c->arg;
	uint32_t nr = a->nr < MAX_REQUESTS ? a->nr : MAX_REQUESTS, i;
	struct te_request *q = (void *)(c->room + ROOM);
	struct rng r = { v };

	if (odd(&v))
		return pick_addr(c, v);
	q -= nr;
	for (i = 0; i < nr; i++)
		q[i] = make_request(c, &r, v % NR_KINDS);
	return (uintptr_t)q;
}

/* Each pair of location and device once, or many locations; or wild. */
static void make_entry(struct te_topology_entry *e, struct rng *r, uint32_t i,
		       enum kind kind)
{
	const char *devices[] = { getenv("TE_DEV_A"), getenv("TE_DEV_B"),
				  "rxe_a/1", "mlx5_0", "mlx5_0/1" };
	uint32_t device = i % SIZE(devices), location = i / SIZE(devices);

	if (kind == LONG) {
		device = 0;
		location = i;
	}
	memset(e, 0, sizeof(*e));
	if (location < NR_LOCATIONS)
		strcpy((char *)e->location, locations[location]);
	else
		sprintf((char *)e->location, "l%u", location);
	strncpy((char *)e->device, devices[device] ?: "rxe_a",
		TE_MAX_DEVICE);
	e->tier = rnd_below(r, TE_NR_TIERS);
	if (kind != WILD)
		return;
	switch (rnd_below(r, 8)) {
	case 0: e->tier = rnd_below(r, 4); break;
	case 1: e->reserved = rnd(r); break;
	case 2: memset(e->location, 'x', sizeof(e->location)); break;
	case 3: memset(e->device, 'x', sizeof(e->device)); break;
	case 4: e->location[TE_MAX_LOCATION] = 'x'; break;
	case 5: memset(e, rnd(r), sizeof(*e)); break;
	}
}

static uint64_t pick_set_entries(const struct call *c, uint32_t v)
{
	const struct te_ioc_topology_set *a = (void *)c->arg;
	uint32_t nr = a->nr < MAX_ENTRIES ? a->nr : MAX_ENTRIES, i;
	struct te_topology_entry *e = (void *)(c->room + ROOM);
	struct rng r = { v };

	if (odd(&v))
		return pick_addr(c, v);
	if (!a->nr)
		return 0;
	e -= nr;
	for (i = 0; i < nr; i++)
		make_entry(&e[i], &r, i, v % NR_KINDS);
	return (uintptr_t)e;
}

#define F(type, member, how) {						\
	.off = offsetof(struct te_ioc_##type, member),			\
	.bytes = sizeof(((struct te_ioc_##type *)0)->member),		\
	.pick = pick_##how,						\
}
#define IOCTL(nr, type, often)						\
	.name = #nr, .weight = (often), .cmd = TE_IOC_##nr,		\
	.size = sizeof(struct te_ioc_##type)
#define ID(type, member, kind)						\
	.id = (kind), .id_off = offsetof(struct te_ioc_##type, member)

const struct op ops[] = {
	{ IOCTL(INFO, info, 2), .fields = { F(info, flags, no_flags) } },
	{ IOCTL(STATS, stats, 2), .fields = { F(stats, flags, no_flags) } },
	{ IOCTL(SETUP, setup, 7), .fields = {
		F(setup, flags, no_flags),
		F(setup, cq_entries, cq_entries),
		F(setup, task_slots, task_slots) } },
	{ IOCTL(EVENTFD, eventfd, 4), .fields = {
		F(eventfd, flags, no_flags),
		F(eventfd, fd, fd),
		F(eventfd, reserved, zero) } },
	{ IOCTL(MR_REGISTER, mr_register, 30), ID(mr_register, mr, ID_MR),
	  .fields = {
		F(mr_register, flags, reg_flags),
		F(mr_register, addr, addr),
		F(mr_register, length, length),
		F(mr_register, access, access),
		F(mr_register, dmabuf_fd, zero),
		F(mr_register, base, base),
		F(mr_register, dmabuf_offset, zero),
		F(mr_register, location, location),
		F(mr_register, location_len, location_len) } },
	{ IOCTL(MR_UNREGISTER, mr_unregister, 12), .fields = {
		F(mr_unregister, flags, force),
		F(mr_unregister, mr, mr),
		F(mr_unregister, reserved, zero) } },
	{ IOCTL(SEGMENT_EXPORT, segment_export, 5), .fields = {
		F(segment_export, flags, no_flags),
		F(segment_export, name, own_name),
		F(segment_export, name_len, name_len),
		F(segment_export, token_len, zero),
		F(segment_export, token, pointer) } },
	{ IOCTL(SEGMENT_OPEN, segment_open, 16),
	  ID(segment_open, segment, ID_SEGMENT), .fields = {
		F(segment_open, flags, no_flags),
		F(segment_open, family, family),
		F(segment_open, port, port),
		{ .pick = pick_peer },
		F(segment_open, scope_id, zero),
		F(segment_open, transport, transport),
		F(segment_open, name, name),
		F(segment_open, name_len, name_len),
		F(segment_open, token_len, zero),
		F(segment_open, token, pointer),
		F(segment_open, timeout_ms, timeout) } },
	{ IOCTL(SEGMENT_INFO, segment_info, 10), .fields = {
		F(segment_info, flags, no_flags),
		F(segment_info, segment, segment),
		F(segment_info, max, max),
		F(segment_info, bufs, room_addr) } },
	{ IOCTL(SEGMENT_CLOSE, segment_close, 3), .fields = {
		F(segment_close, flags, no_flags),
		F(segment_close, segment, segment),
		F(segment_close, reserved, zero) } },
	{ IOCTL(BATCH_ALLOC, batch_alloc, 30),
	  ID(batch_alloc, batch, ID_BATCH), .fields = {
		F(batch_alloc, flags, no_flags),
		F(batch_alloc, nr_tasks, nr_tasks),
		F(batch_alloc, deadline_ms, deadline),
		F(batch_alloc, priority, zero),
		F(batch_alloc, entries, entries),
		F(batch_alloc, reserved, zero) } },
	{ IOCTL(BATCH_SUBMIT, batch_submit, 80), .fields = {
		F(batch_submit, flags, no_flags),
		F(batch_submit, batch, batch),
		F(batch_submit, nr, nr),
		F(batch_submit, requests, requests) } },
	{ IOCTL(BATCH_WAIT, batch_wait, 24), .fields = {
		F(batch_wait, flags, no_flags),
		F(batch_wait, batch, wait_batch),
		F(batch_wait, nr_entries, wait_entries),
		F(batch_wait, timeout_ms, wait_ms),
		F(batch_wait, reserved, zero) } },
	{ IOCTL(BATCH_CANCEL, batch_cancel, 8), .fields = {
		F(batch_cancel, flags, no_flags),
		F(batch_cancel, batch, batch),
		F(batch_cancel, reserved, zero) } },
	{ IOCTL(BATCH_FREE, batch_free, 10), .fields = {
		F(batch_free, flags, no_flags),
		F(batch_free, batch, batch),
		F(batch_free, reserved, zero) } },
	{ IOCTL(TOPOLOGY_SET, topology_set, 5), .fields = {
		F(topology_set, flags, no_flags),
		F(topology_set, nr, rows),
		F(topology_set, reserved, zero),
		F(topology_set, entries, set_entries) } },
	{ IOCTL(TOPOLOGY_GET, topology_get, 3), .fields = {
		F(topology_get, flags, no_flags),
		F(topology_get, max, max),
		F(topology_get, entries, room_addr) } },
	{ .name = "open", .weight = 4, .run = act_open },
	{ .name = "close", .weight = 3, .run = act_close },
	{ .name = "dup", .weight = 4, .run = act_dup },
	{ .name = "mmap", .weight = 10, .run = act_map },
	{ .name = "munmap", .weight = 4, .run = act_unmap },
	{ .name = "scribble", .weight = 14, .run = act_scribble },
	{ .name = "poll", .weight = 6, .run = act_poll },
	{ .name = "file", .weight = 4, .run = act_file },
	{ .name = "memory", .weight = 12, .run = act_memory },
	{ .name = "truncate", .weight = 3, .run = act_truncate },
	{ .name = "fork", .weight = 2, .run = act_fork },
	{ .name = "child", .weight = 2, .run = act_child },
};

const unsigned int nr_ops = SIZE(ops);

/* Size as the caller says: shorter, longer, with a tail that is not zero. */
static uint32_t pick_size(const struct call *c, uint32_t v)
{
	uint32_t size = c->op->size;

	if (!odd(&v))
		return size;
	switch (v % 4) {
	case 0: return v / 4 % (size + 1);
	case 1: return size + v / 4 % (ARG_MAX_BYTES + 2);
	case 2: return v / 4;
	default:
		c->arg[size] = 1;
		return size + 1;
	}
}

/* Where the argument lies: seldom not in the lane's room. */
static char *pick_arg(const struct call *c, uint32_t where)
{
	char *at;

	if (where % 16)
		return c->arg;
	where /= 16;
	if (where % 4 == 0)
		at = pick_place(c->step->v[0]);
	else if (where % 4 == 1)
		/* No answer can be written. */
		at = piece_at(PIECE_READ);
	else
		/* Its end is the end of the memory, or of one kind of it. */
		at = piece_at(where / 4 % NR_PIECES) - c->op->size;
	poke(at, c->arg, ARG_MAX_BYTES);
	return at;
}

static void show(const struct call *c, const char *at, long ret)
{
	uint32_t i, word;

	printf("# %s(%d", c->op->name, c->fd);
	if (!c->op->run) {
		printf(", %s", at == c->arg ? "" : "elsewhere ");
		for (i = 0; i < c->op->size; i += 4) {
			memcpy(&word, c->arg + i, 4);
			printf("%s%x", i ? " " : "", word);
		}
	}
	printf(") = %ld\n", ret);
	fflush(stdout);
}

static void fill(struct call *c)
{
	const struct field *f = c->op->fields;
	uint64_t value;
	int i;

	memset(c->arg, 0, ARG_MAX_BYTES);
	for (i = 0; i < STEP_VALUES && f[i].pick; i++) {
		value = f[i].pick(c, c->step->v[i]);
		memcpy(c->arg + f[i].off, &value, f[i].bytes);
	}
	value = pick_size(c, c->step->where | c->step->keep << 8);
	memcpy(c->arg, &value, 4);
}

static void keep(const struct call *c, const char *at)
{
	const struct op *op = c->op;
	uint32_t id;

	if (op->id && peek(at + op->id_off, &id, 4) == 4)
		__atomic_store_n(&world.ids[c->ctx][op->id]
					   [c->step->keep % KEPT],
				 id, __ATOMIC_RELAXED);
	if (op->cmd == TE_IOC_SETUP)
		peek(at, &world.setup[c->ctx], sizeof(world.setup[c->ctx]));
}

static long run_ioctl(struct call *c)
{
	char *at;
	long ret;

	fill(c);
	at = pick_arg(c, c->step->where);
	ret = ioctl(c->fd, c->op->cmd, at) < 0 ? -errno : 0;
	if (!ret)
		keep(c, at);
	if (op_verbose)
		show(c, at, ret);
	return ret;
}

/* The table in linux/te.h, and what a descriptor by itself answers. */
static bool in_contract(long ret)
{
	static const short may[] = {
		ENOTTY, E2BIG, EINVAL, EOPNOTSUPP, EFAULT, ENOENT, EEXIST,
		EPERM, EACCES, ENOSPC, ERANGE, EOVERFLOW, ENOMEM, EBUSY, ENXIO,
		EBADFD, ETIME, EINTR, ETIMEDOUT, ECANCELED, ESTALE,
		ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, ECONNRESET, EPROTO,
		EREMOTEIO, EIO, ENODEV, EADDRINUSE, EBADF,
	};
	size_t i;

	for (i = 0; i < SIZE(may); i++)
		if (ret == -may[i])
			return true;
	return ret >= 0;
}

long op_run(const struct step *step, char *room, bool *good)
{
	static const uint8_t ctxs[] = { 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1,
					1, 2, 3 };
	struct call c = {
		.step = step,
		.op = &ops[step->op % nr_ops],
		.ctx = ctxs[step->ctx % SIZE(ctxs)],
		.room = room,
		.arg = room,
	};
	long ret;

	/* Seldom the duplicate. */
	c.fd = FD_BASE + c.ctx + (step->ctx / 16 ? 0 : NR_CTX);
	if (!c.op->run) {
		ret = run_ioctl(&c);
		*good = in_contract(ret);
	} else {
		ret = c.op->run(&c);
		*good = ret != -EPROTOTYPE;
		if (op_verbose)
			show(&c, c.arg, ret);
	}
	if (!*good)
		printf("# %s on context %u answered %ld\n", c.op->name, c.ctx,
		       ret);
	return ret;
}

// SPDX-License-Identifier: GPL-2.0-only
/* world: see world.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fault/fuzzer/world.h"
#include "lib/raw.h"

#define ALL (TE_LOCAL_READ | TE_LOCAL_WRITE | TE_REMOTE_READ | TE_REMOTE_WRITE)

struct world world;

static const struct {
	int prot, flags;
	off_t offset;	/* in the memfd, whose length is one piece */
} pieces[NR_PIECES] = {
	[PIECE_A] = { PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, 0 },
	[PIECE_B] = { PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, 0 },
	[PIECE_FRESH] = { PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, 0 },
	[PIECE_FILE] = { PROT_READ | PROT_WRITE, MAP_SHARED, 0 },
	[PIECE_SHORT] = { PROT_READ | PROT_WRITE, MAP_SHARED, PIECE / 2 },
	[PIECE_COPY] = { PROT_READ | PROT_WRITE, MAP_PRIVATE, 0 },
	[PIECE_READ] = { PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, 0 },
	[PIECE_NONE] = { PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, 0 },
};

static int reserve(void *at, size_t len, int fixed)
{
	void *p = mmap(at, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS |
		       MAP_NORESERVE | fixed, -1, 0);

	if (p == MAP_FAILED)
		return -errno;
	world.arena = fixed ? world.arena : p;
	return 0;
}

void arena_forget(char *at, size_t len)
{
	reserve(at, len, MAP_FIXED);
}

long poke(void *at, const void *from, size_t len)
{
	long n = pwrite(world.mem, from, len, (uintptr_t)at);

	return n < 0 ? -errno : n;
}

long peek(const void *at, void *to, size_t len)
{
	long n = pread(world.mem, to, len, (uintptr_t)at);

	return n < 0 ? -errno : n;
}

int world_init(void)
{
	int i;

	world.memfd = memfd_create("fuzz", MFD_CLOEXEC);
	world.efd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	world.mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	if (world.memfd < 0 || world.efd < 0 || world.mem < 0)
		return -errno;
	for (i = 0; i < NR_CTX; i++)
		snprintf(world.names[i], sizeof(world.names[i]), "fuzz.%06u:%d",
			 getpid() % 1000000, i);
	return reserve(NULL, ARENA, 0);
}

int ctx_open(int ctx, int flags)
{
	int fd = open(TE_DEVICE, flags | O_CLOEXEC);
	int ret;

	if (fd < 0)
		return -errno;
	ret = dup3(fd, FD_BASE + ctx, O_CLOEXEC) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

static int fill_arena(void)
{
	void *p;
	int i;

	arena_forget(world.arena, ARENA);
	if (ftruncate(world.memfd, 0) || ftruncate(world.memfd, PIECE))
		return -errno;
	for (i = 0; i < NR_PIECES; i++) {
		p = mmap(piece_at(i), PIECE, pieces[i].prot,
			 pieces[i].flags | MAP_FIXED,
			 pieces[i].flags & MAP_ANONYMOUS ? -1 : world.memfd,
			 pieces[i].offset);
		if (p == MAP_FAILED)
			return -errno;
	}
	return 0;
}

static int set_up(int ctx)
{
	struct te_ioc_setup *setup = &world.setup[ctx];
	int fd = FD_BASE + ctx;
	int ret, i;

	ret = ctx_open(ctx, O_RDWR);
	if (ret)
		return ret;
	*setup = (struct te_ioc_setup) {
		.size = sizeof(*setup),
		.cq_entries = 16,
		.task_slots = 64,
	};
	ret = raw_ioctl(fd, TE_IOC_SETUP, setup);
	/* Two regions, so that requests cross from one to the other. */
	for (i = 0; i < 2 && !ret; i++)
		ret = raw_mr(fd, piece_at(ctx) + i * PIECE / 2, PIECE / 2, ALL,
			     &world.ids[ctx][ID_MR][i]);
	if (!ret && mmap(zone_at(ctx, TE_MMAP_RING), setup->ring_bytes,
			 PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
			 TE_MMAP_RING) == MAP_FAILED)
		ret = -errno;
	if (!ret)
		ret = raw_batch(fd, 24, TE_ENTRIES_TASK,
				&world.ids[ctx][ID_BATCH][0]);
	return ret ?: raw_export(fd, world.names[ctx]);
}

int world_reset(void)
{
	int ret, i;

	world_clear();
	ret = fill_arena();
	for (i = 0; i < 2 && !ret; i++)
		ret = set_up(i);
	for (i = 0; i < 2 && !ret; i++)
		ret = raw_segment(FD_BASE + i, world.names[!i],
				  &world.ids[i][ID_SEGMENT][0]);
	return ret ?: ctx_open(2, O_RDWR);
}

/* What steps loaded is the node's, not a context's. */
static void forget_topology(void)
{
	struct te_ioc_topology_set none = { .size = sizeof(none) };
	int fd = open(TE_DEVICE, O_RDWR | O_CLOEXEC);

	raw_ioctl(fd, TE_IOC_TOPOLOGY_SET, &none);
	close(fd);
}

void world_clear(void)
{
	int i;

	forget_topology();
	for (i = 0; i < 2 * NR_CTX; i++)
		close(FD_BASE + i);
	arena_forget(world.arena, ARENA);
	memset(world.ids, 0, sizeof(world.ids));
	memset(world.setup, 0, sizeof(world.setup));
}

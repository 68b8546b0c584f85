// SPDX-License-Identifier: GPL-2.0-only
/*
 * act: operations that are no ioctl of te: descriptors, areas, memory, other
 * processes. See op.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fault/fuzzer/op.h"
#include "lib/raw.h"

#define SIZE(a) (sizeof(a) / sizeof((a)[0]))

static long answer(long ret)
{
	return ret < 0 ? -errno : 0;
}

/* Seldom one of those that the others work with. */
static unsigned int less_used(const struct call *c)
{
	return c->step->v[0] % 8 ? c->ctx | 2 : c->ctx;
}

long act_open(const struct call *c)
{
	uint32_t v = c->step->v[1];

	return ctx_open(less_used(c), v % 16 ? O_RDWR :
				      v / 16 % 2 ? O_RDONLY : O_WRONLY);
}

long act_close(const struct call *c)
{
	return answer(close(c->fd - c->ctx + less_used(c)));
}

long act_dup(const struct call *c)
{
	return answer(dup3(FD_BASE + c->ctx, FD_BASE + NR_CTX + c->ctx,
			   O_CLOEXEC));
}

long act_map(const struct call *c)
{
	static const int prots[] = {
		PROT_READ | PROT_WRITE, PROT_READ | PROT_WRITE, PROT_READ,
		PROT_READ, PROT_NONE, PROT_WRITE, PROT_READ | PROT_EXEC,
	};
	const struct te_ioc_setup *setup = &world.setup[c->ctx];
	const uint32_t *v = c->step->v;
	uint64_t offset = v[0] % 2 ? TE_MMAP_RING : TE_MMAP_STATUS;
	char *at = zone_at(c->ctx, offset);
	size_t len = offset ? setup->ring_bytes : setup->status_bytes;
	uint32_t strange = v[1];

	if (odd(&strange))
		len += 4096 * (strange % 3 - 1);
	if (odd(&strange))
		offset += 4096UL << strange % 40;
	if (!len || len > ZONE)
		return -E2BIG;
	return answer((long)mmap(at, len, prots[v[2] % SIZE(prots)], MAP_FIXED |
				 (v[3] % 8 ? MAP_SHARED : MAP_PRIVATE), c->fd,
				 offset));
}

long act_unmap(const struct call *c)
{
	const uint32_t *v = c->step->v;
	char *at = zone_at(c->ctx, v[0] % 2 ? TE_MMAP_RING : TE_MMAP_STATUS);

	arena_forget(at + v[1] % 2 * 4096, v[2] % 2 ? 4096 : ZONE / 2);
	return 0;
}

/* Heads of all kinds; seldom what is the kernel's to write. */
long act_scribble(const struct call *c)
{
	struct te_ring_hdr *hdr = (void *)zone_at(c->ctx, TE_MMAP_RING);
	uint32_t v = c->step->v[0], head = c->step->v[1];
	uint32_t tail;
	void *at = &hdr->head;

	if (peek(&hdr->tail, &tail, 4) != 4)
		return -EFAULT;
	switch (v % 8) {
	case 0: case 1: case 2:
		head = tail;
		break;
	case 3:
		head = tail - head % 32;
		break;
	case 4:
		head = tail + 1 - head % 4;
		break;
	case 5:
		at = (char *)hdr + head % (world.setup[c->ctx].ring_bytes | 1);
		break;
	}
	return poke(at, &head, 4);
}

long act_poll(const struct call *c)
{
	struct pollfd p = { .fd = c->fd, .events = c->step->v[0] };

	return answer(poll(&p, 1, c->step->v[1] % 4));
}

/* What te has no answer for, and ioctls that it does not know. */
long act_file(const struct call *c)
{
	const uint32_t *v = c->step->v;

	switch (v[0] % 6) {
	case 0: return answer(read(c->fd, c->room, v[1] % ROOM));
	case 1: return answer(write(c->fd, c->room, v[1] % ROOM));
	case 2: return answer(lseek(c->fd, v[1], SEEK_SET));
	case 3: return answer(fcntl(c->fd, F_SETFL, O_NONBLOCK | O_ASYNC));
	case 4: return answer(ioctl(c->fd, v[1], c->room));
	default: return answer(ioctl(c->fd, _IO(TE_IOC_TYPE, v[1] % 64),
				     pick_place(v[2])));
	}
}

/* Only calls that leave no hole: see world.h. */
long act_memory(const struct call *c)
{
	static const int prots[] = { PROT_READ | PROT_WRITE,
				     PROT_READ | PROT_WRITE, PROT_READ,
				     PROT_NONE };
	static const int advice[] = { MADV_DONTNEED, MADV_DONTNEED, MADV_FREE,
				      MADV_WILLNEED, MADV_HUGEPAGE, MADV_COLD,
				      MADV_DONTFORK, MADV_DOFORK };
	const uint32_t *v = c->step->v;
	uintptr_t at = (uintptr_t)pick_place(v[1]) & ~4095UL;
	size_t len = (pick_room(v[2]) + 4095) & ~4095UL;
	void *to = (void *)((uintptr_t)pick_place(v[3]) & ~4095UL);
	char *pieces_end = zone_at(0, TE_MMAP_STATUS);

	if ((char *)at + len > pieces_end || (char *)to + len > pieces_end)
		return -E2BIG;
	switch (v[0] % 8) {
	case 0:
		arena_forget((void *)at, len);
		return 0;
	case 1: case 2:
		return answer((long)mmap((void *)at, len,
					 PROT_READ | PROT_WRITE, MAP_FIXED |
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	case 3:
		return answer((long)mremap((void *)at, len, len, MREMAP_MAYMOVE |
					   MREMAP_FIXED | MREMAP_DONTUNMAP,
					   to));
	case 4:
		return answer(mprotect((void *)at, len,
				       prots[v[4] % SIZE(prots)]));
	case 5:
		return poke((void *)at, c->room, v[4] % ROOM);
	default:
		return answer(madvise((void *)at, len,
				      advice[v[4] % SIZE(advice)]));
	}
}

/*
 * The file behind the mapped pieces shrinks, grows, gets holes. Not in User Mode
 * Linux: its flush_tlb_mm() then walks the mappings without their lock.
 */
long act_truncate(const struct call *c)
{
	const char *kernel = getenv("TE_KERNEL");
	const uint32_t *v = c->step->v;

	if (kernel && !strncmp(kernel, "um", 2))
		return -EOPNOTSUPP;
	if (v[0] % 2)
		return answer(ftruncate(world.memfd, v[1] % (2 * PIECE)));
	return answer(fallocate(world.memfd, FALLOC_FL_KEEP_SIZE |
				FALLOC_FL_PUNCH_HOLE, v[1] % PIECE, v[2]));
}

/* Its end, in a parent that has other threads and gets signals. */
static long end_of(pid_t pid)
{
	int status;

	if (pid < 0)
		return -errno;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	/* No errno of te: what the child saw breaks the contract. */
	return WIFEXITED(status) && WEXITSTATUS(status) ? -EPROTOTYPE : 0;
}

/*
 * The child of a process with contexts: nothing of theirs is open to it. What
 * it does to its mappings of them is its own affair.
 */
long act_fork(const struct call *c)
{
	const uint32_t *v = c->step->v;
	pid_t pid = fork();
	uint32_t id;
	int ret;

	if (pid)
		return end_of(pid);
	ret = v[0] % 2 ? raw_mr(c->fd, piece_at(0), PIECE, 15, &id) :
			 raw_free(c->fd, 1);
	if (ret != -EPERM && ret != -EBADF)
		_exit(1);
	if (mmap(NULL, 4096, PROT_READ, MAP_SHARED, c->fd, TE_MMAP_RING) !=
	    MAP_FAILED)
		_exit(2);
	if (v[1] % 2)
		munmap(world.arena, ARENA);
	if (v[1] % 4 == 0)
		close(c->fd);
	_exit(0);
}

/* Has a context of its own with work in flight, and then is no more. */
static void child_works(const struct call *c)
{
	const uint32_t *v = c->step->v;
	struct te_request r[4] = { 0 };
	uint32_t id, batch, i;
	struct raw raw;

	if (raw_open(&raw, 16, 64) ||
	    raw_mr(raw.fd, piece_at(PIECE_FRESH), PIECE, 15, &id) ||
	    raw_segment(raw.fd, world.names[v[0] % 2], &id) ||
	    raw_batch(raw.fd, 4, v[1] % 3, &batch))
		return;
	for (i = 0; i < 4; i++) {
		r[i].opcode = v[2] >> i & 1;
		r[i].segment = id;
		r[i].local_addr = (uintptr_t)piece_at(PIECE_FRESH);
		r[i].remote_addr = (uintptr_t)piece_at(v[0] % 2);
		r[i].length = PIECE;
	}
	raw_submit(raw.fd, batch, r, 1 + v[3] % 4);
	if (v[4] % 2)
		raw_wait(raw.fd, batch, v[5] % 8);
}

long act_child(const struct call *c)
{
	pid_t pid = fork();

	if (pid)
		return end_of(pid);
	child_works(c);
	switch (c->step->v[6] % 4) {
	case 0:
		raise(SIGKILL);
		break;
	case 1:
		execl("/bin/true", "true", NULL);
		break;
	case 2:
		munmap(world.arena, ARENA);
		break;
	}
	_exit(0);
}

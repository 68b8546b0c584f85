/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * world: what the steps of all threads act on. A few contexts, each at a fixed
 * descriptor with room for a duplicate, so that a step that comes too late hits
 * another context or none, but never a file of the fuzzer's own. And an arena
 * of pieces of memory of all kinds, and of zones where the contexts' areas get
 * mapped, one behind the other: addresses are never given back, so that whatever
 * a step unmaps, nothing else comes to lie there.
 *
 * Threads use all of this without locks: to be in each other's way is the aim.
 */
#ifndef TE_FUZZ_WORLD_H
#define TE_FUZZ_WORLD_H

#include <stddef.h>
#include <stdint.h>
#include <linux/te.h>

#define NR_CTX		4
#define FD_BASE		100
#define NAME_LEN	13

/* Ids that calls gave out, the last few of each kind. */
enum id_kind { ID_NONE, ID_MR, ID_SEGMENT, ID_BATCH, NR_IDS };
#define KEPT		4

#define PIECE		(256UL << 10)
enum piece {
	PIECE_A, PIECE_B,	/* all of each context 0 and 1 registers at first */
	PIECE_FRESH,		/* no page of it was ever touched */
	PIECE_FILE,		/* a memfd, shared */
	PIECE_SHORT,		/* the same file, mapped beyond its end */
	PIECE_COPY,		/* the same file, private */
	PIECE_READ,		/* may be read only */
	PIECE_NONE,		/* no access */
	NR_PIECES,
};

#define ZONE		(4UL << 20)
#define NR_ZONES	(2 * NR_CTX)
#define ARENA		(NR_PIECES * PIECE + NR_ZONES * ZONE)

/**
 * struct world
 * @arena: NR_PIECES pieces, then for each context a zone for its status slots
 *	and one for its completion ring
 * @names: that contexts export themselves by
 * @ids: kept ones, 0: none
 * @setup: what TE_IOC_SETUP last answered
 * @memfd: behind the pieces of a file
 * @efd: an eventfd
 * @mem: /proc/self/mem: to write where there may be nothing
 */
struct world {
	char *arena;
	char names[NR_CTX][NAME_LEN + 1];
	uint32_t ids[NR_CTX][NR_IDS][KEPT];
	struct te_ioc_setup setup[NR_CTX];
	int memfd, efd, mem;
};

extern struct world world;

/* Once; 0 or -errno. */
int world_init(void);

/*
 * Everything as at the start: two contexts that export memory and have each
 * other's segment open, one that is only open, one that is not. 0 or -errno.
 */
int world_reset(void);
void world_clear(void);

static inline char *piece_at(enum piece p)
{
	return world.arena + p * PIECE;
}

static inline char *zone_at(int ctx, uint64_t offset)
{
	return world.arena + NR_PIECES * PIECE +
	       (2 * ctx + (offset == TE_MMAP_RING)) * ZONE;
}

/* Opens a context at its descriptor, instead of what was there. */
int ctx_open(int ctx, int flags);

/* No access to [@at, @at + @len) any more, but it stays ours. */
void arena_forget(char *at, size_t len);

/* Memory that may not be there: bytes moved, or -errno. */
long poke(void *at, const void *from, size_t len);
long peek(const void *at, void *to, size_t len);

#endif

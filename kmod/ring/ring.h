/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ring: the two areas that a process maps, and the only barriers of te.
 *
 *   status area (read only to the process)     completion ring (shared)
 *   +--------+--------+--------+---            +------+------+--------+--------+---
 *   | header | task 0 | task 1 | ...           | head | tail | entry  | entry  |
 *   +--------+--------+--------+---            +------+------+--------+--------+---
 *
 *   kernel                             process
 *   write error, bytes
 *   store-release state         ->     load-acquire state, then error and bytes
 *
 *   write entry
 *   store-release tail          ->     load-acquire tail, then the entry
 *   load-acquire head           <-     read the entry, then store-release head
 *
 * The process can write anything into the ring's area. The kernel keeps its own
 * tail and count of reservations, reads back nothing but head, and takes from
 * head only how many entries are free: a lie overwrites the liar's entries.
 *
 * A te_ring is made by TE_IOC_SETUP. Its context and each of its batches hold a
 * reference; the last put frees it. Everything here is process context.
 */
#ifndef TE_RING_H
#define TE_RING_H

#include <linux/kref.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/te.h>

struct eventfd_ctx;
struct vm_area_struct;

/**
 * struct te_ring - both areas of a context
 * @ref: context and batches
 * @flow: number of the context, for fairness between contexts
 * @entries: of the completion ring, a power of two
 * @nr_slots: status slots, a power of two
 * @hdr: completion ring's area
 * @cqe: entries in that area
 * @slots: status area
 * @wait: who waits for entries
 * @lock: protects all below
 * @tail: entries pushed so far
 * @reserved: entries promised and not pushed yet
 * @eventfd: signalled for each push, or NULL
 * @slot_map: which slots are taken
 * @slot_hint: where to look for free ones
 * @generation: of batch ids, grows with each allocation
 */
struct te_ring {
	struct kref ref;
	u32 flow;
	u32 entries;
	u32 nr_slots;
	struct te_ring_hdr *hdr;
	struct te_completion *cqe;
	struct te_slot *slots;
	wait_queue_head_t wait;
	spinlock_t lock; /* protects tail, reserved, eventfd, slot_map */
	u32 tail;
	u32 reserved;
	struct eventfd_ctx *eventfd;
	unsigned long *slot_map;
	u32 slot_hint;
	u32 generation;
};

/**
 * te_ring_create() - allocate both areas
 * @entries: a power of two, at most TE_MAX_CQ_ENTRIES
 * @nr_slots: a power of two, 2 to TE_MAX_TASK_SLOTS
 *
 * Return: the ring with one reference, or ERR_PTR(-ENOMEM).
 */
struct te_ring *te_ring_create(u32 entries, u32 nr_slots);
void te_ring_get(struct te_ring *ring);
void te_ring_put(struct te_ring *ring);

/*
 * A context's ring appears once and stays: published here, read by mmap and
 * poll, which cannot take the context's lock.
 */
static inline void te_ring_publish(struct te_ring **where, struct te_ring *ring)
{
	/* The ring is whole before it is seen. */
	smp_store_release(where, ring);
}

static inline struct te_ring *te_ring_load(struct te_ring **where)
{
	/* Pairs with te_ring_publish(). */
	return smp_load_acquire(where);
}

u64 te_ring_bytes(const struct te_ring *ring);
u64 te_ring_status_bytes(const struct te_ring *ring);

/**
 * te_ring_mmap() - map an area
 * @ring: the ring
 * @vma: offset, length and flags are checked here
 *
 * Return: 0, -EINVAL offset, length or private, -EPERM executable or, for the
 * status area, writable.
 */
int te_ring_mmap(struct te_ring *ring, struct vm_area_struct *vma);

/**
 * te_ring_reserve() - promise entries
 * @ring: the ring
 * @nr: entries
 *
 * Return: 0, -EBUSY not so many are free, -EBADFD impossible head.
 */
int te_ring_reserve(struct te_ring *ring, u32 nr);
/* Push an entry that was reserved; wakes who waits. */
void te_ring_push(struct te_ring *ring, const struct te_completion *cqe);
/* Return: unread entries, or -EBADFD impossible head. */
int te_ring_level(struct te_ring *ring);
/* Replace the eventfd; takes @ctx over, puts the old one. */
void te_ring_set_eventfd(struct te_ring *ring, struct eventfd_ctx *ctx);

/**
 * te_slots_alloc() - a run of neighbouring slots for a batch
 * @ring: the ring
 * @nr: slots, the header's included
 * @id: the batch id that goes with them: its value modulo nr_slots is the
 *	header's index, above that a generation, so that it is not reused soon
 *
 * The slots are cleared, the header carries the id.
 *
 * Return: 0, -EBUSY no run of that length is free.
 */
int te_slots_alloc(struct te_ring *ring, u32 nr, u32 *id);
void te_slots_free(struct te_ring *ring, u32 id, u32 nr);

static inline struct te_slot *te_slot_at(struct te_ring *ring, u32 id)
{
	return &ring->slots[id & (ring->nr_slots - 1)];
}

static inline void te_slot_write(struct te_slot *slot, u32 state, s32 error,
				 u64 bytes)
{
	WRITE_ONCE(slot->error, error);
	WRITE_ONCE(slot->bytes, bytes);
	/* State last: see the drawing above. */
	smp_store_release(&slot->state, state);
}

static inline void te_slot_set_tasks(struct te_slot *header, u32 nr)
{
	/* Task slots are written before the header counts them. */
	smp_store_release(&header->nr_tasks, nr);
}

#endif /* TE_RING_H */

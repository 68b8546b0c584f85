// SPDX-License-Identifier: GPL-2.0-only
/*
 * ring: completion ring and status slots. See ring.h for layout and barriers.
 */
#include <linux/bitmap.h>
#include <linux/err.h>
#include <linux/eventfd.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "ring/ring.h"

/* Ids are positive as s32 too. */
#define TE_ID_BITS	31

u64 te_ring_bytes(const struct te_ring *ring)
{
	return PAGE_ALIGN(TE_RING_ENTRIES +
			  (u64)ring->entries * sizeof(struct te_completion));
}

u64 te_ring_status_bytes(const struct te_ring *ring)
{
	return PAGE_ALIGN((u64)ring->nr_slots * sizeof(struct te_slot));
}

static atomic_t te_ring_flows;

struct te_ring *te_ring_create(u32 entries, u32 nr_slots)
{
	struct te_ring *ring;

	ring = kzalloc(sizeof(*ring), GFP_KERNEL_ACCOUNT);
	if (!ring)
		return ERR_PTR(-ENOMEM);
	kref_init(&ring->ref);
	ring->flow = atomic_inc_return(&te_ring_flows);
	ring->entries = entries;
	ring->nr_slots = nr_slots;
	init_waitqueue_head(&ring->wait);
	spin_lock_init(&ring->lock);

	ring->hdr = vmalloc_user(te_ring_bytes(ring));
	if (!ring->hdr)
		goto err_free;
	ring->cqe = (void *)ring->hdr + TE_RING_ENTRIES;
	ring->slots = vmalloc_user(te_ring_status_bytes(ring));
	if (!ring->slots)
		goto err_free_hdr;
	ring->slot_map = kvcalloc(BITS_TO_LONGS(nr_slots), sizeof(long),
				  GFP_KERNEL_ACCOUNT);
	if (!ring->slot_map)
		goto err_free_slots;
	return ring;

err_free_slots:
	vfree(ring->slots);
err_free_hdr:
	vfree(ring->hdr);
err_free:
	kfree(ring);
	return ERR_PTR(-ENOMEM);
}

static void ring_release(struct kref *ref)
{
	struct te_ring *ring = container_of(ref, struct te_ring, ref);

	if (ring->eventfd)
		eventfd_ctx_put(ring->eventfd);
	kvfree(ring->slot_map);
	vfree(ring->slots);
	vfree(ring->hdr);
	kfree(ring);
}

void te_ring_get(struct te_ring *ring)
{
	kref_get(&ring->ref);
}

void te_ring_put(struct te_ring *ring)
{
	kref_put(&ring->ref, ring_release);
}

int te_ring_mmap(struct te_ring *ring, struct vm_area_struct *vma)
{
	unsigned long len = vma->vm_end - vma->vm_start;
	u64 offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
	unsigned long clear = VM_MAYEXEC;
	void *area;

	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (vma->vm_flags & VM_EXEC)
		return -EPERM;

	if (offset == TE_MMAP_STATUS && len == te_ring_status_bytes(ring)) {
		if (vma->vm_flags & VM_WRITE)
			return -EPERM;
		clear |= VM_MAYWRITE;
		area = ring->slots;
	} else if (offset == TE_MMAP_RING && len == te_ring_bytes(ring)) {
		area = ring->hdr;
	} else {
		return -EINVAL;
	}

	vm_flags_mod(vma, VM_DONTEXPAND | VM_DONTDUMP, clear);
	return remap_vmalloc_range(vma, area, 0);
}

static int ring_level_locked(struct te_ring *ring)
{
	u32 used;

	lockdep_assert_held(&ring->lock);
	/* The process has read the entries before it moves head. */
	used = ring->tail - smp_load_acquire(&ring->hdr->head);
	return used > ring->entries ? -EBADFD : used;
}

int te_ring_level(struct te_ring *ring)
{
	int level;

	spin_lock(&ring->lock);
	level = ring_level_locked(ring);
	spin_unlock(&ring->lock);
	return level;
}

int te_ring_reserve(struct te_ring *ring, u32 nr)
{
	int ret;

	spin_lock(&ring->lock);
	ret = ring_level_locked(ring);
	if (ret >= 0) {
		/*
		 * A head that ran ahead of what was read and then back can make
		 * more seem promised than there is room for.
		 */
		u32 taken = min(ring->entries, ret + ring->reserved);

		ret = 0;
		if (nr > ring->entries - taken)
			ret = -EBUSY;
		else
			ring->reserved += nr;
	}
	spin_unlock(&ring->lock);
	return ret;
}

void te_ring_push(struct te_ring *ring, const struct te_completion *cqe)
{
	spin_lock(&ring->lock);
	ring->cqe[ring->tail & (ring->entries - 1)] = *cqe;
	ring->tail++;
	ring->reserved--;
	/* The entry before tail. */
	smp_store_release(&ring->hdr->tail, ring->tail);
	if (ring->eventfd)
		te_eventfd_signal(ring->eventfd);
	spin_unlock(&ring->lock);

	if (wq_has_sleeper(&ring->wait))
		wake_up_interruptible(&ring->wait);
}

void te_ring_set_eventfd(struct te_ring *ring, struct eventfd_ctx *ctx)
{
	spin_lock(&ring->lock);
	swap(ring->eventfd, ctx);
	spin_unlock(&ring->lock);
	if (ctx)
		eventfd_ctx_put(ctx);
}

int te_slots_alloc(struct te_ring *ring, u32 nr, u32 *id)
{
	u32 shift = ilog2(ring->nr_slots);
	u32 first, i;

	spin_lock(&ring->lock);
	first = bitmap_find_next_zero_area(ring->slot_map, ring->nr_slots,
					   ring->slot_hint, nr, 0);
	if (first >= ring->nr_slots)
		first = bitmap_find_next_zero_area(ring->slot_map,
						   ring->nr_slots, 0, nr, 0);
	if (first >= ring->nr_slots) {
		spin_unlock(&ring->lock);
		return -EBUSY;
	}
	bitmap_set(ring->slot_map, first, nr);
	ring->slot_hint = first + nr;
	/* From 1 on: no id is 0. */
	ring->generation = ring->generation %
			   ((1U << (TE_ID_BITS - shift)) - 1) + 1;
	*id = ring->generation << shift | first;
	spin_unlock(&ring->lock);

	for (i = 0; i < nr; i++) {
		struct te_slot *slot = &ring->slots[first + i];

		WRITE_ONCE(slot->batch, 0);
		WRITE_ONCE(slot->nr_tasks, 0);
		te_slot_write(slot, TE_WAITING, 0, 0);
	}
	/* All slots are clear before the id shows. */
	smp_store_release(&ring->slots[first].batch, *id);
	return 0;
}

void te_slots_free(struct te_ring *ring, u32 id, u32 nr)
{
	WRITE_ONCE(te_slot_at(ring, id)->batch, 0);
	spin_lock(&ring->lock);
	bitmap_clear(ring->slot_map, id & (ring->nr_slots - 1), nr);
	spin_unlock(&ring->lock);
}

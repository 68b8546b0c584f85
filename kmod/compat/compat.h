/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The only file that may test the kernel version. It is force-included before
 * every other header of te, so that the rest is written against the newest
 * kernel that te knows. Floor: 6.1.
 */
#ifndef TE_COMPAT_H
#define TE_COMPAT_H

#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "te needs Linux 6.1 or later"
#endif

#include <linux/eventfd.h>
#include <linux/mm.h>

/* vm_flags became read-only with helpers in 6.3. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_mod(struct vm_area_struct *vma,
				unsigned long set, unsigned long clear)
{
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
}
#endif

/* pin_user_pages() lost its vmas argument in 6.5. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
#define te_pin_user_pages(start, nr, gup_flags, pages) \
	pin_user_pages(start, nr, gup_flags, pages, NULL)
#else
#define te_pin_user_pages(start, nr, gup_flags, pages) \
	pin_user_pages(start, nr, gup_flags, pages)
#endif

/* eventfd_signal() lost its count in 6.8. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
#define te_eventfd_signal(ctx) eventfd_signal(ctx, 1)
#else
#define te_eventfd_signal(ctx) eventfd_signal(ctx)
#endif

#endif /* TE_COMPAT_H */

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

#include <linux/bvec.h>
#include <linux/eventfd.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/pagemap.h>
#include <linux/skbuff.h>
#include <linux/uio.h>

/* vm_flags became read-only with helpers in 6.3. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_mod(struct vm_area_struct *vma,
				unsigned long set, unsigned long clear)
{
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
}
#endif

/*
 * Pin pages for reading, for long. Return: as pin_user_pages_fast().
 *
 * Since 6.2 this breaks copy-on-write first, so that the pinned page stays the
 * one the process sees (gup_must_unshare()). Before, one could be given a page
 * that a later write replaces, such as the zero page: there, ask for writing by
 * force, as ib_umem does. Force ignores protection, so look first whether the
 * pages can be read at all. A shared mapping that is read-only refuses force,
 * and does not need it.
 */
static inline int te_pin_for_reading(unsigned long start, unsigned long nr,
				     struct page **pages)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
	return pin_user_pages_fast(start, nr, FOLL_LONGTERM, pages);
#else
	int ret;

	if (fault_in_readable((void __user *)start, nr << PAGE_SHIFT))
		return -EFAULT;
	ret = pin_user_pages_fast(start, nr,
				  FOLL_LONGTERM | FOLL_WRITE | FOLL_FORCE,
				  pages);
	if (ret == -EFAULT)
		ret = pin_user_pages_fast(start, 1, FOLL_LONGTERM, pages);
	return ret;
#endif
}

/* The directions of an iov_iter got these names in 6.2; some 6.1 have them too. */
#ifndef ITER_SOURCE
#define ITER_SOURCE	WRITE
#define ITER_DEST	READ
#endif

/* The one call of a ubuf_info became a table of them in 6.10. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
struct ubuf_info_ops {
	void (*complete)(struct sk_buff *skb, struct ubuf_info *ubuf, bool zc);
};

static inline void te_ubuf_set_ops(struct ubuf_info *ubuf,
				   const struct ubuf_info_ops *ops)
{
	ubuf->callback = ops->complete;
}
#else
static inline void te_ubuf_set_ops(struct ubuf_info *ubuf,
				   const struct ubuf_info_ops *ops)
{
	ubuf->ops = ops;
}
#endif

/*
 * Send pages that nobody counts: the socket buffers keep them, and no copy. Until
 * MSG_SPLICE_PAGES works for TCP, in 6.5, one page a call. Return: bytes, or -errno.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
#ifndef MSG_SPLICE_PAGES
#define MSG_SPLICE_PAGES	0x8000000
#endif

static inline int te_splice_pages(struct socket *sock, const struct bio_vec *bv,
				  u32 nr, u32 len, int flags)
{
	u32 off = 0, sent = 0;

	while (nr && sent < len) {
		u32 at = bv->bv_offset + off;
		u32 n = min3(len - sent, bv->bv_len - off,
			     (u32)(PAGE_SIZE - offset_in_page(at)));
		int more = sent + n < len ? MSG_MORE | MSG_SENDPAGE_NOTLAST : 0;
		int ret = kernel_sendpage(sock, bv->bv_page + (at >> PAGE_SHIFT),
					  offset_in_page(at), n, flags | more);

		if (ret > 0)
			sent += ret;
		if (ret != n)
			return sent ?: ret;
		off += n;
		if (off == bv->bv_len) {
			off = 0;
			bv++;
			nr--;
		}
	}
	return sent;
}
#else
static inline int te_splice_pages(struct socket *sock, const struct bio_vec *bv,
				  u32 nr, u32 len, int flags)
{
	struct msghdr msg = { .msg_flags = flags | MSG_SPLICE_PAGES };

	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, bv, nr, len);
	return sock_sendmsg(sock, &msg);
}
#endif

/* eventfd_signal() lost its count in 6.8. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
#define te_eventfd_signal(ctx) eventfd_signal(ctx, 1)
#else
#define te_eventfd_signal(ctx) eventfd_signal(ctx)
#endif

#endif /* TE_COMPAT_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * chardev: the user's door, /dev/te. The only room that reads or writes user
 * memory. One open file is a te_ctx. Everything runs in the calling process.
 */
#ifndef TE_CHARDEV_H
#define TE_CHARDEV_H

#include <linux/fs.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/xarray.h>
#include <linux/te.h>

#include "core/core.h"
#include "mem/mem.h"
#include "ring/ring.h"

/**
 * struct te_ctx - one open file
 * @mm_news: tells when the address space is gone
 * @ended: bit 0: nothing is left of it but the file
 * @net: network namespace of the opener; holds a reference
 * @space: its memory; @space->mm is who may use the file
 * @ring: set once by TE_IOC_SETUP
 * @lock: protects all below, and serialises submits
 * @batches: te_batch by id, one reference each
 * @segs: te_seg by id, one reference each
 * @next_seg: for xa_alloc_cyclic()
 * @listening: it exports: te_session_listen() was called
 */
struct te_ctx {
	struct mmu_notifier mm_news;
	unsigned long ended;
	struct net *net;
	struct te_space *space;
	struct te_ring *ring;
	struct mutex lock; /* protects batches, segs, listening */
	struct xarray batches;
	struct xarray segs;
	u32 next_seg;
	bool listening;
};

/* Every ioctl's argument starts with these. */
struct te_cmd_hdr {
	__u32 size;
	__u32 flags;
};

/**
 * struct te_cmd - one ioctl call
 * @ctx: of the file
 * @ubuf: the caller's struct
 * @usize: its size
 * @ksize: size of what we know
 * @arg: copied, @ksize bytes; what the caller did not have is zero
 */
struct te_cmd {
	struct te_ctx *ctx;
	void __user *ubuf;
	u32 usize;
	u32 ksize;
	union {
		struct te_cmd_hdr hdr;
		struct te_ioc_info info;
		struct te_ioc_stats stats;
		struct te_ioc_setup setup;
		struct te_ioc_eventfd eventfd;
		struct te_ioc_mr_register mr_register;
		struct te_ioc_mr_unregister mr_unregister;
		struct te_ioc_segment_export segment_export;
		struct te_ioc_segment_open segment_open;
		struct te_ioc_segment_info segment_info;
		struct te_ioc_segment_close segment_close;
		struct te_ioc_batch_alloc batch_alloc;
		struct te_ioc_batch_submit batch_submit;
		struct te_ioc_batch_wait batch_wait;
		struct te_ioc_batch_cancel batch_cancel;
		struct te_ioc_batch_free batch_free;
		struct te_ioc_topology_set topology_set;
		struct te_ioc_topology_get topology_get;
	} arg;
};

/* Front door, for main.c. */
int te_chardev_init(void);
void te_chardev_exit(void);

/*
 * Write the outputs back, as far as the caller's struct goes. Return: 0 or
 * -EFAULT: the handler then undoes what it did.
 */
int te_cmd_respond(struct te_cmd *cmd);

/* ctx.c */
struct te_ctx *te_ctx_create(void);
void te_ctx_destroy(struct te_ctx *ctx);
/* Return: the batch or segment with a reference, or ERR_PTR(-ENOENT). */
struct te_batch *te_ctx_get_batch(struct te_ctx *ctx, u32 id);
struct te_seg *te_ctx_get_seg(struct te_ctx *ctx, u32 id);
int te_ioctl_info(struct te_cmd *cmd);
int te_ioctl_stats(struct te_cmd *cmd);
int te_ioctl_setup(struct te_cmd *cmd);
int te_ioctl_eventfd(struct te_cmd *cmd);

/* ioctl_mem.c */
int te_ioctl_mr_register(struct te_cmd *cmd);
int te_ioctl_mr_unregister(struct te_cmd *cmd);

/* ioctl_seg.c */
int te_ioctl_segment_export(struct te_cmd *cmd);
int te_ioctl_segment_open(struct te_cmd *cmd);
int te_ioctl_segment_info(struct te_cmd *cmd);
int te_ioctl_segment_close(struct te_cmd *cmd);

/* ioctl_batch.c */
int te_ioctl_batch_alloc(struct te_cmd *cmd);
int te_ioctl_batch_wait(struct te_cmd *cmd);
int te_ioctl_batch_cancel(struct te_cmd *cmd);
int te_ioctl_batch_free(struct te_cmd *cmd);

/* ioctl_submit.c */
int te_ioctl_batch_submit(struct te_cmd *cmd);

/* ioctl_topo.c */
int te_ioctl_topology_set(struct te_cmd *cmd);
int te_ioctl_topology_get(struct te_cmd *cmd);

#endif /* TE_CHARDEV_H */

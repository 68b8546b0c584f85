/* SPDX-License-Identifier: LGPL-2.1-only OR MIT */
/*
 * libte: thin user-space library of te, the transfer engine in the kernel.
 *
 * Every call returns 0 or a count, or -errno as listed in <linux/te.h>. There
 * is no global state; all calls on one struct te may be made from any thread,
 * te_close() excepted, which must be the last. Nothing is printed. Options may
 * be NULL; else they start with their size, so that programs built today go on
 * working when fields are added.
 */
#ifndef TE_H
#define TE_H

#include <stddef.h>
#include <stdint.h>
#include <linux/te.h>

#ifdef __cplusplus
extern "C" {
#endif

struct te;

/**
 * struct te_status - state of a task or batch
 * @state: TE_WAITING ... TE_FAILED
 * @error: -errno of the first failure, or 0
 * @bytes: bytes moved so far
 */
struct te_status {
	uint32_t state;
	int32_t error;
	uint64_t bytes;
};

/**
 * struct te_open_opts - options of te_open()
 * @sz: sizeof(struct te_open_opts)
 * @device: path, NULL: /dev/te
 * @cq_entries: completion ring entries, 0: 4096, up to TE_MAX_CQ_ENTRIES
 * @task_slots: status slots, 0: 4096, up to TE_MAX_TASK_SLOTS; a batch of
 *	capacity n takes n + 1
 */
struct te_open_opts {
	size_t sz;
	const char *device;
	uint32_t cq_entries;
	uint32_t task_slots;
};

/**
 * struct te_mr_opts - options of te_mr_register()
 * @sz: sizeof(struct te_mr_opts)
 * @flags: TE_MR_BASE, TE_MR_DMABUF
 * @base: with TE_MR_BASE: address that peers use for the region's first byte
 * @location: "cpu:0", "cuda:1", "*" ..., or NULL: where the pages are
 * @dmabuf_fd: with TE_MR_DMABUF
 * @dmabuf_offset: with TE_MR_DMABUF, bytes
 */
struct te_mr_opts {
	size_t sz;
	uint32_t flags;
	uint64_t base;
	const char *location;
	int dmabuf_fd;
	uint64_t dmabuf_offset;
};

/**
 * struct te_export_opts - options of te_segment_export()
 * @sz: sizeof(struct te_export_opts)
 * @token: secret that openers must show, or NULL
 * @token_len: bytes, up to TE_MAX_TOKEN
 */
struct te_export_opts {
	size_t sz;
	const void *token;
	size_t token_len;
};

/**
 * struct te_segment_opts - options of te_segment_open()
 * @sz: sizeof(struct te_segment_opts)
 * @transport: TE_ANY, TE_RDMA, TE_TCP or TE_LOCAL
 * @timeout_ms: 0: 5000
 * @token: secret of the segment, or NULL
 * @token_len: bytes, up to TE_MAX_TOKEN
 */
struct te_segment_opts {
	size_t sz;
	uint32_t transport;
	int timeout_ms;
	const void *token;
	size_t token_len;
};

/**
 * struct te_route - what carries a segment's requests now, and why
 * @transport: TE_RDMA, TE_TCP or TE_LOCAL; TE_ANY: nothing does
 * @forced: what te_segment_open() asked for, TE_ANY: it left the choice
 * @known: bits 1 << TE_RDMA ...: both nodes have it
 * @able: those of @known that can carry requests now; local comes first, then RDMA,
 *	then TCP
 */
struct te_route {
	uint32_t transport;
	uint32_t forced;
	uint32_t known;
	uint32_t able;
};

/**
 * struct te_batch_opts - options of te_batch_alloc()
 * @sz: sizeof(struct te_batch_opts)
 * @deadline_ms: of each submit; 0: TE_DEFAULT_DEADLINE_MS
 * @priority: 0
 * @entries: TE_ENTRIES_NONE (default), TE_ENTRIES_TASK or TE_ENTRIES_BATCH
 */
struct te_batch_opts {
	size_t sz;
	uint32_t deadline_ms;
	uint32_t priority;
	uint32_t entries;
};

int te_open(struct te **te, const struct te_open_opts *o);
void te_close(struct te *te);
int te_fd(struct te *te);

int te_mr_register(struct te *te, void *addr, size_t len, unsigned int access,
		   const struct te_mr_opts *o, uint32_t *mr);
int te_mr_unregister(struct te *te, uint32_t mr, unsigned int flags);

int te_segment_export(struct te *te, const char *name,
		      const struct te_export_opts *o);
int te_segment_open(struct te *te, const char *url,
		    const struct te_segment_opts *o, uint32_t *seg);
int te_segment_info(struct te *te, uint32_t seg, struct te_buffer *bufs,
		    uint32_t max);
int te_segment_route(struct te *te, uint32_t seg, struct te_route *route);
int te_segment_close(struct te *te, uint32_t seg);

int te_batch_alloc(struct te *te, uint32_t n, const struct te_batch_opts *o,
		   uint32_t *batch);
int te_submit(struct te *te, uint32_t batch, const struct te_request *r,
	      uint32_t n);
int te_status(struct te *te, uint32_t batch, uint32_t task,
	      struct te_status *st);
int te_batch_status(struct te *te, uint32_t batch, struct te_status *st);
int te_wait(struct te *te, uint32_t batch, int timeout_ms);
int te_poll(struct te *te, struct te_completion *out, int max);
int te_cancel(struct te *te, uint32_t batch);
int te_batch_free(struct te *te, uint32_t batch);

#ifdef __cplusplus
}
#endif

#endif /* TE_H */

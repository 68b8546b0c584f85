/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * floor: the work requests that te posts, with no engine around them. How fast a
 * loop goes that does nothing else is the floor that te's own cost is measured
 * from.
 *
 * One run connects two devices of this node by rdma_cm, registers memory on both
 * and has one side READ or WRITE the other's, over and over. All of it happens
 * in the process that wrote to debugfs, nothing of it outlives the run: struct
 * floor_run is made by main.c, filled by link.c and mem.c, used by loop.c, and
 * its parts end in the reverse order by whoever made them.
 *
 * Handlers of events, in any context, only note what happened and wake the
 * process.
 */
#ifndef TE_FLOOR_H
#define TE_FLOOR_H

#include <linux/completion.h>
#include <linux/sched.h>
#include <linux/socket.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

/* As te has them. */
#define FLOOR_CHAIN		16U	/* work requests per doorbell */
#define FLOOR_CHUNK_PAGES	512U	/* pages per fast registration */
#define FLOOR_READ_DEPTH	128U	/* READs in flight per QP */
#define FLOOR_QP_TIMEOUT	14	/* 67 ms */
#define FLOOR_QP_RETRY		6	/* 7 is for ever on rxe */

#define FLOOR_MAX_QP		4U
#define FLOOR_MAX_LANES		16U
#define FLOOR_MAX_MS		60000U	/* over TCP: a run does not end early */
#define FLOOR_MAX_DEPTH		1024U
#define FLOOR_MAX_BYTES		(64U << 20)
/* te-bench's buffer for small blocks: both run over as much memory. */
#define FLOOR_MIN_BUFFER	65536U
/* Nothing on a wire within one node takes as long. */
#define FLOOR_WAIT_MS		10000

enum { FLOOR_A, FLOOR_B };	/* who posts, and whose memory it reaches */

/**
 * struct floor_cmd - what to run
 * @read: READ, else WRITE
 * @bytes: of a request, a power of two
 * @wr_bytes: of a work request, a power of two, at most @bytes
 * @nr_qps: 1 to FLOOR_MAX_QP
 * @depth: work requests in flight on each, a multiple of FLOOR_CHAIN
 * @ms: for how long new ones are posted
 */
struct floor_cmd {
	bool read;
	u32 bytes;
	u32 wr_bytes;
	u32 nr_qps;
	u32 depth;
	u32 ms;
};

/**
 * struct floor_chunk - pages under one key
 * @mr: registered
 * @sgt: its pages, DMA mapped
 */
struct floor_chunk {
	struct ib_mr *mr;
	struct sg_table sgt;
};

/**
 * struct floor_side - a device and the memory that is registered on it
 * @ib: holds a reference, so that it stays until the rest has gone; NULL: the
 *	side is not open
 * @pd: for all
 * @cq: of its QPs
 * @pages: @nr_pages, each for itself, as a process would have them
 * @nr_pages: that were allocated
 * @chunks: @nr_chunks
 * @nr_chunks: that were mapped
 */
struct floor_side {
	struct ib_device *ib;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct page **pages;
	u32 nr_pages;
	struct floor_chunk *chunks;
	u32 nr_chunks;
};

/**
 * struct floor_end - one end of a connection
 * @run: it belongs to
 * @id: its QP is id->qp
 * @event: completed by each event of @id
 */
struct floor_end {
	struct floor_run *run;
	struct rdma_cm_id *id;
	struct completion event;
};

/**
 * struct floor_qp - a connection
 * @end: FLOOR_A, FLOOR_B
 * @inflight: work requests posted and not completed
 */
struct floor_qp {
	struct floor_end end[2];
	u32 inflight;
};

/**
 * struct floor_run - a run
 * @cmd: what it does
 * @addr: of both sides
 * @task: who runs it, and sleeps
 * @kicked: bit 0: look again before you sleep
 * @error: first -errno that an event brought
 * @listen_id: of side B
 * @cookie: shown by our own connect requests
 * @next: end that waits for its connect request, or NULL
 * @side: FLOOR_A, FLOOR_B
 * @buffer: bytes of memory on each side
 * @qp: cmd.nr_qps entries
 * @offset: in the memory, of the next work request
 * @wr: scratch for posting
 * @sge: scratch for posting
 * @wc: scratch for polling
 * @moved: bytes of completed work requests
 * @ns: from the first post to the last completion
 */
struct floor_run {
	struct floor_cmd cmd;
	struct sockaddr_storage addr[2];
	struct task_struct *task;
	unsigned long kicked;
	int error;
	struct rdma_cm_id *listen_id;
	u64 cookie;
	struct floor_end *next;
	struct floor_side side[2];
	u32 buffer;
	struct floor_qp qp[FLOOR_MAX_QP];
	u32 offset;
	struct ib_rdma_wr wr[FLOOR_CHAIN];
	struct ib_sge sge[FLOOR_CHAIN];
	struct ib_wc wc[FLOOR_CHAIN];
	u64 moved;
	u64 ns;
};

/**
 * struct floor_tcp_cmd - what to run over TCP
 * @splice: pages are not copied to be sent
 * @bytes: of a request, a power of two
 * @lanes: connections, 1 to FLOOR_MAX_LANES
 * @ms: for how long
 */
struct floor_tcp_cmd {
	bool splice;
	u32 bytes;
	u32 lanes;
	u32 ms;
};

/**
 * struct floor_result - of a run
 * @requests: that were moved whole
 * @bytes: that arrived
 * @ns: from the first to the last
 */
struct floor_result {
	u64 requests;
	u64 bytes;
	u64 ns;
};

/* tcp.c. Return: 0 or -errno; it may have taken @cmd->ms till then. */
int floor_tcp(const struct floor_tcp_cmd *cmd, struct floor_result *result);

/* link.c: the sides' PD and CQ, and connected QPs. Return: 0 or -errno. */
int floor_link_open(struct floor_run *run);
/* In two steps, as regions go between them: QPs, then what they were made of. */
void floor_link_close_qps(struct floor_run *run);
void floor_link_close_sides(struct floor_run *run);

/* mem.c: registered memory on both sides. Return: 0 or -errno. */
int floor_mem_open(struct floor_run *run);
void floor_mem_close(struct floor_run *run);
/* Pages of a side, filled with a pattern or cleared; free also after an error. */
int floor_pages_alloc(struct floor_side *side, u32 nr, bool fill);
void floor_pages_free(struct floor_side *side);
/* Are the first @left bytes of both sides the same? Return: 0, -EBADMSG. */
int floor_pages_check(const struct floor_side *side, u64 left);
/* Are the bytes where they were sent? Return: 0, -EBADMSG. */
int floor_mem_check(struct floor_run *run);

/* loop.c: the measured part. Return: 0 or -errno. */
int floor_loop(struct floor_run *run);
/* Wake who runs it, from any context. */
void floor_kick(struct floor_run *run);
/*
 * Sleep until @side has completions and take up to FLOOR_CHAIN of them into
 * run->wc. Return: how many, -EIO one has failed, -EINTR, -ETIMEDOUT, or what
 * an event brought.
 */
int floor_await(struct floor_run *run, struct floor_side *side);

#endif /* TE_FLOOR_H */

/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * te: the transfer engine's contract with user space.
 *
 * One open file of /dev/te is a context. It registers memory, opens segments
 * of peers, allocates batches, submits READ and WRITE requests to them, and
 * learns of their end from two areas that the kernel allocates and the process
 * maps: status slots (read only) and a completion ring.
 *
 * Rules of every ioctl
 *   - The argument points to a struct whose first word, @size, is the size the
 *     caller was built with. Shorter than the first version: -EINVAL. Longer
 *     than the kernel knows: fine when the surplus is zero, else -E2BIG.
 *   - Reserved words and undefined flag bits must be zero, else -EINVAL.
 *   - Outputs are written only on success; what they held before is ignored.
 *   - All but TE_IOC_INFO and TE_IOC_STATS belong to the process (the mm) that
 *     opened the file: a forked child or a receiver of the descriptor gets
 *     -EPERM. They need a descriptor open for reading and writing: -EACCES.
 *   - A context ends when its file is closed for good, and when that mm is gone
 *     (exit, a signal, exec), even if somebody still holds the file.
 *   - Layouts are the same for 32-bit and 64-bit callers. Numbers are in native
 *     byte order, lengths in bytes, times in the unit of their name.
 *
 * Errno table (ioctls return these; tasks end with them in te_status.error)
 *   ENOTTY        unknown ioctl
 *   E2BIG         non-zero bytes behind the known struct; a count over its
 *                 limit; more requests than the batch has room for; a
 *                 segment with more regions than an opener may hold
 *   EINVAL        bad field, flag, reserved word, name, or zero length or count
 *   EOPNOTSUPP    known, not supported by this build (see features), device,
 *                 or kind of memory
 *   EFAULT        bad argument pointer; memory not mapped, or not with the
 *                 access asked for
 *   ENOENT        no such id in this context; no such segment at the peer
 *   EEXIST        range overlaps another registration without being equal to
 *                 it; segment name taken; already set up
 *   EPERM         not the process that opened the file; not an administrator
 *   EACCES        descriptor not open for both reading and writing; request
 *                 not allowed by the access of a memory region on either side;
 *                 refused by the peer
 *   ENOSPC        too many names of locations in use
 *   ERANGE        range not inside registered memory, local or remote
 *   EOVERFLOW     address plus length wraps
 *   ENOMEM        out of memory, or over RLIMIT_MEMLOCK; the local NIC has no
 *                 QP or memory region left
 *   EBUSY         completion ring or status slots used up; work in flight
 *   ENXIO         not set up yet (TE_IOC_SETUP); no transport to this peer
 *   EBADFD        the process wrote an impossible head into its ring
 *   ETIME         wait timed out; the work goes on
 *   EINTR         wait ended by a signal; the work goes on
 *   ETIMEDOUT     deadline passed (state TE_TIMEOUT); peer did not answer
 *   ECANCELED     cancelled, forced out or closed (state TE_CANCELED)
 *   ESTALE        segment, or the memory asked for, has gone at the peer
 *   ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, ECONNRESET
 *                 no connection to the peer, or lost it
 *   EBADMSG       bytes did not match their checksum, nor when moved again
 *   EPROTO        the peer speaks another protocol or version
 *   EREMOTEIO     the peer refused the operation
 *   EIO           a NIC failed the operation
 *   ENODEV        the local NIC went away
 */
#ifndef _UAPI_LINUX_TE_H
#define _UAPI_LINUX_TE_H

#include <linux/types.h>
#include <linux/ioctl.h>

#define TE_UAPI_VERSION		1
#define TE_DEFAULT_PORT		29797	/* TCP, control connections */

/* Ioctls: 't' and 'T' are taken, 0xBE is free (ioctl-number.rst). */
#define TE_IOC_TYPE		0xBE
#define TE_IOC_INFO		_IO(TE_IOC_TYPE, 0x00)
#define TE_IOC_STATS		_IO(TE_IOC_TYPE, 0x01)
#define TE_IOC_SETUP		_IO(TE_IOC_TYPE, 0x02)
#define TE_IOC_EVENTFD		_IO(TE_IOC_TYPE, 0x03)
#define TE_IOC_MR_REGISTER	_IO(TE_IOC_TYPE, 0x10)
#define TE_IOC_MR_UNREGISTER	_IO(TE_IOC_TYPE, 0x11)
#define TE_IOC_SEGMENT_EXPORT	_IO(TE_IOC_TYPE, 0x20)
#define TE_IOC_SEGMENT_OPEN	_IO(TE_IOC_TYPE, 0x21)
#define TE_IOC_SEGMENT_INFO	_IO(TE_IOC_TYPE, 0x22)
#define TE_IOC_SEGMENT_CLOSE	_IO(TE_IOC_TYPE, 0x23)
#define TE_IOC_BATCH_ALLOC	_IO(TE_IOC_TYPE, 0x30)
#define TE_IOC_BATCH_SUBMIT	_IO(TE_IOC_TYPE, 0x31)
#define TE_IOC_BATCH_WAIT	_IO(TE_IOC_TYPE, 0x32)
#define TE_IOC_BATCH_CANCEL	_IO(TE_IOC_TYPE, 0x33)
#define TE_IOC_BATCH_FREE	_IO(TE_IOC_TYPE, 0x34)
#define TE_IOC_TOPOLOGY_SET	_IO(TE_IOC_TYPE, 0x40)
#define TE_IOC_TOPOLOGY_GET	_IO(TE_IOC_TYPE, 0x41)

/* Limits: all counts are inclusive. */
#define TE_MAX_CQ_ENTRIES	(1U << 16)	/* completion ring entries */
#define TE_MAX_TASK_SLOTS	(1U << 20)	/* status slots */
#define TE_MAX_NAME		255		/* segment name, bytes */
#define TE_MAX_LOCATION		31		/* location string, bytes */
#define TE_MAX_TOKEN		64		/* segment token, bytes */
#define TE_MAX_DEVICE		63		/* device name, bytes */
#define TE_TOPOLOGY_LOCATIONS	64U		/* in a priority matrix, "*" too */
#define TE_TOPOLOGY_DEVICES	32U		/* in a priority matrix */
#define TE_NR_TIERS		2U
#define TE_MAX_DEADLINE_MS	(24U * 3600 * 1000)
#define TE_DEFAULT_DEADLINE_MS	30000U

/* Features (te_ioc_info.features). A bit that is clear: -EOPNOTSUPP. */
#define TE_FEAT_RDMA		(1ULL << 0)	/* built with the rdma transport */
#define TE_FEAT_TCP		(1ULL << 1)	/* and the tcp one */
#define TE_FEAT_LOCAL		(1ULL << 2)	/* and the local one */
#define TE_FEAT_CANCEL		(1ULL << 3)
#define TE_FEAT_PRIORITY	(1ULL << 4)
#define TE_FEAT_TOKEN		(1ULL << 5)
#define TE_FEAT_DMABUF		(1ULL << 6)
#define TE_FEAT_SUBMIT_RING	(1ULL << 7)
#define TE_FEAT_EVENTFD		(1ULL << 8)
#define TE_FEAT_LOCATION	(1ULL << 9)
#define TE_FEAT_TOPOLOGY	(1ULL << 10)	/* priority matrix */

/* Operations (te_request.opcode). */
#define TE_READ			0	/* remote to local */
#define TE_WRITE		1	/* local to remote */

/* Access of a memory region. At least one bit. */
#define TE_LOCAL_READ		(1U << 0)	/* source of own WRITEs */
#define TE_LOCAL_WRITE		(1U << 1)	/* target of own READs */
#define TE_REMOTE_READ		(1U << 2)	/* peers may READ it */
#define TE_REMOTE_WRITE		(1U << 3)	/* peers may WRITE it */

/* States of a task or batch. 3 to 6 are terminal and final for a task. */
#define TE_WAITING		0	/* nothing submitted yet */
#define TE_PENDING		1	/* in flight */
#define TE_INVALID		2	/* no such task */
#define TE_CANCELED		3
#define TE_COMPLETED		4
#define TE_TIMEOUT		5
#define TE_FAILED		6

/* Transports (te_ioc_segment_open.transport). */
#define TE_ANY			0
#define TE_RDMA			1
#define TE_TCP			2
#define TE_LOCAL		3

/* Which completion entries a batch pushes (te_ioc_batch_alloc.entries). */
#define TE_ENTRIES_NONE		0	/* none: status slots only */
#define TE_ENTRIES_TASK		1	/* one for each task */
#define TE_ENTRIES_BATCH	2	/* one each time the batch becomes terminal */

/**
 * struct te_request - one READ or WRITE
 * @opcode: TE_READ or TE_WRITE
 * @flags: must be zero
 * @segment: id of an open segment
 * @reserved: must be zero
 * @local_addr: address in the caller's registered memory
 * @remote_addr: address in the segment, in its owner's address space
 * @length: bytes, 0 completes at once; both ranges may cross adjacent regions, at
 *	most 256 each (-E2BIG)
 * @user_data: returned in the completion entry
 */
struct te_request {
	__u32 opcode;
	__u32 flags;
	__u32 segment;
	__u32 reserved;
	__aligned_u64 local_addr;
	__aligned_u64 remote_addr;
	__aligned_u64 length;
	__aligned_u64 user_data;
};

/**
 * struct te_completion - entry of the completion ring
 * @user_data: of the request; of the batch's first request for a batch entry
 * @batch: id of the batch
 * @state: terminal state
 * @error: -errno of the first failure, or 0
 * @task: index of the task in its batch, ~0 for a batch entry
 * @bytes: bytes moved
 */
struct te_completion {
	__aligned_u64 user_data;
	__u32 batch;
	__u32 state;
	__s32 error;
	__u32 task;
	__aligned_u64 bytes;
};

/**
 * struct te_slot - status slot, written by the kernel only
 * @state: TE_WAITING ...; read it first, with acquire: a terminal state is
 *	published after the other words
 * @error: -errno of the first failure, or 0
 * @bytes: bytes moved so far; header slot: by tasks that have ended
 * @batch: header slot: id of the batch it belongs to, 0 when free;
 *	task slot: 0
 * @nr_tasks: header slot: tasks submitted so far; task slot: 0
 * @reserved: zero
 *
 * A batch of capacity n owns n + 1 neighbouring slots: a header, whose index is
 * the batch id modulo the number of slots, then one for each task in the order
 * of submission.
 */
struct te_slot {
	__u32 state;
	__s32 error;
	__aligned_u64 bytes;
	__u32 batch;
	__u32 nr_tasks;
	__aligned_u64 reserved;
};

/**
 * struct te_ring_hdr - first page of the completion ring's area
 * @head: next entry the process will read; moved by the process (release)
 * @reserved0: pads @head to a cache line of its own
 * @tail: next entry the kernel will write; moved by the kernel (release)
 * @reserved1: pads @tail to a cache line of its own
 *
 * Both count entries without bound and wrap at 2^32; an entry's index is the
 * count modulo te_ioc_setup.cq_entries. The ring is empty when both are equal.
 * Entries start TE_RING_ENTRIES bytes behind the start of the area.
 */
struct te_ring_hdr {
	__u32 head;
	__u32 reserved0[15];
	__u32 tail;
	__u32 reserved1[15];
};

#define TE_RING_ENTRIES		128

/* Offsets for mmap(); lengths come from TE_IOC_SETUP. Both MAP_SHARED. */
#define TE_MMAP_STATUS		0x00000000ULL	/* PROT_READ */
#define TE_MMAP_RING		0x10000000ULL	/* PROT_READ | PROT_WRITE */

/**
 * struct te_ioc_info - what this kernel's te can do (TE_IOC_INFO)
 * @size: in, sizeof(struct)
 * @flags: in, must be zero
 * @version: out, TE_UAPI_VERSION of the kernel
 * @slice_bytes: out, largest wire operation, bytes
 * @features: out, TE_FEAT_*
 * @max_cq_entries: out, limit of te_ioc_setup.cq_entries
 * @max_task_slots: out, limit of te_ioc_setup.task_slots
 * @node_id: out, random for each load of the module
 */
struct te_ioc_info {
	__u32 size;
	__u32 flags;
	__u32 version;
	__u32 slice_bytes;
	__aligned_u64 features;
	__u32 max_cq_entries;
	__u32 max_task_slots;
	__u8 node_id[16];
};

/**
 * struct te_ioc_stats - live objects of this node, and events since load
 *	(TE_IOC_STATS)
 * @size: in, sizeof(struct)
 * @flags: in, must be zero
 * @contexts: out, open contexts
 * @mrs: out, memory regions
 * @pinned_pages: out, pages of PAGE_SIZE
 * @batches: out, batches
 * @tasks: out, tasks in flight
 * @segments: out, segments open here, of peers
 * @exports: out, segments exported
 * @sessions: out, control connections, both directions
 * @endpoints: out, endpoints, connecting, live and draining; connections that
 *	a peer opened count too
 * @slices: out, slices alive
 * @sessions_refused: out, connections refused: other hosts without insecure=1,
 *	no hello in time, too many, version or authentication; data connections
 *	that no session of ours expects
 * @sessions_broken: out, connections, lanes too, closed because the peer broke
 *	the protocol
 * @sessions_lost: out, sessions lost to the network or a silent peer; lanes of
 *	peers, too, that ended amid a request
 * @endpoints_stored: out, endpoints of this node that stores keep, on all
 *	devices: no more than max_ep on each
 * @endpoints_draining: out, endpoints of this node that were given up and are not
 *	gone yet
 * @store_hits: out, work began on an endpoint that was there, without any
 * @store_misses: out, endpoints made, as there was none for the work
 * @store_evictions: out, endpoints without work given up for others
 * @crc_errors: out, slices that arrived here by TCP and did not match their
 *	checksum
 * @endpoints_failed: out, endpoints of this node that failed by themselves: did
 *	not connect, were refused, or broke
 * @slices_no_rdma: out, slices that went by TCP, as no dev of this node and one of
 *	the peer's speak RDMA; without segments that were opened for TCP
 * @slices_rdma_down: out, the same, as none of those that do could take them: not
 *	able to connect, or not allowed for that memory. Once for each time sent
 */
struct te_ioc_stats {
	__u32 size;
	__u32 flags;
	__aligned_u64 contexts;
	__aligned_u64 mrs;
	__aligned_u64 pinned_pages;
	__aligned_u64 batches;
	__aligned_u64 tasks;
	__aligned_u64 segments;
	__aligned_u64 exports;
	__aligned_u64 sessions;
	__aligned_u64 endpoints;
	__aligned_u64 slices;
	__aligned_u64 sessions_refused;
	__aligned_u64 sessions_broken;
	__aligned_u64 sessions_lost;
	__aligned_u64 endpoints_stored;
	__aligned_u64 endpoints_draining;
	__aligned_u64 store_hits;
	__aligned_u64 store_misses;
	__aligned_u64 store_evictions;
	__aligned_u64 crc_errors;
	__aligned_u64 endpoints_failed;
	__aligned_u64 slices_no_rdma;
	__aligned_u64 slices_rdma_down;
};

/**
 * struct te_ioc_setup - allocate both areas, once (TE_IOC_SETUP)
 * @size: in, sizeof(struct)
 * @flags: in, must be zero
 * @cq_entries: in/out, completion ring entries, 0: 4096; rounded up to a power
 *	of two
 * @task_slots: in/out, status slots, 0: 4096; rounded up to a power of two, at
 *	least 2; a batch of capacity n takes n + 1
 * @status_bytes: out, length to mmap at TE_MMAP_STATUS
 * @ring_bytes: out, length to mmap at TE_MMAP_RING
 *
 * Errors: EEXIST already set up, E2BIG over a limit, ENOMEM.
 */
struct te_ioc_setup {
	__u32 size;
	__u32 flags;
	__u32 cq_entries;
	__u32 task_slots;
	__aligned_u64 status_bytes;
	__aligned_u64 ring_bytes;
};

/**
 * struct te_ioc_eventfd - signal an eventfd for new entries (TE_IOC_EVENTFD)
 * @size: in, sizeof(struct)
 * @flags: in, must be zero
 * @fd: in, eventfd; -1 takes the present one away
 * @reserved: must be zero
 *
 * Errors: EBADF or EINVAL not an eventfd, ENXIO not set up.
 */
struct te_ioc_eventfd {
	__u32 size;
	__u32 flags;
	__s32 fd;
	__u32 reserved;
};

/* te_ioc_mr_register.flags */
#define TE_MR_BASE		(1U << 0)	/* @base is given */
#define TE_MR_DMABUF		(1U << 1)	/* @dmabuf_fd is given */

/**
 * struct te_ioc_mr_register - pin memory and map it for every NIC
 * @size: in, sizeof(struct)
 * @flags: in, TE_MR_*
 * @addr: in, start, any alignment
 * @length: in, bytes, not 0
 * @access: in, TE_LOCAL_* and TE_REMOTE_*, at least one; without a WRITE bit
 *	the mapping may be read-only
 * @dmabuf_fd: in, with TE_MR_DMABUF, else 0
 * @base: in, with TE_MR_BASE: the address peers use for @addr; must be equal to
 *	it modulo the page size. Else 0: peers use @addr
 * @dmabuf_offset: in, with TE_MR_DMABUF, else 0
 * @location: in, pointer to the name of where the memory is, or 0: the NUMA
 *	node that most of its pages are on now. "cpu:N" is NUMA node N, 0 to 1023;
 *	"*" is anywhere; any other name of A-Z a-z 0-9 . _ : - means what a
 *	priority matrix says of it
 * @location_len: in, bytes at @location without a final NUL, 0 to TE_MAX_LOCATION
 * @mr: out, id
 *
 * The same range with the same access and base again gives the same id and one
 * more reference; with another @location than it has, given or found: EEXIST. The
 * pinned pages stay the ones transfers use until the region is unregistered, also
 * after munmap(). Of a private mapping of a file they are copies that only this
 * process has.
 *
 * Errors: EINVAL, EOVERFLOW, EFAULT (device memory too), EEXIST, ENOMEM, ENOSPC
 * (regions of this node have 64 other names, "*" and "cpu:N" not counted),
 * EOPNOTSUPP (dma-buf, memory that cannot be pinned for long: fsdax,
 * and from Linux 6.5 on, with a WRITE bit, a shared mapping of a file that is
 * written back; memfd, tmpfs and hugetlbfs are none), EIO (a NIC that is up cannot
 * register it), EINTR.
 */
struct te_ioc_mr_register {
	__u32 size;
	__u32 flags;
	__aligned_u64 addr;
	__aligned_u64 length;
	__u32 access;
	__s32 dmabuf_fd;
	__aligned_u64 base;
	__aligned_u64 dmabuf_offset;
	__aligned_u64 location;
	__u32 location_len;
	__u32 mr;
};

/* te_ioc_mr_unregister.flags */
#define TE_FORCE		(1U << 0)	/* cancel and drain what uses it */

/**
 * struct te_ioc_mr_unregister - drop one reference of a memory region
 * @size: in, sizeof(struct)
 * @flags: in, TE_FORCE or 0
 * @mr: in, id
 * @reserved: must be zero
 *
 * With the last reference peers lose access before the call returns, and the
 * pages are unpinned.
 *
 * Errors: ENOENT, EBUSY work in flight and no TE_FORCE, EINTR killed while
 * waiting.
 */
struct te_ioc_mr_unregister {
	__u32 size;
	__u32 flags;
	__u32 mr;
	__u32 reserved;
};

/**
 * struct te_ioc_segment_export - name this context's memory
 * @size: in, sizeof(struct)
 * @flags: in, must be zero
 * @name: in, pointer to the name: 1 to TE_MAX_NAME bytes of A-Z a-z 0-9 . _ : -
 *	in one node's one network namespace each name is used once
 * @name_len: in, bytes, without a final NUL
 * @token_len: in, 0 (TE_FEAT_TOKEN)
 * @token: in, 0 (TE_FEAT_TOKEN)
 *
 * All regions with a TE_REMOTE bit belong to it, those registered later too. A
 * context exports at most once; the export ends with the context.
 *
 * Errors: EINVAL, EEXIST, EOPNOTSUPP token, EADDRINUSE port taken by another
 * program, ENOMEM.
 */
struct te_ioc_segment_export {
	__u32 size;
	__u32 flags;
	__aligned_u64 name;
	__u32 name_len;
	__u32 token_len;
	__aligned_u64 token;
};

/**
 * struct te_ioc_segment_open - open a segment of a peer
 * @size: in, sizeof(struct)
 * @flags: in, must be zero
 * @family: in, AF_INET or AF_INET6
 * @port: in, TCP port in host byte order, 0: TE_DEFAULT_PORT
 * @addr: in, address in network byte order; IPv4: the first 4 bytes, rest zero
 * @scope_id: in, interface of a link-local IPv6 address, else 0
 * @transport: in, TE_RDMA, TE_TCP or TE_LOCAL (this node's segments only) force
 *	it: what cannot go that way is refused at submit (ENXIO), or waits. TE_ANY:
 *	local for this node, else RDMA while it can, else TCP, for each part of a
 *	request anew
 * @name: in, pointer to the name
 * @name_len: in, bytes
 * @token_len: in, 0 (TE_FEAT_TOKEN)
 * @token: in, 0 (TE_FEAT_TOKEN)
 * @timeout_ms: in, 0: 5000
 * @segment: out, id
 *
 * Errors: EINVAL, ENOENT, ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, ETIMEDOUT,
 * ECONNRESET, EPROTO, EACCES, ENXIO no transport, EOPNOTSUPP, EINTR, ENOMEM,
 * E2BIG more regions or keys than we hold for one segment.
 */
struct te_ioc_segment_open {
	__u32 size;
	__u32 flags;
	__u32 family;
	__u32 port;
	__u8 addr[16];
	__u32 scope_id;
	__u32 transport;
	__aligned_u64 name;
	__u32 name_len;
	__u32 token_len;
	__aligned_u64 token;
	__u32 timeout_ms;
	__u32 segment;
};

/**
 * struct te_buffer - one region of a segment
 * @addr: address peers use
 * @length: bytes
 * @access: TE_REMOTE_* bits
 * @reserved: zero
 */
struct te_buffer {
	__aligned_u64 addr;
	__aligned_u64 length;
	__u32 access;
	__u32 reserved;
};

/**
 * struct te_ioc_segment_info - regions of an open segment
 * @size: in, sizeof(struct)
 * @flags: in, must be zero
 * @segment: in, id
 * @max: in, room at @bufs, in entries; out: entries written
 * @bufs: in, pointer to struct te_buffer[@max], filled by ascending address
 * @nr: out, how many regions there are
 * @transport: out, TE_RDMA ...: what carries its requests now, as far as is known:
 *	who has not tried yet counts as able to; TE_ANY: nothing does
 * @forced: out, what TE_IOC_SEGMENT_OPEN asked for, TE_ANY: it left the choice
 * @known: out, bit 1 << TE_RDMA ...: a dev of this node and one of the peer's speak it
 * @able: out, those of @known that can carry requests now. Local comes first, then
 *	RDMA, then TCP; so this and @forced say why @transport is what it is.
 * @reserved: out, zero
 *
 * Errors: ENOENT, ESTALE, EFAULT.
 */
struct te_ioc_segment_info {
	__u32 size;
	__u32 flags;
	__u32 segment;
	__u32 max;
	__aligned_u64 bufs;
	__u32 nr;
	__u32 transport;
	__u32 forced;
	__u32 known;
	__u32 able;
	__u32 reserved;
};

/**
 * struct te_ioc_segment_close - close a segment
 * @size: in, sizeof(struct)
 * @flags: in, must be zero
 * @segment: in, id
 * @reserved: must be zero
 *
 * Requests in flight go on.
 *
 * Errors: ENOENT.
 */
struct te_ioc_segment_close {
	__u32 size;
	__u32 flags;
	__u32 segment;
	__u32 reserved;
};

/**
 * struct te_ioc_batch_alloc - allocate a batch
 * @size: in, sizeof(struct)
 * @flags: in, must be zero
 * @nr_tasks: in, capacity, 1 to te_ioc_setup.task_slots - 1
 * @deadline_ms: in, for each submit, from its time on; 0:
 *	TE_DEFAULT_DEADLINE_MS; at most TE_MAX_DEADLINE_MS
 * @priority: in, 0 (TE_FEAT_PRIORITY)
 * @entries: in, TE_ENTRIES_*
 * @batch: out, id
 * @reserved: must be zero
 *
 * Errors: EINVAL, E2BIG, EBUSY no run of free slots, ENXIO, ENOMEM.
 */
struct te_ioc_batch_alloc {
	__u32 size;
	__u32 flags;
	__u32 nr_tasks;
	__u32 deadline_ms;
	__u32 priority;
	__u32 entries;
	__u32 batch;
	__u32 reserved;
};

/**
 * struct te_ioc_batch_submit - add requests to a batch, all or none
 * @size: in, sizeof(struct)
 * @flags: in, must be zero
 * @batch: in, id
 * @nr: in, requests, not 0
 * @requests: in, pointer to struct te_request[@nr]
 *
 * Errors: EINVAL, E2BIG over the batch's capacity, ENOENT batch or segment,
 * ERANGE, EOVERFLOW, EACCES, ESTALE, ENXIO, EBUSY ring full, EBADFD, ECANCELED
 * the batch was cancelled, ENOMEM. Nothing has started then.
 */
struct te_ioc_batch_submit {
	__u32 size;
	__u32 flags;
	__u32 batch;
	__u32 nr;
	__aligned_u64 requests;
};

/**
 * struct te_ioc_batch_wait - sleep until there is news
 * @size: in, sizeof(struct)
 * @flags: in, must be zero
 * @batch: in, id: until it is terminal; 0: until the ring holds @nr_entries
 * @nr_entries: in, with @batch 0: 1 to cq_entries; else 0
 * @timeout_ms: in, -1: for ever; 0: look only
 * @reserved: must be zero
 *
 * A batch to which nothing was submitted counts as terminal.
 *
 * Errors: ENOENT, EINVAL, ETIME, EINTR, ENXIO, EBADFD.
 */
struct te_ioc_batch_wait {
	__u32 size;
	__u32 flags;
	__u32 batch;
	__u32 nr_entries;
	__s32 timeout_ms;
	__u32 reserved;
};

/**
 * struct te_ioc_batch_cancel - end what is not done
 * @size: in, sizeof(struct)
 * @flags: in, must be zero
 * @batch: in, id
 * @reserved: must be zero
 *
 * Returns at once; the tasks become TE_CANCELED when their buffers are quiet.
 * Further submits to the batch get -ECANCELED.
 *
 * Errors: ENOENT.
 */
struct te_ioc_batch_cancel {
	__u32 size;
	__u32 flags;
	__u32 batch;
	__u32 reserved;
};

/**
 * struct te_ioc_batch_free - give a batch and its slots back
 * @size: in, sizeof(struct)
 * @flags: in, must be zero
 * @batch: in, id
 * @reserved: must be zero
 *
 * Errors: ENOENT, EBUSY tasks in flight.
 */
struct te_ioc_batch_free {
	__u32 size;
	__u32 flags;
	__u32 batch;
	__u32 reserved;
};

/**
 * struct te_topology_entry - one device in one row of the priority matrix
 * @location: NUL-terminated, zeros behind; see te_ioc_mr_register.location
 * @device: RDMA device, "mlx5_0", or one port of it, "mlx5_0/1"; NUL-terminated,
 *	zeros behind
 * @tier: 0 preferred, 1 used when those are full or gone; below TE_NR_TIERS
 * @reserved: must be zero
 */
struct te_topology_entry {
	__u8 location[TE_MAX_LOCATION + 1];
	__u8 device[TE_MAX_DEVICE + 1];
	__u32 tier;
	__u32 reserved;
};

/**
 * struct te_ioc_topology_set - load the node's priority matrix
 *	(TE_IOC_TOPOLOGY_SET)
 * @size: in, sizeof(struct)
 * @flags: in, must be zero
 * @nr: in, entries, at most TE_TOPOLOGY_LOCATIONS * TE_TOPOLOGY_DEVICES; 0: none
 *	from now on
 * @reserved: must be zero
 * @entries: in, pointer to struct te_topology_entry[@nr] in any order, each pair
 *	of location and device once; 0 with @nr 0
 *
 * It takes the place of what was loaded before, all or nothing, for requests
 * submitted from now on. Devices need not be there. For memory of a location that
 * it names, devices that it does not list there are not used. A location that it
 * does not name is as "*"; if it does not name that, all devices in it are
 * preferred for it. Without a matrix, devices of the memory's own NUMA node are
 * preferred, and those whose node is not known.
 *
 * Needs CAP_SYS_ADMIN in the initial user namespace, no TE_IOC_SETUP.
 *
 * Errors: EPERM, EINVAL (a bad entry too), E2BIG too many entries, locations or
 * devices, EFAULT, ENOMEM.
 */
struct te_ioc_topology_set {
	__u32 size;
	__u32 flags;
	__u32 nr;
	__u32 reserved;
	__aligned_u64 entries;
};

/**
 * struct te_ioc_topology_get - see the priority matrix (TE_IOC_TOPOLOGY_GET)
 * @size: in, sizeof(struct)
 * @flags: in, must be zero
 * @max: in, room at @entries, in entries; out: entries written
 * @nr: out, how many entries there are, 0: no matrix is loaded
 * @entries: in, pointer to struct te_topology_entry[@max], filled location by
 *	location
 *
 * Needs no TE_IOC_SETUP.
 *
 * Errors: EFAULT, ENOMEM.
 */
struct te_ioc_topology_get {
	__u32 size;
	__u32 flags;
	__u32 max;
	__u32 nr;
	__aligned_u64 entries;
};

#ifndef __cplusplus
#define TE_ASSERT(type, member, offset) \
	_Static_assert(__builtin_offsetof(struct type, member) == (offset), \
		       #type "." #member)
#define TE_ASSERT_SIZE(type, bytes) \
	_Static_assert(sizeof(struct type) == (bytes), #type)
TE_ASSERT(te_request, segment, 8);
TE_ASSERT(te_request, local_addr, 16);
TE_ASSERT(te_request, remote_addr, 24);
TE_ASSERT(te_request, length, 32);
TE_ASSERT(te_request, user_data, 40);
TE_ASSERT_SIZE(te_request, 48);
TE_ASSERT(te_completion, batch, 8);
TE_ASSERT(te_completion, state, 12);
TE_ASSERT(te_completion, error, 16);
TE_ASSERT(te_completion, task, 20);
TE_ASSERT(te_completion, bytes, 24);
TE_ASSERT_SIZE(te_completion, 32);
TE_ASSERT(te_slot, error, 4);
TE_ASSERT(te_slot, bytes, 8);
TE_ASSERT(te_slot, batch, 16);
TE_ASSERT(te_slot, nr_tasks, 20);
TE_ASSERT_SIZE(te_slot, 32);
TE_ASSERT(te_ring_hdr, tail, 64);
TE_ASSERT_SIZE(te_ring_hdr, TE_RING_ENTRIES);
TE_ASSERT(te_ioc_info, features, 16);
TE_ASSERT(te_ioc_info, node_id, 32);
TE_ASSERT_SIZE(te_ioc_info, 48);
TE_ASSERT(te_ioc_stats, contexts, 8);
TE_ASSERT(te_ioc_stats, slices, 80);
TE_ASSERT(te_ioc_stats, sessions_lost, 104);
TE_ASSERT(te_ioc_stats, endpoints_stored, 112);
TE_ASSERT(te_ioc_stats, store_evictions, 144);
TE_ASSERT(te_ioc_stats, crc_errors, 152);
TE_ASSERT(te_ioc_stats, endpoints_failed, 160);
TE_ASSERT(te_ioc_stats, slices_rdma_down, 176);
TE_ASSERT_SIZE(te_ioc_stats, 184);
TE_ASSERT(te_ioc_setup, status_bytes, 16);
TE_ASSERT_SIZE(te_ioc_setup, 32);
TE_ASSERT_SIZE(te_ioc_eventfd, 16);
TE_ASSERT(te_ioc_mr_register, access, 24);
TE_ASSERT(te_ioc_mr_register, base, 32);
TE_ASSERT(te_ioc_mr_register, location, 48);
TE_ASSERT(te_ioc_mr_register, mr, 60);
TE_ASSERT_SIZE(te_ioc_mr_register, 64);
TE_ASSERT_SIZE(te_ioc_mr_unregister, 16);
TE_ASSERT(te_ioc_segment_export, name_len, 16);
TE_ASSERT_SIZE(te_ioc_segment_export, 32);
TE_ASSERT(te_ioc_segment_open, addr, 16);
TE_ASSERT(te_ioc_segment_open, name, 40);
TE_ASSERT(te_ioc_segment_open, token, 56);
TE_ASSERT(te_ioc_segment_open, segment, 68);
TE_ASSERT_SIZE(te_ioc_segment_open, 72);
TE_ASSERT(te_buffer, access, 16);
TE_ASSERT_SIZE(te_buffer, 24);
TE_ASSERT(te_ioc_segment_info, bufs, 16);
TE_ASSERT(te_ioc_segment_info, forced, 32);
TE_ASSERT_SIZE(te_ioc_segment_info, 48);
TE_ASSERT_SIZE(te_ioc_segment_close, 16);
TE_ASSERT(te_ioc_batch_alloc, batch, 24);
TE_ASSERT_SIZE(te_ioc_batch_alloc, 32);
TE_ASSERT(te_ioc_batch_submit, requests, 16);
TE_ASSERT_SIZE(te_ioc_batch_submit, 24);
TE_ASSERT(te_ioc_batch_wait, timeout_ms, 16);
TE_ASSERT_SIZE(te_ioc_batch_wait, 24);
TE_ASSERT_SIZE(te_ioc_batch_cancel, 16);
TE_ASSERT_SIZE(te_ioc_batch_free, 16);
TE_ASSERT(te_topology_entry, device, 32);
TE_ASSERT(te_topology_entry, tier, 96);
TE_ASSERT_SIZE(te_topology_entry, 104);
TE_ASSERT(te_ioc_topology_set, entries, 16);
TE_ASSERT_SIZE(te_ioc_topology_set, 24);
TE_ASSERT(te_ioc_topology_get, entries, 16);
TE_ASSERT_SIZE(te_ioc_topology_get, 24);
#undef TE_ASSERT
#undef TE_ASSERT_SIZE
#endif

#endif /* _UAPI_LINUX_TE_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rdma: kernel verbs. One te_rdma_dev for each port of each ib_device that has
 * an address, with one PD, one CQ for each mover, one listener, and one service
 * connection of the dev to itself, on which regions are fast-registered.
 *
 * Who wants to read or write connects; the answering side's QPs (te_rdma_conn)
 * post nothing. Connection manager events come in process context; everything
 * that waits is done in work items of te_rdma_wq.
 */
#ifndef TE_RDMA_H
#define TE_RDMA_H

#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "endpoint/endpoint.h"
#include "fault/fault.h"
#include "wire/wire.h"
#include "xport/xport.h"

/* Module parameters; clamped to what a device can. */
extern unsigned int te_rdma_num_qp;
extern unsigned int te_rdma_qp_timeout;

#define TE_RDMA_MAX_QP		4U	/* per endpoint */

/* QPs of each endpoint. */
static inline u32 te_rdma_nr_qps(void)
{
	return clamp(te_rdma_num_qp, 1U, TE_RDMA_MAX_QP);
}

#define TE_RDMA_SQ_DEPTH	256U	/* work requests per QP */
#define TE_RDMA_SQ_LEAST	17U	/* a chain and its proof */
#define TE_RDMA_CQ_DEPTH	4096U	/* completions per mover */
#define TE_RDMA_CQ_LEAST	64U
#define TE_RDMA_READ_DEPTH	128U	/* READs in flight per QP */
#define TE_RDMA_CHUNK_PAGES	512U	/* pages per fast registration */
#define TE_RDMA_CHAIN		16U	/* slices per doorbell */
#define TE_RDMA_PROOF_BYTES	8U
#define TE_RDMA_QP_RETRY	6	/* 7 is for ever on rxe */
#define TE_RDMA_RNR_RETRY	7
#define TE_RDMA_LEAST_PATIENCE	(10 * HZ)
/*
 * Requests that wait at a listener: all peers come back in one moment when a node
 * does. (siw lets one more wait than it can take up, and closes the listener when
 * the peer of the one left over gives up, see siw_cm_llp_state_change().)
 */
#define TE_RDMA_BACKLOG		1024
#define TE_RDMA_RESOLVE_MS	2000
#define TE_RDMA_DRAIN_MS	2000	/* for flushed completions to come */
#define TE_RDMA_RESTART_MS	1000
#define TE_RDMA_MONITOR_MS	1000
#define TE_RDMA_NEWS_MS		50	/* for a port's event to come */
#define TE_RDMA_LINK_MS		5000	/* for a link to come back */
/* Connections that peers may have to one dev. */
#define TE_RDMA_MAX_CONNS	16384U

/**
 * struct te_rdma_svc - service connection: registers memory
 * @lock: one registration at a time
 * @accept_lock: the answering end is made or ended
 * @cq: polled by the core's workqueue
 * @id: asking end
 * @peer_id: answering end
 * @cookie: that a request must show to become the answering end, 0: none may
 * @asked: cookie that the asking end shows
 * @done: both ends are up, or @error is set
 * @error: -errno
 * @ready: it works
 * @cqe: of the chain that is posted
 * @posted: it has completed
 * @status: with
 */
struct te_rdma_svc {
	struct mutex lock; /* protects posting, id, ready, error */
	struct mutex accept_lock; /* protects peer_id, cookie */
	struct ib_cq *cq;
	struct rdma_cm_id *id;
	struct rdma_cm_id *peer_id;
	u64 cookie;
	u64 asked;
	struct completion done;
	int error;
	bool ready;
	struct ib_cqe cqe;
	struct completion posted;
	enum ib_wc_status status;
};

/**
 * struct te_rdma_proof - the word by which WRITEs are proven, see proof.c
 * @mr: covers it, at address 0; NULL: none yet, or none is needed
 * @word: TE_RDMA_PROOF_BYTES that nobody looks at
 * @sg: its DMA mapping
 */
struct te_rdma_proof {
	struct ib_mr *mr;
	void *word;
	struct scatterlist sg;
};

/**
 * struct te_rdma_dev - one port of an ib_device
 * @dev: generic part
 * @ib: the device; gone when ib_client.remove has returned
 * @port: 1 ...
 * @link: on the client data's list
 * @pd: for all its QPs and MRs
 * @chunk_pages: pages per MR, a power of two
 * @sq_depth: work requests per QP
 * @cq_depth: completions per mover, less once the device has refused so many
 * @read_out: READs in flight that we may start, per QP
 * @read_in: READs in flight that we may answer, per QP
 * @iwarp: the port's protocol
 * @scope_id: interface of a link-local address, else 0; written by @start_work
 * @listen_id: bound to the dev's address
 * @svc: service connection
 * @proof: of an iWARP port
 * @start_work: finds the address, listens, connects the service; runs again
 *	until it has succeeded, when the service broke, and when addresses change
 * @going: the dev goes: @start_work does nothing any more
 * @mtu: enum ib_mtu of the port, as it was read last
 * @told: the log says how it stands
 * @told_depth: and that QPs are smaller than they should be
 * @events: asynchronous events
 * @inet: IPv4 addresses that come and go
 * @inet6: the same of IPv6
 * @monitor_work: reads the port's state, each second
 * @closing: endpoints that still have connections to end
 * @closed: endpoints that have given their QPs back
 * @lock: protects @stopping, @conns and @nr_conns, and for who reads it at any
 *	time, the dev's address and @scope_id
 * @stopping: no new connections
 * @conns: te_rdma_conn.dev_link
 * @nr_conns: on @conns
 * @idle: woken when @nr_conns reaches 0
 */
struct te_rdma_dev {
	struct te_dev dev;
	struct ib_device *ib;
	u32 port;
	struct list_head link;
	struct ib_pd *pd;
	u32 chunk_pages;
	u32 sq_depth;
	u32 cq_depth;
	u8 read_out;
	u8 read_in;
	bool iwarp;
	u32 scope_id;
	u8 mtu;
	struct rdma_cm_id *listen_id;
	struct te_rdma_svc svc;
	struct te_rdma_proof proof;
	struct delayed_work start_work;
	bool going;
	bool told;
	bool told_depth;
	struct ib_event_handler events;
	struct notifier_block inet;
	struct notifier_block inet6;
	struct delayed_work monitor_work;
	atomic_t closing;
	atomic_t closed;
	spinlock_t lock; /* protects address, stopping, conns, nr_conns */
	bool stopping;
	struct list_head conns;
	u32 nr_conns;
	wait_queue_head_t idle;
};

/**
 * struct te_rdma_mover - what a mover polls
 * @cq: its completions
 * @depth: completions that @cq holds
 * @room: completions it may still cause; each posted work request takes one,
 *	as each may be flushed
 * @qps: of its endpoints, by te_rdma_qp.nr
 * @wc: scratch for polling
 * @wr: scratch for posting; the last is for a proof, see post.c
 * @sge: scratch for posting
 */
struct te_rdma_mover {
	struct ib_cq *cq;
	u32 depth;
	u32 room;
	struct xarray qps;
	struct ib_wc wc[TE_RDMA_CHAIN];
	struct ib_rdma_wr wr[TE_RDMA_CHAIN + 1];
	struct ib_sge sge[TE_RDMA_CHAIN + 1];
};

/**
 * struct te_rdma_qp - one QP of an endpoint
 * @ep: whose it is
 * @id: its connection; its QP is id->qp
 * @index: below te_rdma_ep.nr_qps
 * @proof_key: iWARP: of the peer's word, see proof.c; set before it is READY
 * @nr: the mover's: key in te_rdma_mover.qps
 * @room: the mover's: free work requests; set before it is READY
 * @sent: the mover's: number of the last work request that was posted
 * @done: the mover's: number of the last one that has ended
 * @posted: the mover's: te_slice.link in the order of posting
 * @heard: the mover's: jiffies, when something came of it, or was posted on none
 */
struct te_rdma_qp {
	struct te_rdma_ep *ep;
	struct rdma_cm_id *id;
	u32 index;
	u32 proof_key;
	u32 nr;
	u32 room;
	u32 sent;
	u32 done;
	struct list_head posted;
	unsigned long heard;
};

/**
 * struct te_rdma_ep - an endpoint
 * @ep: generic part
 * @connect_work: starts the connections
 * @close_work: ends their QPs
 * @end_work: ends them, when there is a link, or @end_by
 * @end_by: jiffies
 * @lock: protects @closing and @nr_connected, and making of QPs
 * @patience: jiffies that a QP is given to say something of what is posted
 * @blamed: the mover's: a slice was taken for the cause of its end
 * @closing: no QP may be made any more
 * @nr_connected: QPs
 * @nr_qps: entries of @qp
 * @rcu: frees it
 * @qp: connections
 */
struct te_rdma_ep {
	struct te_ep ep;
	struct work_struct connect_work;
	struct work_struct close_work;
	struct delayed_work end_work;
	unsigned long end_by;
	struct mutex lock; /* protects closing, nr_connected, making of QPs */
	unsigned long patience;
	bool blamed;
	bool closing;
	u32 nr_connected;
	u32 nr_qps;
	struct rcu_head rcu;
	struct te_rdma_qp qp[];
};

static_assert(offsetof(struct te_rdma_dev, dev) == 0);
static_assert(offsetof(struct te_rdma_ep, ep) == 0);

static inline struct te_rdma_dev *to_rdma_dev(struct te_dev *dev)
{
	return container_of(dev, struct te_rdma_dev, dev);
}

static inline struct te_rdma_ep *to_rdma_ep(struct te_ep *ep)
{
	return container_of(ep, struct te_rdma_ep, ep);
}

extern struct workqueue_struct *te_rdma_wq;

/* The front door, for main.c: register as ib_client, unregister. */
int te_rdma_init(void);
void te_rdma_exit(void);

/* addr.c */
int te_rdma_find_addr(struct te_rdma_dev *rdev, struct in6_addr *addr,
		      u32 *scope_id, bool *still);
/* Run the start work when an address comes; undone before the dev ends. */
void te_rdma_watch_addr(struct te_rdma_dev *rdev);
void te_rdma_unwatch_addr(struct te_rdma_dev *rdev);
void te_rdma_sockaddr(struct sockaddr_storage *ss, const struct in6_addr *addr,
		      u32 scope_id, u16 port);

/* cm.c: an id in the initial namespace, for connections */
struct rdma_cm_id *te_rdma_make_id(rdma_cm_event_handler handler,
				   void *context);

/* post.c: as ib_post_send(); @bad may stay as it is when all are refused */
int te_rdma_post_send(struct ib_qp *qp, const struct ib_send_wr *first,
		      const struct ib_send_wr **bad);

/* A test wants it: an event that no device of ours has by itself. */
static inline void te_rdma_qp_fatal(struct ib_qp *qp, enum te_fault_point point)
{
	struct ib_event event = {
		.device		= qp->device,
		.element.qp	= qp,
		.event		= IB_EVENT_QP_FATAL,
	};

	if (te_fault(point))
		qp->event_handler(&event, qp->qp_context);
}

/* dev.c: what te asks for, cut to what the device has. Pure, but for a message. */
void te_rdma_clamp(struct te_rdma_dev *rdev, const struct ib_device_attr *attrs);
/* Drivers do not agree on how they say that there is no more, or not as large. */
static inline bool te_rdma_too_much(int error)
{
	return error == -ENOMEM || error == -EINVAL || error == -ENOSPC ||
	       error == -EAGAIN;
}

/* Evict an endpoint without work and wait for its QPs to go. False: there is none. */
bool te_rdma_shed(struct te_rdma_dev *rdev);

/* dev.c: run the start work in @delay_ms, unless the dev goes */
void te_rdma_restart(struct te_rdma_dev *rdev, unsigned int delay_ms);
/* Is it up where it should not be, or down where it could be up? */
bool te_rdma_must_restart(struct te_rdma_dev *rdev);

/* monitor.c */
void te_rdma_monitor_start(struct te_rdma_dev *rdev);
void te_rdma_monitor_stop(struct te_rdma_dev *rdev);
/* Has the port a link? May sleep. */
void te_rdma_read_port(struct te_rdma_dev *rdev);
/* Is a message of the connection manager to be put off, until @end_by at most? */
bool te_rdma_cm_waits(struct te_rdma_dev *rdev, unsigned long end_by);

/* svc.c */
int te_rdma_svc_start(struct te_rdma_dev *rdev);
void te_rdma_svc_stop(struct te_rdma_dev *rdev);
/* The answering end's request came in: it is ours. Return: 0 or -errno. */
int te_rdma_svc_accept(struct te_rdma_dev *rdev, struct rdma_cm_id *id,
		       u64 cookie);
/* Post a chain of registrations and wait for the last. */
int te_rdma_svc_post(struct te_rdma_dev *rdev, struct ib_send_wr *first,
		     struct ib_send_wr *last);

/* proof.c; started when the service works, more than once. 0 or -errno */
int te_rdma_proof_start(struct te_rdma_dev *rdev);
void te_rdma_proof_stop(struct te_rdma_dev *rdev);
/* For peers to READ it; 0: none. */
u32 te_rdma_proof_key(struct te_rdma_dev *rdev);

/* cm.c: the answering side */
int te_rdma_listen(struct te_rdma_dev *rdev);
void te_rdma_unlisten(struct te_rdma_dev *rdev);
/* End all connections and wait for it. */
void te_rdma_drop_conns(struct te_rdma_dev *rdev);
/* A test wants it: their QPs have a fatal event. */
void te_rdma_conns_fatal(struct te_rdma_dev *rdev);
/*
 * Of fewer than @send_wrs, which says how many then, if the device refuses so many.
 * -ENOMEM: of none at all; an endpoint without work is evicted.
 */
int te_rdma_make_qp(struct te_rdma_dev *rdev, struct rdma_cm_id *id,
		    struct ib_cq *cq, u32 *send_wrs,
		    void (*event)(struct ib_event *event, void *context),
		    void *context);

/* ep.c: the asking side */
struct te_ep *te_rdma_ep_create(struct te_mover *mover, struct te_peer *peer,
				const struct te_rdev *rdev);
void te_rdma_ep_free(struct te_ep *ep);
void te_rdma_ep_connect(struct te_ep *ep);
void te_rdma_ep_close(struct te_ep *ep);

/* mr.c */
struct te_mr_map *te_rdma_mr_map(struct te_dev *dev, struct te_mr *mr);

/* post.c */
u32 te_rdma_ep_room(struct te_ep *ep);
const struct te_slice *te_rdma_ep_stuck(struct te_ep *ep);
bool te_rdma_ep_patience(struct te_ep *ep, unsigned long *until);
void te_rdma_post(struct te_ep *ep, struct list_head *slices,
		  struct list_head *finished);

/* cq.c */
int te_rdma_mover_start(struct te_mover *mover);
void te_rdma_mover_stop(struct te_mover *mover);
u32 te_rdma_poll(struct te_mover *mover, struct list_head *finished);
bool te_rdma_arm(struct te_mover *mover);
void te_rdma_ep_reap(struct te_ep *ep, struct list_head *finished);

#endif /* TE_RDMA_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fault: things that go wrong on purpose, for tests. Only a test build
 * (CONFIG_TE_TEST=y on make's command line, as selftests/ does for the debug
 * kernels) has any of it; in all others each call here is nothing.
 *
 * Two kinds of points. te_fault() is asked by te's own wrappers of what the core
 * can hardly be made to refuse, and answers an errno when its time has come; so do
 * events that no device here has by itself, or that it is to be without.
 * te_delay() stands where two threads may meet, and holds the one that passes
 * for a while, so that a test can have the other go first. Both sit behind one
 * static key, off until a test arms a point.
 *
 * A test arms points through debugfs, folder te-fault; see fault.c for the files.
 * It can tell te's work items from others, too: their workqueues stand in sysfs, and
 * with another nice value they have workers that serve nobody else.
 */
#ifndef TE_FAULT_H
#define TE_FAULT_H

#include <linux/jump_label.h>
#include <linux/types.h>
#include <linux/workqueue.h>

/* What can be made to fail; names in fault.c. */
enum te_fault_point {
	TE_FAULT_PIN,		/* pages of a process */
	TE_FAULT_DMA_MAP,	/* a list of pages for a dev */
	TE_FAULT_ALLOC_PD,
	TE_FAULT_CREATE_CQ,
	TE_FAULT_CREATE_QP,
	TE_FAULT_ALLOC_MR,
	TE_FAULT_MAP_MR,	/* the list into an MR */
	TE_FAULT_CREATE_ID,	/* of the connection manager */
	TE_FAULT_CREATE_THREAD,
	TE_FAULT_POST,		/* a chain of work requests */
	TE_FAULT_PORT,		/* reading how a port is */
	TE_FAULT_NEWS,		/* an event of a port, an address: it is lost */
	TE_FAULT_OWN,		/* knowing a peer for this node itself */
	/* Not a call: these events come. */
	TE_FAULT_QP_FATAL,	/* of the QP that a chain was posted to */
	TE_FAULT_DEVICE_FATAL,	/* of the device that it was posted on */
	TE_FAULT_DRAIN_FATAL,	/* of a QP that is being flushed */
	TE_FAULT_CONN_FATAL,	/* of all QPs of peers at a dev */
	TE_FAULT_OTHER_PORT,	/* of another port of the device: no link */
	TE_FAULT_ACCEPT,	/* a peer's connection */
	TE_FAULT_COMPLETION,	/* of work requests: it is lost */
	TE_FAULT_INVALID_REQUEST, /* says a completion */
	TE_NR_FAULTS,
};

/* Where a thread can be held: process context, no spinlock, may sleep. */
enum te_delay_point {
	TE_DELAY_SUBMIT_QUEUE,	/* tasks live, on no queue */
	TE_DELAY_TASK_END,	/* last slice done, end not shown */
	TE_DELAY_TASK_SHOWN,	/* end shown, nobody woken */
	TE_DELAY_WAIT_SLEEP,	/* found nothing, about to sleep */
	TE_DELAY_BATCH_FREE,	/* id gone, memory not */
	TE_DELAY_CTX_CLOSE,	/* memory given up, batches not */
	TE_DELAY_MR_PUBLISH,	/* mr complete, id not shown */
	TE_DELAY_MR_REVOKED,	/* id gone, work not yet drained */
	TE_DELAY_SEG_OPENED,	/* description here, id not shown */
	TE_DELAY_SESSION_LOST,	/* peer dead, segments not told */
	TE_DELAY_ACCEPTED,	/* socket accepted, no session yet */
	TE_DELAY_EP_FOUND,	/* endpoint found, not kept */
	TE_DELAY_EP_CONNECT,	/* QP made, nothing sent */
	TE_DELAY_EP_FLUSHED,	/* endpoint quiet, QPs not destroyed */
	TE_DELAY_CONN_PUBLISH,	/* connection accepted, on no list */
	TE_DELAY_LANE_TAKE,	/* bytes of a lane, not in place */
	TE_DELAY_MOVER_ARM,	/* nothing found, completions not armed */
	TE_DELAY_MOVER_SLEEP,	/* armed, not asleep */
	TE_DELAY_DEV_BROKEN,	/* dev cannot register, is on the list still */
	TE_DELAY_DEV_RESTART,	/* dev off the list, to come back */
	TE_NR_DELAYS,
};

#ifdef CONFIG_TE_TEST

#define TE_WQ_FLAGS	(WQ_UNBOUND | WQ_SYSFS)

DECLARE_STATIC_KEY_FALSE(te_fault_key);

int te_fault_ask(enum te_fault_point point);
void te_delay_pass(enum te_delay_point point);

void te_fault_init(void);
void te_fault_exit(void);

/**
 * te_fault() - shall this call fail
 * @point: which
 *
 * Context: Any.
 * Return: 0, or the errno that the caller fails with.
 */
static inline int te_fault(enum te_fault_point point)
{
	return static_branch_unlikely(&te_fault_key) ? te_fault_ask(point) : 0;
}

/**
 * te_delay() - let others go first if a test wants it so
 * @point: where
 *
 * Context: Process context, may sleep; no lock held but what the point is about.
 */
static inline void te_delay(enum te_delay_point point)
{
	if (static_branch_unlikely(&te_fault_key))
		te_delay_pass(point);
}

#else

#define TE_WQ_FLAGS	WQ_UNBOUND

static inline void te_fault_init(void) { }
static inline void te_fault_exit(void) { }
static inline int te_fault(enum te_fault_point point) { return 0; }
static inline void te_delay(enum te_delay_point point) { }

#endif

#endif /* TE_FAULT_H */

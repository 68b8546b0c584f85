// SPDX-License-Identifier: GPL-2.0-only
/*
 * rdma/monitor: how a port is: its events, and its state and address read each
 * second in case one was lost.
 *
 * Events come in any context and only leave marks. Without a link a dev's
 * endpoints end at once and their slices go over other rails; what the connection
 * manager has to say of connections waits.
 */
#include "rdma/rdma.h"

/* May come in atomic context. */
static void monitor_event(struct ib_event_handler *handler,
			  struct ib_event *event)
{
	struct te_rdma_dev *rdev = container_of(handler, struct te_rdma_dev,
						events);

	if (te_fault(TE_FAULT_NEWS))
		return;
	if (event->event == IB_EVENT_DEVICE_FATAL) {
		/* Of all ports; the next reading says when it is over. */
		te_dev_link(&rdev->dev, false);
		return;
	}
	if (event->element.port_num != rdev->port)
		return;
	switch (event->event) {
	case IB_EVENT_PORT_ERR:
		te_dev_link(&rdev->dev, false);
		break;
	case IB_EVENT_PORT_ACTIVE:
	case IB_EVENT_GID_CHANGE:
		mod_delayed_work(te_rdma_wq, &rdev->monitor_work, 0);
		te_rdma_restart(rdev, 0);
		break;
	default:
		break;
	}
}

/* A test wants it. Told to us alone: there may be no such port. */
static void other_port_lost(struct te_rdma_dev *rdev)
{
	struct ib_event event = {
		.event = IB_EVENT_PORT_ERR,
		.device = rdev->ib,
		.element.port_num = rdev->port + 1,
	};

	if (te_fault(TE_FAULT_OTHER_PORT))
		monitor_event(&rdev->events, &event);
}

void te_rdma_read_port(struct te_rdma_dev *rdev)
{
	struct ib_port_attr attr;
	bool link;

	link = !te_fault(TE_FAULT_PORT) &&
	       !ib_query_port(rdev->ib, rdev->port, &attr) &&
	       attr.state == IB_PORT_ACTIVE;
	if (link)
		WRITE_ONCE(rdev->mtu, attr.active_mtu);
	te_dev_link(&rdev->dev, link);
}

static void monitor_work(struct work_struct *work)
{
	struct te_rdma_dev *rdev = container_of(to_delayed_work(work),
						struct te_rdma_dev,
						monitor_work);
	bool had_none = READ_ONCE(rdev->dev.no_link);

	te_rdma_read_port(rdev);
	/* Nothing was started without a link. */
	if (!READ_ONCE(rdev->dev.no_link) &&
	    (had_none || te_rdma_must_restart(rdev)))
		te_rdma_restart(rdev, 0);
	te_rdma_conns_fatal(rdev);
	other_port_lost(rdev);
	queue_delayed_work(te_rdma_wq, &rdev->monitor_work,
			   msecs_to_jiffies(TE_RDMA_MONITOR_MS));
}

/*
 * Without a link adapters wait in vain for an answer, and soft-RoCE's GSI QP goes
 * to error with the first message, for ever.
 */
bool te_rdma_cm_waits(struct te_rdma_dev *rdev, unsigned long end_by)
{
	return READ_ONCE(rdev->dev.no_link) && !READ_ONCE(rdev->going) &&
	       time_before(jiffies, end_by);
}

void te_rdma_monitor_start(struct te_rdma_dev *rdev)
{
	INIT_DELAYED_WORK(&rdev->monitor_work, monitor_work);
	INIT_IB_EVENT_HANDLER(&rdev->events, rdev->ib, monitor_event);
	ib_register_event_handler(&rdev->events);
	queue_delayed_work(te_rdma_wq, &rdev->monitor_work, 0);
}

/* Nothing is put off for want of a link any more when it returns. */
void te_rdma_monitor_stop(struct te_rdma_dev *rdev)
{
	ib_unregister_event_handler(&rdev->events);
	cancel_delayed_work_sync(&rdev->monitor_work);
	WRITE_ONCE(rdev->going, true);
}

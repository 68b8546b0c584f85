// SPDX-License-Identifier: GPL-2.0-only
/*
 * rdma/dev: ports of RDMA devices that come and go.
 *
 * ib_client.add makes a te_rdma_dev for each port; its start work then finds an
 * address, listens, connects the service, and lets the dev be used. It runs
 * again until it has succeeded, and when addresses change: with another one all
 * of that is done anew. ib_client.remove
 * ends everything that uses the device before it returns. Two removes may run
 * at once; each touches its own device only.
 */
#include <linux/slab.h>
#include <net/ipv6.h>

#include "rdma/rdma.h"

struct workqueue_struct *te_rdma_wq;

static const struct te_transport_ops te_rdma_ops = {
	.transport	= TE_RDMA,
	.name		= "rdma",
	.mr_map		= te_rdma_mr_map,
	.mover_start	= te_rdma_mover_start,
	.mover_stop	= te_rdma_mover_stop,
	.ep_create	= te_rdma_ep_create,
	.ep_free	= te_rdma_ep_free,
	.ep_connect	= te_rdma_ep_connect,
	.ep_close	= te_rdma_ep_close,
	.ep_reap	= te_rdma_ep_reap,
	.ep_stuck	= te_rdma_ep_stuck,
	.ep_patience	= te_rdma_ep_patience,
	.ep_room	= te_rdma_ep_room,
	.post		= te_rdma_post,
	.poll		= te_rdma_poll,
	.arm		= te_rdma_arm,
};

static bool rdev_listens_at(const struct te_rdma_dev *rdev,
			    const struct in6_addr *addr, u32 scope_id)
{
	return rdev->listen_id && rdev->scope_id == scope_id &&
	       ipv6_addr_equal(&rdev->dev.self.addr, addr);
}

/* The dev is down: nobody is told its address, but endpoints may ask for it. */
static int rdev_listen(struct te_rdma_dev *rdev, const struct in6_addr *addr,
		       u32 scope_id)
{
	te_rdma_unlisten(rdev);
	spin_lock(&rdev->lock);
	rdev->dev.self.addr = *addr;
	rdev->scope_id = scope_id;
	spin_unlock(&rdev->lock);
	return te_rdma_listen(rdev);
}

static int rdev_start(struct te_rdma_dev *rdev, const struct in6_addr *addr,
		      u32 scope_id)
{
	struct te_rdev *self = &rdev->dev.self;
	int ret;

	te_dev_down(&rdev->dev);
	te_delay(TE_DELAY_DEV_RESTART);
	te_rdma_svc_stop(rdev);
	if (!rdev_listens_at(rdev, addr, scope_id)) {
		ret = rdev_listen(rdev, addr, scope_id);
		if (ret)
			return ret;
	}
	ret = te_rdma_svc_start(rdev);
	if (!ret)
		ret = te_rdma_proof_start(rdev);
	if (ret)
		return ret;
	self->transport = TE_RDMA;
	self->dev_id = rdev->dev.id;
	self->numa_node = rdev->dev.numa_node;
	/* The monitor looks at it. */
	WRITE_ONCE(self->mtu, READ_ONCE(rdev->mtu));
	self->chunk_shift = PAGE_SHIFT + ilog2(rdev->chunk_pages);
	return 0;
}

static void rdev_start_work(struct work_struct *work)
{
	struct te_rdma_dev *rdev = container_of(to_delayed_work(work),
						struct te_rdma_dev, start_work);
	struct in6_addr addr = rdev->dev.self.addr;
	u32 scope_id = rdev->scope_id;
	bool works = false, still;
	int ret;

	te_delay(TE_DELAY_DEV_BROKEN);
	te_rdma_read_port(rdev);
	/* Nothing can be connected; the link's return starts this again. */
	if (READ_ONCE(rdev->going) || READ_ONCE(rdev->dev.no_link))
		return;
	ret = te_rdma_find_addr(rdev, &addr, &scope_id, &still);
	if (!still) {
		/* Nothing more is to be connected from it. */
		te_dev_down(&rdev->dev);
		te_dev_moved(&rdev->dev);
	}
	if (!ret)
		works = READ_ONCE(rdev->dev.up) && READ_ONCE(rdev->svc.ready) &&
			rdev->dev.self.mtu == READ_ONCE(rdev->mtu) &&
			rdev_listens_at(rdev, &addr, scope_id);
	if (!ret && !works)
		ret = rdev_start(rdev, &addr, scope_id);
	/* Again for regions that could not be mapped, too. */
	if (ret ? ret != -EADDRNOTAVAIL : te_dev_up(&rdev->dev))
		te_rdma_restart(rdev, TE_RDMA_RESTART_MS);
	if (works)
		return;

	if (!ret)
		pr_info("te: %s: up at %pI6c port %u\n", rdev->dev.name,
			&rdev->dev.self.addr, rdev->dev.self.port);
	else if (!rdev->told)
		pr_info("te: %s: cannot be used yet: %s: %d\n", rdev->dev.name,
			ret == -EADDRNOTAVAIL ? "no address" :
						"service connection", ret);
	rdev->told = ret;
}

bool te_rdma_must_restart(struct te_rdma_dev *rdev)
{
	bool up = READ_ONCE(rdev->dev.up);
	struct in6_addr is, addr;
	u32 scope_id;
	bool still;

	spin_lock(&rdev->lock);
	is = rdev->dev.self.addr;
	scope_id = rdev->scope_id;
	spin_unlock(&rdev->lock);
	addr = is;
	if (te_rdma_find_addr(rdev, &addr, &scope_id, &still))
		return up;
	return !up || !ipv6_addr_equal(&addr, &is) ||
	       READ_ONCE(rdev->dev.self.mtu) != READ_ONCE(rdev->mtu);
}

void te_rdma_restart(struct te_rdma_dev *rdev, unsigned int delay_ms)
{
	queue_delayed_work(te_rdma_wq, &rdev->start_work,
			   msecs_to_jiffies(delay_ms));
}

static void rdev_release(struct te_dev *dev)
{
	kfree(to_rdma_dev(dev));
}

bool te_rdma_shed(struct te_rdma_dev *rdev)
{
	int closed = atomic_read(&rdev->closed);

	return te_dev_shed(&rdev->dev) &&
	       wait_var_event_timeout(&rdev->closed,
				      atomic_read(&rdev->closed) != closed,
				      msecs_to_jiffies(2 * TE_RDMA_DRAIN_MS));
}

void te_rdma_clamp(struct te_rdma_dev *rdev, const struct ib_device_attr *attrs)
{
	rdev->chunk_pages = rounddown_pow_of_two(min(TE_RDMA_CHUNK_PAGES,
						     attrs->max_fast_reg_page_list_len));
	rdev->sq_depth = min_t(u32, TE_RDMA_SQ_DEPTH, attrs->max_qp_wr);
	rdev->cq_depth = min_t(u32, TE_RDMA_CQ_DEPTH, attrs->max_cqe);
	rdev->read_out = min_t(u32, TE_RDMA_READ_DEPTH,
			       attrs->max_qp_init_rd_atom);
	rdev->read_in = min_t(u32, TE_RDMA_READ_DEPTH, attrs->max_qp_rd_atom);
	/* Peers need as many: half of the QPs are for them. */
	rdev->dev.max_ep = max(attrs->max_qp / (2 * te_rdma_nr_qps()), 1U);
	if (rdev->sq_depth < TE_RDMA_SQ_DEPTH ||
	    rdev->cq_depth < TE_RDMA_CQ_DEPTH ||
	    rdev->read_out < TE_RDMA_READ_DEPTH ||
	    rdev->read_in < TE_RDMA_READ_DEPTH ||
	    rdev->chunk_pages < TE_RDMA_CHUNK_PAGES)
		pr_info("te: %s: the device allows %u work requests, %u completions, %u READs out and %u in, %u pages per registration\n",
			rdev->dev.name, rdev->sq_depth, rdev->cq_depth,
			rdev->read_out, rdev->read_in, rdev->chunk_pages);
}

static struct te_rdma_dev *rdev_alloc(struct ib_device *ib, u32 port)
{
	struct te_rdma_dev *rdev;

	rdev = kzalloc(sizeof(*rdev), GFP_KERNEL);
	if (!rdev)
		return NULL;
	rdev->dev.ops = &te_rdma_ops;
	rdev->dev.release = rdev_release;
	rdev->dev.numa_node = ibdev_to_node(ib);
	snprintf(rdev->dev.name, sizeof(rdev->dev.name), "%s/%u",
		 dev_name(&ib->dev), port);
	rdev->ib = ib;
	rdev->port = port;
	rdev->iwarp = rdma_protocol_iwarp(ib, port);
	mutex_init(&rdev->svc.lock);
	mutex_init(&rdev->svc.accept_lock);
	init_completion(&rdev->svc.done);
	init_completion(&rdev->svc.posted);
	INIT_DELAYED_WORK(&rdev->start_work, rdev_start_work);
	spin_lock_init(&rdev->lock);
	INIT_LIST_HEAD(&rdev->conns);
	init_waitqueue_head(&rdev->idle);
	return rdev;
}

static struct ib_pd *alloc_pd(struct ib_device *ib)
{
	int ret = te_fault(TE_FAULT_ALLOC_PD);

	if (ret)
		return ERR_PTR(ret);
	return ib_alloc_pd(ib, 0);
}

/* Of the service connection; movers have their own, see cq.c. */
static struct ib_cq *alloc_cq(struct te_rdma_dev *rdev)
{
	int ret = te_fault(TE_FAULT_CREATE_CQ);

	if (ret)
		return ERR_PTR(ret);
	return ib_alloc_cq(rdev->ib, rdev, 4 * TE_RDMA_CHAIN, 0,
			   IB_POLL_WORKQUEUE);
}

static int rdev_add(struct ib_device *ib, u32 port, struct list_head *list)
{
	struct te_rdma_dev *rdev;
	int ret = -ENOMEM;

	rdev = rdev_alloc(ib, port);
	if (!rdev)
		return -ENOMEM;
	te_rdma_clamp(rdev, &ib->attrs);

	rdev->pd = alloc_pd(ib);
	if (IS_ERR(rdev->pd)) {
		ret = PTR_ERR(rdev->pd);
		goto err_free;
	}
	rdev->svc.cq = alloc_cq(rdev);
	if (IS_ERR(rdev->svc.cq)) {
		ret = PTR_ERR(rdev->svc.cq);
		goto err_dealloc_pd;
	}
	ret = te_dev_add(&rdev->dev);
	if (ret)
		goto err_free_cq;

	list_add_tail(&rdev->link, list);
	te_rdma_monitor_start(rdev);
	te_rdma_watch_addr(rdev);
	te_rdma_restart(rdev, 0);
	return 0;

err_free_cq:
	ib_free_cq(rdev->svc.cq);
err_dealloc_pd:
	ib_dealloc_pd(rdev->pd);
err_free:
	kfree(rdev);
	return ret;
}

static void rdev_del(struct te_rdma_dev *rdev)
{
	te_rdma_unwatch_addr(rdev);
	te_rdma_monitor_stop(rdev);
	cancel_delayed_work_sync(&rdev->start_work);
	/* Before the keys go: peers must not take their end for a refusal. */
	te_rdma_unlisten(rdev);
	te_rdma_drop_conns(rdev);
	te_dev_del(&rdev->dev);
	wait_var_event(&rdev->closing, !atomic_read(&rdev->closing));
	te_rdma_svc_stop(rdev);
	te_rdma_proof_stop(rdev);
	/* A registration that failed late may have queued it, to no effect. */
	cancel_delayed_work_sync(&rdev->start_work);
	ib_free_cq(rdev->svc.cq);
	ib_dealloc_pd(rdev->pd);
	te_dev_put(&rdev->dev);
}

static void te_rdma_remove(struct ib_device *ib, void *client_data);

static int te_rdma_add(struct ib_device *ib);

static struct ib_client te_rdma_client = {
	.name	= "te",
	.add	= te_rdma_add,
	.remove	= te_rdma_remove,
};

static int te_rdma_add(struct ib_device *ib)
{
	struct list_head *list;
	u32 port;
	int ret;

	if (!(ib->attrs.device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS) ||
	    !ib->attrs.max_fast_reg_page_list_len) {
		pr_info("te: %s: no fast registration, not used\n",
			dev_name(&ib->dev));
		return -EOPNOTSUPP;
	}
	list = kzalloc(sizeof(*list), GFP_KERNEL);
	if (!list)
		return -ENOMEM;
	INIT_LIST_HEAD(list);

	rdma_for_each_port(ib, port) {
		if (!rdma_cap_ib_cm(ib, port) && !rdma_cap_iw_cm(ib, port))
			continue;
		ret = rdev_add(ib, port, list);
		if (ret)
			pr_warn("te: %s: port %u not used: %d\n",
				dev_name(&ib->dev), port, ret);
	}
	ib_set_client_data(ib, &te_rdma_client, list);
	return 0;
}

static void te_rdma_remove(struct ib_device *ib, void *client_data)
{
	struct list_head *list = client_data;
	struct te_rdma_dev *rdev, *next;

	list_for_each_entry_safe(rdev, next, list, link) {
		list_del(&rdev->link);
		rdev_del(rdev);
	}
	kfree(list);
}

int te_rdma_init(void)
{
	int ret;

	te_rdma_wq = alloc_workqueue("te_rdma", TE_WQ_FLAGS, 0);
	if (!te_rdma_wq)
		return -ENOMEM;
	ret = ib_register_client(&te_rdma_client);
	if (ret) {
		destroy_workqueue(te_rdma_wq);
		return ret;
	}
	/* Devices that are there already are up when the module is loaded. */
	flush_workqueue(te_rdma_wq);
	return 0;
}

void te_rdma_exit(void)
{
	ib_unregister_client(&te_rdma_client);
	destroy_workqueue(te_rdma_wq);
}

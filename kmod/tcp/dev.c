// SPDX-License-Identifier: GPL-2.0-only
/*
 * tcp/dev: the TCP stack as a te_dev.
 *
 * It is up as long as the module is loaded: sockets need no device of ours.
 * Process context.
 */
#include <linux/err.h>
#include <linux/slab.h>

#include "fault/fault.h"
#include "tcp/tcp.h"

unsigned int te_tcp_lanes = 4;
unsigned int te_tcp_idle = 60;
bool te_tcp_crc;
unsigned short te_tcp_port;
struct workqueue_struct *te_tcp_wq;
struct workqueue_struct *te_tcp_conn_wq;

static struct te_dev *te_tcp_dev;

bool te_tcp_key_fits(struct te_mr *mr, u32 key)
{
	/* The dev goes after the last lane: te_tcp_exit(). */
	struct te_mr_map *map = xa_load(&mr->maps, te_tcp_dev->id);

	return map && map->keys[0].rkey == key;
}

static int tcp_mover_start(struct te_mover *mover)
{
	struct te_tcp_mover *tm;

	tm = kzalloc(sizeof(*tm), GFP_KERNEL);
	if (!tm)
		return -ENOMEM;
	mover->xp = tm;
	return 0;
}

static void tcp_mover_stop(struct te_mover *mover)
{
	kfree(mover->xp);
}

/* A day is enough, and jiffies of 32 bits can tell it. */
static unsigned long tcp_ep_idle_max(void)
{
	return min(READ_ONCE(te_tcp_idle), 86400U) * HZ;
}

static const struct te_transport_ops te_tcp_ops = {
	.transport	= TE_TCP,
	.name		= "tcp",
	.mr_map		= te_soft_mr_map,
	.mover_start	= tcp_mover_start,
	.mover_stop	= tcp_mover_stop,
	.ep_create	= te_tcp_ep_create,
	.ep_free	= te_tcp_ep_free,
	.ep_connect	= te_tcp_ep_connect,
	.ep_close	= te_tcp_ep_close,
	.ep_reap	= te_tcp_ep_reap,
	.ep_stuck	= te_tcp_ep_stuck,
	.ep_idle_max	= tcp_ep_idle_max,
	.ep_room	= te_tcp_ep_room,
	.post		= te_tcp_post,
	.poll		= te_tcp_poll,
	.arm		= te_tcp_arm,
};

int te_tcp_init(void)
{
	int ret = -ENOMEM;

	te_tcp_wq = alloc_workqueue("te_tcp", TE_WQ_FLAGS, 0);
	if (!te_tcp_wq)
		return -ENOMEM;
	te_tcp_conn_wq = alloc_workqueue("te_tcp_conn", TE_WQ_FLAGS,
					 2 * num_possible_cpus());
	if (!te_tcp_conn_wq)
		goto err_destroy_wq;
	te_tcp_dev = te_dev_add_soft(&te_tcp_ops, te_tcp_port);
	if (IS_ERR(te_tcp_dev)) {
		ret = PTR_ERR(te_tcp_dev);
		goto err_destroy_conn_wq;
	}
	return 0;

err_destroy_conn_wq:
	destroy_workqueue(te_tcp_conn_wq);
err_destroy_wq:
	destroy_workqueue(te_tcp_wq);
	return ret;
}

void te_tcp_exit(void)
{
	te_tcp_wait_conns();
	te_dev_del_soft(te_tcp_dev);
	destroy_workqueue(te_tcp_conn_wq);
	/* Endpoints close in it. */
	destroy_workqueue(te_tcp_wq);
}

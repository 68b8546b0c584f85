// SPDX-License-Identifier: GPL-2.0-only
/*
 * tcp/dev: the TCP stack as a te_dev.
 *
 * It is up as long as the module is loaded: sockets need no device of ours. A
 * region needs nothing but a key, by which the owner knows it again. Process
 * context.
 */
#include <linux/err.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "tcp/tcp.h"

/* One key for so much: what te_msg_dev.chunk_shift allows at most. */
#define TE_TCP_CHUNK_SHIFT	TE_WIRE_MAX_CHUNK_SHIFT

unsigned int te_tcp_lanes = 4;
unsigned short te_tcp_port;
struct workqueue_struct *te_tcp_wq;
struct workqueue_struct *te_tcp_conn_wq;

static struct te_dev *te_tcp_dev;

static void tcp_unmap(struct te_mr_map *map)
{
	kfree(map->keys);
	kfree(map);
}

static struct te_mr_map *tcp_mr_map(struct te_dev *dev, struct te_mr *mr)
{
	u64 end = offset_in_page(mr->addr) + te_mr_length(mr) - 1;
	struct te_mr_map *map;
	u32 key, i;

	map = kzalloc(sizeof(*map), GFP_KERNEL_ACCOUNT);
	if (!map)
		return ERR_PTR(-ENOMEM);
	map->mr = mr;
	map->dev = dev;
	map->unmap = tcp_unmap;
	map->chunk_shift = TE_TCP_CHUNK_SHIFT;
	map->nr_chunks = (end >> TE_TCP_CHUNK_SHIFT) + 1;
	map->keys = kcalloc(map->nr_chunks, sizeof(*map->keys),
			    GFP_KERNEL_ACCOUNT);
	if (!map->keys) {
		kfree(map);
		return ERR_PTR(-ENOMEM);
	}
	key = get_random_u32();
	for (i = 0; i < map->nr_chunks; i++)
		map->keys[i].rkey = key;
	return map;
}

bool te_tcp_key_fits(struct te_mr *mr, u32 key)
{
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

static const struct te_transport_ops te_tcp_ops = {
	.transport	= TE_TCP,
	.name		= "tcp",
	.mr_map		= tcp_mr_map,
	.mover_start	= tcp_mover_start,
	.mover_stop	= tcp_mover_stop,
	.ep_create	= te_tcp_ep_create,
	.ep_free	= te_tcp_ep_free,
	.ep_connect	= te_tcp_ep_connect,
	.ep_close	= te_tcp_ep_close,
	.ep_reap	= te_tcp_ep_reap,
	.ep_stuck	= te_tcp_ep_stuck,
	.ep_room	= te_tcp_ep_room,
	.post		= te_tcp_post,
	.poll		= te_tcp_poll,
	.arm		= te_tcp_arm,
};

static void tcp_dev_release(struct te_dev *dev)
{
	kfree(dev);
}

int te_tcp_init(void)
{
	struct te_dev *dev;
	int ret;

	te_tcp_wq = alloc_workqueue("te_tcp", WQ_UNBOUND, 0);
	if (!te_tcp_wq)
		return -ENOMEM;
	ret = -ENOMEM;
	te_tcp_conn_wq = alloc_workqueue("te_tcp_conn", WQ_UNBOUND,
					 2 * num_possible_cpus());
	if (!te_tcp_conn_wq)
		goto err_destroy_wq;
	dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	if (!dev)
		goto err_destroy_conn_wq;
	dev->ops = &te_tcp_ops;
	dev->numa_node = NUMA_NO_NODE;
	dev->max_ep = U32_MAX;
	dev->release = tcp_dev_release;
	strscpy(dev->name, "tcp", sizeof(dev->name));
	ret = te_dev_add(dev);
	if (ret) {
		kfree(dev);
		goto err_destroy_conn_wq;
	}
	dev->self = (struct te_rdev) {
		.port = te_tcp_port,
		.chunk_shift = TE_TCP_CHUNK_SHIFT,
		.dev_id = dev->id,
		.numa_node = NUMA_NO_NODE,
		.transport = TE_TCP,
	};
	te_tcp_dev = dev;
	te_dev_up(dev);
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
	te_dev_del(te_tcp_dev);
	te_dev_put(te_tcp_dev);
	destroy_workqueue(te_tcp_conn_wq);
	/* Endpoints close in it. */
	destroy_workqueue(te_tcp_wq);
}

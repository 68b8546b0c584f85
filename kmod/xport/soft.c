// SPDX-License-Identifier: GPL-2.0-only
/*
 * xport/soft: devs without a device, see xport.h. Made and ended by their transport
 * at load and unload; maps of regions under te_maps_mutex. Process context.
 */
#include <linux/err.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "xport/xport.h"

static void soft_release(struct te_dev *dev)
{
	kfree(dev);
}

struct te_dev *te_dev_add_soft(const struct te_transport_ops *ops, u16 port)
{
	struct te_dev *dev;
	int ret;

	dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	if (!dev)
		return ERR_PTR(-ENOMEM);
	dev->ops = ops;
	dev->numa_node = NUMA_NO_NODE;
	dev->max_ep = U32_MAX;
	dev->release = soft_release;
	strscpy(dev->name, ops->name, sizeof(dev->name));
	ret = te_dev_add(dev);
	if (ret) {
		kfree(dev);
		return ERR_PTR(ret);
	}
	dev->self = (struct te_rdev) {
		.port = port,
		.chunk_shift = TE_SOFT_CHUNK_SHIFT,
		.dev_id = dev->id,
		.numa_node = NUMA_NO_NODE,
		.transport = ops->transport,
	};
	te_dev_up(dev);
	return dev;
}

void te_dev_del_soft(struct te_dev *dev)
{
	te_dev_del(dev);
	te_dev_put(dev);
}

static void soft_unmap(struct te_mr_map *map)
{
	kfree(map->keys);
	kfree(map);
}

struct te_mr_map *te_soft_mr_map(struct te_dev *dev, struct te_mr *mr)
{
	u64 end = offset_in_page(mr->addr) + te_mr_length(mr) - 1;
	struct te_mr_map *map;
	u32 key, i;

	map = kzalloc(sizeof(*map), GFP_KERNEL_ACCOUNT);
	if (!map)
		return ERR_PTR(-ENOMEM);
	map->mr = mr;
	map->dev = dev;
	map->unmap = soft_unmap;
	map->chunk_shift = TE_SOFT_CHUNK_SHIFT;
	map->nr_chunks = (end >> TE_SOFT_CHUNK_SHIFT) + 1;
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

// SPDX-License-Identifier: GPL-2.0-only
/*
 * rdma/mr: fast registration of a region's pinned pages on one dev, in chunks.
 *
 * Each chunk is an MR of its own with its own DMA mapping, and one MR's key
 * serves as local and remote key. Keys are new with every registration, and die
 * with the MR: destroying it is what revokes a peer's access.
 *
 * iWARP sends the key of where a READ's answer goes to the peer, and wants it to
 * allow the peer to write. So memory that peers may read, not write, has a second
 * MR there, for READs of the owner: a peer of which it READs could write with
 * that key, others do not know it.
 *
 * te_maps_mutex is held by who maps and unmaps.
 */
#include <linux/dma-mapping.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "fault/fault.h"
#include "rdma/rdma.h"

struct te_rdma_chunk {
	struct ib_mr *mr;
	struct ib_mr *sink;	/* see above, or NULL */
	struct sg_table sgt;
};

/**
 * struct te_rdma_mr_map - a region on a dev
 * @map: generic part
 * @access: IB_ACCESS_* of its MRs
 * @two_mrs: each chunk has a sink, too
 * @dir: of its DMA mappings
 * @chunks: map.nr_chunks entries
 */
struct te_rdma_mr_map {
	struct te_mr_map map;
	int access;
	bool two_mrs;
	enum dma_data_direction dir;
	struct te_rdma_chunk *chunks;
};

static_assert(offsetof(struct te_rdma_mr_map, map) == 0);

static int ib_access(u32 access)
{
	int ib = 0;

	/* The spec wants local write with remote write. */
	if (access & (TE_LOCAL_WRITE | TE_REMOTE_WRITE))
		ib |= IB_ACCESS_LOCAL_WRITE;
	if (access & TE_REMOTE_READ)
		ib |= IB_ACCESS_REMOTE_READ;
	if (access & TE_REMOTE_WRITE)
		ib |= IB_ACCESS_REMOTE_WRITE;
	return ib;
}

static int dma_map(struct te_rdma_dev *rdev, struct sg_table *sgt,
		   enum dma_data_direction dir)
{
	return te_fault(TE_FAULT_DMA_MAP) ?:
	       ib_dma_map_sgtable_attrs(rdev->ib, sgt, dir, 0);
}

static struct ib_mr *try_alloc_mr(struct te_rdma_dev *rdev)
{
	int ret = te_fault(TE_FAULT_ALLOC_MR);

	if (ret)
		return ERR_PTR(ret);
	return ib_alloc_mr(rdev->pd, IB_MR_TYPE_MEM_REG, rdev->chunk_pages);
}

/* MRs and QPs may share a device's memory: one endpoint is given up for it. */
static struct ib_mr *alloc_mr(struct te_rdma_dev *rdev)
{
	struct ib_mr *mr = try_alloc_mr(rdev);

	if (IS_ERR(mr) && te_rdma_too_much(PTR_ERR(mr)) && te_rdma_shed(rdev))
		mr = try_alloc_mr(rdev);
	if (!IS_ERR(mr) || !te_rdma_too_much(PTR_ERR(mr)))
		return mr;
	pr_warn_ratelimited("te: %s: no MR is to be had: %ld\n",
			    rdev->dev.name, PTR_ERR(mr));
	return ERR_PTR(-ENOMEM);
}

/* Describe all of @sgt, @length bytes, to @mr. */
static int map_mr(struct ib_mr *mr, struct sg_table *sgt, u64 length)
{
	int ret = te_fault(TE_FAULT_MAP_MR);

	if (!ret)
		ret = ib_map_mr_sg(mr, sgt->sgl, sgt->nents, NULL, PAGE_SIZE);
	if (ret < 0)
		return ret;
	return ret == sgt->nents && mr->length == length ? 0 : -EIO;
}

static struct ib_mr *make_mr(struct te_rdma_dev *rdev, struct sg_table *sgt,
			     u64 length, u64 iova)
{
	struct ib_mr *mr = alloc_mr(rdev);
	int ret;

	if (IS_ERR(mr))
		return mr;
	ret = map_mr(mr, sgt, length);
	if (ret) {
		ib_dereg_mr(mr);
		return ERR_PTR(ret);
	}
	mr->iova = iova;
	return mr;
}

static void chunk_unmap(struct te_rdma_mr_map *rmap, struct te_rdma_chunk *chunk)
{
	struct te_rdma_dev *rdev = to_rdma_dev(rmap->map.dev);

	if (chunk->sink)
		ib_dereg_mr(chunk->sink);
	ib_dereg_mr(chunk->mr);
	ib_dma_unmap_sgtable_attrs(rdev->ib, &chunk->sgt, rmap->dir, 0);
	sg_free_table(&chunk->sgt);
}

/* DMA-map pages [first, first + nr) of the region and describe them to MRs. */
static int chunk_map(struct te_rdma_mr_map *rmap, struct te_rdma_chunk *chunk,
		     unsigned long first, unsigned long nr)
{
	struct te_rdma_dev *rdev = to_rdma_dev(rmap->map.dev);
	struct te_mr *mr = rmap->map.mr;
	u64 start = (mr->addr & PAGE_MASK) + ((u64)first << PAGE_SHIFT);
	u64 begin = max(start, mr->addr);
	u64 last = min(start + ((u64)nr << PAGE_SHIFT) - 1, mr->last);
	u64 length = last - begin + 1;
	/* Peers and local work requests name bytes by the base address. */
	u64 iova = mr->base + (begin - mr->addr);
	struct ib_mr *sink = NULL;
	int ret;

	ret = sg_alloc_table_from_pages_segment(&chunk->sgt, mr->pages + first,
						nr, begin - start,
						length,
						ib_dma_max_seg_size(rdev->ib),
						GFP_KERNEL);
	if (ret)
		return ret;
	ret = dma_map(rdev, &chunk->sgt, rmap->dir);
	if (ret)
		goto err_free_table;

	chunk->mr = make_mr(rdev, &chunk->sgt, length, iova);
	if (IS_ERR(chunk->mr)) {
		ret = PTR_ERR(chunk->mr);
		goto err_unmap;
	}
	if (rmap->two_mrs)
		sink = make_mr(rdev, &chunk->sgt, length, iova);
	if (IS_ERR(sink)) {
		ret = PTR_ERR(sink);
		goto err_dereg;
	}
	chunk->sink = sink;
	return 0;

err_dereg:
	ib_dereg_mr(chunk->mr);
err_unmap:
	ib_dma_unmap_sgtable_attrs(rdev->ib, &chunk->sgt, rmap->dir, 0);
err_free_table:
	sg_free_table(&chunk->sgt);
	return ret;
}

static void fill_reg(struct ib_reg_wr *wr, struct ib_mr *mr, int access)
{
	*wr = (struct ib_reg_wr) {
		.wr.opcode	= IB_WR_REG_MR,
		.mr		= mr,
		.key		= mr->rkey,
		.access		= access,
	};
}

/* Register chunks [first, first + nr), at most TE_RDMA_CHAIN MRs. */
static int chunks_register(struct te_rdma_mr_map *rmap, struct ib_reg_wr *wr,
			   u32 first, u32 nr)
{
	u32 i, n = 0;

	for (i = first; i < first + nr; i++) {
		struct te_rdma_chunk *chunk = &rmap->chunks[i];
		struct te_key *keys = &rmap->map.keys[i];

		fill_reg(&wr[n++], chunk->mr, rmap->access);
		keys->lkey = chunk->mr->lkey;
		keys->rkey = chunk->mr->rkey;
		if (!chunk->sink)
			continue;
		fill_reg(&wr[n++], chunk->sink, IB_ACCESS_LOCAL_WRITE |
						IB_ACCESS_REMOTE_WRITE);
		keys->lkey = chunk->sink->lkey;
	}
	for (i = 0; i + 1 < n; i++)
		wr[i].wr.next = &wr[i + 1].wr;
	return te_rdma_svc_post(to_rdma_dev(rmap->map.dev), &wr[0].wr,
				&wr[n - 1].wr);
}

static void map_free(struct te_rdma_mr_map *rmap)
{
	kvfree(rmap->map.keys);
	kvfree(rmap->chunks);
	kfree(rmap);
}

static void chunks_unmap(struct te_rdma_mr_map *rmap, u32 nr)
{
	while (nr--)
		chunk_unmap(rmap, &rmap->chunks[nr]);
}

static void mr_unmap(struct te_mr_map *map)
{
	struct te_rdma_mr_map *rmap;

	rmap = container_of(map, struct te_rdma_mr_map, map);
	chunks_unmap(rmap, map->nr_chunks);
	map_free(rmap);
}

static struct te_rdma_mr_map *map_alloc(struct te_rdma_dev *rdev,
					struct te_mr *mr)
{
	bool write = mr->access & (TE_LOCAL_WRITE | TE_REMOTE_WRITE);
	struct te_rdma_mr_map *rmap;

	rmap = kzalloc(sizeof(*rmap), GFP_KERNEL);
	if (!rmap)
		return NULL;
	rmap->map.mr = mr;
	rmap->map.dev = &rdev->dev;
	rmap->map.unmap = mr_unmap;
	rmap->map.chunk_shift = PAGE_SHIFT + ilog2(rdev->chunk_pages);
	rmap->map.nr_chunks = DIV_ROUND_UP(mr->nr_pages, rdev->chunk_pages);
	rmap->access = ib_access(mr->access);
	if (rdev->iwarp && (mr->access & TE_LOCAL_WRITE) &&
	    !(mr->access & TE_REMOTE_WRITE)) {
		rmap->two_mrs = mr->access & TE_REMOTE_READ;
		/* Else its key is told to no peer. */
		if (!rmap->two_mrs)
			rmap->access |= IB_ACCESS_REMOTE_WRITE;
	}
	rmap->dir = write ? DMA_BIDIRECTIONAL : DMA_TO_DEVICE;
	rmap->chunks = kvcalloc(rmap->map.nr_chunks, sizeof(*rmap->chunks),
				GFP_KERNEL);
	rmap->map.keys = kvcalloc(rmap->map.nr_chunks, sizeof(*rmap->map.keys),
				  GFP_KERNEL);
	if (!rmap->chunks || !rmap->map.keys) {
		map_free(rmap);
		return NULL;
	}
	return rmap;
}

/* What verbs say, in words of the errno table; -ENETDOWN is for te_dev_up(). */
static int map_errno(int error)
{
	switch (error) {
	case -ENETDOWN:
	case -ENOMEM:
	case -EOPNOTSUPP:
		return error;
	default:
		return -EIO;
	}
}

struct te_mr_map *te_rdma_mr_map(struct te_dev *dev, struct te_mr *mr)
{
	struct te_rdma_dev *rdev = to_rdma_dev(dev);
	struct te_rdma_mr_map *rmap;
	struct ib_reg_wr *wr;
	u32 i, n, done = 0;
	int ret = 0;

	rmap = map_alloc(rdev, mr);
	wr = kcalloc(TE_RDMA_CHAIN, sizeof(*wr), GFP_KERNEL);
	if (!rmap || !wr) {
		ret = -ENOMEM;
		goto err_free;
	}

	for (i = 0; i < rmap->map.nr_chunks; i += n) {
		n = min(rmap->map.nr_chunks - i,
			rmap->two_mrs ? TE_RDMA_CHAIN / 2 : TE_RDMA_CHAIN);
		while (done < i + n) {
			unsigned long first = (unsigned long)done *
					      rdev->chunk_pages;

			ret = chunk_map(rmap, &rmap->chunks[done], first,
					min_t(unsigned long, rdev->chunk_pages,
					      mr->nr_pages - first));
			if (ret)
				goto err_unmap;
			done++;
		}
		ret = chunks_register(rmap, wr, i, n);
		if (ret)
			goto err_unmap;
		cond_resched();
	}
	kfree(wr);
	return &rmap->map;

err_unmap:
	chunks_unmap(rmap, done);
err_free:
	kfree(wr);
	if (rmap)
		map_free(rmap);
	return ERR_PTR(map_errno(ret));
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * floor/mem: memory on both sides, fast-registered in chunks as te registers a
 * process's.
 *
 * Pages are allocated one by one, so that they lie as scattered as a process's.
 * Those that the run moves from hold a pattern, those that it moves to are
 * cleared.
 */
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "floor.h"

static void page_fill(struct page *page, u32 index)
{
	u64 *word = page_address(page);
	u32 i;

	for (i = 0; i < PAGE_SIZE / sizeof(*word); i++)
		word[i] = (u64)(index + 1) << 32 | i;
}

int floor_pages_alloc(struct floor_side *side, u32 nr, bool fill)
{
	struct page *page;

	side->pages = kvcalloc(nr, sizeof(*side->pages), GFP_KERNEL);
	if (!side->pages)
		return -ENOMEM;
	while (side->nr_pages < nr) {
		page = alloc_page(GFP_KERNEL | __GFP_ZERO);
		if (!page)
			return -ENOMEM;
		if (fill)
			page_fill(page, side->nr_pages);
		side->pages[side->nr_pages++] = page;
	}
	return 0;
}

void floor_pages_free(struct floor_side *side)
{
	while (side->nr_pages)
		__free_page(side->pages[--side->nr_pages]);
	kvfree(side->pages);
	side->pages = NULL;
}

static int chunk_describe(struct floor_side *side, struct floor_chunk *chunk,
			  u32 nr)
{
	int ret;

	chunk->mr = ib_alloc_mr(side->pd, IB_MR_TYPE_MEM_REG,
				FLOOR_CHUNK_PAGES);
	if (IS_ERR(chunk->mr))
		return PTR_ERR(chunk->mr);
	ret = ib_map_mr_sg(chunk->mr, chunk->sgt.sgl, chunk->sgt.nents, NULL,
			   PAGE_SIZE);
	if (ret == chunk->sgt.nents && chunk->mr->length == nr * PAGE_SIZE)
		return 0;
	ib_dereg_mr(chunk->mr);
	return ret < 0 ? ret : -EIO;
}

static int chunk_map(struct floor_side *side, struct floor_chunk *chunk,
		     u32 first, u32 nr)
{
	int ret;

	ret = sg_alloc_table_from_pages_segment(&chunk->sgt, side->pages + first,
						nr, 0, nr * PAGE_SIZE,
						ib_dma_max_seg_size(side->ib),
						GFP_KERNEL);
	if (ret)
		return ret;
	ret = ib_dma_map_sgtable_attrs(side->ib, &chunk->sgt, DMA_BIDIRECTIONAL,
				       0);
	if (ret)
		goto err_free_table;
	ret = chunk_describe(side, chunk, nr);
	if (ret)
		goto err_unmap;
	return 0;

err_unmap:
	ib_dma_unmap_sgtable_attrs(side->ib, &chunk->sgt, DMA_BIDIRECTIONAL, 0);
err_free_table:
	sg_free_table(&chunk->sgt);
	return ret;
}

static void chunk_unmap(struct floor_side *side, struct floor_chunk *chunk)
{
	ib_dereg_mr(chunk->mr);
	ib_dma_unmap_sgtable_attrs(side->ib, &chunk->sgt, DMA_BIDIRECTIONAL, 0);
	sg_free_table(&chunk->sgt);
}

static int chunk_register(struct floor_run *run, u32 which,
			  struct floor_chunk *chunk)
{
	struct ib_qp *qp = run->qp[0].end[which].id->qp;
	struct ib_reg_wr wr = {
		.wr.opcode	= IB_WR_REG_MR,
		.wr.send_flags	= IB_SEND_SIGNALED,
		.mr		= chunk->mr,
		.key		= chunk->mr->rkey,
		.access		= IB_ACCESS_LOCAL_WRITE |
				  IB_ACCESS_REMOTE_READ |
				  IB_ACCESS_REMOTE_WRITE,
	};
	int ret;

	ret = ib_post_send(qp, &wr.wr, NULL);
	if (ret)
		return ret;
	ret = floor_await(run, &run->side[which]);
	return min(ret, 0);
}

static int side_open(struct floor_run *run, u32 which, bool fill)
{
	struct floor_side *side = &run->side[which];
	u32 nr_pages = DIV_ROUND_UP(run->buffer, PAGE_SIZE);
	u32 nr_chunks = DIV_ROUND_UP(nr_pages, FLOOR_CHUNK_PAGES);
	u32 first = 0;
	int ret;

	ret = floor_pages_alloc(side, nr_pages, fill);
	if (ret)
		return ret;
	side->chunks = kvcalloc(nr_chunks, sizeof(*side->chunks), GFP_KERNEL);
	if (!side->chunks)
		return -ENOMEM;
	for (; first < nr_pages; first += FLOOR_CHUNK_PAGES) {
		struct floor_chunk *chunk = &side->chunks[side->nr_chunks];

		ret = chunk_map(side, chunk, first,
				min(nr_pages - first, FLOOR_CHUNK_PAGES));
		if (ret)
			return ret;
		side->nr_chunks++;
		ret = chunk_register(run, which, chunk);
		if (ret)
			return ret;
	}
	return 0;
}

static void side_close(struct floor_side *side)
{
	while (side->nr_chunks)
		chunk_unmap(side, &side->chunks[--side->nr_chunks]);
	kvfree(side->chunks);
	side->chunks = NULL;
	floor_pages_free(side);
}

int floor_mem_open(struct floor_run *run)
{
	int ret;

	ret = side_open(run, FLOOR_A, !run->cmd.read);
	if (!ret)
		ret = side_open(run, FLOOR_B, run->cmd.read);
	return ret;
}

void floor_mem_close(struct floor_run *run)
{
	side_close(&run->side[FLOOR_A]);
	side_close(&run->side[FLOOR_B]);
}

int floor_mem_check(struct floor_run *run)
{
	return floor_pages_check(run->side, min_t(u64, run->moved, run->buffer));
}

int floor_pages_check(const struct floor_side *side, u64 left)
{
	u32 i;

	for (i = 0; left; i++) {
		u32 n = min_t(u64, left, PAGE_SIZE);

		if (memcmp(page_address(side[FLOOR_A].pages[i]),
			   page_address(side[FLOOR_B].pages[i]), n))
			return -EBADMSG;
		left -= n;
	}
	return 0;
}

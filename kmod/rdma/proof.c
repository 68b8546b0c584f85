// SPDX-License-Identifier: GPL-2.0-only
/*
 * rdma/proof: what tells that WRITEs have been placed, on iWARP.
 *
 * A slice is done when the peer has its bytes. On InfiniBand and RoCE the
 * completion of a WRITE says so: the peer's NIC has acknowledged it. On iWARP it
 * says that TCP has taken the bytes, no more, even if the peer then refuses
 * them. But a peer answers a READ only after it has been delivered, and with it
 * all that came before it on the connection (RFC 5040, 5.5). So behind WRITEs te
 * READs a word of the peer's, see post.c: its arrival proves them.
 *
 * Each dev has one word, for its peers to READ and for the answers it gets. It
 * means nothing, and who scribbles on it does no harm. Its key goes to peers
 * when they connect. Made by the start work, ended with the dev.
 */
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "rdma/rdma.h"

static int word_register(struct te_rdma_dev *rdev, struct ib_mr *mr)
{
	struct ib_reg_wr wr = {
		.wr.opcode	= IB_WR_REG_MR,
		.mr		= mr,
		.key		= mr->rkey,
		/* As iWARP wants it of where the answer to a READ goes. */
		.access		= IB_ACCESS_LOCAL_WRITE |
				  IB_ACCESS_REMOTE_READ |
				  IB_ACCESS_REMOTE_WRITE,
	};

	/* Known to peers by its key alone. */
	mr->iova = 0;
	return te_rdma_svc_post(rdev, &wr.wr, &wr.wr);
}

int te_rdma_proof_start(struct te_rdma_dev *rdev)
{
	struct te_rdma_proof *proof = &rdev->proof;
	struct ib_mr *mr;
	int ret = -ENOMEM;

	if (!rdev->iwarp || proof->mr)
		return 0;
	proof->word = kzalloc(TE_RDMA_PROOF_BYTES, GFP_KERNEL);
	if (!proof->word)
		return -ENOMEM;
	sg_init_one(&proof->sg, proof->word, TE_RDMA_PROOF_BYTES);
	if (!ib_dma_map_sg(rdev->ib, &proof->sg, 1, DMA_BIDIRECTIONAL))
		goto err_free;
	mr = ib_alloc_mr(rdev->pd, IB_MR_TYPE_MEM_REG, 1);
	if (IS_ERR(mr)) {
		ret = PTR_ERR(mr);
		goto err_unmap;
	}
	ret = ib_map_mr_sg(mr, &proof->sg, 1, NULL, PAGE_SIZE);
	ret = ret == 1 ? word_register(rdev, mr) : -EIO;
	if (ret)
		goto err_dereg;
	/* The listener is there already. */
	WRITE_ONCE(proof->mr, mr);
	return 0;

err_dereg:
	ib_dereg_mr(mr);
err_unmap:
	ib_dma_unmap_sg(rdev->ib, &proof->sg, 1, DMA_BIDIRECTIONAL);
err_free:
	kfree(proof->word);
	return ret;
}

u32 te_rdma_proof_key(struct te_rdma_dev *rdev)
{
	const struct ib_mr *mr = READ_ONCE(rdev->proof.mr);

	return mr ? mr->rkey : 0;
}

/* Nobody connects to the dev any more, and its own connections are gone. */
void te_rdma_proof_stop(struct te_rdma_dev *rdev)
{
	struct te_rdma_proof *proof = &rdev->proof;

	if (!proof->mr)
		return;
	ib_dereg_mr(proof->mr);
	ib_dma_unmap_sg(rdev->ib, &proof->sg, 1, DMA_BIDIRECTIONAL);
	kfree(proof->word);
	proof->mr = NULL;
}

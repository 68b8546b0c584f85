// SPDX-License-Identifier: GPL-2.0-only
/*
 * tcp/loan: the bytes of an answer, sent from the pages of their region.
 *
 * One loan for each answer of some length, made by the lane that answers. Socket
 * buffers that refer to the pages refer to the loan, within the node the asking end does
 * (near.c), and so does the lane until it has sent all. When nobody does, a work item
 * gives the region back. Until then the region is kept, and who unregisters it waits:
 * but has the loan recalled first, and the lane throws away what its peer does not take.
 */
#include <linux/skbuff.h>
#include <linux/slab.h>

#include "tcp/tcp.h"

static void loan_work(struct work_struct *work)
{
	struct te_tcp_loan *loan = container_of(work, struct te_tcp_loan, work);

	te_mr_loan_end(&loan->loan);
	loan->ops->ended(loan->owner, loan->recalled);
	kfree(loan);
}

/* Context: any. */
static void loan_put(struct sk_buff *skb, struct ubuf_info *ubuf, bool zerocopy)
{
	struct te_tcp_loan *loan = container_of(ubuf, struct te_tcp_loan, ubuf);

	if (refcount_dec_and_test(&ubuf->refcnt))
		queue_work(te_tcp_wq, &loan->work);
}

static const struct ubuf_info_ops loan_ubuf_ops = {
	.complete = loan_put,
};

static void loan_recall(struct te_mr_loan *mr_loan)
{
	struct te_tcp_loan *loan = container_of(mr_loan, struct te_tcp_loan,
						loan);

	loan->recalled = true;
	loan->ops->recall(loan->owner);
}

struct te_tcp_loan *te_tcp_loan_make(struct te_mr *mr, void *owner,
				     const struct te_tcp_loan_ops *ops)
{
	struct te_tcp_loan *loan;

	loan = kzalloc(sizeof(*loan), GFP_KERNEL);
	if (!loan)
		return NULL;
	te_ubuf_set_ops(&loan->ubuf, &loan_ubuf_ops);
	loan->ubuf.flags = SKBFL_ZEROCOPY_FRAG | SKBFL_DONT_ORPHAN;
	refcount_set(&loan->ubuf.refcnt, 1);
	loan->loan.recall = loan_recall;
	loan->owner = owner;
	loan->ops = ops;
	INIT_WORK(&loan->work, loan_work);
	if (!te_mr_lend(mr, &loan->loan)) {
		kfree(loan);
		return NULL;
	}
	return loan;
}

void te_tcp_loan_get(struct te_tcp_loan *loan)
{
	net_zcopy_get(&loan->ubuf);
}

void te_tcp_loan_put(struct te_tcp_loan *loan)
{
	loan_put(NULL, &loan->ubuf, true);
}

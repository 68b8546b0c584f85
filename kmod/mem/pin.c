// SPDX-License-Identifier: GPL-2.0-only
/*
 * mem/pin: pin a region's pages, once, and give them back.
 *
 * Who unpins: te_pin() is called by the process that registers, in its own mm.
 * The pages stay pinned and charged until te_unpin(), which te_mr_destroy()
 * alone calls, after the last task has dropped the region and every dev has
 * unmapped it. By then the process may be long gone: the space keeps its
 * mm_struct (not its users) so that the charge can be given back.
 *
 * The charge goes to mm->pinned_vm, as ib_umem does, and is shown as VmPin.
 */
#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "event/count.h"
#include "fault/fault.h"
#include "mem/mem.h"

/* Pages per call: how long a signal may wait for us. */
#define TE_PIN_STEP	1024UL

static bool mr_writable(const struct te_mr *mr)
{
	return mr->access & (TE_LOCAL_WRITE | TE_REMOTE_WRITE);
}

static int charge(struct mm_struct *mm, unsigned long nr_pages)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	s64 pinned = atomic64_add_return(nr_pages, &mm->pinned_vm);

	if (pinned > limit && !capable(CAP_IPC_LOCK)) {
		atomic64_sub(nr_pages, &mm->pinned_vm);
		return -ENOMEM;
	}
	return 0;
}

static void uncharge(struct mm_struct *mm, unsigned long nr_pages)
{
	atomic64_sub(nr_pages, &mm->pinned_vm);
}

/*
 * The core says -EFAULT both of memory that is not there and of memory that it
 * lets nobody write to for long, such as a shared mapping of a file that is
 * written back to disk. The latter can be pinned for a moment. So can a page that
 * came only now, because userfaultfd brought it, for which the pin for long does
 * not wait on 6.1: hence once more.
 */
static int pin_for_writing(unsigned long start, unsigned long nr,
			   struct page **pages)
{
	int ret;

	ret = pin_user_pages_fast(start, nr, FOLL_LONGTERM | FOLL_WRITE, pages);
	if (ret != -EFAULT ||
	    pin_user_pages_fast(start, 1, FOLL_WRITE, pages) != 1)
		return ret;
	unpin_user_page(pages[0]);
	ret = pin_user_pages_fast(start, nr, FOLL_LONGTERM | FOLL_WRITE, pages);
	return ret == -EFAULT ? -EOPNOTSUPP : ret;
}

static int pin_step(struct te_mr *mr, unsigned long start, unsigned long nr,
		    struct page **pages)
{
	int ret = te_fault(TE_FAULT_PIN);

	if (ret)
		return ret;
	if (!mr_writable(mr))
		return te_pin_for_reading(start, nr, pages);
	return pin_for_writing(start, nr, pages);
}

static int pin_pages(struct te_mr *mr)
{
	unsigned long start = mr->addr & PAGE_MASK;
	unsigned long done = 0;
	int ret;

	while (done < mr->nr_pages) {
		if (fatal_signal_pending(current)) {
			ret = -EINTR;
			goto err_unpin;
		}
		ret = pin_step(mr, start + (done << PAGE_SHIFT),
			       min(TE_PIN_STEP, mr->nr_pages - done),
			       mr->pages + done);
		if (ret <= 0) {
			ret = ret ? ret : -EFAULT;
			goto err_unpin;
		}
		done += ret;
		cond_resched();
	}
	return 0;

err_unpin:
	unpin_user_pages(mr->pages, done);
	return ret;
}

/**
 * te_pin() - pin and charge the pages of a region
 * @mr: @addr, @last, @access and @space set; current->mm is its space's
 *
 * Context: may sleep; killable.
 * Return: 0 with @nr_pages and @pages set; -EFAULT not mapped so, -EOPNOTSUPP
 * memory that cannot be pinned for long, -ENOMEM over RLIMIT_MEMLOCK or out of
 * memory, -EINTR.
 */
int te_pin(struct te_mr *mr)
{
	int ret;

	mr->nr_pages = (mr->last >> PAGE_SHIFT) - (mr->addr >> PAGE_SHIFT) + 1;
	if (mr->nr_pages > totalram_pages())
		return -ENOMEM;
	ret = charge(mr->space->mm, mr->nr_pages);
	if (ret)
		return ret;

	mr->pages = kvmalloc_array(mr->nr_pages, sizeof(*mr->pages),
				   GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!mr->pages) {
		ret = -ENOMEM;
		goto err_uncharge;
	}
	ret = pin_pages(mr);
	if (ret)
		goto err_free;
	te_count(TE_NR_PINNED_PAGES, mr->nr_pages);
	return 0;

err_free:
	kvfree(mr->pages);
err_uncharge:
	uncharge(mr->space->mm, mr->nr_pages);
	return ret;
}

void te_unpin(struct te_mr *mr)
{
	unpin_user_pages_dirty_lock(mr->pages, mr->nr_pages, mr_writable(mr));
	kvfree(mr->pages);
	uncharge(mr->space->mm, mr->nr_pages);
	te_count(TE_NR_PINNED_PAGES, -(long)mr->nr_pages);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * fault: the points of fault.h and the files that arm them. Linked into test
 * builds only.
 *
 * Files in debugfs, folder te-fault:
 *
 *	fail/NAME	write "NTH ERRNO": the NTH pass from now fails with -ERRNO,
 *			once; "NTH ERRNO COUNT": it and those behind it, COUNT
 *			in all; "0 ERRNO": each pass does; "0 0" disarms. Read:
 *			"PASSES FAILED", how often the point was passed and
 *			failed since it was armed.
 *	delay/NAME	write "MS COUNT": each of the next COUNT passes is held for
 *			MS milliseconds; "0 0" disarms and lets go at once. Read:
 *			"HELD PASSED", threads held now, and passes since armed.
 *
 * The points are static and outlive every caller; the files go at unload, after
 * which nobody passes.
 */
#include <linux/debugfs.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>
#include <linux/wait.h>

#include "fault/fault.h"

#define TE_DELAY_MAX_MS		60000
#define TE_FAULT_MAX_ERRNO	4095

/* One of either kind: delays are armed by @ms, failures by @error. */
struct te_fault_state {
	const char *name;
	spinlock_t lock;	/* protects the rest but @queue */
	unsigned int passes, nth, count, failed;
	int error;
	unsigned int ms, left, held;
	wait_queue_head_t queue;
};

DEFINE_STATIC_KEY_FALSE(te_fault_key);

static struct te_fault_state te_faults[TE_NR_FAULTS] = {
	[TE_FAULT_PIN].name = "pin",
	[TE_FAULT_DMA_MAP].name = "dma_map",
	[TE_FAULT_ALLOC_PD].name = "alloc_pd",
	[TE_FAULT_CREATE_CQ].name = "create_cq",
	[TE_FAULT_CREATE_QP].name = "create_qp",
	[TE_FAULT_ALLOC_MR].name = "alloc_mr",
	[TE_FAULT_MAP_MR].name = "map_mr",
	[TE_FAULT_CREATE_ID].name = "create_id",
	[TE_FAULT_CREATE_THREAD].name = "create_thread",
	[TE_FAULT_POST].name = "post",
	[TE_FAULT_PORT].name = "port",
	[TE_FAULT_NEWS].name = "news",
	[TE_FAULT_OWN].name = "own",
	[TE_FAULT_QP_FATAL].name = "qp_fatal",
	[TE_FAULT_DEVICE_FATAL].name = "device_fatal",
	[TE_FAULT_DRAIN_FATAL].name = "drain_fatal",
	[TE_FAULT_CONN_FATAL].name = "conn_fatal",
	[TE_FAULT_OTHER_PORT].name = "other_port",
	[TE_FAULT_ACCEPT].name = "accept",
	[TE_FAULT_COMPLETION].name = "completion",
	[TE_FAULT_INVALID_REQUEST].name = "invalid_request",
};

static struct te_fault_state te_delays[TE_NR_DELAYS] = {
	[TE_DELAY_SUBMIT_QUEUE].name = "submit_queue",
	[TE_DELAY_TASK_END].name = "task_end",
	[TE_DELAY_TASK_SHOWN].name = "task_shown",
	[TE_DELAY_WAIT_SLEEP].name = "wait_sleep",
	[TE_DELAY_BATCH_FREE].name = "batch_free",
	[TE_DELAY_CTX_CLOSE].name = "ctx_close",
	[TE_DELAY_MR_PUBLISH].name = "mr_publish",
	[TE_DELAY_MR_REVOKED].name = "mr_revoked",
	[TE_DELAY_SEG_OPENED].name = "seg_opened",
	[TE_DELAY_SESSION_LOST].name = "session_lost",
	[TE_DELAY_ACCEPTED].name = "accepted",
	[TE_DELAY_EP_FOUND].name = "ep_found",
	[TE_DELAY_EP_CONNECT].name = "ep_connect",
	[TE_DELAY_EP_FLUSHED].name = "ep_flushed",
	[TE_DELAY_CONN_PUBLISH].name = "conn_publish",
	[TE_DELAY_LANE_TAKE].name = "lane_take",
	[TE_DELAY_MOVER_ARM].name = "mover_arm",
	[TE_DELAY_MOVER_SLEEP].name = "mover_sleep",
	[TE_DELAY_DEV_BROKEN].name = "dev_broken",
	[TE_DELAY_DEV_RESTART].name = "dev_restart",
};

static struct dentry *te_fault_dir;

/* Protects the key: armed points are counted by it. */
static DEFINE_MUTEX(te_fault_mutex);

static bool te_fault_is_delay(const struct te_fault_state *s)
{
	return s >= te_delays && s < te_delays + TE_NR_DELAYS;
}

/* Any context, interrupts included: what fails may be called from there. */
int te_fault_ask(enum te_fault_point point)
{
	struct te_fault_state *s = &te_faults[point];
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&s->lock, flags);
	s->passes++;
	if (s->error && (!s->nth || (s->passes >= s->nth &&
				     s->passes - s->nth < s->count))) {
		s->failed++;
		ret = s->error;
	}
	spin_unlock_irqrestore(&s->lock, flags);
	return ret;
}

void te_delay_pass(enum te_delay_point point)
{
	struct te_fault_state *s = &te_delays[point];
	unsigned int ms = 0;

	spin_lock_irq(&s->lock);
	s->passes++;
	if (s->left) {
		s->left--;
		s->held++;
		ms = s->ms;
	}
	spin_unlock_irq(&s->lock);
	if (!ms)
		return;
	/* not to be killed: the point is there to see what happens later */
	wait_event_timeout(s->queue, !READ_ONCE(s->ms), msecs_to_jiffies(ms));
	spin_lock_irq(&s->lock);
	s->held--;
	spin_unlock_irq(&s->lock);
}

static ssize_t te_fault_read(struct file *file, char __user *to, size_t len,
			     loff_t *pos)
{
	struct te_fault_state *s = file->private_data;
	char text[32];
	int n;

	spin_lock_irq(&s->lock);
	if (te_fault_is_delay(s))
		n = scnprintf(text, sizeof(text), "%u %u\n", s->held, s->passes);
	else
		n = scnprintf(text, sizeof(text), "%u %u\n", s->passes,
			      s->failed);
	spin_unlock_irq(&s->lock);
	return simple_read_from_buffer(to, len, pos, text, n);
}

/* The numbers of a write. Return: how many, 0 if there is anything else. */
static int te_fault_parse(const char __user *from, size_t len, unsigned int *a,
			  unsigned int *b, unsigned int *count)
{
	char text[48];
	char end;
	int n;

	if (len >= sizeof(text) || copy_from_user(text, from, len))
		return 0;
	text[len] = 0;
	n = sscanf(text, "%u %u %u %c", a, b, count, &end);
	return n == 2 || n == 3 ? n : 0;
}

static void te_fault_arm(struct te_fault_state *s, unsigned int a,
			 unsigned int b, unsigned int count)
{
	bool was, is = b;

	mutex_lock(&te_fault_mutex);
	spin_lock_irq(&s->lock);
	was = s->ms || s->error;
	s->passes = 0;
	s->failed = 0;
	if (te_fault_is_delay(s)) {
		WRITE_ONCE(s->ms, a);
		s->left = b;
	} else {
		s->nth = a;
		s->count = count;
		s->error = -(int)b;
	}
	spin_unlock_irq(&s->lock);
	if (!is)
		wake_up_all(&s->queue);
	if (was && !is)
		static_branch_dec(&te_fault_key);
	else if (!was && is)
		static_branch_inc(&te_fault_key);
	mutex_unlock(&te_fault_mutex);
}

static ssize_t te_fault_write(struct file *file, const char __user *from,
			      size_t len, loff_t *pos)
{
	struct te_fault_state *s = file->private_data;
	unsigned int a, b, count = 1;
	int n = te_fault_parse(from, len, &a, &b, &count);

	if (!n || !count)
		return -EINVAL;
	if (te_fault_is_delay(s)) {
		if (n != 2 || !a != !b || a > TE_DELAY_MAX_MS)
			return -EINVAL;
	} else if ((a && !b) || b > TE_FAULT_MAX_ERRNO) {
		return -EINVAL;
	}
	te_fault_arm(s, a, b, count);
	return len;
}

static const struct file_operations te_fault_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = te_fault_read,
	.write = te_fault_write,
};

static void te_fault_files(const char *kind, struct te_fault_state *s, size_t n)
{
	struct dentry *dir = debugfs_create_dir(kind, te_fault_dir);

	for (; n--; s++) {
		spin_lock_init(&s->lock);
		init_waitqueue_head(&s->queue);
		debugfs_create_file(s->name, 0600, dir, s, &te_fault_fops);
	}
}

/* Before anything that may pass a point. Without debugfs nothing can be armed. */
void te_fault_init(void)
{
	te_fault_dir = debugfs_create_dir("te-fault", NULL);
	te_fault_files("fail", te_faults, ARRAY_SIZE(te_faults));
	te_fault_files("delay", te_delays, ARRAY_SIZE(te_delays));
}

void te_fault_exit(void)
{
	debugfs_remove(te_fault_dir);
}

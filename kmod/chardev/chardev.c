// SPDX-License-Identifier: GPL-2.0-only
/*
 * chardev: /dev/te itself: file operations and the ioctl table.
 *
 * The dispatcher checks who calls, copies the argument in once, and checks its
 * size and flags; handlers check the rest, act, and write outputs back.
 */
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/sched.h>
#include <linux/uaccess.h>

#include "chardev/chardev.h"
#include "fault/fault.h"

/**
 * struct te_ioctl_op - one ioctl
 * @cmd: its number
 * @size: of the struct as we know it
 * @min_size: of its first version
 * @flags: bits that te_cmd_hdr.flags may have
 * @fn: the handler
 */
struct te_ioctl_op {
	unsigned int cmd;
	u32 size;
	u32 min_size;
	u32 flags;
	int (*fn)(struct te_cmd *cmd);
};

/* @_last: last member of the first version of struct te_ioc_@_name. */
#define TE_OP(_nr, _name, _last, _flags)				\
	[_IOC_NR(TE_IOC_##_nr)] = {					\
		.cmd = TE_IOC_##_nr,					\
		.size = sizeof(struct te_ioc_##_name),			\
		.min_size = offsetofend(struct te_ioc_##_name, _last),	\
		.flags = (_flags),					\
		.fn = te_ioctl_##_name,					\
	}

static const struct te_ioctl_op te_ioctl_ops[] = {
	TE_OP(INFO, info, node_id, 0),
	TE_OP(STATS, stats, sessions_lost, 0),
	TE_OP(SETUP, setup, ring_bytes, 0),
	TE_OP(EVENTFD, eventfd, reserved, 0),
	TE_OP(MR_REGISTER, mr_register, mr, TE_MR_BASE | TE_MR_DMABUF),
	TE_OP(MR_UNREGISTER, mr_unregister, reserved, TE_FORCE),
	TE_OP(SEGMENT_EXPORT, segment_export, token, 0),
	TE_OP(SEGMENT_OPEN, segment_open, segment, 0),
	TE_OP(SEGMENT_INFO, segment_info, transport, 0),
	TE_OP(SEGMENT_CLOSE, segment_close, reserved, 0),
	TE_OP(BATCH_ALLOC, batch_alloc, reserved, 0),
	TE_OP(BATCH_SUBMIT, batch_submit, requests, 0),
	TE_OP(BATCH_WAIT, batch_wait, reserved, 0),
	TE_OP(BATCH_CANCEL, batch_cancel, reserved, 0),
	TE_OP(BATCH_FREE, batch_free, reserved, 0),
	TE_OP(TOPOLOGY_SET, topology_set, entries, 0),
	TE_OP(TOPOLOGY_GET, topology_get, entries, 0),
};

static bool op_for_anyone(const struct te_ioctl_op *op)
{
	return op->cmd == TE_IOC_INFO || op->cmd == TE_IOC_STATS;
}

static int check_caller(struct file *file, const struct te_ioctl_op *op)
{
	struct te_ctx *ctx = file->private_data;

	if (op_for_anyone(op))
		return 0;
	if (ctx->space->mm != current->mm)
		return -EPERM;
	if ((file->f_mode & (FMODE_READ | FMODE_WRITE)) !=
	    (FMODE_READ | FMODE_WRITE))
		return -EACCES;
	return 0;
}

static const struct te_ioctl_op *find_op(unsigned int nr)
{
	const struct te_ioctl_op *op;

	if (_IOC_NR(nr) >= ARRAY_SIZE(te_ioctl_ops))
		return NULL;
	op = &te_ioctl_ops[array_index_nospec(_IOC_NR(nr),
					      ARRAY_SIZE(te_ioctl_ops))];
	return op->fn && op->cmd == nr ? op : NULL;
}

static long te_ioctl(struct file *file, unsigned int nr, unsigned long uarg)
{
	const struct te_ioctl_op *op = find_op(nr);
	struct te_cmd cmd = {
		.ctx = file->private_data,
		.ubuf = (void __user *)uarg,
	};
	int ret;

	if (!op)
		return -ENOTTY;
	ret = check_caller(file, op);
	if (ret)
		return ret;
	if (get_user(cmd.usize, (u32 __user *)cmd.ubuf))
		return -EFAULT;
	if (cmd.usize < op->min_size)
		return -EINVAL;
	if (cmd.usize > PAGE_SIZE)
		return -E2BIG;
	cmd.ksize = op->size;
	ret = copy_struct_from_user(&cmd.arg, cmd.ksize, cmd.ubuf, cmd.usize);
	if (ret)
		return ret;
	/* It may have been changed since we looked. */
	cmd.arg.hdr.size = cmd.usize;
	if (cmd.arg.hdr.flags & ~op->flags)
		return -EINVAL;
	return op->fn(&cmd);
}

int te_cmd_respond(struct te_cmd *cmd)
{
	if (copy_to_user(cmd->ubuf, &cmd->arg, min(cmd->usize, cmd->ksize)))
		return -EFAULT;
	return 0;
}

static int te_file_open(struct inode *inode, struct file *file)
{
	struct te_ctx *ctx = te_ctx_create();

	if (IS_ERR(ctx))
		return PTR_ERR(ctx);
	file->private_data = ctx;
	return stream_open(inode, file);
}

static int te_file_release(struct inode *inode, struct file *file)
{
	te_ctx_destroy(file->private_data);
	return 0;
}

static int te_file_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct te_ctx *ctx = file->private_data;
	struct te_ring *ring = te_ring_load(&ctx->ring);

	if (ctx->space->mm != current->mm)
		return -EPERM;
	if (!ring)
		return -ENXIO;
	return te_ring_mmap(ring, vma);
}

static __poll_t te_file_poll(struct file *file, poll_table *wait)
{
	struct te_ctx *ctx = file->private_data;
	struct te_ring *ring = te_ring_load(&ctx->ring);
	int level;

	if (!ring)
		return EPOLLERR;
	poll_wait(file, &ring->wait, wait);
	level = te_ring_level(ring);
	te_delay(TE_DELAY_WAIT_SLEEP);
	if (level < 0)
		return EPOLLERR;
	return level ? EPOLLIN | EPOLLRDNORM : 0;
}

static const struct file_operations te_fops = {
	.owner		= THIS_MODULE,
	.open		= te_file_open,
	.release	= te_file_release,
	.unlocked_ioctl	= te_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.mmap		= te_file_mmap,
	.poll		= te_file_poll,
};

static struct miscdevice te_misc = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "te",
	.fops	= &te_fops,
	.mode	= 0660,
};

int te_chardev_init(void)
{
	return misc_register(&te_misc);
}

void te_chardev_exit(void)
{
	misc_deregister(&te_misc);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * floor/main: the door: two files in debugfs.
 *
 *   insmod te_floor.ko addr_a=10.77.0.1 addr_b=10.77.0.2
 *   echo read 65536 65536 1 128 1000 >/sys/kernel/debug/te_floor/run
 *   cat /sys/kernel/debug/te_floor/run
 *
 * The words: read or write; bytes of a request; bytes of a work request (te cuts
 * requests at 64 KiB); QPs; work requests in flight on each; milliseconds. The
 * write returns when the run is over, or fails as it did; what is read then is
 *
 *   requests N bytes N ns N
 *
 * of the last good run, of either file. Over TCP, within this node, from pages that are
 * copied to be sent or not, with bytes of a request, connections, milliseconds:
 *
 *   echo splice 65536 4 1000 >/sys/kernel/debug/te_floor/tcp
 *
 * A writer that is killed ends its run. The module cannot
 * be unloaded while the file is open, and holds nothing between runs.
 */
#include <linux/debugfs.h>
#include <linux/inet.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/net_namespace.h>

#include "floor.h"

static char *addr_a, *addr_b;
module_param(addr_a, charp, 0444);
MODULE_PARM_DESC(addr_a, "address of the device that posts");
module_param(addr_b, charp, 0444);
MODULE_PARM_DESC(addr_b, "address of the device whose memory it reaches");

static struct sockaddr_storage floor_addr[2];
static struct dentry *floor_dir;

static DEFINE_MUTEX(floor_lock);	/* one run at a time; protects last */

static struct floor_result last;

static bool cmd_good(const struct floor_cmd *cmd)
{
	return is_power_of_2(cmd->bytes) && is_power_of_2(cmd->wr_bytes) &&
	       cmd->bytes <= FLOOR_MAX_BYTES && cmd->wr_bytes <= cmd->bytes &&
	       /* A work request has one key on each side. */
	       cmd->wr_bytes <= FLOOR_CHUNK_PAGES * PAGE_SIZE &&
	       cmd->nr_qps && cmd->nr_qps <= FLOOR_MAX_QP &&
	       cmd->depth && cmd->depth <= FLOOR_MAX_DEPTH &&
	       cmd->depth % FLOOR_CHAIN == 0 && cmd->ms;
}

static int cmd_parse(const char *line, struct floor_cmd *cmd)
{
	char op[8];

	if (sscanf(line, "%7s %u %u %u %u %u", op, &cmd->bytes, &cmd->wr_bytes,
		   &cmd->nr_qps, &cmd->depth, &cmd->ms) != 6)
		return -EINVAL;
	cmd->read = !strcmp(op, "read");
	if (!cmd->read && strcmp(op, "write"))
		return -EINVAL;
	return cmd_good(cmd) ? 0 : -EINVAL;
}

static int run_all(struct floor_run *run)
{
	int ret;

	ret = floor_link_open(run);
	ret = ret ?: floor_mem_open(run);
	ret = ret ?: floor_loop(run);
	return ret ?: floor_mem_check(run);
}

static int run_verbs(const char *line)
{
	struct floor_run *run;
	struct floor_cmd cmd;
	int ret;

	lockdep_assert_held(&floor_lock);
	ret = cmd_parse(line, &cmd);
	if (ret)
		return ret;
	run = kzalloc(sizeof(*run), GFP_KERNEL);
	if (!run)
		return -ENOMEM;
	run->cmd = cmd;
	run->task = current;
	memcpy(run->addr, floor_addr, sizeof(run->addr));
	run->buffer = max(cmd.bytes, FLOOR_MIN_BUFFER);

	ret = run_all(run);
	if (ret) {
		pr_err("te_floor: the run failed: %d\n", ret);
	} else {
		last.requests = run->moved / cmd.bytes;
		last.bytes = run->moved;
		last.ns = run->ns;
	}
	floor_link_close_qps(run);
	floor_mem_close(run);
	floor_link_close_sides(run);
	kfree(run);
	return ret;
}

static int run_tcp(const char *line)
{
	struct floor_result result;
	struct floor_tcp_cmd cmd;
	char how[8];
	int ret;

	lockdep_assert_held(&floor_lock);
	if (sscanf(line, "%7s %u %u %u", how, &cmd.bytes, &cmd.lanes,
		   &cmd.ms) != 4)
		return -EINVAL;
	cmd.splice = !strcmp(how, "splice");
	if ((!cmd.splice && strcmp(how, "copy")) ||
	    !is_power_of_2(cmd.bytes) || cmd.bytes > FLOOR_MAX_BYTES ||
	    !cmd.lanes || cmd.lanes > FLOOR_MAX_LANES || !cmd.ms ||
	    cmd.ms > FLOOR_MAX_MS)
		return -EINVAL;
	ret = floor_tcp(&cmd, &result);
	if (ret)
		pr_err("te_floor: the run over TCP failed: %d\n", ret);
	else
		last = result;
	return ret;
}

static ssize_t floor_write(struct file *file, const char __user *from,
			   size_t len, loff_t *pos)
{
	int (*run)(const char *line) = file_inode(file)->i_private;
	char line[80];
	int ret;

	if (len >= sizeof(line))
		return -EINVAL;
	if (copy_from_user(line, from, len))
		return -EFAULT;
	line[len] = '\0';
	if (mutex_lock_killable(&floor_lock))
		return -EINTR;
	ret = run(line);
	mutex_unlock(&floor_lock);
	return ret ?: len;
}

static int floor_show(struct seq_file *seq, void *unused)
{
	if (mutex_lock_killable(&floor_lock))
		return -EINTR;
	seq_printf(seq, "requests %llu bytes %llu ns %llu\n", last.requests,
		   last.bytes, last.ns);
	mutex_unlock(&floor_lock);
	return 0;
}

static int floor_open(struct inode *inode, struct file *file)
{
	return single_open(file, floor_show, NULL);
}

static const struct file_operations floor_fops = {
	.owner		= THIS_MODULE,
	.open		= floor_open,
	.read		= seq_read,
	.write		= floor_write,
	.llseek		= seq_lseek,
	.release	= single_release,
};

static int __init floor_init(void)
{
	int ret;

	if (!addr_a || !addr_b)
		return -EINVAL;
	ret = inet_pton_with_scope(&init_net, AF_UNSPEC, addr_a, "0",
				   &floor_addr[FLOOR_A]);
	ret = ret ?: inet_pton_with_scope(&init_net, AF_UNSPEC, addr_b, "0",
					  &floor_addr[FLOOR_B]);
	if (ret)
		return ret;
	floor_dir = debugfs_create_dir("te_floor", NULL);
	debugfs_create_file("run", 0600, floor_dir, run_verbs, &floor_fops);
	debugfs_create_file("tcp", 0600, floor_dir, run_tcp, &floor_fops);
	return 0;
}

static void __exit floor_exit(void)
{
	debugfs_remove(floor_dir);
}

module_init(floor_init);
module_exit(floor_exit);
MODULE_DESCRIPTION("bare loop of RDMA work requests, to measure te against");
MODULE_LICENSE("GPL");

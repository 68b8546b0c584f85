// SPDX-License-Identifier: GPL-2.0-only
/*
 * chardev/ioctl_topo: load and show the priority matrix. It is the node's, not the
 * context's: an admin's to load, everybody's to see.
 */
#include <linux/capability.h>
#include <linux/err.h>
#include <linux/sched.h>
#include <linux/uaccess.h>

#include "chardev/chardev.h"
#include "session/session.h"
#include "topo/topo.h"
#include "worker/worker.h"

#define TE_TOPOLOGY_ENTRIES	(TE_TOPOLOGY_LOCATIONS * TE_TOPOLOGY_DEVICES)

static int add_entries(struct te_matrix *matrix,
		       const struct te_topology_entry __user *from, u32 nr)
{
	struct te_topology_entry entry;
	u32 i;
	int ret;

	for (i = 0; i < nr; i++) {
		if (copy_from_user(&entry, &from[i], sizeof(entry)))
			return -EFAULT;
		ret = te_matrix_add(matrix, &entry);
		if (ret)
			return ret;
		cond_resched();
	}
	return 0;
}

/* Takes @matrix. Who has tasks that wait, and who has a segment of ours, looks again. */
static void load_matrix(struct te_matrix *matrix)
{
	te_topo_load(matrix);
	te_worker_wake();
	te_session_far_news();
}

int te_ioctl_topology_set(struct te_cmd *cmd)
{
	struct te_ioc_topology_set *set = &cmd->arg.topology_set;
	struct te_matrix *matrix;
	int ret;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (set->reserved || !set->nr != !set->entries)
		return -EINVAL;
	if (set->nr > TE_TOPOLOGY_ENTRIES)
		return -E2BIG;
	if (!set->nr) {
		load_matrix(NULL);
		return 0;
	}

	matrix = te_matrix_create();
	if (!matrix)
		return -ENOMEM;
	ret = add_entries(matrix, u64_to_user_ptr(set->entries), set->nr);
	if (ret) {
		te_matrix_free(matrix);
		return ret;
	}
	load_matrix(matrix);
	return 0;
}

/* Counts all, copies as many as there is room for. */
static int copy_entries(const struct te_matrix *matrix,
			struct te_ioc_topology_get *get)
{
	struct te_topology_entry __user *to = u64_to_user_ptr(get->entries);
	struct te_topology_entry entry;
	u32 pos = 0, nr = 0;

	while (te_matrix_next(matrix, &pos, &entry)) {
		if (nr < get->max &&
		    copy_to_user(&to[nr], &entry, sizeof(entry)))
			return -EFAULT;
		nr++;
		cond_resched();
	}
	get->max = min(get->max, nr);
	get->nr = nr;
	return 0;
}

int te_ioctl_topology_get(struct te_cmd *cmd)
{
	struct te_ioc_topology_get *get = &cmd->arg.topology_get;
	struct te_matrix *matrix;
	int ret = 0;

	matrix = te_topo_copy();
	if (IS_ERR(matrix))
		return PTR_ERR(matrix);
	if (matrix) {
		ret = copy_entries(matrix, get);
		te_matrix_free(matrix);
	} else {
		get->max = 0;
		get->nr = 0;
	}
	return ret ?: te_cmd_respond(cmd);
}

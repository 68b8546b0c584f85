// SPDX-License-Identifier: GPL-2.0-only
/*
 * te: transfer engine. Starts the rooms in order and ends them in reverse.
 * Module parameters live here and nowhere else.
 */
#include <linux/module.h>

#include "chardev/chardev.h"
#include "core/core.h"
#include "endpoint/endpoint.h"
#include "event/count.h"
#include "fault/fault.h"
#include "mem/mem.h"
#include "local/local.h"
#include "rdma/rdma.h"
#include "session/session.h"
#include "tcp/tcp.h"
#include "topo/topo.h"
#include "wire/wire.h"
#include "worker/worker.h"
#include "xport/xport.h"

module_param_named(port, te_session_port, ushort, 0444);
MODULE_PARM_DESC(port, "TCP port of control connections (29797)");
module_param_named(insecure, te_session_insecure, bool, 0444);
MODULE_PARM_DESC(insecure, "accept unauthenticated peers from other hosts (0)");
module_param_named(workers_per_dev, te_workers_per_dev, uint, 0444);
MODULE_PARM_DESC(workers_per_dev, "mover threads of each dev, 1 to 8 (2)");
module_param_named(max_ep, te_max_ep, uint, 0444);
MODULE_PARM_DESC(max_ep, "endpoints that each dev keeps (256)");

module_param_named(retry_cnt, te_retry_cnt, uint, 0644);
MODULE_PARM_DESC(retry_cnt, "failures that one slice survives before its task fails (9)");
module_param_named(busy_poll_us, te_busy_poll_us, uint, 0644);
MODULE_PARM_DESC(busy_poll_us, "microseconds that a mover polls before it sleeps (50)");

module_param_named(tcp_lanes, te_tcp_lanes, uint, 0444);
MODULE_PARM_DESC(tcp_lanes, "connections of each TCP endpoint, 1 to 16 (4)");
module_param_named(tcp_idle, te_tcp_idle, uint, 0644);
MODULE_PARM_DESC(tcp_idle, "seconds after its last work when a TCP endpoint is closed, 0: never (60)");
module_param_named(tcp_crc, te_tcp_crc, bool, 0644);
MODULE_PARM_DESC(tcp_crc, "checksum what goes over TCP, by CRC-32C, both ways (N)");

static int te_store_param_set(const char *val, const struct kernel_param *kp)
{
	return te_ep_store_set_policy(val);
}

static int te_store_param_get(char *to, const struct kernel_param *kp)
{
	return scnprintf(to, PAGE_SIZE, "%s\n", te_ep_store_policy());
}

static const struct kernel_param_ops te_store_param_ops = {
	.set = te_store_param_set,
	.get = te_store_param_get,
};

module_param_cb(store, &te_store_param_ops, NULL, 0644);
MODULE_PARM_DESC(store, "which endpoint goes when there are max_ep: sieve or fifo (sieve)");

module_param_named(num_qp, te_rdma_num_qp, uint, 0444);
MODULE_PARM_DESC(num_qp, "QPs of each RDMA endpoint, 1 to 4 (2)");
module_param_named(qp_timeout, te_rdma_qp_timeout, uint, 0444);
MODULE_PARM_DESC(qp_timeout, "a packet without an answer is sent again after 4.096 us << this, 8 to 31 (14: 67 ms)");

/* Each room may use those above it. */
static const struct {
	int (*init)(void);
	void (*exit)(void);
} te_rooms[] = {
	{ te_mem_init, te_mem_exit },
	{ te_core_init, te_core_exit },
	/* Before NICs, which may be more than there are ids. */
	{ te_tcp_init, te_tcp_exit },
	{ te_local_init, te_local_exit },
	{ te_rdma_init, te_rdma_exit },
	{ te_session_init, te_session_exit },
	{ te_chardev_init, te_chardev_exit },
};

static void te_stop(size_t nr)
{
	while (nr--)
		te_rooms[nr].exit();
	te_count_check();
}

static int __init te_init(void)
{
	size_t i;
	int ret;

	te_fault_init();
	te_wire_init();
	te_xport_set_host(&te_worker_host);
	te_xport_set_news(&te_session_news);
	te_tcp_port = te_session_port;
	te_session_set_lane(te_tcp_accept);
	for (i = 0; i < ARRAY_SIZE(te_rooms); i++) {
		ret = te_rooms[i].init();
		if (ret) {
			te_stop(i);
			te_fault_exit();
			return ret;
		}
	}
	return 0;
}

static void __exit te_exit(void)
{
	te_stop(ARRAY_SIZE(te_rooms));
	te_topo_exit();
	te_fault_exit();
}

module_init(te_init);
module_exit(te_exit);
MODULE_DESCRIPTION("transfer engine");
MODULE_LICENSE("GPL");

// SPDX-License-Identifier: GPL-2.0-only
/* nic: see nic.h. The environment and the netdevs are those of vm/net/wire.sh. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/nic.h"
#include "lib/pair.h"

static const struct {
	const char *dev, *netdev;
} nics[NR_NICS] = {
	{ "$TE_DEV_A", "va" },
	{ "$TE_DEV_B", "vb" },
};

static int shell(const char *command)
{
	fflush(stdout);
	return system(command) ? -EIO : 0;
}

bool nic_is_siw(void)
{
	const char *type = getenv("TE_DEV_TYPE");

	return type && !strcmp(type, "siw");
}

int nic_delete(int nic)
{
	char command[128];

	snprintf(command, sizeof(command), "rdma link delete %s",
		 nics[nic].dev);
	return shell(command);
}

/* A device that goes is not shown any more, from the first step on. */
int nic_await_going(int nic)
{
	unsigned long long end = te_now_ms() + TE_WAIT_MS;
	char command[128];

	snprintf(command, sizeof(command), "rdma dev show %s >/dev/null 2>&1",
		 nics[nic].dev);
	while (!shell(command)) {
		if (te_now_ms() > end)
			return -ETIME;
		te_sleep_ms(10);
	}
	return 0;
}

int nic_add(int nic)
{
	unsigned long long end = te_now_ms() + TE_WAIT_MS;
	char command[256];

	snprintf(command, sizeof(command), "rdma link add %s type $TE_DEV_TYPE netdev %s",
		 nics[nic].dev, nics[nic].netdev);
	if (shell(command))
		return -EIO;
	/* The GIDs of rxe come a little later; siw has one from the start. */
	snprintf(command, sizeof(command),
		 "[ $TE_DEV_TYPE = siw ] || "
		 "grep -qs ffff: /sys/class/infiniband/%s/ports/1/gids/*",
		 nics[nic].dev);
	while (shell(command)) {
		if (te_now_ms() > end)
			return -ETIME;
		te_sleep_ms(10);
	}
	return 0;
}

#define MOVE \
	"ip addr add $TE_ADDR_B/32 dev lo && " \
	"ip addr add " NIC_OTHER_ADDR "/32 dev vb && " \
	"ip addr del $TE_ADDR_B/32 dev vb && " \
	"ip rule add pref 16 from $TE_ADDR_A to " NIC_OTHER_ADDR \
	" lookup 1077 && " \
	"ip rule add pref 17 oif va to " NIC_OTHER_ADDR " lookup 1077 && " \
	"ip rule add pref 18 from " NIC_OTHER_ADDR \
	" to $TE_ADDR_A lookup 1078 && " \
	"ip route replace " NIC_OTHER_ADDR \
	" dev va src $TE_ADDR_A table 1077 && " \
	"ip route replace $TE_ADDR_A dev vb src " NIC_OTHER_ADDR \
	" table 1078 && " \
	"ip neigh replace " NIC_OTHER_ADDR \
	" lladdr $(cat /sys/class/net/vb/address) dev va nud permanent"
#define MOVE_BACK \
	"selftests/vm/net/wire.sh routes && " \
	"ip rule del pref 16 && ip rule del pref 17 && ip rule del pref 18 && " \
	"ip addr del " NIC_OTHER_ADDR "/32 dev vb && " \
	"ip addr del $TE_ADDR_B/32 dev lo"

int nic_move(void)
{
	return shell(MOVE);
}

int nic_move_back(void)
{
	return shell(MOVE_BACK);
}

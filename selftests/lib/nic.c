// SPDX-License-Identifier: GPL-2.0-only
/* nic: see nic.h. The netdevs and their order are those of vm/net/wire.sh. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/nic.h"
#include "lib/pair.h"

static const struct {
	const char *dev, *netdev;
} nics[NR_NICS] = {
	{ "rxe_a", "va" },
	{ "rxe_b", "vb" },
};

static int shell(const char *command)
{
	fflush(stdout);
	return system(command) ? -EIO : 0;
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

	snprintf(command, sizeof(command), "rdma link add %s type rxe netdev %s",
		 nics[nic].dev, nics[nic].netdev);
	if (shell(command))
		return -EIO;
	snprintf(command, sizeof(command),
		 "grep -qs ffff: /sys/class/infiniband/%s/ports/1/gids/*",
		 nics[nic].dev);
	while (shell(command)) {
		if (te_now_ms() > end)
			return -ETIME;
		te_sleep_ms(10);
	}
	return 0;
}

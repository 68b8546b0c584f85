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

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Network namespaces: sessions and lanes of a context are in the namespace of the
 * process that opened it; names of segments are, too; and a namespace goes when
 * its last process has, as if te did not hold it.
 */
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/test.h"
#include "lib/pair.h"
#include "lib/proc.h"

FIXTURE(netns)
{
	struct pair p;
};

FIXTURE_SETUP(netns)
{
	ASSERT_EQ(0, setenv("TE_TRANSPORT", "tcp", 1));
	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, pair_open(&self->p, NULL));
}

FIXTURE_TEARDOWN(netns)
{
	pair_close(&self->p);
	CLEAN();
	EXPECT_EQ(0, te_settle_all());
}

/* In a namespace of its own: 0, or a number that tells where it went wrong. */
static int live_there(void *arg, int in, int out)
{
	char pid[20], name[48], go;
	struct pair p;
	uint32_t seg;

	snprintf(name, sizeof(name), "%s", (const char *)arg);
	if (unshare(CLONE_NEWNET) || system("ip link set lo up"))
		return 1;
	snprintf(pid, sizeof(pid), "%d", getpid());
	if (proc_put(out, pid, sizeof(pid)) || proc_get(in, &go, 1))
		return 2;
	setenv("TE_ADDR_B", "127.0.0.1", 1);
	if (pair_open(&p, NULL))
		return 3;
	if (pair_xfer(&p, TE_WRITE, 9 * KIB, 8 * KIB, 100000) ||
	    pair_xfer(&p, TE_READ, 9 * KIB, 8 * KIB, 100000))
		return 4;
	if (te_open_segment(p.ini, name, &seg) != -ENOENT)
		return 5;
	/* Not closed in good order: the process just ends. */
	return 0;
}

static int in_sight(const char *link)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/class/net/%s", link);
	return !access(path, F_OK);
}

TEST_F_TIMEOUT(netns, goes_with_its_process, SLOW)
{
	unsigned long long until;
	struct proc child;
	char pid[20], cmd[200];
	char go = 0;

	ASSERT_EQ(0, proc_start(&child, live_there, self->p.name));
	ASSERT_EQ(0, proc_get(child.from, pid, sizeof(pid)));
	/* One end there, one here, which goes with the other. */
	snprintf(cmd, sizeof(cmd),
		 "ip link add tens type veth peer name eth0 netns %s", pid);
	ASSERT_EQ(0, system(cmd));
	ASSERT_EQ(0, proc_put(child.to, &go, 1));
	EXPECT_EQ(0, proc_wait(&child));
	until = te_now_ms() + TE_WAIT_MS;
	while (in_sight("tens") && te_now_ms() < until)
		te_sleep_ms(20);
	EXPECT_FALSE(in_sight("tens"));
	/* Others never noticed. */
	EXPECT_EQ(0, pair_xfer(&self->p, TE_WRITE, 9 * KIB, 8 * KIB, 100000));
}

TEST_HARNESS_MAIN

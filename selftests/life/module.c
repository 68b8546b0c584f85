// SPDX-License-Identifier: GPL-2.0-only
/*
 * The module stays while a context is open, and goes and comes back when none
 * is. run.sh gives the path of te.ko in TE_MODULE.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/test.h"
#include "lib/pair.h"

static int unload(void)
{
	return syscall(SYS_delete_module, "te", O_NONBLOCK) ? -errno : 0;
}

static int load(void)
{
	const char *path = getenv("TE_MODULE");
	int fd, ret;

	fd = open(path ?: "", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = syscall(SYS_finit_module, fd, "", 0) ? -errno : 0;
	close(fd);
	return ret;
}

TEST(refused_while_open)
{
	int ret, i;
	struct pair p;

	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, pair_open(&p, NULL));
	for (i = 0; i < 3; i++) {
		ret = unload();
		EXPECT_TRUE(ret == -EWOULDBLOCK || ret == -EBUSY) {
			TH_LOG("%d", ret);
		}
		EXPECT_EQ(0, pair_xfer(&p, i & 1, 9 * KIB, 10 * KIB, 100000));
	}
	pair_close(&p);
	CLEAN();
}

/* Right after close the references may still be on their way. */
static int unload_soon(void)
{
	unsigned long long end = te_now_ms() + TE_SETTLE_MS;
	int ret;

	do {
		ret = unload();
		if (ret != -EWOULDBLOCK && ret != -EBUSY)
			return ret;
		te_sleep_ms(20);
	} while (te_now_ms() < end);
	return ret;
}

/* The device node follows the module. */
static int wait_for_node(bool there)
{
	unsigned long long end = te_now_ms() + TE_SETTLE_MS;

	while (access(TE_DEVICE, F_OK) == (there ? -1 : 0)) {
		if (te_now_ms() > end)
			return -ETIME;
		te_sleep_ms(5);
	}
	return 0;
}

FIXTURE(module)
{
};

FIXTURE_SETUP(module)
{
}

FIXTURE_TEARDOWN(module)
{
}

TEST_F_TIMEOUT(module, reload, SLOW)
{
	struct te_ioc_info info;
	uint8_t last[16] = "";
	struct pair p;
	int i;

	/* With sessions still lingering, too: nothing waits between rounds. */
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, unload_soon());
		ASSERT_EQ(0, wait_for_node(false));
		ASSERT_EQ(0, load());
		ASSERT_EQ(0, wait_for_node(true));
		ASSERT_EQ(0, raw_info(&info));
		EXPECT_NE(0, memcmp(last, info.node_id, 16));
		memcpy(last, info.node_id, 16);
		ASSERT_EQ(0, pair_open(&p, NULL));
		EXPECT_EQ(0, pair_xfer(&p, i & 1, 9 * KIB, 10 * KIB, 100000));
		pair_close(&p);
	}
	CLEAN();
}

TEST_HARNESS_MAIN

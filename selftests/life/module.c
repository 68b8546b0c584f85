// SPDX-License-Identifier: GPL-2.0-only
/*
 * The module stays while a context is open, and goes and comes back when none
 * is, whoever knocks meanwhile; parameters that make no sense harm nobody.
 * run.sh gives the path of te.ko in TE_MODULE.
 */
#include <stdlib.h>
#include <unistd.h>

#include "lib/test.h"
#include "lib/module.h"
#include "lib/proc.h"
#include "lib/sock.h"

TEST(refused_while_open)
{
	int ret, i;
	struct pair p;

	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, pair_open(&p, NULL));
	for (i = 0; i < 3; i++) {
		ret = module_unload();
		EXPECT_TRUE(ret == -EWOULDBLOCK || ret == -EBUSY) {
			TH_LOG("%d", ret);
		}
		EXPECT_EQ(0, pair_xfer(&p, i & 1, 9 * KIB, 10 * KIB, 100000));
	}
	pair_close(&p);
	CLEAN();
}

FIXTURE(loading)
{
	struct pair p;
};

FIXTURE_SETUP(loading)
{
	ASSERT_EQ(0, te_settle());
}

FIXTURE_TEARDOWN(loading)
{
	CLEAN();
}

TEST_F_TIMEOUT(loading, reload, SLOW)
{
	struct te_ioc_info info;
	uint8_t last[16] = "";
	int i;

	/* With sessions still lingering, too: nothing waits between rounds. */
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, module_reload(""));
		ASSERT_EQ(0, raw_info(&info));
		EXPECT_NE(0, memcmp(last, info.node_id, 16));
		memcpy(last, info.node_id, 16);
		ASSERT_EQ(0, pair_open(&self->p, NULL));
		EXPECT_EQ(0, pair_xfer(&self->p, i & 1, 9 * KIB, 10 * KIB,
				       100000));
		pair_close(&self->p);
	}
}

/* Connects all the time, saying a little; each connection is left to its fate. */
static int knock(void *arg, int in, int out)
{
	int fd[32] = { 0 }, i;

	(void)arg;
	(void)in;
	(void)out;
	for (i = 0;; i = (i + 1) % 32) {
		if (fd[i] > 0)
			close(fd[i]);
		fd[i] = sock_connect(te_peer_addr(), TE_DEFAULT_PORT);
		if (fd[i] > 0 && i & 1)
			sock_send(fd[i], "t-te", i % 5);
		if (fd[i] < 0)
			te_sleep_ms(1);
	}
	return 0;
}

TEST_F_TIMEOUT(loading, reload_while_they_knock, SLOW)
{
	struct proc knocker[2];
	struct te_ioc_stats s;
	unsigned long long end;
	int i;

	for (i = 0; i < 2; i++)
		MUST(proc_start(&knocker[i], knock, NULL));
	for (i = 0; i < 8; i++) {
		ASSERT_EQ(0, pair_open(&self->p, NULL));
		te_sleep_ms(i % 4 * 10);
		/* They are heard in each round; our own are two, of the pair. */
		end = te_now_ms() + TE_WAIT_MS;
		do {
			ASSERT_EQ(0, te_stats(&s));
		} while (s.sessions <= 2 && te_now_ms() < end);
		EXPECT_LT(2, s.sessions);
		pair_close(&self->p);
		ASSERT_EQ(0, module_reload(""));
	}
	for (i = 0; i < 2; i++)
		EXPECT_EQ(128 + SIGKILL, proc_kill(&knocker[i]));
	ASSERT_EQ(0, pair_open(&self->p, NULL));
	EXPECT_EQ(0, pair_xfer(&self->p, TE_READ, 9 * KIB, 10 * KIB, 100000));
	pair_close(&self->p);
}

TEST_F_TIMEOUT(loading, parameters, SLOW)
{
	static const struct {
		const char *params;
		int want, want2;
	} rows[] = {
		{ "workers_per_dev=0", 0, 0 },
		{ "workers_per_dev=1", 0, 0 },
		{ "workers_per_dev=8", 0, 0 },
		{ "workers_per_dev=4294967295", 0, 0 },
		{ "workers_per_dev=-1", -EINVAL, -ERANGE },
		{ "num_qp=0", 0, 0 },
		{ "num_qp=4", 0, 0 },
		{ "num_qp=4294967295", 0, 0 },
		{ "num_qp=two", -EINVAL, -EINVAL },
		{ "max_ep=0", 0, 0 },
		{ "max_ep=1", 0, 0 },
		{ "max_ep=4294967295", 0, 0 },
		{ "max_ep=4294967296", -EINVAL, -ERANGE },
		{ "tcp_lanes=0", 0, 0 },
		{ "tcp_lanes=4294967295", 0, 0 },
		{ "tcp_lanes=-1", -EINVAL, -ERANGE },
		{ "tcp_idle=0", 0, 0 },
		{ "tcp_idle=-1", -EINVAL, -ERANGE },
		{ "tcp_idle=4294967295", 0, 0 },
		{ "tcp_crc=1", 0, 0 },
		{ "tcp_crc=maybe", -EINVAL, -EINVAL },
		{ "retry_cnt=0", 0, 0 },
		{ "retry_cnt=4294967295", 0, 0 },
		{ "retry_cnt=-1", -EINVAL, -ERANGE },
		{ "store=fifo", 0, 0 },
		{ "store=lru", -EINVAL, -EINVAL },
		{ "port=0", -EINVAL, -EINVAL },
		{ "port=65536", -EINVAL, -ERANGE },
		{ "insecure=maybe", -EINVAL, -EINVAL },
	};
	size_t i;
	int ret;

	for (i = 0; i < ROWS(rows); i++) {
		ASSERT_EQ(0, module_unload_soon());
		ret = module_load(rows[i].params);
		EXPECT_ROW(true, ret == rows[i].want || ret == rows[i].want2,
			   "%s: %d", rows[i].params, ret);
		if (ret) {
			ASSERT_EQ(0, module_load(""));
			continue;
		}
		ASSERT_EQ(0, pair_open(&self->p, NULL));
		EXPECT_ROW(0, pair_xfer(&self->p, i & 1, 9 * KIB, 10 * KIB,
					200000), "%s", rows[i].params);
		pair_close(&self->p);
	}
	ASSERT_EQ(0, module_reload(""));
}

TEST_HARNESS_MAIN

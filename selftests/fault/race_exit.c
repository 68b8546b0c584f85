// SPDX-License-Identifier: GPL-2.0-only
/*
 * SIGKILL of a process that is inside a call, and unload of a module one of
 * whose threads is on its way: both are held there meanwhile.
 */
#include <signal.h>
#include <unistd.h>

#include "lib/test.h"
#include "lib/fault.h"
#include "lib/module.h"
#include "lib/pair.h"
#include "lib/proc.h"
#include "lib/sock.h"

#define LEN	(64 * KIB)
#define AT	(8 * KIB)

FIXTURE(race_exit)
{
	struct pair p;
};

FIXTURE_SETUP(race_exit)
{
	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, pair_open(&self->p, NULL));
	ASSERT_EQ(0, pair_xfer(&self->p, TE_WRITE, AT, AT, LEN));
}

FIXTURE_TEARDOWN(race_exit)
{
	pair_close(&self->p);
	CLEAN();
}

struct victim {
	const struct pair *p;
	char call;	/* what it is in when it is killed */
};

/* Makes all it needs, says so, and does the call when it is told to. */
static int be_victim(void *arg, int in, int out)
{
	const struct victim *v = arg;
	uint32_t mr, seg, batch;
	struct te_request r;
	struct area a;
	struct te *te;
	char go;

	if (area_alloc(&a, 2 * LEN) || te_open(&te, NULL) ||
	    te_mr_register(te, a.p, LEN, TE_LOCAL_ALL, NULL, &mr) ||
	    te_open_segment(te, v->p->name, &seg) ||
	    te_batch_alloc(te, 1, NULL, &batch) ||
	    proc_put(out, "g", 1) || read(in, &go, 1) != 1)
		return 1;
	r = (struct te_request) {
		.opcode = TE_READ,
		.segment = seg,
		.local_addr = (uintptr_t)a.p,
		.remote_addr = (uintptr_t)v->p->remote.p + AT,
		.length = LEN,
	};
	switch (v->call) {
	case 's':
		return te_submit(te, batch, &r, 1);
	case 'r':
		return te_mr_register(te, a.p + LEN, LEN, TE_LOCAL_ALL, NULL,
				      &mr);
	case 'u':
		return te_mr_unregister(te, mr, 0);
	case 'o':
		return te_open_segment(te, v->p->name, &seg);
	case 'w':
		return raw_wait_entries(te_fd(te), 1, -1);
	default:
		return te_batch_free(te, batch);
	}
}

TEST_F_TIMEOUT(race_exit, killed_inside, SLOW)
{
	static const struct {
		const char *point;
		char call;
	} rows[] = {
		{ "submit_queue", 's' },
		{ "mr_publish", 'r' },
		{ "mr_revoked", 'u' },
		{ "seg_opened", 'o' },
		{ "wait_sleep", 'w' },
		{ "batch_free", 'f' },
	};
	struct te_ioc_stats base;
	struct proc child;
	size_t i;
	char c;

	ASSERT_EQ(0, te_stats(&base));
	for (i = 0; i < ROWS(rows); i++) {
		struct victim v = { &self->p, rows[i].call };

		ASSERT_EQ(0, proc_start(&child, be_victim, &v));
		ASSERT_EQ(0, proc_get(child.from, &c, 1));
		te_hold(rows[i].point);
		ASSERT_EQ(0, proc_put(child.to, "x", 1));
		ASSERT_EQ(0, te_delay_wait(rows[i].point, 1));
		ASSERT_EQ(0, kill(child.pid, SIGKILL));
		EXPECT_EQ(0, te_delay_wait(rows[i].point, 1));
		te_delay_release(rows[i].point);
		EXPECT_ROW(128 + SIGKILL, proc_wait(&child), "%s",
			   rows[i].point);
		EXPECT_ROW(0, te_settle_to(&base), "%s", rows[i].point);
		EXPECT_EQ(0, pair_xfer(&self->p, i & 1, AT, AT, LEN));
	}
}

/* Time lets the held one go: te-fault goes with the module. */
TEST_F_TIMEOUT(race_exit, unload_against_threads, SLOW)
{
	static const struct {
		const char *point;
		bool connected;
	} rows[] = {
		{ "ep_found", true },
		{ "task_end", true },
		{ "task_shown", true },
		{ "ep_connect", false },
		{ "conn_publish", false },
	};
	struct pair *p = &self->p;
	struct te_request r;
	uint32_t batch;
	size_t i;

	for (i = 0; i < ROWS(rows); i++) {
		if (!rows[i].connected) {
			pair_close(p);
			ASSERT_EQ(0, module_reload(""));
			ASSERT_EQ(0, pair_open(p, NULL));
		}
		ASSERT_EQ(0, te_batch_alloc(p->ini, 1, NULL, &batch));
		r = pair_req(p, TE_WRITE, AT, AT, LEN);
		te_delay_arm(rows[i].point, 2000, 1);
		ASSERT_EQ(0, te_submit(p->ini, batch, &r, 1));
		ASSERT_EQ(0, te_delay_wait(rows[i].point, 1));
		pair_close(p);
		EXPECT_ROW(0, module_unload_soon(), "%s", rows[i].point);
		ASSERT_EQ(0, module_load(""));
		ASSERT_EQ(0, pair_open(p, NULL));
		EXPECT_EQ(0, pair_xfer(p, TE_WRITE, AT, AT, LEN));
	}
}

/* A stranger was accepted, and before it has a session te is to go. */
TEST_F_TIMEOUT(race_exit, unload_against_accept, SLOW)
{
	struct pair *p = &self->p;
	int fd;

	te_delay_arm("accepted", 2000, 1);
	fd = sock_connect(te_peer_addr(), TE_DEFAULT_PORT);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, te_delay_wait("accepted", 1));
	pair_close(p);
	EXPECT_EQ(0, module_unload_soon());
	EXPECT_EQ(0, sock_await_close(fd, TE_SETTLE_MS));
	close(fd);
	ASSERT_EQ(0, module_load(""));
	ASSERT_EQ(0, pair_open(p, NULL));
	EXPECT_EQ(0, pair_xfer(p, TE_WRITE, AT, AT, LEN));
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Core dump of a process with mapped areas, registered memory and work in
 * flight: the dump is written, holds the memory, and te is rid of the process.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/test.h"
#include "lib/proc.h"

#define LEN	MIB
#define NR	4000	/* 4 GB: not done before it dies */
#define PATTERN	"/proc/sys/kernel/core_pattern"
#define CORE	"/tmp/te-core"

FIXTURE(dump)
{
	struct pair p;
	struct te_ioc_stats base;
	char pattern[128];
};

static int put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int ret = write(fd, text, strlen(text)) < 0 ? -errno : 0;

	close(fd);
	return ret;
}

FIXTURE_SETUP(dump)
{
	struct pair_opts o = { .remote = LEN, .margin = ~0UL };
	int fd = open(PATTERN, O_RDONLY | O_CLOEXEC);

	ASSERT_LT(0, read(fd, self->pattern, sizeof(self->pattern) - 1));
	close(fd);
	ASSERT_EQ(0, put(PATTERN, CORE));
	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, pair_open(&self->p, &o));
	ASSERT_EQ(0, te_stats(&self->base));
}

FIXTURE_TEARDOWN(dump)
{
	pair_close(&self->p);
	EXPECT_EQ(0, put(PATTERN, self->pattern));
	unlink(CORE);
	CLEAN();
}

static int crash(void *arg, int in, int out)
{
	struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	struct te_request r[NR];
	struct pair *p = arg;
	uint32_t mr, batch, i;
	struct area a;
	struct te *te;

	(void)in;
	if (setrlimit(RLIMIT_CORE, &unlimited) || area_alloc(&a, LEN) ||
	    te_open(&te, NULL) ||
	    te_mr_register(te, a.p, LEN, TE_LOCAL_ALL, NULL, &mr) ||
	    te_open_segment(te, p->name, &p->seg) ||
	    te_batch_alloc(te, NR, NULL, &batch))
		return 1;
	pattern_fill(a.p, LEN, 80);
	for (i = 0; i < NR; i++) {
		r[i] = pair_req(p, TE_WRITE, 0, 0, LEN);
		r[i].local_addr = (uintptr_t)a.p;
	}
	if (te_submit(te, batch, r, NR) || proc_put(out, "g", 1))
		return 2;
	abort();
}

TEST_F_TIMEOUT(dump, table, SLOW)
{
	unsigned char want[4096], *core;
	struct proc child;
	struct stat st;
	siginfo_t si;
	char c;
	int fd;

	ASSERT_EQ(0, proc_start(&child, crash, &self->p));
	ASSERT_EQ(0, proc_get(child.from, &c, 1));
	ASSERT_EQ(0, waitid(P_PID, child.pid, &si, WEXITED | WNOWAIT));
	EXPECT_EQ(CLD_DUMPED, si.si_code);
	EXPECT_EQ(128 + SIGABRT, proc_wait(&child));
	EXPECT_EQ(0, te_settle_to(&self->base));

	fd = open(CORE, O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, fstat(fd, &st));
	core = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	ASSERT_NE(MAP_FAILED, (void *)core);
	pattern_fill(want, sizeof(want), 80);
	EXPECT_NE(NULL, memmem(core, st.st_size, want, sizeof(want)));
	munmap(core, st.st_size);
	close(fd);
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kinds of memory that only distributors' kernels have (run.sh knows): huge
 * pages, and mappings without struct page. Huge pages matter because fast
 * registration then uses larger pages.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/test.h"
#include "lib/pair.h"

#define HUGE	(2 * MIB)

FIXTURE(special)
{
	struct pair p;
};

FIXTURE_SETUP(special)
{
	struct pair_opts o = { .remote = 4 * HUGE, .margin = ~0UL };

	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, pair_open(&self->p, &o));
}

FIXTURE_TEARDOWN(special)
{
	pair_close(&self->p);
	CLEAN();
}

/* Both ways between @mem and the target's memory, crossing its pages oddly. */
static int use(struct pair *p, unsigned char *mem, size_t len)
{
	struct te_request r[2];
	uint32_t mr, batch;
	int ret, i;

	ret = te_mr_register(p->ini, mem, len, TE_LOCAL_ALL, NULL, &mr);
	if (ret)
		return ret;
	pattern_fill(mem, len, 21);
	r[0] = pair_req(p, TE_WRITE, 0, 3, len - 100);
	r[0].local_addr = (uintptr_t)mem + 5;
	r[1] = pair_req(p, TE_READ, 0, 1, len - 1);
	r[1].local_addr = (uintptr_t)mem + 1;
	for (i = 0; i < 2 && !ret; i++) {
		ret = te_batch_alloc(p->ini, 1, NULL, &batch);
		ret = ret ?: te_submit(p->ini, batch, &r[i], 1);
		ret = ret ?: te_wait(p->ini, batch, TE_WAIT_MS);
		te_batch_free(p->ini, batch);
		if (!i && memcmp(mem + 5, p->remote.p + 3, len - 100))
			ret = ret ?: -EBADMSG;
	}
	if (memcmp(mem + 1, p->remote.p + 1, len - 1))
		ret = ret ?: -EBADMSG;
	return te_mr_unregister(p->ini, mr, 0) ?: ret;
}

static int set_huge_pages(const char *n)
{
	int fd = open("/proc/sys/vm/nr_hugepages", O_WRONLY | O_CLOEXEC);
	int ret = write(fd, n, strlen(n)) < 0 ? -errno : 0;

	close(fd);
	return ret;
}

TEST_F_TIMEOUT(special, hugetlb, SLOW)
{
	unsigned char *mem;

	ASSERT_EQ(0, set_huge_pages("4"));
	mem = mmap(NULL, 2 * HUGE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)mem);
	EXPECT_EQ(0, use(&self->p, mem, 2 * HUGE));
	EXPECT_EQ(0, use(&self->p, mem + 4096, HUGE));
	munmap(mem, 2 * HUGE);
	mem = mmap(NULL, 2 * HUGE, PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)mem);
	EXPECT_EQ(0, use(&self->p, mem, 2 * HUGE));
	munmap(mem, 2 * HUGE);
	EXPECT_EQ(0, set_huge_pages("0"));
}

TEST_F_TIMEOUT(special, transparent, SLOW)
{
	unsigned char *map = mmap(NULL, 4 * HUGE, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char *mem;

	ASSERT_NE(MAP_FAILED, (void *)map);
	mem = (void *)(((uintptr_t)map + HUGE - 1) & -HUGE);
	ASSERT_EQ(0, madvise(mem, 2 * HUGE, MADV_HUGEPAGE));
	memset(mem, 1, 2 * HUGE);
	EXPECT_EQ(0, use(&self->p, mem, 2 * HUGE));
	EXPECT_EQ(0, use(&self->p, mem + 12288, HUGE));
}

TEST_F(special, no_struct_page)
{
	unsigned long from = 0, to;
	FILE *f = fopen("/proc/self/maps", "re");
	char line[256];
	uint32_t mr;
	int ret;

	ASSERT_NE(NULL, f);
	while (fgets(line, sizeof(line), f))
		if (strstr(line, "[vvar]") &&
		    sscanf(line, "%lx-%lx", &from, &to) == 2)
			break;
	fclose(f);
	ASSERT_NE(0, from);
	ret = te_mr_register(self->p.ini, (void *)from, 4096, TE_LOCAL_READ,
			     NULL, &mr);
	EXPECT_TRUE(ret == -EFAULT || ret == -EOPNOTSUPP) {
		TH_LOG("%d", ret);
	}
}

TEST_HARNESS_MAIN

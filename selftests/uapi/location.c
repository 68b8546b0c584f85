// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where a region is, as its owner says: which names are good, that the same range
 * again must agree, and how many names there may be in the node at one time.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/test.h"

#define ACCESS		(TE_LOCAL_READ | TE_LOCAL_WRITE)
#define MAX_NAMES	64

FIXTURE(location)
{
	struct raw r;
	char *mem;
};

FIXTURE_SETUP(location)
{
	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, raw_open(&self->r, 0, 0));
	self->mem = mmap(NULL, (MAX_NAMES + 2) * 4096, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->mem);
}

FIXTURE_TEARDOWN(location)
{
	raw_close(&self->r);
	CLEAN();
}

static int reg(int fd, void *addr, const char *name, uint32_t len, uint32_t *mr)
{
	struct te_ioc_mr_register a = {
		.size = sizeof(a),
		.addr = (uintptr_t)addr,
		.length = 4096,
		.access = ACCESS,
		.location = (uintptr_t)name,
		.location_len = len,
		.mr = *mr,
	};
	int ret = raw_ioctl(fd, TE_IOC_MR_REGISTER, &a);

	*mr = a.mr;
	return ret;
}

static const struct {
	const char *desc, *name;
	uint32_t len;
	bool good;
} rows[] = {
	{ "anywhere", "*", 1, true },
	{ "node 0", "cpu:0", 5, true },
	{ "last node", "cpu:1023", 8, true },
	{ "GPU", "cuda:0", 6, true },
	{ "one letter", "x", 1, true },
	{ "all kinds", "AZaz09._:-", 10, true },
	{ "31 bytes", "0123456789012345678901234567890", 31, true },
	{ "what is behind does not count", "cpu:0 and more", 5, true },
	{ "empty", "x", 0, false },
	{ "32 bytes", "01234567890123456789012345678901", 32, false },
	{ "2^31 bytes", "x", 1U << 31, false },
	{ "2^32 - 1 bytes", "x", ~0U, false },
	{ "a node too many", "cpu:1024", 8, false },
	{ "node of many digits", "cpu:4294967296", 14, false },
	{ "no node", "cpu:", 4, false },
	{ "node that is none", "cpu:x", 5, false },
	{ "zero in front", "cpu:00", 6, false },
	{ "node -1", "cpu:-1", 6, false },
	{ "star and more", "*:0", 3, false },
	{ "NUL inside", "a\0b", 3, false },
	{ "NUL at the end", "ab", 3, false },
	{ "space", "a b", 3, false },
	{ "slash", "a/b", 3, false },
	{ "newline", "a\n", 2, false },
	{ "UTF-8", "\303\244", 2, false },
};

TEST_F_TIMEOUT(location, table, SLOW)
{
	uint32_t mr;
	size_t i;
	int ret;

	for (i = 0; i < ROWS(rows); i++) {
		mr = 77;
		ret = reg(self->r.fd, self->mem, rows[i].name, rows[i].len, &mr);
		EXPECT_ROW(rows[i].good ? 0 : -EINVAL, ret, "%s", rows[i].desc);
		if (ret)
			EXPECT_ROW(77, mr, "%s", rows[i].desc);
		else
			EXPECT_ROW(0, raw_unmr(self->r.fd, mr, 0), "%s",
				   rows[i].desc);
	}
}

TEST_F_TIMEOUT(location, pointers, SLOW)
{
	char *end = self->mem + 4096;
	uint32_t mr = 0;

	memset(self->mem, 'n', 4096);
	ASSERT_EQ(0, mprotect(end, 4096, PROT_NONE));
	EXPECT_EQ(-EFAULT, reg(self->r.fd, self->mem, end, 4, &mr));
	EXPECT_EQ(-EFAULT, reg(self->r.fd, self->mem, end - 3, 4, &mr));
	EXPECT_EQ(-EFAULT, reg(self->r.fd, self->mem, (char *)1, 4, &mr));
	EXPECT_EQ(-EFAULT, reg(self->r.fd, self->mem, (char *)-3L, 4, &mr));
	EXPECT_EQ(-EINVAL, reg(self->r.fd, self->mem, NULL, 4, &mr));
	EXPECT_EQ(0, reg(self->r.fd, self->mem, end - 4, 4, &mr));
}

/* One range twice: @first, then @second, NULL: not said. */
TEST_F_TIMEOUT(location, again, SLOW)
{
	static const struct {
		const char *first, *second;
		int want;
	} table[] = {
		{ NULL, NULL, 0 },
		{ "cuda:0", NULL, 0 },
		{ "cuda:0", "cuda:0", 0 },
		{ "cuda:0", "cuda:1", -EEXIST },
		{ "cuda:0", "cuda:00", -EEXIST },
		{ "cuda:0", "*", -EEXIST },
		{ "*", "*", 0 },
		{ "*", "cuda:0", -EEXIST },
		{ "cpu:1", "cpu:1", 0 },
		{ "cpu:1", "cpu:2", -EEXIST },
		{ NULL, "cuda:0", -EEXIST },
		{ NULL, "*", -EEXIST },
		{ NULL, "cpu:1023", -EEXIST },
	};
	uint32_t mr, again;
	size_t i;

	for (i = 0; i < ROWS(table); i++) {
		const char *first = table[i].first, *second = table[i].second;

		mr = again = 0;
		ASSERT_EQ(0, reg(self->r.fd, self->mem, first,
				 first ? strlen(first) : 0, &mr));
		EXPECT_ROW(table[i].want,
			   reg(self->r.fd, self->mem, second,
			       second ? strlen(second) : 0, &again),
			   "%s, then %s", first, second);
		EXPECT_ROW(table[i].want ? 0 : mr, again, "%s, then %s", first,
			   second);
		EXPECT_EQ(0, raw_unmr(self->r.fd, mr, 0));
		EXPECT_EQ(table[i].want ? -ENOENT : 0,
			  raw_unmr(self->r.fd, mr, 0));
	}
}

static int reg_number(int fd, char *mem, uint32_t i, uint32_t *mr)
{
	char name[16];

	snprintf(name, sizeof(name), "gpu:%u", i);
	return reg(fd, mem + i * 4096, name, strlen(name), mr);
}

/*
 * A name is taken by the first region that has it, and free again with the last:
 * when that is unregistered, refused for something else, or its context closed.
 */
TEST_F_TIMEOUT(location, run_out, SLOW)
{
	char *more = self->mem + (MAX_NAMES + 1) * 4096;
	uint32_t mrs[MAX_NAMES] = { 0 }, mr = 77, i;
	struct raw other;

	ASSERT_EQ(0, raw_open(&other, 0, 0));
	for (i = 0; i < MAX_NAMES; i++)
		ASSERT_EQ(0, reg_number(self->r.fd, self->mem, i, &mrs[i])) {
			TH_LOG("name %u", i);
		}
	EXPECT_EQ(-ENOSPC, reg(self->r.fd, more, "more", 4, &mr));
	EXPECT_EQ(-ENOSPC, reg(other.fd, more, "more", 4, &mr));
	EXPECT_EQ(77, mr);
	EXPECT_EQ(0, reg(self->r.fd, more, "cpu:999", 7, &mr));
	EXPECT_EQ(0, raw_unmr(self->r.fd, mr, 0));

	/* One that is there already counts once. */
	EXPECT_EQ(0, reg_number(other.fd, self->mem, 5, &mr));
	EXPECT_EQ(0, raw_unmr(self->r.fd, mrs[5], 0));
	EXPECT_EQ(-ENOSPC, reg(self->r.fd, more, "more", 4, &mr));
	EXPECT_EQ(0, raw_unmr(other.fd, mr, 0));
	mr = 0;
	EXPECT_EQ(-EFAULT, reg(other.fd, NULL, "more", 4, &mr));
	EXPECT_EQ(0, reg(self->r.fd, more, "other", 5, &mr));
	EXPECT_EQ(-ENOSPC, reg_number(other.fd, self->mem, 5, &mr));

	raw_close(&self->r);
	ASSERT_EQ(0, te_settle_one(__builtin_offsetof(struct te_ioc_stats, mrs),
				   0, 30000));
	for (i = 0; i < MAX_NAMES; i++)
		EXPECT_ROW(0, reg_number(other.fd, self->mem, i, &mrs[i]),
			   "name %u", i);
	raw_close(&other);
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Segment names: 1 to 255 bytes of A-Z a-z 0-9 . _ : -, judged alike when a
 * segment is exported and when it is opened. Names are bytes with a length: a
 * NUL inside is a bad byte, not an end.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/test.h"

#define LONG_255 \
	"l23456789012345678901234567890123456789012345678901234567890123" \
	"l23456789012345678901234567890123456789012345678901234567890123" \
	"l23456789012345678901234567890123456789012345678901234567890123" \
	"l23456789012345678901234567890123456789012345678901234567890123" \
	"..."

static const struct {
	const char *desc, *name;
	uint32_t len;
	bool good;
} rows[] = {
	{ "one byte", "x", 1, true },
	{ "all kinds", "AZaz09._:-", 10, true },
	{ "dots alone", "..", 2, true },
	{ "255 bytes", LONG_255, 255, true },
	{ "empty", "x", 0, false },
	{ "256 bytes", LONG_255 ".", 256, false },
	{ "2^32 - 1 bytes", "x", ~0U, false },
	{ "2^31 bytes", "x", 1U << 31, false },
	{ "slash", "a/b", 3, false },
	{ "path", "../x", 4, false },
	{ "space", "a b", 3, false },
	{ "format", "%n%s", 4, false },
	{ "NUL inside", "a\0b", 3, false },
	{ "NUL at the end", "ab", 3, false },
	{ "newline", "a\n", 2, false },
	{ "escape", "\033[2J", 4, false },
	{ "DEL", "a\177", 2, false },
	{ "UTF-8", "\303\244", 2, false },
	{ "not UTF-8", "\377\376", 2, false },
	{ "at", "a@b", 3, false },
	{ "comma", "a,b", 3, false },
};

FIXTURE(names)
{
	struct raw opener;
};

FIXTURE_SETUP(names)
{
	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, raw_open(&self->opener, 0, 0));
}

FIXTURE_TEARDOWN(names)
{
	raw_close(&self->opener);
	CLEAN();
}

static int export(int fd, const char *name, uint32_t len)
{
	struct te_ioc_segment_export a = {
		.size = sizeof(a),
		.name = (uintptr_t)name,
		.name_len = len,
	};

	return raw_ioctl(fd, TE_IOC_SEGMENT_EXPORT, &a);
}

static int open_segment(int fd, const char *name, uint32_t len)
{
	struct te_ioc_segment_open a;

	raw_fill_open(&a, "");
	a.name = (uintptr_t)name;
	a.name_len = len;
	return raw_ioctl(fd, TE_IOC_SEGMENT_OPEN, &a);
}

TEST_F_TIMEOUT(names, table, SLOW)
{
	struct raw r;
	size_t i;
	int ret;

	for (i = 0; i < ROWS(rows); i++) {
		ASSERT_EQ(0, raw_open(&r, 0, 0));
		ret = export(r.fd, rows[i].name, rows[i].len);
		EXPECT_ROW(rows[i].good ? 0 : -EINVAL, ret, "export, %s",
			   rows[i].desc);
		ret = open_segment(self->opener.fd, rows[i].name, rows[i].len);
		EXPECT_ROW(rows[i].good ? 0 : -EINVAL, ret, "open, %s",
			   rows[i].desc);
		raw_close(&r);
	}
}

/* Every byte there is. */
TEST_F_TIMEOUT(names, bytes, SLOW)
{
	static const char good[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-";
	struct raw r;
	int c, want;

	for (c = 0; c < 256; c++) {
		char name[3] = { 'x', c, 'y' };

		want = c && strchr(good, c) ? 0 : -EINVAL;
		ASSERT_EQ(0, raw_open(&r, 0, 0));
		EXPECT_ROW(want, export(r.fd, name, 3), "byte %#x", c);
		raw_close(&r);
	}
}

TEST_F_TIMEOUT(names, pointers, SLOW)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct te_ioc_segment_export a = { .size = sizeof(a), .name_len = 4 };
	struct raw r;

	ASSERT_NE(MAP_FAILED, page);
	ASSERT_EQ(0, mprotect(page + 4096, 4096, PROT_NONE));
	memset(page, 'n', 4096);
	ASSERT_EQ(0, raw_open(&r, 0, 0));
	EXPECT_EQ(-EFAULT, export(r.fd, NULL, 4));
	EXPECT_EQ(-EFAULT, export(r.fd, page + 4096, 4));
	EXPECT_EQ(-EFAULT, export(r.fd, page + 4093, 4));
	EXPECT_EQ(-EFAULT, open_segment(r.fd, NULL, 4));
	EXPECT_EQ(-EFAULT, open_segment(r.fd, page + 4093, 4));
	a.name = ~0ULL - 2;
	EXPECT_EQ(-EFAULT, raw_ioctl(r.fd, TE_IOC_SEGMENT_EXPORT, &a));
	EXPECT_EQ(0, export(r.fd, page + 4092, 4));
	raw_close(&r);
}

TEST_F_TIMEOUT(names, one_of_each, SLOW)
{
	const char *name = te_unique_name(), *next = te_unique_name();
	struct raw a, b;
	uint32_t seg;

	ASSERT_EQ(0, raw_open(&a, 0, 0));
	ASSERT_EQ(0, raw_open(&b, 0, 0));
	EXPECT_EQ(0, raw_export(a.fd, name));
	EXPECT_EQ(-EEXIST, raw_export(b.fd, name));
	EXPECT_EQ(-EEXIST, raw_export(a.fd, next));
	EXPECT_EQ(0, raw_export(b.fd, next));
	EXPECT_EQ(0, raw_segment(self->opener.fd, name, &seg));
	EXPECT_EQ(0, raw_segment(self->opener.fd, next, &seg));

	/* A name is free when its context has closed, and not before. */
	raw_close(&a);
	ASSERT_EQ(0, raw_open(&a, 0, 0));
	EXPECT_EQ(0, te_settle_one(__builtin_offsetof(struct te_ioc_stats,
						      exports), 1, 30000));
	EXPECT_EQ(-ENOENT, raw_segment(self->opener.fd, name, &seg));
	EXPECT_EQ(0, raw_export(a.fd, name));
	raw_close(&a);
	raw_close(&b);
}

TEST_F_TIMEOUT(names, nobody, SLOW)
{
	struct raw r;
	uint32_t seg;

	/* Nothing listens until something is exported. */
	EXPECT_EQ(0, te_settle_one(__builtin_offsetof(struct te_ioc_stats,
						      exports), 0, 30000));
	EXPECT_EQ(0, te_settle_one(__builtin_offsetof(struct te_ioc_stats,
						      sessions), 0, 30000));
	EXPECT_EQ(-ECONNREFUSED, raw_segment(self->opener.fd, "nobody", &seg));

	ASSERT_EQ(0, raw_open(&r, 0, 0));
	EXPECT_EQ(0, raw_export(r.fd, te_unique_name()));
	EXPECT_EQ(-ENOENT, raw_segment(self->opener.fd, "nobody", &seg));
	raw_close(&r);
}

TEST_HARNESS_MAIN

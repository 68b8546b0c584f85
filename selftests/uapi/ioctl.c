// SPDX-License-Identifier: GPL-2.0-only
/*
 * What holds for every ioctl alike: the size word and what may stand behind the
 * struct, flags, reserved words, bad pointers, bad ids, descriptors that may
 * not, before set-up, numbers that are none. After each call that is refused,
 * the argument is as it was and te holds what it held.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/test.h"
#include "lib/calls.h"

FIXTURE(ioctl)
{
	struct world w;
	struct te_ioc_stats base;
	char *page;	/* the one behind it has no access */
};

FIXTURE_SETUP(ioctl)
{
	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, world_open(&self->w));
	ASSERT_EQ(0, te_stats(&self->base));
	self->page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->page);
	ASSERT_EQ(0, mprotect(self->page + 4096, 4096, PROT_NONE));
}

FIXTURE_TEARDOWN(ioctl)
{
	world_close(&self->w);
	CLEAN();
}

/* One value written into a good argument before the call. */
struct spoil {
	uint32_t offset, bytes;
	uint64_t value;
};

/* Makes the call; -EBADMSG when it was refused but changed its argument. */
static int attempt(struct world *w, const struct call *c, const struct spoil *s,
		   size_t n)
{
	static unsigned char arg[ARG_MAX_BYTES + 64], before[sizeof(arg)];
	size_t i;
	int ret;

	memset(arg, 0, sizeof(arg));
	ret = c->make(w, arg);
	if (ret) {
		printf("# %s: cannot make a good argument: %d\n", c->name, ret);
		return -EBADE;
	}
	for (i = 0; i < n; i++)
		memcpy(arg + s[i].offset, &s[i].value, s[i].bytes);
	memcpy(before, arg, sizeof(arg));
	ret = raw_ioctl(w->fd, c->cmd, arg);
	if (ret && memcmp(before, arg, sizeof(arg))) {
		printf("# %s: refused with %d, wrote to its argument\n",
		       c->name, ret);
		ret = -EBADMSG;
	}
	c->undo(w, arg, ret);
	return ret;
}

TEST_F_TIMEOUT(ioctl, good, SLOW)
{
	size_t i;

	for (i = 0; i < nr_calls; i++) {
		EXPECT_ROW(0, attempt(&self->w, &calls[i], NULL, 0), "%s",
			   calls[i].name);
		EXPECT_ROW(0, te_settle_to(&self->base), "%s", calls[i].name);
	}
}

TEST_F_TIMEOUT(ioctl, short_size, SLOW)
{
	const struct call *c;
	size_t i, k;

	for (i = 0; i < nr_calls; i++) {
		c = &calls[i];
		for (k = 0; k < (c->first ?: c->size); k++) {
			struct spoil s = { 0, 4, k };

			EXPECT_ROW(-EINVAL, attempt(&self->w, c, &s, 1),
				   "%s, size %zu", c->name, k);
		}
		EXPECT_ROW(0, te_settle_to(&self->base), "%s", c->name);
	}
}

/* A program that knows an older version is answered as much as it knows. */
TEST_F_TIMEOUT(ioctl, older_size, SLOW)
{
	unsigned char arg[ARG_MAX_BYTES];
	const struct call *c;
	size_t i, k, at;

	for (i = 0; i < nr_calls; i++) {
		c = &calls[i];
		for (k = c->first ?: c->size; k < c->size; k++) {
			memset(arg, 0, sizeof(arg));
			MUST(c->make(&self->w, arg));
			memset(arg + k, 0x5a, c->size - k);
			memcpy(arg, &(uint32_t){ k }, 4);
			EXPECT_ROW(0, raw_ioctl(self->w.fd, c->cmd, arg),
				   "%s, size %zu", c->name, k);
			for (at = k; at < c->size && arg[at] == 0x5a; at++)
				;
			EXPECT_ROW(c->size, at, "%s, size %zu", c->name, k);
			c->undo(&self->w, arg, 0);
		}
	}
}

TEST_F_TIMEOUT(ioctl, long_with_zero_tail, SLOW)
{
	static const uint32_t more[] = { 1, 4, 8, 64 };
	const struct call *c;
	size_t i, k;

	for (i = 0; i < nr_calls; i++) {
		c = &calls[i];
		for (k = 0; k <= ROWS(more); k++) {
			struct spoil s = { 0, 4, k < ROWS(more) ?
					   c->size + more[k] : ARG_MAX_BYTES };

			EXPECT_ROW(0, attempt(&self->w, c, &s, 1),
				   "%s, size %d", c->name, (int)s.value);
		}
		EXPECT_ROW(0, te_settle_to(&self->base), "%s", c->name);
	}
}

TEST_F_TIMEOUT(ioctl, long_with_dirty_tail, SLOW)
{
	static const struct {
		uint32_t more, dirty;
	} rows[] = { { 1, 0 }, { 8, 0 }, { 8, 7 }, { 64, 33 } };
	const struct call *c;
	size_t i, k;

	for (i = 0; i < nr_calls; i++) {
		c = &calls[i];
		for (k = 0; k < ROWS(rows); k++) {
			struct spoil s[] = {
				{ 0, 4, c->size + rows[k].more },
				{ c->size + rows[k].dirty, 1, 1 },
			};

			EXPECT_ROW(-E2BIG, attempt(&self->w, c, s, 2),
				   "%s, %u more, byte %u", c->name,
				   rows[k].more, rows[k].dirty);
		}
		EXPECT_ROW(0, te_settle_to(&self->base), "%s", c->name);
	}
}

/* The size says more than is there. */
TEST_F_TIMEOUT(ioctl, absurd_size, SLOW)
{
	static const uint32_t rows[] = { 1U << 20, 1U << 31, ~0U };
	size_t i, k;
	int ret;

	for (i = 0; i < nr_calls; i++) {
		for (k = 0; k < ROWS(rows); k++) {
			struct spoil s = { 0, 4, rows[k] };

			ret = attempt(&self->w, &calls[i], &s, 1);
			EXPECT_ROW(true, ret == -E2BIG || ret == -EFAULT,
				   "%s, size %u: %d", calls[i].name, rows[k],
				   ret);
		}
		EXPECT_ROW(0, te_settle_to(&self->base), "%s", calls[i].name);
	}
}

TEST_F_TIMEOUT(ioctl, flags, SLOW)
{
	size_t i, bit;

	for (i = 0; i < nr_calls; i++) {
		for (bit = 0; bit < 32; bit++) {
			struct spoil s = { 4, 4, 1ULL << bit };

			if (calls[i].flags & s.value)
				continue;
			EXPECT_ROW(-EINVAL, attempt(&self->w, &calls[i], &s, 1),
				   "%s, flag %zu", calls[i].name, bit);
		}
		EXPECT_ROW(0, te_settle_to(&self->base), "%s", calls[i].name);
	}
}

TEST_F_TIMEOUT(ioctl, reserved_words, SLOW)
{
	size_t i, bit;

	for (i = 0; i < nr_calls; i++) {
		for (bit = 0; calls[i].reserved && bit < 32; bit++) {
			struct spoil s = { calls[i].reserved, 4, 1ULL << bit };

			EXPECT_ROW(-EINVAL, attempt(&self->w, &calls[i], &s, 1),
				   "%s, bit %zu", calls[i].name, bit);
		}
		EXPECT_ROW(0, te_settle_to(&self->base), "%s", calls[i].name);
	}
}

TEST_F_TIMEOUT(ioctl, bad_pointers, SLOW)
{
	char *end = self->page + 4096;
	unsigned char arg[ARG_MAX_BYTES];
	const struct {
		const char *desc;
		char *at;	/* the argument, up to its page's end, is there */
	} rows[] = {
		{ "NULL", NULL },
		{ "first page", (char *)1 },
		{ "no access", end },
		{ "size word alone", end - 4 },
		{ "half the size word", end - 2 },
		{ "last byte missing", NULL },	/* see below */
		{ "top of the address space", (char *)-64L },
		{ "kernel", (char *)(1UL << (8 * sizeof(long) - 1) |
				     1UL << (8 * sizeof(long) - 2)) },
	};
	const struct call *c;
	size_t i, k;
	char *at;
	int ret;

	for (i = 0; i < nr_calls; i++) {
		c = &calls[i];
		for (k = 0; k < ROWS(rows); k++) {
			memset(arg, 0, sizeof(arg));
			ASSERT_EQ(0, c->make(&self->w, arg));
			at = k == 5 ? end - c->size + 1 : rows[k].at;
			if (at > self->page && at < end)
				memcpy(at, arg, end - at);
			ret = raw_ioctl(self->w.fd, c->cmd, at);
			EXPECT_ROW(-EFAULT, ret, "%s, %s", c->name,
				   rows[k].desc);
			c->undo(&self->w, arg, ret);
		}
		EXPECT_ROW(0, te_settle_to(&self->base), "%s", c->name);
	}
}

/* An answer that cannot be delivered must not leave an object behind. */
TEST_F_TIMEOUT(ioctl, read_only_argument, SLOW)
{
	unsigned char arg[ARG_MAX_BYTES];
	const struct call *c;
	size_t i;
	int ret;

	for (i = 0; i < nr_calls; i++) {
		c = &calls[i];
		memset(arg, 0, sizeof(arg));
		ASSERT_EQ(0, c->make(&self->w, arg));
		ASSERT_EQ(0, mprotect(self->page, 4096,
				      PROT_READ | PROT_WRITE));
		memcpy(self->page, arg, c->size);
		ASSERT_EQ(0, mprotect(self->page, 4096, PROT_READ));
		ret = raw_ioctl(self->w.fd, c->cmd, self->page);
		EXPECT_ROW(c->answers ? -EFAULT : 0, ret, "%s", c->name);
		c->undo(&self->w, arg, ret);
		EXPECT_ROW(0, te_settle_to(&self->base), "%s", c->name);
	}
	ASSERT_EQ(0, mprotect(self->page, 4096, PROT_READ | PROT_WRITE));
}

TEST_F_TIMEOUT(ioctl, bad_ids, SLOW)
{
	static const uint32_t rows[] = {
		0, ~0U, 1U << 31, 0x7fffffff, 1U << 20, 0xffff,
	};
	size_t i, k;

	for (i = 0; i < nr_calls; i++) {
		for (k = 0; calls[i].id && k < ROWS(rows); k++) {
			struct spoil s = { calls[i].id, 4, rows[k] };

			if (calls[i].id_zero && !rows[k])
				continue;
			EXPECT_ROW(-ENOENT, attempt(&self->w, &calls[i], &s, 1),
				   "%s, id %#x", calls[i].name, rows[k]);
		}
		EXPECT_ROW(0, te_settle_to(&self->base), "%s", calls[i].name);
	}
}

/* Ids that exist, but in another context of the same process. */
TEST_F_TIMEOUT(ioctl, foreign_ids, SLOW)
{
	struct raw empty;
	unsigned char arg[ARG_MAX_BYTES];
	const struct call *c;
	size_t i;
	int ret;

	ASSERT_EQ(0, raw_open(&empty, 0, 0));
	for (i = 0; i < nr_calls; i++) {
		c = &calls[i];
		if (!c->id)
			continue;
		memset(arg, 0, sizeof(arg));
		ASSERT_EQ(0, c->make(&self->w, arg));
		ret = raw_ioctl(empty.fd, c->cmd, arg);
		EXPECT_ROW(-ENOENT, ret, "%s", c->name);
		c->undo(&self->w, arg, ret);
	}
	raw_close(&empty);
	EXPECT_EQ(0, te_settle_to(&self->base));
}

TEST_F_TIMEOUT(ioctl, before_setup, SLOW)
{
	unsigned char arg[ARG_MAX_BYTES];
	const struct call *c;
	size_t i;
	int ret, fd;

	for (i = 0; i < nr_calls; i++) {
		c = &calls[i];
		memset(arg, 0, sizeof(arg));
		ASSERT_EQ(0, c->make(&self->w, arg));
		fd = open(TE_DEVICE, O_RDWR | O_CLOEXEC);
		ASSERT_LE(0, fd);
		ret = raw_ioctl(fd, c->cmd, arg);
		EXPECT_ROW(true, ret == c->unset || ret == c->unset2, "%s: %d",
			   c->name, ret);
		close(fd);
		/* What was made is of the set-up context. */
		c->undo(&self->w, arg, -ENXIO);
		EXPECT_ROW(0, te_settle_to(&self->base), "%s", c->name);
	}
}

TEST_F_TIMEOUT(ioctl, setup_twice, SLOW)
{
	struct te_ioc_setup s = { .size = sizeof(s) };

	EXPECT_EQ(-EEXIST, raw_ioctl(self->w.ctx.fd, TE_IOC_SETUP, &s));
	EXPECT_EQ(0, s.status_bytes);
}

TEST_F_TIMEOUT(ioctl, half_open_descriptors, SLOW)
{
	static const int modes[] = { O_RDONLY, O_WRONLY };
	unsigned char arg[ARG_MAX_BYTES];
	const struct call *c;
	size_t i, k;
	int ret, fd;

	for (k = 0; k < ROWS(modes); k++) {
		for (i = 0; i < nr_calls; i++) {
			c = &calls[i];
			memset(arg, 0, sizeof(arg));
			ASSERT_EQ(0, c->make(&self->w, arg));
			fd = open(TE_DEVICE, modes[k] | O_CLOEXEC);
			ASSERT_LE(0, fd);
			ret = raw_ioctl(fd, c->cmd, arg);
			EXPECT_ROW(c->anyone ? 0 : -EACCES, ret, "%s, %s",
				   c->name, k ? "O_WRONLY" : "O_RDONLY");
			close(fd);
			c->undo(&self->w, arg, -EACCES);
		}
	}
	EXPECT_EQ(0, te_settle_to(&self->base));
}

TEST_F_TIMEOUT(ioctl, unknown_numbers, SLOW)
{
	static const unsigned long others[] = {
		_IOR(TE_IOC_TYPE, 0, int), _IOW(TE_IOC_TYPE, 1, int),
		_IOWR(TE_IOC_TYPE, 2, struct te_ioc_setup),
		_IO('t', 0), _IO('T', 1), _IO(0, 0x42), _IO(0xff, 0xff),
	};
	static unsigned char arg[ARG_MAX_BYTES];
	unsigned int nr;
	size_t i;

	for (nr = 0; nr < 256; nr++) {
		if (call_of(_IO(TE_IOC_TYPE, nr)))
			continue;
		EXPECT_ROW(-ENOTTY, raw_ioctl(self->w.ctx.fd,
					      _IO(TE_IOC_TYPE, nr), arg),
			   "number %#x", nr);
	}
	for (i = 0; i < ROWS(others); i++)
		EXPECT_ROW(-ENOTTY, raw_ioctl(self->w.ctx.fd, others[i], arg),
			   "%#lx", others[i]);
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0-only
/*
 * The priority matrix: what may be loaded, all or nothing, by whom, and what is
 * seen of it. It is the node's: other contexts see it, and it outlives the one that
 * loaded it.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>

#include "lib/test.h"

#define MAX_ENTRIES	(TE_TOPOLOGY_LOCATIONS * TE_TOPOLOGY_DEVICES)

struct entry {
	const char *location, *device;
	uint32_t tier, reserved;
};

static const struct entry three[] = {
	{ "cpu:0", "a", 0, 0 }, { "cpu:0", "b/1", 1, 0 },
	{ "cuda:0", "a", 1, 0 },
};

FIXTURE(topology)
{
	int fd;		/* not set up */
	struct te_topology_entry *in, *out;
};

static int set(int fd, const struct te_topology_entry *entries, uint32_t nr)
{
	struct te_ioc_topology_set a = {
		.size = sizeof(a),
		.nr = nr,
		.entries = (uintptr_t)entries,
	};

	return raw_ioctl(fd, TE_IOC_TOPOLOGY_SET, &a);
}

/* Return: how many there are, or -errno. */
static int get(int fd, struct te_topology_entry *entries, uint32_t max,
	       uint32_t *written)
{
	struct te_ioc_topology_get a = {
		.size = sizeof(a),
		.max = max,
		.nr = 77,
		.entries = (uintptr_t)entries,
	};
	int ret = raw_ioctl(fd, TE_IOC_TOPOLOGY_GET, &a);

	*written = a.max;
	return ret ? ret : (int)a.nr;
}

static void fill(struct te_topology_entry *to, const struct entry *from,
		 size_t nr)
{
	memset(to, 0, nr * sizeof(*to));
	for (; nr; nr--, to++, from++) {
		strcpy((char *)to->location, from->location);
		strcpy((char *)to->device, from->device);
		to->tier = from->tier;
		to->reserved = from->reserved;
	}
}

FIXTURE_SETUP(topology)
{
	ASSERT_EQ(0, te_settle());
	self->fd = open(TE_DEVICE, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, self->fd);
	self->in = calloc(MAX_ENTRIES + 1, sizeof(*self->in));
	self->out = calloc(MAX_ENTRIES + 1, sizeof(*self->out));
	ASSERT_NE(NULL, self->in);
	ASSERT_NE(NULL, self->out);
}

FIXTURE_TEARDOWN(topology)
{
	EXPECT_EQ(0, set(self->fd, NULL, 0));
	free(self->in);
	free(self->out);
	close(self->fd);
	CLEAN();
}

/* What is loaded is this, in this order, and no more. */
static bool loaded(FIXTURE_DATA(topology) *self,
		   const struct te_topology_entry *want, uint32_t nr)
{
	uint32_t written;

	memset(self->out, 0xff, MAX_ENTRIES * sizeof(*self->out));
	if (get(self->fd, self->out, MAX_ENTRIES, &written) != (int)nr ||
	    written != nr)
		return false;
	return !nr || !memcmp(self->out, want, nr * sizeof(*want));
}

TEST_F(topology, load_and_see)
{
	struct te_topology_entry want[3];
	uint32_t written;
	int other;

	fill(want, three, 3);
	EXPECT_TRUE(loaded(self, NULL, 0));
	EXPECT_EQ(0, set(self->fd, want, 3));
	EXPECT_TRUE(loaded(self, want, 3));

	/* Less room than there is to see. */
	memset(self->out, 0xee, 3 * sizeof(*self->out));
	EXPECT_EQ(3, get(self->fd, self->out, 2, &written));
	EXPECT_EQ(2, written);
	EXPECT_EQ(0, memcmp(self->out, want, 2 * sizeof(*want)));
	EXPECT_EQ(0xee, self->out[2].location[0]);
	EXPECT_EQ(3, get(self->fd, NULL, 0, &written));
	EXPECT_EQ(0, written);

	/* Not of the context that loaded it. */
	other = open(TE_DEVICE, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, other);
	close(self->fd);
	self->fd = other;
	EXPECT_TRUE(loaded(self, want, 3));
	EXPECT_EQ(0, set(self->fd, want + 1, 1));
	EXPECT_TRUE(loaded(self, want + 1, 1));
	EXPECT_EQ(0, set(self->fd, NULL, 0));
	EXPECT_TRUE(loaded(self, NULL, 0));
	EXPECT_EQ(0, set(self->fd, NULL, 0));
}

/* Given in any order, seen location by location. */
TEST_F(topology, order)
{
	static const struct entry given[] = {
		{ "cuda:0", "b", 0, 0 }, { "*", "a", 1, 0 },
		{ "cpu:1023", "c", 0, 0 }, { "cuda:0", "a", 1, 0 },
	};
	static const struct entry seen[] = {
		{ "*", "a", 1, 0 }, { "cuda:0", "b", 0, 0 },
		{ "cuda:0", "a", 1, 0 }, { "cpu:1023", "c", 0, 0 },
	};
	struct te_topology_entry want[4];

	fill(self->in, given, 4);
	fill(want, seen, 4);
	EXPECT_EQ(0, set(self->fd, self->in, 4));
	EXPECT_TRUE(loaded(self, want, 4));
}

static const struct {
	const char *desc;
	struct entry bad;
} bad_rows[] = {
	{ "pair that was there", { "cpu:0", "a", 0, 0 } },
	{ "pair that was there, other tier", { "cpu:0", "a", 1, 0 } },
	{ "tier 2", { "cpu:0", "c", 2, 0 } },
	{ "tier 255", { "cpu:0", "c", 255, 0 } },
	{ "tier -1", { "cpu:0", "c", ~0U, 0 } },
	{ "reserved, low bit", { "cpu:0", "c", 0, 1 } },
	{ "reserved, high bit", { "cpu:0", "c", 0, 1U << 31 } },
	{ "no location", { "", "c", 0, 0 } },
	{ "location that is none", { "cpu:x", "c", 0, 0 } },
	{ "space in the location", { "cuda 0", "c", 0, 0 } },
	{ "no device", { "cpu:0", "", 0, 0 } },
	{ "space in the device", { "cpu:0", "a b", 0, 0 } },
	{ "control character in the device", { "cpu:0", "a\033", 0, 0 } },
	{ "UTF-8 in the device", { "cpu:0", "\303\244", 0, 0 } },
};

/* One bad entry behind good ones: what was loaded before stands. */
TEST_F(topology, all_or_nothing)
{
	struct te_topology_entry want[3], saved;
	size_t i;

	fill(want, three, 3);
	ASSERT_EQ(0, set(self->fd, want, 3));
	fill(self->in, three, 3);
	self->in[1].location[4] = '5';
	for (i = 0; i < ROWS(bad_rows); i++) {
		fill(self->in + 3, &bad_rows[i].bad, 1);
		EXPECT_ROW(-EINVAL, set(self->fd, self->in, 4), "%s",
			   bad_rows[i].desc);
		EXPECT_ROW(true, loaded(self, want, 3), "%s",
			   bad_rows[i].desc);
	}

	/* Names that do not end, or go on behind their end. */
	saved = self->in[2];
	memset(self->in[2].location, 'x', sizeof(saved.location));
	EXPECT_EQ(-EINVAL, set(self->fd, self->in, 3));
	self->in[2] = saved;
	memset(self->in[2].device, 'x', sizeof(saved.device));
	EXPECT_EQ(-EINVAL, set(self->fd, self->in, 3));
	self->in[2] = saved;
	self->in[2].location[sizeof(saved.location) - 1] = 'x';
	EXPECT_EQ(-EINVAL, set(self->fd, self->in, 3));
	self->in[2] = saved;
	self->in[2].device[sizeof(saved.device) - 1] = 'x';
	EXPECT_EQ(-EINVAL, set(self->fd, self->in, 3));
	EXPECT_TRUE(loaded(self, want, 3));
	self->in[2] = saved;
	EXPECT_EQ(0, set(self->fd, self->in, 3));
}

TEST_F(topology, pointers)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct te_topology_entry *end = (void *)(page + 4096), want[3];
	uint32_t written;

	ASSERT_NE(MAP_FAILED, page);
	ASSERT_EQ(0, mprotect(page + 4096, 4096, PROT_NONE));
	fill(want, three, 3);
	fill(end - 3, three, 3);
	ASSERT_EQ(0, set(self->fd, end - 3, 3));
	EXPECT_EQ(-EFAULT, set(self->fd, end - 3, 4));
	EXPECT_EQ(-EFAULT, set(self->fd, end, 1));
	EXPECT_TRUE(loaded(self, want, 3));
	EXPECT_EQ(-EFAULT, get(self->fd, end - 2, 3, &written));
	EXPECT_EQ(-EFAULT, get(self->fd, NULL, 1, &written));
	EXPECT_EQ(3, get(self->fd, end - 3, 3, &written));
	EXPECT_EQ(0, memcmp(end - 3, want, sizeof(want)));
	/* What is not written need not be there. */
	EXPECT_EQ(3, get(self->fd, end - 3, ~0U, &written));
	EXPECT_EQ(3, written);
	munmap(page, 8192);
}

static void fill_number(struct te_topology_entry *e, int location, int device)
{
	memset(e, 0, sizeof(*e));
	sprintf((char *)e->location, "cpu:%d", location);
	sprintf((char *)e->device, "dev_%d/1", device);
	e->tier = (location + device) % 2;
}

TEST_F_TIMEOUT(topology, limits, SLOW)
{
	static const struct entry any = { "*", "dev_0/1", 0, 0 };
	struct te_topology_entry *e = self->in;
	unsigned int i, j;

	for (i = 0; i < TE_TOPOLOGY_LOCATIONS; i++)
		for (j = 0; j < TE_TOPOLOGY_DEVICES; j++)
			fill_number(e++, i, j);
	EXPECT_EQ(0, set(self->fd, self->in, MAX_ENTRIES));
	EXPECT_TRUE(loaded(self, self->in, MAX_ENTRIES));
	fill_number(e, 0, TE_TOPOLOGY_DEVICES);
	EXPECT_EQ(-E2BIG, set(self->fd, self->in, MAX_ENTRIES + 1));

	/* The last of them is one device too many, or one location. */
	e--;
	fill_number(e, 0, TE_TOPOLOGY_DEVICES);
	EXPECT_EQ(-E2BIG, set(self->fd, self->in, MAX_ENTRIES));
	fill_number(e, TE_TOPOLOGY_LOCATIONS, 0);
	EXPECT_EQ(-E2BIG, set(self->fd, self->in, MAX_ENTRIES));
	fill(e, &any, 1);
	EXPECT_EQ(-E2BIG, set(self->fd, self->in, MAX_ENTRIES));
	fill_number(e, TE_TOPOLOGY_LOCATIONS - 1, TE_TOPOLOGY_DEVICES - 1);
	EXPECT_TRUE(loaded(self, self->in, MAX_ENTRIES));
}

/* Return: 0 when it may look but not load, whatever it gives. */
static int not_admin(bool user_namespace)
{
	struct te_ioc_topology_set a = { .size = sizeof(a) };
	struct te_topology_entry e;
	uint32_t written;
	int fd = open(TE_DEVICE, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return 1;
	if (user_namespace ? unshare(CLONE_NEWUSER) :
			     syscall(SYS_setresuid, 65534, 65534, 65534))
		return 2;
	fill(&e, three, 1);
	if (set(fd, &e, 1) != -EPERM || set(fd, NULL, 0) != -EPERM)
		return 3;
	a.reserved = 1;
	if (raw_ioctl(fd, TE_IOC_TOPOLOGY_SET, &a) != -EPERM)
		return 4;
	return get(fd, &e, 1, &written) == 3 && written == 1 ? 0 : 5;
}

TEST_F(topology, admin_only)
{
	struct te_topology_entry want[3];
	int status, i;
	pid_t pid;

	fill(want, three, 3);
	ASSERT_EQ(0, set(self->fd, want, 3));
	for (i = 0; i < 2; i++) {
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid)
			_exit(not_admin(i));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_ROW(0, status, "%s",
			   i ? "root of a user namespace" : "another user");
	}
	EXPECT_TRUE(loaded(self, want, 3));
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0-only
/*
 * raw: see raw.h. Nothing here retries or checks more than the kernel does:
 * what it answers is what the tests are about.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/raw.h"

const char *te_peer_addr(void)
{
	const char *net = getenv("TE_NET");
	const char *addr = getenv("TE_ADDR_B");

	if (!addr || !*addr || (net && !strcmp(net, "loop")))
		addr = getenv("TE_ADDR_A");
	return addr && *addr ? addr : "10.77.0.1";
}

const char *te_unique_name(void)
{
	static char names[4][48];
	static unsigned int count;
	char *name = names[count % 4];

	snprintf(name, sizeof(names[0]), "t-%d-%u", getpid(), count++);
	return name;
}

int raw_ioctl(int fd, unsigned long cmd, void *arg)
{
	return ioctl(fd, cmd, arg) < 0 ? -errno : 0;
}

int raw_info(struct te_ioc_info *info)
{
	int fd = open(TE_DEVICE, O_RDONLY | O_CLOEXEC);
	int ret;

	if (fd < 0)
		return -errno;
	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	ret = raw_ioctl(fd, TE_IOC_INFO, info);
	close(fd);
	return ret;
}

static int map_areas(struct raw *r)
{
	void *p;

	p = mmap(NULL, r->setup.status_bytes, PROT_READ, MAP_SHARED, r->fd,
		 TE_MMAP_STATUS);
	if (p == MAP_FAILED)
		return -errno;
	r->slots = p;

	p = mmap(NULL, r->setup.ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
		 r->fd, TE_MMAP_RING);
	if (p == MAP_FAILED)
		return -errno;
	r->ring = p;
	r->entries = (const void *)((char *)p + TE_RING_ENTRIES);
	return 0;
}

int raw_open(struct raw *r, uint32_t cq_entries, uint32_t task_slots)
{
	int ret;

	memset(r, 0, sizeof(*r));
	r->fd = open(TE_DEVICE, O_RDWR | O_CLOEXEC);
	if (r->fd < 0)
		return -errno;

	r->setup.size = sizeof(r->setup);
	r->setup.cq_entries = cq_entries;
	r->setup.task_slots = task_slots;
	ret = raw_ioctl(r->fd, TE_IOC_SETUP, &r->setup);
	if (!ret)
		ret = map_areas(r);
	if (ret)
		raw_close(r);
	return ret;
}

void raw_close(struct raw *r)
{
	if (r->ring)
		munmap(r->ring, r->setup.ring_bytes);
	if (r->slots)
		munmap((void *)r->slots, r->setup.status_bytes);
	if (r->fd >= 0)
		close(r->fd);
	memset(r, 0, sizeof(*r));
	r->fd = -1;
}

int raw_mr(int fd, void *addr, size_t len, uint32_t access, uint32_t *mr)
{
	struct te_ioc_mr_register a = {
		.size = sizeof(a),
		.addr = (uintptr_t)addr,
		.length = len,
		.access = access,
	};
	int ret = raw_ioctl(fd, TE_IOC_MR_REGISTER, &a);

	if (!ret && mr)
		*mr = a.mr;
	return ret;
}

int raw_unmr(int fd, uint32_t mr, uint32_t flags)
{
	struct te_ioc_mr_unregister a = {
		.size = sizeof(a),
		.flags = flags,
		.mr = mr,
	};

	return raw_ioctl(fd, TE_IOC_MR_UNREGISTER, &a);
}

int raw_export(int fd, const char *name)
{
	struct te_ioc_segment_export a = {
		.size = sizeof(a),
		.name = (uintptr_t)name,
		.name_len = strlen(name),
	};

	return raw_ioctl(fd, TE_IOC_SEGMENT_EXPORT, &a);
}

uint32_t raw_transport(void)
{
	static const char * const names[] = { "any", "rdma", "tcp", "local" };
	const char *name = getenv("TE_TRANSPORT") ?: "rdma";
	uint32_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names) && strcmp(name, names[i]); i++)
		;
	return i;
}

void raw_fill_open(struct te_ioc_segment_open *o, const char *name)
{
	memset(o, 0, sizeof(*o));
	o->size = sizeof(*o);
	o->family = AF_INET;
	inet_pton(AF_INET, te_peer_addr(), o->addr);
	o->name = (uintptr_t)name;
	o->name_len = strlen(name);
	o->transport = raw_transport();
	o->timeout_ms = 30000;
}

int raw_segment(int fd, const char *name, uint32_t *segment)
{
	struct te_ioc_segment_open a;
	int ret;

	raw_fill_open(&a, name);
	ret = raw_ioctl(fd, TE_IOC_SEGMENT_OPEN, &a);
	if (!ret)
		*segment = a.segment;
	return ret;
}

int raw_segment_close(int fd, uint32_t segment)
{
	struct te_ioc_segment_close a = {
		.size = sizeof(a),
		.segment = segment,
	};

	return raw_ioctl(fd, TE_IOC_SEGMENT_CLOSE, &a);
}

int raw_batch(int fd, uint32_t nr, uint32_t entries, uint32_t *batch)
{
	struct te_ioc_batch_alloc a = {
		.size = sizeof(a),
		.nr_tasks = nr,
		.entries = entries,
	};
	int ret = raw_ioctl(fd, TE_IOC_BATCH_ALLOC, &a);

	if (!ret)
		*batch = a.batch;
	return ret;
}

int raw_submit(int fd, uint32_t batch, const struct te_request *r, uint32_t nr)
{
	struct te_ioc_batch_submit a = {
		.size = sizeof(a),
		.batch = batch,
		.nr = nr,
		.requests = (uintptr_t)r,
	};

	return raw_ioctl(fd, TE_IOC_BATCH_SUBMIT, &a);
}

static int wait_for(int fd, uint32_t batch, uint32_t nr, int timeout_ms)
{
	struct te_ioc_batch_wait a = {
		.size = sizeof(a),
		.batch = batch,
		.nr_entries = nr,
		.timeout_ms = timeout_ms,
	};

	return raw_ioctl(fd, TE_IOC_BATCH_WAIT, &a);
}

int raw_wait(int fd, uint32_t batch, int timeout_ms)
{
	return wait_for(fd, batch, 0, timeout_ms);
}

int raw_wait_entries(int fd, uint32_t nr, int timeout_ms)
{
	return wait_for(fd, 0, nr, timeout_ms);
}

int raw_free(int fd, uint32_t batch)
{
	struct te_ioc_batch_free a = {
		.size = sizeof(a),
		.batch = batch,
	};

	return raw_ioctl(fd, TE_IOC_BATCH_FREE, &a);
}

int raw_next(struct raw *r, struct te_completion *c)
{
	uint32_t head = r->ring->head;
	uint32_t tail = __atomic_load_n(&r->ring->tail, __ATOMIC_ACQUIRE);

	if (head == tail)
		return 0;
	*c = r->entries[head % r->setup.cq_entries];
	__atomic_store_n(&r->ring->head, head + 1, __ATOMIC_RELEASE);
	return 1;
}

// SPDX-License-Identifier: GPL-2.0-only
/* calls: see calls.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/calls.h"

#define ACCESS (TE_LOCAL_READ | TE_LOCAL_WRITE)

static int make_info(struct world *w, void *arg)
{
	*(uint32_t *)arg = sizeof(struct te_ioc_info);
	w->fd = w->ctx.fd;
	return 0;
}

static int make_stats(struct world *w, void *arg)
{
	*(uint32_t *)arg = sizeof(struct te_ioc_stats);
	w->fd = w->ctx.fd;
	return 0;
}

static int make_fresh(struct world *w)
{
	w->fresh = open(TE_DEVICE, O_RDWR | O_CLOEXEC);
	w->fd = w->fresh;
	return w->fresh < 0 ? -errno : 0;
}

static void undo_fresh(struct world *w, void *arg, int ret)
{
	(void)arg;
	(void)ret;
	close(w->fresh);
	w->fresh = -1;
}

static int make_setup(struct world *w, void *arg)
{
	*(uint32_t *)arg = sizeof(struct te_ioc_setup);
	return make_fresh(w);
}

static int make_eventfd(struct world *w, void *arg)
{
	struct te_ioc_eventfd *a = arg;

	a->size = sizeof(*a);
	a->fd = w->efd;
	w->fd = w->ctx.fd;
	return 0;
}

static void undo_eventfd(struct world *w, void *arg, int ret)
{
	struct te_ioc_eventfd a = { .size = sizeof(a), .fd = -1 };

	(void)arg;
	if (!ret)
		raw_ioctl(w->fd, TE_IOC_EVENTFD, &a);
}

static int make_register(struct world *w, void *arg)
{
	struct te_ioc_mr_register *a = arg;

	a->size = sizeof(*a);
	a->addr = (uintptr_t)w->mem;
	a->length = 8192;
	a->access = ACCESS;
	w->fd = w->ctx.fd;
	return 0;
}

static void undo_register(struct world *w, void *arg, int ret)
{
	struct te_ioc_mr_register *a = arg;

	if (!ret)
		raw_unmr(w->fd, a->mr, 0);
}

static int make_unregister(struct world *w, void *arg)
{
	struct te_ioc_mr_unregister *a = arg;

	a->size = sizeof(*a);
	w->fd = w->ctx.fd;
	return raw_mr(w->fd, w->mem + 16384, 4096, ACCESS, &a->mr);
}

/* Whatever the test made of the id, the region is the only one there. */
static void undo_unregister(struct world *w, void *arg, int ret)
{
	uint32_t mr;

	(void)arg;
	if (!ret || raw_mr(w->fd, w->mem + 16384, 4096, ACCESS, &mr))
		return;
	raw_unmr(w->fd, mr, 0);
	raw_unmr(w->fd, mr, 0);
}

static int make_export(struct world *w, void *arg)
{
	struct te_ioc_segment_export *a = arg;
	struct te_ioc_setup s = { .size = sizeof(s) };
	int ret;

	snprintf(w->new_name, sizeof(w->new_name), "%s", te_unique_name());
	a->size = sizeof(*a);
	a->name = (uintptr_t)w->new_name;
	a->name_len = strlen(w->new_name);
	ret = make_fresh(w);
	return ret ?: raw_ioctl(w->fd, TE_IOC_SETUP, &s);
}

static int make_open(struct world *w, void *arg)
{
	raw_fill_open(arg, w->name);
	w->fd = w->ctx.fd;
	return 0;
}

static void undo_open(struct world *w, void *arg, int ret)
{
	struct te_ioc_segment_open *a = arg;

	if (!ret)
		raw_segment_close(w->fd, a->segment);
}

static int make_segment_info(struct world *w, void *arg)
{
	struct te_ioc_segment_info *a = arg;

	a->size = sizeof(*a);
	a->segment = w->segment;
	w->fd = w->ctx.fd;
	return 0;
}

/* The id that a call gives back is kept here, for the undo. */
static uint32_t made;

static int make_close(struct world *w, void *arg)
{
	struct te_ioc_segment_close *a = arg;
	int ret;

	w->fd = w->ctx.fd;
	a->size = sizeof(*a);
	ret = raw_segment(w->fd, w->name, &made);
	a->segment = made;
	return ret;
}

static void undo_close(struct world *w, void *arg, int ret)
{
	(void)arg;
	if (ret)
		raw_segment_close(w->fd, made);
}

static int make_alloc(struct world *w, void *arg)
{
	struct te_ioc_batch_alloc *a = arg;

	a->size = sizeof(*a);
	a->nr_tasks = 3;
	w->fd = w->ctx.fd;
	return 0;
}

static void undo_alloc(struct world *w, void *arg, int ret)
{
	struct te_ioc_batch_alloc *a = arg;

	if (!ret)
		raw_free(w->fd, a->batch);
}

static int make_batch(struct world *w)
{
	w->fd = w->ctx.fd;
	return raw_batch(w->fd, 2, TE_ENTRIES_NONE, &made);
}

static void undo_batch(struct world *w, void *arg, int ret)
{
	(void)arg;
	(void)ret;
	raw_wait(w->fd, made, 30000);
	raw_free(w->fd, made);
}

static int make_submit(struct world *w, void *arg)
{
	struct te_ioc_batch_submit *a = arg;
	int ret = make_batch(w);

	w->request = (struct te_request) {
		.opcode = TE_WRITE,
		.segment = w->segment,
	};
	a->size = sizeof(*a);
	a->batch = made;
	a->nr = 1;
	a->requests = (uintptr_t)&w->request;
	return ret;
}

static int make_wait(struct world *w, void *arg)
{
	struct te_ioc_batch_wait *a = arg;
	int ret = make_batch(w);

	a->size = sizeof(*a);
	a->batch = made;
	return ret;
}

static int make_cancel(struct world *w, void *arg)
{
	struct te_ioc_batch_cancel *a = arg;
	int ret = make_batch(w);

	a->size = sizeof(*a);
	a->batch = made;
	return ret;
}

static int make_free(struct world *w, void *arg)
{
	struct te_ioc_batch_free *a = arg;
	int ret = make_batch(w);

	a->size = sizeof(*a);
	a->batch = made;
	return ret;
}

/* It is the node's: gone again behind the call. */
static int make_topology_set(struct world *w, void *arg)
{
	struct te_ioc_topology_set *a = arg;

	memset(&w->entry, 0, sizeof(w->entry));
	strcpy((char *)w->entry.location, "cuda:0");
	strcpy((char *)w->entry.device, "none");
	a->size = sizeof(*a);
	a->nr = 1;
	a->entries = (uintptr_t)&w->entry;
	w->fd = w->ctx.fd;
	return 0;
}

static void undo_topology(struct world *w, void *arg, int ret)
{
	struct te_ioc_topology_set a = { .size = sizeof(a) };

	(void)arg;
	(void)ret;
	raw_ioctl(w->fd, TE_IOC_TOPOLOGY_SET, &a);
}

static int make_topology_get(struct world *w, void *arg)
{
	struct te_ioc_topology_get *a = arg;
	struct te_ioc_topology_set set = { 0 };

	make_topology_set(w, &set);
	a->size = sizeof(*a);
	a->max = 1;
	a->entries = (uintptr_t)&w->entry;
	return raw_ioctl(w->fd, TE_IOC_TOPOLOGY_SET, &set);
}

static void undo_nothing(struct world *w, void *arg, int ret)
{
	(void)w;
	(void)arg;
	(void)ret;
}

#define CALL(what, type) \
	.name = #what, .cmd = TE_IOC_##what, .size = sizeof(struct type)
#define OFF(type, member) __builtin_offsetof(struct type, member)

const struct call calls[] = {
	{ CALL(INFO, te_ioc_info), .anyone = true, .answers = true,
	  .make = make_info, .undo = undo_nothing },
	{ CALL(STATS, te_ioc_stats), .anyone = true, .answers = true,
	  .first = OFF(te_ioc_stats, endpoints_stored),
	  .make = make_stats, .undo = undo_nothing },
	{ CALL(SETUP, te_ioc_setup), .answers = true,
	  .make = make_setup, .undo = undo_fresh },
	{ CALL(EVENTFD, te_ioc_eventfd),
	  .reserved = OFF(te_ioc_eventfd, reserved),
	  .unset = -ENXIO, .unset2 = -ENXIO,
	  .make = make_eventfd, .undo = undo_eventfd },
	{ CALL(MR_REGISTER, te_ioc_mr_register), .answers = true,
	  .flags = TE_MR_BASE | TE_MR_DMABUF, .unset2 = -ENXIO,
	  .make = make_register, .undo = undo_register },
	{ CALL(MR_UNREGISTER, te_ioc_mr_unregister),
	  .flags = TE_FORCE, .reserved = OFF(te_ioc_mr_unregister, reserved),
	  .id = OFF(te_ioc_mr_unregister, mr),
	  .unset = -ENOENT, .unset2 = -ENXIO,
	  .make = make_unregister, .undo = undo_unregister },
	{ CALL(SEGMENT_EXPORT, te_ioc_segment_export), .unset2 = -ENXIO,
	  .make = make_export, .undo = undo_fresh },
	{ CALL(SEGMENT_OPEN, te_ioc_segment_open), .answers = true,
	  .unset2 = -ENXIO, .make = make_open, .undo = undo_open },
	{ CALL(SEGMENT_INFO, te_ioc_segment_info), .answers = true,
	  .first = OFF(te_ioc_segment_info, forced),
	  .id = OFF(te_ioc_segment_info, segment),
	  .unset = -ENOENT, .unset2 = -ENXIO,
	  .make = make_segment_info, .undo = undo_nothing },
	{ CALL(SEGMENT_CLOSE, te_ioc_segment_close),
	  .reserved = OFF(te_ioc_segment_close, reserved),
	  .id = OFF(te_ioc_segment_close, segment),
	  .unset = -ENOENT, .unset2 = -ENXIO,
	  .make = make_close, .undo = undo_close },
	{ CALL(BATCH_ALLOC, te_ioc_batch_alloc), .answers = true,
	  .reserved = OFF(te_ioc_batch_alloc, reserved),
	  .unset = -ENXIO, .unset2 = -ENXIO,
	  .make = make_alloc, .undo = undo_alloc },
	{ CALL(BATCH_SUBMIT, te_ioc_batch_submit),
	  .id = OFF(te_ioc_batch_submit, batch),
	  .unset = -ENXIO, .unset2 = -ENOENT,
	  .make = make_submit, .undo = undo_batch },
	{ CALL(BATCH_WAIT, te_ioc_batch_wait), .id_zero = true,
	  .reserved = OFF(te_ioc_batch_wait, reserved),
	  .id = OFF(te_ioc_batch_wait, batch),
	  .unset = -ENXIO, .unset2 = -ENOENT,
	  .make = make_wait, .undo = undo_batch },
	{ CALL(BATCH_CANCEL, te_ioc_batch_cancel),
	  .reserved = OFF(te_ioc_batch_cancel, reserved),
	  .id = OFF(te_ioc_batch_cancel, batch),
	  .unset = -ENXIO, .unset2 = -ENOENT,
	  .make = make_cancel, .undo = undo_batch },
	{ CALL(BATCH_FREE, te_ioc_batch_free),
	  .reserved = OFF(te_ioc_batch_free, reserved),
	  .id = OFF(te_ioc_batch_free, batch),
	  .unset = -ENXIO, .unset2 = -ENOENT,
	  .make = make_free, .undo = undo_batch },
	{ CALL(TOPOLOGY_SET, te_ioc_topology_set),
	  .reserved = OFF(te_ioc_topology_set, reserved),
	  .make = make_topology_set, .undo = undo_topology },
	{ CALL(TOPOLOGY_GET, te_ioc_topology_get), .answers = true,
	  .make = make_topology_get, .undo = undo_topology },
};

const size_t nr_calls = sizeof(calls) / sizeof(calls[0]);

const struct call *call_of(unsigned long cmd)
{
	size_t i;

	for (i = 0; i < nr_calls; i++)
		if (calls[i].cmd == cmd)
			return &calls[i];
	return NULL;
}

static int open_world(struct world *w)
{
	uint32_t id;
	int ret;

	ret = raw_open(&w->ctx, 0, 0);
	if (!ret)
		ret = raw_open(&w->target, 0, 0);
	if (!ret)
		ret = raw_open(&w->other, 0, 0);
	if (!ret)
		ret = raw_export(w->target.fd, w->name);
	if (!ret)
		ret = raw_segment(w->ctx.fd, w->name, &w->segment);
	if (ret)
		return ret;
	/*
	 * Ids of the other context start where those of this one do, or they
	 * do not: both ways, none of them means anything here.
	 */
	ret = raw_segment(w->other.fd, w->name, &id);
	if (!ret)
		ret = raw_batch(w->other.fd, 2, TE_ENTRIES_NONE, &id);
	if (!ret)
		ret = raw_mr(w->other.fd, w->mem, 4096, ACCESS, &id);
	return ret;
}

int world_open(struct world *w)
{
	int ret;

	memset(w, 0, sizeof(*w));
	w->ctx.fd = w->other.fd = w->target.fd = w->fresh = -1;
	snprintf(w->name, sizeof(w->name), "%s", te_unique_name());
	w->efd = eventfd(0, EFD_CLOEXEC);
	w->mem = mmap(NULL, 65536, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (w->mem == MAP_FAILED)
		return -errno;
	ret = open_world(w);
	if (ret)
		world_close(w);
	return ret;
}

void world_close(struct world *w)
{
	raw_close(&w->ctx);
	raw_close(&w->other);
	raw_close(&w->target);
	close(w->efd);
	munmap(w->mem, 65536);
}

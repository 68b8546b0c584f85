// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * Opening and closing a context, and the two helpers every other file uses:
 * the ioctl that returns -errno and the options copier.
 *
 * te_open() owns everything it made until it returns 0; te_close() undoes all
 * of it in mirror order and waits for nothing, since the kernel cleans up
 * behind the file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "private.h"

#define TE_DEVICE	"/dev/te"

int te_ioctl(int fd, unsigned long cmd, void *arg)
{
	int ret = ioctl(fd, cmd, arg);

	return ret < 0 ? -errno : ret;
}

int te_opts_get(void *opts, size_t size, const void *user)
{
	const unsigned char *src = user;
	size_t user_size, i;

	memset(opts, 0, size);
	if (!user)
		return 0;

	memcpy(&user_size, user, sizeof(user_size));
	if (user_size < sizeof(user_size))
		return -EINVAL;

	for (i = size; i < user_size; i++)
		if (src[i])
			return -E2BIG;

	memcpy(opts, user, user_size < size ? user_size : size);
	return 0;
}

/* MAP_FAILED and errno when it cannot be. */
static void *map_area(int fd, uint64_t bytes, int prot, uint64_t offset)
{
	if (bytes != (size_t)bytes) {
		errno = ENOMEM;
		return MAP_FAILED;
	}

	return mmap(NULL, bytes, prot, MAP_SHARED, fd, offset);
}

static int setup(struct te *te, const struct te_open_opts *opts)
{
	struct te_ioc_setup arg = {
		.size = sizeof(arg),
		.cq_entries = opts->cq_entries,
		.task_slots = opts->task_slots,
	};
	void *status, *ring;
	int ret;

	ret = te_ioctl(te->fd, TE_IOC_SETUP, &arg);
	if (ret < 0)
		return ret;

	status = map_area(te->fd, arg.status_bytes, PROT_READ, TE_MMAP_STATUS);
	if (status == MAP_FAILED)
		return -errno;
	ring = map_area(te->fd, arg.ring_bytes, PROT_READ | PROT_WRITE,
			TE_MMAP_RING);
	if (ring == MAP_FAILED) {
		ret = -errno;
		munmap(status, arg.status_bytes);
		return ret;
	}

	te->cq_entries = arg.cq_entries;
	te->task_slots = arg.task_slots;
	te->status_bytes = arg.status_bytes;
	te->ring_bytes = arg.ring_bytes;
	te->slots = status;
	te->ring = ring;
	te->entries = (const void *)((const char *)ring + TE_RING_ENTRIES);
	return 0;
}

int te_open(struct te **te, const struct te_open_opts *o)
{
	struct te_open_opts opts;
	struct te *new;
	int ret;

	ret = te_opts_get(&opts, sizeof(opts), o);
	if (ret)
		return ret;

	new = calloc(1, sizeof(*new));
	if (!new)
		return -ENOMEM;

	new->fd = open(opts.device ? opts.device : TE_DEVICE,
		       O_RDWR | O_CLOEXEC);
	if (new->fd < 0) {
		ret = -errno;
		goto err_free;
	}

	ret = te_check_version(new->fd);
	if (ret)
		goto err_close;
	ret = setup(new, &opts);
	if (ret)
		goto err_close;

	*te = new;
	return 0;

err_close:
	close(new->fd);
err_free:
	free(new);
	return ret;
}

void te_close(struct te *te)
{
	if (!te)
		return;

	munmap(te->ring, te->ring_bytes);
	munmap((void *)te->slots, te->status_bytes);
	close(te->fd);
	free(te);
}

int te_fd(struct te *te)
{
	return te->fd;
}

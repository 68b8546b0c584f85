// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/* Simple, blocking transfers; see xfer.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "say.h"
#include "xfer.h"

int xfer_map(uint64_t len, void **buf)
{
	void *p;

	if (len != (size_t)len)
		return say_error(-ENOMEM, "map %" PRIu64 " bytes", len);
	p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (p == MAP_FAILED)
		return say_error(-errno, "map %" PRIu64 " bytes", len);

	*buf = p;
	return 0;
}

/* Waits through signals: they are somebody else's. */
static int wait_batch(struct te *te, uint32_t batch)
{
	struct te_status st;
	int ret;

	do {
		ret = te_wait(te, batch, -1);
	} while (ret == -EINTR);
	if (ret)
		return ret;

	ret = te_batch_status(te, batch, &st);
	if (ret)
		return ret;
	if (st.state != TE_COMPLETED)
		return st.error ? st.error : -EIO;

	return 0;
}

int xfer_run(struct te *te, uint32_t opcode, uint32_t seg, void *local,
	     uint64_t remote, uint64_t len, uint64_t piece)
{
	uint64_t nr = len / piece + (len % piece != 0), i;
	struct te_request *reqs;
	uint32_t batch;
	int ret;

	if (!nr || nr >= TE_MAX_TASK_SLOTS)
		return -EINVAL;
	reqs = calloc(nr, sizeof(*reqs));
	if (!reqs)
		return -ENOMEM;

	for (i = 0; i < nr; i++) {
		reqs[i].opcode = opcode;
		reqs[i].segment = seg;
		reqs[i].local_addr = (uintptr_t)local + i * piece;
		reqs[i].remote_addr = remote + i * piece;
		reqs[i].length = i < nr - 1 ? piece : len - i * piece;
	}

	ret = te_batch_alloc(te, nr, NULL, &batch);
	if (ret)
		goto out_free_reqs;
	ret = te_submit(te, batch, reqs, nr);
	if (!ret)
		ret = wait_batch(te, batch);
	te_batch_free(te, batch);

out_free_reqs:
	free(reqs);
	return ret;
}

static int pick(const struct te_buffer *bufs, uint32_t nr, uint32_t access,
		uint64_t length, struct te_buffer *found)
{
	const struct te_buffer *best = NULL;
	uint32_t i;

	for (i = 0; i < nr; i++) {
		if ((bufs[i].access & access) != access)
			continue;
		if (length && bufs[i].length != length)
			continue;
		if (!best || bufs[i].length > best->length)
			best = &bufs[i];
	}
	if (!best)
		return -ENOENT;

	*found = *best;
	return 0;
}

int xfer_find(struct te *te, uint32_t seg, uint32_t access, uint64_t length,
	      struct te_buffer *found)
{
	struct te_buffer *bufs;
	int nr, now;

	nr = te_segment_info(te, seg, NULL, 0);
	if (nr <= 0)
		return nr ? nr : -ENOENT;
	bufs = calloc(nr, sizeof(*bufs));
	if (!bufs)
		return -ENOMEM;

	now = te_segment_info(te, seg, bufs, nr);
	if (now > nr)
		now = nr;
	if (now >= 0)
		now = pick(bufs, now, access, length, found);
	free(bufs);
	return now;
}

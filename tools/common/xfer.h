/* SPDX-License-Identifier: LGPL-2.1-only OR MIT */
/* What tools do with te besides measuring: simple, blocking transfers. */
#ifndef TOOLS_XFER_H
#define TOOLS_XFER_H

#include <stdint.h>

#include "te.h"

/**
 * xfer_map() - zeroed memory, all pages present
 * @len: bytes
 * @buf: result
 *
 * Return: 0 or -errno, which has been told.
 */
int xfer_map(uint64_t len, void **buf);

/**
 * xfer_run() - move one range as one batch and wait for it
 * @te: context
 * @opcode: TE_READ or TE_WRITE
 * @seg: open segment
 * @local: in registered memory
 * @remote: address in the segment
 * @len: bytes
 * @piece: bytes of one request; the last may be shorter
 *
 * Return: 0, or the -errno of the first failure, not told.
 */
int xfer_run(struct te *te, uint32_t opcode, uint32_t seg, void *local,
	     uint64_t remote, uint64_t len, uint64_t piece);

/**
 * xfer_find() - the largest region of a segment with some access, or the one
 * of a given length
 * @te: context
 * @seg: open segment
 * @access: TE_REMOTE_* bits that must all be set
 * @length: exact bytes, or 0 for the largest
 * @found: result
 *
 * Return: 0, -ENOENT none, or -errno; not told.
 */
int xfer_find(struct te *te, uint32_t seg, uint32_t access, uint64_t length,
	      struct te_buffer *found);

#endif /* TOOLS_XFER_H */

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Segments that tests open with libte, over the transport that is under test
 * unless they say which. The linker puts it in place of te_segment_open().
 */
#include <string.h>

#include <te.h>

#include "lib/raw.h"

int __real_te_segment_open(struct te *te, const char *url,
			   const struct te_segment_opts *o, uint32_t *seg);
int __wrap_te_segment_open(struct te *te, const char *url,
			   const struct te_segment_opts *o, uint32_t *seg);

int __wrap_te_segment_open(struct te *te, const char *url,
			   const struct te_segment_opts *o, uint32_t *seg)
{
	struct te_segment_opts opts = { .sz = sizeof(opts) };

	if (o)
		memcpy(&opts, o, o->sz < sizeof(opts) ? o->sz : sizeof(opts));
	if (opts.transport == TE_ANY)
		opts.transport = raw_transport();
	return __real_te_segment_open(te, url, &opts, seg);
}

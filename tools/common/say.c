// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/* Error messages, one line each; see say.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "say.h"

int say_error(int err, const char *fmt, ...)
{
	va_list args;

	flockfile(stderr);
	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	if (err)
		fprintf(stderr, ": %s", strerror(-err));
	fputc('\n', stderr);
	funlockfile(stderr);

	return err ? err : -EINVAL;
}

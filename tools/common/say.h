/* SPDX-License-Identifier: LGPL-2.1-only OR MIT */
/* How tools tell what failed: "tool: what: why" on stderr. */
#ifndef TOOLS_SAY_H
#define TOOLS_SAY_H

/**
 * say_error() - print what failed and why
 * @err: -errno, or 0 when the words say it all
 * @fmt: what, as for printf
 *
 * Return: @err, or -EINVAL if that is 0, so that callers can return it.
 */
int say_error(int err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif /* TOOLS_SAY_H */

// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * te-demo: a file crosses the wire and comes back, and both sides compare its
 * SHA-256. This file is the command line; see serve.c and fetch.c.
 */
#include <stdio.h>
#include <string.h>

#include "demo.h"

static const char usage[] =
"usage: te-demo serve FILE          hold FILE, and room for its way back\n"
"       te-demo fetch HOST FILE     READ it to FILE, compare, WRITE it back\n"
"       te-demo bye HOST            end the server\n";

int main(int argc, char **argv)
{
	int ret;

	if (argc == 3 && !strcmp(argv[1], "serve")) {
		ret = demo_serve(argv[2]);
	} else if (argc == 4 && !strcmp(argv[1], "fetch")) {
		ret = demo_fetch(argv[2], argv[3]);
	} else if (argc == 3 && !strcmp(argv[1], "bye")) {
		ret = demo_bye(argv[2]);
	} else {
		fputs(usage, stderr);
		return 2;
	}

	return ret ? 1 : 0;
}

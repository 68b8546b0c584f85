// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * te-topo: check, load, show and clear the priority matrix of this node. This
 * file is the command line and the two ioctls.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "matrix.h"
#include "say.h"

static const char usage[] =
"usage: te-topo check [--strict] FILE   is it a priority matrix?\n"
"       te-topo load [--strict] FILE    check it, and let it be this node's\n"
"       te-topo show                    print the one that is loaded\n"
"       te-topo clear                   none from now on\n"
"\n"
"  --strict         refuse devices that are not here\n"
"  --device=PATH    (/dev/te)\n"
"\n"
"FILE may be -, for stdin. See te-topo(8).\n";

static const struct option long_opts[] = {
	{ "device", required_argument, NULL, 'd' },
	{ "help", no_argument, NULL, 'h' },
	{ "strict", no_argument, NULL, 's' },
	{ NULL, 0, NULL, 0 },
};

/**
 * struct command - what the command line says
 * @device: path of te's device
 * @strict: refuse devices that are not here
 * @path: FILE, or NULL
 */
struct command {
	const char *device;
	bool strict;
	const char *path;
};

static struct matrix matrix;

/* Return: 0, -errno said. */
static int call(const char *device, unsigned long nr, void *arg)
{
	int fd = open(device, O_RDWR | O_CLOEXEC);
	int ret = 0;

	if (fd < 0)
		return say_error(-errno, "%s", device);
	if (ioctl(fd, nr, arg))
		ret = say_error(-errno, "%s: %s", device,
				nr == TE_IOC_TOPOLOGY_SET ? "set" : "get");
	close(fd);
	return ret;
}

static int set(const char *device)
{
	struct te_ioc_topology_set arg = {
		.size = sizeof(arg),
		.nr = matrix.nr,
		.entries = matrix.nr ? (uintptr_t)matrix.entries : 0,
	};

	return call(device, TE_IOC_TOPOLOGY_SET, &arg);
}

static int do_check(const struct command *c)
{
	return matrix_read(c->path, c->strict, &matrix);
}

static int do_load(const struct command *c)
{
	int ret = matrix_read(c->path, c->strict, &matrix);

	return ret ? ret : set(c->device);
}

static int do_show(const struct command *c)
{
	struct te_ioc_topology_get arg = {
		.size = sizeof(arg),
		.max = MATRIX_MAX,
		.entries = (uintptr_t)matrix.entries,
	};
	int ret;

	ret = call(c->device, TE_IOC_TOPOLOGY_GET, &arg);
	if (ret)
		return ret;
	matrix.nr = arg.max;
	ret = matrix_print(&matrix, stdout);
	return ret ? say_error(ret, "stdout") : 0;
}

static int do_clear(const struct command *c)
{
	matrix.nr = 0;
	return set(c->device);
}

static const struct {
	const char *name;
	bool file;
	int (*fn)(const struct command *c);
} verbs[] = {
	{ "check", true, do_check },
	{ "load", true, do_load },
	{ "show", false, do_show },
	{ "clear", false, do_clear },
};

static int bad_usage(void)
{
	fputs(usage, stderr);
	return 2;
}

int main(int argc, char **argv)
{
	struct command c = { .device = "/dev/te" };
	size_t i;
	int opt;

	while ((opt = getopt_long(argc, argv, "h", long_opts, NULL)) != -1) {
		switch (opt) {
		case 'd':
			c.device = optarg;
			break;
		case 's':
			c.strict = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			return bad_usage();
		}
	}
	argc -= optind;
	argv += optind;
	for (i = 0; argc && i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (strcmp(argv[0], verbs[i].name))
			continue;
		if (argc != 1 + verbs[i].file || (c.strict && !verbs[i].file))
			return bad_usage();
		c.path = argv[1];
		return verbs[i].fn(&c) ? 1 : 0;
	}
	return bad_usage();
}

// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * te-bench: submit batches, wait for them, count bytes. This file is the command
 * line; its flags are those of Mooncake's transfer_engine_bench, with sizes that
 * suit one guest: 1 thread and 64 MiB in place of 12 and 1 GiB.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "number.h"
#include "say.h"
#include "te.h"

#define MAX_THREADS	1024
#define MAX_INFLIGHT	1024
#define MIN_BUFFER	(64ULL << 10)
#define MAX_BUFFER	(1ULL << 40)

enum {
	OPT_BATCH_SIZE = 256,
	OPT_BLOCK_SIZE,
	OPT_BUFFER_SIZE,
	OPT_DEVICE,
	OPT_DURATION,
	OPT_INFLIGHT,
	OPT_JSON,
	OPT_MODE,
	OPT_OPERATION,
	OPT_PROTOCOL,
	OPT_SEGMENT_ID,
	OPT_SEGMENT_NAME,
	OPT_THREADS,
	OPT_VERIFY,
	OPT_SHARE,
};

static const struct option long_opts[] = {
	{ "batch-size", required_argument, NULL, OPT_BATCH_SIZE },
	{ "block-size", required_argument, NULL, OPT_BLOCK_SIZE },
	{ "buffer-size", required_argument, NULL, OPT_BUFFER_SIZE },
	{ "device", required_argument, NULL, OPT_DEVICE },
	{ "duration", required_argument, NULL, OPT_DURATION },
	{ "help", no_argument, NULL, 'h' },
	{ "inflight", required_argument, NULL, OPT_INFLIGHT },
	{ "iodepth", required_argument, NULL, OPT_INFLIGHT },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "mode", required_argument, NULL, OPT_MODE },
	{ "operation", required_argument, NULL, OPT_OPERATION },
	{ "protocol", required_argument, NULL, OPT_PROTOCOL },
	{ "segment-id", required_argument, NULL, OPT_SEGMENT_ID },
	{ "segment-name", required_argument, NULL, OPT_SEGMENT_NAME },
	{ "threads", required_argument, NULL, OPT_THREADS },
	{ "verify", no_argument, NULL, OPT_VERIFY },
	{ "share", no_argument, NULL, OPT_SHARE },
	{ NULL, 0, NULL, 0 },
};

static const char usage[] =
"usage: te-bench --mode=target [--segment_name=te-bench] [options]\n"
"       te-bench --mode=initiator --segment_id=host[:port]/name [options]\n"
"\n"
"  --mode=target|initiator      hold memory, or read and write it (initiator)\n"
"  --operation=read|write       (read)\n"
"  --block_size=BYTES           of a request (64K)\n"
"  --batch_size=N               requests in a batch (128)\n"
"  --threads=N                  (1)\n"
"  --inflight=N                 batches in flight for each thread (2)\n"
"  --duration=SECONDS           (10; target: until SIGINT or SIGTERM)\n"
"  --buffer_size=BYTES          registered memory, either side (64M)\n"
"  --protocol=auto|rdma|tcp|local  (auto)\n"
"  --verify                     check a pattern on both sides after the run\n"
"  --share                      requests in flight may share the buffer's bytes\n"
"  --json                       print the result as one JSON object\n"
"  --device=PATH                (/dev/te)\n"
"\n"
"Flags may be spelled with hyphens too; bytes take K, M or G. See te-bench(1).\n";

struct word {
	const char *name;
	uint32_t value;
};

static const struct word modes[] = {
	{ "initiator", 0 }, { "target", 1 }, { NULL, 0 },
};

static const struct word operations[] = {
	{ "read", TE_READ }, { "write", TE_WRITE }, { NULL, 0 },
};

static const struct word protocols[] = {
	{ "auto", TE_ANY }, { "rdma", TE_RDMA }, { "tcp", TE_TCP },
	{ "local", TE_LOCAL }, { NULL, 0 },
};

static int parse_word(const char *flag, const struct word *words, uint32_t *value)
{
	for (; words->name; words++) {
		if (strcmp(words->name, optarg))
			continue;
		*value = words->value;
		return 0;
	}

	return say_error(0, "--%s=%s: no such %s", flag, optarg, flag);
}

static int parse_bytes(const char *flag, uint64_t min, uint64_t max,
		       uint64_t *value)
{
	int ret = number_parse(optarg, min, max, value);

	if (ret == -ERANGE)
		return say_error(0, "--%s=%s: must be %llu to %llu", flag,
				 optarg, (unsigned long long)min,
				 (unsigned long long)max);
	if (ret)
		return say_error(0, "--%s=%s: not a number", flag, optarg);

	return 0;
}

static int parse_count(const char *flag, uint32_t max, uint32_t *value)
{
	uint64_t v;
	int ret;

	ret = parse_bytes(flag, 1, max, &v);
	if (ret)
		return ret;

	*value = v;
	return 0;
}

static int parse_one(int opt, struct bench_opts *o)
{
	uint32_t value;
	int ret;

	switch (opt) {
	case OPT_BATCH_SIZE:
		return parse_count("batch_size", TE_MAX_TASK_SLOTS - 1,
				   &o->batch_size);
	case OPT_BLOCK_SIZE:
		return parse_bytes("block_size", 1, MAX_BUFFER, &o->block_size);
	case OPT_BUFFER_SIZE:
		return parse_bytes("buffer_size", MIN_BUFFER, MAX_BUFFER,
				   &o->buffer_size);
	case OPT_DEVICE:
		o->device = optarg;
		return 0;
	case OPT_DURATION:
		o->duration_given = true;
		return parse_count("duration", INT32_MAX / 1000, &o->duration_s);
	case OPT_INFLIGHT:
		return parse_count("inflight", MAX_INFLIGHT, &o->inflight);
	case OPT_JSON:
		o->json = true;
		return 0;
	case OPT_MODE:
		ret = parse_word("mode", modes, &value);
		o->is_target = !ret && value;
		return ret;
	case OPT_OPERATION:
		return parse_word("operation", operations, &o->opcode);
	case OPT_PROTOCOL:
		return parse_word("protocol", protocols, &o->transport);
	case OPT_SEGMENT_ID:
		o->segment_id = optarg;
		return 0;
	case OPT_SEGMENT_NAME:
		o->segment_name = optarg;
		return 0;
	case OPT_THREADS:
		return parse_count("threads", MAX_THREADS, &o->threads);
	case OPT_VERIFY:
		o->verify = true;
		return 0;
	case OPT_SHARE:
		o->share = true;
		return 0;
	default:
		return -EINVAL;	/* getopt has told */
	}
}

/* --block_size and --block-size are the same flag. */
static void use_hyphens(int argc, char **argv)
{
	char *c;
	int i;

	for (i = 1; i < argc && strcmp(argv[i], "--"); i++)
		for (c = argv[i]; *argv[i] == '-' && *c && *c != '='; c++)
			if (*c == '_')
				*c = '-';
}

static int parse(int argc, char **argv, struct bench_opts *o)
{
	int opt, ret;

	use_hyphens(argc, argv);
	while ((opt = getopt_long_only(argc, argv, "h", long_opts, NULL)) != -1) {
		if (opt == 'h') {
			fputs(usage, stdout);
			exit(0);
		}
		ret = parse_one(opt, o);
		if (ret)
			return ret;
	}

	if (optind < argc)
		return say_error(0, "%s: not a flag", argv[optind]);
	if (!o->is_target && !o->segment_id)
		return say_error(0, "--segment_id=host[:port]/name is missing");
	if (o->share && o->verify)
		return say_error(0, "--share and --verify exclude each other");

	return 0;
}

int bench_open(const struct bench_opts *opts, uint32_t task_slots,
	       struct te **te)
{
	struct te_open_opts o = {
		.sz = sizeof(o),
		.device = opts->device,
		.task_slots = task_slots,
	};
	const char *device = opts->device ? opts->device : "/dev/te";
	int ret;

	ret = te_open(te, &o);
	if (ret == -ENOENT)
		return say_error(ret, "open %s (is te.ko loaded?)", device);
	if (ret)
		return say_error(ret, "open %s", device);

	return 0;
}

int main(int argc, char **argv)
{
	struct bench_opts opts = {
		.opcode = TE_READ,
		.transport = TE_ANY,
		.batch_size = 128,
		.threads = 1,
		.inflight = 2,
		.duration_s = 10,
		.block_size = 64 << 10,
		.buffer_size = 64 << 20,
		.segment_name = "te-bench",
	};
	int ret;

	if (parse(argc, argv, &opts)) {
		fputs("te-bench: try --help\n", stderr);
		return 2;
	}

	ret = opts.is_target ? bench_target(&opts) : bench_initiator(&opts);
	return ret ? 1 : 0;
}

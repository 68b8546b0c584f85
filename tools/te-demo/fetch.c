// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * te-demo fetch and bye: the side that moves the bytes. One batch of 1 MiB READs
 * brings the file, which goes to disk and is compared there; one batch of WRITEs
 * takes it back, and the server compares.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "demo.h"
#include "say.h"
#include "sha256.h"
#include "te.h"
#include "xfer.h"

#define PIECE		(1 << 20)
#define START_MS	60000	/* the server may still be booting */
#define COMPARE_MS	60000
#define PAUSE_MS	200

struct fetcher {
	struct te *te;
	uint32_t seg, seg_back;
	struct te_buffer file, page_at, back;
	struct demo_page *page;
	void *buf;
};

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void pause_ms(int ms)
{
	const struct timespec t = { .tv_nsec = ms * 1000000L };

	nanosleep(&t, NULL);
}

/* Not there yet, as far as we can tell. */
static int may_come(int err)
{
	return err == -ENOENT || err == -ECONNREFUSED || err == -ETIMEDOUT ||
	       err == -EHOSTUNREACH || err == -ECONNRESET;
}

static int open_segment(struct te *te, const char *host, const char *name,
			uint32_t *seg)
{
	char url[300];
	int ret, tries = START_MS / PAUSE_MS;

	if (snprintf(url, sizeof(url), "%s/%s", host, name) >= (int)sizeof(url))
		return say_error(-ENAMETOOLONG, "%s", host);
	do {
		ret = te_segment_open(te, url, NULL, seg);
		if (!may_come(ret))
			break;
		pause_ms(PAUSE_MS);
	} while (--tries);

	return ret ? say_error(ret, "open segment %s", url) : 0;
}

static int find_region(struct fetcher *f, uint32_t seg, uint32_t access,
		       uint64_t length, struct te_buffer *found)
{
	int ret = xfer_find(f->te, seg, access, length, found);

	return ret ? say_error(ret, "find memory in the segment") : 0;
}

static int read_page(struct fetcher *f)
{
	int ret = xfer_run(f->te, TE_READ, f->seg, f->page, f->page_at.addr,
			   sizeof(*f->page), PIECE);

	return ret ? say_error(ret, "READ the server's page") : 0;
}

static int send_command(struct fetcher *f, uint64_t command)
{
	const size_t offset = offsetof(struct demo_page, command);
	int ret;

	f->page->command = command;
	ret = xfer_run(f->te, TE_WRITE, f->seg, &f->page->command,
		       f->page_at.addr + offset, sizeof(command), PIECE);

	return ret ? say_error(ret, "WRITE a command to the server's page") : 0;
}

static int meet(struct fetcher *f, const char *host)
{
	uint32_t mr;
	void *page;
	int ret;

	ret = open_segment(f->te, host, DEMO_SEGMENT, &f->seg);
	if (ret)
		return ret;
	ret = find_region(f, f->seg, TE_REMOTE_READ | TE_REMOTE_WRITE,
			  DEMO_PAGE_BYTES, &f->page_at);
	if (ret)
		return ret;
	ret = xfer_map(DEMO_PAGE_BYTES, &page);
	if (ret)
		return ret;
	f->page = page;
	ret = te_mr_register(f->te, page, DEMO_PAGE_BYTES,
			     TE_LOCAL_READ | TE_LOCAL_WRITE, NULL, &mr);
	if (ret)
		return say_error(ret, "register a page");
	ret = read_page(f);
	if (ret)
		return ret;

	return f->page->magic == DEMO_MAGIC ? 0 :
		say_error(0, "%s/%s is no te-demo server", host, DEMO_SEGMENT);
}

static int prepare(struct fetcher *f, const char *host)
{
	uint64_t length = f->page->length;
	uint32_t mr;
	int ret;

	ret = open_segment(f->te, host, DEMO_BACK_SEGMENT, &f->seg_back);
	if (ret)
		return ret;
	ret = find_region(f, f->seg, TE_REMOTE_READ, length, &f->file);
	if (ret)
		return ret;
	ret = find_region(f, f->seg_back, TE_REMOTE_WRITE, length, &f->back);
	if (ret)
		return ret;
	ret = xfer_map(length, &f->buf);
	if (ret)
		return ret;
	ret = te_mr_register(f->te, f->buf, length,
			     TE_LOCAL_READ | TE_LOCAL_WRITE, NULL, &mr);

	return ret ? say_error(ret, "register %" PRIu64 " bytes", length) : 0;
}

/* The whole file as one batch. */
static int move_file(struct fetcher *f, uint32_t opcode, double *seconds)
{
	const char *what = opcode == TE_READ ? "READ" : "WRITE";
	double start = now_s();
	int ret;

	if (opcode == TE_READ)
		ret = xfer_run(f->te, opcode, f->seg, f->buf, f->file.addr,
			       f->page->length, PIECE);
	else
		ret = xfer_run(f->te, opcode, f->seg_back, f->buf, f->back.addr,
			       f->page->length, PIECE);
	*seconds = now_s() - start;

	return ret ? say_error(ret, "%s the file", what) : 0;
}

static int write_file(const char *path, const char *buf, size_t len)
{
	ssize_t n;
	int fd;

	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return say_error(-errno, "open %s", path);
	while (len) {
		n = write(fd, buf, len);
		if (n < 0)
			break;
		buf += n;
		len -= n;
	}
	if (len || fsync(fd)) {
		close(fd);
		return say_error(-errno, "write %s", path);
	}

	return close(fd) ? say_error(-errno, "close %s", path) : 0;
}

static void print_row(const char *what, uint64_t bytes, double seconds,
		      int equal)
{
	printf("row %s;%" PRIu64 ";%.2f;%.1f;%s\n", what, bytes, seconds,
	       bytes / seconds / 1e6, equal ? "sha256 equal" : "SHA256 DIFFERS");
	fflush(stdout);
}

static int fetch_file(struct fetcher *f, const char *path)
{
	uint8_t sum[DEMO_SHA_BYTES];
	double seconds;
	int ret, equal;

	ret = move_file(f, TE_READ, &seconds);
	if (ret)
		return ret;
	ret = write_file(path, f->buf, f->page->length);
	if (ret)
		return ret;
	ret = sha256_file(path, sum);
	if (ret)
		return ret;

	sha256_print("came", sum);
	equal = !memcmp(sum, f->page->sha256, sizeof(sum));
	print_row("READ file, B to A", f->page->length, seconds, equal);
	return equal ? 0 : say_error(0, "what came is not the file");
}

static int ask_verdict(struct fetcher *f)
{
	int ret, tries = COMPARE_MS / PAUSE_MS;

	ret = send_command(f, DEMO_CHECK);
	if (ret)
		return ret;
	while (tries--) {
		pause_ms(PAUSE_MS);
		ret = read_page(f);
		if (ret || f->page->verdict != DEMO_UNKNOWN)
			return ret;
	}

	return say_error(-ETIMEDOUT, "wait for the server to compare");
}

static int return_file(struct fetcher *f)
{
	double seconds;
	int ret, equal;

	ret = move_file(f, TE_WRITE, &seconds);
	if (ret)
		return ret;
	ret = ask_verdict(f);
	if (ret)
		return ret;

	equal = f->page->verdict == DEMO_EQUAL;
	print_row("WRITE file, A to B", f->page->length, seconds, equal);
	return equal ? 0 : say_error(0, "what went back is not the file");
}

static int begin(struct fetcher *f, const char *host)
{
	int ret;

	ret = te_open(&f->te, NULL);
	if (ret)
		return say_error(ret, "open te");
	ret = meet(f, host);
	if (ret)
		te_close(f->te);

	return ret;
}

int demo_fetch(const char *host, const char *path)
{
	struct fetcher f = { 0 };
	int ret;

	ret = begin(&f, host);
	if (ret)
		return ret;
	ret = prepare(&f, host);
	if (!ret)
		ret = fetch_file(&f, path);
	if (!ret)
		ret = return_file(&f);
	te_close(f.te);

	return ret;
}

int demo_bye(const char *host)
{
	struct fetcher f = { 0 };
	int ret;

	ret = begin(&f, host);
	if (ret)
		return ret;
	ret = send_command(&f, DEMO_BYE);
	te_close(f.te);

	return ret;
}

// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * te-demo serve: a file in exported memory, and a second segment (a context of
 * its own) of the same size for the way back. After that this side only looks at
 * its page: the peer moves every byte.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "demo.h"
#include "say.h"
#include "sha256.h"
#include "te.h"
#include "xfer.h"

#define LOOK_MS		50
#define PATIENCE_S	600	/* for a fetcher that never says bye */

struct server {
	void *file, *back;
	size_t length;
	struct demo_page *page;
};

static int read_all(int fd, const char *path, char *buf, size_t len)
{
	ssize_t n;

	while (len) {
		n = read(fd, buf, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return say_error(n ? -errno : -EIO, "read %s", path);
		buf += n;
		len -= n;
	}

	return 0;
}

static int load(struct server *s, const char *path)
{
	struct stat st;
	int fd, ret;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return say_error(-errno, "open %s", path);
	if (fstat(fd, &st)) {
		ret = say_error(-errno, "stat %s", path);
		goto out_close;
	}
	if (st.st_size <= DEMO_PAGE_BYTES) {
		ret = say_error(0, "%s is too small for a demo", path);
		goto out_close;
	}

	s->length = st.st_size;
	ret = xfer_map(s->length, &s->file);
	if (!ret)
		ret = read_all(fd, path, s->file, s->length);
out_close:
	close(fd);
	return ret;
}

/* One more region in @te that peers may use with @access. */
static int share(struct te *te, void *buf, size_t len, unsigned int access)
{
	uint32_t mr;
	int ret = te_mr_register(te, buf, len, access, NULL, &mr);

	return ret ? say_error(ret, "register %zu bytes", len) : 0;
}

static int name_segment(struct te *te, const char *name)
{
	int ret = te_segment_export(te, name, NULL);

	return ret ? say_error(ret, "export segment %s", name) : 0;
}

static int prepare(struct server *s, const char *path)
{
	void *page;
	int ret;

	ret = load(s, path);
	if (ret)
		return ret;
	ret = xfer_map(s->length, &s->back);
	if (ret)
		return ret;
	ret = xfer_map(DEMO_PAGE_BYTES, &page);
	if (ret)
		return ret;

	s->page = page;
	s->page->magic = DEMO_MAGIC;
	s->page->length = s->length;
	ret = sha256_memory(s->file, s->length, s->page->sha256);
	if (ret)
		return ret;
	printf("holds %zu bytes of %s\n", s->length, path);
	sha256_print("held", s->page->sha256);
	return 0;
}

/* The way back first: who sees the file's segment finds the other one, too. */
static int export_all(struct server *s, struct te *te, struct te *te_back)
{
	int ret;

	ret = share(te_back, s->back, s->length, TE_REMOTE_WRITE);
	if (ret)
		return ret;
	ret = name_segment(te_back, DEMO_BACK_SEGMENT);
	if (ret)
		return ret;
	ret = share(te, s->file, s->length, TE_REMOTE_READ);
	if (ret)
		return ret;
	ret = share(te, s->page, DEMO_PAGE_BYTES,
		    TE_REMOTE_READ | TE_REMOTE_WRITE);
	if (ret)
		return ret;

	return name_segment(te, DEMO_SEGMENT);
}

static int compare(struct server *s)
{
	uint8_t sum[DEMO_SHA_BYTES];
	uint64_t verdict = DEMO_EQUAL;
	int ret;

	ret = sha256_memory(s->back, s->length, sum);
	if (ret)
		return ret;
	sha256_print("back", sum);
	if (memcmp(sum, s->page->sha256, sizeof(sum)))
		verdict = DEMO_DIFFERENT;
	__atomic_store_n(&s->page->verdict, verdict, __ATOMIC_RELEASE);

	return 0;
}

static int serve(struct server *s)
{
	const struct timespec look = { .tv_nsec = LOOK_MS * 1000000 };
	uint64_t command, seen = DEMO_NONE;
	time_t end = time(NULL) + PATIENCE_S;
	int ret;

	while (time(NULL) < end) {
		nanosleep(&look, NULL);
		command = __atomic_load_n(&s->page->command, __ATOMIC_ACQUIRE);
		if (command == DEMO_BYE) {
			/* the WRITE that brought it is not yet acknowledged */
			nanosleep(&look, NULL);
			return s->page->verdict == DEMO_EQUAL ? 0 :
				say_error(0, "what came back is not the file");
		}
		if (command != DEMO_CHECK || command == seen)
			continue;
		seen = command;
		ret = compare(s);
		if (ret)
			return ret;
	}

	return say_error(-ETIMEDOUT, "wait for the fetcher");
}

int demo_serve(const char *path)
{
	struct te *te = NULL, *te_back = NULL;
	struct server s = { 0 };
	int ret;

	ret = prepare(&s, path);
	if (ret)
		return ret;
	ret = te_open(&te, NULL);
	if (!ret)
		ret = te_open(&te_back, NULL);
	if (ret) {
		say_error(ret, "open te");
		goto out_close;
	}

	ret = export_all(&s, te, te_back);
	if (!ret)
		ret = serve(&s);

out_close:
	te_close(te_back);
	te_close(te);
	return ret;
}

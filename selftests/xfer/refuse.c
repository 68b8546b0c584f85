// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a submit refuses, with which errno, and that it refuses all of it before
 * anything has started: no byte moves, the batch stays as it was and still takes
 * good requests.
 */
#include <sys/mman.h>

#include "lib/test.h"
#include "lib/pair.h"

#define AREA	(64 * KIB)
#define MARGIN	(8 * KIB)
#define MR	(AREA - 2 * MARGIN)

FIXTURE(refuse)
{
	struct pair p;
};

FIXTURE_SETUP(refuse)
{
	ASSERT_EQ(0, te_settle());
}

FIXTURE_TEARDOWN(refuse)
{
	pair_close(&self->p);
	CLEAN();
}

static const struct pair_opts opts = {
	.local = AREA, .remote = AREA, .margin = MARGIN,
};

/* Offsets are from the start of the registered memory of their side. */
struct range {
	const char *desc;
	int64_t local, remote;
	uint64_t length;
	int want;
};

static const struct range ranges[] = {
	{ "all of both", 0, 0, MR, 0 },
	{ "first byte", 0, 0, 1, 0 },
	{ "last byte", MR - 1, MR - 1, 1, 0 },
	{ "local: one byte before", -1, 0, 8, -ERANGE },
	{ "local: one byte behind", MR - 7, 0, 8, -ERANGE },
	{ "local: starts at the end", MR, 0, 1, -ERANGE },
	{ "local: all and a byte", 0, 0, MR + 1, -ERANGE },
	{ "local: far below", -(int64_t)(1 << 20), 0, 1, -ERANGE },
	{ "remote: one byte before", 0, -1, 8, -ERANGE },
	{ "remote: one byte behind", 0, MR - 7, 8, -ERANGE },
	{ "remote: starts at the end", 0, MR, 1, -ERANGE },
	{ "remote: far above", 0, 1LL << 40, 1, -ERANGE },
	{ "length 2^31", 0, 0, 1ULL << 31, -ERANGE },
	{ "length 2^32 and one", 0, 0, (1ULL << 32) + 1, -ERANGE },
	{ "length 2^60", 0, 0, 1ULL << 60, -ERANGE },
	{ "length wraps", 0, 0, ~0ULL, -EOVERFLOW },
	{ "length 2^63 and more wraps", 0, 0, ~0ULL - 4096, -EOVERFLOW },
	{ "nothing", 0, 0, 0, 0 },
	{ "nothing, local outside", -1, 0, 0, 0 },
	{ "nothing, remote outside", 0, MR + 1, 0, 0 },
};

TEST_F_TIMEOUT(refuse, ranges, SLOW)
{
	const struct range *row;
	struct te_request r;
	size_t i, op;

	ASSERT_EQ(0, pair_open(&self->p, &opts));
	for (i = 0; i < ROWS(ranges); i++) {
		row = &ranges[i];
		for (op = TE_READ; op <= TE_WRITE; op++) {
			r = pair_req(&self->p, op, MARGIN + row->local,
				     MARGIN + row->remote, row->length);
			EXPECT_ROW(row->want, pair_refuse(&self->p, &r),
				   "%s", row->desc);
			if (!row->want && row->length)
				pair_expect(&self->p, &r);
			EXPECT_ROW(0, pair_check(&self->p), "%s", row->desc);
		}
	}
}

TEST_F(refuse, addresses_that_wrap)
{
	struct te_request good, r;

	ASSERT_EQ(0, pair_open(&self->p, &opts));
	good = pair_req(&self->p, TE_READ, MARGIN, MARGIN, 4096);

	r = good;
	r.local_addr = ~0ULL - 4094;
	EXPECT_EQ(-EOVERFLOW, pair_refuse(&self->p, &r));
	r = good;
	r.remote_addr = ~0ULL - 4094;
	EXPECT_EQ(-EOVERFLOW, pair_refuse(&self->p, &r));
	r = good;
	r.local_addr = 0;
	EXPECT_EQ(-ERANGE, pair_refuse(&self->p, &r));
	r = good;
	r.remote_addr = 0;
	EXPECT_EQ(-ERANGE, pair_refuse(&self->p, &r));
	r = good;
	r.local_addr = 1ULL << 63;
	EXPECT_EQ(-ERANGE, pair_refuse(&self->p, &r));
	EXPECT_EQ(0, pair_check(&self->p));
}

struct field {
	const char *desc;
	uint32_t opcode, flags, segment, reserved;
	int want;
};

#define GOOD_SEG 0xffff0000U

static const struct field fields[] = {
	{ "opcode 2", 2, 0, GOOD_SEG, 0, -EINVAL },
	{ "opcode -1", ~0U, 0, GOOD_SEG, 0, -EINVAL },
	{ "flag 0", TE_READ, 1, GOOD_SEG, 0, -EINVAL },
	{ "flag 31", TE_READ, 1U << 31, GOOD_SEG, 0, -EINVAL },
	{ "reserved 1", TE_READ, 0, GOOD_SEG, 1, -EINVAL },
	{ "reserved 2^31", TE_READ, 0, GOOD_SEG, 1U << 31, -EINVAL },
	{ "segment 0", TE_READ, 0, 0, 0, -ENOENT },
	{ "segment -1", TE_READ, 0, ~0U, 0, -ENOENT },
	{ "segment 2^31", TE_READ, 0, 1U << 31, 0, -ENOENT },
	{ "good", TE_READ, 0, GOOD_SEG, 0, 0 },
};

TEST_F_TIMEOUT(refuse, fields, SLOW)
{
	static const uint64_t lengths[] = { 4096, 0 };
	const struct field *row;
	struct te_request r;
	size_t i, j;

	ASSERT_EQ(0, pair_open(&self->p, &opts));
	for (i = 0; i < ROWS(fields); i++) {
		for (j = 0; j < ROWS(lengths); j++) {
			row = &fields[i];
			r = pair_req(&self->p, row->opcode, MARGIN, MARGIN,
				     lengths[j]);
			r.flags = row->flags;
			r.reserved = row->reserved;
			if (row->segment != GOOD_SEG)
				r.segment = row->segment;
			EXPECT_ROW(row->want, pair_refuse(&self->p, &r),
				   "%s, length %d", row->desc, (int)r.length);
			if (!row->want && r.length)
				pair_expect(&self->p, &r);
		}
	}
	EXPECT_EQ(0, pair_check(&self->p));
}

TEST_F_TIMEOUT(refuse, closed_segment, SLOW)
{
	struct te_request r;

	ASSERT_EQ(0, pair_open(&self->p, &opts));
	r = pair_req(&self->p, TE_READ, MARGIN, MARGIN, 4096);
	EXPECT_EQ(0, te_segment_close(self->p.ini, self->p.seg));
	EXPECT_EQ(-ENOENT, pair_refuse(&self->p, &r));
	EXPECT_EQ(-ENOENT, te_segment_close(self->p.ini, self->p.seg));
	r.length = 0;
	EXPECT_EQ(-ENOENT, pair_refuse(&self->p, &r));
	EXPECT_EQ(0, pair_check(&self->p));
}

struct access {
	const char *desc;
	unsigned int local, remote;
	int read, write;
};

static const struct access accesses[] = {
	{ "all", TE_LOCAL_ALL, TE_REMOTE_ALL, 0, 0 },
	{ "local read only", TE_LOCAL_READ, TE_REMOTE_ALL, -EACCES, 0 },
	{ "local write only", TE_LOCAL_WRITE, TE_REMOTE_ALL, 0, -EACCES },
	{ "local memory is for peers", TE_REMOTE_ALL, TE_REMOTE_ALL,
	  -EACCES, -EACCES },
	{ "remote read only", TE_LOCAL_ALL, TE_REMOTE_READ, 0, -EACCES },
	{ "remote write only", TE_LOCAL_ALL, TE_REMOTE_WRITE, -EACCES, 0 },
	{ "remote and its own", TE_LOCAL_ALL, TE_REMOTE_READ | TE_LOCAL_ALL,
	  0, -EACCES },
	{ "remote memory is no segment's", TE_LOCAL_ALL, TE_LOCAL_ALL,
	  -ERANGE, -ERANGE },
};

TEST_F_TIMEOUT(refuse, access, SLOW)
{
	const struct access *row;
	struct te_request r;
	size_t i, op;
	int want;

	for (i = 0; i < ROWS(accesses); i++) {
		struct pair_opts o = opts;

		row = &accesses[i];
		o.local_access = row->local;
		o.remote_access = row->remote;
		ASSERT_EQ(0, pair_open(&self->p, &o));
		for (op = TE_READ; op <= TE_WRITE; op++) {
			r = pair_req(&self->p, op, MARGIN + 1, MARGIN + 2,
				     5000);
			want = op == TE_READ ? row->read : row->write;
			EXPECT_ROW(want, pair_refuse(&self->p, &r), "%s, %s",
				   row->desc, op ? "write" : "read");
			if (!want)
				pair_expect(&self->p, &r);
			EXPECT_ROW(0, pair_check(&self->p), "%s", row->desc);
		}
		pair_close(&self->p);
	}
}

/* One bad request among good ones, at every place: none starts. */
TEST_F_TIMEOUT(refuse, whole_submit, SLOW)
{
	struct te_request r[5], bad;
	struct te_status st;
	uint32_t batch, i, at;

	ASSERT_EQ(0, pair_open(&self->p, &opts));
	for (i = 0; i < 5; i++)
		r[i] = pair_req(&self->p, TE_WRITE, MARGIN + i * 4096,
				MARGIN + i * 4096, 4000);

	ASSERT_EQ(0, te_batch_alloc(self->p.ini, 5, NULL, &batch));
	for (at = 0; at < 5; at++) {
		bad = r[at];
		r[at].remote_addr += MR;
		EXPECT_ROW(-ERANGE, te_submit(self->p.ini, batch, r, 5),
			   "bad request at %u", at);
		r[at] = bad;
	}
	EXPECT_EQ(0, te_batch_status(self->p.ini, batch, &st));
	EXPECT_EQ(TE_WAITING, st.state);
	EXPECT_EQ(0, st.bytes);
	EXPECT_EQ(0, te_wait(self->p.ini, batch, 0));
	EXPECT_EQ(0, pair_check(&self->p));

	EXPECT_EQ(0, te_submit(self->p.ini, batch, r, 5));
	EXPECT_EQ(0, te_wait(self->p.ini, batch, TE_WAIT_MS));
	for (i = 0; i < 5; i++) {
		EXPECT_EQ(0, te_status(self->p.ini, batch, i, &st));
		EXPECT_EQ(TE_COMPLETED, st.state);
		EXPECT_EQ(4000, st.bytes);
		pair_expect(&self->p, &r[i]);
	}
	EXPECT_EQ(0, te_batch_free(self->p.ini, batch));
	EXPECT_EQ(0, pair_check(&self->p));
}

/* The array of requests ends in nothing, at every place: none starts. */
TEST_F_TIMEOUT(refuse, requests_half_there, SLOW)
{
	enum { NR = 20, PAGE = 4096 };
	char *page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct te_request r[NR];
	struct te_status st;
	uint32_t batch, i;
	size_t there;

	ASSERT_NE(MAP_FAILED, page);
	ASSERT_EQ(0, mprotect(page + PAGE, PAGE, PROT_NONE));
	ASSERT_EQ(0, pair_open(&self->p, &opts));
	for (i = 0; i < NR; i++)
		r[i] = pair_req(&self->p, TE_WRITE, MARGIN, MARGIN, 64);
	ASSERT_EQ(0, te_batch_alloc(self->p.ini, NR, NULL, &batch));
	for (there = 0; there < sizeof(r); there += 8) {
		char *at = page + PAGE - there;

		memcpy(at, r, there);
		EXPECT_ROW(-EFAULT, te_submit(self->p.ini, batch, (void *)at,
					      NR), "%zu bytes", there);
	}
	EXPECT_EQ(0, te_batch_status(self->p.ini, batch, &st));
	EXPECT_EQ(TE_WAITING, st.state);
	EXPECT_EQ(0, pair_check(&self->p));
	EXPECT_EQ(0, te_submit(self->p.ini, batch, r, NR));
	EXPECT_EQ(0, te_wait(self->p.ini, batch, TE_WAIT_MS));
	EXPECT_EQ(0, te_batch_free(self->p.ini, batch));
	munmap(page, 2 * PAGE);
}

TEST_HARNESS_MAIN

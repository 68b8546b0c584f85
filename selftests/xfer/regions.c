// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory made of several regions: requests across the borders of neighbours on
 * either side, holes between them, addresses other than the owner's (TE_MR_BASE)
 * and regions that come and go after the segment was opened.
 */
#include "lib/test.h"
#include "lib/pair.h"

#define AREA	(256 * KIB)

/*
 * Borders of the regions of each side, as offsets in its area. Neighbours touch
 * but for the hole; odd ones, so that two regions share a page.
 */
static const size_t local_cut[] = { 8192, 20480, 20481, 65536, 131072, 200001 };
static const size_t remote_cut[] = { 4096, 30000, 69632, 69700, 180224, 250000 };

#define HOLE_TO	220000	/* behind a hole, both sides have one more */

FIXTURE(regions)
{
	struct pair p;	/* put together by each test */
};

FIXTURE_SETUP(regions)
{
	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, te_open(&self->p.ini, NULL));
	ASSERT_EQ(0, te_open(&self->p.tgt, NULL));
	ASSERT_EQ(0, area_alloc(&self->p.local, AREA));
	ASSERT_EQ(0, area_alloc(&self->p.remote, AREA));
	area_fill(&self->p.local, 1);
	area_fill(&self->p.remote, 2);
}

FIXTURE_TEARDOWN(regions)
{
	pair_close(&self->p);
	CLEAN();
}

static int cut(struct te *te, struct area *a, unsigned int access,
	       const size_t *at, size_t n)
{
	uint32_t mr;
	size_t i;
	int ret;

	for (i = 0; i + 1 < n; i++) {
		ret = te_mr_register(te, a->p + at[i], at[i + 1] - at[i],
				     access, NULL, &mr);
		if (ret)
			return ret;
	}
	return te_mr_register(te, a->p + HOLE_TO, AREA - HOLE_TO, access, NULL,
			      &mr);
}

static int open_cut(struct pair *p)
{
	const char *name = te_unique_name();
	int ret;

	ret = cut(p->ini, &p->local, TE_LOCAL_ALL, local_cut, ROWS(local_cut));
	if (!ret)
		ret = cut(p->tgt, &p->remote, TE_REMOTE_ALL, remote_cut,
			  ROWS(remote_cut) - 1);
	if (!ret)
		ret = te_segment_export(p->tgt, name, NULL);
	if (!ret)
		ret = te_open_segment(p->ini, name, &p->seg);
	return ret;
}

struct row {
	const char *desc;
	size_t lo, ro, len;
	int want;
};

static const struct row rows[] = {
	{ "one byte each side of a local border", 20479, 4096, 2, 0 },
	{ "a region of one byte", 20480, 4096, 1, 0 },
	{ "over the region of one byte", 20000, 5000, 1000, 0 },
	{ "one byte each side of a remote border", 8192, 29999, 2, 0 },
	{ "borders of both sides at once", 65535, 69631, 2, 0 },
	{ "borders of both sides, not at once", 65000, 69000, 3000, 0 },
	{ "over all local regions", 8192, 4096, 200001 - 8192 - 20000, 0 },
	{ "all of the last ones", HOLE_TO, HOLE_TO, AREA - HOLE_TO, 0 },
	{ "to the very end locally", 200000, 4096, 1, 0 },
	{ "beyond the end locally", 200000, 4096, 2, -ERANGE },
	{ "over the local hole", 199000, 4096, 30000, -ERANGE },
	{ "starts in the local hole", 210000, 4096, 1, -ERANGE },
	{ "over the remote hole", 8192, 180000, 50000, -ERANGE },
	{ "starts in the remote hole", 8192, 180224, 1, -ERANGE },
	{ "ends in the remote hole", 8192, 180000, 225, -ERANGE },
};

TEST_F_TIMEOUT(regions, borders, SLOW)
{
	const struct row *row;
	struct te_request r;
	size_t i, op;

	ASSERT_EQ(0, open_cut(&self->p));
	for (i = 0; i < ROWS(rows); i++) {
		row = &rows[i];
		for (op = TE_READ; op <= TE_WRITE; op++) {
			r = pair_req(&self->p, op, row->lo, row->ro, row->len);
			if (row->want)
				EXPECT_ROW(row->want,
					   pair_refuse(&self->p, &r), "%s",
					   row->desc);
			else
				EXPECT_ROW(0, pair_run(&self->p, &r, 1),
					   "%s, %s", row->desc,
					   op ? "write" : "read");
		}
	}
	EXPECT_EQ(0, pair_check(&self->p));
}

/* Between neighbours of different access only the common part is allowed. */
TEST_F_TIMEOUT(regions, neighbours_of_other_access, SLOW)
{
	const char *name = te_unique_name();
	struct te_request r;
	uint32_t mr;

	ASSERT_EQ(0, te_mr_register(self->p.ini, self->p.local.p, AREA,
				    TE_LOCAL_ALL, NULL, &mr));
	ASSERT_EQ(0, te_mr_register(self->p.tgt, self->p.remote.p, 64 * KIB,
				    TE_REMOTE_ALL, NULL, &mr));
	ASSERT_EQ(0, te_mr_register(self->p.tgt, self->p.remote.p + 64 * KIB,
				    64 * KIB, TE_REMOTE_READ, NULL, &mr));
	ASSERT_EQ(0, te_segment_export(self->p.tgt, name, NULL));
	ASSERT_EQ(0, te_open_segment(self->p.ini, name, &self->p.seg));

	r = pair_req(&self->p, TE_WRITE, 0, 60 * KIB, 8 * KIB);
	EXPECT_EQ(-EACCES, pair_refuse(&self->p, &r));
	EXPECT_EQ(0, pair_check(&self->p));
	EXPECT_EQ(0, pair_xfer(&self->p, TE_READ, 0, 60 * KIB, 8 * KIB));
	EXPECT_EQ(0, pair_xfer(&self->p, TE_WRITE, 32 * KIB, 60 * KIB,
			       4 * KIB));
}

/* A base hides the owner's addresses: peers count from it. */
TEST_F_TIMEOUT(regions, base, SLOW)
{
	static const uint64_t bases[] = { 0, 4096, 1ULL << 40 };
	struct te_mr_opts o = { .sz = sizeof(o), .flags = TE_MR_BASE };
	const char *name = te_unique_name();
	struct te_buffer buf[4];
	struct te_request r;
	uint32_t batch, mr[3];
	struct te_status st;
	size_t i, off;

	ASSERT_EQ(0, te_mr_register(self->p.ini, self->p.local.p, AREA,
				    TE_LOCAL_ALL, NULL, &mr[0]));
	for (i = 0; i < 3; i++) {
		o.base = bases[i];
		/* Lengths are less than a page, so 0 and 4096 do not overlap. */
		ASSERT_EQ(0, te_mr_register(self->p.tgt,
					    self->p.remote.p + i * 64 * KIB,
					    i < 2 ? 4000 : 50000,
					    TE_REMOTE_ALL, &o, &mr[i]));
	}
	ASSERT_EQ(0, te_segment_export(self->p.tgt, name, NULL));
	ASSERT_EQ(0, te_open_segment(self->p.ini, name, &self->p.seg));

	ASSERT_EQ(3, te_segment_info(self->p.ini, self->p.seg, buf, 4));
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(bases[i], buf[i].addr);
		EXPECT_EQ(i < 2 ? 4000 : 50000, buf[i].length);
		EXPECT_EQ(TE_REMOTE_ALL, buf[i].access);
		EXPECT_EQ(0, buf[i].reserved);
	}
	for (i = 0; i < 3; i++) {
		off = i * 64 * KIB + 10;
		r = pair_req(&self->p, TE_WRITE, off, off, 3000);
		pair_expect(&self->p, &r);
		r.remote_addr = bases[i] + 10;
		ASSERT_EQ(0, te_batch_alloc(self->p.ini, 1, NULL, &batch));
		EXPECT_EQ(0, te_submit(self->p.ini, batch, &r, 1));
		EXPECT_EQ(0, te_wait(self->p.ini, batch, TE_WAIT_MS));
		EXPECT_EQ(0, te_status(self->p.ini, batch, 0, &st));
		EXPECT_EQ(TE_COMPLETED, st.state);
		EXPECT_EQ(0, te_batch_free(self->p.ini, batch));
	}
	EXPECT_EQ(0, pair_check(&self->p));

	/* The owner's addresses mean nothing to its peers. */
	r = pair_req(&self->p, TE_WRITE, 0, 2 * 64 * KIB, 100);
	EXPECT_EQ(-ERANGE, pair_refuse(&self->p, &r));
	/* Another page offset could not be mapped by a NIC. */
	o.base = 1;
	EXPECT_EQ(-EINVAL, te_mr_register(self->p.tgt,
					  self->p.remote.p + 192 * KIB, 4096,
					  TE_REMOTE_ALL, &o, &mr[0]));
}

/* News of memory reaches a segment that is open already. */
TEST_F_TIMEOUT(regions, later_memory, SLOW)
{
	const char *name = te_unique_name();
	struct te_request r;
	uint32_t mr, later[2];

	ASSERT_EQ(0, te_mr_register(self->p.ini, self->p.local.p, AREA,
				    TE_LOCAL_ALL, NULL, &mr));
	ASSERT_EQ(0, te_segment_export(self->p.tgt, name, NULL));
	ASSERT_EQ(0, te_open_segment(self->p.ini, name, &self->p.seg));
	EXPECT_EQ(0, te_segment_info(self->p.ini, self->p.seg, NULL, 0));
	r = pair_req(&self->p, TE_WRITE, 0, 0, 100);
	EXPECT_EQ(-ERANGE, pair_refuse(&self->p, &r));

	ASSERT_EQ(0, te_mr_register(self->p.tgt, self->p.remote.p, 64 * KIB,
				    TE_REMOTE_ALL, NULL, &later[0]));
	ASSERT_EQ(0, te_await_buffers(self->p.ini, self->p.seg, 1));
	EXPECT_EQ(0, pair_xfer(&self->p, TE_WRITE, 5, 7, 60000));
	EXPECT_EQ(0, pair_xfer(&self->p, TE_READ, 100000, 7, 60000));

	ASSERT_EQ(0, te_mr_register(self->p.tgt, self->p.remote.p + 64 * KIB,
				    64 * KIB, TE_REMOTE_READ, NULL,
				    &later[1]));
	ASSERT_EQ(0, te_await_buffers(self->p.ini, self->p.seg, 2));
	EXPECT_EQ(0, pair_xfer(&self->p, TE_READ, 1, 60 * KIB, 8 * KIB));

	/* Memory for the owner alone is no news. */
	ASSERT_EQ(0, te_mr_register(self->p.tgt, self->p.remote.p + 128 * KIB,
				    64 * KIB, TE_LOCAL_READ, NULL, &mr));
	ASSERT_EQ(0, te_mr_unregister(self->p.tgt, later[0], 0));
	ASSERT_EQ(0, te_await_buffers(self->p.ini, self->p.seg, 1));
	r = pair_req(&self->p, TE_WRITE, 0, 0, 100);
	EXPECT_EQ(-ERANGE, pair_refuse(&self->p, &r));
	EXPECT_EQ(0, pair_check(&self->p));
}

/* A long description: more regions than fit any one message or page. */
TEST_F_TIMEOUT(regions, thousand, SLOW)
{
	enum { NR = 1000, EACH = 200 };
	static struct te_buffer buf[NR];
	const char *name = te_unique_name();
	struct te_request r;
	uint32_t mr;
	size_t i;

	ASSERT_EQ(0, te_mr_register(self->p.ini, self->p.local.p, AREA,
				    TE_LOCAL_ALL, NULL, &mr));
	for (i = 0; i < NR; i++)
		MUST(te_mr_register(self->p.tgt, self->p.remote.p + i * EACH,
				    EACH, TE_REMOTE_ALL, NULL, &mr));
	ASSERT_EQ(0, te_segment_export(self->p.tgt, name, NULL));
	ASSERT_EQ(0, te_open_segment(self->p.ini, name, &self->p.seg));
	ASSERT_EQ(NR, te_segment_info(self->p.ini, self->p.seg, buf, NR));
	for (i = 0; i < NR; i++) {
		ASSERT_EQ((uintptr_t)self->p.remote.p + i * EACH, buf[i].addr);
		ASSERT_EQ(EACH, buf[i].length);
	}
	EXPECT_EQ(0, pair_xfer(&self->p, TE_READ, 1, 150, 777));
	/* Many regions for one request, but there is an end to that. */
	for (i = 0; i + 200 <= NR; i += 200)
		EXPECT_EQ(0, pair_xfer(&self->p, TE_WRITE, i * EACH + 7,
				       i * EACH, 200 * EACH));
	r = pair_req(&self->p, TE_WRITE, 0, 0, NR * EACH);
	EXPECT_EQ(-E2BIG, pair_refuse(&self->p, &r));
}

/* So many that finding one must not mean looking at all. */
TEST_F_TIMEOUT(regions, ten_thousand, SLOW)
{
	/* No region on two pages: siw sends wrong bytes of a small such one. */
	enum { NR = 10000, EACH = 16 };
	const char *name = te_unique_name();
	uint32_t mr, at, i;

	ASSERT_EQ(0, te_mr_register(self->p.ini, self->p.local.p, AREA,
				    TE_LOCAL_ALL, NULL, &mr));
	/* In an order that is none. */
	for (i = 0; i < NR; i++) {
		at = i * 7919 % NR * EACH;
		MUST(te_mr_register(self->p.tgt, self->p.remote.p + at, EACH,
				    TE_REMOTE_ALL, NULL, &mr));
	}
	ASSERT_EQ(0, te_segment_export(self->p.tgt, name, NULL));
	ASSERT_EQ(0, te_open_segment(self->p.ini, name, &self->p.seg));
	ASSERT_EQ(NR, te_segment_info(self->p.ini, self->p.seg, NULL, 0));
	for (i = 0; i < 50; i++) {
		at = i * 3571 % NR * EACH;
		EXPECT_EQ(0, pair_xfer(&self->p, i & 1, i * 64, at, EACH));
	}
}

TEST_HARNESS_MAIN

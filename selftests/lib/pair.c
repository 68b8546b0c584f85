// SPDX-License-Identifier: GPL-2.0-only
/* pair: see pair.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/pair.h"

void te_url(char *url, size_t len, const char *name)
{
	snprintf(url, len, "%s/%s", te_peer_addr(), name);
}

int te_open_segment(struct te *te, const char *name, uint32_t *seg)
{
	struct te_segment_opts o = {
		.sz = sizeof(o),
		.timeout_ms = 30000,
	};
	char url[300];

	te_url(url, sizeof(url), name);
	return te_segment_open(te, url, &o, seg);
}

int te_open_segment_at(struct te *te, unsigned int n, const char *name,
		       uint32_t *seg)
{
	struct te_segment_opts o = {
		.sz = sizeof(o),
		.timeout_ms = TE_WAIT_MS,
	};
	char url[300];

	snprintf(url, sizeof(url), "127.77.%u.%u/%s", n / 250, n % 250 + 1,
		 name);
	return te_segment_open(te, url, &o, seg);
}

static int fail(const char *what, int ret)
{
	printf("# %s: %s (%d)\n", what, strerror(-ret), ret);
	return ret;
}

static int open_areas(struct pair *p, const struct pair_opts *o)
{
	int ret;

	ret = area_alloc(&p->local, o->local ?: 256 * KIB);
	if (!ret)
		ret = area_alloc(&p->remote, o->remote ?: 256 * KIB);
	if (ret)
		return fail("mmap", ret);
	area_fill(&p->local, 1);
	area_fill(&p->remote, 2);
	return 0;
}

static int open_target(struct pair *p, const struct pair_opts *o)
{
	int ret;

	ret = te_open(&p->tgt, NULL);
	if (ret)
		return fail("open of the target", ret);
	ret = te_mr_register(p->tgt, p->remote.p + p->margin,
			     p->remote.len - 2 * p->margin,
			     o->remote_access ?: TE_REMOTE_ALL, NULL, &p->rmr);
	if (ret)
		return fail("target's memory", ret);
	ret = te_segment_export(p->tgt, p->name, NULL);
	return ret ? fail("export", ret) : 0;
}

static int open_initiator(struct pair *p, const struct pair_opts *o)
{
	struct te_open_opts oo = {
		.sz = sizeof(oo),
		.cq_entries = o->cq_entries,
		.task_slots = o->task_slots,
	};
	int ret;

	ret = te_open(&p->ini, &oo);
	if (ret)
		return fail("open of the initiator", ret);
	ret = te_mr_register(p->ini, p->local.p + p->margin,
			     p->local.len - 2 * p->margin,
			     o->local_access ?: TE_LOCAL_ALL, NULL, &p->lmr);
	if (ret)
		return fail("initiator's memory", ret);
	ret = te_open_segment(p->ini, p->name, &p->seg);
	return ret ? fail(p->url, ret) : 0;
}

int pair_open(struct pair *p, const struct pair_opts *o)
{
	static const struct pair_opts defaults;
	int ret;

	o = o ?: &defaults;
	memset(p, 0, sizeof(*p));
	p->margin = o->margin ?: 8 * KIB;
	if (o->margin == ~0UL)
		p->margin = 0;
	snprintf(p->name, sizeof(p->name), "%s", te_unique_name());
	te_url(p->url, sizeof(p->url), p->name);

	ret = open_areas(p, o);
	if (!ret)
		ret = open_target(p, o);
	if (!ret)
		ret = open_initiator(p, o);
	if (ret)
		pair_close(p);
	return ret;
}

void pair_close(struct pair *p)
{
	if (p->ini)
		te_close(p->ini);
	if (p->tgt)
		te_close(p->tgt);
	area_free(&p->local);
	area_free(&p->remote);
	memset(p, 0, sizeof(*p));
}

struct te_request pair_req(const struct pair *p, uint32_t op, size_t lo,
			   size_t ro, size_t len)
{
	return (struct te_request) {
		.opcode = op,
		.segment = p->seg,
		.local_addr = (uintptr_t)p->local.p + lo,
		.remote_addr = (uintptr_t)p->remote.p + ro,
		.length = len,
	};
}

int pair_carry_only(const struct pair *p, const char *devs)
{
	struct te_topology_entry e[8] = {};
	struct te_ioc_topology_set set = { .size = sizeof(set) };
	int n = 0;

	for (; devs && *devs; devs += n) {
		struct te_topology_entry *entry = &e[set.nr++];

		strcpy((char *)entry->location, "*");
		sscanf(devs, "%63s %n", (char *)entry->device, &n);
	}
	if (set.nr)
		set.entries = (uintptr_t)e;
	return raw_ioctl(te_fd(p->ini), TE_IOC_TOPOLOGY_SET, &set);
}

void pair_expect(struct pair *p, const struct te_request *r)
{
	unsigned char *l = p->local.want +
			   (r->local_addr - (uintptr_t)p->local.p);
	unsigned char *m = p->remote.want +
			   (r->remote_addr - (uintptr_t)p->remote.p);

	if (r->opcode == TE_READ)
		memcpy(l, m, r->length);
	else
		memcpy(m, l, r->length);
}

int pair_check(const struct pair *p)
{
	int ret = area_check(&p->local, "local memory");

	return area_check(&p->remote, "remote memory") ?: ret;
}

/* Every task and the whole batch must have ended well. */
static int check_batch(struct pair *p, uint32_t batch,
		       const struct te_request *r, uint32_t n)
{
	struct te_status st;
	uint64_t sum = 0;
	uint32_t i;
	int ret;

	for (i = 0; i < n; i++) {
		ret = te_status(p->ini, batch, i, &st);
		if (ret)
			return fail("te_status", ret);
		if (st.state != TE_COMPLETED || st.error ||
		    st.bytes != r[i].length) {
			printf("# task %u of %u: state %u error %d bytes %llu of %llu\n",
			       i, n, st.state, st.error,
			       (unsigned long long)st.bytes,
			       (unsigned long long)r[i].length);
			return -EBADMSG;
		}
		sum += r[i].length;
	}
	ret = te_batch_status(p->ini, batch, &st);
	if (ret)
		return fail("te_batch_status", ret);
	if (st.state != TE_COMPLETED || st.error || st.bytes != sum) {
		printf("# batch: state %u error %d bytes %llu of %llu\n",
		       st.state, st.error, (unsigned long long)st.bytes,
		       (unsigned long long)sum);
		return -EBADMSG;
	}
	return 0;
}

int pair_run(struct pair *p, const struct te_request *r, uint32_t n)
{
	struct te_batch_opts o = {
		.sz = sizeof(o),
		.deadline_ms = 2 * TE_WAIT_MS,
	};
	uint32_t batch, i;
	int ret, ret2;

	ret = te_batch_alloc(p->ini, n, &o, &batch);
	if (ret)
		return fail("te_batch_alloc", ret);
	ret = te_submit(p->ini, batch, r, n);
	if (ret) {
		fail("te_submit", ret);
		goto out;
	}
	ret = te_wait(p->ini, batch, TE_WAIT_MS);
	if (ret) {
		fail("te_wait", ret);
		goto out;
	}
	ret = check_batch(p, batch, r, n);
	for (i = 0; i < n; i++)
		pair_expect(p, &r[i]);
	ret = pair_check(p) ?: ret;
out:
	ret2 = te_batch_free(p->ini, batch);
	if (ret2)
		fail("te_batch_free", ret2);
	return ret ?: ret2;
}

int pair_xfer(struct pair *p, uint32_t op, size_t lo, size_t ro, size_t len)
{
	struct te_request r = pair_req(p, op, lo, ro, len);

	return pair_run(p, &r, 1);
}

int pair_refuse(struct pair *p, const struct te_request *r)
{
	struct te_status st;
	uint32_t batch;
	int ret, ret2;

	ret = te_batch_alloc(p->ini, 1, NULL, &batch);
	if (ret)
		return fail("te_batch_alloc", ret);
	ret = te_submit(p->ini, batch, r, 1);
	if (!ret)
		te_wait(p->ini, batch, TE_WAIT_MS);
	else if (te_batch_status(p->ini, batch, &st) || st.state != TE_WAITING)
		ret = fail("batch has something after a refusal", -EBADMSG);
	ret2 = te_batch_free(p->ini, batch);
	if (ret2)
		return fail("te_batch_free", ret2);
	return ret;
}

int pair_move(struct pair *p, uint32_t op, void *mem, size_t ro, size_t len)
{
	struct te_request r = pair_req(p, op, 0, ro, len);
	struct te_status st = { .state = TE_INVALID };
	uint32_t batch;
	int ret;

	r.local_addr = (uintptr_t)mem;
	ret = te_batch_alloc(p->ini, 1, NULL, &batch);
	if (ret)
		return ret;
	ret = te_submit(p->ini, batch, &r, 1);
	if (!ret)
		ret = te_wait(p->ini, batch, TE_WAIT_MS);
	if (!ret)
		ret = te_status(p->ini, batch, 0, &st);
	te_batch_free(p->ini, batch);
	if (ret)
		return ret;
	return st.state == TE_COMPLETED && st.bytes == len ? 0 : -EBADMSG;
}

int pair_use(struct pair *p, unsigned char *mem, size_t len)
{
	uint32_t mr;
	int ret;

	ret = te_mr_register(p->ini, mem, len, TE_LOCAL_ALL, NULL, &mr);
	if (ret)
		return ret;
	ret = pair_move(p, TE_READ, mem, 0, len);
	if (!ret && memcmp(mem, p->remote.p, len))
		ret = -EILSEQ;
	pattern_fill(mem, len, 77);
	if (!ret)
		ret = pair_move(p, TE_WRITE, mem, len, len);
	if (!ret && pattern_check(p->remote.p + len, len, 77) != -1)
		ret = -EBADMSG;
	return te_mr_unregister(p->ini, mr, 0) ?: ret;
}

int te_await_buffers(struct te *te, uint32_t seg, int n)
{
	unsigned long long end = te_now_ms() + TE_WAIT_MS;
	int is;

	while ((is = te_segment_info(te, seg, NULL, 0)) != n) {
		if (is < 0 || te_now_ms() > end) {
			printf("# segment has %d regions, not %d\n", is, n);
			return is < 0 ? is : -ETIME;
		}
		te_sleep_ms(2);
	}
	return 0;
}

int te_await_gone(struct te *te, uint32_t seg)
{
	unsigned long long end = te_now_ms() + TE_WAIT_MS;
	int ret;

	while ((ret = te_segment_info(te, seg, NULL, 0)) >= 0) {
		if (te_now_ms() > end)
			return -ETIME;
		te_sleep_ms(1);
	}
	return ret;
}

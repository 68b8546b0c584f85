// SPDX-License-Identifier: GPL-2.0-only
/*
 * One of two wires flaps once a second, for a minute, under load: no task fails,
 * no byte is wrong, and there are as many QPs and as much kernel memory in use as
 * before. `--net rails`, at native speed: elsewhere a NIC takes half a minute to go.
 *
 * A flap is in turn a link that goes down for a while, and a wire that loses all
 * for a while. rxe's GSI QP does not outlive a CM message that it could not send
 * for want of a carrier, so its devices are made anew once the link is back; what
 * is lost on the wire it does not notice. The wires are slow, so that a CPU is left
 * for that; where it takes more than a second even so, the next one follows at once.
 */
#include <stdio.h>

#include "lib/test.h"
#include "lib/go.h"
#include "lib/wires.h"

#define LEN	(200 * KIB)
#define NR	200
#define MINUTE	60
/* Caches of the kernel grow by themselves; a leak of a QP in each flap is more. */
#define SLACK_KIB 1024

/*
 * A rail of each of the four NICs, with an endpoint in use and one that drains;
 * two QPs at both ends of each.
 */
#define MOST_QPS (4 * 2 * 2 * 2)

#define RATE(rate) NETEM("a") rate " && " NETEM("b") rate " && " \
		   NETEM("c") rate " && " NETEM("d") rate

static const char *const flaps[] = {
	"ip link set vd down && sleep 0.3 && ip link set vd up && "
	SETTLED " && " ANEW,
	NETEM("c") "loss 100% && " NETEM("d") "loss 100% && sleep 0.3 && "
	NETEM("c") "loss 0 && " NETEM("d") "loss 0",
};

FIXTURE(flap)
{
	struct pair p;
};

FIXTURE_SETUP(flap)
{
	ASSERT_EQ(0, te_settle_all());
	ASSERT_EQ(0, system(RATE("rate 80mbit")));
}

FIXTURE_TEARDOWN(flap)
{
	EXPECT_EQ(0, system(RATE("rate 0")));
	pair_close(&self->p);
	CLEAN();
}

/* @took: of the longest flap, ms */
struct flapper {
	struct go go;
	int times;
	unsigned int took;
	bool done;
};

static int flap(void *arg)
{
	struct flapper *f = arg;
	unsigned long long from, took;
	int ret = 0, i;

	for (i = 0; i < f->times && !ret; i++) {
		from = te_now_ms();
		ret = system(flaps[i % ROWS(flaps)]) ? -EIO : 0;
		took = te_now_ms() - from;
		if (took > f->took)
			f->took = took;
		if (took < 1000)
			te_sleep_ms(1000 - took);
	}
	__atomic_store_n(&f->done, true, __ATOMIC_RELEASE);
	return ret;
}

/* What the kernel has allocated and nobody could make it give back. */
static long kernel_kib(void)
{
	static const char *const kinds[] = {
		"SUnreclaim", "KernelStack", "PageTables", "VmallocUsed",
		"Percpu",
	};
	FILE *f = fopen("/proc/meminfo", "re");
	long sum = 0, kib;
	char line[128];
	size_t i;

	while (f && fgets(line, sizeof(line), f)) {
		for (i = 0; i < ROWS(kinds); i++) {
			size_t n = strlen(kinds[i]);

			if (!strncmp(line, kinds[i], n) &&
			    sscanf(line + n, ": %ld", &kib) == 1)
				sum += kib;
		}
	}
	if (f)
		fclose(f);
	return sum;
}

/* Work while it flaps. @rounds: batches. Return: most QPs seen, or -errno. */
static int work(struct pair *p, int times, unsigned int *rounds)
{
	struct flapper f = { .times = times };
	struct te_rdma r;
	struct load l;
	int ret, most = 0;

	ret = go_start(&f.go, flap, &f);
	for (*rounds = 0; !ret && !__atomic_load_n(&f.done, __ATOMIC_ACQUIRE);
	     ++*rounds) {
		/* Other bytes each time. */
		area_fill(&p->local, 2 * *rounds);
		area_fill(&p->remote, 2 * *rounds + 1);
		ret = load_start(&l, p, *rounds & 1, NR, LEN);
		ret = ret ?: load_end(&l);
		ret = ret < 0 ? ret : te_rdma(&r);
		if (!ret && r.qp > most)
			most = r.qp;
	}
	while (!__atomic_load_n(&f.done, __ATOMIC_ACQUIRE))
		te_sleep_ms(10);
	printf("# the longest flap took %u ms\n", f.took);
	return ret ?: go_wait(&f.go) ?: most;
}

/* All of it, and quiet again. */
static void session(struct __test_metadata *_metadata, FIXTURE_DATA(flap) *self,
		    int times)
{
	struct pair_opts o = { .cq_entries = 2048, .task_slots = 2048 };
	unsigned long long ab, cd;
	unsigned int rounds = 0;
	struct te_rdma idle;
	int most;

	ASSERT_EQ(0, te_rdma(&idle));
	ASSERT_EQ(0, pair_open(&self->p, &o));
	ASSERT_LE(0, wire_await(&self->p, "cd"));
	ab = wire_carried("ab");
	cd = wire_carried("cd");
	most = work(&self->p, times, &rounds);
	ab = wire_carried("ab") - ab;
	cd = wire_carried("cd") - cd;
	TH_LOG("%d flaps: %u batches of %d, %d QPs at most, %ld idle", times,
	       rounds, NR, most, idle.qp);
	TH_LOG("%llu bytes over the one, %llu over the one that flaps", ab, cd);
	EXPECT_LT(idle.qp, most);
	EXPECT_GE(idle.qp + MOST_QPS, most);
	EXPECT_LT(0, cd);
	EXPECT_LE(0, wire_await(&self->p, "cd"));
	pair_close(&self->p);
	ASSERT_EQ(0, te_settle_all());
}

TEST_F_TIMEOUT(flap, once_a_second, SLOW)
{
	struct te_rdma base;
	long before, after;

	session(_metadata, self, 4);
	ASSERT_EQ(0, te_rdma(&base));
	before = kernel_kib();
	session(_metadata, self, MINUTE);
	EXPECT_EQ(0, te_rdma_settle(&base));
	after = kernel_kib();
	TH_LOG("kernel memory: %ld KiB before, %ld KiB afterwards", before,
	       after);
	EXPECT_GT(before + SLACK_KIB, after);
}

TEST_HARNESS_MAIN

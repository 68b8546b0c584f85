// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP data over a network that loses, repeats, damages, reorders and delays
 * packets, by IPv4 and IPv6, and what much work leaves behind. netem on lo, over
 * which this node talks to itself, control connections too.
 */
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "lib/test.h"
#include "lib/wires.h"

#define LEN	(64 * KIB)
#define NR	16U
/* So often each way: enough packets that some of them meet with it. */
#define TIMES	(native() ? 8 : 2)

FIXTURE(lossy)
{
	struct pair p;
};

FIXTURE_SETUP(lossy)
{
	struct pair_opts o = { .local = 2 * MIB, .remote = 2 * MIB };

	ASSERT_EQ(0, setenv("TE_TRANSPORT", "tcp", 1));
	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, pair_open(&self->p, &o));
}

FIXTURE_TEARDOWN(lossy)
{
	pair_close(&self->p);
	CLEAN();
	EXPECT_EQ(0, te_settle_all());
}

static int netem(const char *how)
{
	char cmd[200];

	/* A packet is what would be one on a wire. */
	if (!how)
		return system("tc qdisc del dev lo root && "
			      "ip link set lo mtu 65536 gso_max_segs 65535");
	snprintf(cmd, sizeof(cmd), "ip link set lo mtu 9000 gso_max_segs 1 && "
		 "tc qdisc add dev lo root netem limit 10000 %s", how);
	return system(cmd);
}

/* Batches of requests side by side, all bytes compared. */
static int move(struct pair *p, uint32_t op)
{
	struct te_request r[NR];
	int times, ret = 0;
	uint32_t i;

	for (times = 0; times < TIMES && !ret; times++) {
		area_fill(&p->local, 10 + times);
		for (i = 0; i < NR; i++)
			r[i] = pair_req(p, op, 9 * KIB + i * LEN,
					12345 + i * LEN, LEN);
		ret = pair_run(p, r, NR);
	}
	return ret;
}

static const char *const networks[] = {
	"loss 1%", "loss 10%", "duplicate 10%", "corrupt 1%",
	"delay 10ms 5ms reorder 25% 50%", "delay 200ms",
	"loss 1% duplicate 1% delay 5ms 5ms",
};

TEST_F_TIMEOUT(lossy, networks, SLOW)
{
	unsigned long long from;
	size_t i;

	for (i = 0; i < ROWS(networks); i++) {
		from = te_now_ms();
		MUST(netem(networks[i]));
		EXPECT_ROW(0, move(&self->p, TE_WRITE), "%s", networks[i]);
		EXPECT_ROW(0, move(&self->p, TE_READ), "%s", networks[i]);
		MUST(netem(NULL));
		TH_LOG("%s: %llu ms", networks[i], te_now_ms() - from);
	}
}

/* It begins on such a network, too: sessions, lanes, and their ends. */
TEST_F_TIMEOUT(lossy, from_the_start, SLOW)
{
	struct pair *p = &self->p;
	size_t i;

	for (i = 0; i < ROWS(networks); i++) {
		MUST(netem(networks[i]));
		pair_close(p);
		EXPECT_ROW(0, te_settle_all(), "%s", networks[i]);
		MUST(pair_open(p, NULL));
		EXPECT_ROW(0, pair_xfer(p, TE_WRITE, 9 * KIB, 8 * KIB, 100000),
			   "%s", networks[i]);
		MUST(netem(NULL));
	}
}

static int waiting(void)
{
	FILE *f = fopen("/proc/net/sockstat", "re");
	char line[200];
	int tw = -1;

	while (f && tw < 0 && fgets(line, sizeof(line), f))
		if (sscanf(line, "TCP: inuse %*d orphan %*d tw %d", &tw) != 1)
			tw = -1;
	if (f)
		fclose(f);
	return tw;
}

/* Connections last: they are not made for each request. */
TEST_F_TIMEOUT(lossy, time_wait, SLOW)
{
	uint32_t n = native() ? 100000 : 10000, i;
	struct te_request r[100];

	for (i = 0; i < ROWS(r); i++)
		r[i] = pair_req(&self->p, i & 1 ? TE_READ : TE_WRITE,
				8 * KIB + i * 4 * KIB, 8 * KIB + i * 4 * KIB,
				4 * KIB);
	for (i = 0; i < n; i += ROWS(r))
		MUST(pair_run(&self->p, r, ROWS(r)));
	EXPECT_LE(0, waiting());
	EXPECT_GT(100, waiting());
}

/* Sequence numbers of each lane come round; every batch is compared. */
TEST_F_TIMEOUT(lossy, beyond_4_gib, SLOW)
{
	enum { EACH = 1600 * KIB, TASKS = 1000, LANES = 4 };
	uint64_t want = native() ? LANES * 5000 * MIB : 0, moved = 0;
	struct load l;
	uint32_t op = TE_WRITE;

	do {
		MUST(load_start(&l, &self->p, op, TASKS, EACH));
		MUST(load_end(&l) < 0);
		moved += (uint64_t)TASKS * EACH;
		op = op == TE_READ ? TE_WRITE : TE_READ;
	} while (moved < 2 * want);
}

/* Of a link, with it: what "host" in a url has to be between brackets. */
static int link_local(char *host, size_t len)
{
	struct ifaddrs *list, *a;
	int ret = -ENOENT;

	if (getifaddrs(&list))
		return -errno;
	for (a = list; a && ret; a = a->ifa_next) {
		const struct sockaddr_in6 *sin6 = (void *)a->ifa_addr;

		if (sin6 && sin6->sin6_family == AF_INET6 &&
		    IN6_IS_ADDR_LINKLOCAL(&sin6->sin6_addr))
			ret = getnameinfo(a->ifa_addr, sizeof(*sin6), host, len,
					  NULL, 0, NI_NUMERICHOST);
	}
	freeifaddrs(list);
	return ret;
}

static int open_host(struct pair *p, const char *host, uint32_t *seg)
{
	struct te_segment_opts o = {
		.sz = sizeof(o), .transport = TE_TCP, .timeout_ms = TE_WAIT_MS,
	};
	char url[200];

	snprintf(url, sizeof(url), "%s/%s", host, p->name);
	return te_segment_open(p->ini, url, &o, seg);
}

TEST_F_TIMEOUT(lossy, addresses, SLOW)
{
	char local[INET6_ADDRSTRLEN + IF_NAMESIZE + 1];
	char of_link[sizeof(local) + 2];
	const char *const hosts[] = {
		"[::1]", "127.0.0.1", "localhost", of_link,
	};
	uint32_t seg, own = self->p.seg;
	size_t i;

	ASSERT_EQ(0, link_local(local, sizeof(local)));
	ASSERT_NE(NULL, strchr(local, '%'));
	snprintf(of_link, sizeof(of_link), "[%s]", local);
	for (i = 0; i < ROWS(hosts); i++) {
		ASSERT_EQ(0, open_host(&self->p, hosts[i], &seg)) {
			TH_LOG("%s", hosts[i]);
		}
		self->p.seg = seg;
		EXPECT_ROW(0, move(&self->p, TE_WRITE), "%s", hosts[i]);
		EXPECT_ROW(0, move(&self->p, TE_READ), "%s", hosts[i]);
		self->p.seg = own;
		MUST(te_segment_close(self->p.ini, seg));
	}
	/* On which link? There is no way without. */
	*strchr(local, '%') = '\0';
	snprintf(of_link, sizeof(of_link), "[%s]", local);
	EXPECT_EQ(-ENETUNREACH, open_host(&self->p, of_link, &seg));
}

TEST_HARNESS_MAIN

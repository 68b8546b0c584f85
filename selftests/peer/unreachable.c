// SPDX-License-Identifier: GPL-2.0-only
/*
 * Opening a segment of somebody who does not answer, answers nonsense or hangs
 * up: an errno within the time-out that was given, nothing left behind, and
 * other work not delayed.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/test.h"
#include "lib/pair.h"
#include "lib/sock.h"

FIXTURE(unreachable)
{
	struct pair p;
	struct te_ioc_stats base;
	int listener, filler;
	uint16_t port;
};

FIXTURE_SETUP(unreachable)
{
	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, pair_open(&self->p, NULL));
	ASSERT_EQ(0, te_stats(&self->base));
	self->listener = -1;
}

FIXTURE_TEARDOWN(unreachable)
{
	pair_close(&self->p);
	CLEAN();
}

static int try(struct te *te, uint16_t port, int timeout_ms)
{
	struct te_segment_opts o = {
		.sz = sizeof(o),
		.timeout_ms = timeout_ms,
	};
	char url[64];
	uint32_t seg;

	snprintf(url, sizeof(url), "%s:%u/name", te_peer_addr(), port);
	return te_segment_open(te, url, &o, &seg);
}

/*
 * A listener whose queue is full drops every further SYN: to a connecting peer
 * that is a host which does not exist. Returns its port.
 */
static int black_hole(int *listener, int *filler, uint16_t *port)
{
	*port = 0;
	*listener = sock_listen(0, port);
	if (*listener < 0)
		return *listener;
	*filler = sock_connect(te_peer_addr(), *port);
	return *filler < 0 ? *filler : 0;
}

TEST_F_TIMEOUT(unreachable, black_hole, SLOW)
{
	static const int timeouts[] = { 300, 1500 };
	unsigned long long from, took;
	size_t i;

	ASSERT_EQ(0, black_hole(&self->listener, &self->filler, &self->port));
	for (i = 0; i < ROWS(timeouts); i++) {
		from = te_now_ms();
		EXPECT_EQ(-ETIMEDOUT, try(self->p.ini, self->port,
					  timeouts[i]));
		took = te_now_ms() - from;
		EXPECT_LE(timeouts[i] - 20, (long)took);
		EXPECT_GE(timeouts[i] + 10000, (long)took);
	}
	EXPECT_EQ(0, te_settle_to(&self->base));
	close(self->filler);
	close(self->listener);
}

struct opener {
	struct te *te;
	uint16_t port;
	int timeout_ms, ret;
	bool done;
};

static void *open_thread(void *arg)
{
	struct opener *o = arg;

	o->ret = try(o->te, o->port, o->timeout_ms);
	__atomic_store_n(&o->done, true, __ATOMIC_RELEASE);
	return NULL;
}

/* Transfers, opens and closes go on while one open waits for nobody. */
TEST_F_TIMEOUT(unreachable, delays_nobody, SLOW)
{
	struct opener o = { .te = self->p.ini, .timeout_ms = 20000 };
	unsigned int rounds = 0;
	pthread_t t;
	uint32_t seg;

	ASSERT_EQ(0, black_hole(&self->listener, &self->filler, &o.port));
	ASSERT_EQ(0, pthread_create(&t, NULL, open_thread, &o));
	te_sleep_ms(50);
	while (rounds < 20) {
		ASSERT_EQ(0, pair_xfer(&self->p, rounds & 1, 8 * KIB + rounds,
				       9 * KIB, 100000));
		ASSERT_EQ(0, te_open_segment(self->p.ini, self->p.name, &seg));
		ASSERT_EQ(0, te_segment_close(self->p.ini, seg));
		rounds++;
	}
	EXPECT_FALSE(__atomic_load_n(&o.done, __ATOMIC_ACQUIRE));
	pthread_join(t, NULL);
	EXPECT_EQ(-ETIMEDOUT, o.ret);
	close(self->filler);
	close(self->listener);
}

static void ignore(int sig)
{
	(void)sig;
}

TEST_F_TIMEOUT(unreachable, signal_ends_the_wait, SLOW)
{
	struct sigaction sa = { .sa_handler = ignore };
	pid_t pid;
	int i;

	ASSERT_EQ(0, sigaction(SIGUSR1, &sa, NULL));
	ASSERT_EQ(0, black_hole(&self->listener, &self->filler, &self->port));
	pid = fork();
	ASSERT_LE(0, pid);
	for (i = 0; !pid && i < 1000; i++) {
		te_sleep_ms(100);
		kill(getppid(), SIGUSR1);
	}
	if (!pid)
		_exit(0);
	EXPECT_EQ(-EINTR, try(self->p.ini, self->port, 200000));
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, NULL, 0));
	EXPECT_EQ(0, te_settle_to(&self->base));
	close(self->filler);
	close(self->listener);
}

/* How a peer that accepts goes on. */
struct answerer {
	int listener;
	const void *say;
	size_t len;
	bool hang_up;
	bool stop;
};

static void *answer(void *arg)
{
	struct answerer *a = arg;
	int fd[16], n = 0;

	while (n < 16 && (fd[n] = accept(a->listener, NULL, NULL)) >= 0) {
		if (a->stop)
			break;
		if (a->len)
			sock_send(fd[n], a->say, a->len);
		if (a->hang_up)
			close(fd[n]);
		else
			n++;
	}
	while (n > 0)
		close(fd[--n]);
	return NULL;
}

static const char http[] = "HTTP/1.0 400 Bad Request\r\nServer: x\r\n\r\n";
static const unsigned char zeros[4096];

static const struct {
	const char *desc;
	const void *say;
	size_t len;
	bool hang_up;
	int want[4];
} rows[] = {
	{ "accepts and is silent", NULL, 0, false, { -ETIMEDOUT } },
	{ "accepts and hangs up", NULL, 0, true,
	  { -ECONNRESET, -ETIMEDOUT, -EPROTO } },
	{ "another protocol", http, sizeof(http) - 1, false, { -EPROTO } },
	{ "zeros", zeros, sizeof(zeros), false, { -EPROTO } },
	{ "half a header and silence", zeros, 5, false,
	  { -ETIMEDOUT, -EPROTO } },
	{ "half a header and the end", zeros, 5, true,
	  { -ECONNRESET, -EPROTO } },
};

TEST_F_TIMEOUT(unreachable, odd_answers, SLOW)
{
	unsigned long long from;
	pthread_t t;
	size_t i, k;
	int ret, fd;

	for (i = 0; i < ROWS(rows); i++) {
		struct answerer a = {
			.say = rows[i].say, .len = rows[i].len,
			.hang_up = rows[i].hang_up,
		};
		bool good = false;

		self->port = 0;
		a.listener = sock_listen(8, &self->port);
		ASSERT_LE(0, a.listener);
		ASSERT_EQ(0, pthread_create(&t, NULL, answer, &a));
		from = te_now_ms();
		ret = try(self->p.ini, self->port, 1000);
		EXPECT_ROW(true, te_now_ms() - from < 11000, "%s",
			   rows[i].desc);
		for (k = 0; k < 4 && rows[i].want[k]; k++)
			good |= ret == rows[i].want[k];
		EXPECT_ROW(true, good, "%s: %d", rows[i].desc, ret);
		EXPECT_ROW(0, te_settle_to(&self->base), "%s", rows[i].desc);
		a.stop = true;
		fd = sock_connect(te_peer_addr(), self->port);
		pthread_join(t, NULL);
		close(fd);
		close(a.listener);
	}
	EXPECT_EQ(0, pair_xfer(&self->p, TE_READ, 8 * KIB, 8 * KIB, 100000));
}

TEST_F_TIMEOUT(unreachable, nobody_listens, SLOW)
{
	struct te_segment_opts o = { .sz = sizeof(o), .timeout_ms = 3000 };
	uint32_t seg;
	int ret;

	EXPECT_EQ(-ECONNREFUSED, try(self->p.ini, 9, 5000));
	/* TEST-NET-2: no host has such an address. */
	ret = te_segment_open(self->p.ini, "198.51.100.1/name", &o, &seg);
	EXPECT_TRUE(ret == -ENETUNREACH || ret == -EHOSTUNREACH ||
		    ret == -ETIMEDOUT) {
		TH_LOG("%d", ret);
	}
	EXPECT_EQ(0, te_settle_to(&self->base));
}

/* Failures do not stick: as soon as somebody exports, the same url works. */
TEST_F_TIMEOUT(unreachable, then_it_is_there, SLOW)
{
	const char *name = te_unique_name();
	uint32_t seg, i;
	struct raw r;

	/* Nobody listens at all, once no context exports. */
	pair_close(&self->p);
	ASSERT_EQ(0, te_settle_all());
	ASSERT_EQ(0, raw_open(&r, 0, 0));
	for (i = 0; i < 5; i++)
		EXPECT_EQ(-ECONNREFUSED, raw_segment(r.fd, name, &seg));
	ASSERT_EQ(0, pair_open(&self->p, NULL));
	for (i = 0; i < 5; i++)
		EXPECT_EQ(-ENOENT, raw_segment(r.fd, name, &seg));
	EXPECT_EQ(0, raw_export(r.fd, name));
	EXPECT_EQ(0, raw_segment(r.fd, name, &seg));
	EXPECT_EQ(0, raw_segment(r.fd, self->p.name, &seg));
	raw_close(&r);
}

TEST_HARNESS_MAIN

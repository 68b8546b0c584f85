// SPDX-License-Identifier: GPL-2.0-only
/*
 * The nth allocation of who loads te fails: either there is an error, and nothing
 * of te, or te is there, perhaps without some device. Nothing is left then, and
 * the next load has it all.
 *
 * There are many before te's own first one, and a load takes its time: the greater
 * n, the longer the steps. run.sh gives the path of te.ko in TE_MODULE.
 */
#include <unistd.h>

#include "lib/test.h"
#include "lib/module.h"
#include "lib/nth.h"
#include "lib/pair.h"

#define LEN	100000
/* Far more than a load asks for. */
#define MANY	5000
#define QUIET	3

FIXTURE(nth_load)
{
	char params[64];
	struct te_rdma none;
};

FIXTURE_SETUP(nth_load)
{
	nth_start();
	ASSERT_EQ(0, te_settle_all());
	ASSERT_EQ(0, module_qp_timeout(self->params, sizeof(self->params)));
	ASSERT_EQ(0, module_unload_soon());
	ASSERT_EQ(0, te_rdma(&self->none));
	nth_count_allocations(true);
}

FIXTURE_TEARDOWN(nth_load)
{
	nth_stop();
	if (access(TE_DEVICE, F_OK))
		EXPECT_EQ(0, module_load(self->params));
	CLEAN();
}

/* Moves bytes: 0, or an error that says that there was no way. */
static int use(bool all_there)
{
	struct te_status st;
	struct te_request r;
	uint32_t batch;
	struct pair p;
	int ret;

	ret = pair_open(&p, NULL);
	if (ret)
		return ret;
	if (all_there) {
		ret = pair_xfer(&p, TE_WRITE, 9 * KIB, 10 * KIB, LEN);
		pair_close(&p);
		return ret;
	}
	r = pair_req(&p, TE_READ, 9 * KIB, 10 * KIB, LEN);
	ret = te_batch_alloc(p.ini, 1, NULL, &batch) ?:
	      te_submit(p.ini, batch, &r, 1) ?:
	      te_wait(p.ini, batch, TE_WAIT_MS) ?:
	      te_status(p.ini, batch, 0, &st);
	if (!ret && st.state == TE_COMPLETED) {
		pair_expect(&p, &r);
		ret = pair_check(&p);
	} else if (!ret) {
		ret = st.error;
	}
	pair_close(&p);
	return ret;
}

TEST_F_TIMEOUT(nth_load, load, SLOW)
{
	unsigned int n, quiet = 0, refused = 0;
	bool hit;
	int ret;

	for (n = 1; n < MANY && quiet < QUIET; n += 1 + n / 25) {
		nth_arm(n);
		ret = module_load(self->params);
		hit = nth_struck();
		quiet = hit ? 0 : quiet + 1;
		refused += ret != 0;
		EXPECT_TRUE(!ret || (hit && (ret == -ENOMEM ||
					     ret == -EFAULT))) {
			TH_LOG("case: n %u: %d", n, ret);
		}
		if (ret) {
			EXPECT_ROW(-1, access(TE_DEVICE, F_OK), "n %u", n);
			EXPECT_ROW(-1, access("/sys/module/te", F_OK), "n %u",
				   n);
			MUST(module_load(self->params));
			hit = false;
		}
		ret = use(!hit);
		EXPECT_TRUE(!ret || (hit && ret == -ENXIO)) {
			TH_LOG("case: n %u: %d", n, ret);
		}
		EXPECT_ROW(0, te_settle(), "n %u", n);
		MUST(module_unload_soon());
		EXPECT_ROW(0, te_rdma_settle(&self->none), "n %u", n);
	}
	EXPECT_EQ(QUIET, quiet);
	EXPECT_LT(0, refused);
}

TEST_HARNESS_MAIN

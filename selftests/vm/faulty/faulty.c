// SPDX-License-Identifier: GPL-2.0-only
/*
 * Misbehaves on demand, so that the guest harness can be seen to notice:
 *
 *	echo hung >/sys/module/te/parameters/fault
 *
 * commits the fault in the context of the writer. Never load it anywhere but in
 * a guest.
 */
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <rdma/ib_verbs.h>

/* Longer than any watchdog the self-test sets. */
#define FAULT_SECONDS	12

static void spin(void)
{
	unsigned long end = jiffies + FAULT_SECONDS * HZ;

	while (time_before(jiffies, end))
		cpu_relax();
}

static void fault_warn(void)
{
	WARN_ON(1);
}

static void fault_bug(void)
{
	BUG();
}

static void fault_oops(void)
{
	/* not NULL: the compiler would see that and trap */
	WRITE_ONCE(*(int *)8, 1);
}

static void fault_refcount(void)
{
	refcount_t count = REFCOUNT_INIT(0);

	refcount_inc(&count);
}

static void fault_atomic(void)
{
	local_bh_disable();
	schedule_timeout_uninterruptible(1);
	local_bh_enable();
}

static void fault_hung(void)
{
	schedule_timeout_uninterruptible(FAULT_SECONDS * HZ);
}

static void fault_softlockup(void)
{
	preempt_disable();
	spin();
	preempt_enable();
}

static struct rcu_head waiting;

static void waited(struct rcu_head *head)
{
}

/* A stall is only seen when somebody waits for the grace period. */
static void fault_rcu(void)
{
	call_rcu(&waiting, waited);
	rcu_read_lock();
	spin();
	rcu_read_unlock();
}

static void fault_busy(void)
{
	__module_get(THIS_MODULE);
}

static int leak_pd(struct ib_device *device)
{
	return PTR_ERR_OR_ZERO(ib_alloc_pd(device, 0));
}

/* Registered only to be told of the devices there are. */
static struct ib_client leaker = { .name = "te_faulty", .add = leak_pd };

static void fault_leak(void)
{
	if (!ib_register_client(&leaker))
		ib_unregister_client(&leaker);
}

static const struct {
	const char *name;
	void (*commit)(void);
} faults[] = {
	{ "warn", fault_warn },
	{ "bug", fault_bug },
	{ "oops", fault_oops },
	{ "refcount", fault_refcount },
	{ "atomic", fault_atomic },
	{ "hung", fault_hung },
	{ "softlockup", fault_softlockup },
	{ "rcu", fault_rcu },
	{ "busy", fault_busy },
	{ "leak", fault_leak },
};

static int fault_set(const char *name, const struct kernel_param *kp)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(faults); i++) {
		if (!sysfs_streq(name, faults[i].name))
			continue;
		faults[i].commit();
		return 0;
	}
	return -EINVAL;
}

static const struct kernel_param_ops fault_ops = { .set = fault_set };
module_param_cb(fault, &fault_ops, NULL, 0200);
MODULE_PARM_DESC(fault, "what to do wrong, see faults[]");

static int __init faulty_init(void)
{
	return 0;
}
module_init(faulty_init);

static void __exit faulty_exit(void)
{
	rcu_barrier();
}
module_exit(faulty_exit);

MODULE_DESCRIPTION("Misbehaving stand-in for te");
MODULE_LICENSE("GPL");

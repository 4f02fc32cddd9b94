// SPDX-License-Identifier: GPL-2.0
/*
 * Publishes pending-I/O hints whose I/O never completes
 *
 * Some time after loading, when all that loading a module entails has calmed
 * down, and until it is unloaded, CPU "cpu" has a hint pending: nothing else
 * happens for it.  CPU "by" publishes it, and then sends "cpu" one interrupt, so
 * that it looks: if it was asleep with its tick stopped, it goes back to sleep
 * with its tick stopped, and only the hint's own timer gets it out of the
 * shallow state.
 *
 * With "wake", to interrupt the CPU or not is up to the hint.  "times" is then
 * how many are published, one a millisecond.
 */

#include <linux/cpu.h>
#include <linux/cpuidle_io_hint.h>
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/smp.h>
#include <linux/workqueue.h>

static unsigned int cpu;
module_param(cpu, uint, 0444);
MODULE_PARM_DESC(cpu, "CPU to publish for");

static unsigned int by;
module_param(by, uint, 0444);
MODULE_PARM_DESC(by, "CPU that publishes");

static unsigned int delay_ms;
module_param(delay_ms, uint, 0444);
MODULE_PARM_DESC(delay_ms, "Time after loading when it does, in ms");

static unsigned int limit_us;
module_param(limit_us, uint, 0444);
MODULE_PARM_DESC(limit_us, "Limit of the hint, in us");

static unsigned int timeout_us;
module_param(timeout_us, uint, 0444);
MODULE_PARM_DESC(timeout_us, "Timeout of the hint, in us");

static bool wake;
module_param(wake, bool, 0444);
MODULE_PARM_DESC(wake, "Let the hint wake the CPU, rather than interrupt it");

static unsigned int times = 1;
module_param(times, uint, 0444);
MODULE_PARM_DESC(times, "How many hints to publish");

static int test_io_hint_class;
static unsigned int test_io_hint_published;

static void test_io_hint_look(void *unused)
{
}

static void test_io_hint_work_fn(struct work_struct *work)
{
	for (;;) {
		cpuidle_io_hint_publish(test_io_hint_class, cpu, wake);
		if (++test_io_hint_published == times)
			break;
		fsleep(USEC_PER_MSEC);
	}
	if (!wake)
		smp_call_function_single(cpu, test_io_hint_look, NULL, 1);
}

static DECLARE_DELAYED_WORK(test_io_hint_work, test_io_hint_work_fn);

static int __init test_io_hint_init(void)
{
	if (cpu >= nr_cpu_ids || !cpu_possible(cpu) ||
	    by >= nr_cpu_ids || !cpu_online(by) || !times)
		return -EINVAL;

	test_io_hint_class = cpuidle_io_hint_get((u64)limit_us * NSEC_PER_USEC,
						 (u64)timeout_us * NSEC_PER_USEC,
						 0);
	if (test_io_hint_class < 0)
		return test_io_hint_class;

	schedule_delayed_work_on(by, &test_io_hint_work,
				 msecs_to_jiffies(delay_ms));

	return 0;
}

static void __exit test_io_hint_exit(void)
{
	cancel_delayed_work_sync(&test_io_hint_work);
	while (test_io_hint_published--)
		cpuidle_io_hint_withdraw(test_io_hint_class, cpu);
	cpuidle_io_hint_put(test_io_hint_class);
}

module_init(test_io_hint_init);
module_exit(test_io_hint_exit);

MODULE_DESCRIPTION("Pending-I/O hints without I/O, for tests");
MODULE_LICENSE("GPL");

// SPDX-License-Identifier: GPL-2.0
/*
 * A cpuidle driver for tests: idle states from a table
 *
 * Virtual machines have no idle states, and with fewer than two of them no
 * governor is ever asked.  This driver registers whatever states its "states"
 * parameter lists, all of which halt the CPU, and makes it pay the exit latency
 * of the state it was in.
 *
 * When is the latency paid?  On hardware, before the CPU executes the first
 * instruction of the interrupt handler.  Here the handler is entered straight
 * from the halt instruction.  So the latency is owed from the moment the CPU
 * halts, and paid, by spinning, in the first tracepoint that an interrupt
 * passes: those of device interrupts and of the vectors that the kernel sends
 * to itself.  An interrupt that has none pays when the halt returns.
 *
 * States that are entered with MWAIT are also left without an interrupt, when
 * somebody sets TIF_NEED_RESCHED of the CPU, which tells by TIF_POLLING_NRFLAG
 * that it waits for that.  The CPU "mwait_cpu" behaves like this, by spinning.
 *
 * Not for machines with users: it replaces nothing if there is a driver.
 */

#include <linux/cpu.h>
#include <linux/cpuidle.h>
#include <linux/interrupt.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/sched/idle.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/tracepoint.h>

static char *states;
module_param(states, charp, 0444);
MODULE_PARM_DESC(states, "Idle states after POLL: NAME:EXIT_US:RESIDENCY_US,...");

static int mwait_cpu = -1;
module_param(mwait_cpu, int, 0644);
MODULE_PARM_DESC(mwait_cpu, "CPU that polls on its thread flags when idle");

/* Exit latency, in ns, that the CPU owes for the state it is in. */
static DEFINE_PER_CPU(u64, test_cpuidle_owed);

static struct cpuidle_driver test_cpuidle_driver = {
	.name	= "test_cpuidle",
	.owner	= THIS_MODULE,
};

static void test_cpuidle_pay(void)
{
	u64 owed = this_cpu_xchg(test_cpuidle_owed, 0);
	u64 start;

	if (!owed)
		return;

	/* A pause makes emulators leave their fast loop: not at every look. */
	start = ktime_get_mono_fast_ns();
	for (;;) {
		int i;

		for (i = 0; i < 8; i++) {
			if (ktime_get_mono_fast_ns() - start >= owed)
				return;
		}
		cpu_relax();
	}
}

static void test_cpuidle_irq(void *unused, int irq, struct irqaction *action)
{
	test_cpuidle_pay();
}

static void test_cpuidle_vector(void *unused, int vector)
{
	test_cpuidle_pay();
}

static struct test_cpuidle_probe {
	const char		*name;
	void			*probe;
	struct tracepoint	*tp;
} test_cpuidle_probes[] = {
	{ "irq_handler_entry",		test_cpuidle_irq },
	{ "local_timer_entry",		test_cpuidle_vector },
	{ "reschedule_entry",		test_cpuidle_vector },
	{ "call_function_entry",	test_cpuidle_vector },
	{ "call_function_single_entry",	test_cpuidle_vector },
	{ "irq_work_entry",		test_cpuidle_vector },
};

static void test_cpuidle_find(struct tracepoint *tp, void *unused)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(test_cpuidle_probes); i++) {
		if (!strcmp(tp->name, test_cpuidle_probes[i].name))
			test_cpuidle_probes[i].tp = tp;
	}
}

static void test_cpuidle_remove_probes(int n)
{
	while (n--)
		tracepoint_probe_unregister(test_cpuidle_probes[n].tp,
					    test_cpuidle_probes[n].probe, NULL);
	tracepoint_synchronize_unregister();
}

static int test_cpuidle_add_probes(void)
{
	int i, ret;

	for_each_kernel_tracepoint(test_cpuidle_find, NULL);

	for (i = 0; i < ARRAY_SIZE(test_cpuidle_probes); i++) {
		struct test_cpuidle_probe *p = &test_cpuidle_probes[i];

		ret = p->tp ? tracepoint_probe_register(p->tp, p->probe, NULL) :
			      -ENOENT;
		if (ret) {
			pr_err("test_cpuidle: no tracepoint %s: %d\n", p->name,
			       ret);
			test_cpuidle_remove_probes(i);
			return ret;
		}
	}

	return 0;
}

static void test_cpuidle_mwait(void)
{
	if (!current_set_polling_and_test()) {
		raw_local_irq_enable();
		while (!need_resched() && this_cpu_read(test_cpuidle_owed))
			cpu_relax();
		raw_local_irq_disable();
	}
	current_clr_polling();
}

/* Called with interrupts off, and RCU not watching. */
static int test_cpuidle_enter(struct cpuidle_device *dev,
			      struct cpuidle_driver *drv, int index)
{
	this_cpu_write(test_cpuidle_owed, drv->states[index].exit_latency_ns);
	if (READ_ONCE(mwait_cpu) == dev->cpu) {
		test_cpuidle_mwait();
	} else {
		raw_safe_halt();
		raw_local_irq_disable();
	}
	test_cpuidle_pay();

	return index;
}

static int test_cpuidle_add_state(struct cpuidle_driver *drv, char *text)
{
	char *name = strsep(&text, ":"), *exit = strsep(&text, ":");
	unsigned int exit_us, residency_us;
	struct cpuidle_state *s;

	if (drv->state_count == CPUIDLE_STATE_MAX || !exit || !text ||
	    !*name || kstrtouint(exit, 10, &exit_us) ||
	    kstrtouint(text, 10, &residency_us))
		return -EINVAL;

	s = &drv->states[drv->state_count++];
	strscpy(s->name, name, sizeof(s->name));
	strscpy(s->desc, name, sizeof(s->desc));
	s->exit_latency = exit_us;
	s->target_residency = residency_us;
	s->enter = test_cpuidle_enter;

	return 0;
}

static int __init test_cpuidle_init(void)
{
	struct cpuidle_driver *drv = &test_cpuidle_driver;
	char *copy, *rest, *text;
	int ret = 0;

	if (!states) {
		pr_err("test_cpuidle: states= is missing\n");
		return -EINVAL;
	}

	copy = kstrdup(states, GFP_KERNEL);
	if (!copy)
		return -ENOMEM;

	cpuidle_poll_state_init(drv);
	drv->state_count = 1;
	rest = copy;
	while (!ret && (text = strsep(&rest, ",")))
		ret = test_cpuidle_add_state(drv, text);
	kfree(copy);
	if (ret) {
		pr_err("test_cpuidle: states=%s: want NAME:EXIT_US:RESIDENCY_US,...\n",
		       states);
		return ret;
	}

	ret = test_cpuidle_add_probes();
	if (ret)
		return ret;

	ret = cpuidle_register(drv, NULL);
	if (ret)
		test_cpuidle_remove_probes(ARRAY_SIZE(test_cpuidle_probes));

	return ret;
}

static void __exit test_cpuidle_exit(void)
{
	cpuidle_unregister(&test_cpuidle_driver);
	test_cpuidle_remove_probes(ARRAY_SIZE(test_cpuidle_probes));
}

module_init(test_cpuidle_init);
module_exit(test_cpuidle_exit);

MODULE_DESCRIPTION("cpuidle driver with idle states from a table, for tests");
MODULE_LICENSE("GPL");

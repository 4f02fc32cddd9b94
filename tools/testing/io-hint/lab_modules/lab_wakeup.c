// SPDX-License-Identifier: GPL-2.0
/*
 * Wakes a guest from suspend-to-idle
 *
 * QEMU 7.2 has no device that would, not even the alarm of its clock.  But idle
 * CPUs keep their timers for as long as no idle state stops them, and those of
 * the lab do not: so one of these can.
 *
 * Written to parameters/ms: every how many ms the system is to be woken, or 0: no
 * more.  Once would not do: it may come before the system has begun to suspend,
 * and be forgotten.  If it comes while it does, it makes it give up the attempt.
 */

#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/suspend.h>
#include <linux/timer.h>

static unsigned int lab_wakeup_ms;

static void lab_wakeup(struct timer_list *timer)
{
	unsigned int ms = READ_ONCE(lab_wakeup_ms);

	if (!ms)
		return;

	pm_system_wakeup();
	mod_timer(timer, jiffies + msecs_to_jiffies(ms));
}

static DEFINE_TIMER(lab_wakeup_timer, lab_wakeup);

static int lab_wakeup_set_ms(const char *text, const struct kernel_param *kp)
{
	unsigned int ms;
	int ret = kstrtouint(text, 10, &ms);

	if (ret)
		return ret;

	WRITE_ONCE(lab_wakeup_ms, ms);
	if (ms)
		mod_timer(&lab_wakeup_timer, jiffies + msecs_to_jiffies(ms));
	return 0;
}

static const struct kernel_param_ops lab_wakeup_ms_ops = {
	.set	= lab_wakeup_set_ms,
};
module_param_cb(ms, &lab_wakeup_ms_ops, NULL, 0200);
MODULE_PARM_DESC(ms, "Wake the system every so many ms, or 0");

static int __init lab_wakeup_init(void)
{
	return 0;
}

static void __exit lab_wakeup_exit(void)
{
	timer_shutdown_sync(&lab_wakeup_timer);
}

module_init(lab_wakeup_init);
module_exit(lab_wakeup_exit);

MODULE_DESCRIPTION("Wakes the system from suspend-to-idle, for tests");
MODULE_LICENSE("GPL");

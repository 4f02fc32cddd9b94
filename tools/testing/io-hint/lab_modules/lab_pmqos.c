// SPDX-License-Identifier: GPL-2.0
/*
 * Latency limits for pending I/O by way of PM QoS, for comparison
 *
 * This is how "blk-mq: add CPU latency limit control" (October 2024) went about
 * it, as a module and with the same figures:
 *
 * 1. When a request is dispatched, the CPU that submitted it gets a resume
 *    latency request of PM QoS.  Adding one takes a mutex and notifies, so it
 *    cannot be done there and then: a work item does it, on that CPU.
 *
 * 2. It stays until no request was dispatched for some time.  This is what a
 *    delayed work item looks after.  It goes by jiffies, and the one in which
 *    the request was dispatched does not count: the limit stays for at least
 *    as long as it should, and at most two ticks longer.
 *
 * While the request is there, dispatch only notes the time.
 *
 * Loaded, it is at work for the disk "disk"; unloaded, nothing of it remains.
 */

#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/cpu.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/pm_qos.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <linux/workqueue.h>

static char *disk;
module_param(disk, charp, 0444);
MODULE_PARM_DESC(disk, "Name of the disk");

static unsigned int limit_us = 10;
module_param(limit_us, uint, 0444);
MODULE_PARM_DESC(limit_us, "Resume latency that is requested, in us");

static unsigned int timeout_ms = 3;
module_param(timeout_ms, uint, 0444);
MODULE_PARM_DESC(timeout_ms, "For how long after the last dispatch, in ms");

/**
 * struct lab_pmqos_cpu - the request of one CPU
 * @cpu: which one
 * @last: when it last had a request dispatched, in jiffies
 * @wanted: @add has been queued, and @drop has not let go since
 * @req: the PM QoS request; only changed by @add and @drop, never at once
 * @add: adds @req
 * @drop: removes it if the time is over, looks again later if not
 */
struct lab_pmqos_cpu {
	unsigned int			cpu;
	unsigned long			last;
	bool				wanted;
	struct dev_pm_qos_request	req;
	struct work_struct		add;
	struct delayed_work		drop;
};

static DEFINE_PER_CPU(struct lab_pmqos_cpu, lab_pmqos_cpus);
static struct tracepoint *lab_pmqos_tp;

static unsigned long lab_pmqos_end(const struct lab_pmqos_cpu *c)
{
	return READ_ONCE(c->last) + msecs_to_jiffies(timeout_ms) + 1;
}

static void lab_pmqos_look_later(struct lab_pmqos_cpu *c)
{
	unsigned long end = lab_pmqos_end(c);
	unsigned long now = jiffies;

	schedule_delayed_work_on(c->cpu, &c->drop,
				 time_after(end, now) ? end - now : 0);
}

static void lab_pmqos_add(struct work_struct *work)
{
	struct lab_pmqos_cpu *c = container_of(work, struct lab_pmqos_cpu, add);

	if (!dev_pm_qos_request_active(&c->req))
		dev_pm_qos_add_request(get_cpu_device(c->cpu), &c->req,
				       DEV_PM_QOS_RESUME_LATENCY, limit_us);
	lab_pmqos_look_later(c);
}

/*
 * A dispatch between the look at the time and that at "wanted" finds it still
 * set, and goes without a limit.  The next one gets it.
 */
static void lab_pmqos_drop(struct work_struct *work)
{
	struct lab_pmqos_cpu *c = container_of(work, struct lab_pmqos_cpu,
					       drop.work);

	if (time_before(jiffies, lab_pmqos_end(c))) {
		lab_pmqos_look_later(c);
		return;
	}

	dev_pm_qos_remove_request(&c->req);
	WRITE_ONCE(c->wanted, false);
}

static void lab_pmqos_issue(void *unused, struct request *rq)
{
	struct lab_pmqos_cpu *c;

	if (!rq->q->disk || strcmp(rq->q->disk->disk_name, disk))
		return;

	c = per_cpu_ptr(&lab_pmqos_cpus, blk_mq_rq_cpu(rq));
	WRITE_ONCE(c->last, jiffies);
	if (READ_ONCE(c->wanted))
		return;

	WRITE_ONCE(c->wanted, true);
	schedule_work_on(c->cpu, &c->add);
}

static void lab_pmqos_find(struct tracepoint *tp, void *unused)
{
	if (!strcmp(tp->name, "block_rq_issue"))
		lab_pmqos_tp = tp;
}

static int __init lab_pmqos_init(void)
{
	unsigned int cpu;

	if (!disk)
		return -EINVAL;

	for_each_kernel_tracepoint(lab_pmqos_find, NULL);
	if (!lab_pmqos_tp)
		return -ENOENT;

	for_each_possible_cpu(cpu) {
		struct lab_pmqos_cpu *c = per_cpu_ptr(&lab_pmqos_cpus, cpu);

		c->cpu = cpu;
		INIT_WORK(&c->add, lab_pmqos_add);
		INIT_DELAYED_WORK(&c->drop, lab_pmqos_drop);
	}

	return tracepoint_probe_register(lab_pmqos_tp, lab_pmqos_issue, NULL);
}

static void __exit lab_pmqos_exit(void)
{
	unsigned int cpu;

	tracepoint_probe_unregister(lab_pmqos_tp, lab_pmqos_issue, NULL);
	tracepoint_synchronize_unregister();

	for_each_possible_cpu(cpu) {
		struct lab_pmqos_cpu *c = per_cpu_ptr(&lab_pmqos_cpus, cpu);

		/* Adding comes first, as it is what starts the other. */
		cancel_work_sync(&c->add);
		cancel_delayed_work_sync(&c->drop);
		if (dev_pm_qos_request_active(&c->req))
			dev_pm_qos_remove_request(&c->req);
	}
}

module_init(lab_pmqos_init);
module_exit(lab_pmqos_exit);

MODULE_DESCRIPTION("PM QoS limits for pending I/O, a peer in benchmarks");
MODULE_LICENSE("GPL");

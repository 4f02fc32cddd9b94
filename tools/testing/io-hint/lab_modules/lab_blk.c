// SPDX-License-Identifier: GPL-2.0
/*
 * Block devices whose service time is what a benchmark says, to the ns
 *
 * In virtual time a disk of the host is of no use: the clock of the guest jumps
 * while the host reads.  And null_blk takes its time on the CPU that submits,
 * by a timer, which is the one thing that a governor knows to be coming.  So
 * here one CPU of the guest plays the hardware:
 *
 * 1. queue_rq() notes the time, like a doorbell, and tells the device CPU by an
 *    interrupt.  What that takes is part of the service time, not added to it.
 *
 * 2. The device CPU fills the pages with zeros, which is its DMA, and sets a
 *    timer, pinned there, to the moment when the request shall be done.  All
 *    requests in flight are served at the same time.
 *
 * 3. When the timer fires, the device CPU sends one interrupt per request to
 *    the interrupt CPU of the hardware queue.  To that CPU and to its idle
 *    governor it is what the interrupt of a disk is: nothing has announced it.
 *
 * 4. There blk_mq_complete_request() is called, so that everything behind it,
 *    rq_affinity included, is the block layer's own.
 *
 * The device CPU must answer at once, or its own idle states would be measured.
 * It is kept in the shallowest state that does not poll.  (One that polls would
 * slow down the others, since emulated CPUs run in turn.)  Nothing else should
 * run there.
 *
 * A service time of 0 leaves out all of this: the request is complete before
 * queue_rq() returns.  What is left is what the block layer itself costs.  Such a
 * disk has one tag: among many, the first search begins at random, and where it
 * goes on is worth five instructions.
 *
 * With tail=1 the service time is only the least there is.  It is doubled with
 * probability 1/8, and doubled again with 1/8, up to 128-fold: the mean is 1.17
 * times as much, the 99th percentile 4 times, and 1 in 4096 takes 16 times as
 * long or more.  The draws come from "seed": equal seeds, equal draws.
 *
 * The parameters are lists with one element per disk: lab0, lab1, ...
 */

#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/cpu.h>
#include <linux/cpuidle.h>
#include <linux/cpumask.h>
#include <linux/highmem.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/pm_qos.h>
#include <linux/prandom.h>
#include <linux/sizes.h>
#include <linux/smp.h>
#include <linux/version.h>

#define LAB_BLK_MAX		8
#define LAB_BLK_DEPTH		256
#define LAB_BLK_SIZE		SZ_1G
#define LAB_BLK_DOUBLINGS	7

static unsigned int service_us[LAB_BLK_MAX];
static int nr_disks;
module_param_array(service_us, uint, &nr_disks, 0444);
MODULE_PARM_DESC(service_us,
		 "Service time in us; 0: done at once. One disk per element");

static bool tail[LAB_BLK_MAX];
module_param_array(tail, bool, NULL, 0444);
MODULE_PARM_DESC(tail, "Whether service times have a long tail (default: no)");

static unsigned int queues[LAB_BLK_MAX];
module_param_array(queues, uint, NULL, 0444);
MODULE_PARM_DESC(queues, "Hardware queues (default: 0: one per CPU)");

static int irq_cpu[LAB_BLK_MAX] = { [0 ... LAB_BLK_MAX - 1] = -1 };
module_param_array(irq_cpu, int, NULL, 0444);
MODULE_PARM_DESC(irq_cpu,
		 "CPU that is interrupted (default: -1: first of the queue)");

static unsigned int device_cpu;
module_param(device_cpu, uint, 0444);
MODULE_PARM_DESC(device_cpu, "CPU that plays the hardware");

static unsigned long seed;
module_param(seed, ulong, 0444);
MODULE_PARM_DESC(seed, "Where the draws of the long tails start");

/**
 * struct lab_blk - a disk
 * @set: its tags and hardware queues
 * @disk: what the block layer knows it by
 * @service_ns: service time, the least there is if @tail
 * @irq_cpu: who is interrupted, or -1: the first CPU of the hardware queue
 * @tail: service times have a long tail
 * @rnd: where it is drawn from; belongs to the device CPU
 */
struct lab_blk {
	struct blk_mq_tag_set	set;
	struct gendisk		*disk;
	u64			service_ns;
	int			irq_cpu;
	bool			tail;
	struct rnd_state	rnd;
};

/**
 * struct lab_blk_cmd - a request, as the hardware sees it
 * @doorbell: when queue_rq() was called
 * @submit: the interrupt that tells the device CPU
 * @complete: the interrupt that tells the interrupt CPU
 * @timer: when to send that
 */
struct lab_blk_cmd {
	ktime_t			doorbell;
	call_single_data_t	submit;
	call_single_data_t	complete;
	struct hrtimer		timer;
};

static struct lab_blk lab_blks[LAB_BLK_MAX];
static struct dev_pm_qos_request lab_blk_shallow;

static void lab_blk_zero(struct request *rq)
{
	struct req_iterator iter;
	struct bio_vec bvec;

	if (req_op(rq) != REQ_OP_READ)
		return;

	rq_for_each_segment(bvec, rq, iter)
		memzero_bvec(&bvec);
}

static u64 lab_blk_service_ns(struct lab_blk *lab)
{
	u64 ns = lab->service_ns;
	int i;

	if (!lab->tail)
		return ns;

	for (i = 0; i < LAB_BLK_DOUBLINGS; i++) {
		if (prandom_u32_state(&lab->rnd) & 7)
			break;
		ns *= 2;
	}

	return ns;
}

/* Step 2, on the device CPU */
static void lab_blk_submit(void *info)
{
	struct request *rq = info;
	struct lab_blk_cmd *cmd = blk_mq_rq_to_pdu(rq);
	struct lab_blk *lab = rq->q->queuedata;
	u64 ns = lab_blk_service_ns(lab);

	lab_blk_zero(rq);
	hrtimer_start(&cmd->timer, ktime_add_ns(cmd->doorbell, ns),
		      HRTIMER_MODE_ABS_PINNED_HARD);
}

/* Step 3, on the device CPU */
static enum hrtimer_restart lab_blk_timer_fn(struct hrtimer *timer)
{
	struct lab_blk_cmd *cmd = container_of(timer, struct lab_blk_cmd,
					       timer);
	struct request *rq = blk_mq_rq_from_pdu(cmd);
	struct lab_blk *lab = rq->q->queuedata;
	int cpu = lab->irq_cpu;

	if (cpu < 0)
		cpu = cpumask_first(rq->mq_hctx->cpumask);
	smp_call_function_single_async(cpu, &cmd->complete);

	return HRTIMER_NORESTART;
}

/* Step 4, on the interrupt CPU */
static void lab_blk_complete(void *info)
{
	blk_mq_complete_request(info);
}

static void lab_blk_complete_rq(struct request *rq)
{
	blk_mq_end_request(rq, BLK_STS_OK);
}

static void lab_blk_setup_timer(struct hrtimer *timer)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_HARD);
	timer->function = lab_blk_timer_fn;
#else
	hrtimer_setup(timer, lab_blk_timer_fn, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_PINNED_HARD);
#endif
}

/*
 * Emulated CPUs run in turn, and each runs on until it has nothing to do, or
 * pauses.  Where several requests are submitted in a row, the device would not
 * start with the first before the last is there.
 */
static void lab_blk_doorbell(struct lab_blk_cmd *cmd)
{
	cmd->doorbell = ktime_get();
	lab_blk_setup_timer(&cmd->timer);
	INIT_CSD(&cmd->submit, lab_blk_submit, blk_mq_rq_from_pdu(cmd));
	INIT_CSD(&cmd->complete, lab_blk_complete, blk_mq_rq_from_pdu(cmd));
	smp_call_function_single_async(device_cpu, &cmd->submit);
	cpu_relax();
}

static blk_status_t lab_blk_queue_rq(struct blk_mq_hw_ctx *hctx,
				     const struct blk_mq_queue_data *bd)
{
	struct request *rq = bd->rq;
	struct lab_blk *lab = rq->q->queuedata;

	blk_mq_start_request(rq);

	if (lab->service_ns) {
		lab_blk_doorbell(blk_mq_rq_to_pdu(rq));
	} else {
		lab_blk_zero(rq);
		blk_mq_complete_request(rq);
	}

	return BLK_STS_OK;
}

static const struct blk_mq_ops lab_blk_mq_ops = {
	.queue_rq	= lab_blk_queue_rq,
	.complete	= lab_blk_complete_rq,
};

static const struct block_device_operations lab_blk_fops = {
	.owner		= THIS_MODULE,
};

static int lab_blk_add(struct lab_blk *lab, int index)
{
	struct queue_limits lim = {
		.logical_block_size	= SECTOR_SIZE,
		.max_hw_sectors		= SZ_1M >> SECTOR_SHIFT,
		.max_segments		= SZ_1M >> PAGE_SHIFT,
	};
	int ret;

	lab->service_ns = (u64)service_us[index] * NSEC_PER_USEC;
	lab->tail = tail[index];
	lab->irq_cpu = irq_cpu[index];
	prandom_seed_state(&lab->rnd, seed);

	lab->set.ops = &lab_blk_mq_ops;
	lab->set.nr_hw_queues = queues[index] ?: nr_cpu_ids;
	lab->set.queue_depth = lab->service_ns ? LAB_BLK_DEPTH : 1;
	lab->set.numa_node = NUMA_NO_NODE;
	lab->set.cmd_size = sizeof(struct lab_blk_cmd);
	lab->set.flags = BLK_MQ_F_NO_SCHED_BY_DEFAULT;
	ret = blk_mq_alloc_tag_set(&lab->set);
	if (ret)
		return ret;

	lab->disk = blk_mq_alloc_disk(&lab->set, &lim, lab);
	if (IS_ERR(lab->disk)) {
		ret = PTR_ERR(lab->disk);
		goto free_tag_set;
	}

	lab->disk->fops = &lab_blk_fops;
	snprintf(lab->disk->disk_name, DISK_NAME_LEN, "lab%d", index);
	set_capacity(lab->disk, LAB_BLK_SIZE >> SECTOR_SHIFT);
	ret = add_disk(lab->disk);
	if (ret)
		goto put_disk;

	return 0;

put_disk:
	put_disk(lab->disk);
free_tag_set:
	blk_mq_free_tag_set(&lab->set);
	return ret;
}

static void lab_blk_remove(int n)
{
	while (n--) {
		del_gendisk(lab_blks[n].disk);
		put_disk(lab_blks[n].disk);
		blk_mq_free_tag_set(&lab_blks[n].set);
	}
}

/* The exit latency of the shallowest state that does not poll, in us */
static int lab_blk_shallow_us(void)
{
	struct cpuidle_driver *drv = cpuidle_get_driver();
	int i;

	for (i = 0; drv && i < drv->state_count; i++) {
		if (!(drv->states[i].flags & CPUIDLE_FLAG_POLLING))
			return max(drv->states[i].exit_latency, 1U);
	}

	return PM_QOS_RESUME_LATENCY_NO_CONSTRAINT;
}

static bool lab_blk_valid(void)
{
	int i;

	if (!nr_disks || device_cpu >= nr_cpu_ids || !cpu_online(device_cpu))
		return false;

	for (i = 0; i < nr_disks; i++) {
		int cpu = irq_cpu[i];

		if (cpu < -1 ||
		    (cpu >= 0 && (cpu >= nr_cpu_ids || !cpu_online(cpu))))
			return false;
	}

	return true;
}

static int __init lab_blk_init(void)
{
	int i, ret;

	if (!lab_blk_valid())
		return -EINVAL;

	ret = dev_pm_qos_add_request(get_cpu_device(device_cpu),
				     &lab_blk_shallow,
				     DEV_PM_QOS_RESUME_LATENCY,
				     lab_blk_shallow_us());
	if (ret < 0)
		return ret;

	for (i = 0; i < nr_disks; i++) {
		ret = lab_blk_add(&lab_blks[i], i);
		if (ret) {
			lab_blk_remove(i);
			dev_pm_qos_remove_request(&lab_blk_shallow);
			return ret;
		}
	}

	return 0;
}

static void __exit lab_blk_exit(void)
{
	lab_blk_remove(nr_disks);
	dev_pm_qos_remove_request(&lab_blk_shallow);
}

module_init(lab_blk_init);
module_exit(lab_blk_exit);

MODULE_DESCRIPTION("Block devices with a given service time, for benchmarks");
MODULE_LICENSE("GPL");

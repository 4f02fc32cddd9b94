// SPDX-License-Identifier: GPL-2.0
/*
 * CPU latency limit for CPUs that wait for block I/O
 *
 * Publishes a pending-I/O hint (drivers/cpuidle/governors/io_hint.c) for every
 * request of a queue whose cpu_lat_limit_us is set, from dispatch to
 * completion:
 *
 * 1. Two CPUs wait for a request: the one that submitted it, S, on which a
 *    task sleeps, and the one that takes the interrupt, T.  S is in the
 *    request: it is that of its software queue.
 *
 * 2. T is learned, for each S.  If blk_mq_complete_request_remote(), which
 *    drivers call where the interrupt arrives, runs on another CPU than the
 *    request was dispatched for, that is noted in the software queue.  So
 *    interrupt affinity and CPU hotplug are followed without the help of
 *    drivers.  As long as T is not known, S stands in for it; with drivers that
 *    end requests by other means, for good.
 *
 *    Requests pass there, too, that a worker or some other task completes: of
 *    loop, nbd and nvme-tcp always, of others when they are cancelled or found
 *    after a timeout.  Nothing is learned from these.
 *
 * 3. blk_mq_start_request() publishes for S and T, once if they are the same,
 *    and leaves a mark in the request: the class and T as they are now, as
 *    both may have changed by the time the request ends.
 *
 * 4. Any way for a request to end, or to be dispatched again, passes
 *    blk_mq_finish_request() or __blk_mq_requeue_request().  There the mark is
 *    cleared, and what it says is taken back.  So the counts balance, whatever
 *    happens to the knobs meanwhile.
 *
 *    The mark is not one of rq_flags, although that would be in a register:
 *    the timeout handler sets RQF_TIMED_OUT there, not atomically, while the
 *    request may just be completing.  A flag could get lost or come back, and
 *    the count be wrong for good.
 *
 * 5. Of S and T, those that are not the CPU that dispatches may be asleep, and
 *    in a state that the limit rules out.  Unless cpu_lat_wake is 0, they are
 *    woken, so that they pay the exit latency while the device works.
 *
 * 6. Requests that are polled for, by REQ_POLLED, are nobody's interrupt.
 *
 * Where S and T are the CPU that runs, this writes to a counter of that CPU and
 * to the request, and to nothing else.  It never takes a lock.  Only if the
 * interrupt of a software queue has moved is that written to.
 */

#include <linux/array_size.h>
#include <linux/blkdev.h>
#include <linux/build_bug.h>
#include <linux/limits.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/preempt.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "blk.h"
#include "blk-cpu-lat.h"

DEFINE_STATIC_KEY_FALSE(blk_cpu_lat_enabled);

/* Serializes changes of the settings, of all queues: they are rare. */
static DEFINE_MUTEX(blk_cpu_lat_mutex);

/* Dispatch where not everything happens on this CPU, or T is not known. */
void __blk_cpu_lat_publish(struct request *rq, unsigned int class)
{
	struct blk_mq_ctx *ctx = rq->mq_ctx;
	unsigned int submit_cpu = ctx->cpu;
	unsigned int mark = READ_ONCE(ctx->cpu_lat_mark);
	bool wake = READ_ONCE(rq->q->cpu_lat_wake);

	/*
	 * A guess, to be noted: where it is right, blk_cpu_lat_learn() finds
	 * nothing to learn, and each request would come here.  If this takes
	 * the place of what has just been learned, that is learned once more.
	 */
	if (!mark) {
		mark = submit_cpu + 1;
		WRITE_ONCE(ctx->cpu_lat_mark, mark);
	}

	cpuidle_io_hint_publish(class, (mark & ~BLK_CPU_LAT_BOTH) - 1, wake);
	if (mark & BLK_CPU_LAT_BOTH)
		cpuidle_io_hint_publish(class, submit_cpu, wake);

	rq->cpu_lat_class = class;
	rq->cpu_lat_mark = mark;
}

/* Its counterpart: the request ends on another CPU, or has two hints out. */
void __blk_cpu_lat_withdraw(struct request *rq)
{
	unsigned int class = rq->cpu_lat_class;
	unsigned int mark = rq->cpu_lat_mark;

	rq->cpu_lat_mark = 0;
	cpuidle_io_hint_withdraw(class, (mark & ~BLK_CPU_LAT_BOTH) - 1);
	if (mark & BLK_CPU_LAT_BOTH)
		cpuidle_io_hint_withdraw(class, rq->mq_ctx->cpu);
}

/*
 * T is not S, or not the one that it was, or not known.  Requests in flight keep
 * the T that they were published for, so nothing else depends on this.
 */
void __blk_cpu_lat_learn(struct request *rq)
{
	struct blk_mq_ctx *ctx = rq->mq_ctx;
	unsigned int irq_cpu = raw_smp_processor_id();
	unsigned int mark = irq_cpu + 1;

	BUILD_BUG_ON(NR_CPUS >= BLK_CPU_LAT_BOTH);

	/* The threads that are left are those of interrupts. */
	if (in_task() &&
	    (current->flags & (PF_KTHREAD | PF_WQ_WORKER)) != PF_KTHREAD)
		return;

	if (irq_cpu != ctx->cpu)
		mark |= BLK_CPU_LAT_BOTH;
	if (READ_ONCE(ctx->cpu_lat_mark) != mark)
		WRITE_ONCE(ctx->cpu_lat_mark, mark);
}

/*
 * The settings.  Those in us make up the class, so that they change together;
 * there are boot defaults for these, in the same order.
 */
enum {
	BLK_CPU_LAT_LIMIT,
	BLK_CPU_LAT_TIMEOUT,
	BLK_CPU_LAT_HOLD,
	BLK_CPU_LAT_NR_US,
};

/* A hint with a timeout of 0 would never count. */
static const int blk_cpu_lat_min[BLK_CPU_LAT_NR_US] = { -1, 1, 0 };
static int blk_cpu_lat_default[BLK_CPU_LAT_NR_US] = { -1, 3000, 0 };

/* One decimal number, as for kstrtoint(); changes nothing on error. */
static int blk_cpu_lat_parse(const char *str, size_t len, int min, int max,
			     int *val)
{
	int ret;

	/* What follows a NUL is not part of a number either. */
	if (strlen(str) != len || kstrtoint(str, 10, &ret) || ret < min ||
	    ret > max)
		return -EINVAL;

	*val = ret;
	return 0;
}

static int blk_cpu_lat_param_set(const char *val, const struct kernel_param *kp)
{
	int *param = kp->arg;

	return blk_cpu_lat_parse(val, strlen(val),
				 blk_cpu_lat_min[param - blk_cpu_lat_default],
				 INT_MAX, param);
}

static const struct kernel_param_ops blk_cpu_lat_param_ops = {
	.set	= blk_cpu_lat_param_set,
	.get	= param_get_int,
};

module_param_cb(limit_us, &blk_cpu_lat_param_ops,
		&blk_cpu_lat_default[BLK_CPU_LAT_LIMIT], 0444);
MODULE_PARM_DESC(limit_us,
		 "Default of queue/cpu_lat_limit_us (-1: off, the default)");

module_param_cb(timeout_us, &blk_cpu_lat_param_ops,
		&blk_cpu_lat_default[BLK_CPU_LAT_TIMEOUT], 0444);
MODULE_PARM_DESC(timeout_us,
		 "Default of queue/cpu_lat_timeout_us (3000 us)");

module_param_cb(hold_us, &blk_cpu_lat_param_ops,
		&blk_cpu_lat_default[BLK_CPU_LAT_HOLD], 0444);
MODULE_PARM_DESC(hold_us, "Default of queue/cpu_lat_hold_us (0)");

/* All settings at once, as they make up the class; on error, none of them. */
static int blk_cpu_lat_set(struct request_queue *q, const int *us)
{
	unsigned int old = q->cpu_lat_class;
	u64 ns[BLK_CPU_LAT_NR_US];
	int i, class = 0;

	lockdep_assert_held(&blk_cpu_lat_mutex);

	if (us[BLK_CPU_LAT_LIMIT] >= 0) {
		for (i = 0; i < BLK_CPU_LAT_NR_US; i++)
			ns[i] = (u64)us[i] * NSEC_PER_USEC;
		class = cpuidle_io_hint_get(ns[BLK_CPU_LAT_LIMIT],
					    ns[BLK_CPU_LAT_TIMEOUT],
					    ns[BLK_CPU_LAT_HOLD]);
		if (class < 0)
			return class;
		static_branch_inc(&blk_cpu_lat_enabled);
	}

	/* Read any time: by blk_cpu_lat_publish(), and in sysfs. */
	WRITE_ONCE(q->cpu_lat_class, class);
	for (i = 0; i < BLK_CPU_LAT_NR_US; i++)
		WRITE_ONCE(q->cpu_lat_us[i], us[i]);

	if (old) {
		static_branch_dec(&blk_cpu_lat_enabled);
		cpuidle_io_hint_put(old);
	}

	return 0;
}

/* The same for one of them, while the others stay as they are. */
static int blk_cpu_lat_set_one(struct request_queue *q, int which, int val)
{
	int us[BLK_CPU_LAT_NR_US], ret;

	mutex_lock(&blk_cpu_lat_mutex);
	memcpy(us, q->cpu_lat_us, sizeof(us));
	us[which] = val;
	ret = blk_cpu_lat_set(q, us);
	mutex_unlock(&blk_cpu_lat_mutex);

	return ret;
}

/**
 * blk_cpu_lat_init_queue - Give a queue the boot defaults.
 * @q: The queue, before its attributes are visible.
 *
 * May sleep.  A queue for whose limit there is no class starts with none.
 */
void blk_cpu_lat_init_queue(struct request_queue *q)
{
	int off[BLK_CPU_LAT_NR_US];

	BUILD_BUG_ON(ARRAY_SIZE(q->cpu_lat_us) != BLK_CPU_LAT_NR_US);

	if (!queue_is_mq(q))
		return;

	q->cpu_lat_wake = true;

	mutex_lock(&blk_cpu_lat_mutex);
	if (blk_cpu_lat_set(q, blk_cpu_lat_default)) {
		pr_warn_once("blk_cpu_lat: too many different settings in use, no limit for new disks\n");
		memcpy(off, blk_cpu_lat_default, sizeof(off));
		off[BLK_CPU_LAT_LIMIT] = -1;
		blk_cpu_lat_set(q, off);
	}
	mutex_unlock(&blk_cpu_lat_mutex);
}

/**
 * blk_cpu_lat_exit_queue - Stop to publish for a queue that goes away.
 * @q: The queue, when its attributes are gone.  I/O may still be in flight.
 *
 * May sleep, and takes the CPU hotplug lock if a limit is set.
 */
void blk_cpu_lat_exit_queue(struct request_queue *q)
{
	/* Nobody else changes it any more. */
	if (q->cpu_lat_class)
		blk_cpu_lat_set_one(q, BLK_CPU_LAT_LIMIT, -1);
}

static ssize_t blk_cpu_lat_us_show(struct gendisk *disk, char *page, int which)
{
	return sysfs_emit(page, "%d\n",
			  READ_ONCE(disk->queue->cpu_lat_us[which]));
}

static ssize_t blk_cpu_lat_us_store(struct gendisk *disk, const char *page,
				    size_t count, int which)
{
	int val, ret;

	ret = blk_cpu_lat_parse(page, count, blk_cpu_lat_min[which], INT_MAX,
				&val);
	if (!ret)
		ret = blk_cpu_lat_set_one(disk->queue, which, val);

	return ret ? ret : count;
}

ssize_t blk_cpu_lat_limit_show(struct gendisk *disk, char *page)
{
	return blk_cpu_lat_us_show(disk, page, BLK_CPU_LAT_LIMIT);
}

ssize_t blk_cpu_lat_limit_store(struct gendisk *disk, const char *page,
				size_t count)
{
	return blk_cpu_lat_us_store(disk, page, count, BLK_CPU_LAT_LIMIT);
}

ssize_t blk_cpu_lat_timeout_show(struct gendisk *disk, char *page)
{
	return blk_cpu_lat_us_show(disk, page, BLK_CPU_LAT_TIMEOUT);
}

ssize_t blk_cpu_lat_timeout_store(struct gendisk *disk, const char *page,
				  size_t count)
{
	return blk_cpu_lat_us_store(disk, page, count, BLK_CPU_LAT_TIMEOUT);
}

ssize_t blk_cpu_lat_hold_show(struct gendisk *disk, char *page)
{
	return blk_cpu_lat_us_show(disk, page, BLK_CPU_LAT_HOLD);
}

ssize_t blk_cpu_lat_hold_store(struct gendisk *disk, const char *page,
			       size_t count)
{
	return blk_cpu_lat_us_store(disk, page, count, BLK_CPU_LAT_HOLD);
}

ssize_t blk_cpu_lat_wake_show(struct gendisk *disk, char *page)
{
	return sysfs_emit(page, "%d\n", READ_ONCE(disk->queue->cpu_lat_wake));
}

ssize_t blk_cpu_lat_wake_store(struct gendisk *disk, const char *page,
			       size_t count)
{
	int val, ret;

	ret = blk_cpu_lat_parse(page, count, 0, 1, &val);
	if (ret)
		return ret;

	WRITE_ONCE(disk->queue->cpu_lat_wake, val);
	return count;
}

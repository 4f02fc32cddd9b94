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
 *    request.  T belongs to the hardware queue.
 *
 * 2. T is learned.  Whatever CPU calls blk_mq_complete_request_remote() is
 *    noted in the hardware queue if it is not the one noted there, so that
 *    interrupt affinity and CPU hotplug are followed without the help of
 *    drivers.  As long as it is not known, S stands in for it.
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
 *    request may just be completing.  A flag could get lost or come back.  It
 *    has a place next to rq->state instead, in a cache line that dispatch and
 *    completion write in any case.
 *
 * 5. Requests that are polled for, by REQ_POLLED, are nobody's interrupt.
 *
 * Where S and T are the CPU that runs, this writes to a counter of that CPU and
 * to the request, and to nothing else.  It never takes a lock, and only touches
 * the queue's hctx if the interrupt has moved.
 */

#include <linux/blkdev.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/sysfs.h>

#include "blk.h"
#include "blk-cpu-lat.h"

/* S and T differ: both have a hint.  More than any CPU number plus one. */
#define BLK_CPU_LAT_BOTH	BIT(31)

DEFINE_STATIC_KEY_FALSE(blk_cpu_lat_enabled);

/* Serializes changes of the settings, of all queues: they are rare. */
static DEFINE_MUTEX(blk_cpu_lat_mutex);

/* Dispatch where not everything happens on this CPU, or T is not known. */
void __blk_cpu_lat_publish(struct request *rq, unsigned int class)
{
	unsigned int submit_cpu = rq->mq_ctx->cpu;
	unsigned int irq_cpu = READ_ONCE(rq->mq_hctx->cpu_lat_irq);
	unsigned int mark;

	if (rq->cmd_flags & REQ_POLLED)
		return;

	irq_cpu = irq_cpu ? irq_cpu - 1 : submit_cpu;
	mark = irq_cpu + 1;
	cpuidle_io_hint_publish(class, irq_cpu);
	if (irq_cpu != submit_cpu) {
		cpuidle_io_hint_publish(class, submit_cpu);
		mark |= BLK_CPU_LAT_BOTH;
	}

	rq->cpu_lat_mark = mark;
	rq->cpu_lat_class = class;
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
 * The interrupt of this hardware queue has moved, or is seen for the first
 * time.  Requests in flight carry the T that they were published for.
 */
void __blk_cpu_lat_learn(struct request *rq)
{
	if (!(rq->cmd_flags & REQ_POLLED))
		WRITE_ONCE(rq->mq_hctx->cpu_lat_irq,
			   raw_smp_processor_id() + 1);
}

/* One decimal number and at most a newline; changes nothing on error. */
static int blk_cpu_lat_parse(const char *str, int min, int *us)
{
	int val;

	if (kstrtoint(str, 10, &val) || val < min)
		return -EINVAL;

	*us = val;
	return 0;
}

static int blk_cpu_lat_parse_limit(const char *str, int *limit_us)
{
	return blk_cpu_lat_parse(str, -1, limit_us);
}

/* A hint with a timeout of 0 would never count. */
static int blk_cpu_lat_parse_timeout(const char *str, int *timeout_us)
{
	return blk_cpu_lat_parse(str, 1, timeout_us);
}

static int blk_cpu_lat_param_limit(const char *val,
				   const struct kernel_param *kp)
{
	return blk_cpu_lat_parse_limit(val, kp->arg);
}

static int blk_cpu_lat_param_timeout(const char *val,
				     const struct kernel_param *kp)
{
	return blk_cpu_lat_parse_timeout(val, kp->arg);
}

static const struct kernel_param_ops blk_cpu_lat_limit_ops = {
	.set	= blk_cpu_lat_param_limit,
	.get	= param_get_int,
};

static const struct kernel_param_ops blk_cpu_lat_timeout_ops = {
	.set	= blk_cpu_lat_param_timeout,
	.get	= param_get_int,
};

static int blk_cpu_lat_limit_us = -1;
module_param_cb(limit_us, &blk_cpu_lat_limit_ops, &blk_cpu_lat_limit_us, 0444);
MODULE_PARM_DESC(limit_us,
		 "Default of queue/cpu_lat_limit_us (-1: off, the default)");

static int blk_cpu_lat_timeout_us = 3000;
module_param_cb(timeout_us, &blk_cpu_lat_timeout_ops, &blk_cpu_lat_timeout_us,
		0444);
MODULE_PARM_DESC(timeout_us,
		 "Default of queue/cpu_lat_timeout_us (3000 us)");

/* Both settings at once, as they make up the class; on error, none of them. */
static int blk_cpu_lat_set(struct request_queue *q, int limit_us,
			   int timeout_us)
{
	unsigned int old = q->cpu_lat_class;
	int class = 0;

	lockdep_assert_held(&blk_cpu_lat_mutex);

	if (limit_us >= 0) {
		class = cpuidle_io_hint_get((u64)limit_us * NSEC_PER_USEC,
					    (u64)timeout_us * NSEC_PER_USEC);
		if (class < 0)
			return class;
		static_branch_inc(&blk_cpu_lat_enabled);
	}

	/* Read by blk_cpu_lat_publish(), any time. */
	WRITE_ONCE(q->cpu_lat_class, class);
	q->cpu_lat_limit_us = limit_us;
	q->cpu_lat_timeout_us = timeout_us;

	if (old) {
		static_branch_dec(&blk_cpu_lat_enabled);
		cpuidle_io_hint_put(old);
	}

	return 0;
}

/**
 * blk_cpu_lat_init_queue - Give a queue the boot defaults.
 * @q: The queue, before its attributes are visible.
 *
 * May sleep.  A queue for whose limit there is no class starts with none.
 */
void blk_cpu_lat_init_queue(struct request_queue *q)
{
	if (!queue_is_mq(q))
		return;

	mutex_lock(&blk_cpu_lat_mutex);
	if (blk_cpu_lat_set(q, blk_cpu_lat_limit_us, blk_cpu_lat_timeout_us))
		blk_cpu_lat_set(q, -1, blk_cpu_lat_timeout_us);
	mutex_unlock(&blk_cpu_lat_mutex);
}

/**
 * blk_cpu_lat_exit_queue - Stop to publish for a queue that goes away.
 * @q: The queue, when its attributes are gone.  I/O may still be in flight.
 *
 * May sleep.
 */
void blk_cpu_lat_exit_queue(struct request_queue *q)
{
	mutex_lock(&blk_cpu_lat_mutex);
	blk_cpu_lat_set(q, -1, q->cpu_lat_timeout_us);
	mutex_unlock(&blk_cpu_lat_mutex);
}

ssize_t blk_cpu_lat_limit_show(struct gendisk *disk, char *page)
{
	return sysfs_emit(page, "%d\n", READ_ONCE(disk->queue->cpu_lat_limit_us));
}

ssize_t blk_cpu_lat_timeout_show(struct gendisk *disk, char *page)
{
	return sysfs_emit(page, "%d\n",
			  READ_ONCE(disk->queue->cpu_lat_timeout_us));
}

ssize_t blk_cpu_lat_limit_store(struct gendisk *disk, const char *page,
				size_t count)
{
	struct request_queue *q = disk->queue;
	int limit_us, ret;

	ret = blk_cpu_lat_parse_limit(page, &limit_us);
	if (ret)
		return ret;

	mutex_lock(&blk_cpu_lat_mutex);
	ret = blk_cpu_lat_set(q, limit_us, q->cpu_lat_timeout_us);
	mutex_unlock(&blk_cpu_lat_mutex);

	return ret ? ret : count;
}

ssize_t blk_cpu_lat_timeout_store(struct gendisk *disk, const char *page,
				  size_t count)
{
	struct request_queue *q = disk->queue;
	int timeout_us, ret;

	ret = blk_cpu_lat_parse_timeout(page, &timeout_us);
	if (ret)
		return ret;

	mutex_lock(&blk_cpu_lat_mutex);
	ret = blk_cpu_lat_set(q, q->cpu_lat_limit_us, timeout_us);
	mutex_unlock(&blk_cpu_lat_mutex);

	return ret ? ret : count;
}

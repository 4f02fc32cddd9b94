/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _BLK_CPU_LAT_H
#define _BLK_CPU_LAT_H

#include <linux/blk-mq.h>
#include <linux/cpuidle_io_hint.h>
#include <linux/jump_label.h>
#include <linux/preempt.h>

#include "blk-mq.h"

struct gendisk;

#ifdef CONFIG_BLK_CPU_LAT

DECLARE_STATIC_KEY_FALSE(blk_cpu_lat_enabled);

void blk_cpu_lat_init_queue(struct request_queue *q);
void blk_cpu_lat_exit_queue(struct request_queue *q);

ssize_t blk_cpu_lat_limit_show(struct gendisk *disk, char *page);
ssize_t blk_cpu_lat_limit_store(struct gendisk *disk, const char *page,
				size_t count);
ssize_t blk_cpu_lat_timeout_show(struct gendisk *disk, char *page);
ssize_t blk_cpu_lat_timeout_store(struct gendisk *disk, const char *page,
				  size_t count);

void __blk_cpu_lat_publish(struct request *rq, unsigned int class);
void __blk_cpu_lat_withdraw(struct request *rq);
void __blk_cpu_lat_learn(struct request *rq);

/*
 * Dispatch: tell the CPUs that wait for this request.
 *
 * If everything happens on this CPU, that is one increment of a counter of its
 * own; whatever else there is to know waits for the slow path, REQ_POLLED
 * included: hardware queues that are polled have no interrupt CPU.
 */
static __always_inline void blk_cpu_lat_publish(struct request_queue *q,
						struct request *rq)
{
	unsigned int class, cpu;

	if (!static_branch_unlikely(&blk_cpu_lat_enabled))
		return;

	class = READ_ONCE(q->cpu_lat_class);
	if (!class)
		return;

	preempt_disable();
	cpu = smp_processor_id();
	/* data_race: whichever T is read, old or new, goes into the mark. */
	if (likely(data_race(rq->mq_hctx->cpu_lat_irq) == cpu + 1 &&
		   rq->mq_ctx->cpu == cpu)) {
		rq->cpu_lat_class = class;
		rq->cpu_lat_mark = cpu + 1;
		cpuidle_io_hint_publish_this_cpu(class);
	} else {
		__blk_cpu_lat_publish(rq, class);
	}
	preempt_enable();
}

/*
 * Completion, requeue, or the end of a request that is not completed: take the
 * hint back, if there is one.  Not gated by the static key: requests that were
 * dispatched before the knob was turned off are still to be taken back.
 */
static __always_inline void blk_cpu_lat_withdraw(struct request *rq)
{
	if (!rq->cpu_lat_mark)
		return;

	preempt_disable();
	if (likely(rq->cpu_lat_mark == smp_processor_id() + 1)) {
		rq->cpu_lat_mark = 0;
		cpuidle_io_hint_withdraw_this_cpu(rq->cpu_lat_class);
	} else {
		__blk_cpu_lat_withdraw(rq);
	}
	preempt_enable();
}

/*
 * Completion, still on the CPU that took the interrupt: remember it.
 *
 * data_race: if another CPU is just changing it, one of the two is the last.
 */
static __always_inline void blk_cpu_lat_learn(struct request *rq)
{
	if (static_branch_unlikely(&blk_cpu_lat_enabled) &&
	    data_race(rq->mq_hctx->cpu_lat_irq) != raw_smp_processor_id() + 1)
		__blk_cpu_lat_learn(rq);
}

#else /* !CONFIG_BLK_CPU_LAT */

static inline void blk_cpu_lat_init_queue(struct request_queue *q) { }
static inline void blk_cpu_lat_exit_queue(struct request_queue *q) { }
static inline void blk_cpu_lat_publish(struct request_queue *q,
				       struct request *rq) { }
static inline void blk_cpu_lat_withdraw(struct request *rq) { }
static inline void blk_cpu_lat_learn(struct request *rq) { }

#endif /* CONFIG_BLK_CPU_LAT */

#endif /* _BLK_CPU_LAT_H */

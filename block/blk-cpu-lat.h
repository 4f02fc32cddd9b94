/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _BLK_CPU_LAT_H
#define _BLK_CPU_LAT_H

#include <linux/bits.h>
#include <linux/blk-mq.h>
#include <linux/cpuidle_io_hint.h>
#include <linux/jump_label.h>
#include <linux/preempt.h>

#include "blk-mq.h"

struct gendisk;

#ifdef CONFIG_BLK_CPU_LAT

/*
 * A mark, in a software queue or in a request, is 0 if there is none, or T + 1,
 * with this bit set if S is another CPU: then both have a hint.
 */
#define BLK_CPU_LAT_BOTH	BIT(15)

DECLARE_STATIC_KEY_FALSE(blk_cpu_lat_enabled);

void blk_cpu_lat_init_queue(struct request_queue *q);
void blk_cpu_lat_exit_queue(struct request_queue *q);

/* The attributes; to store returns -EINVAL or -ENOSPC on error. */
ssize_t blk_cpu_lat_limit_show(struct gendisk *disk, char *page);
ssize_t blk_cpu_lat_limit_store(struct gendisk *disk, const char *page,
				size_t count);
ssize_t blk_cpu_lat_timeout_show(struct gendisk *disk, char *page);
ssize_t blk_cpu_lat_timeout_store(struct gendisk *disk, const char *page,
				  size_t count);
ssize_t blk_cpu_lat_hold_show(struct gendisk *disk, char *page);
ssize_t blk_cpu_lat_hold_store(struct gendisk *disk, const char *page,
			       size_t count);
ssize_t blk_cpu_lat_wake_show(struct gendisk *disk, char *page);
ssize_t blk_cpu_lat_wake_store(struct gendisk *disk, const char *page,
			       size_t count);

void __blk_cpu_lat_publish(struct request *rq, unsigned int class);
void __blk_cpu_lat_withdraw(struct request *rq);
void __blk_cpu_lat_learn(struct request *rq);

/*
 * Dispatch: tell the CPUs that wait for this request.
 *
 * If everything happens on this CPU, that is one increment of a counter of its
 * own.
 */
static __always_inline void blk_cpu_lat_publish(struct request_queue *q,
						struct request *rq)
{
	unsigned int class;
	u16 self;

	if (!static_branch_unlikely(&blk_cpu_lat_enabled))
		return;

	class = READ_ONCE(q->cpu_lat_class);
	if (!class || rq->cmd_flags & REQ_POLLED)
		return;

	preempt_disable();
	self = smp_processor_id() + 1;
	/* data_race: whichever T is read, old or new, goes into the mark. */
	if (likely(data_race(rq->mq_ctx->cpu_lat_mark) == self)) {
		rq->cpu_lat_class = class;
		/* gcc would take four instructions to make it one store. */
		WRITE_ONCE(rq->cpu_lat_mark, self);
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
	if (likely(rq->cpu_lat_mark == (u16)(smp_processor_id() + 1))) {
		rq->cpu_lat_mark = 0;
		cpuidle_io_hint_withdraw_this_cpu(rq->cpu_lat_class);
	} else {
		__blk_cpu_lat_withdraw(rq);
	}
	preempt_enable();
}

/*
 * Completion, still on the CPU that took the interrupt: is it the one that was
 * expected when the request was dispatched?
 */
static __always_inline void blk_cpu_lat_learn(struct request *rq)
{
	u16 differs;

	if (!static_branch_unlikely(&blk_cpu_lat_enabled))
		return;

	/* BLK_CPU_LAT_BOTH, the highest bit, does not matter. */
	differs = (rq->cpu_lat_mark ^ (raw_smp_processor_id() + 1)) << 1;
	if (unlikely(differs) && rq->cpu_lat_mark)
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

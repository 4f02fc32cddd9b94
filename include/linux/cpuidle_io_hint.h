/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pending-I/O hints for CPU idle governors.
 *
 * A publisher (the block layer is the first) tells cpuidle, CPU by CPU, that
 * an I/O is in flight whose completion is going to interrupt that CPU, and
 * tells it again when the I/O is done.  While a hint is pending, governors are
 * not given idle states of that CPU whose exit latency exceeds the limit that
 * the publisher registered.  drivers/cpuidle/governors/io_hint.c has the
 * design.
 *
 * A publisher
 *
 *  1. registers its limit, timeout and hold time with cpuidle_io_hint_get() and
 *     keeps the class it is given,
 *  2. calls cpuidle_io_hint_publish() for a CPU when it starts an I/O and
 *     cpuidle_io_hint_withdraw() for the same class and CPU when the I/O ends,
 *     both from any CPU and any context but NMI, and exactly as often,
 *  3. returns the class with cpuidle_io_hint_put(), for which it does not need
 *     to wait for the I/O that is still in flight.
 */
#ifndef _LINUX_CPUIDLE_IO_HINT_H
#define _LINUX_CPUIDLE_IO_HINT_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/cache.h>
#include <linux/errno.h>
#include <linux/jump_label.h>
#include <linux/percpu.h>
#include <linux/smp.h>
#include <linux/types.h>

struct cpuidle_device;
struct cpuidle_driver;

/*
 * One more than how many distinct settings can be in use at once: class 0 stands
 * for none.  Eight pairs of 32-bit counters are 64 bytes: what a publisher writes
 * for its own CPU is one cache line, and what it writes for another CPU is one
 * more.
 */
#define CPUIDLE_IO_HINT_CLASSES	8

#ifdef CONFIG_CPU_IDLE_IO_HINT

/**
 * struct cpuidle_io_hint_counts - what publishers count for one CPU
 * @own_published: hints published by this CPU for itself, by class
 * @own_withdrawn: hints withdrawn by this CPU for itself, by class
 * @far_published: hints published by other CPUs for this one, by class
 * @far_withdrawn: hints withdrawn by other CPUs for this one, by class
 * @too_deep: bitmask of the classes that allow no state as deep as the one that
 *	      this CPU sleeps in; or, once it is being woken, the class for which it
 *	      is, from bit 16 on; 0 while it is awake
 *
 * The first four only ever grow, and wrap.  A hint published by one CPU may be
 * withdrawn by another: only the sums mean something.  What is pending is the
 * difference of the sums, and any change of them is activity.
 *
 * The last one is looked at by other CPUs whenever they publish for this one, and
 * only written around deep idle periods.
 */
struct cpuidle_io_hint_counts {
	u32		own_published[CPUIDLE_IO_HINT_CLASSES];
	u32		own_withdrawn[CPUIDLE_IO_HINT_CLASSES];
	atomic_t	far_published[CPUIDLE_IO_HINT_CLASSES]
					____cacheline_aligned_in_smp;
	atomic_t	far_withdrawn[CPUIDLE_IO_HINT_CLASSES];
	u32		too_deep	____cacheline_aligned_in_smp;
};

DECLARE_PER_CPU_ALIGNED(struct cpuidle_io_hint_counts, cpuidle_io_hint_counts);
DECLARE_STATIC_KEY_FALSE(cpuidle_io_hint_enabled);

int cpuidle_io_hint_get(u64 limit_ns, u64 timeout_ns, u64 hold_ns);
void cpuidle_io_hint_put(unsigned int class);
void __cpuidle_io_hint_wake(unsigned int class, unsigned int cpu);

/**
 * cpuidle_io_hint_publish_this_cpu - An I/O that this CPU waits for starts.
 * @class: Class of the hint, from cpuidle_io_hint_get().
 *
 * One increment of a counter that no other CPU writes.  The caller has
 * preemption disabled; safe against interrupts.
 */
static __always_inline void
cpuidle_io_hint_publish_this_cpu(unsigned int class)
{
	this_cpu_inc(cpuidle_io_hint_counts.own_published[class]);
}

/**
 * cpuidle_io_hint_withdraw_this_cpu - An I/O that this CPU waits for is done.
 * @class: Class that the hint was published with.
 *
 * The counterpart of cpuidle_io_hint_publish_this_cpu(), same context.
 */
static __always_inline void
cpuidle_io_hint_withdraw_this_cpu(unsigned int class)
{
	this_cpu_inc(cpuidle_io_hint_counts.own_withdrawn[class]);
}

/**
 * cpuidle_io_hint_publish - An I/O that some CPU waits for starts.
 * @class: Class of the hint, from cpuidle_io_hint_get().
 * @cpu: CPU that is going to be interrupted by the completion.
 * @wake: Whether to wake @cpu if it sleeps more deeply than @class allows.
 *
 * Any context but NMI.  @cpu may be offline.
 */
static inline void cpuidle_io_hint_publish(unsigned int class, unsigned int cpu,
					   bool wake)
{
	struct cpuidle_io_hint_counts *counts =
		per_cpu_ptr(&cpuidle_io_hint_counts, cpu);

	if (get_cpu() == cpu) {
		cpuidle_io_hint_publish_this_cpu(class);
	} else {
		atomic_inc(&counts->far_published[class]);
		if (wake) {
			/* Pairs with smp_mb() in io_hint_look_again(). */
			smp_mb__after_atomic();
			if (READ_ONCE(counts->too_deep) & BIT(class))
				__cpuidle_io_hint_wake(class, cpu);
		}
	}
	put_cpu();
}

/**
 * cpuidle_io_hint_withdraw - An I/O that some CPU waits for is done.
 * @class: Class that the hint was published with.
 * @cpu: CPU that the hint was published for.
 *
 * Any context but NMI.  @cpu may be offline.
 */
static inline void cpuidle_io_hint_withdraw(unsigned int class, unsigned int cpu)
{
	if (get_cpu() == cpu)
		cpuidle_io_hint_withdraw_this_cpu(class);
	else
		atomic_inc(&per_cpu(cpuidle_io_hint_counts,
				    cpu).far_withdrawn[class]);
	put_cpu();
}

/* The hooks in cpuidle; not for publishers. */
s64 __cpuidle_io_hint_cap(s64 latency_req_ns);
int __cpuidle_io_hint_selected(struct cpuidle_driver *drv,
			       struct cpuidle_device *dev, int index,
			       bool *stop_tick);
bool __cpuidle_io_hint_idle_end(struct cpuidle_device *dev);

/**
 * cpuidle_io_hint_cap - Apply the pending hints of this CPU to a latency limit.
 * @latency_req_ns: What PM QoS allows, in ns.
 *
 * Called with interrupts disabled on the CPU that is about to go idle, once per
 * idle state selection.
 *
 * Return: The stricter one of @latency_req_ns and what the hints allow, in ns.
 */
static inline s64 cpuidle_io_hint_cap(s64 latency_req_ns)
{
	if (static_branch_unlikely(&cpuidle_io_hint_enabled))
		return __cpuidle_io_hint_cap(latency_req_ns);
	return latency_req_ns;
}

/**
 * cpuidle_io_hint_selected - A governor has selected an idle state.
 * @drv: The cpuidle driver of this CPU.
 * @dev: The cpuidle device of this CPU.
 * @index: Idle state that the governor has chosen.
 * @stop_tick: Whether the tick is to be stopped; cleared if a hint binds.
 *
 * Called like cpuidle_io_hint_cap(), after it.
 *
 * Return: @index, or a shallower one if a hint has come up since then.
 */
static inline int cpuidle_io_hint_selected(struct cpuidle_driver *drv,
					   struct cpuidle_device *dev,
					   int index, bool *stop_tick)
{
	if (static_branch_unlikely(&cpuidle_io_hint_enabled))
		return __cpuidle_io_hint_selected(drv, dev, index, stop_tick);
	return index;
}

/**
 * cpuidle_io_hint_idle_end - An idle period has ended.
 * @dev: The cpuidle device of this CPU.
 *
 * Called on the CPU that was idle, from the idle task, whatever has woken it.
 * From here on nobody needs to wake it.
 *
 * Return: %true if a hint has limited the state, or cut the period short, so that
 * a governor that predicts is not to learn from it.
 */
static inline bool cpuidle_io_hint_idle_end(struct cpuidle_device *dev)
{
	if (static_branch_unlikely(&cpuidle_io_hint_enabled))
		return __cpuidle_io_hint_idle_end(dev);
	return false;
}

#else /* !CONFIG_CPU_IDLE_IO_HINT */

static inline int cpuidle_io_hint_get(u64 limit_ns, u64 timeout_ns, u64 hold_ns)
{
	return -EOPNOTSUPP;
}

static inline void cpuidle_io_hint_put(unsigned int class) { }
static inline void cpuidle_io_hint_publish_this_cpu(unsigned int class) { }
static inline void cpuidle_io_hint_withdraw_this_cpu(unsigned int class) { }
static inline void cpuidle_io_hint_publish(unsigned int class,
					   unsigned int cpu, bool wake) { }
static inline void cpuidle_io_hint_withdraw(unsigned int class,
					    unsigned int cpu) { }

static inline s64 cpuidle_io_hint_cap(s64 latency_req_ns)
{
	return latency_req_ns;
}

static inline int cpuidle_io_hint_selected(struct cpuidle_driver *drv,
					   struct cpuidle_device *dev,
					   int index, bool *stop_tick)
{
	return index;
}

static inline bool cpuidle_io_hint_idle_end(struct cpuidle_device *dev)
{
	return false;
}

#endif /* CONFIG_CPU_IDLE_IO_HINT */

#endif /* _LINUX_CPUIDLE_IO_HINT_H */

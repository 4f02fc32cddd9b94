// SPDX-License-Identifier: GPL-2.0
/*
 * Pending-I/O hints: a latency limit for the CPUs that wait for a device
 */

/**
 * DOC: io-hint-description
 *
 * A CPU that has nothing to do but wait for an I/O goes idle.  Governors
 * predict how long it is going to be idle from timers and from the past, and a
 * device interrupt is neither: the CPU is often put into a deep idle state,
 * and the completion of a 10 to 100 us read then waits for a state to be left
 * that takes 130 to 290 us to leave.  Somebody does know that an interrupt is
 * coming, though: the layer that has just started the I/O.
 *
 * The mechanism:
 *
 * 1. A publisher registers how much exit latency its I/O may suffer and for
 *    how long a pending I/O may ask for that.  It gets one of a few classes;
 *    equal settings share one.
 *
 * 2. It counts the I/Os it starts and those that end, per CPU and class.  The
 *    counters only grow: their difference is what is pending, and whenever
 *    either has moved there was activity.  (The difference alone would not do:
 *    at queue depth 1 it is 1 at every look.)
 *
 * 3. When the CPU is about to go idle, governors ask for the latency limit.
 *    If something is pending, the strictest limit of the pending classes
 *    counts, unless PM QoS is stricter still, but never less than the exit
 *    latency of the shallowest enabled state that does not poll.
 *
 * 4. A hint is binding if it rules out an enabled state that PM QoS alone
 *    allows.  If none is, the governor is answered as if there were no hints.
 *
 * 5. Pending I/O may be slow, or lost.  So each class expires: at the first
 *    look that finds a new count the time is noted, and once the timeout has
 *    passed without another change the class is ignored until there is one.
 *
 *    A publisher may ask for its limit to outlast the I/O.  Then the class also
 *    counts when nothing is pending, until the hold time has passed after the
 *    first look that finds it so.  If that is longer than the timeout, it takes
 *    its place: to start more I/O must not make the limit end earlier.
 *
 * 6. For step 5 to happen, the CPU must wake up.  While a hint binds, the tick
 *    is kept; if it has been stopped before, a timer is set to the expiry, and
 *    cancelled when the CPU wakes up for something else.  What is held ends
 *    without an interrupt: there the timer is set also if the tick were late.
 *
 * 7. Governors that predict do not learn from idle periods whose state a hint
 *    has limited.  It was not their choice, and the short waits would make
 *    them expect short idle periods where there is no I/O.
 *
 * 8. A CPU may sleep deeply already when another one starts the I/O that is
 *    going to interrupt it.  So a CPU that goes to sleep says for which classes
 *    the state is too deep.  Whoever publishes for another CPU looks at that,
 *    and if it finds its class there, wakes the CPU up, which then selects again
 *    and finds the hint: it pays the exit latency while the device works.  It
 *    is woken once: the first to find it asleep clears what it said.
 *
 * 9. If it has slept for less than the target residency of the state, I/O comes
 *    faster than that state pays, and the governor does not see it.  From then on
 *    the class is held on that CPU for so long, as in step 5, but not longer than
 *    its timeout, until this has passed without I/O.  Of reads one after the other
 *    only the first two wake the CPU.  (A state in between might have paid, but
 *    that is not known until the governor chooses it.)  Nor does a governor learn
 *    from a sleep that was cut short like this.
 *
 * What it costs: one increment of a local counter per I/O and direction; all
 * the rest is done by CPUs that have nothing else to do, and only they read a
 * clock, if something is pending or held.  While no class is in use, both sides are
 * patched out.  While one is, every CPU that goes idle reads its counters, and
 * once more before a state that is too deep for some class.  Where the I/O
 * interrupts another CPU, its counters are written there, in one cache line for
 * all classes and whoever publishes; and step 8 reads one more cache line of that
 * CPU, which is written once per deep sleep.
 *
 * Why not PM QoS?  A request there takes a mutex and a global lock, notifies,
 * and has no end: it is made for requirements that last, not for a million
 * changes a second, and a limit that outlasts the I/O costs all deep idle of
 * the CPU.  Here the limit goes with the completion, and the deep state is back
 * in the next idle period, unless a publisher wants it otherwise or step 9 finds
 * that it would not pay.
 *
 * What it does not do: CPUs in play_idle(), in suspend-to-idle or without a
 * governor are not held back, nor woken; nor are states that somebody else
 * chooses, like the cluster states of some Arm systems.
 */

#include <linux/bitops.h>
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/cpuidle.h>
#include <linux/cpuidle_io_hint.h>
#include <linux/hrtimer.h>
#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/sched/clock.h>
#include <linux/smp.h>
#include <linux/tick.h>

#include "io_hint.h"

#define CREATE_TRACE_POINTS
#include <trace/events/cpuidle_io_hint.h>

DEFINE_PER_CPU_ALIGNED(struct cpuidle_io_hint_counts, cpuidle_io_hint_counts);
EXPORT_PER_CPU_SYMBOL_GPL(cpuidle_io_hint_counts);
DEFINE_STATIC_KEY_FALSE(cpuidle_io_hint_enabled);

DEFINE_PER_CPU(struct io_hint_cpu, io_hint_cpus);

/* In too_deep: whose class has woken the CPU, above for which it can be woken */
#define IO_HINT_WOKEN_SHIFT	16
static_assert(CPUIDLE_IO_HINT_CLASSES <= IO_HINT_WOKEN_SHIFT);

/*
 * I/O of class @i that is pending in @counts, and by way of @activity a number
 * that changes with every I/O.
 *
 * The four counters are not read at once.  A withdrawal that is counted must
 * not be without its publication, or the CPU might sleep deeply on an I/O: so
 * withdrawals are read first.  What is published in between counts as pending
 * until the next look.
 */
int io_hint_pending(const struct cpuidle_io_hint_counts *counts, int i,
		    u32 *activity)
{
	u32 withdrawn = READ_ONCE(counts->own_withdrawn[i]) +
			(u32)atomic_read(&counts->far_withdrawn[i]);
	u32 published;

	/*
	 * Pairs with what orders the end of an I/O after its start: the device,
	 * and the barriers in its driver and in the interrupt.
	 */
	smp_rmb();
	published = READ_ONCE(counts->own_published[i]) +
		    (u32)atomic_read(&counts->far_published[i]);

	*activity = published + withdrawn;
	return published - withdrawn;
}

static void io_hint_expired(struct io_hint_cpu *hint, u64 limit_ns,
			    u64 timeout_ns, int pending)
{
	WRITE_ONCE(hint->nr_expired, hint->nr_expired + 1);
	trace_cpuidle_io_hint_expire(raw_smp_processor_id(), limit_ns,
				     timeout_ns, pending);
}

/*
 * Steps 2, 3 and 5 for one CPU: the strictest limit among the classes in
 * @active that have unexpired hints pending, or are held, or S64_MAX.  The time,
 * by @clock, is only taken if that depends on it.  @left is what remains of the
 * time that goes with the limit.
 *
 * If exactly 2^32 I/Os, or a multiple, start or end between two looks that find
 * some pending, the second takes them for none, and the hint can expire too
 * early.  The next I/O corrects that.
 */
static s64 io_hint_limit(struct io_hint_cpu *hint,
			 const struct cpuidle_io_hint_counts *counts,
			 const struct io_hint_class *classes,
			 unsigned long active, u64 (*clock)(void), u64 *left)
{
	s64 limit = S64_MAX;
	bool timed = false;
	u64 age, now = 0;
	int i;

	for_each_set_bit(i, &active, CPUIDLE_IO_HINT_CLASSES) {
		unsigned int generation = READ_ONCE(classes[i].generation);
		u64 timeout_ns = READ_ONCE(classes[i].timeout_ns);
		u64 limit_ns = READ_ONCE(classes[i].limit_ns);
		u64 span = READ_ONCE(classes[i].hold_ns);
		u32 activity;
		int pending;

		pending = io_hint_pending(counts, i, &activity);
		span = max(span, pending > 0 ? timeout_ns :
					       min(hint->rush_ns[i], timeout_ns));

		/* What has been done for the class that was here does not count. */
		if (hint->generation[i] != generation) {
			hint->generation[i] = generation;
			hint->rush_ns[i] = 0;
			if (pending <= 0)
				span = 0;
		}

		if (hint->seen[i] == activity && hint->expired & BIT(i))
			continue;

		if (!span) {
			hint->seen[i] = activity;
			hint->expired |= BIT(i);
			continue;
		}

		if (!timed) {
			now = clock();
			timed = true;
		}

		if (hint->seen[i] != activity) {
			hint->seen[i] = activity;
			hint->since[i] = now;
			hint->expired &= ~BIT(i);
		}

		age = now - hint->since[i];
		if (age >= span) {
			hint->expired |= BIT(i);
			hint->rush_ns[i] = 0;
			if (pending > 0)
				io_hint_expired(hint, limit_ns, span, pending);
			continue;
		}

		if ((s64)limit_ns < limit) {
			limit = limit_ns;
			hint->held = pending <= 0;
			hint->age_ns = age;
			*left = span - age;
		}
	}

	return limit;
}

static bool io_hint_usable(const struct cpuidle_driver *drv,
			   const struct cpuidle_device *dev, int i)
{
	return !dev->states_usage[i].disable &&
	       !(drv->states[i].flags & CPUIDLE_FLAG_POLLING);
}

/*
 * Step 3: @limit_ns, or the exit latency of the shallowest enabled state that
 * does not poll, if that is more.  0 would mean "poll" to the governors.
 */
static s64 io_hint_raise(const struct cpuidle_driver *drv,
			 const struct cpuidle_device *dev, s64 limit_ns)
{
	int i;

	for (i = 0; i < drv->state_count; i++) {
		if (io_hint_usable(drv, dev, i))
			return max3(limit_ns, drv->states[i].exit_latency_ns,
				    1LL);
	}

	return S64_MAX;
}

/*
 * Steps 3 and 4: what remains of @qos_ns, which PM QoS allows this CPU: the
 * limit, raised, if it rules out an enabled state; else @qos_ns.
 */
static s64 io_hint_bind(const struct cpuidle_driver *drv,
			const struct cpuidle_device *dev,
			s64 limit_ns, s64 qos_ns)
{
	int i;

	limit_ns = io_hint_raise(drv, dev, limit_ns);

	for (i = 0; i < drv->state_count; i++) {
		s64 exit_ns = drv->states[i].exit_latency_ns;

		if (io_hint_usable(drv, dev, i) &&
		    exit_ns > limit_ns && exit_ns <= qos_ns)
			return limit_ns;
	}

	return qos_ns;
}

/* Step 8: the classes in @active that allow no state as deep as @index. */
static u32 io_hint_too_deep(const struct cpuidle_driver *drv,
			    const struct cpuidle_device *dev,
			    const struct io_hint_class *classes,
			    unsigned long active, int index)
{
	s64 exit_ns = drv->states[index].exit_latency_ns;
	u32 too_deep = 0;
	int i;

	/* There is nothing that is less deep. */
	if (exit_ns <= io_hint_raise(drv, dev, 0))
		return 0;

	for_each_set_bit(i, &active, CPUIDLE_IO_HINT_CLASSES) {
		if (exit_ns > (s64)READ_ONCE(classes[i].limit_ns))
			too_deep |= BIT(i);
	}

	return too_deep;
}

/* An interrupt is all that is needed: the idle loop then selects again. */
static enum hrtimer_restart io_hint_timer_fn(struct hrtimer *timer)
{
	return HRTIMER_NORESTART;
}

/* A hint is binding: from now on, and for @left. */
static void io_hint_binds(struct io_hint_cpu *hint, s64 limit_ns, u64 left)
{
	hint->capped = true;
	hint->limit_ns = limit_ns;

	/*
	 * This timer's clock is not the one that @left was measured by: if it
	 * is early, it is set again.
	 */
	if (tick_nohz_tick_stopped() || (hint->held && left < TICK_NSEC))
		hrtimer_start(&hint->timer, ns_to_ktime(left),
			      HRTIMER_MODE_REL_PINNED_HARD);
}

/* Called once per selection of an idle state, before anything is decided. */
s64 __cpuidle_io_hint_cap(s64 latency_req_ns)
{
	struct io_hint_cpu *hint = this_cpu_ptr(&io_hint_cpus);
	struct cpuidle_device *dev = __this_cpu_read(cpuidle_devices);
	struct cpuidle_driver *drv = cpuidle_get_cpu_driver(dev);
	unsigned long active;
	s64 limit;
	u64 left;

	hint->capped = false;

	/* Pairs with the release in cpuidle_io_hint_get(). */
	active = smp_load_acquire(&io_hint_active);
	limit = io_hint_limit(hint, this_cpu_ptr(&cpuidle_io_hint_counts),
			      io_hint_classes, active, local_clock, &left);
	if (limit >= latency_req_ns)
		return latency_req_ns;

	limit = io_hint_bind(drv, dev, limit, latency_req_ns);
	if (limit >= latency_req_ns)
		return latency_req_ns;

	/* Now, as governors and the nohz code are about to look for timers. */
	io_hint_binds(hint, limit, left);
	return limit;
}

/*
 * Step 8, on the CPU that is about to sleep, with interrupts disabled: from here
 * on it can be woken.  What has been published since the governor asked for the
 * limit may have come without an interrupt, so look again:
 *
 *	this CPU			cpuidle_io_hint_publish() elsewhere
 *
 *	too_deep = classes		far_published[class]++
 *	smp_mb()			smp_mb__after_atomic()
 *	read far_published[class]	read too_deep
 *
 * That is store buffering with full barriers ("SB+fencembonceonces" in
 * tools/memory-model/litmus-tests/): not both reads can miss what the other CPU
 * has written.  So either this CPU sees the hint here, or the other one sees
 * that it has to wake it, or both.  An interrupt from here on ends the sleep, also
 * if it comes before that has begun; and so does TIF_NEED_RESCHED, which is set
 * instead of one where the CPU polls for it.
 *
 * Return: @index, or a state that the hints allow.  Then @limit and @left are
 * those of the hint that has come up.
 */
static int io_hint_look_again(struct io_hint_cpu *hint,
			      struct cpuidle_io_hint_counts *counts,
			      const struct io_hint_class *classes,
			      unsigned long active, u64 (*clock)(void),
			      const struct cpuidle_driver *drv,
			      const struct cpuidle_device *dev, int index,
			      s64 *limit, u64 *left)
{
	s64 exit_ns = drv->states[index].exit_latency_ns;
	u32 too_deep;

	too_deep = io_hint_too_deep(drv, dev, classes, active, index);
	hint->deep_ns = too_deep ? exit_ns : 0;
	hint->pays_ns = drv->states[index].target_residency_ns;
	/* Anything else there is left from when the key was turned off. */
	if (READ_ONCE(counts->too_deep) != too_deep)
		WRITE_ONCE(counts->too_deep, too_deep);
	if (!too_deep)
		return index;

	/* Pairs with smp_mb__after_atomic() in cpuidle_io_hint_publish(). */
	smp_mb();
	*limit = io_hint_limit(hint, counts, classes, active, clock, left);
	*limit = io_hint_bind(drv, dev, *limit, exit_ns);
	if (*limit >= exit_ns)
		return index;

	/* There is one: the limit has been raised to it, if need be. */
	while (index > 0 && (dev->states_usage[index].disable ||
			     drv->states[index].exit_latency_ns > *limit))
		index--;

	too_deep = io_hint_too_deep(drv, dev, classes, active, index);
	hint->deep_ns = too_deep ? drv->states[index].exit_latency_ns : 0;
	hint->pays_ns = drv->states[index].target_residency_ns;
	WRITE_ONCE(counts->too_deep, too_deep);

	return index;
}

/*
 * Step 9, on the CPU that has slept: was it woken by a publisher, and before the
 * state has paid?
 *
 * That is seen from what the publisher leaves in too_deep.  The call that it sends
 * may be run only later, if the CPU polls on its thread flags.
 */
static bool io_hint_cut_short(struct io_hint_cpu *hint,
			      struct cpuidle_io_hint_counts *counts,
			      const struct cpuidle_device *dev)
{
	s64 slept_ns = dev->last_residency_ns - hint->deep_ns;
	u32 woken_for;

	if (!hint->deep_ns)
		return false;

	/* Who is late to see this wakes a CPU that is awake: once. */
	woken_for = READ_ONCE(counts->too_deep) >> IO_HINT_WOKEN_SHIFT;
	WRITE_ONCE(counts->too_deep, 0);
	hint->deep_ns = 0;
	if (!woken_for || slept_ns >= hint->pays_ns)
		return false;

	hint->rush_ns[__ffs(woken_for)] = hint->pays_ns;
	return true;
}

int __cpuidle_io_hint_selected(struct cpuidle_driver *drv,
			       struct cpuidle_device *dev, int index,
			       bool *stop_tick)
{
	struct io_hint_cpu *hint = this_cpu_ptr(&io_hint_cpus);
	unsigned long active;
	ktime_t next_tick;
	int selected = index;
	s64 limit;
	u64 left;

	/* Pairs with the release in cpuidle_io_hint_get(). */
	active = smp_load_acquire(&io_hint_active);
	index = io_hint_look_again(hint, this_cpu_ptr(&cpuidle_io_hint_counts),
				   io_hint_classes, active, local_clock, drv,
				   dev, selected, &limit, &left);
	if (index != selected) {
		io_hint_binds(hint, limit, left);
		/* If it set its timer: that is not in what was found before. */
		if (tick_nohz_tick_stopped())
			tick_nohz_get_sleep_length(&next_tick);
	}

	if (!hint->capped)
		return index;

	WRITE_ONCE(hint->nr_capped, hint->nr_capped + 1);
	trace_cpuidle_io_hint_cap(smp_processor_id(), index, hint->limit_ns,
				  hint->age_ns);

	/* Where it is stopped, the timer is running. */
	if (!tick_nohz_tick_stopped())
		*stop_tick = false;

	return index;
}

/*
 * If the key has been turned on or off since the selection, one idle period too
 * many is learned from or not, a timer may be left to fire, and the CPU may be
 * woken when it is not asleep: once each.
 */
bool __cpuidle_io_hint_idle_end(struct cpuidle_device *dev)
{
	struct io_hint_cpu *hint = this_cpu_ptr(&io_hint_cpus);
	bool cut_short;

	cut_short = io_hint_cut_short(hint,
				      this_cpu_ptr(&cpuidle_io_hint_counts),
				      dev);
	if (!hint->capped && !cut_short)
		return false;

	if (hrtimer_is_queued(&hint->timer))
		hrtimer_try_to_cancel(&hint->timer);

	/* menu learns from a residency of 0 when it selects the next state. */
	if (!dev->last_residency_ns)
		dev->last_residency_ns = 1;

	return true;
}

/* Runs on the CPU that has been woken, which then selects a state again. */
static void io_hint_woken(void *unused)
{
	struct io_hint_cpu *hint = this_cpu_ptr(&io_hint_cpus);

	WRITE_ONCE(hint->nr_woken, hint->nr_woken + 1);
	/* Pairs with atomic_xchg() in __cpuidle_io_hint_wake(). */
	atomic_set_release(&hint->waking, 0);
}

/**
 * __cpuidle_io_hint_wake - Wake a CPU that sleeps too deeply for a class.
 * @class: The class that a hint has just been published with.
 * @cpu: The CPU that it was published for, not this one.
 *
 * Called with preemption disabled, from any context but NMI.
 *
 * A call rather than a reschedule interrupt, which would make the scheduler look
 * for tasks.  Where the CPU polls on its thread flags it is not sent either: then
 * the flag is set that it polls for, and the call is run when the idle loop ends.
 */
void __cpuidle_io_hint_wake(unsigned int class, unsigned int cpu)
{
	u32 *too_deep = per_cpu_ptr(&cpuidle_io_hint_counts.too_deep, cpu);
	struct io_hint_cpu *hint = per_cpu_ptr(&io_hint_cpus, cpu);
	u32 classes = READ_ONCE(*too_deep);

	/* One of those who find it asleep wakes it. */
	do {
		if (!(classes & BIT(class)))
			return;
	} while (!try_cmpxchg(too_deep, &classes,
			      BIT(class) << IO_HINT_WOKEN_SHIFT));

	/*
	 * It may have gone to sleep again since somebody else has done so: then
	 * that call is on its way still, and a second one must not be queued.
	 */
	if (atomic_xchg(&hint->waking, 1))
		return;

	trace_cpuidle_io_hint_wake(cpu, READ_ONCE(io_hint_classes[class].limit_ns));

	/* It may just have gone offline. */
	if (smp_call_function_single_async(cpu, &hint->wake))
		atomic_set(&hint->waking, 0);
}
EXPORT_SYMBOL_GPL(__cpuidle_io_hint_wake);

static int __init io_hint_init(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		struct io_hint_cpu *hint = &per_cpu(io_hint_cpus, cpu);

		hrtimer_setup(&hint->timer, io_hint_timer_fn, CLOCK_MONOTONIC,
			      HRTIMER_MODE_REL_PINNED_HARD);
		/* No I/O is not I/O that has just been done. */
		hint->expired = ~0UL;
		INIT_CSD(&hint->wake, io_hint_woken, NULL);
	}

	return 0;
}
postcore_initcall(io_hint_init);

#ifdef CONFIG_CPU_IDLE_IO_HINT_KUNIT_TEST
#include "tests/io_hint_kunit.c"
#endif

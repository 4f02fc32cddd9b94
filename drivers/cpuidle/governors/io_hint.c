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
 * 6. For step 5 to happen, the CPU must wake up.  While a hint binds, the tick
 *    is kept; if it has been stopped before, a timer is set to the expiry, and
 *    cancelled when the CPU wakes up for something else.
 *
 * 7. Governors that predict do not learn from idle periods whose state a hint
 *    has limited.  It was not their choice, and the short waits would make
 *    them expect short idle periods where there is no I/O.
 *
 * What it costs: one increment of a local counter per I/O and direction; all
 * the rest is done by CPUs that have nothing else to do, and only they read a
 * clock, if something is pending.  While no class is in use, both sides are
 * patched out.  While one is, every CPU that goes idle reads its counters.
 *
 * Why not PM QoS?  A request there takes a mutex and a global lock, notifies,
 * and has no end: it is made for requirements that last, not for a million
 * changes a second, and a limit that outlasts the I/O costs all deep idle of
 * the CPU.  Here the limit goes with the completion, and the deep state is back
 * in the next idle period.
 *
 * What it does not do: CPUs in play_idle(), in suspend-to-idle or without a
 * governor are not held back; nor are states that somebody else chooses, like
 * the cluster states of some Arm systems.  A hint that another CPU publishes
 * is seen when the CPU next goes idle: one asleep already is left asleep.
 */

#include <linux/bitops.h>
#include <linux/bits.h>
#include <linux/cpuidle.h>
#include <linux/cpuidle_io_hint.h>
#include <linux/debugfs.h>
#include <linux/hrtimer.h>
#include <linux/init.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/sched/clock.h>
#include <linux/seq_file.h>
#include <linux/tick.h>

#define CREATE_TRACE_POINTS
#include <trace/events/cpuidle_io_hint.h>

/**
 * struct io_hint_class - what the publishers of a class ask for
 * @limit_ns: exit latency that a pending hint allows
 * @timeout_ns: for how long without activity a pending hint counts
 * @users: how many publishers hold the class; 0: free once nothing is pending
 */
struct io_hint_class {
	u64			limit_ns;
	u64			timeout_ns;
	unsigned int		users;
};

/**
 * struct io_hint_cpu - what the idle path of one CPU knows; only it writes here
 * @seen: sum of the counters at the last look, by class
 * @since: local_clock() when @seen was first found, by class
 * @expired: bitmask of classes whose hints have outlived their timeout
 * @capped: a hint was binding in the last selection of an idle state
 * @limit_ns: the limit it imposed, for the trace
 * @age_ns: how long before that the CPU had last seen activity, likewise
 * @nr_capped: selections in which a hint was binding
 * @nr_expired: times that a class has expired
 * @timer: wakes the CPU at expiry, if the tick is stopped
 */
struct io_hint_cpu {
	u32			seen[CPUIDLE_IO_HINT_CLASSES];
	u64			since[CPUIDLE_IO_HINT_CLASSES];
	unsigned long		expired;
	bool			capped;
	u64			limit_ns;
	u64			age_ns;
	unsigned long		nr_capped;
	unsigned long		nr_expired;
	struct hrtimer		timer;
};

DEFINE_PER_CPU_ALIGNED(struct cpuidle_io_hint_counts, cpuidle_io_hint_counts);
EXPORT_PER_CPU_SYMBOL_GPL(cpuidle_io_hint_counts);
DEFINE_STATIC_KEY_FALSE(cpuidle_io_hint_enabled);

static DEFINE_PER_CPU(struct io_hint_cpu, io_hint_cpus);

/* Classes are changed under the mutex, and only while they are not active. */
static struct io_hint_class io_hint_classes[CPUIDLE_IO_HINT_CLASSES]
	__read_mostly;
static unsigned long io_hint_active __read_mostly;
static DEFINE_MUTEX(io_hint_mutex);

/*
 * I/O of class @i that is pending in @counts, and by way of @activity a number
 * that changes with every I/O.
 *
 * The four counters are not read at once.  A withdrawal that is counted must
 * not be without its publication, or the CPU might sleep deeply on an I/O: so
 * withdrawals are read first.  What is published in between counts as pending
 * until the next look.
 */
static int io_hint_pending(const struct cpuidle_io_hint_counts *counts, int i,
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

/*
 * Steps 2, 3 and 5 for one CPU: the strictest limit among the classes in
 * @active that have unexpired hints pending, or S64_MAX.  The time, by @clock,
 * is only taken if anything is pending.  @left is what remains of the timeout
 * that goes with the limit.
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
	unsigned int cpu = raw_smp_processor_id();
	s64 limit = S64_MAX;
	bool timed = false;
	u64 age, now = 0;
	int i;

	for_each_set_bit(i, &active, CPUIDLE_IO_HINT_CLASSES) {
		u64 limit_ns = READ_ONCE(classes[i].limit_ns);
		u64 timeout_ns = READ_ONCE(classes[i].timeout_ns);
		u32 activity;
		int pending;

		pending = io_hint_pending(counts, i, &activity);
		if (pending <= 0)
			continue;

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
		if (age >= timeout_ns) {
			if (!(hint->expired & BIT(i))) {
				hint->expired |= BIT(i);
				WRITE_ONCE(hint->nr_expired,
					   hint->nr_expired + 1);
				trace_cpuidle_io_hint_expire(cpu, limit_ns,
							     timeout_ns,
							     pending);
			}
			continue;
		}

		if ((s64)limit_ns < limit) {
			limit = limit_ns;
			hint->age_ns = age;
			*left = timeout_ns - age;
		}
	}

	return limit;
}

/*
 * Steps 3 and 4: what remains of @limit_ns for this CPU, given that PM QoS
 * allows @qos_ns: the limit, raised to the shallowest enabled state that does
 * not poll, if it rules out an enabled state; else @qos_ns.
 */
static s64 io_hint_bind(const struct cpuidle_driver *drv,
			const struct cpuidle_device *dev,
			s64 limit_ns, s64 qos_ns)
{
	bool raised = false;
	int i;

	for (i = 0; i < drv->state_count; i++) {
		const struct cpuidle_state *s = &drv->states[i];

		if (dev->states_usage[i].disable ||
		    s->flags & CPUIDLE_FLAG_POLLING)
			continue;

		/* 0 would mean "poll" to the governors. */
		if (!raised)
			limit_ns = max3(limit_ns, s->exit_latency_ns, 1LL);
		raised = true;

		if (s->exit_latency_ns > limit_ns &&
		    s->exit_latency_ns <= qos_ns)
			return limit_ns;
	}

	return qos_ns;
}

/* An interrupt is all that is needed: the idle loop then selects again. */
static enum hrtimer_restart io_hint_timer_fn(struct hrtimer *timer)
{
	return HRTIMER_NORESTART;
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

	hint->capped = true;
	hint->limit_ns = limit;

	/*
	 * Now rather than after the selection, as governors and the nohz code
	 * are about to look for the next timer.  This timer's clock is not the
	 * one that @left was measured by: if it is early, it is set again.
	 */
	if (tick_nohz_tick_stopped())
		hrtimer_start(&hint->timer, ns_to_ktime(left),
			      HRTIMER_MODE_REL_PINNED_HARD);

	return limit;
}

void __cpuidle_io_hint_selected(int index, bool *stop_tick)
{
	struct io_hint_cpu *hint = this_cpu_ptr(&io_hint_cpus);

	if (!hint->capped)
		return;

	WRITE_ONCE(hint->nr_capped, hint->nr_capped + 1);
	trace_cpuidle_io_hint_cap(smp_processor_id(), index, hint->limit_ns,
				  hint->age_ns);

	/* Where it is stopped, the timer is running. */
	if (!tick_nohz_tick_stopped())
		*stop_tick = false;
}

/*
 * If the key has been turned on or off since the selection, one idle period too
 * many is learned from or not, and a timer may be left to fire: once.
 */
bool __cpuidle_io_hint_capped(struct cpuidle_device *dev)
{
	struct io_hint_cpu *hint = this_cpu_ptr(&io_hint_cpus);

	if (!hint->capped)
		return false;

	if (hrtimer_is_queued(&hint->timer))
		hrtimer_try_to_cancel(&hint->timer);

	/* menu learns from a residency of 0 when it selects the next state. */
	if (!dev->last_residency_ns)
		dev->last_residency_ns = 1;

	return true;
}

static int io_hint_pending_on(unsigned int cpu, int i)
{
	u32 activity;

	return io_hint_pending(per_cpu_ptr(&cpuidle_io_hint_counts, cpu), i,
			       &activity);
}

static int io_hint_pending_anywhere(int i)
{
	unsigned int cpu;
	int pending = 0;

	for_each_possible_cpu(cpu)
		pending += io_hint_pending_on(cpu, i);

	return pending;
}

/* The class with these settings, else one that is free, else 0 */
static int io_hint_find(const struct io_hint_class *classes, u64 limit_ns,
			u64 timeout_ns, int (*pending)(int i))
{
	int i, free = 0;

	for (i = 1; i < CPUIDLE_IO_HINT_CLASSES; i++) {
		if (classes[i].limit_ns == limit_ns &&
		    classes[i].timeout_ns == timeout_ns)
			return i;
		if (!free && !classes[i].users && !pending(i))
			free = i;
	}

	return free;
}

/**
 * cpuidle_io_hint_get - Register a limit for CPUs with pending I/O.
 * @limit_ns: Exit latency that a pending I/O allows, in ns.  0 stands for the
 *	      shallowest state that does not poll.
 * @timeout_ns: For how long after the last activity that the CPU has seen a
 *		pending I/O is taken into account, in ns.
 *
 * May sleep.  Callers that ask for the same settings share a class.
 *
 * Return: The class to publish with, never 0; or -EINVAL if a value is out of
 * range, -ENOSPC if as many distinct settings are in use, or have I/O in flight
 * still, as there are classes.
 */
int cpuidle_io_hint_get(u64 limit_ns, u64 timeout_ns)
{
	struct io_hint_class *class;
	int i;

	if (limit_ns > S64_MAX || !timeout_ns || timeout_ns > S64_MAX)
		return -EINVAL;

	mutex_lock(&io_hint_mutex);

	i = io_hint_find(io_hint_classes, limit_ns, timeout_ns,
			 io_hint_pending_anywhere);
	if (!i) {
		mutex_unlock(&io_hint_mutex);
		return -ENOSPC;
	}

	/*
	 * A CPU that read io_hint_active before the last user of this class
	 * left may be in io_hint_limit() still, and a publisher may have read
	 * the class of its queue before that.  Either can mistake the old
	 * limit for the new one, or on 32 bits half of it, for one I/O.
	 */
	class = &io_hint_classes[i];
	if (!class->users++) {
		WRITE_ONCE(class->limit_ns, limit_ns);
		WRITE_ONCE(class->timeout_ns, timeout_ns);
		/* Pairs with the acquire in __cpuidle_io_hint_cap(). */
		smp_store_release(&io_hint_active, io_hint_active | BIT(i));
	}
	static_branch_inc(&cpuidle_io_hint_enabled);

	mutex_unlock(&io_hint_mutex);

	return i;
}
EXPORT_SYMBOL_GPL(cpuidle_io_hint_get);

/**
 * cpuidle_io_hint_put - Give back what cpuidle_io_hint_get() returned.
 * @class: The class.
 *
 * May sleep.  Hints that are still pending are to be withdrawn all the same.
 * Until then they count if, and as long as, somebody else has the same settings.
 */
void cpuidle_io_hint_put(unsigned int class)
{
	mutex_lock(&io_hint_mutex);
	if (!--io_hint_classes[class].users)
		WRITE_ONCE(io_hint_active, io_hint_active & ~BIT(class));
	static_branch_dec(&cpuidle_io_hint_enabled);
	mutex_unlock(&io_hint_mutex);
}
EXPORT_SYMBOL_GPL(cpuidle_io_hint_put);

/* What is pending is shown as it is: sums that do not balance are a bug. */
static int io_hint_cpus_show(struct seq_file *m, void *unused)
{
	unsigned int cpu;
	int i;

	seq_puts(m, "cpu pending capped expired woken\n");

	for_each_possible_cpu(cpu) {
		struct io_hint_cpu *hint = per_cpu_ptr(&io_hint_cpus, cpu);
		int pending = 0;

		for (i = 1; i < CPUIDLE_IO_HINT_CLASSES; i++)
			pending += io_hint_pending_on(cpu, i);

		/* Sleeping CPUs are not woken yet, see DOC. */
		seq_printf(m, "%u %d %lu %lu 0\n", cpu, pending,
			   READ_ONCE(hint->nr_capped),
			   READ_ONCE(hint->nr_expired));
	}

	return 0;
}
DEFINE_SHOW_ATTRIBUTE(io_hint_cpus);

static int io_hint_classes_show(struct seq_file *m, void *unused)
{
	int i;

	seq_puts(m, "class limit_us timeout_us users pending\n");

	mutex_lock(&io_hint_mutex);
	for (i = 1; i < CPUIDLE_IO_HINT_CLASSES; i++) {
		const struct io_hint_class *class = &io_hint_classes[i];
		int pending = io_hint_pending_anywhere(i);

		if (class->users || pending)
			seq_printf(m, "%d %llu %llu %u %d\n", i,
				   div_u64(class->limit_ns, NSEC_PER_USEC),
				   div_u64(class->timeout_ns, NSEC_PER_USEC),
				   class->users, pending);
	}
	mutex_unlock(&io_hint_mutex);

	return 0;
}
DEFINE_SHOW_ATTRIBUTE(io_hint_classes);

static int __init io_hint_init(void)
{
	struct dentry *dir = debugfs_create_dir("cpuidle_io_hint", NULL);
	unsigned int cpu;

	debugfs_create_file("cpus", 0444, dir, NULL, &io_hint_cpus_fops);
	debugfs_create_file("classes", 0444, dir, NULL, &io_hint_classes_fops);

	for_each_possible_cpu(cpu)
		hrtimer_setup(&per_cpu(io_hint_cpus, cpu).timer,
			      io_hint_timer_fn, CLOCK_MONOTONIC,
			      HRTIMER_MODE_REL_PINNED_HARD);

	return 0;
}
postcore_initcall(io_hint_init);

#ifdef CONFIG_CPU_IDLE_IO_HINT_KUNIT_TEST
#include "tests/io_hint_kunit.c"
#endif

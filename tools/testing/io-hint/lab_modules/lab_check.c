// SPDX-License-Identifier: GPL-2.0
/*
 * Watches what idle states CPUs enter, and whether pending I/O allows them
 *
 * This is a second opinion: it shares the counters and the class table with
 * io_hint.c, but none of its code, nor what that has noted about a CPU.  It
 * looks at the counters of a CPU from tracepoints: when an idle state is
 * entered or left, and when the scheduler switches to or from the idle task.
 *
 * io_hint.c looks between two of these, so what it saw is known within bounds
 * only.  A violation is what is wrong anywhere within them:
 *
 * deep: The state is too deep for a hint that was pending, and not expired, when
 *	it was selected.  Interrupts are off from the selection to the entry, so
 *	what this CPU has published itself is exact.  What others have published
 *	since the previous look may have come after the selection: it is left
 *	out.  For how long the hint has been pending is counted from the previous
 *	look where it changed, as the CPU may have selected a state since then and
 *	not entered it.
 *
 * unwoken: The state is too deep for a hint that another CPU has published since
 *	the previous look.  Either the selection has seen it, or the publisher
 *	wakes the CPU.  It may be about to, so wait: for its mark in too_deep,
 *	which excuses the state.  Once nothing is pending any more, all publishers
 *	are done, and there is no such mark to come.  The same goes for a hint
 *	that is published while the CPU sleeps: by the end of that there has to be
 *	a mark.  And where there is one, the CPU has to wake up.  The other CPUs
 *	look at that, whenever they look at themselves.
 *
 * long: A hint ruled out a state for certain, and the CPU slept for longer than
 *	the tick or the timer of the hint allow.  The same if PM QoS does not
 *	allow that state either, so "qos" turns this off.  Nor does it count where
 *	cpuidle has not been asked, as while the governor is switched: that is
 *	seen afterwards, by what cpuidle itself counts.
 *
 * Not checked are hints that are held, and whatever depends on settings that
 * have changed since the previous look: a class, a disabled state, the static
 * key.  CPUs in play_idle() or in suspend-to-idle are not held back by hints.
 *
 * The tables are not exported: their addresses are those in System.map, with a
 * kernel that is not relocated.
 */

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/cpuidle.h>
#include <linux/cpumask.h>
#include <linux/jiffies.h>
#include <linux/jump_label.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/string.h>
#include <linux/suspend.h>
#include <linux/time64.h>
#include <linux/tracepoint.h>
#include <trace/events/power.h>

#include "io_hint.h"

#define LAB_CHECK_DETAILS	8
#define LAB_CHECK_TURNS		50

static unsigned long classes;
module_param(classes, ulong, 0444);
MODULE_PARM_DESC(classes, "Address of io_hint_classes");

static unsigned long active;
module_param(active, ulong, 0444);
MODULE_PARM_DESC(active, "Address of io_hint_active");

static unsigned long devices;
module_param(devices, ulong, 0444);
MODULE_PARM_DESC(devices, "Address of cpuidle_devices");

static unsigned long hints;
module_param(hints, ulong, 0444);
MODULE_PARM_DESC(hints, "Address of io_hint_cpus");

static unsigned long hint_key;
module_param(hint_key, ulong, 0444);
MODULE_PARM_DESC(hint_key, "Address of cpuidle_io_hint_enabled");

static unsigned long blk_key;
module_param(blk_key, ulong, 0444);
MODULE_PARM_DESC(blk_key, "Address of blk_cpu_lat_enabled");

static bool wake_off;
module_param(wake_off, bool, 0644);
MODULE_PARM_DESC(wake_off, "Somebody publishes without waking other CPUs");

static bool qos;
module_param(qos, bool, 0644);
MODULE_PARM_DESC(qos, "PM QoS limits are in use: allow long sleeps");

static unsigned int wait_us = 10000;
module_param(wait_us, uint, 0644);
MODULE_PARM_DESC(wait_us, "How long to wait for a publisher to wake a CPU");

/* Emulated CPUs take turns, of 100 ms each if they are busy. */
static unsigned int slack_us = 1000000;
module_param(slack_us, uint, 0644);
MODULE_PARM_DESC(slack_us, "By how much a sleep may be late to end");

/* What is counted for a class on a CPU: sums of "own" and of "far" are kept. */
struct lab_check_sums {
	u32	own_published;
	u32	own_withdrawn;
	u32	far_published;
	u32	far_withdrawn;
};

/*
 * A violation, or what may become one: what was found when the state was
 * entered, and for how long the CPU was in it, where that is known.
 */
struct lab_check_detail {
	const char		*kind;
	unsigned int		cpu;
	int			state;
	s64			exit_ns;
	int			class;
	u64			limit_ns;
	u64			span_ns;
	u64			age_ns;
	u64			slept_ns;
	int			pending;
	u32			too_deep;
	struct lab_check_sums	sums;
};

/**
 * struct lab_check_cpu - what has been seen of a CPU; only it writes here
 * @sums: the counters at the previous look
 * @since: when they had not yet changed to that, at the latest
 * @generation: of the classes then
 * @active: classes that were in use then, with the key turned on
 * @unknown: classes whose @since is not known
 * @disabled: idle states that were disabled then
 * @looked: when that was
 * @idle: whether the idle task may have run since
 * @entered: when the CPU has entered the state that it is in
 * @max_ns: how long it may stay there, or 0: for ever
 * @capped: why that is so
 * @uses: how often cpuidle says that states were entered, before it was
 * @late: the CPU has stayed for longer; whether @uses has changed is to be seen
 * @suspect: nobody has woken the CPU yet
 * @unwoken: who should have
 * @chosen: the state that it is in was chosen by a governor
 * @exit_ns: the exit latency of that state
 * @sleeps: counts entries and exits: odd while it is in a state
 * @marked: where @sleeps was when others have first seen that it is to wake up
 * @marked_at: when that was
 * @nr_checked: entries that could have been violations
 * @nr_excused: entries where the publisher was just about to wake the CPU
 */
struct lab_check_cpu {
	struct lab_check_sums	sums[CPUIDLE_IO_HINT_CLASSES];
	u64			since[CPUIDLE_IO_HINT_CLASSES];
	unsigned int		generation[CPUIDLE_IO_HINT_CLASSES];
	unsigned long		active;
	unsigned long		unknown;
	unsigned long		disabled;
	u64			looked;
	bool			idle;
	u64			entered;
	u64			max_ns;
	struct lab_check_detail	capped;
	u64			uses;
	bool			late;
	bool			suspect;
	struct lab_check_detail	unwoken;
	bool			chosen;
	s64			exit_ns;
	unsigned int		sleeps;
	unsigned int		marked;
	u64			marked_at;
	unsigned long		nr_checked;
	unsigned long		nr_excused;
};

static DEFINE_PER_CPU(struct lab_check_cpu, lab_check_cpus);

static struct lab_check_detail lab_check_details[LAB_CHECK_DETAILS];
static bool lab_check_ready[LAB_CHECK_DETAILS];
static atomic_t lab_check_violations;

/* No locks and no printk() where this is called: somebody asks for it later. */
static void lab_check_violation(const struct lab_check_detail *detail)
{
	int n = atomic_inc_return(&lab_check_violations) - 1;

	if (n < 0 || n >= LAB_CHECK_DETAILS)
		return;

	lab_check_details[n] = *detail;
	/* Pairs with the acquire in lab_check_get_violations(). */
	smp_store_release(&lab_check_ready[n], true);
}

/*
 * Withdrawals first, or something could seem to be withdrawn that has not been
 * published.
 */
static int lab_check_read(unsigned int cpu, int i, struct lab_check_sums *sums)
{
	struct cpuidle_io_hint_counts *counts =
		per_cpu_ptr(&cpuidle_io_hint_counts, cpu);

	sums->own_withdrawn = READ_ONCE(counts->own_withdrawn[i]);
	sums->far_withdrawn = atomic_read(&counts->far_withdrawn[i]);
	/* Pairs with what orders the end of an I/O after its start. */
	smp_rmb();
	sums->own_published = READ_ONCE(counts->own_published[i]);
	sums->far_published = atomic_read(&counts->far_published[i]);

	return sums->own_published + sums->far_published -
	       sums->own_withdrawn - sums->far_withdrawn;
}

static bool lab_check_own_moved(const struct lab_check_sums *a,
				const struct lab_check_sums *b)
{
	return a->own_published != b->own_published ||
	       a->own_withdrawn != b->own_withdrawn;
}

static bool lab_check_far_moved(const struct lab_check_sums *a,
				const struct lab_check_sums *b)
{
	return a->far_published != b->far_published ||
	       a->far_withdrawn != b->far_withdrawn;
}

static struct cpuidle_device *lab_check_device(unsigned int cpu)
{
	struct cpuidle_device * __percpu *all;

	all = (__force struct cpuidle_device * __percpu *)devices;
	return READ_ONCE(*per_cpu_ptr(all, cpu));
}

static unsigned long lab_check_disabled(const struct cpuidle_driver *drv,
					const struct cpuidle_device *dev)
{
	unsigned long disabled = 0;
	int i;

	for (i = 0; drv && dev && i < drv->state_count; i++) {
		if (READ_ONCE(dev->states_usage[i].disable))
			disabled |= BIT(i);
	}

	return disabled;
}

static u64 lab_check_uses(const struct cpuidle_driver *drv,
			  const struct cpuidle_device *dev)
{
	u64 uses = 0;
	int i;

	for (i = 0; drv && dev && i < drv->state_count; i++)
		uses += dev->states_usage[i].usage +
			dev->states_usage[i].rejected;

	return uses;
}

/* The classes in use, and what they are; none while the key is turned off. */
static unsigned long lab_check_active(unsigned int *generation)
{
	struct io_hint_class *table = (struct io_hint_class *)classes;
	struct static_key *key = (struct static_key *)hint_key;
	int i;

	for (i = 0; i < CPUIDLE_IO_HINT_CLASSES; i++)
		generation[i] = READ_ONCE(table[i].generation);
	/* A class whose generation has not changed was active all the time. */
	smp_rmb();

	/* -1: it is only just being turned on. */
	if (atomic_read(&key->enabled) <= 0)
		return 0;
	/* As in io_hint.c: before what is in the table. */
	return smp_load_acquire((unsigned long *)active) & ~BIT(0);
}

/* An idle state that is about to be entered, with all that is to be known. */
struct lab_check_entry {
	const struct cpuidle_driver	*drv;
	const struct cpuidle_device	*dev;
	unsigned int			cpu;
	int				state;
	u64				now;
	unsigned long			active;
	unsigned long			disabled;
	unsigned int			generation[CPUIDLE_IO_HINT_CLASSES];
};

static bool lab_check_same(const struct lab_check_entry *entry, int i)
{
	struct io_hint_class *table = (struct io_hint_class *)classes;

	/* What has been read of the class, before whether that has changed */
	smp_rmb();
	/* It is not active while it changes, which is counted before it is. */
	return smp_load_acquire((unsigned long *)active) & BIT(i) &&
	       READ_ONCE(table[i].generation) == entry->generation[i];
}

static bool lab_check_usable(const struct lab_check_entry *entry, int i)
{
	return !(entry->disabled & BIT(i)) &&
	       !(entry->drv->states[i].flags & CPUIDLE_FLAG_POLLING);
}

/* The least that a hint may ask for: the shallowest state that halts the CPU. */
static s64 lab_check_least(const struct lab_check_entry *entry)
{
	s64 least = S64_MAX;
	int i;

	for (i = 0; i < entry->drv->state_count; i++) {
		if (lab_check_usable(entry, i))
			least = min(least, entry->drv->states[i].exit_latency_ns);
	}

	return max(least, 1LL);
}

static bool lab_check_binding(const struct lab_check_entry *entry, s64 limit)
{
	int i;

	for (i = 0; i < entry->drv->state_count; i++) {
		if (lab_check_usable(entry, i) &&
		    entry->drv->states[i].exit_latency_ns > limit)
			return true;
	}

	return false;
}

/*
 * Wait for the publisher of @detail to wake this CPU.  Where emulated CPUs run
 * in turn, cpu_relax() lets it go on, but others first.
 *
 * Return: whether it has; if not, and it may do so still, *suspect is set.
 */
static bool lab_check_wait(struct lab_check_detail *detail, bool *suspect)
{
	struct cpuidle_io_hint_counts *counts =
		per_cpu_ptr(&cpuidle_io_hint_counts, detail->cpu);
	u64 start = local_clock();
	struct lab_check_sums sums;
	int turns = 0;
	bool done;

	for (;;) {
		/* Whoever has withdrawn it did so after waking this CPU. */
		done = lab_check_read(detail->cpu, detail->class, &sums) <= 0;
		/* Pairs with the cmpxchg in __cpuidle_io_hint_wake(). */
		smp_rmb();
		detail->too_deep = READ_ONCE(counts->too_deep);
		if (detail->too_deep >> 16)
			return true;
		if (done)
			return false;
		if (turns++ >= LAB_CHECK_TURNS && local_clock() - start >=
		    (u64)READ_ONCE(wait_us) * NSEC_PER_USEC) {
			*suspect = true;
			return false;
		}
		cpu_relax();
	}
}

/* Before the counters are noted: is anything wrong with this state? */
static void lab_check_enter(struct lab_check_cpu *seen,
			    const struct lab_check_entry *entry)
{
	struct io_hint_class *table = (struct io_hint_class *)classes;
	s64 exit_ns = entry->drv->states[entry->state].exit_latency_ns;
	s64 least = lab_check_least(entry);
	struct lab_check_detail deep = {}, unwoken = {};
	bool checked = false;
	u64 max_ns = 0;
	int i;

	if (seen->disabled != entry->disabled || least == S64_MAX)
		return;

	for (i = 1; i < CPUIDLE_IO_HINT_CLASSES; i++) {
		struct lab_check_sums *old = &seen->sums[i], new;
		struct lab_check_detail detail;
		u64 since, span;
		bool known, sure, fresh;
		u32 published;
		int pending;
		s64 limit;

		if (!(seen->active & entry->active & BIT(i)) ||
		    seen->generation[i] != entry->generation[i])
			continue;

		pending = lab_check_read(entry->cpu, i, &new);
		detail = (struct lab_check_detail) {
			.pending	= pending,
			.cpu		= entry->cpu,
			.state		= entry->state,
			.exit_ns	= exit_ns,
			.class		= i,
			.limit_ns	= READ_ONCE(table[i].limit_ns),
			.sums		= new,
		};
		span = max(READ_ONCE(table[i].timeout_ns),
			   READ_ONCE(table[i].hold_ns));
		detail.span_ns = span;
		/* Are these still the settings that the selection has seen? */
		if (!lab_check_same(entry, i))
			continue;
		limit = max_t(s64, detail.limit_ns, least);
		if (pending <= 0 || !lab_check_binding(entry, limit))
			continue;

		/*
		 * If only other CPUs have counted something, that may be since
		 * the selection, for which the hint was as old as before then.
		 */
		known = !(seen->unknown & BIT(i));
		since = seen->since[i];
		if (lab_check_own_moved(old, &new)) {
			known = true;
			since = seen->looked;
		}
		published = new.far_published - old->far_published;

		sure = known && pending - (s64)published > 0 &&
		       entry->now - since < span;
		fresh = published && !READ_ONCE(wake_off) &&
			entry->now - seen->looked < span;
		checked |= sure || fresh;
		detail.age_ns = entry->now - (sure ? since : seen->looked);

		if (sure && exit_ns > limit && !deep.kind) {
			deep = detail;
			deep.kind = "deep";
		} else if (fresh && exit_ns > limit && !unwoken.kind) {
			unwoken = detail;
			unwoken.kind = "unwoken";
		} else if (sure && span >= max_ns) {
			max_ns = span;
			seen->capped = detail;
			seen->capped.kind = "long";
		}
	}

	if (checked)
		WRITE_ONCE(seen->nr_checked, seen->nr_checked + 1);

	if (deep.kind) {
		deep.too_deep = READ_ONCE(per_cpu_ptr(&cpuidle_io_hint_counts,
						      entry->cpu)->too_deep);
		lab_check_violation(&deep);
	} else if (unwoken.kind) {
		if (lab_check_wait(&unwoken, &seen->suspect)) {
			WRITE_ONCE(seen->nr_excused, seen->nr_excused + 1);
			seen->capped = unwoken;
			seen->max_ns = 1;
			seen->uses = lab_check_uses(entry->drv, entry->dev);
		} else if (seen->suspect) {
			seen->unwoken = unwoken;
		} else {
			lab_check_violation(&unwoken);
		}
	} else if (max_ns && lab_check_usable(entry, entry->state)) {
		seen->max_ns = max_t(u64, max_ns, TICK_NSEC);
		seen->uses = lab_check_uses(entry->drv, entry->dev);
	}
}

/* Has whoever has published for this CPU while it slept woken it? */
static void lab_check_slept(struct lab_check_cpu *seen,
			    const struct lab_check_entry *entry)
{
	struct io_hint_class *table = (struct io_hint_class *)classes;
	s64 least = lab_check_least(entry);
	bool suspect = false;
	int i;

	if (!seen->chosen || seen->disabled != entry->disabled)
		return;

	for (i = 1; i < CPUIDLE_IO_HINT_CLASSES; i++) {
		struct lab_check_detail detail;
		struct lab_check_sums new;
		int pending;

		if (!(seen->active & entry->active & BIT(i)) ||
		    seen->generation[i] != entry->generation[i])
			continue;

		pending = lab_check_read(entry->cpu, i, &new);
		if (new.far_published == seen->sums[i].far_published)
			continue;

		detail = (struct lab_check_detail) {
			.kind		= "unwoken",
			.pending	= pending,
			.cpu		= entry->cpu,
			.state		= entry->state,
			.exit_ns	= seen->exit_ns,
			.class		= i,
			.limit_ns	= READ_ONCE(table[i].limit_ns),
			.slept_ns	= entry->now - seen->entered,
			.sums		= new,
		};
		if (!lab_check_same(entry, i) || READ_ONCE(wake_off) ||
		    seen->exit_ns <= max_t(s64, detail.limit_ns, least))
			continue;

		if (lab_check_wait(&detail, &suspect))
			WRITE_ONCE(seen->nr_excused, seen->nr_excused + 1);
		else
			lab_check_violation(&detail);
		/* For one of them: then the mark is that. */
		return;
	}
}

/* Are there other CPUs that have been woken, and sleep on? */
static void lab_check_others(unsigned int this_cpu, u64 now)
{
	unsigned int cpu;

	for_each_online_cpu(cpu) {
		struct lab_check_cpu *seen = per_cpu_ptr(&lab_check_cpus, cpu);
		struct lab_check_detail detail = {
			.kind	= "unwoken",
			.cpu	= cpu,
		};
		unsigned int sleeps;

		/* Pairs with the release in lab_check_cpu_idle(). */
		sleeps = smp_load_acquire(&seen->sleeps);
		detail.too_deep = READ_ONCE(per_cpu_ptr(&cpuidle_io_hint_counts,
							cpu)->too_deep);
		if (cpu == this_cpu || !(sleeps & 1) || !(detail.too_deep >> 16))
			continue;

		/*
		 * Pairs with the release below.  If two of them see it first,
		 * the later one counts.
		 */
		if (smp_load_acquire(&seen->marked) != sleeps) {
			WRITE_ONCE(seen->marked_at, now);
			/* After the time */
			smp_store_release(&seen->marked, sleeps);
			continue;
		}

		detail.slept_ns = now - READ_ONCE(seen->marked_at);
		if ((s64)detail.slept_ns >
		    (s64)READ_ONCE(slack_us) * NSEC_PER_USEC &&
		    READ_ONCE(seen->sleeps) == sleeps) {
			lab_check_violation(&detail);
			WRITE_ONCE(seen->marked_at, U64_MAX / 2);
		}
	}
}

static void lab_check_leave(struct lab_check_cpu *seen, unsigned int cpu,
			    u64 now)
{
	struct cpuidle_io_hint_counts *counts =
		per_cpu_ptr(&cpuidle_io_hint_counts, cpu);
	u64 slept = now - seen->entered;

	if (seen->suspect) {
		seen->unwoken.too_deep = READ_ONCE(counts->too_deep);
		seen->unwoken.slept_ns = slept;
		if (seen->unwoken.too_deep >> 16)
			WRITE_ONCE(seen->nr_excused, seen->nr_excused + 1);
		else
			lab_check_violation(&seen->unwoken);
		seen->suspect = false;
	}

	if (seen->max_ns && !READ_ONCE(qos) &&
	    slept > seen->max_ns + (u64)READ_ONCE(slack_us) * NSEC_PER_USEC) {
		seen->capped.slept_ns = slept;
		seen->late = true;
	}
	seen->max_ns = 0;
}

/* At the next look: was it cpuidle that had the CPU sleep for so long? */
static void lab_check_settle(struct lab_check_cpu *seen,
			     const struct lab_check_entry *entry)
{
	if (!seen->late)
		return;

	seen->late = false;
	if (entry->drv && entry->dev &&
	    lab_check_uses(entry->drv, entry->dev) != seen->uses)
		lab_check_violation(&seen->capped);
}

/*
 * Note what is counted.  @now is when the caller began to look; io_hint.c can
 * have noted a change no earlier than at the previous look, or if the CPU was
 * not idle until @now, not earlier than that.
 */
static void lab_check_note(struct lab_check_cpu *seen,
			   const struct lab_check_entry *entry, bool was_busy)
{
	u64 since = was_busy ? entry->now : seen->looked;
	int i;

	for (i = 1; i < CPUIDLE_IO_HINT_CLASSES; i++) {
		struct lab_check_sums new;

		lab_check_read(entry->cpu, i, &new);
		if (seen->looked &&
		    (lab_check_own_moved(&seen->sums[i], &new) ||
		     lab_check_far_moved(&seen->sums[i], &new))) {
			seen->since[i] = since;
			seen->unknown &= ~BIT(i);
		}
		seen->sums[i] = new;
		seen->generation[i] = entry->generation[i];
	}

	seen->active = entry->active;
	seen->disabled = entry->disabled;
	seen->looked = entry->now;
}

static void lab_check_look(struct lab_check_entry *entry, unsigned int cpu)
{
	entry->cpu = cpu;
	entry->now = local_clock();
	entry->dev = lab_check_device(cpu);
	entry->drv = cpuidle_get_cpu_driver((struct cpuidle_device *)entry->dev);
	entry->disabled = lab_check_disabled(entry->drv, entry->dev);
	entry->active = lab_check_active(entry->generation);
}

/* Whether a governor has chosen this state, and all is known to judge that */
static bool lab_check_chosen(const struct lab_check_entry *entry)
{
	/* data_race: if it changes right now, no governor was asked before. */
	return entry->dev && entry->drv && data_race(!!entry->dev->enabled) &&
	       entry->state < entry->drv->state_count &&
	       !READ_ONCE(entry->dev->forced_idle_latency_limit_ns) &&
	       /* data_race: it is set long before CPUs are in suspend-to-idle */
	       data_race(pm_suspend_target_state == PM_SUSPEND_ON);
}

/* Called with interrupts off, on the CPU that is idle. */
static void lab_check_cpu_idle(void *unused, unsigned int state,
			       unsigned int cpu)
{
	struct lab_check_cpu *seen = this_cpu_ptr(&lab_check_cpus);
	struct lab_check_entry entry;

	lab_check_look(&entry, cpu);
	entry.state = state;

	lab_check_others(cpu, entry.now);
	if (state == PWR_EVENT_EXIT) {
		WRITE_ONCE(seen->sleeps, (seen->sleeps | 1) + 1);
		lab_check_leave(seen, cpu, entry.now);
		lab_check_slept(seen, &entry);
		seen->chosen = false;
		lab_check_note(seen, &entry, false);
		return;
	}

	lab_check_settle(seen, &entry);
	/* The probe may have missed the end of the previous one. */
	seen->suspect = false;
	seen->max_ns = 0;
	seen->chosen = seen->idle && lab_check_chosen(&entry);
	if (seen->chosen) {
		seen->exit_ns = entry.drv->states[state].exit_latency_ns;
		lab_check_enter(seen, &entry);
	}
	lab_check_note(seen, &entry, false);
	seen->entered = local_clock();
	/* After what has been written to too_deep for this state */
	smp_store_release(&seen->sleeps, seen->sleeps | 1);
}

/* Called with interrupts off, and with a lock of the scheduler held. */
static void lab_check_switch(void *unused, bool preempt,
			     struct task_struct *prev, struct task_struct *next,
			     unsigned int prev_state)
{
	struct lab_check_cpu *seen = this_cpu_ptr(&lab_check_cpus);
	struct lab_check_entry entry;

	/* Not is_idle_task(): that is also true for play_idle(). */
	if (prev->pid && next->pid)
		return;

	lab_check_look(&entry, smp_processor_id());
	lab_check_settle(seen, &entry);
	lab_check_note(seen, &entry, !next->pid && !seen->idle);
	seen->idle = !next->pid;
}

/* The counters are not read at once; where nothing happens, that is exact. */
static int lab_check_get_pending(char *buffer, const struct kernel_param *kp)
{
	struct lab_check_sums sums;
	unsigned int cpu;
	int i, pending, len = 0;

	for_each_possible_cpu(cpu) {
		for (i = 1; i < CPUIDLE_IO_HINT_CLASSES; i++) {
			pending = lab_check_read(cpu, i, &sums);
			if (pending)
				len += scnprintf(buffer + len, PAGE_SIZE - len,
						 "%u %d %d\n", cpu, i, pending);
		}
	}

	return len;
}

static const struct kernel_param_ops lab_check_pending_ops = {
	.get	= lab_check_get_pending,
};
module_param_cb(pending, &lab_check_pending_ops, NULL, 0444);
MODULE_PARM_DESC(pending, "Per CPU and class, what is pending, unless that is 0");

static int lab_check_get_waking(char *buffer, const struct kernel_param *kp)
{
	unsigned int cpu;
	int len = 0;

	for_each_possible_cpu(cpu) {
		struct io_hint_cpu *hint =
			per_cpu_ptr((struct io_hint_cpu __percpu *)hints, cpu);

		if (atomic_read(&hint->waking))
			len += scnprintf(buffer + len, PAGE_SIZE - len, "%u\n",
					 cpu);
	}

	return len;
}

static const struct kernel_param_ops lab_check_waking_ops = {
	.get	= lab_check_get_waking,
};
module_param_cb(waking, &lab_check_waking_ops, NULL, 0444);
MODULE_PARM_DESC(waking, "CPUs that have been woken, and have not seen it yet");

static int lab_check_get_keys(char *buffer, const struct kernel_param *kp)
{
	return scnprintf(buffer, PAGE_SIZE, "%d %d\n",
			 static_key_count((struct static_key *)hint_key),
			 static_key_count((struct static_key *)blk_key));
}

static const struct kernel_param_ops lab_check_keys_ops = {
	.get	= lab_check_get_keys,
};
module_param_cb(keys, &lab_check_keys_ops, NULL, 0444);
MODULE_PARM_DESC(keys, "How often the static keys are turned on: hints, blk");

static int lab_check_get_sum(char *buffer, size_t offset)
{
	unsigned long sum = 0;
	unsigned int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(*(unsigned long *)
				 ((void *)per_cpu_ptr(&lab_check_cpus, cpu) +
				  offset));

	return scnprintf(buffer, PAGE_SIZE, "%lu\n", sum);
}

static int lab_check_get_checked(char *buffer, const struct kernel_param *kp)
{
	return lab_check_get_sum(buffer, offsetof(struct lab_check_cpu,
						  nr_checked));
}

static const struct kernel_param_ops lab_check_checked_ops = {
	.get	= lab_check_get_checked,
};
module_param_cb(checked, &lab_check_checked_ops, NULL, 0444);
MODULE_PARM_DESC(checked, "Idle states entered that a hint could have ruled out");

static int lab_check_get_excused(char *buffer, const struct kernel_param *kp)
{
	return lab_check_get_sum(buffer, offsetof(struct lab_check_cpu,
						  nr_excused));
}

static const struct kernel_param_ops lab_check_excused_ops = {
	.get	= lab_check_get_excused,
};
module_param_cb(excused, &lab_check_excused_ops, NULL, 0444);
MODULE_PARM_DESC(excused, "Those that were too deep, and the CPU was woken");

static int lab_check_get_violations(char *buffer, const struct kernel_param *kp)
{
	int i, len;

	len = scnprintf(buffer, PAGE_SIZE, "%u\n",
			atomic_read(&lab_check_violations));
	for (i = 0; i < LAB_CHECK_DETAILS; i++) {
		const struct lab_check_detail *d = &lab_check_details[i];

		/* Pairs with the release in lab_check_violation(). */
		if (!smp_load_acquire(&lab_check_ready[i]))
			continue;
		len += scnprintf(buffer + len, PAGE_SIZE - len,
				 "%s: cpu %u state %d exit_ns %lld class %d limit_ns %llu timeout_ns %llu age_ns %llu slept_ns %llu pending %d too_deep %#x own %u-%u far %u-%u\n",
				 d->kind, d->cpu, d->state, d->exit_ns,
				 d->class, d->limit_ns, d->span_ns, d->age_ns,
				 d->slept_ns, d->pending, d->too_deep,
				 d->sums.own_published, d->sums.own_withdrawn,
				 d->sums.far_published, d->sums.far_withdrawn);
	}

	return len;
}

static const struct kernel_param_ops lab_check_violations_ops = {
	.get	= lab_check_get_violations,
};
module_param_cb(violations, &lab_check_violations_ops, NULL, 0444);
MODULE_PARM_DESC(violations, "How many there were, and what the first ones were");

static struct lab_check_probe {
	const char		*name;
	void			*probe;
	struct tracepoint	*tp;
} lab_check_probes[] = {
	{ "sched_switch",	lab_check_switch },
	{ "cpu_idle",		lab_check_cpu_idle },
};

static void lab_check_find(struct tracepoint *tp, void *unused)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(lab_check_probes); i++) {
		if (!strcmp(tp->name, lab_check_probes[i].name))
			lab_check_probes[i].tp = tp;
	}
}

static void lab_check_remove_probes(int n)
{
	while (n--)
		tracepoint_probe_unregister(lab_check_probes[n].tp,
					    lab_check_probes[n].probe, NULL);
	tracepoint_synchronize_unregister();
}

static int __init lab_check_init(void)
{
	unsigned int cpu;
	int i, ret;

	if (!classes || !active || !devices || !hints || !hint_key || !blk_key) {
		pr_err("lab_check: an address is missing\n");
		return -EINVAL;
	}

	for_each_possible_cpu(cpu)
		per_cpu(lab_check_cpus, cpu).unknown = ~0UL;

	for_each_kernel_tracepoint(lab_check_find, NULL);
	for (i = 0; i < ARRAY_SIZE(lab_check_probes); i++) {
		struct lab_check_probe *p = &lab_check_probes[i];

		ret = p->tp ? tracepoint_probe_register(p->tp, p->probe, NULL) :
			      -ENOENT;
		if (ret) {
			pr_err("lab_check: no tracepoint %s: %d\n", p->name,
			       ret);
			lab_check_remove_probes(i);
			return ret;
		}
	}

	return 0;
}

static void __exit lab_check_exit(void)
{
	lab_check_remove_probes(ARRAY_SIZE(lab_check_probes));
}

module_init(lab_check_init);
module_exit(lab_check_exit);

MODULE_DESCRIPTION("Checks the idle states that CPUs enter, for tests");
MODULE_LICENSE("GPL");

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pending-I/O hints: what the idle path (io_hint.c, where the design is) and the
 * registration of classes (io_hint_class.c) share
 */
#ifndef _CPUIDLE_GOVERNORS_IO_HINT_H
#define _CPUIDLE_GOVERNORS_IO_HINT_H

#include <linux/atomic.h>
#include <linux/cpuidle_io_hint.h>
#include <linux/hrtimer.h>
#include <linux/percpu.h>
#include <linux/smp.h>
#include <linux/types.h>

/**
 * struct io_hint_class - what the publishers of a class ask for
 * @limit_ns: exit latency that a pending hint allows
 * @timeout_ns: for how long without activity a pending hint counts
 * @hold_ns: for how long it counts after the last I/O that was pending
 * @users: how many publishers hold the class; 0: free once nothing is pending
 * @generation: how often that has begun
 */
struct io_hint_class {
	u64			limit_ns;
	u64			timeout_ns;
	u64			hold_ns;
	unsigned int		users;
	unsigned int		generation;
};

/**
 * struct io_hint_cpu - what the idle path of one CPU knows; only it writes here
 * @seen: sum of the counters at the last look, by class
 * @since: local_clock() when @seen was first found, by class
 * @generation: that of the class which these are about
 * @rush_ns: for how long the class is held, as the CPU was woken too early; or 0
 * @expired: bitmask of classes that do not count until there is more I/O
 * @capped: a hint was binding in the last selection of an idle state
 * @held: nothing is pending for the class that has imposed the limit
 * @deep_ns: exit latency of the state the CPU sleeps in, if that is too deep for
 *	     some class; else 0
 * @pays_ns: target residency of that state
 * @limit_ns: the limit that a hint has imposed, for the trace
 * @age_ns: how long before that the CPU had last seen activity, likewise
 * @nr_capped: selections in which a hint was binding
 * @nr_expired: times that a class has expired with I/O pending
 * @nr_woken: times that a publisher has woken the CPU
 * @timer: wakes the CPU when the limit ends, if no tick does so in time
 * @wake: by which a publisher wakes it
 * @waking: somebody sends @wake, or it is on its way; the one thing, with @wake,
 *	    that others write
 */
struct io_hint_cpu {
	u32			seen[CPUIDLE_IO_HINT_CLASSES];
	u64			since[CPUIDLE_IO_HINT_CLASSES];
	unsigned int		generation[CPUIDLE_IO_HINT_CLASSES];
	u64			rush_ns[CPUIDLE_IO_HINT_CLASSES];
	unsigned long		expired;
	bool			capped;
	bool			held;
	s64			deep_ns;
	s64			pays_ns;
	u64			limit_ns;
	u64			age_ns;
	unsigned long		nr_capped;
	unsigned long		nr_expired;
	unsigned long		nr_woken;
	struct hrtimer		timer;
	call_single_data_t	wake;
	atomic_t		waking;
};

DECLARE_PER_CPU(struct io_hint_cpu, io_hint_cpus);

extern struct io_hint_class io_hint_classes[CPUIDLE_IO_HINT_CLASSES];
extern unsigned long io_hint_active;

int io_hint_pending(const struct cpuidle_io_hint_counts *counts, int i,
		    u32 *activity);
int io_hint_pending_on(unsigned int cpu, int i);
int io_hint_pending_anywhere(int i);
int io_hint_find(const struct io_hint_class *classes,
		 const struct io_hint_class *want, int (*pending)(int i));

#endif /* _CPUIDLE_GOVERNORS_IO_HINT_H */

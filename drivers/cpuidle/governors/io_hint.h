/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pending-I/O hints: what the idle path (io_hint.c, where the design is) and the
 * registration of classes (io_hint_class.c) share
 */
#ifndef _CPUIDLE_GOVERNORS_IO_HINT_H
#define _CPUIDLE_GOVERNORS_IO_HINT_H

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
 */
struct io_hint_class {
	u64			limit_ns;
	u64			timeout_ns;
	u64			hold_ns;
	unsigned int		users;
};

/**
 * struct io_hint_cpu - what the idle path of one CPU knows; only it writes here
 * @seen: sum of the counters at the last look, by class
 * @since: local_clock() when @seen was first found, by class
 * @expired: bitmask of classes that have outlived their timeout, or hold time
 * @capped: a hint was binding in the last selection of an idle state
 * @woken: a publisher has woken the CPU since it last went to sleep
 * @deep_ns: target residency of the last state that was too deep for some class
 * @rush_ns: for how long hints are held, as the last such sleep was too short
 * @limit_ns: the limit it imposed, for the trace
 * @age_ns: how long before that the CPU had last seen activity, likewise
 * @nr_capped: selections in which a hint was binding
 * @nr_expired: times that a class has expired with I/O pending
 * @nr_woken: times that a publisher has woken the CPU
 * @timer: wakes the CPU at expiry, if the tick is stopped
 * @wake: by which a publisher wakes it: the one thing that others write
 */
struct io_hint_cpu {
	u32			seen[CPUIDLE_IO_HINT_CLASSES];
	u64			since[CPUIDLE_IO_HINT_CLASSES];
	unsigned long		expired;
	bool			capped;
	bool			woken;
	u64			deep_ns;
	u64			rush_ns;
	u64			limit_ns;
	u64			age_ns;
	unsigned long		nr_capped;
	unsigned long		nr_expired;
	unsigned long		nr_woken;
	struct hrtimer		timer;
	call_single_data_t	wake;
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

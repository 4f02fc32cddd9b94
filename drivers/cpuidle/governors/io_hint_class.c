// SPDX-License-Identifier: GPL-2.0
/*
 * Pending-I/O hints: what publishers register, and what can be seen of it
 *
 * None of this is on the way of an I/O or of a CPU that goes idle.
 */

#include <linux/bits.h>
#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/export.h>
#include <linux/init.h>
#include <linux/jump_label.h>
#include <linux/math64.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/smp.h>
#include <linux/time64.h>

#include "io_hint.h"

/* Classes are changed under the mutex, and only while they are not active. */
struct io_hint_class io_hint_classes[CPUIDLE_IO_HINT_CLASSES] __read_mostly;
unsigned long io_hint_active __read_mostly;
static DEFINE_MUTEX(io_hint_mutex);

int io_hint_pending_on(unsigned int cpu, int i)
{
	u32 activity;

	return io_hint_pending(per_cpu_ptr(&cpuidle_io_hint_counts, cpu), i,
			       &activity);
}

int io_hint_pending_anywhere(int i)
{
	unsigned int cpu;
	int pending = 0;

	for_each_possible_cpu(cpu)
		pending += io_hint_pending_on(cpu, i);

	return pending;
}

/* The class with the settings in @want, else one that is free, else 0 */
int io_hint_find(const struct io_hint_class *classes,
		 const struct io_hint_class *want, int (*pending)(int i))
{
	int i, free = 0;

	for (i = 1; i < CPUIDLE_IO_HINT_CLASSES; i++) {
		if (classes[i].limit_ns == want->limit_ns &&
		    classes[i].timeout_ns == want->timeout_ns &&
		    classes[i].hold_ns == want->hold_ns)
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
 * @hold_ns: For how long the limit outlasts the last pending I/O, in ns.
 *
 * May sleep.  Callers that ask for the same settings share a class.
 *
 * Return: The class to publish with, never 0; or -EINVAL if a value is out of
 * range, -ENOSPC if as many distinct settings are in use, or have I/O in flight
 * still, as there are classes.
 */
int cpuidle_io_hint_get(u64 limit_ns, u64 timeout_ns, u64 hold_ns)
{
	const struct io_hint_class want = { limit_ns, timeout_ns, hold_ns };
	struct io_hint_class *class;
	int i;

	if (limit_ns > S64_MAX || !timeout_ns || timeout_ns > S64_MAX ||
	    hold_ns > S64_MAX)
		return -EINVAL;

	mutex_lock(&io_hint_mutex);

	i = io_hint_find(io_hint_classes, &want, io_hint_pending_anywhere);
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
		WRITE_ONCE(class->hold_ns, hold_ns);
		WRITE_ONCE(class->generation, class->generation + 1);
		/* Pairs with the acquires in io_hint.c. */
		smp_store_release(&io_hint_active, io_hint_active | BIT(i));
	}
	static_branch_inc(&cpuidle_io_hint_enabled);

	/* Those that are asleep do not know yet for which classes to be woken. */
	if (class->users == 1)
		wake_up_all_idle_cpus();

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

/*
 * What is pending is shown as it is: sums that do not balance are a bug.
 * "published" wraps; "far" is what other CPUs have written here.
 */
static int io_hint_cpus_show(struct seq_file *m, void *unused)
{
	unsigned int cpu;
	int i;

	seq_puts(m, "cpu pending published far capped expired woken\n");

	for_each_possible_cpu(cpu) {
		struct cpuidle_io_hint_counts *counts =
			per_cpu_ptr(&cpuidle_io_hint_counts, cpu);
		struct io_hint_cpu *hint = per_cpu_ptr(&io_hint_cpus, cpu);
		u32 published = 0, far = 0;
		int pending = 0;

		for (i = 1; i < CPUIDLE_IO_HINT_CLASSES; i++) {
			pending += io_hint_pending_on(cpu, i);
			published += READ_ONCE(counts->own_published[i]) +
				     atomic_read(&counts->far_published[i]);
			far += atomic_read(&counts->far_published[i]) +
			       atomic_read(&counts->far_withdrawn[i]);
		}

		seq_printf(m, "%u %d %u %u %lu %lu %lu\n", cpu, pending,
			   published, far, READ_ONCE(hint->nr_capped),
			   READ_ONCE(hint->nr_expired),
			   READ_ONCE(hint->nr_woken));
	}

	return 0;
}
DEFINE_SHOW_ATTRIBUTE(io_hint_cpus);

static int io_hint_classes_show(struct seq_file *m, void *unused)
{
	int i;

	seq_puts(m, "class limit_us timeout_us hold_us users pending\n");

	mutex_lock(&io_hint_mutex);
	for (i = 1; i < CPUIDLE_IO_HINT_CLASSES; i++) {
		const struct io_hint_class *class = &io_hint_classes[i];
		int pending = io_hint_pending_anywhere(i);

		if (class->users || pending)
			seq_printf(m, "%d %llu %llu %llu %u %d\n", i,
				   div_u64(class->limit_ns, NSEC_PER_USEC),
				   div_u64(class->timeout_ns, NSEC_PER_USEC),
				   div_u64(class->hold_ns, NSEC_PER_USEC),
				   class->users, pending);
	}
	mutex_unlock(&io_hint_mutex);

	return 0;
}
DEFINE_SHOW_ATTRIBUTE(io_hint_classes);

static int __init io_hint_debugfs_init(void)
{
	struct dentry *dir = debugfs_create_dir("cpuidle_io_hint", NULL);

	debugfs_create_file("cpus", 0444, dir, NULL, &io_hint_cpus_fops);
	debugfs_create_file("classes", 0444, dir, NULL, &io_hint_classes_fops);

	return 0;
}
postcore_initcall(io_hint_debugfs_init);

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: move.sh DISK
#
# An interrupt that moves: the hint goes to the CPU that takes it now, and no
# longer to the one that took it before
#
# DISK must have one interrupt, which can be moved, as behind AHCI, and be so
# slow that a read can be caught in flight: 0.2 s or more.  It is written to.
# Needs three CPUs and fio.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-load.sh
. "$DIR/lib-load.sh"

disk=${1:-}
[ -n "$disk" ] || skip_all "no disk given that is slow enough"
queue=/sys/block/$disk/queue
[ -e "$queue/cpu_lat_limit_us" ] || skip_all "$disk has no cpu_lat_limit_us"
[ -d $CPUS/cpu2 ] || skip_all "needs three CPUs"
irq=$(movable "$disk")
[ -n "$irq" ] || skip_all "$disk has no interrupt that can be moved"

keep_knobs "$disk"
keep "$queue/rq_affinity"
keep "/proc/irq/$irq/smp_affinity"
ktap_set_plan 22

# goes_to WHAT FROM CPU: two tests, once the interrupt is that of this CPU
goes_to() {
	test_ok "$1: CPU $3 takes the interrupt" move_irq "$irq" "$3" "$disk"
	test_eq "$1, CPU $2 reads: they have a hint, and nobody else" \
		"$(caught "$2" "$disk")" "$(both "$2" "$3")"
}

limit $LIMIT_US "$disk"
for rq_affinity in 0 1 2; do
	echo $rq_affinity > "$queue/rq_affinity"
	goes_to "rq_affinity $rq_affinity" 0 1
	goes_to "rq_affinity $rq_affinity" 0 2
	# Where they are the same, one hint has to do.
	goes_to "rq_affinity $rq_affinity" 2 2
done

load_start "/dev/$disk"
flip_start "$disk"
for n in 1 2 3 4 5 6; do
	for cpu in 0 1 2; do
		aim_irq "$irq" $cpu
		sleep 0.1
	done
done
flip_stop
load_stop
even "moved under load" "$disk"

limit $LIMIT_US "$disk"
goes_to "afterwards" 1 0

ktap_finished

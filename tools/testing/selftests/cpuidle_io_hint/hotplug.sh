#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: hotplug.sh DISK...
#
# CPUs that go offline and come back while they wait for I/O: the counts stay
# even, and the hint works again for a CPU that has come back
#
# Disks must be so slow that a read can be caught in flight: 0.2 s or more.
# They are written to.  Needs CPUs that can go offline, and fio.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-load.sh
. "$DIR/lib-load.sh"

CYCLES=4

[ $# -gt 0 ] || skip_all "no disk given that is slow enough"
for disk; do
	[ -e "/sys/block/$disk/queue/cpu_lat_limit_us" ] ||
		skip_all "$disk has no cpu_lat_limit_us"
done
online=$CPUS/cpu$CPU/online
[ -e $online ] || skip_all "CPU $CPU cannot go offline"
keep $online
need_deep $CPU $LIMIT_US

keep_knobs "$@"
lossy "$@"
ktap_set_plan $(($# * 11))

# send_load CPU: the threads of the load that is running
send_load() {
	for task in /proc/"$LOAD"/task/*; do
		taskset -p "$(printf '%x' $((1 << $1)))" "${task##*/}" \
			> /dev/null 2>&1 || :
	done
}

# take_irq CPU: if it can be moved
take_irq() {
	[ -z "$irq" ] || move_irq "$irq" "$1" "$disk" ||
		ktap_print_msg "$disk: the interrupt stays where it is"
}

# cycle WHAT SUBMITTER INTERRUPTED: three tests, with $CPU one of the two
cycle() {
	limit $LIMIT_US "$disk"
	take_irq "$3"
	load_start "/dev/$disk"
	flip_start "$disk"
	changed=0
	n=0
	while [ $n -lt $CYCLES ]; do
		send_load "$2"
		[ -z "$irq" ] || aim_irq "$irq" "$3"
		sleep 0.2
		! echo 0 > $online || changed=$((changed + 1))
		sleep 0.2
		! echo 1 > $online || changed=$((changed + 1))
		n=$((n + 1))
	done
	flip_stop
	load_stop
	test_eq "$1 goes away and comes back" $changed $((2 * CYCLES))
	even "$1" "$disk"
}

# works WHAT CPU: one test, with $CPU online and, if possible, interrupted
works() {
	hints=$(caught "$2" "$disk")
	if [ -n "$irq" ]; then
		test_eq "$1: the right CPUs have a hint" "$hints" \
			"$(both "$2" $CPU)"
	else
		# Which other CPU is interrupted is not for us to say.
		case " $hints " in
		*" $2=1 "*)
			ktap_test_pass "$1: it has a hint"
			;;
		*)
			ktap_print_msg "got '$hints'"
			ktap_test_fail "$1: it has a hint"
			;;
		esac
	fi
}

for disk; do
	irq=$(movable "$disk")
	[ -z "$irq" ] || keep "/proc/irq/$irq/smp_affinity"

	cycle "$disk: CPU that submits" $CPU 0
	cycle "$disk: CPU that is interrupted" 0 $CPU

	limit $LIMIT_US "$disk"
	take_irq $CPU
	capped=$(total capped $CPU)
	works "$disk: CPU 0 reads" 0
	works "$disk: CPU $CPU reads" $CPU
	test_ge "$disk: CPU $CPU is capped again" \
		$(($(total capped $CPU) - capped)) 1
	even "$disk: in the end" "$disk"
done

ktap_finished

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: remote.sh DISK
#
# One hardware queue for all CPUs: the CPU that submits has a hint, and the one
# that takes the interrupt has one, too, and both are taken back
#
# DISK must be so slow that a read can be caught in flight: 0.2 s or more.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

disk=${1:-}
[ -n "$disk" ] || skip_all "no disk given that is slow enough"
queue=/sys/block/$disk/queue
# shellcheck disable=SC2012 # numbers
[ "$(ls "/sys/block/$disk/mq" | wc -l)" = 1 ] ||
	skip_all "$disk has more than one hardware queue"

keep "$queue/cpu_lat_timeout_us"
keep "$queue/cpu_lat_limit_us"
echo 10000000 > "$queue/cpu_lat_timeout_us"
echo 10 > "$queue/cpu_lat_limit_us"

read_on() {
	on_cpu "$1" dd if="/dev/$disk" of=/dev/null bs=4096 count=1 \
		iflag=direct 2>/dev/null
}

ktap_set_plan 6
pin 0

remote=0
for cpu in 0 $CPU; do
	# The first completion tells which CPU is interrupted.
	read_on "$cpu"
	read_on "$cpu" &
	sleep 0.1
	own=$(total pending "$cpu")
	all=$(total pending)
	wait
	ktap_print_msg "CPU $cpu submits: $own pending for it, $all in all"
	test_eq "CPU $cpu: the submitter has a hint" "$own" 1
	[ "$all" != 2 ] || remote=$((remote + 1))
	test_eq "CPU $cpu: nothing pending afterwards" "$(cpus_pending)" 0
done
# All interrupts go to one of the two.
test_eq "for one of the CPUs, another one has a hint as well" $remote 1
test_eq "nothing expired" "$(total expired)" 0

ktap_finished

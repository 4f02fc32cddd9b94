#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: cap.sh [DISK...]
#
# The cap, under every governor: CPUs that wait for a disk stay out of deep
# idle states if its limit is set, go there between I/Os, and nothing is capped
# if it is not set
#
# Default: all disks that have the knobs, and null_blk, which stands for a new
# null block device.  Disks are only read.  "deep" is whatever has a longer exit latency than LIMIT_US.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

LIMIT_US=10
# Far more than any emulated device takes: expiry has a test of its own.
TIMEOUT_US=10000000
IOS=100
PAUSE_S=0.02

need_deep $CPU $LIMIT_US
# shellcheck disable=SC2046 # one word a disk
[ $# -gt 0 ] || set -- $(disks) null_blk
disks=
for disk; do
	if [ "$disk" = null_blk ]; then
		have_null_blk || continue
		null_blk cap irqmode=2 completion_nsec=1000000 || continue
		disk=cap
	fi
	disks="$disks $disk"
done
[ -n "$disks" ] || skip_all "no disk with a cpu_lat_limit_us"

# read_disk DISK: paced reads of one block, submitted by $CPU
read_disk() {
	n=0
	while [ $n -lt $IOS ]; do
		dd if="/dev/$1" of=/dev/null bs=4096 count=1 skip=$n \
			iflag=direct 2>/dev/null || return 1
		sleep $PAUSE_S
		n=$((n + 1))
	done
}

# measure DISK: sets what waits.awk prints, and the differences of the counters
measure() {
	usage=$(deep_usage $CPU "$deep")
	capped=$(total capped)
	expired=$(total expired)
	trace_start block:block_rq_issue block:block_rq_complete \
		power:cpu_idle cpuidle_io_hint:cpuidle_io_hint_cap
	(
		pin $CPU
		read_disk "$1"
	) || ktap_print_msg "$1: read error"
	trace_stop
	usage=$(($(deep_usage $CPU "$deep") - usage))
	capped=$(($(total capped) - capped))
	expired=$(($(total expired) - expired))
	waits=0 deep_waits=0 deep_pauses=0 caps=0 deep_caps=0
	eval "$(awk -v cpu=$CPU -v deep="$deep" -f "$DIR/waits.awk" "$TRACE")"
	ktap_print_msg "$what: usage=$usage capped=$capped waits=$waits" \
		"deep_waits=$deep_waits deep_pauses=$deep_pauses caps=$caps"
}

for disk in $disks; do
	keep "/sys/block/$disk/queue/cpu_lat_timeout_us"
	keep "/sys/block/$disk/queue/cpu_lat_limit_us"
done
set --
for governor in $(governors); do
	for disk in $disks; do
		set -- "$@" "$governor/$disk"
	done
done
ktap_set_plan $(($# * 11 + 1))
case $(governors) in
*haltpoll*)
	ktap_test_pass "haltpoll is one of the governors"
	;;
*)
	ktap_test_skip "haltpoll: the kernel offers it to KVM guests only"
	;;
esac

for pair; do
	governor=${pair%%/*}
	disk=${pair#*/}
	queue=/sys/block/$disk/queue
	echo "$governor" > $GOVERNOR

	what="$governor $disk off"
	echo -1 > "$queue/cpu_lat_limit_us"
	measure "$disk"
	test_eq "$what: nothing capped" "$capped" 0
	test_eq "$what: no trace of a cap" "$caps" 0
	test_eq "$what: nothing pending" "$(cpus_pending)" 0

	what="$governor $disk on"
	echo $TIMEOUT_US > "$queue/cpu_lat_timeout_us"
	echo $LIMIT_US > "$queue/cpu_lat_limit_us"
	measure "$disk"
	test_ge "$what: waits are seen" "$waits" $((IOS / 2))
	test_eq "$what: no wait in a deep state" "$deep_waits" 0
	test_eq "$what: no cap chose a deep state" "$deep_caps" 0
	test_ge "$what: waits are capped" "$caps" $((IOS / 2))
	# One CPU waits; what little others wait for (the shell) is uncapped.
	test_ge "$what: counter and trace agree" "$capped" "$caps"
	# The counter also covers the time it takes to start and stop tracing.
	entries=$((deep_waits + deep_pauses))
	test_ok "$what: usage and trace agree" [ "$usage" -ge "$entries" \
		-a "$usage" -le $((entries + IOS)) ]
	# haltpoll only knows the first two states.
	if [ "$governor" = haltpoll ]; then
		ktap_test_skip "$what: deep between I/Os: not with haltpoll"
	else
		test_ge "$what: deep between I/Os" "$deep_pauses" $((IOS / 2))
	fi
	test_eq "$what: nothing pending" "$(cpus_pending)" 0

	echo -1 > "$queue/cpu_lat_limit_us"
done

ktap_finished

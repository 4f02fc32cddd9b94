#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: nvme.sh DISK
#
# What NVMe has besides reads and writes: commands passed through from user
# space have hints as well, those that are polled for have none, and whatever
# a reset of the controller cancels is taken back
#
# DISK is a namespace like nvme0n1, and is written to.  Needs fio.  For
# polled queues, boot with nvme.poll_queues=1.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-load.sh
. "$DIR/lib-load.sh"

IOS=300

disk=${1:-}
case $disk in
nvme*)	;;
*)	skip_all "no NVMe disk given" ;;
esac
queue=/sys/block/$disk/queue
[ -e "$queue/cpu_lat_limit_us" ] || skip_all "$disk has no cpu_lat_limit_us"
generic=/dev/ng${disk#nvme}
reset=/sys/block/$disk/device/reset_controller

keep_knobs "$disk"
ktap_set_plan 19

# single FILE FIO-OPTION...: reads, one at a time: see lossy
single() {
	load "$@" --numjobs=1 --iodepth=1 --number_ios=$IOS
}

# pass_through FIO-OPTION...: the same, as commands made by fio
pass_through() {
	single "$generic" --ioengine=io_uring_cmd --cmd_type=nvme --direct=0 \
		"$@"
}

# skip COUNT WHY
skip() {
	n=0
	while [ $n -lt "$1" ]; do
		n=$((n + 1))
		ktap_test_skip "$2, $n"
	done
}

can_pass=
if [ -c "$generic" ] && fio --enghelp=io_uring_cmd 2>/dev/null |
		grep -q cmd_type; then
	can_pass=1
fi
if [ -n "$can_pass" ]; then
	limit $LIMIT_US "$disk"
	before=$(published)
	test_load "passed through" pass_through
	test_published "passed through" "$before" $IOS
	even "passed through" "$disk"

	flip_start "$disk"
	test_load "passed through, settings flipped" \
		pass_through
	flip_stop
	even "passed through, settings flipped" "$disk"
else
	skip 7 "passed through: no $generic, or not with this fio"
fi

if [ -e "$reset" ]; then
	lossy "$disk"
	limit $LIMIT_US "$disk"
	load_start "/dev/$disk"
	flip_start "$disk"
	for n in 1 2 3; do
		sleep 0.2
		echo 1 > "$reset" || ktap_print_msg "$disk: reset failed"
	done
	flip_stop
	load_stop
	even "controller reset" "$disk"
else
	skip 2 "controller reset: no $reset"
fi

# polled WHAT COMMAND...: four tests
polled() {
	doing=$1
	shift
	limit $LIMIT_US "$disk"
	before=$(published)
	capped=$(total capped)
	"$@" --hipri &
	LOAD=$!
	seen=0
	while kill -0 $LOAD 2>/dev/null; do
		[ "$(cpus_pending)" -eq 0 ] || seen=$((seen + 1))
	done
	test_load "$doing" wait $LOAD
	test_eq "$doing: nothing ever seen pending" $seen 0
	test_unpublished "$doing" "$before"
	test_eq "$doing: nothing capped" $(($(total capped) - capped)) 0
}

if [ "$(cat "$queue/io_poll")" = 1 ]; then
	polled "polled" single "/dev/$disk"
	if [ -n "$can_pass" ]; then
		polled "polled and passed through" pass_through
	else
		skip 4 "polled and passed through: not with this fio"
	fi
	even "polled" "$disk"
else
	skip 10 "polled: $disk has no polled queues"
fi

ktap_finished

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Whatever happens to requests and settings on the way: once all I/O is done,
# nothing is pending, on any CPU and in any class, and no class is in use
#
# Needs null_blk with configfs and fault injection, and fio.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-load.sh
. "$DIR/lib-load.sh"

IOS=1000

have_null_blk || skip_all "no null_blk with configfs"

disk=balance
nullb=$NULLB/$disk
queue=/sys/block/$disk/queue

# reads FIO-OPTION...: that may fail
reads() {
	load /dev/$disk --number_ios=$IOS "$@" || :
}

# fault NAME PERCENT: 0 turns it off
fault() {
	echo 0 > "$nullb/$1/verbose"
	echo -1 > "$nullb/$1/times"
	echo "$2" > "$nullb/$1/probability"
}

# flipped WHAT COMMAND...: with settings flipped
flipped() {
	doing=$1
	shift
	limit $LIMIT_US $disk
	flip_start $disk
	"$@"
	flip_stop
	even "$doing, settings flipped" $disk
}

# flipping WHAT COMMAND...: with the limit set, and again with settings flipped
flipping() {
	doing=$1
	shift
	limit $LIMIT_US $disk
	"$@"
	even "$doing" $disk
	flipped "$doing" "$@"
}

# under_load FILE VALUE...: writes them to the file in turn, under load
under_load() {
	setting=$1
	shift
	reads &
	busy_with=$!
	while kill -0 $busy_with 2>/dev/null; do
		for value; do
			echo "$value" > "$setting"
			sleep 0.01
		done
	done
	wait $busy_with
}

# new_disk ATTRIBUTE=VALUE...: with these as well
new_disk() {
	null_blk $disk irqmode=2 completion_nsec=200000 submit_queues=2 "$@"
}

new_disk memory_backed=1 size=64 cache_size=1 ||
	ktap_exit_fail_msg "no null_blk device"
echo 200 > $queue/io_timeout
elevators=$(tr -d '[]' < $queue/scheduler)
# shellcheck disable=SC2086 # one word an elevator
set -- $elevators

ktap_set_plan $(($# * 6 + 23))
test_eq "before: no class in use" "$(sed 1d $HINT/classes)" ""

flipping "writes, flushed" reads --rw=randwrite --ioengine=psync \
	--iodepth=1 --sync=dsync --number_ios=300
for elevator; do
	echo "$elevator" > $queue/scheduler
	flipping "$elevator" reads
	fault requeue_inject 30
	flipped "$elevator, requeued" reads
	fault requeue_inject 0
done
flipped "elevators changed" under_load $queue/scheduler "$@" none
fault timeout_inject 1
flipping "timed out" reads --number_ios=200
fault timeout_inject 0
flipped "hardware queues changed" under_load "$nullb/submit_queues" 1 2

limit $LIMIT_US $disk
load_start /dev/$disk
null_blk_remove $disk
load_stop
even "removed" $disk

# Requests that are polled for interrupt no CPU, in queues that others use, too.
if new_disk poll_queues=1; then
	limit $LIMIT_US $disk
	reads --number_ios=200
	capped=$(total capped)
	before=$(published)
	test_load "polled" \
		load /dev/$disk --hipri --numjobs=1 --number_ios=200
	test_eq "polled: nothing capped" $(($(total capped) - capped)) 0
	test_unpublished "polled" "$before"
	even "polled" $disk
else
	for what in I/O capped published pending class; do
		ktap_test_skip "polled, $what: no polled queues"
	done
	null_blk_remove $disk
	new_disk || ktap_exit_fail_msg "no null_blk device"
fi

# A limit that rules out nothing is none.
limit "$(state_file $CPU "$(deepest $CPU)" latency)" $disk
capped=$(total capped)
reads --number_ios=200
test_eq "limit of the deepest state: nothing capped" \
	$(($(total capped) - capped)) 0
even "limit of the deepest state" $disk

ktap_finished

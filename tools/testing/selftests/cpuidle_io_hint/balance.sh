#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Whatever happens to requests and settings on the way: once all I/O is done,
# nothing is pending, on any CPU and in any class, and no class is in use
#
# Needs null_blk with configfs and fault injection, and fio.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

IOS=2000

have_null_blk || skip_all "no null_blk with configfs"
command -v fio > /dev/null || skip_all "no fio"

disk=balance
nullb=$NULLB/$disk
queue=/sys/block/$disk/queue
stop=$(mktemp -u)
at_exit "rm -f $stop"

# load FIO-OPTION...: I/O from both CPUs, on top of each other
load() {
	fio --name=load --filename=/dev/$disk --direct=1 --rw=randread --bs=4k \
		--size=64m --ioengine=io_uring --iodepth=16 --numjobs=2 \
		--thread --number_ios=$IOS --continue_on_error=all \
		--output=/dev/null "$@" > /dev/null 2>&1 || :
}

# Until told to stop: other settings, off included, with I/O in flight.  The
# classes change, too, so that a hint taken from the wrong one shows.
flip() {
	while [ ! -e "$stop" ]; do
		for limit in 0 5 -1 10 5; do
			echo $limit > $queue/cpu_lat_limit_us
			echo $((1000 + limit)) > $queue/cpu_lat_timeout_us
			sleep 0.01
		done
	done 2>/dev/null
}

# fault NAME PERCENT: 0 turns it off
fault() {
	echo 0 > "$nullb/$1/verbose"
	echo -1 > "$nullb/$1/times"
	echo "$2" > "$nullb/$1/probability"
}

# Even now, and everything given back once the limit is off
even() {
	echo -1 > $queue/cpu_lat_limit_us
	# Timeouts are found out late.
	n=0
	while [ "$(cpus_pending)" -ne 0 ] && [ $n -lt 50 ]; do
		sleep 0.1
		n=$((n + 1))
	done
	test_eq "$1: nothing pending" "$(cpus_pending)" 0
	# A sum over classes can be even where they are not.
	test_eq "$1: no class in use" "$(cat $HINT/classes)" \
		"class limit_us timeout_us users pending"
}

# flipping WHAT COMMAND...: with the limit set, and again with settings flipped
flipping() {
	case=$1
	shift
	echo 10 > $queue/cpu_lat_limit_us
	"$@"
	even "$case"

	flip &
	"$@"
	touch "$stop"
	wait
	rm -f "$stop"
	even "$case, settings flipped"
}

resize() {
	load &
	for queues in 1 2 1 2 1 2; do
		echo $queues > "$nullb/submit_queues"
		sleep 0.01
	done
	wait $!
}

ktap_set_plan 31
test_eq "before: no class in use" "$(wc -l < $HINT/classes)" 1

null_blk $disk irqmode=2 completion_nsec=200000 submit_queues=2 \
	memory_backed=1 size=64 cache_size=1 ||
	ktap_exit_fail_msg "no null_blk device"
echo 200 > $queue/io_timeout

flipping "reads" load
flipping "writes, flushed" load --rw=randwrite --ioengine=psync \
	--iodepth=1 --sync=dsync --number_ios=300
fault requeue_inject 30
flipping "requeued" load
echo mq-deadline > $queue/scheduler
flipping "requeued, with an elevator" load
echo none > $queue/scheduler
fault requeue_inject 0
fault timeout_inject 1
flipping "timed out" load --number_ios=200
fault timeout_inject 0
# With the jobs of the shell, "wait" would wait for flip.
echo 10 > $queue/cpu_lat_limit_us
resize
even "hardware queues changed"

echo 10 > $queue/cpu_lat_limit_us
load &
sleep 0.05
null_blk_remove $disk
wait
test_eq "removed: nothing pending" "$(cpus_pending)" 0
test_eq "removed: no class in use" "$(wc -l < $HINT/classes)" 1

# Requests that are polled for interrupt no CPU, in queues that others use, too.
if null_blk $disk irqmode=2 completion_nsec=200000 submit_queues=2 \
		poll_queues=1; then
	echo 10 > $queue/cpu_lat_limit_us
	load --number_ios=200
	capped=$(total capped)
	load --hipri --numjobs=1 --number_ios=200
	test_eq "polled: nothing capped" $(($(total capped) - capped)) 0
	even "polled"
else
	for what in capped pending class; do
		ktap_test_skip "polled, $what: no polled queues"
	done
fi

# A limit that rules out nothing is none.
deep=$(deepest $CPU)
state_file $CPU "$deep" latency > $queue/cpu_lat_limit_us
capped=$(total capped)
load --number_ios=200
test_eq "limit of the deepest state: nothing capped" \
	$(($(total capped) - capped)) 0
even "limit of the deepest state"

ktap_finished

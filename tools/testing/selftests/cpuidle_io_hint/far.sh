#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# With one hardware queue per CPU, no CPU writes to the hints of another one,
# whatever the number of CPUs
#
# Needs null_blk with configfs, and fio.

ONE_CPU_WILL_DO=1
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

IOS=500

have_null_blk || skip_all "no null_blk with configfs"
command -v fio > /dev/null || skip_all "no fio"
cpus=$(getconf _NPROCESSORS_ONLN 2>/dev/null || nproc)
null_blk far irqmode=2 completion_nsec=50000 submit_queues="$cpus" ||
	ktap_exit_fail_msg "no null_blk device"
queue=/sys/block/far/queue

ktap_set_plan 4

# A task on each CPU, at depth 1 and at depth 16
load() {
	fio --name=far --filename=/dev/far --direct=1 --rw=randread --bs=4k \
		--ioengine=io_uring --thread --numjobs="$cpus" \
		--cpus_allowed="0-$((cpus - 1))" --cpus_allowed_policy=split \
		--number_ios=$IOS --output=/dev/null "$@" > /dev/null 2>&1
}

echo 10 > $queue/cpu_lat_limit_us
for depth in 1 16; do
	far=$(total far)
	published=$(total published)
	load --iodepth=$depth
	far=$(($(total far) - far))
	published=$(($(total published) - published))
	ktap_print_msg "$cpus CPUs, depth $depth: $published published," \
		"$far writes to another CPU"
	test_ge "depth $depth: every request is published" "$published" \
		$((IOS * cpus))
	test_eq "depth $depth: none of it for another CPU" "$far" 0
done

ktap_finished

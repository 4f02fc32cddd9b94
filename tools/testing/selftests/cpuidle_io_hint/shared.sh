#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tags that hardware queues or disks share: whatever happens to requests and
# settings, the counts are even afterwards
#
# Needs fio, and null_blk with configfs or scsi_debug.  Where the latter is no
# module, the kernel is to be booted with scsi_debug.add_host=1 and what else
# is given to the module here.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-load.sh
. "$DIR/lib-load.sh"

IOS=1000
SDEBUG=/sys/bus/pseudo/drivers/scsi_debug
# What scsi_debug can do to one of so many commands, by its "opts"
TIMED_OUT=0x4
RETRIED=0x10
BUSY=0x8000

# under_load WHAT FLAG DISK...: seven tests, or as many skipped if the block
# layer does not show this flag for them
under_load() {
	doing=$1
	flag=$2
	shift 2
	if [ $# -eq 0 ] ||
	   ! grep -qw "$flag" "$DEBUGFS/block/$1/hctx0/flags" 2>/dev/null; then
		for n in 1 2 3 4 5 6 7; do
			ktap_test_skip "$doing, $n: no disk with shared tags"
		done
		return
	fi
	files=
	for disk; do
		files=$files${files:+:}/dev/$disk
	done

	limit $LIMIT_US "$@"
	before=$(published)
	test_load "$doing" load "$files" --size=4m --number_ios=$IOS
	test_published "$doing" "$before" $IOS
	even "$doing" "$@"

	flip_start "$@"
	test_load "$doing, settings flipped" \
		load "$files" --size=4m --rw=randrw --number_ios=$IOS
	flip_stop
	even "$doing, settings flipped" "$@"
}

# sdebug OPTS EVERY: from now on
sdebug() {
	echo "$1" > $SDEBUG/opts
	echo "$2" > $SDEBUG/every_nth
}

# faulty WHAT OPTS EVERY DISK...: three tests
faulty() {
	doing=$1
	opts=$2
	every=$3
	shift 3
	if [ $# -eq 0 ]; then
		for n in 1 2 3; do
			ktap_test_skip "$doing, $n: no scsi_debug"
		done
		return
	fi
	limit $LIMIT_US "$@"
	trace_start block:block_rq_requeue
	sdebug "$opts" "$every"
	flip_start "$@"
	load "$files" --size=4m --number_ios=200 || :
	flip_stop
	sdebug 0 0
	trace_stop
	test_ge "$doing: requests are dispatched again" \
		"$(grep -c 'block_rq_requeue:' "$TRACE")" 4
	even "$doing" "$@"
}

ktap_set_plan 30

if have_null_blk; then
	null_blk shared_hctx irqmode=2 completion_nsec=200000 submit_queues=2 \
		memory_backed=1 size=64 shared_tag_bitmap=1 || :
	for disk in shared_a shared_b; do
		null_blk $disk irqmode=2 completion_nsec=200000 \
			memory_backed=1 size=64 shared_tags=1 || :
	done
fi
set --
[ ! -d /sys/block/shared_hctx ] || set -- shared_hctx
under_load "null_blk, hardware queues" TAG_HCTX_SHARED "$@"
set --
[ ! -d /sys/block/shared_b ] || set -- shared_a shared_b
under_load "null_blk, disks" TAG_QUEUE_SHARED "$@"

if [ ! -d $SDEBUG ] && modprobe scsi_debug add_host=1 num_tgts=2 \
		submit_queues=2 host_max_queue=8 ndelay=1000000 \
		2>/dev/null; then
	at_exit "rmmod scsi_debug"
fi
set --
for model in /sys/block/sd*/device/model; do
	! grep -qs scsi_debug "$model" || {
		disk=${model#/sys/block/}
		set -- "$@" "${disk%%/*}"
	}
done
keep_knobs "$@"
under_load "scsi_debug" TAG_HCTX_SHARED "$@"
for disk; do
	keep "/sys/block/$disk/device/timeout"
	echo 1 > "/sys/block/$disk/device/timeout"
done
faulty "scsi_debug, host busy" $BUSY 7 "$@"
faulty "scsi_debug, commands retried" $RETRIED 7 "$@"
faulty "scsi_debug, commands timed out" $TIMED_OUT 97 "$@"

ktap_finished

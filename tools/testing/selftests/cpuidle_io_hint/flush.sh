#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: flush.sh [DISK...]
#
# Writes that are to be on stable storage, with disks that cache them: flushes
# have hints, too, with and without forced unit access (FUA), and the counts
# are even afterwards
#
# null_blk, if there is one, and the given disks, which are written to.  Needs
# fio.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-load.sh
. "$DIR/lib-load.sh"

IOS=100

keep_knobs "$@"
if have_null_blk; then
	for fua in 0 1; do
		# Not every kernel offers the choice.
		if null_blk fua$fua irqmode=2 completion_nsec=200000 size=64 \
				memory_backed=1 cache_size=1 fua=$fua \
				2>/dev/null; then
			set -- "$@" fua$fua
		else
			null_blk_remove fua$fua
		fi
	done
fi
[ $# -gt 0 ] || skip_all "no null_blk with fua, and no disk given"

# write_some DISK FIO-OPTION...: one after the other, from one CPU
write_some() {
	file=/dev/$1
	shift
	load "$file" --rw=write --ioengine=psync --iodepth=1 --numjobs=1 \
		--size=$((4 * IOS))k "$@"
}

# write_both DISK: such that flushes of several writers are merged
write_both() {
	write_some "$1" --numjobs=3 --rw=randwrite --fsync=1 || return 1
	write_some "$1" --numjobs=3 --rw=randwrite --sync=dsync
}

ktap_set_plan $(($# * 10))

for disk; do
	queue=/sys/block/$disk/queue
	cache=$(cat "$queue/write_cache")
	doing="$disk ($cache, FUA $(cat "$queue/fua"))"
	if [ "$cache" != "write back" ]; then
		for n in 1 2 3 4 5 6 7 8 9 10; do
			ktap_test_skip "$doing, $n: nothing to flush"
		done
		continue
	fi

	limit $LIMIT_US "$disk"
	before=$(published)
	test_load "$doing, fsync" write_some "$disk" --fsync=1
	# Each write is one request, and the flush before the next one is one.
	test_published "$doing, fsync" "$before" $((2 * IOS - 1))
	even "$doing, fsync" "$disk"

	limit $LIMIT_US "$disk"
	before=$(published)
	test_load "$doing, dsync" write_some "$disk" --sync=dsync
	test_published "$doing, dsync" "$before" $IOS
	even "$doing, dsync" "$disk"

	flip_start "$disk"
	write_both "$disk" || ktap_print_msg "$doing: write error"
	flip_stop
	even "$doing, settings flipped" "$disk"
done

ktap_finished

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The knobs of every disk: what they show, accept and refuse
#
# Settings are restored.  With null_blk also: more distinct settings than there
# are classes.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# CPUIDLE_IO_HINT_CLASSES, less the one that stands for none
CLASSES=7

# set_knob FILE VALUE: quiet, with what the kernel said in $error
set_knob() {
	error=$({ echo "$2" > "$1"; } 2>&1) || :
}

accepts() {
	set_knob "$1" "$2"
	test_eq "$disk ${1##*/}: '$2' reads back" "$(cat "$1")" "${3:-$2}"
}

# Refused, with EINVAL, and no knob of the disk has changed
refuses() {
	before=$(cat "$limit" "$timeout" "$hold" "$wake")
	set_knob "$1" "$2"
	case $error in
	*"nvalid argument"*)
		;;
	*)
		ktap_print_msg "$1: '$2': got '$error', want EINVAL"
		;;
	esac
	case $error in
	*"nvalid argument"*)
		test_eq "$disk ${1##*/}: '$2' is refused" \
			"$(cat "$limit" "$timeout" "$hold" "$wake")" "$before"
		;;
	*)
		ktap_test_fail "$disk ${1##*/}: '$2' is refused"
		;;
	esac
}

disks=$(disks)
[ -n "$disks" ] || skip_all "no disk with a cpu_lat_limit_us"

per_disk=79
# shellcheck disable=SC2086 # one word a disk
set -- $disks
ktap_set_plan $(($# * per_disk + 6))

for disk in $disks; do
	limit=/sys/block/$disk/queue/cpu_lat_limit_us
	timeout=/sys/block/$disk/queue/cpu_lat_timeout_us
	hold=/sys/block/$disk/queue/cpu_lat_hold_us
	wake=/sys/block/$disk/queue/cpu_lat_wake
	keep "$limit"
	keep "$timeout"
	keep "$hold"
	keep "$wake"

	for value in -1 0 1 10 100 1000000 2147483647 -1; do
		accepts "$limit" "$value"
	done
	accepts "$limit" +5 5
	accepts "$limit" 007 7
	for value in 1 3000 100000 2147483647 3000; do
		accepts "$timeout" "$value"
	done

	for value in 1 6000 2147483647 0; do
		accepts "$hold" "$value"
	done
	for value in 0 1; do
		accepts "$wake" "$value"
	done

	accepts "$limit" 10
	for value in '' ' ' abc -2 -2147483648 1e3 1.5 0x10 10us '10 ' ' 10' \
		     '10 20' 2147483648 99999999999999999999 auto off; do
		refuses "$limit" "$value"
	done
	error=$({ printf '20\0junk' > "$limit"; } 2>&1) || :
	test_eq "$disk cpu_lat_limit_us: more after a NUL is refused" \
		"$(cat "$limit")" 10
	accepts "$timeout" 2000
	for value in '' ' ' abc 0 -1 -3000 1e3 0.5 0x10 3000us '3000 ' \
		     ' 3000' '1 2' 2147483648 99999999999999999999; do
		refuses "$timeout" "$value"
	done

	accepts "$hold" 4000
	for value in '' ' ' abc -1 -3000 1e3 0.5 0x10 3000us '3000 ' \
		     ' 3000' '1 2' 2147483648; do
		refuses "$hold" "$value"
	done
	for value in '' 2 -1 on y '1 ' '0 1'; do
		refuses "$wake" "$value"
	done

	test_eq "$disk: limit outlives changes of the others" \
		"$(cat "$limit")" 10
	accepts "$limit" -1
	test_eq "$disk: the others outlive turning it off" \
		"$(cat "$timeout" "$hold" | tr '\n' ' ')" "2000 4000 "

done

test_eq "no class is left in use" "$(wc -l < $HINT/classes)" 1

if ! have_null_blk; then
	for what in fill full shared split free; do
		ktap_test_skip "classes $what: no null_blk with configfs"
	done
	ktap_finished
fi

n=0
while [ $n -le $CLASSES ]; do
	null_blk classes$n || ktap_exit_fail_msg "no null_blk device"
	n=$((n + 1))
done
knob() {
	echo /sys/block/classes"$1"/queue/cpu_lat_limit_us
}

n=0
while [ $n -lt $CLASSES ]; do
	set_knob "$(knob $n)" $((100 + n))
	n=$((n + 1))
done
test_eq "$CLASSES distinct limits" "$(wc -l < $HINT/classes)" $((CLASSES + 1))
set_knob "$(knob $CLASSES)" 99
case $error in
*"o space"*)
	test_eq "one more is refused with ENOSPC" \
		"$(cat "$(knob $CLASSES)")" -1
	;;
*)
	ktap_print_msg "got '$error'"
	ktap_test_fail "one more is refused with ENOSPC"
	;;
esac
set_knob "$(knob $CLASSES)" 100
test_eq "but can share one" "$(cat "$(knob $CLASSES)")" 100
hold=/sys/block/classes0/queue/cpu_lat_hold_us
set_knob "$hold" 5
test_eq "not so with another hold time" "$(cat "$hold") ${error##*: }" \
	"0 No space left on device"

n=0
while [ $n -le $CLASSES ]; do
	null_blk_remove classes$n
	n=$((n + 1))
done
test_eq "removed disks give theirs back" "$(wc -l < $HINT/classes)" 1

ktap_finished

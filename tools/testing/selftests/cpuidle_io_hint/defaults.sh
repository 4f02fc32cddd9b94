#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: defaults.sh LIMIT_US TIMEOUT_US HOLD_US [GOVERNOR]
#
# The boot defaults: are these what every disk, and a new one, has got?
#
# What is right depends on the command line of the kernel.  Without arguments
# that is a kernel that was told nothing: -1, 3000, 0.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

limit=${1:--1}
timeout=${2:-3000}
hold=${3:-0}
governor=${4:-}
param=/sys/module/blk_cpu_lat/parameters

disks=$(disks)
[ -n "$disks" ] || skip_all "no disk with a cpu_lat_limit_us"
if have_null_blk && null_blk defaults; then
	disks="$disks defaults"
fi

# shellcheck disable=SC2086 # one word a disk
set -- $disks
ktap_set_plan $(($# * 4 + 4))

test_eq "parameter limit_us" "$(cat $param/limit_us)" "$limit"
test_eq "parameter timeout_us" "$(cat $param/timeout_us)" "$timeout"
test_eq "parameter hold_us" "$(cat $param/hold_us)" "$hold"
for disk; do
	test_eq "$disk: limit" \
		"$(cat "/sys/block/$disk/queue/cpu_lat_limit_us")" "$limit"
	test_eq "$disk: timeout" \
		"$(cat "/sys/block/$disk/queue/cpu_lat_timeout_us")" "$timeout"
	test_eq "$disk: hold time" \
		"$(cat "/sys/block/$disk/queue/cpu_lat_hold_us")" "$hold"
	test_eq "$disk: wake" "$(cat "/sys/block/$disk/queue/cpu_lat_wake")" 1
done
if [ -n "$governor" ]; then
	test_eq "governor" "$(cat $GOVERNOR)" "$governor"
else
	ktap_test_skip "governor: none asked for"
fi

ktap_finished

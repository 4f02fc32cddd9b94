#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: multipath.sh
#
# NVMe multipath: the disk that is used has no knobs, those of its paths count,
# and a path may be reset or go away under load
#
# Uses the first disk with several paths.  It is written to, and loses one of
# its controllers for good.  Needs fio.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-load.sh
. "$DIR/lib-load.sh"

IOS=100

# nvme0c1n1 is the path of nvme0n1 through nvme1.
disk=
for path in /sys/block/nvme*c*n*; do
	[ -e "$path" ] || skip_all "no disk with NVMe multipath"
	path=${path##*/}
	head=${path%%c*}n${path##*n}
	set -- /sys/block/"${path%%c*}"c*n"${path##*n}"
	[ $# -lt 2 ] || disk=$head
	[ -z "$disk" ] || break
done
[ -n "$disk" ] || skip_all "no disk with two paths"
paths=
for path; do
	paths="$paths ${path##*/}"
done
# shellcheck disable=SC2086 # one word a path
set -- $paths
policy=
for file in /sys/class/nvme-subsystem/*/iopolicy; do
	[ ! -d "${file%/*}/$disk" ] || policy=$file
done

need_deep $CPU $LIMIT_US
keep_knobs "$@"
lossy "$@"
[ -z "$policy" ] || keep "$policy"

ktap_set_plan 16

test_ok "$disk has no knobs" [ ! -e "/sys/block/$disk/queue/cpu_lat_limit_us" ]
without=
for path; do
	[ -e "/sys/block/$path/queue/cpu_lat_limit_us" ] ||
		without="$without $path"
done
test_eq "its paths have" "$without" ""

# paced: reads with pauses in between, with the change of the counter
paced() {
	capped=$(total capped $CPU)
	before=$(published)
	on_cpu $CPU fio --name=paced --filename="/dev/$disk" --direct=1 \
		--rw=randread --bs=4k --size=64m --ioengine=psync \
		--number_ios=$IOS --thinktime=5000 --thread --output=/dev/null \
		> /dev/null 2>&1
	capped=$(($(total capped $CPU) - capped))
}

limit -1 "$@"
paced
test_eq "off: nothing capped" $capped 0
test_unpublished "off" "$before"

limit $LIMIT_US "$@"
paced
test_ge "on: waits are capped" $capped $((IOS / 2))
test_published "on" "$before" $IOS
even "on" "$@"

# The paths take turns, so that each has something in flight.
[ -z "$policy" ] || echo round-robin > "$policy"

limit $LIMIT_US "$@"
load_start "/dev/$disk"
flip_start "$@"
for path; do
	sleep 0.2
	echo 1 > "/sys/block/$path/device/reset_controller" ||
		ktap_print_msg "$path: reset failed"
done
flip_stop
load_stop
even "controllers reset" "$@"

for path; do
	gone=$(readlink -f "/sys/block/$path/device/device")
done
limit $LIMIT_US "$@"
load_start "/dev/$disk"
flip_start "$@"
sleep 0.2
echo 1 > "$gone/remove"
sleep 0.2
flip_stop
load_stop
test_ok "controller removed: its path is gone" [ ! -e "/sys/block/$path" ]
even "controller removed" "$@"

# shellcheck disable=SC2086 # one word a path
set -- ${paths% *}
limit $LIMIT_US "$@"
paced
test_ge "afterwards: waits are capped" $capped $((IOS / 2))
even "afterwards" "$@"

ktap_finished

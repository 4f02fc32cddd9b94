#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: limits.sh STRICT LAX
#
# Two disks with different limits on one CPU: the one of STRICT counts while
# STRICT has I/O pending, and only then
#
# Both complete where they are submitted; LAX takes some milliseconds.  They are
# only read.  Needs an idle state with an exit latency from 11 to 100 us.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

STRICT_US=10
LAX_US=100
TIMEOUT_US=100000
IOS=100

[ $# -eq 2 ] || skip_all "no two disks given"
strict=$1
lax=$2
need_deep $CPU $LAX_US
middle=$(deeper_than $CPU $STRICT_US)
[ "$middle" -lt "$deep" ] ||
	skip_all "no idle state between $STRICT_US and $LAX_US us"

for disk in "$strict" "$lax"; do
	keep "/sys/block/$disk/queue/cpu_lat_limit_us"
	keep "/sys/block/$disk/queue/cpu_lat_timeout_us"
	echo $TIMEOUT_US > "/sys/block/$disk/queue/cpu_lat_timeout_us"
done
echo $STRICT_US > "/sys/block/$strict/queue/cpu_lat_limit_us"
echo $LAX_US > "/sys/block/$lax/queue/cpu_lat_limit_us"

# haltpoll only knows the first two states.
# shellcheck disable=SC2046 # one word a governor
set -- $(governors | tr ' ' '\n' | grep -v haltpoll)
ktap_set_plan $(($# * 8))

device() {
	tr : , < "/sys/block/$1/dev"
}

# measure JOB...: fio jobs on $CPU, and what it did meanwhile
measure() {
	trace_start block:block_rq_issue block:block_rq_complete power:cpu_idle
	fio --direct=1 --rw=randread --bs=4k --ioengine=psync --thread \
		--cpus_allowed=$CPU --output=/dev/null "$@" > /dev/null 2>&1
	trace_stop
	strict_waits=0 strict_deep=0 lax_waits=0 lax_middle=0 lax_deep=0
	eval "$(awk -v cpu=$CPU -v strict="$(device "$strict")" \
		-v lax="$(device "$lax")" -v middle="$middle" -v deep="$deep" \
		-f "$DIR/limits.awk" "$TRACE")"
	ktap_print_msg "$governor: strict pending: $strict_waits waits," \
		"$strict_deep too deep; lax only: $lax_waits," \
		"$lax_middle in between, $lax_deep too deep"
}

for governor; do
	echo "$governor" > $GOVERNOR

	measure --name=lax --filename="/dev/$lax" --number_ios=$IOS
	test_ge "$governor, strict idle: waits are seen" "$lax_waits" $IOS
	test_ge "$governor, strict idle: up to $LAX_US us is used" \
		"$lax_middle" $((IOS / 2))
	test_eq "$governor, strict idle: more is not" "$lax_deep" 0

	measure --name=lax --filename="/dev/$lax" --number_ios=$IOS \
		--name=strict --filename="/dev/$strict" --thinktime=5000 \
		--number_ios=$IOS
	test_ge "$governor, both: waits for strict are seen" "$strict_waits" \
		$((IOS / 2))
	test_eq "$governor, both: no more than $STRICT_US us then" \
		"$strict_deep" 0
	test_ge "$governor, both: up to $LAX_US us in between" "$lax_middle" \
		$((IOS / 4))
	test_eq "$governor, both: more is never used" "$lax_deep" 0
	test_eq "$governor: nothing pending" "$(cpus_pending)" 0
done

ktap_finished

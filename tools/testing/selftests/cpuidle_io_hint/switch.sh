#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Another governor every few milliseconds, under load: no wait for I/O in a deep
# state, whichever governor is asked, and nothing pending afterwards
#
# Needs null_blk with configfs, and fio.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

LIMIT_US=10
IOS=600

need_deep $CPU $LIMIT_US
have_null_blk || skip_all "no null_blk with configfs"
command -v fio > /dev/null || skip_all "no fio"
null_blk switch irqmode=2 completion_nsec=1000000 submit_queues=2 ||
	ktap_exit_fail_msg "no null_blk device"
queue=/sys/block/switch/queue
stop=$(mktemp -u)
at_exit "rm -f $stop"

# shellcheck disable=SC2046 # one word a governor
set -- $(governors)
[ $# -gt 1 ] || skip_all "only one governor"

ktap_set_plan 5

switch() {
	n=0
	while [ ! -e "$stop" ]; do
		for governor; do
			echo "$governor" > $GOVERNOR
			n=$((n + 1))
			sleep 0.007
		done
	done
	echo $n > "$stop"
}

echo 1000000 > $queue/cpu_lat_timeout_us
echo $LIMIT_US > $queue/cpu_lat_limit_us
trace_start block:block_rq_issue block:block_rq_complete power:cpu_idle
(
	pin 0
	switch "$@"
) &
fio --name=switch --filename=/dev/switch --direct=1 --rw=randread --bs=4k \
	--ioengine=psync --thread --cpus_allowed=$CPU --thinktime=2000 \
	--number_ios=$IOS --output=/dev/null > /dev/null 2>&1
: > "$stop"
wait
trace_stop

waits=0 deep_waits=0 deep_pauses=0
eval "$(awk -v cpu=$CPU -v deep="$deep" -f "$DIR/waits.awk" "$TRACE")"
ktap_print_msg "$(cat "$stop") switches between $*; $waits waits," \
	"$deep_waits deep; $deep_pauses deep pauses"
test_ge "governors have been switched" "$(cat "$stop")" 50
test_ge "waits are seen" "$waits" $((IOS / 2))
test_eq "none in a deep state" "$deep_waits" 0
test_ge "deep states in between" "$deep_pauses" 10
test_eq "nothing pending" "$(cpus_pending)" 0

ktap_finished

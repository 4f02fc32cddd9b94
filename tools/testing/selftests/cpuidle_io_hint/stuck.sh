#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: stuck.sh [test_io_hint.ko]
#
# A CPU whose tick is stopped, with a hint pending and no completion ever: it
# leaves the shallow state when the hint expires
#
# A module publishes the hint for a CPU that is asleep, and interrupts it once.
# For virtual time, or a quiet machine.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

module=${1:-$DIR/test_modules/test_io_hint.ko}
LIMIT_US=10
# Many ticks, so that one that runs shows
TIMEOUT_US=100000
TICK_US=10000

need_deep $CPU $LIMIT_US
[ -e "$module" ] || skip_all "no $module"

move_tasks

# haltpoll and ladder choose no deep state without the tick.
governors=$(deep_governors)
# shellcheck disable=SC2086 # one word a governor
set -- $governors
ktap_set_plan $(($# * 6))

# attempt DELAY_MS: one hint, and what became of it
attempt() {
	expired=$(total expired $CPU)
	trace_start power:cpu_idle cpuidle_io_hint:cpuidle_io_hint_cap \
		cpuidle_io_hint:cpuidle_io_hint_expire
	insmod "$module" cpu=$CPU by=0 delay_ms="$1" limit_us=$LIMIT_US \
		timeout_us=$TIMEOUT_US ||
		ktap_exit_fail_msg "cannot load $module"
	sleep 2
	pending=$(total pending $CPU)
	trace_stop
	rmmod test_io_hint
	expired=$(($(total expired $CPU) - expired))

	# From the first cap to the next entry into a deep state, in us, and how
	# often the CPU has entered a state on the way
	deep_us=-1 entries=0
	eval "$(awk -v cpu=$CPU -v deep="$deep" -f "$DIR/expiry.awk" "$TRACE")"
	ktap_print_msg "$governor: deep after $deep_us us and $entries entries"
}

for governor; do
	echo "$governor" > $GOVERNOR

	# The CPU has about a second to fall asleep and stop the tick.  Some
	# task may wake up there meanwhile, and start it: then try again.
	for delay in 1000 1010 1020 1030 1040; do
		attempt $delay
		if [ "$entries" -le 3 ]; then
			break
		fi
	done

	test_eq "$governor: hint is pending" "$pending" 1
	test_eq "$governor: it expires" "$expired" 1
	test_ge "$governor: held back for the timeout" "$deep_us" $TIMEOUT_US
	test_le "$governor: deep within one tick more" "$deep_us" \
		$((TIMEOUT_US + TICK_US))
	test_le "$governor: the tick was, and stayed, stopped" "$entries" 3
	test_eq "$governor: nothing pending after withdrawal" \
		"$(cpus_pending)" 0
done

ktap_finished

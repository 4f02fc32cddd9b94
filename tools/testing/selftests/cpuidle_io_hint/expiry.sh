#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A request that never completes: the CPU is held back until the timeout of the
# hint, and not longer, and all is even once the block layer has given it up
#
# Needs null_blk with configfs and fault injection.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

LIMIT_US=10
TIMEOUT_US=40000
# After this the block layer gives up: far later than the hint
IO_TIMEOUT_MS=1000
# Most that one tick can take (CONFIG_HZ=100)
TICK_US=10000

need_deep $CPU $LIMIT_US
have_null_blk || skip_all "no null_blk with configfs"
null_blk expiry irqmode=2 completion_nsec=1000000 ||
	ktap_exit_fail_msg "no null_blk device"
timeouts=$NULLB/expiry/timeout_inject
if [ ! -d "$timeouts" ]; then
	skip_all "null_blk without fault injection"
fi

queue=/sys/block/expiry/queue
echo $IO_TIMEOUT_MS > $queue/io_timeout
echo $TIMEOUT_US > $queue/cpu_lat_timeout_us
echo $LIMIT_US > $queue/cpu_lat_limit_us

# shellcheck disable=SC2046 # one word a governor
set -- $(governors)
ktap_set_plan $(($# * 8))

# lose: one request, and what its hint did
lose() {
	expired=$(total expired $CPU)
	echo 0 > "$timeouts/verbose"
	echo 1 > "$timeouts/times"
	echo 100 > "$timeouts/probability"

	trace_start power:cpu_idle cpuidle_io_hint:cpuidle_io_hint_cap \
		cpuidle_io_hint:cpuidle_io_hint_expire
	on_cpu $CPU dd if=/dev/expiry of=/dev/null bs=4096 count=1 \
		iflag=direct 2>/dev/null || : &
	sleep 0.5
	pending=$(total pending $CPU)
	trace_stop
	wait
	echo 0 > "$timeouts/probability"
	expired=$(($(total expired $CPU) - expired))

	expire_us=-1 deep_us=-1 polls=0 late_caps=0
	eval "$(awk -v cpu=$CPU -v deep="$deep" -f "$DIR/expiry.awk" "$TRACE")"
	ktap_print_msg "$governor: expired after $expire_us us," \
		"deep after $deep_us us, $polls polls"
}

# Deep at once, give or take that the first selection may be for the time to
# the next tick
deep_again() {
	[ "$deep_us" -ge $TIMEOUT_US ] &&
		[ "$deep_us" -le $((TIMEOUT_US + 2 * TICK_US)) ]
}

for governor; do
	# From the expiry on it is the governor's choice.  One that has seen
	# nothing but a few short idle periods may choose to stay shallow: then
	# let it begin anew, and see others.
	for other in ladder menu teo; do
		echo "$other" > $GOVERNOR
		echo "$governor" > $GOVERNOR
		sleep 0.5
		lose
		case $governor in
		menu|teo)
			if deep_again; then
				break
			fi
			;;
		*)
			break
			;;
		esac
	done

	test_eq "$governor: lost request is pending" "$pending" 1
	test_eq "$governor: it expires, once" "$expired" 1
	test_ge "$governor: held back until then" "$expire_us" $TIMEOUT_US
	test_le "$governor: no more than a tick late" "$expire_us" \
		$((TIMEOUT_US + TICK_US))
	test_eq "$governor: not held back any more" "$late_caps" 0
	# haltpoll polls for up to 0.2 ms before it halts, but then it is to
	# halt: otherwise it would do so 200 times.
	case $governor in
	haltpoll)	most=10 ;;
	*)		most=2 ;;
	esac
	test_le "$governor: polling is not forced" "$polls" $most
	case $governor in
	menu|teo)
		test_ok "$governor: deep again" deep_again
		;;
	*)
		ktap_test_skip "$governor: deep again: not at once by design"
		;;
	esac
	test_eq "$governor: nothing pending once it is given up" \
		"$(cpus_pending)" 0
done

ktap_finished

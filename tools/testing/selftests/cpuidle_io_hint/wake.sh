#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: wake.sh [-m test_io_hint.ko] [DISK]
#
# A CPU that sleeps too deeply when an I/O is started that is going to interrupt
# it is woken: once, not if it sleeps in a state that the limit allows, and not
# if the queue says so
#
# DISK has one hardware queue, interrupts another CPU than the one that submits,
# and takes less time than the deepest state to leave.  It is only read.  For
# virtual time, or a quiet machine.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

module=$DIR/test_modules/test_io_hint.ko
if [ "${1:-}" = -m ]; then
	module=$2
	shift 2
fi
disk=${1:-}
LIMIT_US=10
TIMES=5
IOS=100
# Nothing can be skipped in virtual time meanwhile
POLLING_IOS=10
MWAIT_CPU=/sys/module/test_cpuidle/parameters/mwait_cpu

need_deep $CPU $LIMIT_US
[ -e "$module" ] || skip_all "no $module"
move_tasks

# haltpoll and ladder choose no deep state without the tick.
governors=$(deep_governors)
# shellcheck disable=SC2086 # one word a governor
set -- $governors
ktap_set_plan $(($# * 17 + 3))

# publish LIMIT_US: hints for a CPU that is asleep, and what became of it
publish() {
	woken=$(total woken $CPU)
	trace_start power:cpu_idle cpuidle_io_hint:cpuidle_io_hint_cap \
		cpuidle_io_hint:cpuidle_io_hint_wake
	insmod "$module" cpu=$CPU by=0 delay_ms=1000 limit_us="$1" \
		timeout_us=100000 wake=1 times=$TIMES ||
		ktap_exit_fail_msg "cannot load $module"
	sleep 2
	trace_stop
	rmmod test_io_hint
	woken=$(($(total woken $CPU) - woken))
	wakes=$(grep -c "cpuidle_io_hint_wake: cpu_id=$CPU limit_ns=${1}000" \
		"$TRACE") || :
	# What it went to sleep for after it was woken, and how
	next=$(awk -v cpu=$CPU '
		/cpuidle_io_hint_wake:/ { woken = 1 }
		woken && /cpuidle_io_hint_cap:/ && $0 ~ "cpu_id=" cpu " " {
			sub(/.*state=/, ""); sub(/ .*/, ""); print; exit
		}' "$TRACE")
	ktap_print_msg "$governor, limit of $1 us: woken $woken times," \
		"next in state ${next:-?}"
}

# reads COUNT, THINK_US: one at a time
reads() {
	fio --name=reads --filename="/dev/$disk" --direct=1 --rw=randread \
		--bs=4k --ioengine=psync --thread --cpus_allowed=$CPU \
		--number_ios="$1" --thinktime="$2" --output=/dev/null \
		> /dev/null 2>&1
}

# woken_by COUNT THINK_US: wake-ups that so many reads have caused
woken_by() {
	woken=$(total woken)
	reads "$@"
	woken=$(($(total woken) - woken))
}

# most_woken: the CPU that has been woken most often so far
most_woken() {
	n=0
	most=0
	cpu=0
	while [ -d $CPUS/cpu$n ]; do
		if [ "$(total woken $n)" -gt "$most" ]; then
			most=$(total woken $n)
			cpu=$n
		fi
		n=$((n + 1))
	done
	echo $cpu
}

# A CPU that polls on its thread flags is woken by these, without an interrupt.
# It is awake then before it can know what for, but slept long enough.
polling() {
	cpu=$(most_woken)
	keep $MWAIT_CPU
	echo "$cpu" > $MWAIT_CPU
	capped=$(total capped "$cpu")
	slept=$(deep_usage "$cpu" "$deep")
	woken_by $POLLING_IOS 5000
	capped=$(($(total capped "$cpu") - capped))
	slept=$(($(deep_usage "$cpu" "$deep") - slept))
	echo -1 > $MWAIT_CPU
	ktap_print_msg "$governor: $POLLING_IOS reads, CPU $cpu polls: woken" \
		"$woken times, capped $capped times, slept deeply $slept times"
	test_ge "$governor: woken while it polls" "$woken" \
		$((POLLING_IOS * 8 / 10))
	# The read is done before the CPU is awake.
	test_le "$governor: not held back afterwards" "$capped" \
		$((POLLING_IOS / 2))
	test_ge "$governor: deep in each pause" "$slept" \
		$((POLLING_IOS * 8 / 10))
}

if [ -n "$disk" ]; then
	queue=/sys/block/$disk/queue
	keep "$queue/cpu_lat_limit_us"
	keep "$queue/cpu_lat_wake"
fi

for governor; do
	echo "$governor" > $GOVERNOR

	publish $LIMIT_US
	test_eq "$governor: woken once" "$woken" 1
	test_eq "$governor: and so says the trace" "$wakes" 1
	test_ok "$governor: then it keeps to the limit" \
		[ "${next:-$deep}" -lt "$deep" ]
	test_eq "$governor: nothing pending" "$(cpus_pending)" 0

	publish "$(state_file $CPU "$(deepest $CPU)" latency)"
	test_eq "$governor: not if the limit allows all states" "$woken" 0
	test_eq "$governor: nor in the trace" "$wakes" 0

	if [ -z "$disk" ]; then
		for what in "each pause" "at most" "wake=0" "wake=0 capped" \
			"one after the other" "capped" "short pauses" \
			"limit 0" "wake=0 after" off even
		do
			ktap_test_skip "$governor: $what: no disk given"
		done
		continue
	fi

	echo $LIMIT_US > "$queue/cpu_lat_limit_us"
	echo 1 > "$queue/cpu_lat_wake"
	reads $IOS 5000
	woken_by $IOS 5000
	ktap_print_msg "$governor: $IOS reads with pauses: woken $woken times"
	test_ge "$governor: woken after pauses" "$woken" $((IOS * 8 / 10))
	test_le "$governor: at most once for each" "$woken" $IOS

	echo 0 > "$queue/cpu_lat_wake"
	capped=$(total capped)
	woken_by $IOS 5000
	test_eq "$governor: cpu_lat_wake=0: not woken" "$woken" 0
	test_ge "$governor: cpu_lat_wake=0: capped all the same" \
		$(($(total capped) - capped)) $((IOS / 2))

	echo 1 > "$queue/cpu_lat_wake"
	capped=$(total capped)
	woken_by $((IOS * 10)) 0
	ktap_print_msg "$governor: $((IOS * 10)) reads without: woken $woken"
	# For the first one, and to find out that the next one comes soon
	test_le "$governor: not woken from read to read" "$woken" 2
	test_ge "$governor: they are capped" $(($(total capped) - capped)) $IOS
	# Pauses for which a state in between would do, but not the deepest one
	woken_by $IOS 200
	test_le "$governor: nor after pauses that are too short" "$woken" 2
	echo 0 > "$queue/cpu_lat_limit_us"
	woken_by $IOS 0
	test_le "$governor: nor with the strictest limit" "$woken" 2
	echo $LIMIT_US > "$queue/cpu_lat_limit_us"
	woken_by $IOS 5000
	test_ge "$governor: woken after pauses again" "$woken" \
		$((IOS * 8 / 10))

	echo -1 > "$queue/cpu_lat_limit_us"
	woken_by $IOS 5000
	test_eq "$governor: off: not woken" "$woken" 0
	test_eq "$governor: nothing pending in the end" "$(cpus_pending)" 0
done

if [ -n "$disk" ] && [ -e $MWAIT_CPU ]; then
	echo $LIMIT_US > "$queue/cpu_lat_limit_us"
	polling
else
	for what in woken capped deep; do
		ktap_test_skip "polling, $what: no disk, or no test_cpuidle"
	done
fi

ktap_finished

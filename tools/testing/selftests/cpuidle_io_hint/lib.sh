# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2034
#
# Shared by the tests of the pending-I/O hints; sourced, not run.
#
# Needs root, at least two CPUs, or one if ONE_CPU_WILL_DO is set, and a cpuidle
# driver with two states or more: in a virtual machine, load
# test_modules/test_cpuidle.ko first.

set -eu

case ${1:-} in
--help|-h)
	# The header comment of a script is its help text.
	sed -n '3,/^$/s/^# \{0,1\}//p' "$0"
	exit 0
	;;
esac

DIR=$(dirname "$(readlink -f "$0")")
# shellcheck source=/dev/null
. "$DIR/../kselftest/ktap_helpers.sh"

CPUS=/sys/devices/system/cpu
GOVERNOR=$CPUS/cpuidle/current_governor
DEBUGFS=/sys/kernel/debug
HINT=$DEBUGFS/cpuidle_io_hint
TRACING=/sys/kernel/tracing
NULLB=/sys/kernel/config/nullb

# The CPU that does the I/O in all tests
CPU=1
[ -z "${ONE_CPU_WILL_DO:-}" ] || [ -d $CPUS/cpu$CPU ] || CPU=0

# What is to be done at the end, whatever happens: a list of commands, of which
# the last one comes first
AT_EXIT=

at_exit() {
	AT_EXIT="$*
$AT_EXIT"
}

cleanup() {
	set +eu
	eval "$AT_EXIT"
}

trap cleanup EXIT
trap 'exit 1' HUP INT TERM

# keep FILE: write back at the end what it holds now, if it is still there
keep() {
	at_exit "[ ! -e '$1' ] || echo '$(cat "$1")' > '$1'"
}

ktap_print_header

skip_all() {
	ktap_skip_all "$*"
	exit "$KSFT_SKIP"
}

[ "$(id -u)" = 0 ] || skip_all "must be run as root"
[ -d $HINT ] || mount -t debugfs none $DEBUGFS 2>/dev/null || :
[ -d $HINT ] || skip_all "no $HINT: kernel without the hints, or no debugfs"
[ -d $TRACING/events ] || mount -t tracefs none $TRACING 2>/dev/null || :
[ -d $CPUS/cpu$CPU ] || skip_all "needs two CPUs"
keep $GOVERNOR

# test_ok WHAT COMMAND...: one test, passed if the command succeeds
test_ok() {
	claim=$1
	shift
	if "$@"; then
		ktap_test_pass "$claim"
	else
		ktap_test_fail "$claim"
	fi
}

# test_eq WHAT GOT WANT, test_le WHAT GOT MAX, test_ge WHAT GOT MIN
test_eq() {
	[ "$2" = "$3" ] || ktap_print_msg "$1: got '$2', want '$3'"
	test_ok "$1" [ "$2" = "$3" ]
}

test_le() {
	[ "$2" -le "$3" ] || ktap_print_msg "$1: got $2, want at most $3"
	test_ok "$1" [ "$2" -le "$3" ]
}

test_ge() {
	[ "$2" -ge "$3" ] || ktap_print_msg "$1: got $2, want at least $3"
	test_ok "$1" [ "$2" -ge "$3" ]
}

governors() {
	cat $CPUS/cpuidle/available_governors
}

# Those that choose deep states also without the tick
deep_governors() {
	for governor in $(governors); do
		case $governor in
		menu|teo)
			echo "$governor"
			;;
		esac
	done
}

# $CPU is to sleep: move what can be moved elsewhere.
move_tasks() {
	for task in /proc/[0-9]*; do
		task=${task#/proc/}
		mask=$(taskset -p "$task" 2>/dev/null | sed 's/.* //')
		if taskset -p 1 "$task" > /dev/null 2>&1; then
			at_exit "taskset -p $mask $task > /dev/null 2>&1"
		fi
	done
}

# The disks that have the knobs
disks() {
	for knob in /sys/block/*/queue/cpu_lat_limit_us; do
		[ -e "$knob" ] || continue
		knob=${knob#/sys/block/}
		echo "${knob%%/*}"
	done
}

# total COLUMN [CPU]: sum of a column of the debugfs table, or what one CPU has
total() {
	awk -v name="$1" -v cpu="${2:-}" '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i; next }
		cpu == "" || $1 == cpu { sum += $c }
		END { print sum }' $HINT/cpus
}

# How many CPUs have a count that is not zero, in either direction
cpus_pending() {
	awk 'NR > 1 && $2 != 0 { n++ } END { print n + 0 }' $HINT/cpus
}

# deepest CPU, state_file CPU STATE FILE: idle states as sysfs shows them
deepest() {
	n=0
	while [ -d "$CPUS/cpu$1/cpuidle/state$((n + 1))" ]; do
		n=$((n + 1))
	done
	echo $n
}

state_file() {
	cat "$CPUS/cpu$1/cpuidle/state$2/$3"
}

# deeper_than CPU US: the first state with a longer exit latency, as index
deeper_than() {
	n=0
	while [ -d "$CPUS/cpu$1/cpuidle/state$n" ]; do
		[ "$(state_file "$1" "$n" latency)" -le "$2" ] || break
		n=$((n + 1))
	done
	echo $n
}

# need_deep CPU US: set $deep to what deeper_than says, and skip all if there is
# no such state
need_deep() {
	deep=$(deeper_than "$1" "$2")
	[ -d "$CPUS/cpu$1/cpuidle/state$deep" ] ||
		skip_all "no idle state with an exit latency over $2 us"
}

# deep_usage CPU FIRST: entries into the states from FIRST on
deep_usage() {
	sum=0
	n=$2
	while [ -d "$CPUS/cpu$1/cpuidle/state$n" ]; do
		sum=$((sum + $(state_file "$1" "$n" usage)))
		n=$((n + 1))
	done
	echo $sum
}

# trace_start EVENT...; trace_stop, which leaves the trace in $TRACE
trace_start() {
	if [ -z "${TRACE:-}" ]; then
		TRACE=$(mktemp)
		at_exit "rm -f $TRACE"
		at_exit "echo > $TRACING/set_event; echo > $TRACING/trace"
		keep $TRACING/tracing_on
	fi
	echo 0 > $TRACING/tracing_on
	echo > $TRACING/set_event
	echo 16384 > $TRACING/buffer_size_kb
	for event in "$@"; do
		echo "$event" >> $TRACING/set_event
	done
	echo > $TRACING/trace
	echo 1 > $TRACING/tracing_on
}

trace_stop() {
	echo 0 > $TRACING/tracing_on
	cat $TRACING/trace > "$TRACE"
	echo > $TRACING/set_event
}

# null_blk NAME ATTRIBUTE=VALUE...: one more null block device, powered on
null_blk() {
	dir=$NULLB/$1
	mkdir "$dir" || return 1
	at_exit "[ ! -d $dir ] || rmdir $dir"
	shift
	for setting in "$@"; do
		echo "${setting#*=}" > "$dir/${setting%%=*}" || return 1
	done
	echo 1 > "$dir/power"
}

null_blk_remove() {
	[ ! -d "$NULLB/$1" ] || rmdir "$NULLB/$1"
}

have_null_blk() {
	[ -d $NULLB ] || modprobe null_blk nr_devices=0 2>/dev/null || :
	[ -d $NULLB ] || mount -t configfs none /sys/kernel/config 2>/dev/null ||
		:
	[ -d $NULLB ]
}

# on_cpu CPU COMMAND...; pin CPU: this shell, or subshell, and what it starts
on_cpu() {
	cpu=$1
	shift
	taskset "$(printf '%x' $((1 << cpu)))" "$@"
}

pin() {
	taskset -p "$(printf '%x' $((1 << $1)))" \
		"$(exec sh -c 'echo $PPID')" > /dev/null
}

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: test-log.sh
#
# Tests what stress.c takes for a failure in the log of a kernel, and what for a
# race that we have no part in.  Writes KTAP; fails if a test does.

set -eu
# shellcheck source=lib.sh
. "$(dirname -- "$0")/lib.sh"

[ $# -eq 0 ] || bad_usage "no arguments, please"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
gcc -O2 -Wall -o "$work/stress" "$here/stress.c"

# stack FUNCTION...: the innermost one comes first.
stack() {
	printf ' %s+0x65/0xd0\n' "$@"
	echo
}

# race TITLE BYTES READER WRITER: a report as KCSAN writes it
race() {
	line="=================================================="
	echo "$line"
	echo "BUG: KCSAN: data-race in $1"
	echo
	# shellcheck disable=SC2086 # one word a function
	{
		echo "read to 0xffff88807a61e958 of $2 bytes by task 7 on cpu 1:"
		stack $3
		echo "write to 0xffff88807a61e958 of $2 bytes by task 8 on cpu 0:"
		stack $4
	}
	echo "Reported by Kernel Concurrency Sanitizer on:"
	echo "CPU: 0 UID: 0 PID: 0 Comm: swapper/0 Not tainted 7.3.4 #1"
	echo "$line"
}

# expect FAILURES RACES WHAT: of the log
n=0
failed=0
expect() {
	n=$((n + 1))
	rc=0
	"$work/stress" -l < "$work/log" > "$work/out" || rc=$?
	if [ $rc -eq $(($1 != 0)) ] &&
			grep -q " $1 failures\$" "$work/out" &&
			grep -q " $2 races between others\$" "$work/out"; then
		echo "ok $n $3"
	else
		sed 's/^/# /' "$work/out"
		echo "not ok $n $3"
		failed=$((failed + 1))
	fi
}

# expect_race FAILURES RACES WHAT RACE...: of a log with one race
expect_race() {
	counts="$1 $2"
	what=$3
	shift 3
	race "$@" > "$work/log"
	# shellcheck disable=SC2086 # two numbers
	expect $counts "$what"
}

irq=asm_sysvec_apic_timer_interrupt

echo "TAP version 13"
echo "1..11"
echo "null_blk: module loaded" > "$work/log"
expect 0 0 "nothing"
echo "WARNING: CPU: 0 PID: 7 at block/blk-mq.c:1 blk_mq_start+0x1/0x2" \
	> "$work/log"
expect 1 0 "a warning"
expect_race 0 1 "a race between others" \
	"a / b" 8 "a do_a" "b do_b"
expect_race 1 0 "a race that we are in" \
	"a / io_hint_limit" 4 "a do_a" "io_hint_limit do_b"
expect_race 1 0 "a race in what we call" \
	"a / b" 8 "a do_a" "b blk_cpu_lat_update do_b"
expect_race 0 1 "a race of an interrupt that has come upon us" \
	"a / b" 8 "a $irq io_hint_limit do_idle" "b do_b"
expect_race 0 1 "a race of a page fault of ours" \
	"a / b" 8 "a asm_exc_page_fault blk_cpu_lat_limit_store" "b do_b"
expect_race 1 0 "a race in an interrupt of ours" \
	"a / b" 8 "a io_hint_timer_fn $irq do_a" "b do_b"
expect_race 1 0 "a race of an interrupt with us" \
	"a / b" 8 "a $irq do_a" "b io_hint_limit do_b"
expect_race 1 0 "a race for a field like ours, in blk-mq" \
	"blk_mq_end_request / b" 2 "blk_mq_end_request do_a" "b do_b"
{
	race "a / b" 8 "a $irq io_hint_limit" "b do_b"
	race "a / b" 8 "a io_hint_limit" "b do_b"
	race "c / d" 8 "c do_c" "d do_d"
} > "$work/log"
expect 1 2 "one report after the other"
[ $failed -eq 0 ]

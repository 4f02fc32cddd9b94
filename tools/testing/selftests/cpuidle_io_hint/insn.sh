#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# What a request costs with the limit set, over what it costs without, where it
# is submitted and completed on one CPU
#
# For virtual time only, where one instruction is one nanosecond.  Needs
# null_blk with configfs, set up to complete at once, and fio.

ONE_CPU_WILL_DO=1
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# Publication and withdrawal; the documentation says 39 with preemption, 34
# without, of which learning, which null_blk has nothing to do with, is 7.
MAX_INSN=32
IOS=3000

have_null_blk || skip_all "no null_blk with configfs"
command -v fio > /dev/null || skip_all "no fio"
null_blk insn irqmode=0 submit_queues="$(nproc)" ||
	ktap_exit_fail_msg "no null_blk device"
limit=/sys/block/insn/queue/cpu_lat_limit_us
log=$(mktemp)
at_exit "rm -f $log*"

# The median of the latencies, in ns
median() {
	fio --name=insn --filename=/dev/insn --direct=1 --rw=read --bs=4k \
		--ioengine=psync --thread --cpus_allowed=$CPU \
		--number_ios=$IOS --write_lat_log="$log" --output=/dev/null \
		> /dev/null 2>&1
	cut -d , -f 2 "$log"_lat.*.log | sort -n | sed -n "$((IOS / 2))p"
	rm -f "$log"_*
}

ktap_set_plan 3
off=$(median)
echo 10 > $limit
on=$(median)
echo -1 > $limit
again=$(median)
ktap_print_msg "median of a read: $off ns off, $on ns on, $again ns off"
test_le "on: at most $MAX_INSN instructions more" $((on - off)) $MAX_INSN
test_ge "on: it does something" $((on - off)) 10
test_le "off again: as before, to one instruction" \
	$(((again - off) * (again - off))) 1

ktap_finished

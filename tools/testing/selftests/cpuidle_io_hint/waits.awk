# SPDX-License-Identifier: GPL-2.0
#
# Reads a trace of block_rq_issue, block_rq_complete, cpu_idle and
# cpuidle_io_hint_cap, and tells what CPU "cpu" did while it waited for I/O
# that it had submitted itself and that is completed on it:
#
#	waits		idle periods that began with I/O in flight
#	deep_waits	those in state "deep" or a deeper one
#	deep_pauses	idle periods in such states with no I/O in flight
#	caps		decisions of the governor that a hint has cut
#	deep_caps	those that chose such a state all the same
#
# usage: awk -v cpu=N -v deep=N -f waits.awk TRACE

function field(name,	i, part) {
	for (i = 1; i <= NF; i++) {
		split($i, part, "=")
		if (part[1] == name)
			return part[2]
	}
	return ""
}

/^#/ { next }

{
	# COMM-PID [CPU] FLAGS TIME: EVENT: ..., where COMM may contain spaces
	on = ""
	for (i = 1; i <= NF; i++) {
		if (on == "" && $i ~ /^\[[0-9]+\]$/)
			on = substr($i, 2, length($i) - 2) + 0
		else if (on != "" && $i ~ /:$/ && $i !~ /^[0-9.]+:$/) {
			event = $i
			break
		}
	}
}

event == "block_rq_issue:" && on == cpu { flight++ }
event == "block_rq_complete:" && on == cpu && flight > 0 { flight-- }

event == "cpu_idle:" && field("cpu_id") == cpu && field("state") < 100 {
	state = field("state") + 0
	if (flight)
		waits++
	if (state >= deep)
		flight ? deep_waits++ : deep_pauses++
}

event == "cpuidle_io_hint_cap:" && field("cpu_id") == cpu {
	caps++
	if (field("state") + 0 >= deep)
		deep_caps++
}

END {
	printf "waits=%d deep_waits=%d deep_pauses=%d caps=%d deep_caps=%d\n",
		waits, deep_waits, deep_pauses, caps, deep_caps
}

# SPDX-License-Identifier: GPL-2.0
#
# Reads a trace of block_rq_issue, block_rq_complete and cpu_idle, and tells
# which states CPU "cpu" entered with I/O of two disks in flight that it has
# submitted and that is completed on it:
#
#	strict_waits	idle periods that began with I/O of "strict" in flight
#	strict_deep	those in state "middle" or a deeper one
#	lax_waits	idle periods that began with I/O of "lax" only
#	lax_middle	those in state "middle" or a deeper one, but not "deep"
#	lax_deep	those in state "deep" or a deeper one
#
# usage: awk -v cpu=N -v strict=MAJOR,MINOR -v lax=MAJOR,MINOR -v middle=N
#	-v deep=N -f limits.awk TRACE

/^#/ { next }

{
	# COMM-PID [CPU] FLAGS TIME: EVENT: ..., where COMM may contain spaces
	on = ""
	for (i = 1; i <= NF; i++) {
		if (on == "" && $i ~ /^\[[0-9]+\]$/)
			on = substr($i, 2, length($i) - 2) + 0
		else if (on != "" && $i ~ /:$/ && $i !~ /^[0-9.]+:$/)
			break
	}
	event = $i
	disk = $(i + 1)
}

event == "block_rq_issue:" && on == cpu { flight[disk]++ }
event == "block_rq_complete:" && on == cpu && flight[disk] { flight[disk]-- }

event == "cpu_idle:" {
	split($(i + 1), state, "=")
	split($(i + 2), id, "=")
	if (id[2] != cpu || state[2] > 100)
		next
	if (flight[strict]) {
		strict_waits++
		if (state[2] >= middle)
			strict_deep++
	} else if (flight[lax]) {
		lax_waits++
		if (state[2] >= deep)
			lax_deep++
		else if (state[2] >= middle)
			lax_middle++
	}
}

END {
	printf "strict_waits=%d strict_deep=%d ", strict_waits, strict_deep
	printf "lax_waits=%d lax_middle=%d lax_deep=%d\n", lax_waits,
		lax_middle, lax_deep
}

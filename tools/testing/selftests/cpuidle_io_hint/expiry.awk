# SPDX-License-Identifier: GPL-2.0
#
# Reads a trace of cpu_idle, cpuidle_io_hint_cap and cpuidle_io_hint_expire,
# and tells how CPU "cpu" got out of the states that a hint held it in, in us
# from the first time that it was held back; -1 for what did not happen:
#
#	expire_us	until the hint expired
#	deep_us		until it next entered state "deep" or a deeper one
#	entries		how many other states it entered before that
#	polls		how often it polled instead, before the hint expired
#	late_caps	how often it was held back after that
#
# usage: awk -v cpu=N -v deep=N -f expiry.awk TRACE

/^#/ { next }

{
	time = ""
	for (i = 1; i <= NF; i++) {
		if (time == "" && $i ~ /^[0-9]+\.[0-9]+:$/)
			time = $i * 1000000
		split($i, part, "=")
		value[part[1]] = part[2]
	}
}

value["cpu_id"] != cpu { next }

/cpuidle_io_hint_cap:/ && !first { first = time }
/cpuidle_io_hint_cap:/ && expire { late_caps++ }
/cpuidle_io_hint_expire:/ && !expire { expire = time }
/cpu_idle:/ && first && !expire && value["state"] == 0 { polls++ }
/cpu_idle:/ && first && !entry && value["state"] < 100 {
	if (value["state"] >= deep)
		entry = time
	else
		entries++
}

END {
	printf "expire_us=%d deep_us=%d entries=%d polls=%d late_caps=%d\n",
		first && expire ? expire - first : -1,
		entry ? entry - first : -1, entries, polls, late_caps
}

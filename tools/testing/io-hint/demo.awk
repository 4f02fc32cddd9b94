# SPDX-License-Identifier: GPL-2.0
#
# The table of demo.sh, from the traced waits of each run and summary.csv, and
# the conclusion; fails if that is not the expected one.
#
# usage: awk -F, -f demo.awk WAITS SUMMARY

function fail(what) {
	printf "NOT AS EXPECTED: %s\n", what
	failed = 1
}

# The traced waits: GOVERNOR,KNOB,WORKLOAD NAME=N NAME=N ...
NR == FNR {
	n = split($0, word, " ")
	for (i = 2; i <= n; i++) {
		split(word[i], part, "=")
		traced[word[1], part[1]] = part[2]
	}
	next
}

FNR == 1 { next }

{
	run = $2 "," $3 "," $4
	if (!(run in mean)) {
		runs[++nr_runs] = run
		mean[run] = $5
		p99[run] = $6
		max[run] = $7
		capped[run] = $11
		kernel = $1
	}
	if (!($8 in seen)) {
		seen[$8] = 1
		states[++nr_states] = $8
	}
	entries[run, $8] = $9
	time[run, $8] = $10
}

# The columns that tell one run from another; sets part[]
function label(run) {
	split(run, part, ",")
	gsub("-", " ", part[3])
	return sprintf("%-5s%-4s%-13s", part[1], part[2] < 0 ? "off" : part[2],
		part[3])
}

END {
	deep = states[nr_states]

	printf "\n%22s%19s%15s%13s%9s\n", "", "latency in us", "waits for I/O",
		"pauses", "capped"
	printf "%-5s%-4s%-13s%5s%7s%7s%8s%7s%13s%9s\n", "", "knob", " reads",
		"mean", "p99", "max", "all", "in " deep, "in " deep, "times"
	for (r = 1; r <= nr_runs; r++) {
		run = runs[r]
		printf "%s%5d%7d%7d%8d%7d%13d%9d\n", label(run), mean[run],
			p99[run], max[run], traced[run, "waits"],
			traced[run, "deep_waits"], traced[run, "deep_pauses"],
			capped[run]
	}

	printf "\n%22s%*s%*s\n", "", 6 * nr_states, "idle states entered",
		8 * nr_states, "time in them, in ms"
	printf "%-5s%-4s%-13s", "", "knob", " reads"
	for (i = 1; i <= nr_states; i++)
		printf "%6s", states[i]
	for (i = 1; i <= nr_states; i++)
		printf "%*s", i == 1 ? 9 : 7, states[i]
	printf "\n"
	for (r = 1; r <= nr_runs; r++) {
		run = runs[r]
		printf "%s", label(run)
		for (i = 1; i <= nr_states; i++)
			printf "%6d", entries[run, states[i]]
		for (i = 1; i <= nr_states; i++)
			printf "%*d", i == 1 ? 9 : 7,
				time[run, states[i]] / 1000
		printf "\n"
	}

	for (r = 1; r <= nr_runs; r++) {
		run = runs[r]
		label(run)
		in_deep = traced[run, "deep_waits"] + traced[run, "deep_pauses"]
		if (entries[run, deep] < in_deep ||
		    entries[run, deep] > in_deep * 1.02 + 10)
			fail(run ": " deep " was entered " entries[run, deep] \
				" times by its counter, but " in_deep \
				" times by the trace")
		if (part[2] < 0) {
			if (capped[run])
				fail(run ": capped " capped[run] " times")
			continue
		}
		if (traced[run, "deep_waits"] || traced[run, "deep_caps"])
			fail(run ": waits for I/O in " deep)
		if (capped[run] < traced[run, "waits"] / 2)
			fail(run ": only " capped[run] " waits capped")
		if (part[3] == "every 5ms" &&
		    traced[run, "deep_pauses"] < capped[run] / 2)
			fail(run ": hardly ever in " deep " between the I/Os")
	}

	printf "\nA wait is an idle period that begins with a read in " \
		"flight, a pause any other.\n"
	for (g = 1; g <= 2 && !failed; g++) {
		governor = g == 1 ? "menu" : "teo"
		off = governor ",-1,every-5ms"
		on = governor ",10,every-5ms"
		printf "%s, off -> on: waits in %s %d of %d -> %d of %d, " \
			"pauses in %s %d -> %d.\n", governor, deep,
			traced[off, "deep_waits"], traced[off, "waits"],
			traced[on, "deep_waits"], traced[on, "waits"], deep,
			traced[off, "deep_pauses"], traced[on, "deep_pauses"]
	}
	if (!failed)
		printf "So with the knob on no wait for I/O was spent in %s, " \
			"while pauses still were;\nwith the knob off " \
			"nothing was capped.\n", deep
	printf "These are counts from a trace.  An emulator says nothing about " \
		"the latency of\nhardware.\n"
	exit failed
}

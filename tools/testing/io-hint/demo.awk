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

END {
	deep = states[nr_states]
	printf "\nLinux %s, emulated NVMe drive, test idle states\n\n", kernel
	printf "%-23s%19s", "", "latency in us"
	printf "%*s%10s\n", 6 * nr_states, "idle states entered", "waits in"
	printf "%-5s%-5s%-13s%5s%7s%7s", "", "knob", "reads", "mean", "p99",
		"max"
	for (i = 1; i <= nr_states; i++)
		printf "%6s", states[i]
	printf "%10s%6s\n", deep, "caps"

	for (r = 1; r <= nr_runs; r++) {
		run = runs[r]
		split(run, part, ",")
		knob = part[2] < 0 ? "off" : part[2]
		reads = part[3]
		gsub("-", " ", reads)
		printf "%-5s%-5s%-13s%5d%7d%7d", part[1], knob, reads,
			mean[run], p99[run], max[run]
		for (i = 1; i <= nr_states; i++)
			printf "%6d", entries[run, states[i]]
		printf "%10s%6d\n", traced[run, "deep_waits"] "/" \
			traced[run, "waits"], capped[run]

		in_deep = traced[run, "deep_waits"] + traced[run, "deep_pauses"]
		if (entries[run, deep] < in_deep ||
		    entries[run, deep] > in_deep * 1.02 + 10)
			fail(run ": " deep " was entered " entries[run, deep] \
				" times by its counter, but " in_deep \
				" times by the trace")
		if (knob == "off") {
			if (capped[run])
				fail(run ": capped " capped[run] " times")
			continue
		}
		if (traced[run, "deep_waits"] || traced[run, "deep_caps"])
			fail(run ": waits for I/O in " deep)
		if (capped[run] < traced[run, "waits"] / 2)
			fail(run ": only " capped[run] " waits capped")
		if (part[3] == "every-5ms" &&
		    traced[run, "deep_pauses"] < capped[run] / 2)
			fail(run ": hardly ever in " deep " between the I/Os")
	}

	printf "\n"
	if (!failed) {
		for (g = 1; g <= 2; g++) {
			governor = g == 1 ? "menu" : "teo"
			off = governor ",-1,every-5ms"
			on = governor ",10,every-5ms"
			printf "%s, one read every 5 ms: with the knob on, " \
				"%d of %d waits for I/O\nentered %s (off: " \
				"%d of %d), and the pauses between the reads " \
				"still did,\n%d times; the mean latency went " \
				"from %d to %d us.\n", governor,
				traced[on, "deep_waits"], traced[on, "waits"],
				deep, traced[off, "deep_waits"],
				traced[off, "waits"],
				traced[on, "deep_pauses"], mean[off], mean[on]
		}
		printf "With the knob off nothing was capped.\n"
	}
	printf "Latencies of an emulator are not those of hardware; the " \
		"counts are exact.\n"
	exit failed
}

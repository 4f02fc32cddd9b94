# SPDX-License-Identifier: GPL-2.0
#
# The rows of results.csv for one guest and device, but for insn_per_io: from
# what fio says about each job, and from the counters before and after it.
#
# usage: awk -v dir=RAW -v device=D -v machine=M -v seed=N -f bench-rows.awk \
#		RAW/D.fio.csv

function fail(what) {
	print "bench-rows.awk: " dir ": " what > "/dev/stderr"
	failed = 1
	exit 1
}

# The first line of a file that has but one
function first_line(file,	line) {
	if ((getline line < file) <= 0)
		fail("no " file)
	close(file)
	return line
}

# counters FILE WHEN: into count[WHEN, ...]
function counters(file, when,	line, part, n) {
	while ((getline line < file) > 0) {
		n = split(line, part, /[ \/:]/)
		if (part[1] == "now") {
			count[when, "now"] = part[2]
		} else if (part[1] == "hint") {
			if (part[2] == "cpu") {
				for (n in part)
					column[part[n]] = n
			} else {
				count[when, "woken"] += part[column["woken"]]
			}
		} else if (part[2] == "cpuidle" && n == 5) {
			# cpuN/cpuidle/stateN/NAME:VALUE
			count[when, part[1], part[3], part[4]] = part[5]
			states[part[3]] = 1
		}
	}
	close(file)
	if (!((when, "now") in count))
		fail("no " file)
}

# What a counter of the deep states, or of all, has grown by on one CPU
function growth(cpu, name, only_deep,	s, sum) {
	sum = 0
	for (s in states) {
		if (only_deep && count["after", cpu, s, "latency"] + 0 <= limit)
			continue
		sum += count["after", cpu, s, name] - \
			count["before", cpu, s, name]
	}
	return sum
}

# What cyclictest says about each wake-up, in ascending order
function cyclictest(file,	line, part) {
	wakeups = sum = 0
	while ((getline line < file) > 0) {
		# THREAD: CYCLE: NS; it is still starting in the first cycles
		if (split(line, part, ":") != 3 || part[2] < 20)
			continue
		late[++wakeups] = part[3] + 0
		sum += part[3]
	}
	close(file)
	if (!wakeups)
		fail("nothing in " file)
}

# The value that so many percent of the wake-ups do not exceed
function percentile(percent,	i) {
	i = int(wakeups * percent / 100)
	return late[i < wakeups * percent / 100 ? i + 1 : i]
}

function us(ns) {
	return sprintf("%.2f", ns / 1000)
}

BEGIN {
	FS = OFS = ","
	kernel = first_line(dir "/kernel")
	split(first_line(dir "/setup"), setup, " ")
	for (i = 1; i in setup; i += 2)
		set[setup[i]] = setup[i + 1]
	limit = set["limit_us"]
}

# GOVERNOR,WORKLOAD,VARIANT[,second],ios,...
{
	split("", f)
	for (i = 4; i <= NF; i++)
		f[i - 3] = $i
	if ($4 == "second" || $2 == "insn")
		next
	governor = $1
	workload = $2
	variant = $3
	base = dir "/" device "," governor "," workload "," variant
	split("", count)
	counters(base ".before", "before")
	counters(base ".after", "after")

	# Who waits: S, and T where that is another CPU
	split("", waits)
	waits["cpu" set["io"]]
	if (workload == "remote_irq")
		waits["cpu" set["other"]]
	if (workload == "cyclictest_other") {
		split("", waits)
		waits["cpu" set["other"]]
	}
	deep_time = deep_entries = above = below = 0
	for (cpu in waits) {
		deep_time += growth(cpu, "time", 1)
		deep_entries += growth(cpu, "usage", 1)
		above += growth(cpu, "above")
		below += growth(cpu, "below")
	}

	ios = f[1]
	if (!ios)
		fail(base ": no I/O")
	slat = us(f[2]) OFS us(f[3])
	if (f[3] == 0)
		slat = OFS
	clat = us(f[4]) OFS us(f[5]) OFS us(f[6]) OFS us(f[7]) OFS us(f[8])
	lat = us(f[9]) OFS us(f[10])
	rate = sprintf("%.1f", f[11]) OFS sprintf("%.2f", f[12] / 1048576)
	if (workload ~ /^cyclictest/) {
		cyclictest(base ".wakeups")
		ios = wakeups
		slat = OFS
		lat = us(sum / wakeups) OFS us(late[wakeups])
		clat = us(sum / wakeups) OFS us(percentile(50)) OFS \
			us(percentile(99)) OFS us(percentile(99.9)) OFS \
			us(late[wakeups])
		rate = OFS
	}

	wall = (count["after", "now"] - count["before", "now"]) / 1000
	wakes = count["after", "woken"] - count["before", "woken"]
	print kernel, governor, machine, device, workload, variant, seed, ios,
		slat, clat, lat, rate, deep_time, deep_entries, above, below,
		sprintf("%.0f", wall), "", wakes
}

END {
	exit failed
}

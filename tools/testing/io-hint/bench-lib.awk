# SPDX-License-Identifier: GPL-2.0
#
# What bench-summary.awk and bench-plot.awk share: the lines of results.csv by
# the names of its columns, and the median and range over seeds.
#
# A key is KERNEL,GOVERNOR,MACHINE,DEVICE,WORKLOAD,VARIANT.

BEGIN {
	nr_variants = split("unpatched off nodeep dma_latency pmqos hint10 " \
		"hint10_hold", variants, " ")
	nr_governors = split("menu teo", governors, " ")
}

# take(): the present line of results.csv, which starts with a header
function take(	i, name, key) {
	if (FNR == 1) {
		for (i = 1; i <= NF; i++)
			column[$i] = i
		return
	}
	key = $1 "," $2 "," $3 "," $4 "," $5 "," $6
	if (!($1 in kernel_seen)) {
		kernel_seen[$1] = 1
		kernels[++nr_kernels] = $1
	}
	i = ++seeds[key]
	if (i > nr_seeds)
		nr_seeds = i
	for (name in column)
		value[key, name, i] = $column[name]
	# Where two CPUs wait, the share is the mean of both.
	value[key, "deep_share", i] = 100 * value[key, "deep_time_us", i] / \
		value[key, "wall_us", i] / ($5 == "remote_irq" ? 2 : 1)
}

# order KEY NAME: sorts the values of all seeds into sorted[]
function order(key, name,	i, j, v) {
	for (i = 1; i <= seeds[key]; i++) {
		v = value[key, name, i] + 0
		for (j = i; j > 1 && sorted[j - 1] > v; j--)
			sorted[j] = sorted[j - 1]
		sorted[j] = v
	}
	return seeds[key]
}

function median(key, name,	n) {
	n = order(key, name)
	return (sorted[int((n + 1) / 2)] + sorted[int((n + 2) / 2)]) / 2
}

function least(key, name) {
	order(key, name)
	return sorted[1]
}

function most(key, name,	n) {
	n = order(key, name)
	return sorted[n]
}

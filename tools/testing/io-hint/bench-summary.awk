# SPDX-License-Identifier: GPL-2.0
#
# The summary of bench.sh, in 80 columns: the seed's table beside ours, medians
# of everything, and the targets.
#
# usage: awk -F, -f bench-lib.awk -f bench-summary.awk SEED-TABLE RESULTS.CSV

function title(text) {
	printf "\n%s\n", text
}

# k: of the 80 us device on icx
function icx(kernel, governor, workload, variant) {
	return kernel "," governor ",icx,80us," workload "," variant
}

function seed_header(first) {
	printf "%-12s%5s%8s%8s%8s%23s%8s\n", "", "", "slat", "clat", "lat",
		"bandwidth in MiB/s", "deep"
	printf "%-12s%5s%8s%8s%8s%9s%7s%7s%8s\n", first, "run", "max",
		"max", "max", "min", "avg", "max", "idle %"
}

function seed_tables(	i, g, v, k, bulk, parts) {
	title("The seed's table: real hardware, as its author published it")
	seed_header("limit in us")
	for (i = 1; i <= nr_seed_lines; i++) {
		split(seed_line[i], parts, ",")
		printf "%-12s%5d%8d%8d%8d%9d%7d%7d%8.1f\n", parts[2], parts[3],
			parts[4], parts[5], parts[6], parts[7], parts[8],
			parts[9], parts[10]
	}
	for (g = 1; g <= nr_governors; g++) {
		title("In this form: lab (virtual time), Linux " \
			kernels[nr_kernels] ", " governors[g] \
			", icx, 80us;\nlatencies and idle of seed_randread, " \
			"bandwidth of seed_bulk")
		seed_header("variant")
		for (v = 1; v <= nr_variants; v++) {
			k = icx(kernels[nr_kernels], governors[g],
				"seed_randread", variants[v])
			bulk = icx(kernels[nr_kernels], governors[g],
				"seed_bulk", variants[v])
			if (!(k in seeds) || !(bulk in seeds))
				continue
			for (i = 1; i <= seeds[k]; i++)
				printf "%-12s%5d%8d%8d%8d%9s%7d%7s%8.1f\n",
					variants[v], value[k, "seed", i],
					value[k, "slat_max_us", i],
					value[k, "clat_max_us", i],
					value[k, "lat_max_us", i], "",
					value[bulk, "bw_mib", i], "",
					value[k, "deep_share", i]
		}
	}
}

function range(k, name) {
	return sprintf("%.1f (%.1f-%.1f)", median(k, name), least(k, name),
		most(k, name))
}

function insn(k) {
	return value[k, "insn_per_io", 1] == "" ? "-" : \
		sprintf("%d", median(k, "insn_per_io"))
}

# One workload in detail
function details(kernel, workload, text,	g, v, k) {
	title(text " (" workload "): lab (virtual time),\nLinux " kernel \
		", icx, 80us; median and range of " nr_seeds " seeds")
	printf "%-5s%-12s%22s%22s%13s%6s\n", "", "", "mean latency, us",
		"longest, us", "deep idle %", "insn"
	for (g = 1; g <= nr_governors; g++) {
		for (v = 1; v <= nr_variants; v++) {
			k = icx(kernel, governors[g], workload, variants[v])
			if (!(k in seeds))
				continue
			printf "%-5s%-12s%22s%22s%13.1f%6s\n", governors[g],
				variants[v], range(k, "lat_mean_us"),
				range(k, "lat_max_us"),
				median(k, "deep_share"), insn(k)
		}
	}
}

# All workloads and variants, one line each: mean latency and deep idle.  Names
# of variants are split at the underscore.
function matrix(kernel, governor,	i, v, k, any, parts, group, width,
		over, under, at) {
	for (v = 1; v <= nr_variants; v++) {
		at = index(variants[v], "_")
		over[v] = at ? substr(variants[v], 1, at - 1) : ""
		under[v] = at ? substr(variants[v], at) : variants[v]
		width[v] = length(under[v]) > 7 ? length(under[v]) + 1 : 8
	}

	title("Mean latency in us, and deep idle in % of the time; medians; " \
		"lab (virtual\ntime), Linux " kernel ", " governor)
	printf "%-20s", ""
	for (v = 1; v <= nr_variants; v++)
		printf "%*s", width[v], over[v]
	printf "\n%-20s", ""
	for (v = 1; v <= nr_variants; v++)
		printf "%*s", width[v], under[v]
	printf "\n"
	for (i = 1; i <= nr_cases; i++) {
		any = 0
		for (v = 1; v <= nr_variants; v++) {
			k = kernel "," governor "," cases[i] "," variants[v]
			if (!(k in seeds))
				continue
			any = 1
		}
		if (!any)
			continue
		split(cases[i], parts, ",")
		if (parts[1] "," parts[2] != group) {
			group = parts[1] "," parts[2]
			printf "%s, %s\n", parts[1], parts[2]
		}
		printf "  %-18s", parts[3]
		for (v = 1; v <= nr_variants; v++) {
			k = kernel "," governor "," cases[i] "," variants[v]
			if (k in seeds)
				printf "%*.0f/%2.0f", width[v] - 3,
					median(k, "lat_mean_us"),
					median(k, "deep_share")
			else
				printf "%*s", width[v], ""
		}
		printf "\n"
	}
}

# target WHAT REACHED FIGURES: one line, and the count
function target(what, reached, figures) {
	nr_targets++
	if (reached)
		nr_met++
	printf "%-7s%-48s%s\n", reached ? "met" : "MISSED", what, figures
}

# What the hint leaves of the deep idle time that "off" has outside I/O waits
function kept(kernel, governor, workload,	off, on, i, n, spare) {
	off = icx(kernel, governor, workload, "off")
	on = icx(kernel, governor, workload, "hint10")
	n = seeds[on] < seeds[off] ? seeds[on] : seeds[off]
	for (i = 1; i <= n; i++) {
		spare = value[off, "deep_time_us", i] - \
			value[off, "ios", i] * value[off, "lat_mean_us", i]
		value["kept", "kept", i] = 100 * \
			value[on, "deep_time_us", i] / spare
	}
	seeds["kept"] = n
	return median("kept", "kept")
}

function targets(kernel, governor,	w, i, n, names, a, b, k, ratio) {
	n = split("pace1ms pace5ms pace20ms", names, " ")
	for (i = 1; i <= n; i++) {
		w = names[i]
		k = icx(kernel, governor, w, "hint10")
		if (!(k in seeds))
			continue
		a = median(k, "lat_mean_us")
		b = median(icx(kernel, governor, w, "nodeep"), "lat_mean_us")
		target(w ": mean at most 1 % over nodeep", a <= b * 1.01,
			sprintf("%.1f, %.1f", a, b))
		a = median(k, "lat_max_us")
		b = median(icx(kernel, governor, w, "nodeep"), "lat_max_us")
		target(w ": longest at most 5 us over nodeep", a <= b + 5,
			sprintf("%.1f, %.1f", a, b))
		if (w == "pace1ms")
			continue
		a = kept(kernel, governor, w)
		target(w ": 95 % of deep idle outside I/O kept", a >= 95,
			sprintf("%.1f %%", a))
	}
	k = icx(kernel, governor, "pace5ms", "hint10")
	if (k in seeds) {
		a = median(k, "deep_time_us")
		b = median(icx(kernel, governor, "pace5ms", "pmqos"),
			"deep_time_us")
		target("pace5ms: 5 times the deep idle of pmqos", a >= 5 * b,
			sprintf("%.0f, %.0f ms", a / 1000, b / 1000))
		a = median(k, "insn_per_io")
		target("hint on: at most 40 instructions per I/O", a <= 40, a)
		k = icx(kernel, governor, "pace5ms", "unpatched")
		if (k in seeds) {
			a = -median(k, "insn_per_io")
			target("off: at most 8 instructions over unpatched",
				a <= 8, a)
		}
	}
	k = icx(kernel, governor, "remote_irq", "hint10")
	if (k in seeds) {
		a = median(k, "lat_mean_us")
		target("remote_irq: mean at most 200 us", a <= 200,
			sprintf("%.1f", a))
		a = median(k, "wakes")
		# Those of the 20 ms before, every 5 ms, have woken it, too.
		b = median(k, "ios") + 4
		target("remote_irq: woken at most once per read", a <= b,
			sprintf("%d, %d", a, b))
		k = icx(kernel, governor, "remote_irq", "hint10_hold")
		a = median(k, "lat_mean_us")
		b = median(icx(kernel, governor, "remote_irq", "nodeep"),
			"lat_mean_us")
		target("remote_irq, hold: mean at most 5 % over nodeep",
			a <= b * 1.05, sprintf("%.1f, %.1f", a, b))
	}
	k = icx(kernel, governor, "cyclictest_other", "hint10")
	if (k in seeds) {
		a = median(k, "lat_mean_us")
		b = median(icx(kernel, governor, "cyclictest_other", "off"),
			"lat_mean_us")
		ratio = a / b
		target("cyclictest_other: mean as with off, to 1 %",
			ratio > 0.99 && ratio < 1.01,
			sprintf("%.2f, %.2f", a, b))
		a = median(k, "lat_max_us")
		b = median(icx(kernel, governor, "cyclictest_other", "off"),
			"lat_max_us")
		target("cyclictest_other: longest as with off, to 5 us",
			a <= b + 5, sprintf("%.1f, %.1f", a, b))
	}
}

NR == FNR {
	if (FNR > 1)
		seed_line[++nr_seed_lines] = $0
	next
}

{
	take()
	if (FNR > 1 && !(($3, $4, $5) in case_seen)) {
		case_seen[$3, $4, $5] = 1
		cases[++nr_cases] = $3 "," $4 "," $5
	}
}

END {
	seed_tables()
	for (i = 1; i <= nr_kernels; i++) {
		for (g = 1; g <= nr_governors; g++)
			matrix(kernels[i], governors[g])
	}
	for (i = 1; i <= nr_kernels; i++) {
		details(kernels[i], "pace5ms", "One read every 5 ms")
		details(kernels[i], "remote_irq",
			"The same, interrupt on another CPU")
	}
	for (i = 1; i <= nr_kernels; i++) {
		for (g = 1; g <= nr_governors; g++) {
			title("Targets, Linux " kernels[i] ", " governors[g] \
				": medians, in us where nothing else is said")
			targets(kernels[i], governors[g])
		}
	}
	printf "\n%d of %d targets met\n", nr_met, nr_targets
}

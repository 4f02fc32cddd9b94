# SPDX-License-Identifier: GPL-2.0
#
# What bench.gp plots, for one read every 5 ms on icx with the 80 us device:
#
#   DIR/KERNEL,GOVERNOR,VARIANT.cdf	latency in us, share of reads up to it
#   DIR/KERNEL,GOVERNOR,VARIANT.point	deep idle in %, mean latency in us
#   DIR/names.gp			the names there are
#
# usage: awk -F, -v dir=DIR -f bench-lib.awk -f bench-plot.awk \
#		RESULTS.CSV BINS...

function join(list, n,	i, s) {
	for (i = 1; i <= n; i++)
		s = s (i > 1 ? " " : "") list[i]
	return s
}

NR == FNR {
	take()
	next
}

# KERNEL,GOVERNOR,WORKLOAD,VARIANT,ns,n: the histograms of all seeds
$3 == "pace5ms" {
	count[$1 "," $2 "," $4, $5] += $6
	total[$1 "," $2 "," $4] += $6
	bins[$5]
}

END {
	for (ns in bins) {
		for (j = ++nr_bins; j > 1 && bin[j - 1] > ns + 0; j--)
			bin[j] = bin[j - 1]
		bin[j] = ns + 0
	}
	for (i = 1; i <= nr_kernels; i++) {
		for (g = 1; g <= nr_governors; g++) {
			for (v = 1; v <= nr_variants; v++) {
				name = kernels[i] "," governors[g] "," \
					variants[v]
				if (!(name in total))
					continue
				file = dir "/" name
				sum = 0
				for (j = 1; j <= nr_bins; j++) {
					if (!((name, bin[j]) in count))
						continue
					print bin[j] / 1000, \
						sum / total[name] \
						> (file ".cdf")
					sum += count[name, bin[j]]
					print bin[j] / 1000, \
						sum / total[name] \
						> (file ".cdf")
				}
				key = kernels[i] "," governors[g] \
					",icx,80us,pace5ms," variants[v]
				print median(key, "deep_share"), \
					median(key, "lat_mean_us") \
					> (file ".point")
			}
		}
	}
	file = dir "/names.gp"
	printf "kernels = '%s'\ngovernors = '%s'\nvariants = '%s'\n",
		join(kernels, nr_kernels), join(governors, nr_governors),
		join(variants, nr_variants) > file
}

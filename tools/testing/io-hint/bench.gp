# SPDX-License-Identifier: GPL-2.0
#
# The plots of bench.sh, from what bench-plot.awk has put into DIR/plot:
#
#   DIR/latency.png	cumulative distribution of the latency
#   DIR/trade-off.png	mean latency against deep idle
#
# usage: gnuplot -e "dir='DIR'" bench.gp

plots = dir.'/plot/'
load plots.'names.gp'

file(kernel, governor, variant, kind) = \
	plots.kernel.','.governor.','.variant.'.'.kind

colours = '#777777 #000000 #0072b2 #56b4e9 #e69f00 #d55e00 #009e73'
rows = words(kernels)
columns = words(governors)
set terminal pngcairo size 640 * columns, 60 + 340 * rows font 'sans,10'
set grid linecolor '#bbbbbb' linewidth 0.5
set border 3
set tics nomirror
what = "one 4 KiB read every 5 ms, 80 us device, idle states of icx\n".\
	'lab (virtual time), not hardware'

set output dir.'/latency.png'
set multiplot layout rows, columns title 'Latency of reads: '.what
set xlabel 'latency in us'
set ylabel 'share of reads'
set xrange [80:300]
set yrange [0:1.02]
set key outside right center
do for [k in kernels] {
	do for [g in governors] {
		set title 'Linux '.k.', '.g
		plot for [i = 1:words(variants)] \
			file(k, g, word(variants, i), 'cdf') \
			with lines linewidth 2 dashtype i \
			linecolor rgb word(colours, i) \
			title word(variants, i) noenhanced
	}
}
unset multiplot

set output dir.'/trade-off.png'
set multiplot layout rows, columns \
	title 'Latency against deep idle, lower right is better: '.what
set xlabel 'deep idle in % of the time'
set ylabel 'mean latency in us'
set xrange [-5:105]
set yrange [0:300]
set key outside right center
do for [k in kernels] {
	do for [g in governors] {
		set title 'Linux '.k.', '.g
		plot for [i = 1:words(variants)] \
			file(k, g, word(variants, i), 'point') \
			with points pointtype i + 3 pointsize 2 linewidth 2 \
			linecolor rgb word(colours, i) \
			title word(variants, i) noenhanced
	}
}
unset multiplot

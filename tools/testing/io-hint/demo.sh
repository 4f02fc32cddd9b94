#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: demo.sh [VERSION]
#
# Builds the patched kernel, boots it with an emulated NVMe drive and the idle
# states of an Ice Lake server, reads from the drive with the knob off and on,
# under menu and under teo, and shows what difference that makes.
#
# What fio and sysfs said, as it was, and summary.csv end up in out/demo/.
# Fails if the result is not what the README promises.

set -eu
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

[ $# -le 1 ] || bad_usage "one VERSION at a time"
version=${1:-6.12}
need_version "$version"

"$here/deps.sh" build boot
image=$("$here/build.sh" "$version")
image=$(echo "$image" | tail -n 1)
modules=$("$here/modules.sh" "$version")
selftests=$top/tools/testing/selftests/cpuidle_io_hint
initramfs=$BUILD/demo-$version.cpio.gz
"$here/initramfs.sh" -o "$initramfs" -f "$here/guest-init:/init" \
	-f "$here/demo-guest:/run" -f "$selftests/waits.awk:/waits.awk" \
	-f "$modules/test_cpuidle.ko:/test_cpuidle.ko"

out=$top/out/demo
say "booting QEMU; this takes about a minute"
"$here/boot.sh" -p 1 -k "$image" -i "$initramfs" -o "$out"

# One line a run: what fio, sysfs and the trace say about it
kernel=$(cat "$out/kernel")
cpu=$(cat "$out/cpu")
csv=$out/summary.csv
runs=$out/runs
echo "kernel,governor,knob,workload,lat_mean_us,lat_p99_us,lat_max_us,state,\
entries,time_us,capped" > "$csv"
: > "$runs"
for governor in menu teo; do
	for knob in -1 10; do
		for workload in back-to-back every-5ms; do
			dir=$out/$governor,$knob,$workload
			lat=$(jq -r '.jobs[0].read.lat_ns |
				[.mean, .percentile["99.000000"], .max] |
				map(. / 1000 | round | tostring) | join(",")' \
				"$dir/fio.json")
			capped=$(awk -v cpu="$cpu" '
				$1 == cpu { n = $3 - n }
				END { print n }' \
				"$dir/hint.before" "$dir/hint.after")
			awk -v lat="$lat" -v capped="$capped" \
				-v run="$kernel,$governor,$knob,$workload" '
				FNR == 1 { next }
				NR == FNR { n[$1] = $4; t[$1] = $5; next }
				{ print run "," lat "," $2 "," $4 - n[$1] \
					"," $5 - t[$1] "," capped }' \
				"$dir/states.before" "$dir/states.after" \
				>> "$csv"
			echo "$governor,$knob,$workload $(cat "$dir/waits")" \
				>> "$runs"
		done
	done
done

echo
echo "Linux $kernel, emulated NVMe drive, idle states of an Ice Lake-SP server"
awk -F, -f "$here/demo.awk" "$runs" "$csv"
echo "Raw data: ${out#"$PWD"/}/, table: ${csv#"$PWD"/}"

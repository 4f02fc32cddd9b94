#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: bench.sh [-1] [-j JOBS] [-o DIR] [-q] [VERSION...]
#        bench.sh -t [-1] [VERSION...]
#
# The benchmark, for the given kernels or for all that there are patches for:
# builds each of them with and without the change, boots them in virtual time
# and runs all workloads with the hint on, off, and with its alternatives.
# bench.rst explains what is measured, and how.
#
# results.csv, summary.txt, the plots and all raw data end up in out/bench/.
#
#  -j JOBS	guests at a time (default: one per CPU)
#  -o DIR	instead of out/bench/
#  -q		quick: a part of the workloads, with two seeds
#  -t		test: that two quick runs, at the same time and on a busy
#		host, give the same results.csv to the last digit; they are
#		left in out/bench-test/, whatever -j and -o say; only as root
#  -1		one seed only; for trying things out
#
# QUICK=1 in the environment is the same as -q.

set -eu
export LC_ALL=C
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

jobs=$(nproc)
out=$top/out/bench
quick=
[ "${QUICK:-0}" = 0 ] || quick=1
seeds=
test=
while getopts 1j:o:qt option; do
	case $option in
	1)	seeds=1 ;;
	j)	jobs=$OPTARG ;;
	o)	out=$OPTARG ;;
	q)	quick=1 ;;
	t)	test=1 ;;
	*)	bad_usage "unknown option" ;;
	esac
done
shift $((OPTIND - 1))
if [ -n "$test" ]; then
	quick=1
	[ -n "$(realtime)" ] ||
		die "-t wants real-time priority, see boot.sh --help; be root"
fi
case $jobs in
''|*[!0-9]*|0*)	bad_usage "-j wants a number" ;;
esac
# shellcheck disable=SC2046 # one word a version
[ $# -gt 0 ] || set -- $(versions)
for version; do
	need_version "$version"
done

# What is run.  insn comes first on each device: other rows refer to it.

variants=off+nodeep+dma_latency+pmqos+hint10+hint10_hold
governors=menu+teo
if [ -n "$quick" ]; then
	: "${seeds:=1 2}"
	icx=80us:insn+seed_randread+seed_bulk+pace1ms+pace5ms+pace20ms
	icx=$icx+remote_irq+cyclictest_other
	unpatched=80us:insn+pace5ms
	others=
else
	: "${seeds:=1 2 3 4 5}"
	icx=80us:insn+seed_randread+seed_bulk+pace1ms+pace5ms+pace20ms
	icx=$icx+burst+qd32+two_disks+remote_irq+cyclictest_io+cyclictest_other
	unpatched=$icx
	for device in 10us 1ms 8ms 80us_tail; do
		icx="$icx $device:seed_randread+pace5ms"
	done
	others="skx spr gnr adl epyc"
fi

# boot VERSION KERNEL MACHINE SEED: one guest, and its rows
boot() {
	name=$1-$2-$3-$4
	dir=$out/raw/$name
	case $2-$3 in
	unpatched-*)	set -- "$@" unpatched $governors "$unpatched" ;;
	*-icx)		set -- "$@" $variants $governors "$icx" ;;
	*)		set -- "$@" $variants $governors \
				80us:insn+seed_randread+pace5ms+remote_irq ;;
	esac
	start=$(date +%s)
	"$here/boot.sh" -v -p 4 -s "$4" -b 3600 -m "$3" -a "$4 $5 $6 $7" \
		-k "$BUILD/$1-$2/arch/x86/boot/bzImage" \
		-i "$BUILD/bench-$1-$2.cpio" -o "$dir" ||
		return 1
	! grep -E 'WARNING:|BUG:|Oops|Call Trace' "$dir/dmesg" >&2 || {
		say "$name: the kernel complains, see $dir/dmesg"
		return 1
	}
	rows "$dir" "$3" "$4" || return 1
	n=$(find "$out/raw" -name finished | wc -l)
	: > "$dir/finished"
	say "$((n + 1)) of $total: Linux $1 $2, $3, seed $4:" \
		"$(($(date +%s) - start)) s"
}

# rows DIR MACHINE SEED: the raw data of a guest as rows, without insn_per_io
rows() {
	for json in "$1"/*us.json "$1"/*ms.json "$1"/*_tail.json; do
		[ -e "$json" ] || continue
		device=${json##*/}
		device=${device%.json}
		# fio lets its hooks write there, too.
		sed -n '/^{/,$p' "$json" > "$json.tmp"
		mv "$json.tmp" "$json"
		jq -r '.jobs[] | .jobname as $name | .read | [$name, .total_ios,
			(.slat_ns | .mean, .max), .clat_ns.mean,
			(.clat_ns.percentile |
			."50.000000", ."99.000000", ."99.900000"),
			.clat_ns.max, (.lat_ns | .mean, .max),
			.iops, .bw_bytes] | map(tostring) | join(",")' \
			"$json" > "$1/$device.fio.csv" || return 1
		for file in "$1/$device",*.cyclictest; do
			[ -e "$file" ] || continue
			sort -t : -k 3n "$file" > "${file%.*}.wakeups"
		done
		awk -v dir="$1" -v device="$device" -v machine="$2" \
			-v seed="$3" -f "$here/bench-rows.awk" \
			"$1/$device.fio.csv" > "$1/$device.rows" || return 1
		for log in "$1/$device",*,insn,*_lat.*.log; do
			[ -e "$log" ] || continue
			what=${log#"$1/$device",}
			variant=${what##*,}
			printf "%s,%s," "${what%%,*}" "${variant%%_lat.*}"
			sort -t , -k 2n "$log" | awk -F ', *' '
				{ ns[NR] = $2 }
				END { print ns[int((NR + 1) / 2)] }'
		done > "$1/$device.insn"
		jq -r '.jobs[] | .jobname as $name | .read.lat_ns.bins // {} |
			to_entries[] | "\($name),\(.key),\(.value)"' "$json" |
			sed -n "/^[a-z]*,pace5ms,/s/^/$(cat "$1/kernel"),/p" \
			> "$1/$device.bins"
	done
}

# host_cpu N: the Nth of the CPUs that we may use, and from the first again
host_cpu() {
	taskset -cp $$ | awk -F '[ ,]' -v n="$1" '
		{
			sub(/.*: /, "")
			for (i = 1; i <= NF; i++) {
				m = split($i, part, "-")
				for (c = part[1]; c <= part[m]; c++)
					cpu[k++] = c
			}
			print cpu[(n - 1) % k]
		}'
}

# worker CPU: takes boots from the plan until there are none left
worker() {
	taskset -cp "$1" "$(exec sh -c 'echo $PPID')" > /dev/null
	while read -r version kernel machine seed; do
		claim=$out/raw/.$version-$kernel-$machine-$seed
		mkdir "$claim" 2>/dev/null || continue
		boot "$version" "$kernel" "$machine" "$seed" </dev/null || {
			say "$version $kernel, $machine, seed $seed: failed"
			: > "$out/raw/.failed"
		}
		[ ! -e "$out/raw/.failed" ] || return 1
	done < "$out/raw/.plan"
}

# prepare VERSION KERNEL: the image and the initramfs
prepare() {
	which=
	[ "$2" = patched ] || which=unpatched
	# shellcheck disable=SC2086 # no word, or one
	"$here/build.sh" "$1" $which >&2 || return
	# shellcheck disable=SC2086
	kselftest=$("$here/modules.sh" "$1" $which) || return
	# shellcheck disable=SC2086
	lab=$("$here/modules.sh" -d "$here/lab_modules" "$1" $which) || return
	initramfs=$BUILD/bench-$1-$2.cpio
	"$here/initramfs.sh" -o "$initramfs.gz" -f "$here/guest-init:/init" \
		-f "$here/bench-guest:/run" \
		-f "$(command -v cyclictest):/bin/cyclictest" \
		-f "$kselftest/test_cpuidle.ko:/test_cpuidle.ko" \
		-f "$lab/lab_blk.ko:/lab_blk.ko" \
		-f "$lab/lab_pmqos.ko:/lab_pmqos.ko" || return
	# An emulated CPU takes longer to decompress it than to boot.
	gzip -dc "$initramfs.gz" > "$initramfs" || return
	rm "$initramfs.gz"
}

# report: results.csv, the summary and the plots
report() {
	header="kernel,governor,machine,device,workload,variant,seed,ios,\
slat_mean_us,slat_max_us,clat_mean_us,clat_p50_us,clat_p99_us,clat_p999_us,\
clat_max_us,lat_mean_us,lat_max_us,iops,bw_mib,deep_time_us,deep_entries,\
above,below,wall_us,insn_per_io,wakes"
	for dir in "$out"/raw/*-*-*-*/; do
		dir=${dir%/}
		set -- "$(cat "$dir/kernel")" \
			"$(basename "$dir" | cut -d - -f 3,4 | tr - ,)"
		sed "s/^/$1,$2,/" "$dir"/*.insn
	done > "$out/insn.csv"
	{
		echo "$header"
		sort -s "$out"/raw/*/*.rows |
			awk -F, -v OFS=, -f "$here/bench-insn.awk" \
				"$out/insn.csv" -
	} > "$out/results.csv"
	awk -F, -f "$here/bench-lib.awk" \
		-f "$here/bench-summary.awk" "$here/seed-table.csv" \
		"$out/results.csv" > "$out/summary.txt"
	awk -F, -v dir="$out/plot" -f "$here/bench-lib.awk" \
		-f "$here/bench-plot.awk" \
		"$out/results.csv" "$out"/raw/*-icx-*/80us.bins
	gnuplot -e "dir='$out'" "$here/bench.gp"
}

# plan: one line a guest, those that take longest first: at the end, nothing is
# left but short ones
plan() {
	for kernel in patched unpatched; do
		for version in $ready; do
			for seed in $seeds; do
				echo "$version $kernel icx $seed"
			done
		done
	done
	for machine in $others; do
		for version in $ready; do
			for seed in $seeds; do
				echo "$version patched $machine $seed"
			done
		done
	done
}

# measure DIR JOBS CPU: all guests, on CPUs from the given one on, and the report
measure() {
	out=$1
	jobs=$2
	mkdir -p "$out"
	rm -rf "$out/raw" "$out/plot"
	mkdir "$out/raw" "$out/plot"
	plan > "$out/raw/.plan"
	total=$(wc -l < "$out/raw/.plan")
	say "$total guests, $jobs at a time"
	pids=
	while [ "$jobs" -gt 0 ]; do
		worker "$(host_cpu $((jobs - 1 + $3)))" &
		pids="$pids $!"
		jobs=$((jobs - 1))
	done
	for pid in $pids; do
		wait "$pid" || :
	done
	[ ! -e "$out/raw/.failed" ] || die "not all guests have finished"
	report
}

"$here/deps.sh" build boot bench
ready=
for version; do
	rc=0
	prepare "$version" patched || rc=$?
	if [ $rc -eq 4 ]; then
		say "$version: skipped, see above"
		continue
	fi
	[ $rc -eq 0 ] || die "$version does not build"
	prepare "$version" unpatched || die "$version does not build"
	ready="$ready $version"
done
[ -n "$ready" ] || die "no kernel to be had"

start=$(date +%s)
if [ -n "$test" ]; then
	both=$top/out/bench-test
	# On a host that has other things to do
	busy=
	trap 'kill $busy 2> /dev/null || :' EXIT
	trap 'exit 1' HUP INT TERM
	n=$(nproc)
	while [ "$n" -gt 0 ]; do
		while :; do :; done &
		busy="$busy $!"
		n=$((n - 1))
	done
	measure "$both/1" 1 1 &
	first=$!
	measure "$both/2" 1 2
	wait $first
	cmp "$both/1/results.csv" "$both/2/results.csv" ||
		die "two runs differ"
	echo "Two runs are the same: $(wc -l < "$both/1/results.csv") lines"
else
	measure "$out" "$jobs" 1
	cat "$out/summary.txt"
	echo
	echo "$((($(date +%s) - start) / 60)) minutes;" \
		"${out#"$PWD"/}/ has the results"
fi

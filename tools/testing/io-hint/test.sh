#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: test.sh [VERSION...]
#
# All tests, for the given kernels or for all that there are patches for:
# builds them, boots them, and runs the unit tests and the kselftests.
#
# The output of each test ends up in out/test/VERSION/.  The last line is
# "N passed, N failed"; fails if anything did.

set -eu
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# shellcheck disable=SC2046 # one word a version
[ $# -gt 0 ] || set -- $(versions)
for version; do
	need_version "$version"
done

out=$top/out/test
selftests=$top/tools/testing/selftests/cpuidle_io_hint
start=$(date +%s)
passed=0
failed=0
skipped=0
rm -rf "$out"
mkdir -p "$out"

# count NAME FILE [SUITE]: add the results in a KTAP file
count() {
	counts=$(awk -v suite="${3:-}" -f "$here/ktap.awk" "$2")
	# shellcheck disable=SC2046 # three numbers
	set -- "$1" $(echo "$counts" | tail -n 1)
	passed=$((passed + $2))
	failed=$((failed + $3))
	skipped=$((skipped + $4))
	printf '%-44s %5d passed %4d failed %4d skipped\n' "$1" "$2" "$3" "$4"
	echo "$counts" | sed '$d'
}

# check NAME COMMAND...: one test, its output in a file of that name
check() {
	name=$1
	log=$out/$(echo "$1" | tr -s ' /:' -).log
	shift
	echo "1..1" > "$log.ktap"
	if "$@" > "$log" 2>&1; then
		echo "ok 1 $name" >> "$log.ktap"
	else
		tail -n 20 "$log"
		echo "not ok 1 $name" >> "$log.ktap"
	fi
	count "$name" "$log.ktap"
	rm "$log.ktap"
}

# guest NAME TESTS [BOOT-OPTION...]: boot, and count what each test says
guest() {
	dir=$out/$version/$1
	what="$version $1"
	tests=$2
	shift 2
	if ! "$here/boot.sh" "$@" -a "$tests" -k "$image" -i "$initramfs" \
			-o "$dir"; then
		echo "$what: no results, see ${dir#"$PWD"/}/console.log"
		failed=$((failed + 1))
		return
	fi
	for test in $tests; do
		case $test in
		lab_*)	continue ;;
		esac
		count "$what ${test%%:*}" "$dir/${test%%:*}.ktap"
	done
	# Whatever else happened: nothing may have gone wrong in the kernel.
	check "$what: no splat" no_splat "$dir/dmesg"
}

no_splat() {
	[ -s "$1" ] &&
		! grep -E 'WARNING:|BUG:|Oops|INFO: |RIP:|Call Trace' "$1"
}

test_kernel() {
	version=$1
	rc=0
	image=$("$here/build.sh" "$version") || rc=$?
	if [ $rc -eq 4 ]; then
		echo "$version: skipped, see above"
		skipped=$((skipped + 1))
		return
	elif [ $rc -ne 0 ]; then
		echo "$version: does not build"
		failed=$((failed + 1))
		return
	fi
	image=$(echo "$image" | tail -n 1)
	mkdir -p "$out/$version"
	pristine=$("$here/fetch.sh" "$version" | tail -n 1)

	check "$version: checkpatch" style "$pristine"
	check "$version builds with W=1" "$here/build.sh" --w1 "$version"
	"$here/test-apply.sh" "$pristine" > "$out/$version/apply.ktap" || :
	count "$version apply and unapply" "$out/$version/apply.ktap"

	modules=$("$here/modules.sh" "$version")
	lab=$("$here/modules.sh" -d "$here/lab_modules" "$version")
	initramfs=$BUILD/test-$version.cpio.gz
	set -- -f "$here/guest-init:/init" -f "$here/test-guest:/run" \
		-f "$modules/test_cpuidle.ko:/test_cpuidle.ko" \
		-f "$lab/lab_blk.ko:/lab_blk.ko" \
		-f "$lab/lab_haltpoll.ko:/lab_haltpoll.ko"
	dest=/selftests/cpuidle_io_hint
	for file in "$selftests"/*.sh "$selftests"/*.awk; do
		set -- "$@" -f "$file:$dest/${file##*/}"
	done
	set -- "$@" -f "$modules/test_io_hint.ko:$dest/test_modules/test_io_hint.ko"
	helpers=tools/testing/selftests/kselftest/ktap_helpers.sh
	"$here/initramfs.sh" -o "$initramfs" "$@" \
		-f "$pristine/$helpers:/selftests/kselftest/ktap_helpers.sh"

	guest drivers "knobs defaults cap:nvme0n1:vda"
	if [ -e "$out/$version/drivers/dmesg" ]; then
		count "$version KUnit" "$out/$version/drivers/dmesg" \
			cpuidle_io_hint
	fi
	guest one-queue "remote:nvme0n1 hotplug:nvme0n1" -q 1 -l 300000
	guest movable "move:sda hotplug:nvme0n1:sda" -d "nvme ahci" -p 3 \
		-l 300000
	guest more-drivers "flush:vda shared nvme:nvme0n1" -q 3 -c \
		"nvme.poll_queues=1 scsi_debug.add_host=1 scsi_debug.num_tgts=2 \
scsi_debug.submit_queues=2 scsi_debug.host_max_queue=8 \
scsi_debug.ndelay=1000000"
	guest multipath multipath -d multipath
	haltpoll=$(awk '
		$3 == "haltpoll_governor" { governor = $1 }
		$3 == "cpuidle_register_governor" { registration = $1 }
		END { print "lab_haltpoll:governor=0x" governor \
			":registration=0x" registration }' \
		"$BUILD/$version-patched/System.map")
	guest virtual-time "$haltpoll cap:null_blk expiry stuck balance switch" \
		-v
	# Interrupts on another CPU, on this one, and a slow disk
	lab=lab_blk:service_us=80+80+8000:queues=1+0+0:irq_cpu=3+-1+-1:device_cpu=2
	guest lab "$lab wake:lab0 limits:lab1:lab2" -v -p 4 \
		-c lab.states=C1:1:1,C1E:4:4,C3:60:150,C6:170:600
	for cpus in 1 2 4 8; do
		guest "$cpus-cpus" "insn far" -v -p $cpus
	done
	check "$version: instructions per request with 1, 2, 4 and 8 CPUs" \
		same_insn "$out/$version"/*-cpus/insn.ktap
	guest boot-defaults defaults:20:5000:600:teo -v -c \
		"blk_cpu_lat.limit_us=20 blk_cpu_lat.timeout_us=5000 \
blk_cpu_lat.hold_us=600 cpuidle.governor=teo"
	guest bad-defaults defaults -v -c \
		"blk_cpu_lat.limit_us=-2 blk_cpu_lat.timeout_us=3ms \
blk_cpu_lat.hold_us=-1"
	check "$version: bad defaults are reported" grep -q \
		"invalid for parameter .blk_cpu_lat.limit_us" \
		"$out/$version/bad-defaults/dmesg"
	tested=$version
}

# same_insn KTAP...: does the limit add the same to a request in all of them?
same_insn() {
	awk '
		# "# median of a read: N ns off, N ns on, ..."
		/median of a read/ {
			print FILENAME ": " $0
			added[$9 - $6]
			files++
		}
		END {
			for (n in added)
				different++
			exit files != ARGC - 1 || different != 1
		}' "$@"
}

# The scripts, including those that have no suffix
lint() {
	find "$top/.ci" "$top/tools" -type f | while IFS= read -r file; do
		case $(head -n 1 "$file" | tr -d '\0') in
		'#!/bin/sh'*)	echo "$file" ;;
		esac
	done | xargs shellcheck -x
}

# Our C files, by the rules of the kernel that they are for
style() {
	pristine=$1
	own_files | grep '\.[ch]$' | grep -v '^include/trace/' |
		(cd "$top" && xargs "$pristine/scripts/checkpatch.pl" -q \
			--no-tree --strict --ignore NR_CPUS -f)
}

"$here/deps.sh" build boot bench lint
check "scripts pass shellcheck" lint
"$here/test-log.sh" > "$out/log.ktap" || :
count "what the stress test makes of a log" "$out/log.ktap"
tested=
for version; do
	test_kernel "$version"
done

# Everything at once, on a kernel that watches itself: the newest one will do.
if [ -n "$tested" ]; then
	say "$tested: a debug kernel is built, and under stress for 5 minutes"
	check "$tested: stress on a kernel with lockdep and KASAN" \
		"$here/stress.sh" -n -k lockdep -o "$out/$tested/stress" -s 1 \
		-t 5m "$tested"
fi

# That is a matter of QEMU and the scripts rather than of the kernel: one will do.
if [ -n "$tested" ] && [ -z "$(realtime)" ]; then
	echo "no real-time priority: whether the benchmark repeats itself is skipped"
	skipped=$((skipped + 1))
elif [ -n "$tested" ]; then
	check "$tested: the benchmark repeats itself" \
		"$here/bench.sh" -t -1 "$tested"
fi

minutes=$((($(date +%s) - start) / 60))
echo "$minutes minutes, $skipped skipped; details in ${out#"$PWD"/}/"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: stress.sh [-n] [-k KIND] [-o DIR] [-s SEED] [-t TIME] [-u] [VERSION...]
#        stress.sh -f [-o DIR] [-s SEED] [VERSION...]
#
# Everything at once that disks and idle CPUs go through (see stress.c), for the
# given kernels or for all that there are patches for, each in the kinds that
# debug/ has options for.  Whatever the kernel has to complain about fails the
# run, and so does any hint that is lost, and any CPU that is stuck.  At the end
# the kernel gets faults planted (faults.patch), to see that each is found.
#
# Where a run fails, the same one is made without our change, to see whether
# that has anything to do with it.
#
#  -k KIND	this kind only, and no planted faults
#  -f		the planted faults only
#  -n		where a run fails, do not make it without the change
#  -o DIR	where the logs go (default: out/stress)
#  -s SEED	what the choices of the run start from (default: the time)
#  -t TIME	how long a kernel is run for, over all kinds: 90s, 20m or 1h
#		(default: 20m)
#  -u		without our change
#
# Kernels are run side by side, one per CPU.  Each run leaves its log, its trace
# if it has failed, and what the guest's console said in DIR.  The last line is
# "N passed, N failed"; fails if anything did.

set -eu
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# The kind of kernel that gets faults planted: a fast one that looks for leaks
FAULTY=nohz-full

out=$top/out/stress
kinds=
seed=$(date +%s)
time=20m
variant=patched
faults=yes
runs=yes
compare=yes
while getopts fk:no:s:t:u option; do
	case $option in
	f)	runs= ;;
	n)	compare= ;;
	o)	out=$OPTARG ;;
	k)	kinds=$OPTARG
		faults= ;;
	s)	seed=$OPTARG ;;
	t)	time=$OPTARG ;;
	u)	variant=unpatched
		compare=
		faults= ;;
	*)	bad_usage "unknown option" ;;
	esac
done
shift $((OPTIND - 1))

case $seed in
''|*[!0-9]*|0?*)	bad_usage "-s wants a number" ;;
esac
seconds=${time%[smh]}
case $seconds in
''|*[!0-9]*|0*)	bad_usage "-t wants a time, like 90s, 20m or 1h" ;;
esac
case $time in
*m)	seconds=$((seconds * 60)) ;;
*h)	seconds=$((seconds * 3600)) ;;
esac
case $kinds in
'')	;;
common|*/*)
	bad_usage "no kind of debug kernel is called $kinds" ;;
*)	[ -e "$here/debug/$kinds.config" ] ||
		bad_usage "no kind of debug kernel is called $kinds" ;;
esac
[ -n "$runs$faults" ] || bad_usage "-f goes with neither -k nor -u"
: "${kinds:=$(find "$here/debug" -name '*.config' ! -name common.config |
	sed 's/.*\///;s/\.config$//' | sort | paste -sd ' ' -)}"
# shellcheck disable=SC2046 # one word a version
[ $# -gt 0 ] || set -- $(versions)
for version; do
	need_version "$version"
done
# shellcheck disable=SC2086 # one word a kind
share=$(($(echo $kinds | wc -w)))
share=$((seconds / share))
[ "$share" -ge 10 ] || bad_usage "$time is too short"

# cmdline KIND: what the kernel is told
cmdline() {
	case $1 in
	nohz-full)	printf "nohz_full=2-3 isolcpus=2-3 " ;;
	rt)		printf "blk_cpu_lat.limit_us=20 " ;;
	esac
	# CPUs of an emulator stand still now and then.  With 5-level page tables,
	# KASAN takes any address for a wild one if an interrupt comes while
	# identify_cpu() has the boot CPU's features cleared.
	echo "rcupdate.rcu_cpu_stall_timeout=300 no5lvl ignore_loglevel" \
		"log_buf_len=4M no_console_suspend"
}

# prepare VERSION VARIANT KIND: the image and the initramfs
prepare() {
	# shellcheck disable=SC2086 # no word, or one
	"$here/build.sh" --debug "$3" "$1" ${2#patched} >&2 || return
	kselftest=$("$here/modules.sh" "$1" "$2-$3") || return
	lab=$("$here/modules.sh" -d "$here/lab_modules" "$1" "$2-$3") || return
	obj=$BUILD/$1-$2-$3
	release=$(cat "$obj/include/config/kernel.release")
	set -- -o "$BUILD/stress-$1-$2-$3.cpio.gz" \
		-f "$here/guest-init:/init" -f "$here/stress-guest:/run" \
		-f "$BUILD/stress:/stress" \
		-f "$kselftest/test_cpuidle.ko:/test_cpuidle.ko" \
		-f "$lab/lab_haltpoll.ko:/lab_haltpoll.ko" \
		-f "$lab/lab_wakeup.ko:/lab_wakeup.ko"
	for module in $(cd "$obj" && find arch crypto drivers lib -name '*.ko'); do
		set -- "$@" -f "$obj/$module:/lib/modules/$release/$module"
	done
	[ ! -e "$lab/lab_check.ko" ] ||
		set -- "$@" -f "$lab/lab_check.ko:/lab_check.ko"
	"$here/initramfs.sh" "$@"
}

# addresses OBJ: where lab modules find what the kernel does not export
addresses() {
	awk '
		$3 == "io_hint_classes" { print "classes=0x" $1 }
		$3 == "io_hint_active" { print "active=0x" $1 }
		$3 == "cpuidle_devices" { print "devices=0x" $1 }
		$3 == "io_hint_cpus" { print "hints=0x" $1 }
		$3 == "cpuidle_io_hint_enabled" { print "hint_key=0x" $1 }
		$3 == "blk_cpu_lat_enabled" { print "blk_key=0x" $1 }
		$3 == "haltpoll_governor" { print "governor=0x" $1 }
		$3 == "cpuidle_register_governor" { print "registration=0x" $1 }
		' "$1/System.map" | paste -sd ' ' -
}

# boot NAME VERSION VARIANT KIND SECONDS [CMDLINE]: 0 if all is well; the
# status is that of boot.sh.
boot() {
	rm -rf "${out:?}/$1" "$out/$1.err"
	obj=$BUILD/$2-$3-$4
	"$here/boot.sh" -p 4 -g 2048 -w 64 -b $((2 * $5 + 300)) \
		-a "$seed $5 $(addresses "$obj")" \
		-c "$(cmdline "$4") ${6:-}" \
		-k "$obj/arch/x86/boot/bzImage" \
		-i "$BUILD/stress-$2-$3-$4.cpio.gz" -o "$out/$1" \
		2> "$out/$1.err" &
	guest=$!
	tail -F --pid=$guest "$out/$1/console.log" 2> /dev/null | sed -un \
		"s/^ *[0-9.]* \(round [0-9]*, .*s of .*\)/stress.sh: $1: \1/p" >&2
	wait $guest
}

# why NAME: the first thing that went wrong
why() {
	sed -n 's/.*FAIL: //p' "$out/$1/stress.log" 2> /dev/null |
		head -n 1 | grep . || head -n 1 "$out/$1.err"
}

# result passed|failed NAME TEXT...: one line in the results, and told
result() {
	what=$1
	name=$2
	shift 2
	echo "$what $name" >> "$results"
	printf '%s: %s %s\n' "$name" "$what" "$*"
}

# again NAME ARGUMENTS: how to make a run once more
again() {
	[ $variant = patched ] || set -- "$1" "$2 PATCHED=0"
	cat <<-EOF
		  see ${out#"$PWD"/}/$1/; again:
		  make stress $2
	EOF
}

# one VERSION KIND: a run
one() {
	name=$1-$2
	[ $variant = patched ] || name=$1-unpatched-$2
	begin=$(date +%s)
	if boot "$name" "$1" "$variant" "$2" "$share"; then
		result passed "$name" "($(($(date +%s) - begin)) s)"
		return
	fi
	result failed "$name" "$(why "$name")"
	again "$name" "KERNEL=$1 KIND=$2 SEED=$seed TIME=${share}s"
	[ -n "$compare" ] || return 0
	say "$name: the same without the change"
	if ! prepare "$1" unpatched "$2"; then
		say "$1 unpatched does not build"
	elif boot "$1-unpatched-$2" "$1" unpatched "$2" "$share"; then
		echo "  the kernel without the change does not fail"
	else
		echo "  without the change: $(why "$1-unpatched-$2")"
	fi
}

# The faults: for how long each is looked for at most, in s, and what says so
# when it is found.  Some can only be found when a round ends, or the run.
faults() {
	cat <<-EOF
		none 120
		drop 40 still pending
		class 40 still pending
		tick 240 long: cpu
		stale 240 unwoken: cpu
		deep 240 deep: cpu
		key 40 are in use
		leak 40 kmemleak
		nowake 240 unwoken: cpu
		waking 40 still to be woken
		forever 40 that has expired
		store 40 does not read back
		data 240 data is not what was written
		warn 240 kernel: WARNING
	EOF
}

# one_fault VERSION NAME SECONDS TEXT: is it found?
one_fault() {
	name=$1-fault-$2
	begin=$(date +%s)
	rc=0
	boot "$name" "$1" faulty $FAULTY "$3" "io_hint_fault=$2" || rc=$?
	seconds=$(($(date +%s) - begin))
	if [ "$2" = none ]; then
		[ $rc -eq 0 ] || {
			result failed "$name" "$(why "$name")"
			return
		}
		result passed "$name" "(nothing is found, $seconds s)"
	elif why "$name" | grep -q "$4"; then
		result passed "$name" "(found in $seconds s: $(why "$name" |
			cut -c 1-40))"
	else
		result failed "$name" "is not found: $(why "$name")"
		echo "  see ${out#"$PWD"/}/$name/; again:" \
			"stress.sh -f -s $seed $1"
	fi
}

# kernel VERSION: all runs of it
kernel() {
	if [ -n "$runs" ]; then
		for kind in $kinds; do
			one "$1" "$kind"
		done
	fi
	[ -n "$faults" ] || return 0
	faults | while read -r fault limit text; do
		one_fault "$1" "$fault" "$limit" "$text" < /dev/null
	done
}

"$here/deps.sh" build boot >&2
say "seed $seed; $share s for each of: $kinds"
mkdir -p "$out" "$BUILD"
results=$(mktemp "$out/results.XXXXXX")
trap 'rm -f "$results"' EXIT
# What is run in the background does not end by Ctrl-C.
trap 'trap "" TERM; kill 0; exit 130' HUP INT TERM
gcc -O2 -Wall -static -o "$BUILD/stress" "$here/stress.c"

ready=
for version; do
	rc=0
	if [ -n "$runs" ]; then
		for kind in $kinds; do
			prepare "$version" $variant "$kind" || {
				rc=$?
				break
			}
		done
	fi
	[ $rc -ne 0 ] || [ -z "$faults" ] ||
		prepare "$version" faulty $FAULTY || rc=$?
	if [ $rc -eq 4 ]; then
		say "$version: skipped, see above"
		continue
	fi
	[ $rc -eq 0 ] || die "$version does not build"
	ready="$ready $version"
done
[ -n "$ready" ] || die "no kernel to be had"

# As many at a time as there are CPUs
jobs=0
for version in $ready; do
	kernel "$version" &
	jobs=$((jobs + 1))
	[ $jobs -lt "$(nproc)" ] || {
		wait
		jobs=0
	}
done
wait

passed=$(grep -c '^passed' "$results" || :)
failed=$(grep -c '^failed' "$results" || :)
planned=0
for version in $ready; do
	# shellcheck disable=SC2086 # one word a kind
	[ -z "$runs" ] || planned=$((planned + $(echo $kinds | wc -w)))
	[ -z "$faults" ] || planned=$((planned + $(faults | wc -l)))
done
if [ $((passed + failed)) -ne "$planned" ]; then
	echo "$((planned - passed - failed)) runs have ended without a result"
	failed=$((planned - passed))
fi
echo "seed $seed; details in ${out#"$PWD"/}/"
echo "$passed passed, $failed failed"
[ "$passed" -gt 0 ] && [ "$failed" -eq 0 ]

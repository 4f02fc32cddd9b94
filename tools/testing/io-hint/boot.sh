#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: boot.sh [-v] [-s SEED] [-a ARGS] [-b SECONDS] [-c CMDLINE] [-d DISKS]
#		 [-g MB] [-l US] [-m MACHINE] [-p CPUS] [-q QUEUES] [-w MB]
#		 -k IMAGE -i INITRAMFS -o DIR
#
# Boots a kernel in QEMU, without acceleration, lets the guest's /run do its
# work and unpacks what that leaves in /out into DIR, next to console.log.  What
# was in DIR before is removed.
# Fails if the guest does not finish, and with the status of /run if it does.
#
#  -a ARGS	arguments of /run
#  -b SECONDS	give up after so much time (default: 300)
#  -c CMDLINE	added to the command line of the kernel
#  -d DISKS	some of these (default: "nvme virtio"):
#		nvme		nvme0n1
#		virtio		vda
#		ahci		sda, behind a single interrupt, not a managed one
#		multipath	nvme0n1 or nvme1n1, behind two controllers
#  -g MB	memory of the guest (default: 1024)
#  -l US		what a read takes (default: 200 us)
#  -m MACHINE	idle states of this machine, from idle-states.csv (default: icx)
#  -p CPUS	how many CPUs the guest has (default: 2)
#  -q QUEUES	how many queues the disks have (default: one per CPU)
#  -s SEED	with -v: what the random numbers of the guest start from
#		(default: 1)
#  -w MB	the disks have so much space and keep what is written; how long
#		they take is then up to the host
#  -v		virtual time: one instruction is one nanosecond, idle time is
#		skipped, and each run gives the same result, to the last digit.
#		That wants real-time priority on one CPU of the host, for
#		which boot.sh has to be run as root: without it, a run on a
#		busy host may differ (see below).
#		There are no disks then: time would jump while the host reads,
#		by as much as that takes.
#
# Disks, of which there are none with -v, read zeros unless -w is given, and have
# a write cache.

set -eu
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

SIZE=1073741824

virtual=
seed=1
args=
seconds=300
cmdline=
disks="nvme virtio"
machine=icx
cpus=2
queues=
memory=1024
writable=
latency_us=200
image=
initramfs=
out=
while getopts va:b:c:d:g:l:m:p:q:s:w:k:i:o: option; do
	case $option in
	v)	virtual=1 ;;
	a)	args=$OPTARG ;;
	b)	seconds=$OPTARG ;;
	c)	cmdline=$OPTARG ;;
	d)	disks=$OPTARG ;;
	g)	memory=$OPTARG ;;
	l)	latency_us=$OPTARG ;;
	m)	machine=$OPTARG ;;
	p)	cpus=$OPTARG ;;
	q)	queues=$OPTARG ;;
	s)	seed=$OPTARG ;;
	w)	writable=$OPTARG ;;
	k)	image=$OPTARG ;;
	i)	initramfs=$OPTARG ;;
	o)	out=$OPTARG ;;
	*)	bad_usage "unknown option" ;;
	esac
done
shift $((OPTIND - 1))
[ $# -eq 0 ] || bad_usage "$1 is one word too many"
for number in "$seconds" "$latency_us" "$cpus" "${queues:-1}" "$seed" \
		"$memory" "${writable:-1}"; do
	case $number in
	''|*[!0-9]*|0*)	bad_usage "'$number' is not a number" ;;
	esac
done
for disk in $disks; do
	case $disk in
	nvme|virtio|ahci|multipath)
		;;
	*)
		bad_usage "unknown disk $disk"
		;;
	esac
done
[ -n "$image" ] || bad_usage "-k is missing"
[ -n "$initramfs" ] || bad_usage "-i is missing"
[ -n "$out" ] || bad_usage "-o is missing"
[ -e "$image" ] || die "no kernel image $image; build it with make kernel"

states=$(awk -F, -v machine="$machine" '
	$1 == machine { printf "%s%s:%s:%s", sep, $2, $3, $4; sep = "," }
	' "$here/idle-states.csv")
[ -n "$states" ] || die "no machine $machine in idle-states.csv"

rm -rf "$out"
mkdir -p "$out"
results=$out/results.tar.gz

# Where the host is busy, the kernel can take its timer for broken at boot.
[ -n "$virtual" ] || cmdline="no_timer_check $cmdline"
# Neither the ports of q35 itself nor the disk that scsi_debug makes up are to
# be there where nobody asks for them.
set -- -M q35,sata=off -cpu max -m "$memory" -smp "$cpus" -nodefaults -no-reboot \
	-display none \
	-serial "file:$out/console.log" -serial "file:$results" \
	-kernel "$image" -initrd "$initramfs" \
	-append "console=ttyS0 quiet nokaslr norandmaps panic=-1 \
scsi_debug.add_host=0 lab.states=$states lab.args=$(echo "$args" | tr ' ' ,) \
$cmdline"

if [ -n "$virtual" ]; then
	# When a timer is due, either of QEMU's two threads may run it, and if
	# it is not the one that runs the emulated CPUs, that one is
	# interrupted, and goes on with another CPU.  On one CPU of the host,
	# at the same real-time priority, neither can get in while the other
	# one has something to do.
	together=$(taskset -cp $$ | sed 's/.*: //;s/[-,].*//')
	# shellcheck disable=SC2046 # three words, or none
	set -- taskset -c "$together" $(realtime) \
		qemu-system-x86_64 "$@" \
		-accel tcg,thread=single -icount shift=0,sleep=off \
		-rtc clock=vm,base=2024-01-01 -seed "$seed"
else
	set -- qemu-system-x86_64 "$@"
	backend=driver=null-co,size=$SIZE,read-zeroes=on,latency-ns=${latency_us}000
	queues=${queues:-$cpus}
	pairs=max_ioqpairs=$queues
	path=nvme,serial=nvme,subsys=subsystem,$pairs
	# With a thread per CPU, QEMU 7.2 runs breakpoints that the kernel has
	# already removed, when it patches its static keys ("Oops: int3").
	# In one thread a CPU may have to wait for another one, up to 0.1 s:
	# only with -p 1 are times worth a look.
	set -- "$@" -accel tcg,thread=single
	for disk in $disks; do
		if [ -n "$writable" ]; then
			file=$out/$disk.img
			truncate -s "${writable}M" "$file"
			backend=driver=raw,file.driver=file,file.filename=$file
		fi
		set -- "$@" -blockdev "$backend,node-name=$disk"
		case $disk in
		nvme)
			set -- "$@" -device "nvme,serial=nvme,drive=nvme,$pairs"
			;;
		virtio)
			set -- "$@" -device \
				"virtio-blk-pci,drive=virtio,num-queues=$queues"
			;;
		ahci)
			set -- "$@" -device ich9-ahci,id=ahci \
				-device ide-hd,bus=ahci.0,drive=ahci
			;;
		multipath)
			set -- "$@" -device nvme-subsys,id=subsystem \
				-device "$path" -device "$path" \
				-device nvme-ns,drive=multipath,nsid=1
			;;
		esac
	done
fi

# In the group of this script, as it has to end by the same Ctrl-C.
timeout --foreground "$seconds" "$@" </dev/null >"$out/qemu.log" 2>&1 || {
	rm -f "$out"/*.img
	tail -n 5 "$out/qemu.log" "$out/console.log" >&2 || :
	die "the guest did not finish; see $out/"
}
tar -C "$out" -xzf "$results" 2>/dev/null || :
[ -e "$out/status" ] ||
	die "the guest left no results; see $out/console.log"
rm -f "$results" "$out/qemu.log" "$out"/*.img

exit "$(cat "$out/status")"

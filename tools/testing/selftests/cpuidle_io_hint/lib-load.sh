# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2034
#
# Load, settings that change under it, and whether all is even afterwards;
# sourced after lib.sh, by the tests that need more than one I/O at a time
#
# Needs fio.

command -v fio > /dev/null || skip_all "no fio"

LIMIT_US=10
# Far more than any emulated device takes: expiry has a test of its own.
TIMEOUT_US=10000000

STOP_FLIPPING=$(mktemp -u)
LOAD_LOG=$(mktemp)
at_exit "rm -f $STOP_FLIPPING $LOAD_LOG"

# load FILE FIO-OPTION...: I/O from two threads, on top of each other.  Succeeds
# if all of it does.
load() {
	file=$1
	shift
	fio --name=load --filename="$file" --direct=1 --rw=randread --bs=4k \
		--size=64m --ioengine=io_uring --iodepth=16 --numjobs=2 \
		--thread --continue_on_error=all "$@" > "$LOAD_LOG" 2>&1
}

# test_load WHAT COMMAND...: one test, with a load that is to succeed
test_load() {
	case=$1
	shift
	if "$@"; then
		ktap_test_pass "$case: I/O succeeds"
	else
		sed 's/^/# /' "$LOAD_LOG"
		ktap_test_fail "$case: I/O succeeds"
	fi
}

# load_start FILE FIO-OPTION..., load_stop: the same in the background, until
# it is stopped.  Fio ends what is in flight first.
load_start() {
	file=$1
	shift
	fio --name=load --filename="$file" --direct=1 --rw=randrw --bs=4k \
		--size=64m --ioengine=io_uring --iodepth=16 --numjobs=2 \
		--thread --continue_on_error=all --output=/dev/null \
		--time_based --runtime=600 "$@" > /dev/null 2>&1 &
	LOAD=$!
	busy || ktap_print_msg "$file: no load"
}

load_stop() {
	kill -INT "$LOAD" 2>/dev/null || :
	wait "$LOAD" || :
}

# keep_knobs DISK...; limit VALUE DISK...: of all these disks
keep_knobs() {
	for member; do
		for knob in /sys/block/"$member"/queue/cpu_lat_*; do
			[ ! -e "$knob" ] || keep "$knob"
		done
	done
}

limit() {
	value=$1
	shift
	for member; do
		echo $TIMEOUT_US > "/sys/block/$member/queue/cpu_lat_timeout_us"
		echo "$value" > "/sys/block/$member/queue/cpu_lat_limit_us"
	done
}

# lossy DISK...: where commands may get lost.  QEMU 7.2 forgets one now and then
# if an NVMe drive is given several at a time, and 30 s are a long time.
lossy() {
	for member; do
		case $member in
		nvme*)
			member=/sys/block/$member/queue/io_timeout
			keep "$member"
			echo 2000 > "$member"
			;;
		esac
	done
}

# flip_start DISK..., flip_stop: other settings, off included, with I/O in
# flight.  The classes change, too, so that a hint taken from the wrong one
# shows.
flip() {
	# Classes run out if the disk is slow, and the disk may go away.
	set +e
	while [ ! -e "$STOP_FLIPPING" ]; do
		for us in 0 5 -1 10 5; do
			for member; do
				knob=/sys/block/$member/queue/cpu_lat
				echo $us > "${knob}_limit_us"
				echo $((1000 + us)) > "${knob}_timeout_us"
				echo $((us == 5)) > "${knob}_wake"
				echo $((us * us)) > "${knob}_hold_us"
			done
			sleep 0.01
		done
	done 2>/dev/null
}

flip_start() {
	flip "$@" &
	FLIP=$!
}

flip_stop() {
	touch "$STOP_FLIPPING"
	wait "$FLIP" || :
	rm -f "$STOP_FLIPPING"
}

# Until something is pending, or 5 s have passed
busy() {
	n=0
	while [ "$(cpus_pending)" -eq 0 ]; do
		[ $n -lt 500 ] || return 1
		sleep 0.01
		n=$((n + 1))
	done
}

# even WHAT DISK...: two tests, whether the counts are even now, and all is
# given back once the limit is off.  Disks that have gone away have done so.
even() {
	case=$1
	shift
	for member; do
		knob=/sys/block/$member/queue/cpu_lat_limit_us
		[ ! -e "$knob" ] || echo -1 > "$knob"
	done
	# Timeouts are found out late.
	n=0
	while [ "$(cpus_pending)" -ne 0 ] && [ $n -lt 50 ]; do
		sleep 0.1
		n=$((n + 1))
	done
	test_eq "$case: nothing pending" "$(cpus_pending)" 0
	# A sum over classes can be even where they are not.
	test_eq "$case: no class in use" "$(sed 1d "$HINT/classes")" ""
}

# How many hints were ever published
published() {
	total published
}

# test_published WHAT BEFORE MIN, test_unpublished WHAT BEFORE: one test, from
# what published said before
test_published() {
	test_ge "$1: hints are published" $(($(published) - $2)) "$3"
}

test_unpublished() {
	test_eq "$1: no hint is published" $(($(published) - $2)) 0
}

# read_on CPU DISK: one block
read_on() {
	on_cpu "$1" dd if="/dev/$2" of=/dev/null bs=4096 count=1 \
		iflag=direct 2>/dev/null
}

# pending_now: what is pending for which CPU: "0=1 2=1"
pending_now() {
	awk 'NR > 1 && $2 != 0 { printf "%s%d=%d", sep, $1, $2; sep = " " }' \
		"$HINT/cpus"
}

# caught CPU DISK: the same, while this CPU reads a block.  The disk must be so
# slow that it can be caught: 0.2 s or more.
caught() {
	# The first completion tells which CPU is interrupted.
	read_on "$1" "$2"
	read_on "$1" "$2" &
	# The first look may be between the two hints of a request.
	! busy || pending_now
	wait $!
}

# both CPU CPU: what caught should say if these two wait
both() {
	if [ "$1" = "$2" ]; then
		echo "$1=1"
	elif [ "$1" -lt "$2" ]; then
		echo "$1=1 $2=1"
	else
		echo "$2=1 $1=1"
	fi
}

# interrupts DISK: those of the device that the disk is behind, one a line
interrupts() {
	node=$(readlink -f "/sys/block/$1/device")
	while [ "$node" != / ] && [ ! -e "$node/irq" ]; do
		node=$(dirname "$node")
	done
	if [ -d "$node/msi_irqs" ]; then
		ls "$node/msi_irqs"
	elif [ -e "$node/irq" ]; then
		cat "$node/irq"
	fi
}

# movable DISK: its interrupt, if it has just one, and that can be moved
movable() {
	irq=$(interrupts "$1")
	case $irq in
	''|*[!0-9]*)
		return
		;;
	esac
	affinity=/proc/irq/$irq/smp_affinity
	[ -e "$affinity" ] || return 0
	# Managed ones refuse whatever is written.
	mask=$(cat "$affinity")
	! { echo "$mask" > "$affinity"; } 2>/dev/null || echo "$irq"
}

# aim_irq IRQ CPU: move it, but some move only when the next one arrives
aim_irq() {
	printf '%x\n' $((1 << $2)) > "/proc/irq/$1/smp_affinity"
}

# move_irq IRQ CPU DISK: and be sure that it has moved
move_irq() {
	aim_irq "$1" "$2"
	n=0
	while [ "$(cat "/proc/irq/$1/effective_affinity_list")" != "$2" ]; do
		[ $n -lt 20 ] || return 1
		read_on 0 "$3"
		n=$((n + 1))
	done
}

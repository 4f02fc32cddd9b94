#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: initramfs.sh -o OUT [-f SRC:DEST]...
#
# Makes OUT, a compressed initramfs, of busybox with all its commands, fio
# and the files SRC, which appear in it as DEST.  One of them should be /init.
# What a program needs of shared libraries comes along.  The same input gives
# the same OUT.

set -eu
# shellcheck source=lib.sh
. "$(dirname -- "$0")/lib.sh"

for c in busybox fio cpio gzip; do
	command -v $c >/dev/null || die "$c is missing; run 'make deps' first"
done

root=$(mktemp -d)
tmp=
trap 'rm -rf "$root" "$tmp"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# add SRC DEST: copies a file and the shared libraries it needs
add() {
	[ -f "$1" ] || die "$1: no such file"
	mkdir -p "$root/$(dirname "$2")"
	cp "$1" "$root/$2"
	if [ -x "$1" ]; then
		chmod 755 "$root/$2"
	else
		chmod 644 "$root/$2"
	fi
	# Scripts, static programs and kernel modules have none.
	ldd "$1" 2>/dev/null |
		sed -n 's/^[^/]*\(\/[^ ]*\) (0x.*/\1/p' |
		while IFS= read -r lib; do
			[ -e "$root$lib" ] || {
				mkdir -p "$root$(dirname "$lib")"
				cp -L "$lib" "$root$lib"
			}
		done
}

out=
while getopts o:f: opt; do
	case $opt in
	o)	out=$OPTARG ;;
	f)	case $OPTARG in
		*:/*)	add "${OPTARG%:/*}" "${OPTARG##*:/}" ;;
		*)	bad_usage "$OPTARG is not SRC:/DEST" ;;
		esac ;;
	*)	exit 1 ;;
	esac
done
shift $((OPTIND - 1))
[ $# -eq 0 ] || bad_usage "unknown word $1"
[ -n "$out" ] || bad_usage "-o OUT is missing"

chmod 755 "$root"
mkdir -p "$root/dev" "$root/proc" "$root/sys" "$root/tmp"
add "$(command -v busybox)" bin/busybox
! ldd "$root/bin/busybox" >/dev/null 2>&1 ||
	die "busybox is not a static program; run 'make deps' first"
add "$(command -v fio)" bin/fio
busybox --list | while IFS= read -r c; do
	[ -e "$root/bin/$c" ] || ln -s busybox "$root/bin/$c"
done

find "$root" -exec touch -h -d @0 {} +
tmp=$out.$$.tmp
(
	cd "$root"
	find . | LC_ALL=C sort |
		cpio -o -H newc -R +0:+0 --reproducible --quiet
) | gzip -n -1 >"$tmp"
mv -f "$tmp" "$out"

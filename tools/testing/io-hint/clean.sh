#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: clean.sh [--all]
#
# Removes what was built: objects, patched trees and out/.  The pristine
# kernel sources stay, unless --all is given.

set -eu
# shellcheck source=lib.sh
. "$(dirname -- "$0")/lib.sh"

all=
case ${1:-} in
--all)		all=y; shift ;;
esac
[ $# -eq 0 ] || bad_usage "unknown word $1"

rm -rf "$top/out"
[ -d "$BUILD" ] || exit 0
if [ -n "$all" ] && [ "$BUILD" = "$top/build" ]; then
	rm -rf "$BUILD"
	exit
fi

# $BUILD may have been pointed at a directory that holds other things.
for v in $(versions); do
	for variant in patched unpatched faulty; do
		rm -rf "$BUILD/$v-$variant"* "$BUILD/src/$v-$variant"*
	done
	rm -rf "$BUILD"/*-"$v.cpio.gz" "$BUILD/bench-$v"-*.cpio \
		"$BUILD/stress-$v"-*.cpio.gz
	[ -z "$all" ] || rm -rf "$BUILD/src/$v" "$BUILD/src/$v.origin"
done
rm -rf "$BUILD"/src/.tree.* "$BUILD"/src/.fetch.* "$BUILD/lock" "$BUILD/stress"
[ -z "$all" ] || {
	rm -rf "$BUILD/apt" "$BUILD/deps.log"
	rmdir "$BUILD/src" 2>/dev/null || :
	rmdir "$BUILD" 2>/dev/null || :
}

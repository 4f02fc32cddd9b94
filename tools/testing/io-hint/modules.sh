#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: modules.sh VERSION [unpatched]
#
# Builds the test modules of the kselftest for a kernel that build.sh has built,
# and prints the directory that they are in.

set -eu
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

case ${1:-} in
--help|-h)
	usage
	exit
	;;
esac
[ $# -ge 1 ] || bad_usage "VERSION is missing"
[ $# -le 2 ] || bad_usage "too many arguments"
need_version "$1"

obj=$BUILD/$1-${2:-patched}
[ -e "$obj/.config" ] || die "build the kernel first: make kernel KERNEL=$1"

dir=$obj/test_modules
log=$obj/modules.log
mkdir -p "$dir"
# The kernel writes objects next to the source: that is not for this tree.
for file in "$top"/tools/testing/selftests/cpuidle_io_hint/test_modules/*; do
	cmp -s "$file" "$dir/${file##*/}" || cp "$file" "$dir"
done

unset MAKEFLAGS MFLAGS MAKELEVEL
make -C "$obj" M="$dir" modules >"$log" 2>&1 || {
	tail -n 20 "$log" >&2
	die "the test modules do not build; see $log"
}
if grep -q 'warning:' "$log"; then
	cat "$log" >&2
	die "the test modules build with warnings"
fi
echo "$dir"

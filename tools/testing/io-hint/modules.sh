#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: modules.sh [-d DIR] VERSION [unpatched]
#
# Builds modules for a kernel that build.sh has built, and prints the directory
# that they end up in: the test modules of the kselftest, or those in DIR.

set -eu
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

source=$top/tools/testing/selftests/cpuidle_io_hint/test_modules
while getopts d: option; do
	case $option in
	d)	source=$OPTARG ;;
	*)	bad_usage "unknown option" ;;
	esac
done
shift $((OPTIND - 1))
[ $# -ge 1 ] || bad_usage "VERSION is missing"
[ $# -le 2 ] || bad_usage "too many arguments"
need_version "$1"

obj=$BUILD/$1-${2:-patched}
[ -e "$obj/.config" ] || die "build the kernel first: make kernel KERNEL=$1"

dir=$obj/${source##*/}
log=$dir.log
mkdir -p "$dir"
# The kernel writes objects next to the source: that is not for this tree.
for file in "$source"/*; do
	cmp -s "$file" "$dir/${file##*/}" || cp "$file" "$dir"
done

unset MAKEFLAGS MFLAGS MAKELEVEL
make -C "$obj" M="$dir" modules >"$log" 2>&1 || {
	tail -n 20 "$log" >&2
	die "${source##*/} do not build; see $log"
}
if grep -q 'warning:' "$log"; then
	cat "$log" >&2
	die "${source##*/} build with warnings"
fi
echo "$dir"

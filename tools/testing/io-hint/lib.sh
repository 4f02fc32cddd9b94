# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# What the scripts of this directory share; sourced, not run.
#
# Sets $top, the top of the repository, and $BUILD, where all that is
# generated goes (default: build/ at the top), both absolute.

umask 022

self=${0##*/}
top=$(CDPATH='' cd -- "$(dirname -- "$0")/../../.." && pwd)
# shellcheck disable=SC2034 # for those who source this
here=$top/tools/testing/io-hint

BUILD=${BUILD:-$top/build}
case $BUILD in
/*)	;;
*)	BUILD=$PWD/$BUILD ;;
esac

say() {
	echo "$self: $*" >&2
}

die() {
	say "$@"
	exit 1
}

# The header comment of a script is its help text.
usage() {
	sed -n '3,/^$/s/^# \{0,1\}//p' "$0" | sed 1d
}

# Asked for it, in the first place, every script gives it.
case ${1:-} in
-h|--help)
	usage
	exit
	;;
esac

# bad_usage [what is wrong]
bad_usage() {
	die "${1:-wrong arguments}; see $self --help"
}

# realtime: what a command is to be started with to have real-time priority;
# nothing if we are not allowed to
realtime() {
	! chrt -f 1 true 2> /dev/null || echo chrt -f 1
}

# The versions that there are hooks for, on one line
versions() {
	for v in "$top"/patches/*/series; do
		[ ! -e "$v" ] || basename "$(dirname "$v")"
	done | sort -V | paste -sd ' ' -
}

# need_version VERSION
need_version() {
	[ -e "$top/patches/$1/series" ] ||
		die "no kernel $1 here; choose one of: $(versions)"
}

# The paths in patches/files: our own files, relative to a kernel tree
own_files() {
	sed 's/#.*//; s/[[:space:]]*$//; /^$/d' "$top/patches/files"
}

# The patches in patches/VERSION/series, in the order of application
series() {
	sed 's/#.*//; s/[[:space:]]*$//; /^$/d' "$top/patches/$1/series"
}

# The existing kernel files that the patches of VERSION touch
hooked_files() {
	series "$1" | while IFS= read -r p; do
		cat "$top/patches/$1/$p"
	done | awk '
		# A file header is a pair of lines; one alone is hunk text.
		/^\+\+\+ / && old != "" {
			print old
			print substr($0, 5)
		}
		{ old = /^--- / ? substr($0, 5) : "" }
	' | sed 's/	.*//; /^\/dev\/null$/d; s/^[^/]*\///' | sort -u
}

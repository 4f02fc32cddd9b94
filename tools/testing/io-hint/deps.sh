#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: deps.sh [SET]...
#
# Installs the Debian packages that are missing for SET, by default for all:
#
#   apply  patching a kernel tree
#   build  fetching and building the test kernels
#   boot   running them
#   lint   checking the scripts
#   bench  the benchmark
#
# It does so as root or with sudo and changes nothing if all are there.

set -eu
# shellcheck source=lib.sh
. "$(dirname -- "$0")/lib.sh"

# libc6-dev is but recommended by gcc; libelf-dev is for objtool, python3 for
# the check of comments that W=1 includes.
apply='patch'
build='bc binutils bison ccache cpio debian-archive-keyring flex gcc
	libc6-dev libelf-dev make patch perl python3 xz-utils'
boot='busybox-static cpio fio gzip jq qemu-system-x86'
lint='shellcheck'
bench='gnuplot-nox rt-tests'

[ $# -gt 0 ] || set -- apply build boot lint bench
want=
for set in "$@"; do
	case $set in
	apply)	want="$want $apply" ;;
	build)	want="$want $build" ;;
	boot)	want="$want $boot" ;;
	lint)	want="$want $lint" ;;
	bench)	want="$want $bench" ;;
	*)	bad_usage "unknown set $set" ;;
	esac
done

command -v apt-get >/dev/null ||
	die "this is no Debian system; see $0 for what is needed"

missing=
for p in $want; do
	case " $missing " in
	*" $p "*)	continue ;;
	esac
	# shellcheck disable=SC2016 # dpkg-query expands it
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = \
		installed ] || missing="$missing $p"
done
if [ -z "$missing" ]; then
	echo "All packages are there"
	exit
fi
command="apt-get install --no-install-recommends$missing"

as_root=
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null || die "run this as root: $command"
	as_root=sudo
fi

mkdir -p "$BUILD"
log=$BUILD/deps.log
: >"$log"

# apt ARGUMENT...: sudo drops the environment, but apt may need the proxy.
# Another apt may be at work, as on a machine that has just started.
apt() {
	$as_root env DEBIAN_FRONTEND=noninteractive \
		${http_proxy:+"http_proxy=$http_proxy"} \
		${https_proxy:+"https_proxy=$https_proxy"} \
		apt-get -q -o DPkg::Lock::Timeout=300 "$@" \
		>>"$log" 2>&1 </dev/null
}

echo "Installing$missing" | fold -s -w 79
# Where the update fails, old lists may still do.
apt update || say "apt-get update failed, see $log; trying without"
# shellcheck disable=SC2086
apt install -y --no-install-recommends $missing || {
	tail -n 15 "$log" >&2
	die "not installed; see $log, or run as root: $command"
}
echo "All packages are there"

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: build.sh [--w1] [--debug KIND] VERSION [unpatched|faulty]
#
# Builds the test kernel VERSION in build/VERSION-patched from tinyconfig and
# lab.config, with our change applied and the options of hint.config set, or
# as it comes from Debian in build/VERSION-unpatched.  Fetches the source if
# need be, and builds again only what changed.  Prints the path of the image
# as the last line; what is going on is told on stderr.  The source is in
# build/src/VERSION-patched, do not edit it there: it is made anew.
#
# "faulty" is "patched" with the faults of faults.patch, for the stress test.
#
#   --w1          only compile our objects and the hooked ones, with W=1, and
#                 fail if there is a warning about a file of ours
#   --debug KIND  with the options of debug/common.config and debug/KIND.config
#                 as well, in build/VERSION-patched-KIND
#
# The exit status is 4 where the source can no longer be had (see fetch.sh).

set -eu
# shellcheck source=lib.sh
. "$(dirname -- "$0")/lib.sh"

w1=
debug=
version=
variant=patched
while [ $# -gt 0 ]; do
	case $1 in
	-h|--help)	usage; exit ;;
	--w1)		w1=y ;;
	--debug)	[ $# -gt 1 ] || bad_usage "--debug wants a KIND"
			debug=$2
			shift ;;
	unpatched|faulty)
			variant=$1 ;;
	-*)		bad_usage "unknown option $1" ;;
	*)		[ -z "$version" ] || bad_usage "unknown word $1"
			version=$1 ;;
	esac
	shift
done
[ -n "$version" ] || bad_usage "VERSION is missing"
[ -z "$w1" ] || [ "$variant" = patched ] || bad_usage "--w1 needs our files"
[ -z "$debug" ] || [ -e "$here/debug/$debug.config" ] ||
	bad_usage "no kind of debug kernel is called $debug"
need_version "$version"
[ "$(uname -m)" = x86_64 ] || die "the test kernel needs an x86_64 machine"
case $BUILD in
*[[:space:]:]*)	die "no kernel can be built in $BUILD;" \
			"set BUILD to a path without spaces and colons" ;;
esac
for c in gcc flex bison bc perl cpio; do
	command -v $c >/dev/null || die "$c is missing; run 'make deps' first"
done

# Neither options of a calling make nor settings of other kernel work shall
# have a say in what is built here.
unset MAKEFLAGS MFLAGS MAKEOVERRIDES GNUMAKEFLAGS MAKELEVEL
unset ARCH SUBARCH CROSS_COMPILE LLVM O M V W C KCFLAGS KAFLAGS KCPPFLAGS
unset KBUILD_OUTPUT KBUILD_EXTMOD KBUILD_VERBOSE KCONFIG_CONFIG
unset KCONFIG_ALLCONFIG KCONFIG_OVERWRITECONFIG KBUILD_DEFCONFIG
export LC_ALL=C
export KBUILD_BUILD_TIMESTAMP='Thu Jan  1 00:00:00 UTC 1970'
export KBUILD_BUILD_USER=io-hint KBUILD_BUILD_HOST=io-hint
export KBUILD_BUILD_VERSION=1
cc=gcc
! command -v ccache >/dev/null || cc='ccache gcc'

mkdir -p "$BUILD"
exec 9>"$BUILD/lock"
flock -n 9 || {
	say "waiting for another build to end"
	flock 9
}

pristine=$("$here/fetch.sh" "$version")
pristine=$(echo "$pristine" | tail -n 1)

tmp=
monitor=
cleanup() {
	[ -z "$monitor" ] || kill "$monitor" 2>/dev/null || :
	[ -z "$tmp" ] || rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# new_time FILE: gives a file of the new tree the present time, without
# touching the pristine tree, which it may be linked to
new_time() {
	cp "$1" "$1.tmp"
	mv -f "$1.tmp" "$1"
}

# make_tree: makes $src from $pristine where $id, the sum of what goes into
# it, is not that of the tree that is there.  make goes by the times of files:
# those that are as before keep their time, those that are not get a new one,
# also where a hook went away and the pristine, older file is back.
make_tree() {
	stamp=$src.stamp
	[ ! -e "$stamp" ] || [ "$(cat "$stamp")" != "$id" ] || return 0
	say "making the $variant tree of $version"
	# Objects of another pristine source may be newer than this one.
	cmp -s "$pristine.origin" "$src.origin" || rm -rf "$src"
	cp "$pristine.origin" "$src.origin"
	tmp=$(mktemp -d "$BUILD/src/.tree.XXXXXX")
	cp -al "$pristine" "$tmp/tree"
	: >"$tmp/files"
	if [ "$variant" != unpatched ]; then
		PATCHES=$version "$here/apply.sh" "$tmp/tree" >/dev/null
		[ "$variant" = patched ] ||
			patch -d "$tmp/tree" -p1 -F0 -s <"$here/faults.patch"
		{ own_files; hooked_files "$version"; } | sort -u >"$tmp/files"
	fi
	[ -e "$src.files" ] || : >"$src.files"
	sort -u "$src.files" "$tmp/files" >"$tmp/all"
	while IFS= read -r f; do
		new=$tmp/tree/$f
		[ -e "$new" ] || continue
		if ! cmp -s "$new" "$src/$f"; then
			new_time "$new"
		elif grep -qxF "$f" "$tmp/files"; then
			touch -r "$src/$f" "$new"
		fi
	done <"$tmp/all"
	rm -f "$stamp"
	for o in "$src"/objects*; do
		[ ! -d "$o" ] || mv "$o" "$tmp/tree/"
	done
	rm -rf "$src"
	mv -T "$tmp/tree" "$src"
	mv "$tmp/files" "$src.files"
	echo "$id" >"$stamp"
	rm -rf "$tmp"
	tmp=
}

# kmake TARGET...: runs the make of the kernel
kmake() {
	make -C "$src" O="$obj" ARCH=x86_64 LOCALVERSION= CC="$cc" "$@"
}

# failed: shows what went wrong, the first errors or the end of the log
failed() {
	grep -m 5 -A 4 -e 'error: ' -e 'undefined reference' "$log" >&2 ||
		tail -n 10 "$log" >&2
	die "the build of $version failed; see $log"
}

# logged COMMAND...: runs it quietly
logged() {
	"$@" >"$log" 2>&1 9>&- || failed
}

# fragment: the options on top of tinyconfig; of those that are set more than
# once, the last one counts
fragment() {
	{
		cat "$here/lab.config"
		[ "$variant" = unpatched ] || cat "$here/hint.config"
		[ -z "$debug" ] || cat "$here/debug/common.config" \
			"$here/debug/$debug.config"
	} | awk '
		/^CONFIG_/ { split($0, word, "="); name = word[1] }
		/^# CONFIG_/ { name = $2 }
		!/CONFIG_/ { next }
		!(name in line) { order[++n] = name }
		{ line[name] = $0 }
		END { for (i = 1; i <= n; i++) print line[order[i]] }'
}

# check_config FRAGMENT CONFIG: ends where an option of the one is not in the
# other; the kernel drops silently what it cannot set
check_config() {
	while IFS= read -r line; do
		case $line in
		CONFIG_*=*)
			grep -qxF "$line" "$2" ||
				die "$version: $line did not stick;" \
					"see what it depends on" ;;
		'# CONFIG_'*' is not set')
			opt=${line#\# }
			opt=${opt% is not set}
			! grep -q "^$opt=" "$2" ||
				die "$version: $opt is set;" \
					"see what selects it" ;;
		esac
	done <"$1"
}

# configure: makes $obj/.config.  It is left alone where it would not change,
# since the whole kernel would be built anew.
configure() {
	want=$({
		cat "$pristine.origin"
		fragment
		gcc --version
		cd "$src"
		sed -n '/Kconfig/p' "$src.files" | xargs -r cat
	} | sha256sum)
	stamp=$obj/.config.stamp
	[ ! -e "$obj/.config" ] || [ ! -e "$stamp" ] ||
		[ "$(cat "$stamp")" != "$want$(sha256sum <"$obj/.config")" ] ||
		return 0
	say "configuring $version $variant${debug:+ $debug}"
	tmp=$(mktemp -d "$obj/.configure.XXXXXX")
	fragment >"$tmp/fragment"
	logged kmake KCONFIG_CONFIG="$tmp/tiny" tinyconfig
	logged env -C "$src" scripts/kconfig/merge_config.sh -m -O "$tmp" \
		"$tmp/tiny" "$tmp/fragment"
	logged kmake KCONFIG_CONFIG="$tmp/.config" olddefconfig
	check_config "$tmp/fragment" "$tmp/.config"
	cmp -s "$tmp/.config" "$obj/.config" ||
		mv -f "$tmp/.config" "$obj/.config"
	echo "$want$(sha256sum <"$obj/.config")" >"$stamp"
	rm -rf "$tmp"
	tmp=
}

# w1_objects: what our files and the hooked ones are compiled to
w1_objects() {
	{ own_files; hooked_files "$version"; } | sort -u |
		grep '\.c$' | grep -Ev '^(tools|Documentation|samples)/' |
		while IFS= read -r f; do
			# A part of another file has no object of its own.
			grep -sqE "^#include \"(.*/)?${f##*/}\"" \
				"$src/${f%/*}"/*.c "$src/${f%/*/*}"/*.c ||
				echo "${f%.c}.o"
		done
}

# objects: counts the objects of vmlinux that a log or a dry run compiles.
# What comes after them, to link and to wrap it, a dry run cannot see.
objects() {
	sed -n "s/^.*  \(CC\|AS\)  *\([a-z][^ ']*\.o\).*/\2/p" |
		grep -Ev '^arch/x86/boot/([^/]*|compressed/.*)$' |
		grep -vc version-timestamp || :
}

elapsed() {
	echo $(($(date +%s) - start))
}

# progress: tells how far the build is, on one line of a terminal or else
# every 30 seconds
progress() {
	n=0
	while :; do
		# A sleep that outlives the build must not hold a pipe open.
		sleep 1 >/dev/null 2>&1
		n=$((n + 1))
		# A build that was thought to be done has not been counted.
		line="$(objects <"$log")"
		[ "$todo" -eq 0 ] || line="$line of $todo"
		line="$line objects, $(elapsed) s"
		if [ -t 2 ]; then
			printf '\r%s: %s' "$self" "$version: $line" >&2
		elif [ $((n % 30)) -eq 0 ]; then
			say "$version: $line"
		fi
	done
}

# Source

src=$pristine-$variant
id=$({
	cat "$pristine.origin"
	[ "$variant" = unpatched ] || {
		[ "$variant" = patched ] || cat "$here/faults.patch"
		cat "$top/patches/files" "$top/patches/$version/series"
		cd "$top"
		own_files | tr '\n' '\0' | xargs -0 sha256sum
		cd "$top/patches/$version"
		series "$version" | tr '\n' '\0' | xargs -0 sha256sum
	}
} | sha256sum)
make_tree

# The objects are right below the source, since the kernel then names all
# files by relative paths: ccache finds there what the other variant, or
# another copy of this project, has compiled.

obj=$src/objects${debug:+-$debug}
link=$BUILD/$version-$variant${debug:+-$debug}
if [ -n "$w1" ]; then
	obj=$src/objects-w1
else
	ln -sfn "src/${obj#"$BUILD/src/"}" "$link"
fi
mkdir -p "$obj"
log=$obj/build.log
configure

if [ -n "$w1" ]; then
	list=$(w1_objects)
	say "compiling $version with W=1"
	logged kmake -j"$(nproc)" prepare
	# Objects that are there already would not warn again.
	(cd "$obj" && echo "$list" | xargs rm -f)
	# shellcheck disable=SC2086
	logged kmake -k -j"$(nproc)" W=1 $list
	own_files | sed 's/[].[*^$]/\\&/g; s/.*/(^|\/|\.\.\/)&:[0-9]/' \
		>"$obj/.own"
	if grep -E 'warning:|error:' "$log" | grep -Ef "$obj/.own" >&2; then
		die "W=1 warns about files of ours in $version"
	fi
	n=$(grep -c 'warning:' "$log" || :)
	say "$version: no W=1 warning about our files, $n about others"
	exit
fi

# Image

image=$link/arch/x86/boot/bzImage
done=$obj/.done
start=$(date +%s)
todo=0
# Where nothing changed, make finds so; no need to prepare and to count.
if [ ! -e "$done" ] || [ "$(cat "$done")" != "$id$(cat "$obj/.config.stamp")" ]
then
	rm -f "$done"
	say "preparing $version $variant${debug:+ $debug}"
	logged kmake -j"$(nproc)" modules_prepare
	todo=$(kmake -n -k bzImage modules 2>/dev/null 9>&- | objects)
fi
: >"$log"
progress 9>&- &
monitor=$!
rc=0
kmake -j$(($(nproc) + 1)) bzImage modules >"$log" 2>&1 9>&- || rc=$?
kill "$monitor"
wait "$monitor" 2>/dev/null || :
monitor=
[ ! -t 2 ] || printf '\r\033[K' >&2
[ $rc -eq 0 ] || failed
say "$version $variant${debug:+ $debug}: $(objects <"$log") objects in $(elapsed) s"
echo "$id$(cat "$obj/.config.stamp")" >"$done"
echo "$image"

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: fetch.sh VERSION
#
# Unpacks Debian's linux-source-VERSION to build/src/VERSION and prints that
# path as the last line; does nothing more where that is there already.
#
# The package comes from the apt sources of this machine or, where these do
# not offer it, from trixie (6.12) or trixie-backports (others) on the Debian
# mirror that they name.  For that, apt gets a state of its own in build/apt;
# that of the machine is only read.  If trixie-backports has moved on to later
# versions, the newest that our hooks for VERSION apply to stands in.
#
# The exit status is 4 where the package can no longer be had and nothing
# fits; 6.12, the long-term kernel, must be there.
#
# For tests only: FETCH_PRETEND_MISSING="N.M..." names versions to treat as
# not offered; "all" stands for all versions.

set -eu
# shellcheck source=lib.sh
. "$(dirname -- "$0")/lib.sh"

longterm=6.12

case ${1:-} in
-*)		bad_usage "unknown option $1" ;;
esac
[ $# -eq 1 ] || bad_usage "name one VERSION"
version=$1
need_version "$version"

tree=$BUILD/src/$version
# Which package the tree is from
origin=$tree.origin

report() {
	name=$(cut -f 1 "$origin")
	[ "$name" = "linux-source-$version" ] ||
		say "$version is no longer offered;" \
			"${name##*-} stands in for it"
	echo "$tree"
	exit
}
[ ! -d "$tree" ] || [ ! -e "$origin" ] || report

# The messages of apt are looked at below.
export LC_ALL=C

mkdir -p "$BUILD/src" "$BUILD/apt"
log=$BUILD/apt/fetch.log
: >"$log"
tmp=$(mktemp -d "$BUILD/src/.fetch.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# private_apt NAME [SOURCES]: makes an apt state in build/apt/NAME, with the
# machine's own sources or only those in the file SOURCES.  $conf is then the
# configuration to be given to apt with -c, on top of that of the machine, so
# that a proxy set there counts.
private_apt() {
	d=$BUILD/apt/$1
	conf=$d/apt.conf
	mkdir -p "$d/lists/partial" "$d/cache/archives/partial"
	{
		echo "Dir::State::lists \"$d/lists/\";"
		echo "Dir::Cache \"$d/cache/\";"
		echo 'Dir::Cache::archives "archives/";'
		echo 'Dir::Cache::pkgcache "pkgcache.bin";'
		echo 'Dir::Cache::srcpkgcache "srcpkgcache.bin";'
		echo 'Acquire::Languages "none";'
		# What runs after an update is about the machine's lists.
		echo '#clear APT::Update::Pre-Invoke;'
		echo '#clear APT::Update::Post-Invoke;'
		echo '#clear APT::Update::Post-Invoke-Success;'
		[ $# -eq 1 ] || {
			echo "Dir::Etc::sourcelist \"$2\";"
			echo 'Dir::Etc::sourceparts "/dev/null";'
			echo 'Dir::Etc::preferences "/dev/null";'
			echo 'Dir::Etc::preferencesparts "/dev/null";'
		}
	} >"$conf"
}

# failed WHAT: ends with the reason that the log gives
failed() {
	why=$(sed -n 's/^E: Failed to fetch [^ ]* *//p; s/^E: //p' "$log" |
		head -n 1)
	die "$1: ${why:-$(tail -n 1 "$log")}"
}

update() {
	say "reading what $1 offers"
	: >"$log"
	# A single bad source among those of the machine need not matter.
	apt-get -c "$conf" -q ${2:+"$2"} update >>"$log" 2>&1
}

# offered VERSION: the package versions that apt under $conf could fetch
offered() {
	case " ${FETCH_PRETEND_MISSING:-} " in
	*" $1 "*|*" all "*)	return 1 ;;
	esac
	apt-cache -c "$conf" madison "linux-source-$1" 2>>"$log" |
		grep -q '| .* Packages$'
}

# download VERSION: gets the package into $tmp, checked by apt
download() {
	say "fetching linux-source-$1, some 150 MB"
	rm -f "$tmp"/*.deb
	(cd "$tmp" && apt-get -c "$conf" -q download "linux-source-$1") \
		>>"$log" 2>&1
}

# unpack VERSION: unpacks the package in $tmp to $tmp/tree
unpack() {
	say "unpacking linux-source-$1"
	rm -rf "$tmp/tree"
	mkdir "$tmp/tree"
	dpkg-deb --fsys-tarfile "$tmp"/*.deb 2>>"$log" |
		tar -xO "./usr/src/linux-source-$1.tar.xz" 2>>"$log" |
		tar -xJ --strip-components=1 --no-same-owner -C "$tmp/tree" \
			2>>"$log" || failed "linux-source-$1 does not unpack"
	[ -f "$tmp/tree/Makefile" ] ||
		die "linux-source-$1 holds no kernel tree"
}

# keep VERSION: puts $tmp/tree in its place
keep() {
	dpkg-deb -W "$tmp"/*.deb >"$tmp/origin"
	rm -rf "$tree"
	mv "$tmp/origin" "$origin"
	mv -T "$tmp/tree" "$tree"
	report
}

# get VERSION: fetches, unpacks and ends, or returns with $tmp/offered empty
# where apt does not offer it and filled where it cannot be fetched
get() {
	: >"$tmp/offered"
	offered "$1" || return 0
	echo "$1" >"$tmp/offered"
	download "$1" || return 0
	unpack "$1"
	keep
}

skip() {
	say "kernel $version is skipped: $*"
	exit 4
}

# First as the machine is set up, then with fresh lists: those of the machine
# may be empty, or name files that are gone from the mirror.  The others are
# found sooner in backports.

suite=trixie-backports
conf=/dev/null
get "$version"
if [ "$version" = "$longterm" ]; then
	suite=trixie
	private_apt own
	update "the mirror" || :
	get "$version"
fi

# Then beyond the sources of the machine.

find_mirror() {
	# shellcheck disable=SC2016 # it is apt that expands these
	apt-get -c "$conf" indextargets --format \
		'$(ORIGIN)|$(LABEL)|$(COMPONENT)|$(CREATED_BY)|$(REPO_URI)' |
		sed -n 's/^Debian|Debian|main|Packages|//p' |
		grep -v '^cdrom:' | head -n 1
}
mirror=$(find_mirror)
if [ -z "$mirror" ] && [ "$conf" = /dev/null ]; then
	private_apt own
	update "the mirror" || :
	mirror=$(find_mirror)
fi
if [ -z "$mirror" ]; then
	why=$(sed -n 's/^[EW]: Failed to fetch [^ ]* *//p' "$log" | tail -n 1)
	[ -z "$why" ] || die "the Debian mirror cannot be read: $why"
	die "the apt sources name no Debian mirror; add one"
fi
for keyring in /usr/share/keyrings/debian-archive-keyring.*; do
	break
done
[ -e "$keyring" ] || die "install the package debian-archive-keyring first"

echo "deb [signed-by=$keyring] $mirror $suite main" \
	>"$BUILD/apt/$suite.list"
private_apt "$suite" "$BUILD/apt/$suite.list"
if ! update "$suite" --error-on=any; then
	[ "$version" = "$longterm" ] ||
		! grep -q 'does not have a Release file' "$log" ||
		skip "the Debian mirror has no $suite"
	failed "$suite cannot be read"
fi
get "$version"
[ ! -s "$tmp/offered" ] || failed "linux-source-$version cannot be fetched"

[ "$version" != "$longterm" ] ||
	die "apt offers no linux-source-$version; add the Debian sources"

# Another version may do, if nothing near our hooks is different there.
say "$suite has no linux-source-$version; looking for a stand-in"
tried=
for v in $(apt-cache -c "$conf" pkgnames linux-source- |
		sed -n 's/^linux-source-\([0-9]*\.[0-9]*\)$/\1/p' |
		sort -rV); do
	[ ! -e "$top/patches/$v/series" ] || continue
	offered "$v" || continue
	download "$v" || failed "linux-source-$v cannot be fetched"
	unpack "$v"
	! PATCHES=$version "$here/apply.sh" --check "$tmp/tree" \
		>/dev/null 2>>"$log" || keep
	tried="$tried $v"
done
[ -n "$tried" ] || skip "$suite has no kernel source"
skip "$suite has only$tried, where our hooks do not apply"

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: apply.sh [-R] [--check] SRC
#
# Applies the change to the unpacked kernel tree SRC: copies the files that
# patches/files names into it and applies the hooks in patches/N.M, N.M being
# the version of the tree.  The hooks must apply without fuzz.  Everything is
# tried on copies first; if anything is wrong, SRC stays as it is.
#
#   -R, --reverse  take the change out again
#   --check        only tell whether it would work
#
# PATCHES=N.M in the environment chooses the hooks of version N.M for a tree
# of another version.

set -eu
# shellcheck source=lib.sh
. "$(dirname -- "$0")/lib.sh"

reverse=
check=
src=
while [ $# -gt 0 ]; do
	case $1 in
	-h|--help)	usage; exit ;;
	-R|--reverse)	reverse=-R ;;
	--check)	check=y ;;
	-*)		bad_usage "unknown option $1" ;;
	*)		[ -z "$src" ] || bad_usage "more than one SRC"
			src=$1 ;;
	esac
	shift
done
[ -n "$src" ] || bad_usage "SRC is missing"
command -v patch >/dev/null || die "patch is missing; run 'make deps' first"

# These would make patch keep backups, and git look elsewhere.
unset POSIXLY_CORRECT GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE

# What does SRC hold?

given=$src
[ -d "$src" ] || die "$given: no such directory; name an unpacked kernel tree"
src=$(CDPATH='' cd -- "$src" && pwd) || die "$given: cannot enter it"
if [ ! -f "$src/Makefile" ] || [ ! -f "$src/Kconfig" ] ||
   [ ! -f "$src/include/linux/kernel.h" ]; then
	die "$given: not a kernel tree"
fi

makevar() {
	sed -n "s/^$1 *= *\([0-9]*\).*/\1/p" "$src/Makefile" | head -n 1
}
version=$(makevar VERSION).$(makevar PATCHLEVEL)
full=$version.$(makevar SUBLEVEL)
hooks=${PATCHES:-$version}
if [ ! -e "$top/patches/$hooks/series" ]; then
	v=$(versions)
	[ -z "${PATCHES:-}" ] ||
		die "PATCHES=$PATCHES: no such hooks; there are: $v"
	near=$(echo "$v" | tr ' ' '\n' | awk -F. -v v="$version" '
		BEGIN { split(v, want) }
		{
			d = ($1 - want[1]) * 100 + $2 - want[2]
			d = d < 0 ? -d : d
			if (NR == 1 || d < least) { least = d; near = $0 }
		}
		END { print near }')
	die "Linux $full is not among $v;" \
	    "PATCHES=$near tries the hooks of $near"
fi

# All work is done in $stage: old/ has the hooked files as they are in SRC,
# new/ as they shall be, and undo what must be taken back after a failure.

stage=$(mktemp -d) || die "no room for temporary files"
trap 'rm -rf "$stage"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 131' QUIT
trap 'exit 143' TERM

mkdir "$stage/old" "$stage/new"
own_files >"$stage/own"
hooked_files "$hooks" >"$stage/hooked"
series "$hooks" >"$stage/series"
[ -s "$stage/own" ] || die "patches/files names no file"
[ -s "$stage/series" ] || die "patches/$hooks/series names no patch"

while IFS= read -r f; do
	[ -f "$top/$f" ] || die "patches/files: there is no $f here"
	if [ ! -e "$src/$f" ] && [ ! -L "$src/$f" ]; then
		echo "$f" >>"$stage/missing"
	elif cmp -s "$top/$f" "$src/$f"; then
		echo "$f" >>"$stage/same"
	else
		echo "$f" >>"$stage/other"
	fi
done <"$stage/own"

first() {
	head -n 1 "$stage/$1"
}

if [ -z "$reverse" ]; then
	[ ! -e "$stage/other" ] ||
		die "$given: $(first other) is in the way; move it first"
	[ ! -e "$stage/same" ] || [ ! -e "$stage/missing" ] ||
		die "$given: $(first same) is in the way; remove it first"
	[ ! -e "$stage/same" ] ||
		die "$given: already applied; 'make unapply' takes it out"
else
	[ -e "$stage/same" ] || [ -e "$stage/other" ] ||
		die "$given: the change is not applied, nothing to remove"
	[ ! -e "$stage/other" ] ||
		die "$given: $(first other) is not the one of this project;" \
		    "move your copy away and put ours back first"
	[ ! -e "$stage/missing" ] ||
		die "$given: $(first missing) is missing; put ours back first"
fi

# One run at a time, and none on what another one has left half done.

exec 8<"$src"
flock -n 8 || die "$given: another apply.sh is at work there; wait for it"
sort -u "$stage/own" "$stage/hooked" | while IFS= read -r f; do
	for i in "$src/$f".[0-9]*.tmp; do
		[ ! -e "$i" ] || die "$given: ${i#"$src"/} is left over" \
			"from a run that was killed; unpack the tree anew"
	done
done

# Work that SRC holds in the files we touch shall not get mixed with ours.

while IFS= read -r f; do
	for i in "$f.rej" "$f.orig"; do
		[ ! -e "$src/$i" ] ||
			die "$given: $i is left over from a patch; remove it"
	done
	[ ! -L "$src/$f" ] ||
		die "$given: $f is a symbolic link; put the file there"
	if [ -f "$src/$f" ]; then
		mkdir -p "$stage/old/$(dirname "$f")" \
			"$stage/new/$(dirname "$f")"
		cp -p "$src/$f" "$stage/old/$f"
		cp -p "$src/$f" "$stage/new/$f"
	fi
done <"$stage/hooked"

# in_git COMMAND...: runs git COMMAND on the hooked files in SRC
in_git() {
	tr '\n' '\0' <"$stage/hooked" |
		(cd "$src" && xargs -0 git "$@" --) 2>"$stage/err" ||
		die "$given: git cannot tell what changed:" \
			"$(head -n 1 "$stage/err")"
}

if [ -z "$reverse" ] &&
   { [ -e "$src/.git" ] ||
     git -C "$src" rev-parse --is-inside-work-tree >/dev/null 2>&1; }; then
	command -v git >/dev/null ||
		die "$given: is in git, but git is missing; install it"
	# A plain tree may lie in the work tree of something else.
	in_git ls-files >"$stage/dirty"
	[ ! -s "$stage/dirty" ] ||
		in_git diff HEAD --name-only --relative >"$stage/dirty"
	[ ! -s "$stage/dirty" ] ||
		die "$given: $(first dirty) has local changes;" \
		    "commit or stash them first"
fi

# Try the hooks on the copies.

patch_copies() {
	rc=0
	# -f: do not ask, do not guess that a patch is reversed
	# shellcheck disable=SC2086
	patch $reverse -f -p1 -F0 -s --no-backup-if-mismatch -d "$stage/new" \
		-i "$top/patches/$hooks/$1" >"$stage/out" 2>&1 </dev/null ||
		rc=$?
	rej=$(cd "$stage/new" && find . -name '*.rej' | head -n 1)
	rej=${rej#./}
	hunk=$(sed -n 's/^Hunk #\([0-9]*\) FAILED.*/\1/p' "$stage/out" |
		head -n 1)
	[ -z "$rej" ] ||
		die "$given: patches/$hooks/$1 does not apply:" \
		    "hunk ${hunk:-1} of ${rej%.rej}"
	lost=$(sed -n 's/^|+++ [^/]*\///p' "$stage/out" | head -n 1)
	[ -z "$lost" ] ||
		die "$given: patches/$hooks/$1 does not apply:" \
		    "no ${lost%%	*}"
	[ $rc -eq 0 ] ||
		die "$given: patches/$hooks/$1 does not apply:" \
		    "$(head -n 1 "$stage/out")"
}

if [ -n "$reverse" ]; then
	sed '1!G;h;$!d' "$stage/series" >"$stage/order"
else
	cp "$stage/series" "$stage/order"
fi
while IFS= read -r p; do
	[ -f "$top/patches/$hooks/$p" ] ||
		die "patches/$hooks/series: there is no $p here"
	patch_copies "$p"
done <"$stage/order"

# Our own files join (or leave) the copies.

while IFS= read -r f; do
	if [ -n "$reverse" ]; then
		mkdir -p "$stage/old/$(dirname "$f")"
		cp -p "$src/$f" "$stage/old/$f"
	else
		mkdir -p "$stage/new/$(dirname "$f")"
		cp "$top/$f" "$stage/new/$f"
		if [ -x "$top/$f" ]; then
			chmod 755 "$stage/new/$f"
		else
			chmod 644 "$stage/new/$f"
		fi
	fi
done <"$stage/own"

# Can all of it be written?
sort -u "$stage/own" "$stage/hooked" >"$stage/all"
while IFS= read -r f; do
	d=$(dirname "$src/$f")
	while [ ! -e "$d" ]; do
		d=$(dirname "$d")
	done
	[ -w "$d" ] || die "$d: cannot be written to; make it writable first"
done <"$stage/all"

if [ -n "$check" ]; then
	if [ -n "$reverse" ]; then
		echo "The change can be removed from Linux $full"
	else
		echo "The hooks of $hooks apply to Linux $full"
	fi
	exit
fi

# Install: first write all that is new under temporary names, then rename,
# which needs no room and leaves alone what SRC shares with another tree by
# hard links.  Each step is noted before it is done; undo() takes it back.

: >"$stage/undo"

# put FROM FILE: makes FILE.PID.tmp in SRC
put() {
	cp -p "$1" "$src/$2.$$.tmp"
}

undo() {
	rc=$?
	trap '' HUP INT QUIT TERM
	set +e
	bad=
	while read -r what f; do
		case $what in
		tmp)
			rm -f "$src/$f.$$.tmp" || bad=$f ;;
		mkdir)
			[ ! -d "$src/$f" ] || rmdir "$src/$f" || bad=$f ;;
		rmdir)
			mkdir -p "$src/$f" || bad=$f ;;
		file)
			if [ -e "$stage/old/$f" ]; then
				{ put "$stage/old/$f" "$f" &&
				mv -f "$src/$f.$$.tmp" "$src/$f"; } || bad=$f
			else
				rm -f "$src/$f" || bad=$f
			fi ;;
		esac
	done <<-EOF
	$(sed '1!G;h;$!d' "$stage/undo")
	EOF
	if [ -n "$bad" ]; then
		say "$given: $bad could not be put back; it is in $stage/old"
	else
		rm -rf "$stage"
		say "$given: stopped; the tree is as it was"
	fi
	exit "$rc"
}
trap undo EXIT

# The directories above a file, innermost first
parents() {
	d=$(dirname "$1")
	while [ "$d" != . ]; do
		echo "$d"
		d=$(dirname "$d")
	done
}

: >"$stage/replace"
while IFS= read -r f; do
	[ -e "$stage/new/$f" ] || continue
	! cmp -s "$stage/old/$f" "$stage/new/$f" || continue
	parents "$f" | sort >"$stage/parents"
	while IFS= read -r d; do
		[ ! -d "$src/$d" ] || continue
		echo "mkdir $d" >>"$stage/undo"
		mkdir "$src/$d"
	done <"$stage/parents"
	echo "tmp $f" >>"$stage/undo"
	put "$stage/new/$f" "$f"
	echo "$f" >>"$stage/replace"
done <"$stage/all"

# What is left takes a moment; let no signal get in between.
trap '' HUP INT QUIT TERM

while IFS= read -r f; do
	echo "file $f" >>"$stage/undo"
	mv -f "$src/$f.$$.tmp" "$src/$f"
done <"$stage/replace"

while IFS= read -r f; do
	[ ! -e "$stage/new/$f" ] || continue
	[ -e "$stage/old/$f" ] || continue
	echo "file $f" >>"$stage/undo"
	rm -f "$src/$f"
	parents "$f" >"$stage/parents"
	while IFS= read -r d; do
		[ -z "$(ls -A "$src/$d")" ] || break
		echo "rmdir $d" >>"$stage/undo"
		rmdir "$src/$d"
	done <"$stage/parents"
done <"$stage/all"

trap 'rm -rf "$stage"' EXIT

[ "$hooks" = "$version" ] || echo "The hooks of $hooks were used"
if [ -n "$reverse" ]; then
	echo "The change is removed from Linux $full"
else
	echo "Applied to Linux $full; now set CONFIG_BLK_CPU_LAT=y"
fi

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: test-apply.sh TREE
#
# Tests apply.sh, and what is in patches/, on copies of parts of the pristine
# kernel tree TREE.  Writes KTAP; fails if a test does.

set -eu
# shellcheck source=lib.sh
. "$(dirname -- "$0")/lib.sh"

[ $# -eq 1 ] || bad_usage "name one TREE"
pristine=$1
[ -f "$pristine/Makefile" ] || die "$pristine: not a kernel tree"

# A stand-in for a version that is gone lies where that would.
version=$(sed -n 's/^VERSION = //p' "$pristine/Makefile").$(
	sed -n 's/^PATCHLEVEL = //p' "$pristine/Makefile")
unset PATCHES
if [ ! -e "$top/patches/$version/series" ]; then
	version=$(basename "$pristine")
	export PATCHES="$version"
fi
need_version "$version"

work=$(mktemp -d)
chmod 755 "$work"
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

export GIT_CONFIG_NOSYSTEM=1 HOME="$work"
git_() {
	git -C tree -c user.name=test -c user.email=test@localhost \
		-c core.fsync=none -c gc.auto=0 "$@"
}

user=
apply=$here/apply.sh
hooked=$(hooked_files "$version" | sed -n 1p)
own=$(own_files | sed -n 1p)

# Part of the tree: the hooked files, some others in all directories that we
# touch, and what a kernel tree is known by
part=$work/part
{
	printf '%s\n' Makefile Kconfig include/linux/kernel.h
	hooked_files "$version"
	own_files | while IFS= read -r f; do
		d=$(dirname "$f")
		[ ! -d "$pristine/$d" ] ||
			(cd "$pristine" && find "$d" -maxdepth 1 -type f) |
			sort | head -n 5
	done
} | sort -u | while IFS= read -r f; do
	mkdir -p "$part/$(dirname "$f")"
	[ ! -e "$pristine/$f" ] || cp -p "$pristine/$f" "$part/$f"
done

# list TREE: all there is to compare
list() {
	(
		cd "$1"
		find . -path ./.git -prune -o -printf '%y %m %p %l\n' |
			LC_ALL=C sort
		find . -path ./.git -prune -o -type f -print0 |
			LC_ALL=C sort -z | xargs -0 sha256sum
	)
}
list "$part" >"$work/pristine"

# same: ./tree is like TREE
same() {
	list tree >now
	cmp -s "$work/pristine" now || {
		diff "$work/pristine" now | sed 's/^/# /' | head -n 5
		return 1
	}
}

# refused PATTERN ARGUMENT...: apply.sh ends with 1 and one line like PATTERN,
# and ./tree stays as it was
refused() {
	pattern=$1
	shift
	list tree >before
	rc=0
	${user:+setpriv --reuid=$user --regid=$user --clear-groups} \
		"$apply" "$@" >stdout 2>stderr || rc=$?
	[ $rc -eq 1 ] || {
		echo "# status is $rc"
		return 1
	}
	if [ -s stdout ] || [ "$(wc -l <stderr)" -ne 1 ] ||
	   ! grep -q -e "$pattern" stderr; then
		sed 's/^/# /' stdout stderr
		return 1
	fi
	list tree | cmp before - || {
		echo "# the tree is not as it was"
		return 1
	}
}

applied() {
	own_files | while IFS= read -r f; do
		cmp "$top/$f" "$1/$f"
	done
}

# The tests; each runs in a directory of its own with a copy, ./tree

round_trip() {
	"$apply" tree
	applied tree
	if same >/dev/null; then
		echo "# nothing happened"
		return 1
	fi
	"$apply" -R tree
	same
}

hard_links_stay() {
	cp -al tree twin
	"$apply" twin
	same
	"$apply" -R twin
	same
}

modes_stay() {
	chmod 755 "tree/$hooked"
	"$apply" tree
	[ "$(stat -c %a "tree/$hooked")" = 755 ]
	"$apply" -R tree
	[ "$(stat -c %a "tree/$hooked")" = 755 ]
}

check_changes_nothing() {
	"$apply" --check tree
	same
}

path_with_space_and_relative() {
	mv tree "a tree"
	"$apply" "a tree"
	applied "a tree"
	"$apply" -R "a tree"
	mv "a tree" tree
	same
}

twice_is_refused() {
	"$apply" tree
	refused "already applied" tree
}

unknown_version_is_refused() {
	unset PATCHES
	sed 's/^VERSION = .*/VERSION = 2/' tree/Makefile >m
	cp m tree/Makefile
	refused "$(versions); PATCHES=" tree
}

patches_overrides_version() {
	sed 's/^VERSION = .*/VERSION = 2/' tree/Makefile >m
	cp m tree/Makefile
	PATCHES=$version "$apply" tree
	applied tree
	PATCHES=$version "$apply" -R tree
	cp "$part/Makefile" tree/Makefile
	same
}

unknown_patches_is_refused() {
	export PATCHES=2.0
	refused "PATCHES=2.0: no such hooks" tree
}

no_kernel_tree_is_refused() {
	rm tree/Kconfig
	refused "not a kernel tree" tree
}

no_directory_is_refused() {
	refused "no such directory" nowhere
}

wrong_arguments_are_refused() {
	refused "SRC is missing"
	refused "unknown option" --chekc tree
	refused "more than one" tree tree
}

git_changes_are_refused() {
	command -v git >/dev/null || return 4
	git_ init -q
	git_ add -A
	git_ commit -q -m tree
	echo >>"tree/$hooked"
	refused "$hooked has local changes" tree
	git_ add -A
	refused "$hooked has local changes" tree
	git_ commit -q -m changed
	"$apply" tree
}

tree_below_other_git_tree_is_fine() {
	command -v git >/dev/null || return 4
	git init -q .
	"$apply" tree
	"$apply" -R tree
	same
}

hunk_that_does_not_fit_is_refused() {
	echo "/* not what the hook expects */" >"tree/$hooked"
	refused "patches/$version/.* does not apply: hunk .* of $hooked" tree
}

lost_file_is_refused() {
	rm "tree/$hooked"
	refused "does not apply: no $hooked" tree
}

rejects_are_refused() {
	echo >"tree/$hooked.rej"
	refused "$hooked.rej is left over" tree
}

file_in_the_way_is_refused() {
	mkdir -p "tree/$(dirname "$own")"
	echo "mine" >"tree/$own"
	refused "$own is in the way" tree
}

read_only_is_refused() {
	# All is writable to root, and its files may be hidden from others.
	if [ "$(id -u)" -eq 0 ]; then
		user=65534
		setpriv --reuid=$user --clear-groups --regid=$user \
			test -x "$apply" -a -r tree/Makefile || return 4
	fi
	chmod a-w "tree/$(dirname "$hooked")"
	refused "cannot be written to" tree
}

# Let the third mv of apply.sh fail, in the midst of the installation.
fail_midway() {
	mkdir bin
	cat >bin/mv <<-EOF
	#!/bin/sh
	echo >>"$PWD/count"
	[ "\$(wc -l <"$PWD/count")" -ne 3 ] || exit 1
	exec $(command -v mv) "\$@"
	EOF
	chmod +x bin/mv
	export PATH="$PWD/bin:$PATH"
	refused "the tree is as it was" "$@"
	[ "$(wc -l <count)" -gt 3 ]
}

failed_apply_is_rolled_back() {
	fail_midway tree
	same
}

failed_unapply_is_rolled_back() {
	"$apply" tree
	fail_midway -R tree
	applied tree
}

unapply_of_pristine_is_refused() {
	refused "not applied" -R tree
}

unapply_of_changed_own_file_is_refused() {
	"$apply" tree
	echo >>"tree/$own"
	refused "$own is not the one" -R tree
}

unapply_without_own_file_is_refused() {
	"$apply" tree
	rm "tree/$own"
	refused "$own is missing" -R tree
}

unapply_keeps_other_changes() {
	"$apply" tree
	echo "# mine" >>"tree/$hooked"
	"$apply" -R tree
	[ "$(tail -n 1 "tree/$hooked")" = "# mine" ]
	sed '$d' "tree/$hooked" >h
	cat h >"tree/$hooked"
	same
}

manifest_names_all_files() {
	own_files | LC_ALL=C sort >named
	(
		cd "$top"
		for d in Documentation block drivers include \
				tools/testing/selftests; do
			[ ! -d "$d" ] || find "$d" -type f
		done | LC_ALL=C sort
	) >there
	diff named there | sed -n 's/^</# not there:/p; s/^>/# not named:/p'
	cmp -s named there
}

series_names_all_patches() {
	series "$version" | sort >named
	(cd "$top/patches/$version" && ls ./*.patch) | sed 's/^..//' |
		sort >there
	cmp named there
}

patches_apply_without_fuzz() {
	series "$version" | while IFS= read -r p; do
		patch -f -p1 -F0 -d tree -i "$top/patches/$version/$p" >log
		if grep -e fuzz -e FAILED log; then
			exit 1
		fi
	done
}

patches_have_a_message() {
	series "$version" | while IFS= read -r p; do
		sed '/^---$/,$d' "$top/patches/$version/$p" >message
		grep -q '^From: .*<.*@.*>$' message
		grep -q '^Subject: .*: ' message
		grep -q '^Signed-off-by: .* <.*@.*>$' message
		sed '1,/^$/d; /^[A-Z][a-z-]*-by: /d' message | grep -q .
	done
}

fetch_of_missing_version_ends_well() {
	rc=0
	BUILD=$PWD/build FETCH_PRETEND_MISSING=all \
		"$here/fetch.sh" "$version" >stdout 2>stderr || rc=$?
	# Without a network there is nothing to be seen.
	! grep -q 'cannot be read' stderr || return 4
	[ ! -s stdout ]
	[ -z "$(ls build/src)" ]
	case $(tail -n 1 stderr) in
	*"kernel $version is skipped: "*)	[ $rc -eq 4 ] ;;
	*"apt offers no linux-source-"*)	[ $rc -eq 1 ] ;;
	*)	sed 's/^/# /' stderr
		return 1 ;;
	esac
}

# What is defined from round_trip on
tests=$(sed -n '/^round_trip()/,$s/^\([a-z_]*\)() {$/\1/p' "$0" |
	grep -v '^fail_midway$')

# shellcheck disable=SC2086 # one word a test
set -- $tests
echo "TAP version 13"
echo "1..$#"
n=0
failed=0
for t; do
	n=$((n + 1))
	mkdir "$work/$t"
	cp -a "$part" "$work/$t/tree"
	# As a condition, the test would go on after an error.
	set +e
	(
		set -e
		cd "$work/$t"
		$t
	) >"$work/log" 2>&1
	rc=$?
	set -e
	case $rc in
	0)	echo "ok $n $t" ;;
	4)	echo "ok $n $t # SKIP" ;;
	*)	sed '/^#/!s/^/# /' "$work/log"
		echo "not ok $n $t"
		failed=$((failed + 1)) ;;
	esac
	chmod -R u+w "$work/$t"
	rm -rf "${work:?}/$t"
done
[ $failed -eq 0 ]

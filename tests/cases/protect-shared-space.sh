#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 300
# On btrfs and xfs: files that share their space with a copy or a snapshot, and on any host files
# with names outside, are listed, counted at full size and never cut; what shares with them stays.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
# shellcheck source=tests/cases/lib-protect.sh
. "$SOURCE/tests/cases/lib-protect.sh"
need_fusecrypt
need_fuse
need rsync mkfs.btrfs mkfs.xfs btrfs
printf 'words\n' >"$CASE_TMP/pass"
LARGE=60000000

# begin FS: a file system with $H/d, and beside it a copy of its large file, and a name of another one.
begin() {
	with_loop "$1" 400M "$H"
	if [ "$1" = btrfs ]; then
		btrfs -q subvolume create "$H/v" 2>/dev/null || btrfs subvolume create "$H/v" >/dev/null
	else
		mkdir "$H/v"
	fi
	mkdir "$H/v/d"
	head -c $LARGE /dev/urandom >"$H/v/d/large"
	head -c 3000000 /dev/urandom >"$H/v/d/named"
	head -c 3000000 /dev/urandom >"$H/v/d/alone"
	ln "$H/v/d/named" "$H/name outside"  2>/dev/null || ln "$H/v/d/named" "$H/v/name outside"
	rm -rf "$CASE_TMP/ref"
	cp -a "$H/v/d" "$CASE_TMP/ref"
	sync -f "$H"
}

# listed WORDS: protect tells of these, and what it needs has them at full size; then it does it, and back.
listed() {
	fallocate -l $(($(df_field avail "$H") - 80000000)) "$H/other"
	status 9 protect "$H/v/d"
	said "d/large shares its space"
	said "d/named has names outside"
	! grep -q 'd/alone' "$CASE_TMP/said" || fail "it lists what is alone: $(cat "$CASE_TMP/said")"
	said 'needs \(9[0-9]\|1[0-9][0-9]\) MiB of free space'
	compare "$CASE_TMP/ref" "$H/v/d"
	rm "$H/other"
	sync -f "$H"
	status 0 protect "$H/v/d" --kdf interactive
	said "d/large shares its space"
	compare "$CASE_TMP/ref" "$H/v/d"
	status 0 unprotect "$H/v/d"
	compare "$CASE_TMP/ref" "$H/v/d"
}

for fs in xfs btrfs; do
	say "$fs, a reflink"
	begin $fs
	cp --reflink=always "$H/v/d/large" "$H/copy"
	sync -f "$H"
	listed
	cmp "$H/copy" "$CASE_TMP/ref/large"
	[ ! -s "$H/v/.d.fusecrypt-moving" ] || fail "something is left"
	host_umount "$H"
done

say "btrfs, a snapshot"
begin btrfs
btrfs subvolume snapshot "$H/v" "$H/snapshot" >/dev/null
sync -f "$H"
status 0 protect "$H/v/d" --kdf interactive
for name in large named alone; do
	said "d/$name shares its space"
	cmp "$H/snapshot/d/$name" "$CASE_TMP/ref/$name"
done
compare "$CASE_TMP/ref" "$H/v/d"
status 0 unprotect "$H/v/d"
compare "$CASE_TMP/ref" "$H/v/d"

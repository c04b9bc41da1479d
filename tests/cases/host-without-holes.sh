#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A host without holes and with a limit of 4 GiB (vfat), one without limits (ramfs):
# the container works, or is refused clearly and nothing is left.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_root
need_fusecrypt
try() {
	local dir=$CASE_TMP/$1/c code=0
	with_loop "$1" 400M "$CASE_TMP/$1"
	mkdir "$dir" "$dir/mnt"
	echo words >"$dir/pass"
	fc init "$dir/box" --kdf interactive --passphrase-file "$dir/pass" >"$CASE_TMP/said" 2>&1 || code=$?
	say "$1: init says $code: $(cat "$CASE_TMP/said")"
	if [ $code -ne 0 ]; then
		[ $code -eq 1 ] || fail "refused with status $code"
		grep -qiE 'hole|sparse|punch|4 GiB|vfat|file system' "$CASE_TMP/said" || fail "it does not say why"
		[ ! -e "$dir/box" ] || fail "a refused init left a file"
	else
		fc_mount "$dir"
		head -c 50000000 /dev/urandom >"$CASE_TMP/piece"
		cp "$CASE_TMP/piece" "$dir/mnt/piece" || fail "writing"
		rm "$dir/mnt/piece"
		cp "$CASE_TMP/piece" "$dir/mnt/again" || fail "writing again"
		fc_remount "$dir"
		cmp "$CASE_TMP/piece" "$dir/mnt/again"
		fc_umount "$dir"
	fi
	host_umount "$CASE_TMP/$1"
}
try ramfs
can_loop vfat || {
	say "vfat: not tried, the kernel has none"
	exit 0
}
try vfat

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 240
# The host is filled by writing inside. Afterwards the container mounts, holds all
# that was synced, and removing frees space. On ext4, xfs and btrfs.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_root
need_fusecrypt
try() {
	local fs=$1 size=$2 host="$CASE_TMP/host-$1" box n=0
	say "host: $fs"
	can_loop "$fs" || {
		say "not tried"
		return 0
	}
	with_loop "$fs" "$size" "$host"
	box=$host/c
	fc_init "$box"
	fc_mount "$box"
	# files that are synced, until one is refused
	while [ $n -lt 2000 ]; do
		head -c 1000000 /dev/urandom >"$CASE_TMP/piece"
		if ! dd if="$CASE_TMP/piece" of="$box/mnt/f$n" bs=1M conv=fsync status=none 2>"$CASE_TMP/said"; then
			said "no space"
			break
		fi
		sha256sum <"$CASE_TMP/piece" >"$CASE_TMP/sum$n"
		n=$((n + 1))
	done
	[ $n -ge 5 ] && [ $n -lt 2000 ] || fail "$n files of 1 MB fit into a host of $size"
	say "$n files of 1 MB fit"
	# small ones, to fill what is left, without a sync each
	for i in $(seq 3000); do
		echo "small $i" >"$box/mnt/small$i" || break
	done 2>"$CASE_TMP/said"
	ls "$box/mnt" >/dev/null
	fc_umount "$box" || fail "umount of a full host"
	fc_mount "$box" || fail "mount on a full host"
	for ((i = 0; i < n; i++)); do
		sha256sum <"$box/mnt/f$i" | cmp -s - "$CASE_TMP/sum$i" || fail "f$i, which was synced, has changed"
	done
	find "$box/mnt" -type f -print0 | xargs -0 cat >/dev/null || fail "a file that is there cannot be read"
	rm -f "$box/mnt"/f[0-9] "$box/mnt"/small* || fail "removing on a full host"
	fc sync "$box/mnt" || fail "sync after removing"
	for _ in $(seq 50); do
		[ "$(df_field avail "$box/mnt")" -lt 2500000 ] || break
		fc sync "$box/mnt"
		sleep 0.1
	done
	dd if="$CASE_TMP/piece" of="$box/mnt/again" bs=1M conv=fsync status=none || fail "no space after removing"
	fc_remount "$box"
	cmp "$CASE_TMP/piece" "$box/mnt/again"
	fc_umount "$box"
	if fc help check >/dev/null 2>&1; then
		fc check "$box/box" --passphrase-file "$box/pass" || fail "check says $?"
	fi
	host_umount "$host"
}
can_loop ext4 || skip "no loop devices with ext4"
try ext4 64M
try btrfs 160M
try xfs 320M

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A disk image in the mount, as a loop device with a file system of its own.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_root
need losetup mkfs.ext4 e2fsck
[ -e /dev/loop-control ] || skip "no loop devices"
fc_begin
truncate -s 96M "$M/disk"
mkfs.ext4 -q -b 4096 "$M/disk"
make_tree "$CASE_TMP/tree" 600
mkdir "$CASE_TMP/disk"
use() {
	loop=$(losetup --find --show "$M/disk") || skip "no free loop device"
	host_mount "$CASE_TMP/disk" "$loop"
	losetup -d "$loop"
}
unuse() {
	host_umount "$CASE_TMP/disk"
	for _ in $(seq 50); do # the device lets go a moment after umount
		losetup -l -n -O BACK-FILE | grep -qF "$M/disk" || break
		sleep 0.1
	done
}
use
cp -a "$CASE_TMP/tree" "$CASE_TMP/disk/"
sync -f "$CASE_TMP/disk"
compare "$CASE_TMP/tree" "$CASE_TMP/disk/tree"
unuse
e2fsck -fn "$M/disk" || fail "the image is damaged"
fc_remount "$D"
e2fsck -fn "$M/disk" || fail "the image is damaged after mounting again"
use
compare "$CASE_TMP/tree" "$CASE_TMP/disk/tree"
rm -rf "$CASE_TMP/disk/tree"
unuse

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Bind mounts of the mount and of directories in it; unmounting is refused while one is there.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_root
fc_begin
mkdir -p "$M/a/b" "$CASE_TMP/bound" "$CASE_TMP/whole"
echo one >"$M/a/b/file"
host_mount "$CASE_TMP/bound" --bind "$M/a/b"
equal "$(cat "$CASE_TMP/bound/file")" one "read through the bind mount"
echo two >"$CASE_TMP/bound/file"
equal "$(cat "$M/a/b/file")" two "written through the bind mount"
mv "$M/a" "$M/moved"
equal "$(cat "$CASE_TMP/bound/file")" two "after its parent was renamed"
mount -o remount,bind,ro "$CASE_TMP/bound"
! touch "$CASE_TMP/bound/file" 2>/dev/null || fail "written through a read-only bind mount"
echo three >"$M/moved/b/file"
equal "$(cat "$CASE_TMP/bound/file")" three "the read-only bind mount follows"
host_mount "$CASE_TMP/whole" --bind "$M"
equal "$(cat "$CASE_TMP/whole/moved/b/file")" three "read through a bind mount of the whole"

if [ -z "${FC_PLAIN:-}" ]; then
	# As long as it can be read elsewhere, it is not unmounted.
	status 7 fc umount "$M"
	said "$CASE_TMP/bound"
	equal "$(cat "$M/moved/b/file")" three "read after a refused umount"
fi
host_umount "$CASE_TMP/whole"
host_umount "$CASE_TMP/bound"
# A bind mount onto a directory inside
mkdir "$CASE_TMP/outside" "$M/inner"
echo outside >"$CASE_TMP/outside/file"
host_mount "$M/inner" --bind "$CASE_TMP/outside"
equal "$(cat "$M/inner/file")" outside "read through a mount inside"
! rmdir "$M/inner" 2>/dev/null || fail "a mount point inside was removed"
host_umount "$M/inner"
equal "$(ls "$M/inner")" "" "after that"
fc_remount "$D"
equal "$(cat "$M/moved/b/file")" three "after mounting again"

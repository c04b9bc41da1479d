#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A second mount is refused and names the holder, also for another user; readers
# share; nobody writes beside them.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
fc_begin
echo x >"$M/f"
mkdir "$CASE_TMP/second"
pid=$(fc_field "$D" pid)
status 7 fc mount "$D/box" "$CASE_TMP/second" --passphrase-file "$D/pass"
said "$pid"
said "$M"
status 7 fc mount "$D/box" "$CASE_TMP/second" --read-only --passphrase-file "$D/pass"
ln "$D/box" "$CASE_TMP/link"
status 7 fc mount "$CASE_TMP/link" "$CASE_TMP/second" --passphrase-file "$D/pass"
! fc init "$D/box" --kdf interactive --passphrase-file "$D/pass" 2>"$CASE_TMP/said" || fail "init over a container in use"
said "exist\|in use"
equal "$(cat "$M/f")" x "the first mount goes on"
fc_umount "$D"

fc_mount "$D" --read-only
status 0 fc mount "$D/box" "$CASE_TMP/second" --read-only --passphrase-file "$D/pass"
equal "$(cat "$M/f" "$CASE_TMP/second/f")" "x
x" "two readers"
mkdir "$CASE_TMP/third"
status 7 fc mount "$D/box" "$CASE_TMP/third" --passphrase-file "$D/pass"
status 0 fc umount "$CASE_TMP/second"
fc_umount "$D"
fc_mount "$D"
if [ "$(id -u)" -eq 0 ]; then # another user, who may even read and write the file
	chmod 666 "$D/box" "$D/pass"
	chmod 755 "$CASE_TMP" "$D"
	as_user mkdir -p "$CASE_TMP/home-fctest-a/mnt"
	status 7 as_user "$FUSECRYPT" mount "$D/box" "$CASE_TMP/home-fctest-a/mnt" --passphrase-file "$D/pass"
fi

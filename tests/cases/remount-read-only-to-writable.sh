#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What root's mount(8) mounted read-only, with a crash's log, becomes writable by remount: the log
# is replayed, files that were deleted while open are removed, and who reads goes on reading.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
# shellcheck source=tests/cases/lib-mount8.sh
. "$SOURCE/tests/cases/lib-mount8.sh"
pass=passphrase-file=$D/pass
state() { sha256sum <"$D/box"; }
mount_ro() {
	status 0 mount -t fusecrypt -o "ro,$pass${1:+,$1}" "$D/box" "$M"
	FC_STACK+=("container $D")
}

# a log, and files without a name in it
fc_init "$D"
fc_mount "$D" -o commit=600
make_tree "$CASE_TMP/tree" 200
cp -a "$CASE_TMP/tree" "$M/tree"
fc sync "$M"
head -c 3000000 /dev/urandom >"$M/large"
cp "$M/large" large
echo synced >"$M/synced"
exec 8>"$M/gone"
head -c 500000 /dev/urandom >&8
rm "$M/gone"
sync "$M/synced" "$M/large" "$M"
exec 8>&-
fc_kill "$D"
before=$(state)

mount_ro
pid=$(fc_field "$D" pid)
equal "$(cat "$M/synced")" synced "what only the log has, read-only"
exec 8<"$M/large"
head -c 1000000 <&8 >part
cd "$M/tree"
equal "$(state)" "$before" "the container after a read-only mount"
status 0 mount -o remount,rw "$M"
cd "$CASE_TMP"
equal "$(fc_field "$D" read_only)" False "read_only of status"
equal "$(fc_field "$D" pid)" "$pid" "the daemon"
cat <&8 >>part
exec 8<&-
cmp part large
compare "$CASE_TMP/tree" "$M/tree"
echo more >>"$M/synced"
rm "$M/large"
mkdir "$M/new"
fc sync "$M"
status 7 fc mount "$D/box" "$M/new" --read-only --passphrase-file "$D/pass"
fc_umount "$D"
[ "$(state)" != "$before" ] || fail "nothing was written"
status 0 fc check "$D/box" --passphrase-file "$D/pass"
fc_mount "$D"
equal "$(ls "$M")" "new
synced
tree" "names after mounting it anew"
equal "$(cat "$M/synced")" "synced
more" "what was written after the remount"
# what was written then survives a crash, too
fc_umount "$D"
mount_ro
status 0 mount -o remount,rw "$M"
echo again >"$M/again"
sync "$M/again" "$M"
fc_kill "$D"
fc_mount "$D"
equal "$(cat "$M/again")" again "what was synced after the remount, after a crash"
fc_umount "$D"

# refused: while another one reads it, without the log, and where mount(8) did not mount it
before=$(state)
mount_ro
mkdir other
status 0 fc mount "$D/box" other --read-only --passphrase-file "$D/pass"
status 32 mount -o remount,rw "$M"
said 'mounted elsewhere'
status 0 fc umount other
fc_umount "$D"
mount_ro norecovery
status 32 mount -o remount,rw "$M"
said 'mount it anew'
fc_umount "$D"
fc_mount "$D" --read-only
status 32 mount -o remount,rw "$M"
said 'mount it anew'
! touch "$M/file" 2>/dev/null || fail "it became writable all the same"
fc_umount "$D"
equal "$(state)" "$before" "the container after what was refused"

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A read-only mount leaves the file bit-identical, also when a crash left a log, which
# is replayed in memory. Reading changes nothing either; a commit moves the mtime.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
fc_init "$D"
state() { sha256sum <"$D/box" && stat -c '%y %z %s %b' "$D/box"; }
fc_mount "$D"
make_tree "$CASE_TMP/tree" 300
cp -a "$CASE_TMP/tree" "$M/tree"
fc_umount "$D"
before=$(state)
fc_mount "$D" --read-only
equal "$(fc_field "$D" read_only)" True "read_only of status"
compare "$CASE_TMP/tree" "$M/tree"
for command in "touch $M/new" "rm -r $M/tree" "mkdir $M/new" "chmod 700 $M/tree" "mv $M/tree $M/other" "ln -s x $M/new"; do
	! $command 2>"$CASE_TMP/said" || fail "done on a read-only mount: $command"
	said "read-only"
done
fc_umount "$D"
equal "$(state)" "$before" "the container after a read-only mount"
fc_mount "$D" -o ro
equal "$(ls "$M")" tree "names with -o ro"
fc_umount "$D"
equal "$(state)" "$before" "the container after a mount with -o ro"

# a log left by a crash
fc_mount "$D" -o commit=600
touch "$M/first"
fc sync "$M" # what a session syncs first is a commit
echo synced >"$M/synced"
sync "$M/synced"
sync "$M"
fc_kill "$D"
before=$(state)
for _ in 1 2; do
	fc_mount "$D" --read-only
	equal "$(cat "$M/synced")" synced "what is only in the log, read-only"
	compare "$CASE_TMP/tree" "$M/tree"
	fc_umount "$D"
	equal "$(state)" "$before" "the container with a log after a read-only mount"
done

# the log left out: the state of the last commit, only for reading
fc_mount "$D" -o ro,norecovery
[ -e "$M/first" ] || fail "norecovery does not show the last commit"
[ ! -e "$M/synced" ] || fail "norecovery shows what only the log has"
compare "$CASE_TMP/tree" "$M/tree"
if [ "$(id -u)" -eq 0 ]; then
	status 1 fstrim "$M"
fi
fc_umount "$D"
equal "$(state)" "$before" "the container after a mount with norecovery"
status 2 fc mount "$D/box" "$M" -o norecovery --passphrase-file "$D/pass"
said 'needs ro'

# a read-only file, which its owner may not write
fc_mount "$D"
equal "$(cat "$M/synced")" synced "what was in the log"
fc_umount "$D"

# used for reading only, the mtime stays; a write moves it
fc_mount "$D" -o noatime
before=$(stat -c %Y.%y "$D/box")
find "$M" -type f -exec cat {} + >/dev/null
fc sync "$M"
sleep 6
equal "$(stat -c %Y.%y "$D/box")" "$before" "mtime after reading"
echo changed >>"$M/synced"
fc sync "$M"
[ "$(stat -c %Y.%y "$D/box")" != "$before" ] || fail "the mtime did not move by a commit"

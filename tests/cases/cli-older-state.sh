#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A container put back to an older state is refused once, with what is known; then
# accepted, and it goes on.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
fc_begin
echo one >"$M/file"
fc_umount "$D"
cp "$D/box" yesterday
fc_mount "$D"
echo two >"$M/file"
fc_umount "$D"
[ -n "$(ls "$HOME/.local/state/fusecrypt/")" ] || fail "no state was kept"
cp "$D/box" today

cp yesterday "$D/box"
status 10 fc mount "$D/box" "$M" --passphrase-file "$D/pass"
said 'generation [0-9]* of [0-9-]*T[0-9:]*Z'
said 'accept-older'
status 10 fc mount "$D/box" "$M" --read-only --passphrase-file "$D/pass"
# the newer one still works
cp today "$D/box"
fc_mount "$D"
equal "$(cat "$M/file")" two content
fc_umount "$D"

cp yesterday "$D/box"
fc_mount "$D" --accept-older
equal "$(cat "$M/file")" one "content of yesterday"
echo three >"$M/file"
fc_umount "$D"
fc_mount "$D" # needs no accepting any more
equal "$(cat "$M/file")" three content
fc_umount "$D"
# and now the other history is the older one
cp today "$D/box"
status 10 fc mount "$D/box" "$M" --passphrase-file "$D/pass"
# on a machine that has seen nothing it opens
HOME=$CASE_TMP/tmp fc_mount "$D"
equal "$(cat "$M/file")" two content
fc_umount "$D"

# a state file that was damaged locks nobody out
for file in "$HOME"/.local/state/fusecrypt/*; do
	echo nonsense >"$file"
done
status 0 fc mount "$D/box" "$M" --passphrase-file "$D/pass"
said 'warning'
FC_STACK+=("container $D")
echo x >"$M/x"
fc_umount "$D"
grep -q '^generation' "$HOME"/.local/state/fusecrypt/* || fail "the state is not kept anew"

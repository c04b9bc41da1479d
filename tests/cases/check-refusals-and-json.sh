#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# check reads everything, changes nothing, and is refused what is in use.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt

check() { fc check "$D/box" --passphrase-file "$D/pass" "$@"; }
field() { py -c 'import json, sys; print(json.load(open("found"))[sys.argv[1]])' "$1"; }

fc_begin
make_tree "$CASE_TMP/tree" 200
pack "$CASE_TMP/tree" "$CASE_TMP/tree.tar"
unpack "$CASE_TMP/tree.tar" "$M"
pid=$(fc_field "$D" pid)

# mounted, for writing or only for reading
status 7 check
said "by pid $pid, mounted at $M"
status 7 check --repair
fc_remount "$D" --read-only
status 7 check
said "mounted at $M"
status 7 check --repair
fc_umount "$D"

# a sound one: not a byte is changed, not even the times
before=$(sha256sum <"$D/box") times=$(stat -c '%y %z' "$D/box")
status 0 check
said 'no damage'
check --json >found
equal "$(field state)" clean state
equal "$(field damages)" 0 damages
equal "$(field findings)" '[]' findings
equal "$(field files)" "$(find "$CASE_TMP/tree" -type f -printf '%i\n' | sort -u | wc -l)" files
equal "$(field directories)" "$(find "$CASE_TMP/tree" -type d -printf '%i\n' | wc -l)" directories
equal "$(field symlinks)" "$(find "$CASE_TMP/tree" -type l -printf '%i\n' | sort -u | wc -l)" symlinks
equal "$(field names)" "$(find "$CASE_TMP/tree" -mindepth 1 -printf '%i\n' | wc -l)" names
[ "$(field bytes_read)" -gt 0 ] || fail "nothing was read"
status 0 check --repair
equal "$(sha256sum <"$D/box")" "$before" "content of the container"
equal "$(stat -c '%y %z' "$D/box")" "$times" "times of the container"

# a crash with a live log: replayed in memory only
fc_mount "$D"
echo synced >"$M/synced"
py -c 'import os, sys; os.fsync(os.open(sys.argv[1], os.O_RDONLY))' "$M/synced"
echo again >"$M/synced-too"
py -c 'import os, sys; os.fsync(os.open(sys.argv[1], os.O_RDONLY))' "$M/synced-too"
fc_kill "$D"
before=$(sha256sum <"$D/box")
check --json >found
equal "$(field state)" clean "state after a crash"
[ "$(field log_records)" -ge 1 ] || fail "no record of the log was read"
equal "$(sha256sum <"$D/box")" "$before" "content of the container after a crash"
fc_mount "$D"
equal "$(cat "$M/synced-too")" again content
fc_umount "$D"

# what is wrong with the arguments, the key, the file
status 2 fc check
status 2 fc check "$D/box" other
status 2 check --no-such-option
echo wrong >wrong
status 3 fc check "$D/box" --passphrase-file wrong
echo text >text
status 5 fc check text --passphrase-file "$D/pass"
status 5 fc check "$CASE_TMP/tree" --passphrase-file "$D/pass"
status 1 fc check missing --passphrase-file "$D/pass"

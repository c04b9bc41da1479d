#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 300
# A file system that is 80 % full, one file larger than what is free: protected in place and
# back, with everything that a file has; the container grows and shrinks on the way.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
# shellcheck source=tests/cases/lib-protect.sh
. "$SOURCE/tests/cases/lib-protect.sh"
protect_host "${FC_PROTECT_SIZE:-200M}" "${FC_PROTECT_FILES:-700}" "${FC_PROTECT_LARGE:-70000000}"
cp -a "$CASE_TMP/ref/d" "$H/d"
fill_up 80
ln "$H/other" "$H/other name"
[ "$(df_field avail "$H")" -lt "$(stat -c %s "$H/d/large")" ] || fail "the large file would fit as it is"
before=$(df_field avail "$H")

# the curve of what is in use while it moves: never full
(
	while [ -d "$H/d" ]; do
		df_field avail "$H"
		sleep 0.2
	done >"$CASE_TMP/curve"
) &
watch=$!
status 0 protect "$H/d" --kdf interactive
said 'flash disk'
is_protected_left=$(ls -A "$H/d" | wc -l)
[ "$is_protected_left" -gt 3 ] || fail "it is empty"
rm "$H/other name"
is_protected
kill $watch
wait $watch 2>/dev/null || true
[ "$(sort -n "$CASE_TMP/curve" | head -n 1)" -gt 0 ] || fail "the disk was full on the way"
cost=$((before - $(df_field avail "$H")))
data=$(du -B1 -s "$CASE_TMP/ref/d" | cut -f 1)
[ "$cost" -le $((33554432 + data / 50)) ] || fail "it takes $cost bytes more than before"
status 0 fc list
said "$H/d"

# it is what any container is, and its daemon any daemon: a signal has it unmount
kill "$(fc status "$H/d" --json | py -c 'import json, sys; print(json.load(sys.stdin)["pid"])')"
for _ in $(seq 100); do
	mountpoint -q "$H/d" || break
	sleep 0.1
done
! mountpoint -q "$H/d" || fail "SIGTERM does not end its daemon"
status 0 fc unlock "$H/d" --passphrase-file "$CASE_TMP/pass"
echo more >"$H/d/later"
status 0 fc lock "$H/d"
equal "$(ls "$H/d")" FUSECRYPT-LOCKED.txt "what a locked directory shows"
status 0 fc check "$H/d.fusecrypt" --passphrase-file "$CASE_TMP/pass"
status 0 fc unlock "$H/d" --passphrase-file "$CASE_TMP/pass"
rm "$H/d/later"
touch -d '2001-02-03 04:05:06.789' "$H/d"
status 1 protect "$H/d"
said 'mounted container already'
status 0 fc lock "$H/d"
status 1 protect "$H/d"
said 'protected already'

# back, from a locked one
status 3 fc unprotect "$H/d" --passphrase-file "$CASE_TMP/wrong"
status 0 unprotect "$H/d"
is_plain
status 0 fc list
[ ! -s "$CASE_TMP/said" ] || fail "it is still registered"
left=$((before - $(df_field avail "$H")))
[ "$left" -le 1048576 ] || fail "$left bytes did not come back"

# once more, from an unlocked one, as objects
status 0 protect "$H/d" --kdf interactive --json
said '"done":"in"'
status 0 unprotect "$H/d" --json
said '"done":"out"'
is_plain

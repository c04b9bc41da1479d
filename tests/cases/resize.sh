#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# resize sets and lifts the size limit, mounted and not, durably; below what is in use
# it is refused and nothing changes; only the owner of a mount may.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
M=$CASE_TMP/c/mnt D=$CASE_TMP/c
fc_init "$D" --log-size 1M --size-limit 64M
limit() { fc status "$@" --json | py -c 'import json, sys; print(json.load(sys.stdin)["bytes_limit"])'; }
with() { "$@" --passphrase-file "$D/pass"; }

# mounted
fc_mount "$D"
head -c 30000000 /dev/urandom >file
cp file "$M/a"
cp file "$M/b" 2>"$CASE_TMP/said" && fail "60 MB fit into a limit of 64 MiB"
said 'no space'
rm "$M/b"
sync -f "$M" || true # tells of the error above
equal "$(limit "$M")" 67108864 "limit at first"
status 9 fc resize "$M" 30M
said 'lowest limit is'
equal "$(limit "$M")" 67108864 "limit after a refusal"
status 0 fc resize "$M" 200M
equal "$(limit "$M")" 209715200 "a larger limit"
[ "$(df_field size "$M")" -le 209715200 ] || fail "df shows more than the limit"
cp file "$M/b"
sync -f "$M"
fc sync "$M"
cmp file "$M/b"
status 9 fc resize "$D/box" 60M # by the container, whose daemon is asked
rm "$M/b"
# the lowest that is offered is accepted, and what was there stays
for _ in $(seq 100); do # what was removed is free again some commits later
	status 9 fc resize "$M" 24M
	least=$(sed -n 's/.*lowest limit is \([0-9]*\) .*/\1/p' "$CASE_TMP/said")
	[ "$least" -gt 50000000 ] || break
	: >"$M/touch"
	fc sync "$M"
done
[ "$least" -le 50000000 ] || fail "30 MB in use: the lowest limit is $least"
status 0 fc resize "$M" "$least"
cmp file "$M/a"
head -c 20000000 file >"$M/c" 2>/dev/null && fail "20 MB more fit into the lowest limit"
rm "$M/c"
sync -f "$M" || true
fc_remount "$D"
equal "$(limit "$M")" "$least" "limit after mounting again"
cmp file "$M/a"
status 0 fc resize "$M" none
equal "$(limit "$M")" 0 "no limit"
fc_umount "$D"

# not mounted
status 0 with fc resize "$D/box" 100M
equal "$(with limit "$D/box")" 104857600 "limit set without a mount"
status 9 with fc resize "$D/box" 24M
equal "$(with limit "$D/box")" 104857600 "limit after a refusal without a mount"
status 3 sh -c "echo no | '$FUSECRYPT' resize '$D/box' 200M --passphrase-file -"
status 1 fc resize "$D/box" 200M </dev/null
status 0 with fc resize "$D/box" none
fc_mount "$D" --read-only
status 1 fc resize "$M" 100M
said 'read-only'
fc_umount "$D"
fc_mount "$D"
cmp file "$M/a"
fc_umount "$D"
status 0 fc check "$D/box" --passphrase-file "$D/pass"

# another user, let in by allow_other
if [ "$(id -u)" -eq 0 ]; then
	chmod 755 "$CASE_TMP" "$D" "$M"
	fc_mount "$D" -o allow_other
	chmod 755 "$M"
	cd /
	status 1 as_other "$FUSECRYPT" resize "$M" 100M
	said 'another user'
	equal "$(limit "$M")" 0 "limit after another user's try"
fi

status 2 fc resize "$M"
status 2 fc resize "$M" 0
status 2 fc resize "$M" 10X
status 2 fc resize "$M" -- -1
status 1 fc resize "$CASE_TMP/absent" 1G
status 8 fc resize "$CASE_TMP" 1G
status 5 fc resize "$CASE_TMP/file" 1G --passphrase-file "$D/pass"

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# status and its JSON: the fields that are promised, with their values.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
fc_init "$D"
json() { fc status "$@" --json >json; }
field() { py -c 'import json, sys; print(json.dumps(json.load(open("json"))[sys.argv[1]]))' "$1"; }
json "$D/box"
equal "$(field container)" "\"$D/box\"" container
equal "$(field state)" '"unmounted"' state
equal "$(field format)" 1 format
for one in pid mountpoint read_only generation bytes_limit bytes_used; do
	equal "$(field $one)" null "$one of what is not open"
done
equal "$(field bytes_allocated)" "$(du -B1 "$D/box" | cut -f 1)" bytes_allocated
field uuid | grep -qE '^"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"$' || fail "uuid: $(field uuid)"
field created | grep -qE '^"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z"$' || fail "created: $(field created)"
uuid=$(field uuid)

# with a secret it is opened, and nothing is changed
sum=$(sha256sum <"$D/box")
json "$D/box" --passphrase-file "$D/pass"
equal "$(field state)" '"unmounted"' state
equal "$(field bytes_limit)" 0 bytes_limit
[ "$(field generation)" -ge 1 ] || fail "generation: $(field generation)"
[ "$(field bytes_used)" -gt 0 ] || fail "bytes_used: $(field bytes_used)"
equal "$(sha256sum <"$D/box")" "$sum" "a container looked at"
status 3 fc status "$D/box" --passphrase-file /dev/null
echo wrong >wrong
status 3 fc status "$D/box" --passphrase-file wrong

fc_mount "$D"
head -c 3000000 /dev/urandom >"$M/file"
fc sync "$M"
for one in "$D/box" "$M" "$D/../c/box"; do
	json "$one"
	equal "$(field container)" "\"$D/box\"" container
	equal "$(field mountpoint)" "\"$M\"" mountpoint
	equal "$(field state)" '"mounted"' state
	equal "$(field uuid)" "$uuid" uuid
	equal "$(field read_only)" false read_only
	equal "$(field failed)" false failed
	[ "$(field bytes_used)" -ge 3000000 ] || fail "bytes_used: $(field bytes_used)"
	[ "$(field bytes_allocated)" -ge 3000000 ] || fail "bytes_allocated: $(field bytes_allocated)"
	tr '\0' ' ' <"/proc/$(field pid)/cmdline" | grep -q 'fusecrypt mount' || fail "pid: $(field pid)"
done
generation=$(field generation)
fc sync "$M"
echo x >"$M/more"
fc sync "$M"
json "$M"
[ "$(field generation)" -gt "$generation" ] || fail "a sync is a commit: generation $(field generation)"
status 0 fc status "$M"
said "^mountpoint  $M$"
fc_remount "$D" --read-only
json "$M"
equal "$(field read_only)" true read_only
fc_umount "$D"

status 1 fc status "$D/absent"
status 8 fc status "$D"
mv "$D/box" "$D/"$'box\xff\xfe'
json "$D/"$'box\xff\xfe'
equal "$(field container)" "\"$D/box\\ufffd\\ufffd\"" "a name that is not UTF-8"

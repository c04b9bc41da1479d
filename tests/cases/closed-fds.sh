#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Descriptors 0 to 2 closed: everything works, and no file takes their place.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
fc_init "$D"
sh -c '"$1" mount "$2/box" "$2/mnt" --passphrase-file "$2/pass"' sh "$FUSECRYPT" "$D" <&- >&- 2>&- || fail "mount with closed descriptors"
FC_STACK+=("container $D")
mountpoint -q "$M" || fail "not mounted"
pid=$(fc_field "$D" pid)
for fd in 0 1 2; do
	target=$(readlink "/proc/$pid/fd/$fd" || true)
	case $target in
	/dev/null | "") ;;
	*) fail "descriptor $fd of the daemon is $target" ;;
	esac
done
head -c 3000000 /dev/urandom >"$CASE_TMP/piece"
cp "$CASE_TMP/piece" "$M/piece"
ls /nothing "$M/nothing" 2>/dev/null || true
sh -c '"$1" sync "$2"' sh "$FUSECRYPT" "$M" <&- >&- 2>&- || fail "sync with closed descriptors"
sh -c '"$1" umount "$2"' sh "$FUSECRYPT" "$M" <&- >&- 2>&- || fail "umount with closed descriptors"
fc_forget "container $D"
! mountpoint -q "$M" || fail "still mounted"
# nothing but an error can come of asking without a terminal
code=0
timeout 20 sh -c '"$1" mount "$2/box" "$2/mnt"' sh "$FUSECRYPT" "$D" <&- >&- 2>&- || code=$?
[ $code -ne 0 ] && [ $code -ne 124 ] || fail "mount without a passphrase and a terminal: $code"
sh -c '"$1" init "$2/box2" --kdf interactive --passphrase-file "$2/pass"' sh "$FUSECRYPT" "$D" <&- >&- 2>&- || fail "init with closed descriptors"
fc_mount "$D"
cmp "$CASE_TMP/piece" "$M/piece"
# output that cannot be written is an error, not success
! "$FUSECRYPT" status "$M" --json >/dev/full 2>/dev/null || fail "status to a full device"

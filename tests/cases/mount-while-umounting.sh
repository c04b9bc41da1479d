#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A mount while the same container is being unmounted waits for that and is done; one of a
# container that stays mounted is refused.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
fc_begin
head -c 1000000 /dev/urandom >"$M/file"
sum=$(sha256sum <"$M/file")

# The daemon stands still longer than is waited for what only looks like an end.
halt() {
	daemon=$(fc_field "$D" pid)
	kill -STOP "$daemon"
	(sleep 5 && kill -CONT "$daemon") &
}

# the mount is still there, `umount` at work
halt
fc_forget "container $D"
"$FUSECRYPT" umount "$M" &
umount=$!
for _ in $(seq 80); do # until it has the container open
	! find "/proc/$umount/fd" -lname "$D/box" 2>/dev/null | grep -q . || break
	sleep 0.05
done
status 0 fc mount "$D/box" "$M" --passphrase-file "$D/pass"
FC_STACK+=("container $D")
said "waiting for pid $daemon"
wait "$umount" || fail "the umount that was waited for failed"
equal "$(sha256sum <"$M/file")" "$sum" "content after that"
[ "$(fc_field "$D" pid)" != "$daemon" ] || fail "the mount is the old one"

# the mount is gone, its daemon is not
if [ "$(id -u)" -eq 0 ]; then
	halt
	fc_forget "container $D"
	py -c 'import ctypes, sys
sys.exit(ctypes.CDLL(None).umount2(sys.argv[1].encode(), 0))' "$M"
	status 0 fc mount "$D/box" "$M" --passphrase-file "$D/pass"
	FC_STACK+=("container $D")
	said "waiting for pid $daemon"
	equal "$(sha256sum <"$M/file")" "$sum" "content after that"
fi

# unmounting was refused, so it stays mounted, and mounting is refused
exec 8<"$M/file"
status 7 fc umount "$M"
mkdir other
status 7 fc mount "$D/box" other --passphrase-file "$D/pass"
said "mounted at $M"
exec 8<&-
wait

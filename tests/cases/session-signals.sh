#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# SIGTERM, SIGINT and SIGHUP commit and unmount; while the mount is in use they commit
# and it stays.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
gone() {
	for _ in $(seq 150); do
		! ended "$1" || return 0
		sleep 0.1
	done
	return 1
}
fc_begin -o commit=3600

for signal in TERM INT HUP; do
	echo "$signal" >"$M/$signal"
	pid=$(fc_field "$D" pid)
	kill -"$signal" "$pid"
	gone "$pid" || fail "SIG$signal did not end the daemon"
	mountpoint -q "$M" && fail "still mounted after SIG$signal"
	fc_forget "container $D"
	fc_mount "$D" -o commit=3600
	equal "$(cat "$M/$signal")" "$signal" "what was written before SIG$signal"
done

# in use: what is written is committed, nothing else happens
pid=$(fc_field "$D" pid)
exec 8>"$M/open"
echo busy >"$M/busy"
before=$(fc_field "$D" generation)
kill -TERM "$pid"
for _ in $(seq 100); do
	[ "$(fc_field "$D" generation)" -gt "$before" ] && break
	sleep 0.05
done
[ "$(fc_field "$D" generation)" -gt "$before" ] || fail "SIGTERM while busy did not commit"
sleep 0.3
kill -0 "$pid" || fail "SIGTERM while busy ended the daemon"
echo more >&8
equal "$(cat "$M/open")" more "a file that was open"
exec 8>&-
kill -TERM "$pid"
gone "$pid" || fail "SIGTERM did not end the daemon once it was free"
fc_forget "container $D"
fc_mount "$D"
equal "$(cat "$M/busy" "$M/open")" "busy
more" "what was written while busy"

# a file system mounted over it is not taken away for it
need_root
mount -t tmpfs fctest "$M"
kill -TERM "$(pgrep -f "mount $D/box $M" | head -n 1)"
sleep 0.5
equal "$(stat -f -c %T "$M")" tmpfs "what is on top"
umount "$M"
equal "$(cat "$M/TERM")" TERM "what lies below"

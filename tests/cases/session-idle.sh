#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# -o idle=TIME unmounts when nothing was used for that long, and not while a file is
# open; an idle mount makes no wake-ups.
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
fc_begin -o idle=2
echo kept >"$M/file"
pid=$(fc_field "$D" pid)
for _ in $(seq 16); do # four seconds of use, all of it answered from the kernel's cache
	stat "$M/file" >"$CASE_TMP/said"
	sleep 0.25
done
kill -0 "$pid" || fail "unmounted while it was used"
exec 8<"$M/file"
sleep 5
kill -0 "$pid" || fail "unmounted while a file was open"
read -r -u 8 text
equal "$text" kept "the open file"
exec 8<&-
gone "$pid" || fail "still there after more than two idle seconds"
mountpoint -q "$M" && fail "still mounted"
fc_forget "container $D"

fc_mount "$D"
equal "$(cat "$M/file")" kept "the file after the mount went by itself"
ls "$M" >"$CASE_TMP/said"
pid=$(fc_field "$D" pid)
sleep 8 # the times of access are committed, free space is given back
switches() { cat "/proc/$pid/task/"*/status | awk '/^voluntary_ctxt/ { n += $2 } END { print n }'; }
before=$(switches)
sleep 6
woken=$(($(switches) - before))
[ "$woken" -le 4 ] || fail "an idle mount woke up $woken times in 6 seconds"

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# While large pieces arrive the kernel is told to write what is dirty, by a thread of the
# steward that begins then; and that never stands in the way of unmounting.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
need_root
fc_begin
[ -w "/sys/class/bdi/$(stat -c %Hd:%Ld "$M")/strict_limit" ] || skip "the kernel's limits cannot be set here"

threads() { ls "/proc/$steward/task" | wc -l; }
steward=$(pgrep -P "$(fc_field "$D" pid)" fusecrypt-aid) || fail "no steward"
head -c 3000000 /dev/urandom >"$M/small"
sync "$M"
equal "$(threads)" 1 "threads of the steward after a small file"
dd if=/dev/zero of="$CASE_TMP/source" bs=1M count=64 status=none
cp "$CASE_TMP/source" "$M/large"
for _ in $(seq 100); do
	[ "$(threads)" -eq 1 ] || break
	sleep 0.05
done
equal "$(threads)" 2 "threads of the steward after a large file"

for i in 1 2 3 4 5; do
	cp "$CASE_TMP/source" "$M/copy$i"
	py -c 'import ctypes, sys
sys.exit(ctypes.CDLL(None).umount2(sys.argv[1].encode(), 0))' "$M" || fail "umount right after copy $i"
	fc_forget "container $D"
	fc_mount "$D"
	cmp "$CASE_TMP/source" "$M/copy$i" || fail "copy $i differs"
done
fc_umount "$D"

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# statfs tells the truth (R6), at once, and follows what is written and removed.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
fc_begin
py - "$M" "$CASE_TMP" <<'END'
import os, sys, time
from lib import *
inside, outside = os.statvfs(sys.argv[1]), os.statvfs(sys.argv[2])
equal(inside.f_namemax, 255, "longest name")
equal((inside.f_bsize % 4096, inside.f_frsize), (0, 4096), "block sizes")
free, host = inside.f_bfree * inside.f_frsize, outside.f_bavail * outside.f_frsize
equal(host - (512 << 20) < free < host + (64 << 20), True, "free space beside the host's: %d, %d" % (free, host))
equal(inside.f_bavail <= inside.f_bfree <= inside.f_blocks, True, "free space within the size")
equal(inside.f_files - inside.f_ffree >= 0 and inside.f_ffree > 1000000, True, "inodes")
start = time.monotonic()
for _ in range(2000):
    os.statvfs(sys.argv[1])
equal(time.monotonic() - start < 5, True, "2,000 calls in less than 5 s")
END
used() {
	fc sync "$M"
	df_field used "$M"
}
inodes() { df_field iused "$M"; }
before=$(used) inodes=$(inodes)
head -c 33554432 /dev/urandom >"$M/f"
grown=$(($(used) - before))
[ $grown -ge 33554432 ] && [ $grown -le 35651584 ] || fail "32 MiB written show as $grown"
mkdir "$M/d"
equal "$(inodes)" $((inodes + 2)) "inodes in use"
rm "$M/f"
rmdir "$M/d"
equal "$(inodes)" "$inodes" "inodes after removing"
for _ in $(seq 100); do
	[ $(($(used) - before)) -gt 2097152 ] || break
	sleep 0.1
done
[ $(($(used) - before)) -le 2097152 ] || fail "the space did not come back: $(used), $before"
fc_umount "$D"

# With a limit the size is the limit, and what is beyond it is refused.
E=$CASE_TMP/limited
fc_init "$E" --size-limit 128M
fc_mount "$E"
size=$(df_field size "$E/mnt")
[ "$size" -le 134217728 ] && [ "$size" -ge 83886080 ] || fail "a limit of 128 MiB shows as $size"
free=$(df_field avail "$E/mnt")
head -c 268435456 /dev/zero >"$E/mnt/zeros" 2>"$CASE_TMP/said" && fail "256 MiB fit into 128"
said "no space"
[ "$(stat -c %b "$E/mnt/zeros")" -le 262144 ] || fail "more blocks than the limit allows: $(stat -c "%b %s" "$E/mnt/zeros")"
[ "$(stat -c %s "$CASE_TMP/limited/box")" -le 138412032 ] || fail "the container is larger than its limit"
[ "$(df_field avail "$E/mnt")" -le 8388608 ] || fail "free space at the limit"
rm "$E/mnt/zeros"
for _ in $(seq 150); do # by itself, within some commits
	[ "$(df_field avail "$E/mnt")" -lt $((free - 4194304)) ] || break
	sleep 0.2
done
[ "$(df_field avail "$E/mnt")" -ge $((free - 4194304)) ] || fail "removing did not free the space"
fc status "$E/mnt" --json | py -c '
import json, sys
from lib import *
st = json.load(sys.stdin)
equal(st["bytes_limit"], 134217728, "bytes_limit")
equal(0 < st["bytes_used"] <= st["bytes_limit"], True, "bytes_used")'

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 300
# What is removed goes back to the host without any command: `du` of the container
# is within 2 % + 32 MiB of what is in use.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
fc_begin
allocated() { du -B1 "$D/box" | cut -f 1; }
empty=$(allocated)
make_tree "$M/kept" 500
kept=$(du -s -B1 "$M/kept" | cut -f 1)
head -c 134217728 /dev/urandom >"$CASE_TMP/piece"
for n in 1 2 3 4 5 6; do cp --reflink=never "$CASE_TMP/piece" "$M/f$n"; done
sync -f "$M"
fc sync "$M"
[ "$(allocated)" -ge 805306368 ] || fail "768 MiB take $(allocated) bytes"
rm "$M/f1" "$M/f3" "$M/f5"
truncate -s 1000 "$M/f2"
: >"$M/f4"
fallocate -p -o 0 -l 134217728 "$M/f6"
sync -f "$M"
bound=$(((kept + empty) * 102 / 100 + 33554432))
for _ in $(seq 150); do # by itself, within some commits
	[ "$(allocated)" -gt $bound ] || break
	sleep 0.2
done
[ "$(allocated)" -le $bound ] || fail "the container takes $(allocated) bytes, right is at most $bound"
head -c 134217728 /dev/urandom >"$M/f7"
fc sync "$M"
full=$(allocated)
rm "$M/f7"
status 0 fstrim "$M"
[ $((full - $(allocated))) -ge 100000000 ] || fail "fstrim gave back $((full - $(allocated))) bytes of 128 MiB"
status 1 fstrim -l 100 "$M"
fc_remount "$D"
[ "$(allocated)" -le $bound ] || fail "after mounting again the container takes $(allocated) bytes, right is at most $bound"
equal "$(stat -c %s "$M/f2")" 1000 "size of a file that was cut"
head -c 1000 "$CASE_TMP/piece" | cmp - "$M/f2"

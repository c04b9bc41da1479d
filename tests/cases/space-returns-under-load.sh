#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# by hand
# timeout: 900
# What is removed goes back to the host within ten minutes also while somebody writes and removes
# without a pause: `du` of the container is within 2 % + 32 MiB of what is in use then.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
fc_begin
allocated() { du -B1 "$D/box" | cut -f 1; }
empty=$(allocated)
make_tree "$M/kept" 500
head -c 268435456 /dev/urandom >"$CASE_TMP/piece"
for n in 1 2 3 4; do cp --reflink=never "$CASE_TMP/piece" "$M/f$n"; done
fc sync "$M"
kept=$(du -s -B1 "$M/kept" | cut -f 1)
[ "$(allocated)" -ge 1073741824 ] || fail "1 GiB takes $(allocated) bytes"
mkdir "$M/busy"
(
	n=0
	while [ -d "$M/busy" ]; do
		head -c 1000000 "$CASE_TMP/piece" >"$M/busy/$((n % 20))" && echo $n >"$M/busy/small-$n" && rm -f "$M/busy/small-$((n - 100))"
		n=$((n + 1))
	done
) 2>/dev/null &
writer=$!
sleep 1
rm "$M/f1" "$M/f2" "$M/f3" "$M/f4"
start=$(date +%s)
busy=25000000
bound=$(((kept + empty + busy) * 102 / 100 + 33554432))
while [ "$(allocated)" -gt $bound ] && [ $(($(date +%s) - start)) -lt 600 ]; do sleep 1; done
say "after $(($(date +%s) - start)) s the container takes $(allocated) bytes, at most $bound is right"
now=$(allocated)
kill -0 $writer || fail "the writer has ended"
[ "$now" -le $bound ] || fail "under load the container takes $now bytes, right is at most $bound"
kill $writer
wait $writer 2>/dev/null || true

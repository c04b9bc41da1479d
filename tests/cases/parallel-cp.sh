#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 240
# Eight copies of a tree at once, then eight removals, while two others read.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
fc_begin
make_tree "$CASE_TMP/tree" 600
pids=()
for n in 1 2 3 4 5 6 7 8; do
	cp -a --reflink=never "$CASE_TMP/tree" "$M/copy$n" &
	pids+=($!)
done
while kill -0 "${pids[0]}" 2>/dev/null; do
	find "$M" -type f -print0 2>/dev/null | xargs -0 -r cat >/dev/null 2>&1 || true
done &
reader=$!
for pid in "${pids[@]}"; do wait "$pid" || fail "a copy failed"; done
wait $reader
for n in 1 2 3 4 5 6 7 8; do compare "$CASE_TMP/tree" "$M/copy$n"; done
# copies inside, at once
pids=()
for n in 1 2 3 4; do
	cp -a "$M/copy$n" "$M/inside$n" &
	pids+=($!)
	rm -rf "$M/copy$((n + 4))" &
	pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid" || fail "a copy or removal failed"; done
fc_remount "$D"
for n in 1 2 3 4; do
	compare "$CASE_TMP/tree" "$M/copy$n"
	compare "$CASE_TMP/tree" "$M/inside$n"
done
equal "$(ls "$M" | tr '\n' ' ')" "copy1 copy2 copy3 copy4 inside1 inside2 inside3 inside4 " "names"

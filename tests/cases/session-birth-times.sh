#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Files have a time of birth, which nothing moves.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
fc_begin
start=$(date +%s)
echo text >"$M/f"
mkdir "$M/d"
ln -s f "$M/l"
births() { stat -c %.9W "$M/f" "$M/d" "$M/l" | tr '\n' ' '; }
before=$(births)
for birth in $before; do
	[ "${birth%.*}" -ge $((start - 1)) ] && [ "${birth%.*}" -le "$(date +%s)" ] || fail "born at $birth, made at $start"
done
sleep 0.02
echo more >>"$M/f"
touch -d @1 "$M/f" "$M/d"
chmod 600 "$M/f"
touch "$M/d/x"
mv "$M/l" "$M/d/l" && mv "$M/d/l" "$M/l"
equal "$(births)" "$before" "times of birth after changes"
fc_remount "$D"
equal "$(births)" "$before" "times of birth in a new mount"

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Reading moves the access time as relatime says, and not at all with noatime.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
fc_begin
old=$(($(date +%s) - 1000))
head -c 100000 /dev/urandom >"$M/f"
echo small >"$M/small"
mkdir "$M/d"
set_times() { touch -d "@$1" "$M/f" "$M/small"; }
atime() { stat -c %X "$M/$1"; }
read_all() { cat "$M/f" "$M/small" >"$CASE_TMP/tmp/read"; }

set_times "$old"
fc_remount "$D" -o noatime
read_all
fc_remount "$D" -o noatime
equal "$(atime f) $(atime small)" "$old $old" "access times with noatime"

fc_remount "$D"
start=$(date +%s)
read_all
fc_remount "$D"
for file in f small; do
	[ "$(atime $file)" -ge "$start" ] || fail "reading $file, not read since it changed, left its access time"
done

# read since it changed, less than a day ago: stays
before="$(stat -c %x "$M/f") $(stat -c %x "$M/small")"
sleep 0.1
read_all
fc_remount "$D"
equal "$(stat -c %x "$M/f") $(stat -c %x "$M/small")" "$before" "access times of files read since they changed"

# read more than a day ago: moves
touch -d "@$((old - 200000))" "$M/f" "$M/small"
touch -a -d "@$((old - 190000))" "$M/f" "$M/small"
fc_remount "$D"
read_all
fc_remount "$D"
for file in f small; do
	[ "$(atime $file)" -ge "$start" ] || fail "reading $file after more than a day left its access time"
done

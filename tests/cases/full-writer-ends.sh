#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A program that writes until the disk is full ends, although its writes only go to the
# page cache; what others have is as it was, and once there is room a file is written
# again without an error.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
fc_init "$D" --size-limit 64M --log-size 256K
fc_mount "$D"
head -c 1000000 /dev/urandom >"$M/other"
sum=$(sha256sum <"$M/other")
for _ in 1 2; do
	code=0
	timeout 100 dd if=/dev/zero of="$M/fill" bs=1M 2>"$CASE_TMP/said" || code=$?
	[ $code -eq 1 ] || fail "dd ended with $code"
	said 'No space left'
	stat "$M/fill" >/dev/null
	equal "$(sha256sum <"$M/other")" "$sum" "the other file on the full disk"
	rm "$M/fill"
	fc sync "$M"
done
code=0
dd if=/dev/zero of="$M/fill" bs=1M 2>/dev/null || code=$?
equal "$code" 1 "dd's status"
truncate -s 0 "$M/fill"
fc sync "$M"
sleep 2
cp "$M/other" "$M/fill"
equal "$(sha256sum <"$M/fill")" "$sum" "the same file, when there is room"
fc_remount "$D"
equal "$(sha256sum <"$M/fill")" "$sum" "it, mounted again"

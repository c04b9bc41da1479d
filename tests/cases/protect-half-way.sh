#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 200
# Interrupted half-way through a large file: a wrong passphrase, the other command and a file
# that was changed since are noticed; --abort brings everything back.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
# shellcheck source=tests/cases/lib-protect.sh
. "$SOURCE/tests/cases/lib-protect.sh"
protect_host 140M 50 60000000
cp -a "$CASE_TMP/ref/d" "$H/d"
fill_up 68
J=$H/.d.fusecrypt-moving/journal

# half_way: ends protect by SIGINT when the large file has been cut.
half_way() {
	local pid
	for _ in 1 2 3 4 5; do
		"$FUSECRYPT" protect "$H/d" --kdf interactive --passphrase-file "$CASE_TMP/pass" >"$CASE_TMP/out" 2>&1 &
		pid=$!
		while kill -0 $pid 2>/dev/null && ! awk '$1 == "split" && $2 && $6 < $5 && $6 { found = 1 } END { exit !found }' "$J" 2>/dev/null; do
			sleep 0.01
		done
		kill -INT $pid 2>/dev/null || true
		if wait $pid; then
			fc unprotect "$H/d" --passphrase-file "$CASE_TMP/pass" >/dev/null
			continue
		fi
		grep -q interrupted "$CASE_TMP/out" || fail "$(cat "$CASE_TMP/out")"
		return
	done
	fail "it was never met half-way"
}

half_way
equal "$(stat -c %a "$H/.d.fusecrypt-moving")" 700 "mode of the folder"
[ -e "$H/d/FUSECRYPT-LOCKED.txt" ] || fail "the directory does not show that it is locked"
status 3 fc protect "$H/d" --passphrase-file "$CASE_TMP/wrong"
status 1 unprotect "$H/d"
said 'is being protected'
status 8 fc unlock "$H/d" --passphrase-file "$CASE_TMP/pass"
said 'being protected'
large=$(find "$H/.d.fusecrypt-moving/data" -name 'large*' | head -n 1)
[ -n "$large" ] || fail "the large file is not there any more"
size=$(stat -c %s "$large")
cp -a "$large" "$CASE_TMP/part"
echo changed >>"$large"
status 1 protect "$H/d"
said 'was changed meanwhile'
status 1 protect "$H/d" --abort
said 'was changed meanwhile'
truncate -s "$size" "$large"
touch -r "$CASE_TMP/part" "$large"
status 0 protect "$H/d" --abort
said 'ordinary directory again'
is_plain

half_way
status 0 protect "$H/d"
is_protected
status 0 unprotect "$H/d"
is_plain

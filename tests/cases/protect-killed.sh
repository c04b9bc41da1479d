#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 300
# kill -9 at random moments of protect and unprotect; then the next run goes on, or --abort
# brings everything back.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
# shellcheck source=tests/cases/lib-protect.sh
. "$SOURCE/tests/cases/lib-protect.sh"
moments=${FC_PROTECT_MOMENTS:-3}
protect_host 100M 300 30000000
cp -a "$CASE_TMP/ref/d" "$H/d"
fill_up 55
RANDOM=${FC_PROTECT_SEED:-$$}

# killed COMMAND MILLISECONDS: kill -9 after that time. False: it was done before.
killed() {
	local pid code=0 more=()
	[ "$1" = unprotect ] || more=(--kdf interactive)
	"$FUSECRYPT" "$1" "$H/d" --passphrase-file "$CASE_TMP/pass" "${more[@]}" >"$CASE_TMP/killed" 2>&1 &
	pid=$!
	sleep "$(printf '%d.%03d' $(($2 / 1000)) $(($2 % 1000)))"
	kill -9 $pid 2>/dev/null || true
	wait $pid 2>/dev/null || code=$?
	[ $code -eq 137 ] || [ $code -eq 0 ] || fail "$1 ended with $code: $(cat "$CASE_TMP/killed")"
	[ $code -eq 137 ]
}

millis() { date +%s%3N; }

start=$(millis)
status 0 protect "$H/d" --kdf interactive
took_in=$(($(millis) - start))
is_protected
start=$(millis)
status 0 unprotect "$H/d"
took_out=$(($(millis) - start))
is_plain

hits=0
for i in $(seq "$moments"); do
	say "moment $i"
	# in
	at=$((RANDOM * took_in / 32768))
	if killed protect $at; then hits=$((hits + 1)); fi
	if [ -e "$H/.d.fusecrypt-moving/journal" ] && [ $((i % 2)) -eq 0 ]; then
		status 0 protect "$H/d" --abort
		is_plain
	else
		# it may have been killed before it began, or when only the mount was missing
		if [ -e "$H/d/FUSECRYPT-LOCKED.txt" ] && [ ! -e "$H/.d.fusecrypt-moving" ]; then
			status 0 fc unlock "$H/d" --passphrase-file "$CASE_TMP/pass"
		elif ! mountpoint -q "$H/d"; then
			status 0 protect "$H/d" --kdf interactive
		fi
		is_protected
		status 0 unprotect "$H/d"
		is_plain
	fi
	# out
	status 0 protect "$H/d" --kdf interactive
	at=$((RANDOM * took_out / 32768))
	if killed unprotect $at; then hits=$((hits + 1)); fi
	if [ -e "$H/.d.fusecrypt-moving/journal" ] && [ $((i % 2)) -eq 1 ]; then
		status 0 unprotect "$H/d" --abort
		if mountpoint -q "$H/d"; then
			is_protected
			status 0 unprotect "$H/d"
		fi # else it was at its end, which nothing brings back
	elif [ -e "$H/d.fusecrypt" ] || [ -e "$H/.d.fusecrypt-moving" ]; then
		status 0 unprotect "$H/d"
	fi
	is_plain
done
[ "$hits" -ge "$moments" ] || fail "of $((2 * moments)) runs only $hits were killed before their end"

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 180
# compact moves what lies at the container's end down and cuts the file: mounted, with
# others writing and after interrupts, and not mounted. Shared blocks stay shared.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
fc_init "$D" --log-size 1M
size() { stat -c %s "$D/box"; }
used() { fc_field "$D" bytes_used; }
with() { "$@" --passphrase-file "$D/pass"; }
fill() { # files of which every other one goes again
	for n in 1 2 3 4 5 6 7 8; do
		head -c 20000000 /dev/urandom >"$M/${1}$n"
		sync -f "$M"
	done
	make_tree "$M/tree$1" 200
	cp --reflink=auto "$M/${1}8" "$M/${1}shared"
	rm "$M/${1}1" "$M/${1}3" "$M/${1}5" "$M/${1}7"
	fc sync "$M"
}
sums() { (cd "$M" && find . -type f -print0 | sort -z | xargs -0 md5sum); }

fc_mount "$D"
fill a
before=$(size)
in_use=$(used)
sums >before.md5
[ "$before" -gt 160000000 ] || fail "160 MB lie in $before bytes"
status 0 fc compact "$M"
said 'MiB moved, the file is [0-9]* MiB shorter'
[ "$(size)" -le $((in_use + 40000000)) ] || fail "$in_use bytes are in use, and the file has $(size) after it"
sums | cmp before.md5 -
[ "$(used)" -le $((in_use + 4000000)) ] || fail "shared blocks became two: $in_use, $(used)"
cp "$M/a2" "$CASE_TMP/a2"
echo more >>"$M/a2" # what was shared and moved is written anew
fc_remount "$D"
echo more >>"$CASE_TMP/a2"
cmp "$CASE_TMP/a2" "$M/a2"
cmp "$M/a8" "$M/ashared"
rm "$M/a2"
grep -av ' ./a2$' before.md5 >kept.md5
sums | cmp kept.md5 -
# again: nothing is left to do
status 0 fc compact "$M"
before=$(size)
status 0 fc compact "$M"
equal "$(size)" "$before" "size after compacting again"

# others write meanwhile; an interrupt and a kill in between
fill b
sums >before.md5
before=$(size)
(
	n=0
	while [ ! -e stop ]; do
		n=$((n + 1))
		head -c 300000 /dev/urandom >"$CASE_TMP/w$((n % 5))"
		cp "$CASE_TMP/w$((n % 5))" "$D/mnt/w$((n % 5))"
		sleep 0.02
	done
) &
for signal in INT KILL TERM; do
	"$FUSECRYPT" compact "$M" >"$CASE_TMP/out" 2>&1 &
	pid=$!
	sleep 0.3
	kill -$signal $pid 2>/dev/null || true
	got=0
	wait $pid || got=$?
	case $got in
	0 | 130 | 137) ;;
	*) fail "status $got after SIG$signal: $(cat "$CASE_TMP/out")" ;;
	esac
done
status 0 fc compact "$M"
: >stop
wait
for n in 0 1 2 3 4; do cmp "$CASE_TMP/w$n" "$M/w$n"; done
rm "$M"/w?
sums | cmp before.md5 -
[ "$(size)" -lt "$before" ] || fail "the file is as long as before"
fc_umount "$D"
status 0 with fc check "$D/box"

# not mounted
fc_mount "$D"
fill c
sums >before.md5
fc_umount "$D"
before=$(size)
status 3 sh -c "echo no | '$FUSECRYPT' compact '$D/box' --passphrase-file -"
status 0 with fc compact "$D/box"
[ "$(size)" -lt "$((before - 40000000))" ] || fail "not mounted, it went from $before to $(size) bytes"
status 0 with fc check "$D/box"
fc_mount "$D" --read-only
sums | cmp before.md5 -
status 1 fc compact "$M"
said 'read-only'
fc_umount "$D"
status 2 fc compact
status 8 fc compact "$CASE_TMP"
status 5 fc compact "$CASE_TMP/before.md5" --passphrase-file "$D/pass"

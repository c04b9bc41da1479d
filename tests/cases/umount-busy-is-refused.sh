#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# umount with an open file, a working directory, a map or a running program inside is
# refused with who holds it, never lazily; after success nothing is readable and the
# daemon is gone.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
fc_begin
echo secret >"$M/file"
mkdir "$M/dir"
cp "$(command -v sleep)" "$M/sleep"
daemon=$(fc_field "$D" pid)
refused() {
	status 7 fc umount "$M"
	said "$1"
	equal "$(cat "$M/file")" secret "read after a refused umount"
	kill -0 "$daemon" || fail "the daemon went"
	equal "$(fc_field "$D" state)" mounted "state after a refused umount"
}
# shellcheck disable=SC2217 # it holds the file
sleep 100 <"$M/file" &
refused $!
kill $!
wait $! || true
(cd "$M/dir" && exec sleep 100) &
holder=$!
for _ in $(seq 100); do
	[ "$(readlink /proc/$holder/cwd)" != "$M/dir" ] || break
	sleep 0.02
done
refused $holder
kill $holder
wait $holder || true
"$M/sleep" 100 &
holder=$!
for _ in $(seq 100); do
	[ "$(readlink /proc/$holder/exe)" != "$M/sleep" ] || break
	sleep 0.02
done
refused $holder
kill $holder
wait $holder || true
/usr/bin/python3 -c 'import mmap, os, sys, time
fd = os.open(sys.argv[1], os.O_RDONLY)
m = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
os.close(fd)
print("mapped", flush=True)
time.sleep(100)' "$M/file" >"$CASE_TMP/mapped" &
holder=$!
for _ in $(seq 100); do
	[ ! -s "$CASE_TMP/mapped" ] || break
	sleep 0.05
done
refused $holder
kill $holder
wait $holder || true
fc_umount "$D"
ended "$daemon" || fail "the daemon is still there after umount returned"
equal "$(ls -A "$M")" "" "names after umount"
! grep -rq secret "$M" || fail "content after umount"
flock -n "$D/box" true || fail "the container is still locked"
equal "$(fc status "$D/box" --json | py -c 'import json, sys; print(json.load(sys.stdin)["state"])')" unmounted "state"

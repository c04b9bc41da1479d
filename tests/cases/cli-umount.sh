#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# umount: refused while in use, naming who; never lazy; afterwards all is gone.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
fc_begin
printf 'int x;' >"$M/file"
cp /bin/sleep "$M/sleep"
busy() {
	status 7 fc umount "$M"
	said "$1"
	cmp -s <(printf 'int x;') "$M/file" || fail "after a refusal it is not there"
}
(cd "$M" && exec sleep 60) &
pid=$!
sleep 0.3
busy "sleep (pid $pid, working directory)"
kill $pid
wait $pid || true
tail -f "$M/file" >/dev/null &
pid=$!
sleep 0.3
busy "tail (pid $pid, open file)"
kill $pid
wait $pid || true
"$M/sleep" 60 &
pid=$!
sleep 0.3
busy "sleep (pid $pid, program)"
kill $pid
wait $pid || true
/usr/bin/python3 -c 'import ctypes, os, sys, time
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
fd = os.open(sys.argv[1], os.O_RDONLY)
libc.mmap(None, 4096, 1, 2, fd, ctypes.c_long(0))
os.close(fd)
print("mapped", flush=True)
time.sleep(60)' "$M/file" >started &
pid=$!
while [ ! -s started ]; do sleep 0.1; done
busy "(pid $pid, mapped file)"
kill $pid
wait $pid || true

if [ "$(id -u)" -eq 0 ]; then
	# another place that shows it would keep it open
	mkdir bound "$M/inside"
	mount --bind "$M" bound
	FC_STACK+=("host $CASE_TMP/bound")
	busy "also mounted at $CASE_TMP/bound"
	host_umount "$CASE_TMP/bound"
	mount -t tmpfs none "$M/inside"
	FC_STACK+=("host $M/inside")
	busy "$M/inside is mounted inside it"
	host_umount "$M/inside"
	# so would a copy of the mount in another mount namespace: it goes too, but not
	# while it is in use there (what other cases have mounted must not stay open in it)
	# shellcheck disable=SC2016 # for the shell inside
	unshare -m --propagation private bash -c '
		cut -d " " -f 5 /proc/self/mountinfo | tac | while IFS= read -r mount; do
			case $mount in
			"$0" | *"\\"*) ;;
			"${CASE_TMP%/*}"/*) umount -l "$mount" ;;
			esac
		done
		exec 8<"$0/file"
		: >there
		while [ ! -e go ]; do sleep 0.1; done
		exec 8<&-
		: >gone
		exec sleep 60' "$M" &
	pid=$!
	while [ ! -e there ]; do sleep 0.1; done
	busy "(pid $pid, open file)"
	: >go
	while [ ! -e gone ]; do sleep 0.1; done
	grep -q " $M " "/proc/$pid/mountinfo" || fail "no copy of the mount in the namespace"
	fc_remount "$D"
	! grep -q " $M " "/proc/$pid/mountinfo" || fail "the copy of the mount in the namespace stayed"
	kill $pid
	wait $pid || true
fi

# when it returns the daemon is gone, and with it the lock
daemon=$(fc_field "$D" pid)
sum=$(py -c 'import os, sys
for i in range(200): open(os.path.join(sys.argv[1], str(i)), "wb").write(os.urandom(50000))' "$M" && sha256sum <"$M/199")
fc_umount "$D"
[ ! -d "/proc/$daemon" ] || grep -q '^State:.*Z' "/proc/$daemon/status" || fail "the daemon is still there"
[ -z "$(ls -A "$M")" ] || fail "something is left at the mount point"
before=$(sha256sum <"$D/box")
sleep 1
equal "$(sha256sum <"$D/box")" "$before" "the container after umount returned"
cp "$D/box" "$CASE_TMP/copy" # which is a container of its own, whole
status 0 fc mount "$CASE_TMP/copy" "$M" --read-only --passphrase-file "$D/pass"
FC_STACK+=("container $D")
equal "$(sha256sum <"$M/199")" "$sum" "content of a copy taken right after umount"
fc_umount "$D"

# umount(8) returns before the daemon has ended: the next mount waits for it, but
# not for one that goes on
if [ "$(id -u)" -eq 0 ]; then
	fc_mount "$D"
	daemon=$(fc_field "$D" pid)
	kill -STOP "$daemon"
	fc_forget "container $D"
	py -c 'import ctypes, sys
sys.exit(ctypes.CDLL(None).umount2(sys.argv[1].encode(), 0))' "$M"
	(sleep 0.7 && kill -CONT "$daemon") &
	fc_mount "$D"
	equal "$(sha256sum <"$M/199")" "$sum" "content after mounting again at once"
	mkdir other
	start=$(date +%s%N)
	status 7 fc mount "$D/box" other --passphrase-file "$D/pass"
	[ $((($(date +%s%N) - start) / 1000000)) -lt 2500 ] || fail "a mount that goes on was waited for"
	fc_umount "$D"
fi

# what is not ours, or not mounted
status 8 fc umount "$M"
said 'nothing is mounted'
status 8 fc umount "$CASE_TMP/absent"
status 8 fc umount /proc
said 'not of fusecrypt'
status 8 fc sync "$M"
status 8 fc status "$M"

# a dead mount point is taken away, by mount and by umount
fc_mount "$D"
fc_kill "$D"
! stat "$M/file" 2>/dev/null || fail "the daemon was not killed"
status 0 fc status "$D/box"
said 'unmounted'
status 0 fc umount "$M"
stat "$M" >/dev/null
fc_mount "$D"
fc_kill "$D"
fc_mount "$D"
equal "$(sha256sum <"$M/199")" "$sum" "content after a crash"
(cd "$M" && exec sleep 60) & # nobody can hold a dead one
pid=$!
sleep 0.3
fc_kill "$D"
fc_mount "$D"
kill $pid

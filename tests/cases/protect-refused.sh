#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 200
# What protect and unprotect refuse, with what exit status, and that nothing is changed then.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
# shellcheck source=tests/cases/lib-protect.sh
. "$SOURCE/tests/cases/lib-protect.sh"
need setfattr chattr
protect_host 100M 100 2000000
cp -a "$CASE_TMP/ref/d" "$H/d"
refused() { # STATUS WORDS COMMAND…
	status "$1" "${@:3}"
	said "$2"
	is_plain
}

# the command line
status 2 fc protect
status 2 fc protect "$H/d" "$H/e"
status 2 fc protect "$H/d" --kdf none
status 2 fc unprotect "$H/d" --container x
status 0 fc protect --help
said 'skip-unreadable'
status 1 fc protect "$H/none" --passphrase-file "$CASE_TMP/pass"
status 1 fc protect "$H/d/large" --passphrase-file "$CASE_TMP/pass"
said 'not a directory'
status 1 fc protect / --passphrase-file "$CASE_TMP/pass"
refused 1 'nothing of .* is under way' protect "$H/d" --abort
refused 1 'not a protected directory' unprotect "$H/d"
refused 1 'nothing of .* is under way' unprotect "$H/d" --abort

# places
refused 1 'would lie inside' protect "$H/d" --container "$H/d/box"
refused 1 'would lie inside' protect "$H/d" --container "$H/d/dir0/box"
: >"$H/d.fusecrypt"
status 1 protect "$H/d"
said 'never takes the place'
[ ! -s "$H/d.fusecrypt" ] || fail "it wrote to what was there"
rm "$H/d.fusecrypt"
refused 1 'cannot be made' protect "$H/d" --container "$H/none/box"
status 1 protect "$H"
said 'mount point'
ro=$CASE_TMP/ro
mkdir "$ro"
mount --bind "$H" "$ro"
FC_STACK+=("host $ro")
mount -o remount,bind,ro "$ro"
status 1 protect "$ro/d"
said 'read-only'
host_umount "$ro"
fc_begin
mkdir "$M/inner"
status 1 protect "$M/inner"
said 'network file system, or one of FUSE'

# in use
(cd "$H/d" && exec sleep 60) &
pid=$!
sleep 0.3
refused 7 "sleep (pid $pid, working directory)" protect "$H/d"
kill $pid
wait $pid || true
# shellcheck disable=SC2217 # it only holds it open
sleep 60 <"$H/d/large" &
pid=$!
sleep 0.3
refused 7 "sleep (pid $pid, open file)" protect "$H/d"
kill $pid
wait $pid || true
mkdir "$H/d/point" "$CASE_TMP/ref/d/point"
host_mount "$H/d/point" -t tmpfs fctest
status 7 protect "$H/d"
said 'is mounted inside it'
host_umount "$H/d/point"
rmdir "$H/d/point" "$CASE_TMP/ref/d/point"
touch -r "$CASE_TMP/ref/d/large" "$CASE_TMP/ref/d" "$H/d"

# content
chattr +i "$H/d/large" 2>/dev/null || skip "no immutable flag"
status 1 protect "$H/d"
said 'd/large cannot be taken away'
said 'nothing was changed'
chattr -i "$H/d/large"
is_plain
ln "$H/d/f1.txt" "$H/other" 2>/dev/null || ln "$(find "$H/d" -name 'f1.txt' | head -n 1)" "$H/other"
status 0 protect "$H/d" --kdf interactive
said 'has names outside too'
rm "$H/other"
is_protected
status 0 unprotect "$H/d"
is_plain

# space: said before anything is changed
fallocate -l $(($(df_field avail "$H") - 20000000)) "$H/other"
refused 9 'needs [0-9]* MiB of free space' protect "$H/d"
rm "$H/other"

# no key; a directory that is in use is not unprotected
refused 1 . fc protect "$H/d" --passphrase-file "$CASE_TMP/none"
status 0 protect "$H/d" --kdf interactive
(cd "$H/d" && exec sleep 60) &
pid=$!
sleep 0.3
status 7 unprotect "$H/d"
said "sleep (pid $pid, working directory)"
kill $pid
wait $pid || true
status 3 fc unprotect "$H/d" --passphrase-file "$CASE_TMP/wrong"
[ -e "$H/d/FUSECRYPT-LOCKED.txt" ] || fail "a wrong passphrase changed more than that it is locked"
[ ! -e "$H/.d.fusecrypt-moving" ] || fail "a wrong passphrase began something"
fallocate -l $(($(df_field avail "$H") - 5000000)) "$H/other"
status 9 unprotect "$H/d"
rm "$H/other"
status 0 unprotect "$H/d"
is_plain

# elsewhere: on another file system, at a place of its own
mkdir "$CASE_TMP/elsewhere"
status 0 protect "$H/d" --container "$CASE_TMP/elsewhere/box" --kdf interactive
said 'another file system'
is_protected
status 0 unprotect "$H/d"
is_plain
[ -z "$(ls "$CASE_TMP/elsewhere")" ] || fail "the container is still there"

# a journal that somebody else has put there is not believed; a container in use is not removed
mkdir -m 700 "$H/.d.fusecrypt-moving"
chown 65534 "$H/.d.fusecrypt-moving"
refused 1 'not yours alone' protect "$H/d" --kdf interactive
chown 0 "$H/.d.fusecrypt-moving"
chmod 755 "$H/.d.fusecrypt-moving"
refused 1 'not yours alone' protect "$H/d" --kdf interactive
chmod 700 "$H/.d.fusecrypt-moving"
status 0 protect "$H/d" --kdf interactive
status 0 unprotect "$H/d"
is_plain

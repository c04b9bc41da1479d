#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 180
# unlock, lock and list of registered directories, as an ordinary user: one, several,
# all with one passphrase; states; what is refused.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
# shellcheck source=tests/cases/lib-dev-fuse.sh
. "$SOURCE/tests/cases/lib-dev-fuse.sh"
# shellcheck source=tests/cases/lib-registry.sh
. "$SOURCE/tests/cases/lib-registry.sh"
need_fusecrypt
need fusermount3
chmod 755 "$CASE_TMP"
FC_AS=(as_user)
FC_HOME=$CASE_TMP/home-fctest-a
U=$FC_HOME/dirs
as_user mkdir "$U"
as_user sh -c "echo one words >$U/pass-1; echo other words >$U/pass-2; echo neither >$U/pass-3"
cd /

status 0 fc list
[ ! -s "$CASE_TMP/said" ] || fail "an empty registry lists something"
register "$U/a" "$U/pass-1"
register "$U/b b" "$U/pass-1" noatime
register "$U/c" "$U/pass-2"
register "$U/own" "$U/pass-3" "passphrase-file=$U/pass-3"

# what was never marked becomes marked by lock
state_is "$U/a" locked
status 0 fc lock "$U/a"
said 'locked already'
equal "$(stat -c %a "$U/a")" 500 "mode of a locked directory"
equal "$(ls "$U/a")" FUSECRYPT-LOCKED.txt "what it shows"
grep -q "^    fusecrypt unlock '$U/a'\$" "$U/a/FUSECRYPT-LOCKED.txt" || fail "it does not say how to unlock"
! as_user sh -c ": >$U/a/plaintext" 2>/dev/null || fail "a locked directory is writable"

# one
status 3 fc unlock "$U/a" --passphrase-file "$U/pass-2"
equal "$(stat -c %a "$U/a")" 500 "mode after a wrong passphrase"
status 0 fc unlock "$U/a" --passphrase-file "$U/pass-1"
as_user sh -c "echo text >$U/a/file"
state_is "$U/a" unlocked
status 0 fc unlock "$U/a" --passphrase-file "$U/pass-1"
said 'unlocked already'

# while it is being locked: then it is unlocked again
daemon=$(fc status "$U/a" --json | py -c 'import json, sys; print(json.load(sys.stdin)["pid"])')
kill -STOP "$daemon"
fc umount "$U/a" &
umount=$!
for _ in $(seq 100); do # until that has the container open
	! find /proc/[0-9]*/fd -lname "$(realpath "$U/a.fusecrypt")" 2>/dev/null | grep -v "^/proc/$daemon/" | grep -q . || break
	sleep 0.1
done
(sleep 1 && kill -CONT "$daemon") &
status 0 fc unlock "$U/a" --passphrase-file "$U/pass-1"
! grep -q already "$CASE_TMP/said" || fail "it was taken for unlocked while it was being locked"
wait "$umount" || fail "locking failed"
state_is "$U/a" unlocked
equal "$(as_user cat "$U/a/file")" text "the file after that"
cd /
as_user sh -c "cd $U/a && exec sleep 60" &
sleep 0.5
status 7 fc lock "$U/a"
said 'sleep (pid [0-9]*, working directory)'
pkill -u fctest-a -x sleep
wait || true
status 0 fc lock "$U/a/"
state_is "$U/a" locked
equal "$(stat -c %a "$U/a")" 500 "mode after lock"

# all: one passphrase is read once and tried on each; an entry's own secret is enough
status 3 as_user sh -c "'$FUSECRYPT' unlock --all --passphrase-file - <$U/pass-1"
said "$U/c.fusecrypt"
state_is "$U/a" unlocked
state_is "$U/b b" unlocked
state_is "$U/c" locked
state_is "$U/own" unlocked
equal "$(as_user cat "$U/a/file")" text content
grep -F " $U/b\\040b " /proc/self/mountinfo | grep -q noatime || fail "the options of the registry are not used"
status 0 fc unlock --all --passphrase-file "$U/pass-2"
state_is "$U/c" unlocked
status 0 fc lock --all
for d in a "b b" c own; do
	state_is "$U/$d" locked
	equal "$(stat -c %a "$U/$d")" 500 "mode of $d"
done
status 0 fc lock --all
status 1 fc unlock --all </dev/null # nothing to ask on
said 'terminal'
state_is "$U/own" unlocked
[ "$(grep -c terminal "$CASE_TMP/said")" -eq 1 ] || fail "it was asked more than once"
status 0 fc lock "$U/own"
status 0 as_user sh -c "'$FUSECRYPT' unlock '$U/a' '$U/b b' --passphrase-fd 5 5<$U/pass-1"
status 0 fc list
said "^unlocked  *$U/a  ($U/a.fusecrypt)\$"
said "^unlocked  *$U/b b  ($U/b b.fusecrypt, noatime)\$"
said "^locked  *$U/c "
status 0 fc lock "$U/b b"

# a daemon that crashed
pid=$(fc status "$U/a" --json | py -c 'import json, sys; print(json.load(sys.stdin)["pid"])')
kill -9 "$pid"
sleep 0.5
state_is "$U/a" dead
status 0 fc unlock "$U/a" --passphrase-file "$U/pass-1"
state_is "$U/a" unlocked
equal "$(as_user cat "$U/a/file")" text "content after a crash"
status 0 fc lock "$U/a"

# a container elsewhere, moved, or another one
as_user mkdir "$U/else"
status 0 fc mount "$U/a.fusecrypt" "$U/else" --passphrase-file "$U/pass-1"
state_is "$U/a" elsewhere
status 7 fc lock "$U/a"
said "mounted at $U/else"
status 7 fc unlock "$U/a" --passphrase-file "$U/pass-1"
status 0 fc umount "$U/else"
as_user mv "$U/a.fusecrypt" "$U/moved"
state_is "$U/a" no-container
status 1 fc unlock "$U/a" --passphrase-file "$U/pass-1"
said "write its new place into $(registry)/a.dir"
as_user cp "$U/b b.fusecrypt" "$U/a.fusecrypt"
state_is "$U/a" other-container
status 1 fc unlock "$U/a" --passphrase-file "$U/pass-1"
said 'not the container that belongs to'
as_user mv "$U/moved" "$U/a.fusecrypt"
as_user mv "$U/a" "$U/gone"
state_is "$U/a" no-directory
status 8 fc unlock "$U/a" --passphrase-file "$U/pass-1"
status 8 fc lock "$U/a"
as_user mv "$U/gone" "$U/a"
status 0 fc unlock "$U/a" --passphrase-file "$U/pass-1"

# idle= of the registry, and a locked directory afterwards
status 0 fc lock "$U/a"
as_user sed -i 's/^options .*/options idle=1/' "$(registry)/a.dir"
status 0 fc unlock "$U/a" --passphrase-file "$U/pass-1"
for _ in $(seq 100); do
	grep -qF " $U/a " /proc/self/mountinfo || break
	sleep 0.1
done
state_is "$U/a" locked
equal "$(stat -c %a "$U/a")" 500 "mode after the idle mount went by itself"
equal "$(ls "$U/a")" FUSECRYPT-LOCKED.txt "what it shows then"

# wrong use
status 1 fc unlock "$U/else" --passphrase-file "$U/pass-1"
said 'not a protected directory'
status 1 fc lock "$U/absent"
status 2 fc unlock
status 2 fc unlock --all "$U/a"
status 2 fc lock --json
status 2 fc list "$U"
as_user chmod 620 "$(registry)/a.dir"
status 1 fc unlock "$U/a" --passphrase-file "$U/pass-1"
said 'nobody else may write to it'
status 0 fc lock --all

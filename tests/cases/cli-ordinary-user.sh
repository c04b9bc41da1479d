#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# An ordinary user, through fusermount3: mounts, is alone with it, unmounts; what
# root and others then see and may do.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
# shellcheck source=tests/cases/lib-dev-fuse.sh
. "$SOURCE/tests/cases/lib-dev-fuse.sh"
need_fusecrypt
need fusermount3
chmod 755 "$CASE_TMP"
U=$CASE_TMP/home-fctest-a
as_user mkdir "$U/mnt" "$U/rest"
as_user sh -c "printf 'words\n' >$U/pass"
cd /
status 0 as_user "$FUSECRYPT" init "$U/box" --kdf interactive --passphrase-file "$U/pass"
status 0 as_user "$FUSECRYPT" mount "$U/box" "$U/mnt" --passphrase-file "$U/pass"
as_user sh -c "echo x >$U/mnt/file"
equal "$(stat -c %U "$U/box")" fctest-a owner
! ls "$U/mnt" 2>/dev/null || fail "root sees into it without allow_other"
! as_other ls "$U/mnt" 2>/dev/null || fail "another user sees into it"

# root learns about it all the same
status 0 "$FUSECRYPT" status "$U/mnt" --json
said '"state": "mounted"'
grep -qE '"pid": [0-9]+' "$CASE_TMP/said" || fail "root is not told the pid"
grep -qE '"generation": [0-9]+' "$CASE_TMP/said" || fail "root is not told the generation"
status 0 "$FUSECRYPT" sync "$U/mnt"

# another user is told, and cannot unmount it
chmod 755 "$U"
status 1 as_other "$FUSECRYPT" umount "$U/mnt"
as_user test -e "$U/mnt/file" || fail "another user unmounted it"

# in use: the user's own processes are named; so they are to root
as_user sh -c "cd $U/mnt && exec sleep 60" &
sleep 0.5
status 7 as_user "$FUSECRYPT" umount "$U/mnt"
said 'sleep (pid [0-9]*, working directory)'
status 7 "$FUSECRYPT" umount "$U/mnt"
said 'sleep (pid [0-9]*, working directory)'
pkill -u fctest-a -x sleep
wait || true
status 0 as_user "$FUSECRYPT" umount "$U/mnt"

# a copy of the mount in root's mount namespace, which the user cannot take away
status 0 as_user "$FUSECRYPT" mount "$U/box" "$U/mnt" --passphrase-file "$U/pass"
# shellcheck disable=SC2016 # for the shell inside
unshare -m --propagation private bash -c '
	cut -d " " -f 5 /proc/self/mountinfo | tac | while IFS= read -r mount; do
		case $mount in
		"$0" | *"\\"*) ;;
		"${CASE_TMP%/*}"/*) umount -l "$mount" ;;
		esac
	done
	: >"$CASE_TMP/there"
	exec sleep 60' "$U/mnt" &
pid=$!
while [ ! -e "$CASE_TMP/there" ]; do sleep 0.1; done
status 7 as_user "$FUSECRYPT" umount "$U/mnt"
said "mount namespace of pid $pid"
as_user test -e "$U/mnt/file" || fail "after a refusal it is not there"
kill $pid
wait $pid || true
status 0 as_user "$FUSECRYPT" umount "$U/mnt"

# root unmounts what a user mounted
status 0 as_user "$FUSECRYPT" mount "$U/box" "$U/mnt" --passphrase-file "$U/pass"
as_user cat "$U/mnt/file" >/dev/null
status 0 "$FUSECRYPT" umount "$U/mnt"
# and a user's dead mount is taken away by the user
status 0 as_user "$FUSECRYPT" mount "$U/box" "$U/mnt" --passphrase-file "$U/pass"
pid=$("$FUSECRYPT" status "$U/mnt" --json | py -c 'import json, sys; print(json.load(sys.stdin)["pid"])')
kill -9 "$pid"
sleep 0.5
status 0 as_user "$FUSECRYPT" umount "$U/mnt"
as_user ls "$U/mnt" >/dev/null || fail "the dead mount is still there"

# mount points that fusermount3 would refuse
status 8 as_user "$FUSECRYPT" mount "$U/box" /usr --passphrase-file "$U/pass"
mkdir "$CASE_TMP/roots"
status 8 as_user "$FUSECRYPT" mount "$U/box" "$CASE_TMP/roots" --passphrase-file "$U/pass"
said 'write'

# allow_other: explained where it is not permitted, and with it others are let in
allowed=
grep -qx user_allow_other /etc/fuse.conf 2>/dev/null && allowed=1
if [ -z "$allowed" ]; then
	status 1 as_user "$FUSECRYPT" mount "$U/box" "$U/mnt" --passphrase-file "$U/pass" -o allow_other
	said 'user_allow_other.*fuse.conf\|fuse.conf.*user_allow_other'
fi
D=$CASE_TMP/c
fc_init "$D"
fc_mount "$D" -o allow_other
echo hello >"$D/mnt/file"
chmod 755 "$D"
equal "$(as_other cat "$D/mnt/file")" hello "another user's look with allow_other"
! as_other sh -c "echo x >$D/mnt/file" 2>/dev/null || fail "permissions are not the kernel's"

# a locked directory is writable for the moment of mounting only, also when that fails
as_user mkdir "$U/locked"
as_user sh -c "printf 'This directory is locked by fusecrypt.\n' >$U/locked/FUSECRYPT-LOCKED.txt && chmod 500 $U/locked"
status 3 as_user sh -c "echo wrong | $FUSECRYPT mount $U/box $U/locked --passphrase-file -"
equal "$(stat -c %a "$U/locked")" 500 "mode after a mount that failed"
status 0 as_user "$FUSECRYPT" mount "$U/box" "$U/locked" --passphrase-file "$U/pass"
as_user test -e "$U/locked/file" || fail "the locked directory does not show the content"
status 0 as_user "$FUSECRYPT" umount "$U/locked"
equal "$(stat -c %a "$U/locked")" 500 "mode after it was unlocked and locked again"
equal "$(ls "$U/locked")" FUSECRYPT-LOCKED.txt "what a locked directory shows"

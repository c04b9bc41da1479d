#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What root locks is immutable where the host has that, and unlocks all the same; entries
# of the machine; an ordinary user is told of what only root can unlock.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
# shellcheck source=tests/cases/lib-registry.sh
. "$SOURCE/tests/cases/lib-registry.sh"
need_fusecrypt
need_fuse
need_root
own_mounts
need chattr
with_loop ext4 64M "$CASE_TMP/host"
chmod 755 "$CASE_TMP"
H=$CASE_TMP/host
echo words >pass
register "$H/a" pass
status 0 fc lock "$H/a"
lsattr -d "$H/a" | cut -d ' ' -f 1 | grep -q i || fail "it is not immutable"
! : 2>/dev/null >"$H/a/plaintext" || fail "root can write into a locked directory"
status 0 fc unlock "$H/a" --passphrase-file pass
echo text >"$H/a/file"
status 0 fc lock "$H/a"
! : 2>/dev/null >"$H/a/plaintext" || fail "root can write into a directory that was locked again"

# entries of the machine: root's and for all to read; a user's directory stays the user's
mkdir upper work
host_mount /etc -t overlay -o "lowerdir=/etc,upperdir=$CASE_TMP/upper,workdir=$CASE_TMP/work" fctest
mkdir /etc/fusecrypt
register "$H/u" pass
as_user true
chown fctest-a "$H/u" "$H/u.fusecrypt"
mv "$(registry)/u.dir" /etc/fusecrypt/u.dir
chmod 644 /etc/fusecrypt/u.dir
state_is "$H/u" locked
status 0 fc lock "$H/u"
lsattr -d "$H/u" | cut -d ' ' -f 1 | grep -q i || fail "a directory of the machine is not immutable"
equal "$(stat -c %U "$H/u" "$H/u/FUSECRYPT-LOCKED.txt" | sort -u)" fctest-a "owner of what root locks"
equal "$(as_user "$FUSECRYPT" list --json | grep -c '"of_machine": true')" 1 "entries of the machine that a user sees"
cd /
status 8 as_user "$FUSECRYPT" unlock "$H/u" --passphrase-file "$CASE_TMP/pass"
said 'locked by root'
status 0 fc unlock --all --passphrase-file "$CASE_TMP/pass"
state_is "$H/u" unlocked
state_is "$H/a" unlocked
as_user ls "$H/u" >/dev/null || fail "whom it belongs to cannot read what root unlocked"
! as_user ls "$H/a" 2>/dev/null || fail "a user sees what is root's"
status 0 fc lock --all
# not believed: a user could have written it
chown fctest-a /etc/fusecrypt/u.dir
equal "$(state_of "$H/u" 2>/dev/null)" '' "state by an entry of the machine that is not root's"
chattr -i "$H/a" "$H/u"

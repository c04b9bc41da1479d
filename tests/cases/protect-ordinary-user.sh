#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 200
# An ordinary user protects a directory of the user's own and turns it back; files that this
# user cannot read or take away are listed, and left with --skip-unreadable.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
need fusermount3 rsync
chmod 755 "$CASE_TMP"
U=$CASE_TMP/home-fctest-a
FC_AS=(as_user)
as_user true
as_user sh -c "printf 'words\n' >$U/pass"
make_tree "$CASE_TMP/tree" 200
cp -a "$CASE_TMP/tree" "$U/d"
chown -Rh fctest-a:fctest-a "$U/d"
as_user mkdir "$U/d/sealed"
as_user sh -c "echo text >$U/d/sealed/file"
as_user chmod 555 "$U/d/sealed"
as_user chmod 500 "$U/d"
cp -a "$U/d" "$CASE_TMP/ref"
cd /
user_end() {
	! mountpoint -q "$U/d" || as_user fusermount3 -u "$U/d"
	fc_end
}
trap user_end EXIT

status 0 fc protect "$U/d" --kdf interactive --passphrase-file "$U/pass"
equal "$(stat -c '%U %a' "$U/d.fusecrypt")" "fctest-a 600" "whose the container is"
differ=$(as_user rsync -aHAXni --checksum --delete --modify-window=-1 "$CASE_TMP/ref/" "$U/d/")
[ -z "$differ" ] || fail "unlocked, it differs: $(head -n 20 <<<"$differ")"
as_user test -e "$U/d/sealed/file" || fail "not unlocked"
status 0 fc lock "$U/d"
status 0 fc unlock "$U/d" --passphrase-file "$U/pass"
status 0 fc unprotect "$U/d" --passphrase-file "$U/pass"
compare "$CASE_TMP/ref" "$U/d"
[ ! -e "$U/d.fusecrypt" ] || fail "the container is still there"

# what cannot be moved
as_user sh -c "chmod 700 $U/d; echo secret >$U/d/unreadable; chmod 000 $U/d/unreadable"
mkdir "$U/d/roots"
echo theirs >"$U/d/roots/file"
chmod 755 "$U/d/roots"
as_user chmod 500 "$U/d"
rm -rf "$CASE_TMP/ref"
cp -a "$U/d" "$CASE_TMP/ref"
status 1 fc protect "$U/d" --kdf interactive --passphrase-file "$U/pass"
said 'd/unreadable cannot be read by you'
said 'd/roots cannot be taken away'
said 'nothing was changed'
compare "$CASE_TMP/ref" "$U/d"
[ ! -e "$U/.d.fusecrypt-moving" ] || fail "something was begun"
as_user chmod 700 "$U/d"
rm -rf "$U/d/roots"
status 0 fc protect "$U/d" --kdf interactive --passphrase-file "$U/pass" --skip-unreadable
said 'd.not-protected'
equal "$(stat -c '%a %s' "$U/d.not-protected/unreadable")" "0 7" "what was left"
equal "$(find "$U/d.not-protected" -type f | wc -l)" 1 "files that were left"
status 0 fc unprotect "$U/d" --passphrase-file "$U/pass"
[ ! -e "$U/d/unreadable" ] || fail "what was left came back"

# of another user
as_other sh -c "mkdir -m 755 $CASE_TMP/home-fctest-b/theirs"
chmod 755 "$CASE_TMP/home-fctest-b"
status 1 fc protect "$CASE_TMP/home-fctest-b/theirs" --passphrase-file "$U/pass"

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 300
# All of it as an ordinary user, by fusermount3: init, mount, a real tree, a crash,
# umount; nobody else sees the files; allow_other without leave is explained.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_root
need_fusecrypt
need fusermount3 setpriv
# shellcheck source=tests/cases/lib-dev-fuse.sh
. "$SOURCE/tests/cases/lib-dev-fuse.sh"
[ -u "$(command -v fusermount3)" ] || skip "fusermount3 is not set-uid root"
as_user true
D=$CASE_TMP/home-fctest-a/c M=$D/mnt
FC_AS=(as_user)
fc_init "$D"
equal "$(stat -c '%a %U' "$D/box")" "600 fctest-a" "mode and owner of the container"
fc_mount "$D"
! ls "$M" 2>/dev/null || fail "root lists it without allow_other"
! as_other ls "$M" 2>/dev/null || fail "another user lists it"
as_user sh -c 'echo mine >"$1/file" && mkdir "$1/dir" && ln -s file "$1/link"' sh "$M"
equal "$(as_user stat -c '%U %G %a' "$M/file")" "fctest-a fctest-a 644" "owner of a new file"
! as_user mknod "$M/null" c 1 3 2>/dev/null || fail "an ordinary user made a device"

as_user /usr/bin/python3 "$FC_LIB/libtree.py" "$CASE_TMP/home-fctest-a/tree" "${FILES:-2000}"
as_user cp -a "$CASE_TMP/home-fctest-a/tree" "$M/tree"
same() {
	local differ
	differ=$(as_user rsync -aHAXni --checksum --delete --modify-window=-1 "$CASE_TMP/home-fctest-a/tree/" "$M/tree/")
	[ -z "$differ" ] || fail "inside and outside differ: $(head -n 20 <<<"$differ")"
}
same
fc_remount "$D"
same
as_user "$FUSECRYPT" sync "$M"
sleep 1
fc_kill "$D"
fc_mount "$D" || fail "mount after a crash"
same
equal "$(as_user cat "$M/link")" mine "a link"
fc_umount "$D"
[ -z "$(as_user ls "$M")" ] || fail "files after umount"
# plain fusermount3 -u commits too
fc_mount "$D"
as_user sh -c 'echo more >"$1/later"' sh "$M"
pid=$(fc_field "$D" pid)
as_user fusermount3 -u "$M"
fc_forget "container $D"
for _ in $(seq 400); do
	! ended "$pid" || break
	sleep 0.05
done
ended "$pid" || fail "the daemon goes on after fusermount3 -u"
fc_mount "$D"
equal "$(as_user cat "$M/later")" more "what was written before fusermount3 -u"
fc_umount "$D"
if ! grep -q '^user_allow_other' /etc/fuse.conf 2>/dev/null; then
	code=0
	fc mount "$D/box" "$M" -o allow_other --passphrase-file "$D/pass" >"$CASE_TMP/said" 2>&1 || code=$?
	[ $code -ne 0 ] || fail "allow_other without user_allow_other"
	said user_allow_other
	said /etc/fuse.conf
	[ -z "$(as_user ls "$M")" ] || fail "mounted all the same"
fi
# a mount point of another
mkdir "$CASE_TMP/of-root"
status 8 fc mount "$D/box" "$CASE_TMP/of-root" --passphrase-file "$D/pass"

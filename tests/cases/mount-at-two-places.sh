#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Root's mount(8) shows a mounted container at another place too, as it does with a device: one
# file system at two places, of which the last to be unmounted ends it.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
# shellcheck source=tests/cases/lib-mount8.sh
. "$SOURCE/tests/cases/lib-mount8.sh"
as_user true
mkdir two three
two=$CASE_TMP/two
not_mounted() { ! mountpoint -q "$1" || fail "$1 is mounted"; }

fc_init "$D"
pass=passphrase-file=$D/pass
again() { mount -t fusecrypt -o "$pass${2:+,$2}" "$D/box" "$1"; }
status 0 again "$M"
pid=$(fc_field "$D" pid)
status 0 again "$two"
mkdir "$M/a" "$two/b"
echo one >"$M/a/file"
mv "$two/a/file" "$two/b/"
equal "$(cat "$M/b/file")" one "a file that was moved at the other place"
mv "$M/b/file" "$M/a/"
equal "$(cat "$two/a/file")" one "a file that was moved back"
equal "$(fc status "$two" --json | py -c 'import json, sys; print(json.load(sys.stdin)["pid"])')" "$pid" "the daemon"

# what the commands say of it
status 0 fc status "$D/box"
said "mountpoint  $M"
status 7 fc umount "$M"
said "also mounted at $two"
status 7 fc umount "$two"
said "also mounted at $M"
status 7 fc mount "$D/box" three --passphrase-file "$D/pass"
said "mounted at $M"

# refused: the same place, in another way, an unfit place, by who is not root
status 32 again "$M"
status 32 again "$two"
status 32 again three ro
said 'for writing'
status 32 again three allow_other
said 'without allow_other'
touch three/in-the-way
status 32 again three
said 'not empty'
rm three/in-the-way
equal "$(grep -c "fuse.fusecrypt $D/box" /proc/self/mountinfo)" 2 "places"

# flags of its own; what is the whole file system's is not changed
status 0 again three nosuid,noexec,commit=60
said 'commit='
grep " $CASE_TMP/three " /proc/self/mountinfo | grep nosuid | grep -q noexec || fail "nosuid,noexec is not heeded"
grep " $two " /proc/self/mountinfo | grep -Eq 'nosuid|noexec' && fail "its flags are those of another place"
status 0 umount three

# the first place goes, the other one stays, whole; with the last one it ends
exec 8>"$two/open"
status 0 umount "$M"
not_mounted "$M"
echo two >&8
exec 8>&-
equal "$(cat "$two/open" "$two/a/file")" "two
one" "content when the first place has gone"
status 0 fc status "$D/box"
said "mountpoint  $two"
status 0 again "$M"
equal "$(cat "$M/open")" two "content at the first place, mounted again"
status 0 umount "$two"
is_mounted "$M"
status 0 fc umount "$M"
ended "$pid" || fail "the daemon is still there"
status 0 fc check "$D/box" --passphrase-file "$D/pass"

# for others: both places or none
status 0 again "$M" allow_other
status 0 again "$two" allow_other
status 32 again three
said 'with allow_other'
status 0 umount "$M"
status 0 umount "$two"

# of a user's own mount root makes no second one
U=$CASE_TMP/home-fctest-a
chmod 755 "$CASE_TMP"
as_user mkdir "$U/mnt"
as_user sh -c "echo words >$U/pass"
status 0 as_user "$FUSECRYPT" init "$U/box" --kdf interactive --passphrase-file "$U/pass"
status 0 as_user "$FUSECRYPT" mount "$U/box" "$U/mnt" --passphrase-file "$U/pass"
status 32 mount -t fusecrypt -o "passphrase-file=$U/pass" "$U/box" "$two"
said "mounted at $U/mnt"
status 0 as_user "$FUSECRYPT" umount "$U/mnt"

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Mount points that will not do: status 8 and why. Those that will: our marker,
# odd names, links.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
need_fuse
D=$CASE_TMP
echo words >pass
fc init box --kdf interactive --passphrase-file pass --log-size 256K
bad() {
	status 8 fc mount "$1" "$2" --passphrase-file pass
	said "$3"
}
bad box absent 'does not exist'
bad box pass 'not a directory'
bad box /proc/self/absent 'does not exist'
mkdir full
: >full/file
bad box full 'not empty'
: >full/FUSECRYPT-LOCKED.txt
bad box full 'not empty'
rm full/file
bad box full 'not empty' # a file of that name which is not ours
mkdir outer outer/inner
cp box outer/inner/box
rm full/FUSECRYPT-LOCKED.txt
bad outer/inner/box outer 'inside'
bad outer/inner/box outer/inner 'inside'
ln -s outer/inner link
bad outer/inner/box link 'inside'
bad link/box outer 'inside'
if [ "$(id -u)" -eq 0 ]; then
	with_loop tmpfs 1M "$CASE_TMP/other"
	bad box other 'already a mount point'
	mkdir bound
	mount --bind outer bound
	FC_STACK+=("host $CASE_TMP/bound")
	bad outer/inner/box bound 'inside' # by another name of it
	bad box bound 'already a mount point'
fi

# the marker of a locked directory
mkdir locked
printf 'This directory is locked by fusecrypt.\nUnlock it.\n' >locked/FUSECRYPT-LOCKED.txt
status 0 fc mount box locked --passphrase-file pass
[ -z "$(ls -A locked)" ] || fail "the marker is seen inside"

status 7 fc mount box locked --passphrase-file pass
said "in use by pid"
status 0 fc umount locked

# names that need escaping on their way through the kernel, libfuse and back
odd='a b,c\d=é	e'
mkdir "$odd"
mv box "$odd.box"
cp pass "$odd.pass"
escaped=${odd//\\/\\\\}
escaped=${escaped//,/\\,}
status 0 fc mount "$odd.box" "$odd" -o "noatime,passphrase-file=$escaped.pass,commit=9"
echo x >"$odd/file"
status 0 fc status "$odd"
said "container   .*$(printf %s "$odd.box" | sed 's/[\\]/\\&/g')"
equal "$(fc status "$odd" --json | py -c 'import json, sys; print(json.load(sys.stdin)["mountpoint"])')" "$CASE_TMP/$odd" mountpoint
status 7 fc mount "$odd.box" full --passphrase-file pass
said 'in use by pid'
status 0 fc sync "$odd"
status 0 fc umount "$odd"
line='new
line'
mkdir "$line"
mv "$odd.box" "$line.box"
status 0 fc mount "$line.box" "$line" --passphrase-file pass
equal "$(cat "$line/file")" x content
status 0 fc umount "$line"

# through a link, and with slashes behind
ln -sfn full link
status 0 fc mount "$line.box" link/ --passphrase-file pass
equal "$(cat full/file)" x content
status 0 fc umount ./link//
[ -z "$(ls -A full)" ] || fail "something is left at the mount point"

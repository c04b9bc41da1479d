#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# An older copy is told apart; where the newest state is lost, a repair goes on from
# the older one only when that is accepted, and needs no accepting afterwards.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt

check() { fc check "$D/box" --passphrase-file "$D/pass" "$@"; }
# zero OFFSET BLOCKS
zero() { dd if=/dev/zero of="$D/box" bs=4096 seek=$(($1 / 4096)) count="$2" conv=notrunc status=none; }

fc_begin
echo one >"$M/file"
fc_umount "$D"
cp "$D/box" yesterday
fc_mount "$D"
echo two >"$M/file"
fc_umount "$D"
cp "$D/box" today

cp yesterday "$D/box"
status 10 check
status 10 check --repair
said 'accept-older'
status 0 check --accept-older
cp today "$D/box"
status 0 check

# one copy of each: nothing is lost
zero $((64 << 10)) 1
zero $((196 << 10)) 1
zero $((128 << 10)) 1
zero $((1 << 20)) 1
status 4 check
said 'copy A of root record 0'
said 'copy B of root record 1'
said 'copy B of the header'
said 'copy A of block 0 of the salt table'
status 11 check --repair
status 0 check
fc_mount "$D"
equal "$(cat "$M/file")" two content
fc_umount "$D"

# both copies of a root record
for slot in 0 1; do
	cp today "$D/box"
	zero $(((64 << 10) + slot * 4096)) 1
	zero $(((192 << 10) + slot * 4096)) 1
	status 10 fc mount "$D/box" "$M" --passphrase-file "$D/pass"
	status 4 check
	status 10 check --repair
	said 'accept-older'
	status 11 check --repair --accept-older
	status 0 check
	fc_mount "$D"
	equal "$(cat "$M/file")" two content # of a clean end, both roots have the same files
	fc_umount "$D"
done

# all of them, and both headers: nothing to start from
cp today "$D/box"
zero $((64 << 10)) 2
zero $((192 << 10)) 2
status 4 check
status 4 check --repair --accept-older
said 'beyond repair'
zero 0 5
zero $((128 << 10)) 5
status 5 check

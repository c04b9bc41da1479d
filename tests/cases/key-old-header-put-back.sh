#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The passphrase is changed, and the header from before put back: it is refused once,
# with how to accept it; then it works, with the keys that it had. (gocryptfs 766, cryfs 333)
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
need_fuse
D=$CASE_TMP
mkdir mnt
head -c 64 /dev/urandom >leaked
head -c 64 /dev/urandom >fresh
head -c 64 /dev/urandom >another
fc init box --key-file leaked --log-size 256K
cp box copy
fc key change box --key-file leaked --new-key-file fresh
FC_STACK+=("container $D")

mounts() {
	status 0 fc mount box mnt "$@"
	fc umount mnt
}
put() { dd if=copy of=box bs=4096 count=5 skip="$1" seek="$1" conv=notrunc status=none; }
mounts --key-file fresh
status 3 fc mount box mnt --key-file leaked

# as on a machine that has not seen it: what is tested is the header alone
begin() {
	rm -rf "$HOME/.local"
	cp good box
}

# in one copy: the new key works as ever; the old one opens its slot, but not the container
cp box good
for copy in 0 32; do
	begin
	put $copy
	status 10 fc mount box mnt --key-file leaked
	said 'header .*older'
	said 'accept-older'
	status 10 fc key add box --key-file leaked --new-key-file another
	mounts --key-file fresh
	said 'warning.*interrupted'
	# the next change of the keys overwrites it
	fc key add box --key-file fresh --new-key-file another >/dev/null
	status 3 fc mount box mnt --key-file leaked
	mounts --key-file fresh
done

# in both: nothing but the old key is there
begin
put 0
put 32
sum=$(sha256sum <box)
status 10 fc mount box mnt --key-file leaked
said 'header .*older'
status 10 fc mount box mnt --read-only --key-file leaked
status 10 fc key add box --key-file leaked --new-key-file another
said 'header restore'
status 10 fc key change box --key-file leaked --new-key-file another
status 3 fc mount box mnt --key-file fresh
equal "$(sha256sum <box)" "$sum" "a container that was refused"
# read-only it can be looked at without accepting it for good
status 0 fc mount box mnt --read-only --accept-older --key-file leaked
fc umount mnt
equal "$(sha256sum <box)" "$sum" "a container that was looked at"
status 10 fc mount box mnt --key-file leaked
# accepted: once
status 0 fc mount box mnt --accept-older --key-file leaked
echo content >mnt/file
fc umount mnt
mounts --key-file leaked
fc key add box --key-file leaked --new-key-file another >/dev/null
mounts --key-file another
status 3 fc mount box mnt --key-file fresh
# and now the header of the other history is the older one
for copy in 0 32; do
	dd if=good of=box bs=4096 count=5 skip=$copy seek=$copy conv=notrunc status=none
done
status 10 fc mount box mnt --key-file fresh
fc_forget "container $D"

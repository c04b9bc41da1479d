#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The header is saved without a secret and put back with one: over a damaged one, over
# none, over a newer one; never another container's.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
for n in 1 2 3; do head -c 64 /dev/urandom >key$n; done
fc init box --key-file key1 --log-size 256K
fc init other --key-file key1 --log-size 256K

# damage COPY…: that header copy of box is overwritten
damage() {
	local copy
	for copy in "$@"; do
		dd if=/dev/urandom of=box bs=4096 count=5 seek=$((copy * 32)) conv=notrunc status=none
	done
}
opens() { status 0 fc status box --key-file "$1"; }
closed() { status 3 fc status box --key-file "$1"; }

sum=$(sha256sum <box)
status 0 fc header backup box saved
equal "$(sha256sum <box)" "$sum" "the container after a backup"
equal "$(stat -c '%a %s' saved)" "600 151552" "mode and size of the backup"
saved=$(sha256sum <saved)
status 1 fc header backup box saved
said 'exists'
equal "$(sha256sum <saved)" "$saved" "a backup that exists"
status 1 fc header backup box absent/saved
status 1 fc header backup box .
status 5 fc header backup key1 x
ln -s nowhere link
status 1 fc header backup box link
[ ! -e nowhere ] || fail "a backup behind a dangling link"
if [ -e /dev/full ]; then
	status 1 fc header backup box /dev/full
fi
status 2 fc header backup box
status 2 fc header restore box

# both copies gone; then even the magic is not missed
for what in 0 1 '0 1'; do
	# shellcheck disable=SC2086 # one or two words
	damage $what
	status 0 fc header restore box saved --key-file key1
	opens key1
done
dd if=/dev/zero of=box bs=4096 count=5 conv=notrunc status=none
dd if=/dev/zero of=box bs=4096 seek=32 count=5 conv=notrunc status=none
status 5 fc status box
status 0 fc header restore box saved --key-file key1
said 'opens it again: slot 0 (key-file) of 20'
opens key1

# an old one: says which keys come back and which go, and is accepted from then on
fc key change box --key-file key1 --new-key-file key2
fc key add box --key-file key2 --new-key-file key3 --label third >/dev/null
fc header backup box newer
closed key1
status 3 fc header restore box saved --key-file key2 # it is of the backup that a key is needed
said 'no key opens saved'
status 0 fc header restore box saved --key-file key1
said 'opens it again: slot 0 (key-file) of'
said 'opens it no more: slot 0 (key-file) of'
said 'opens it no more: slot 1 (key-file, "third") of'
opens key1
closed key2
closed key3
status 0 fc header restore box newer --key-file key3
said 'opens it again: slot 1 (key-file, "third") of'
closed key1
opens key2
opens key3
# once more: nothing to tell
status 0 fc header restore box newer --key-file key3
[ ! -s said ] || fail "it says: $(cat said)"
opens key3

# a backup with one damaged copy
damage 1
status 0 fc header backup box half
said 'copy B .*damaged'
status 0 fc header restore box half --key-file key2
opens key2
said_none=$(fc key list box 2>&1 >/dev/null)
equal "$said_none" "" "warnings after a restore"

# of another container: refused, whether or not there is a header to compare with
sum=$(sha256sum <box)
fc header backup other others
status 1 fc header restore box others --key-file key1
said 'warning.*another container'
said 'header of another container'
status 3 fc header restore box others --key-file key2
said 'another container'
equal "$(sha256sum <box)" "$sum" "the container"
damage 0 1
sum=$(sha256sum <box)
status 1 fc header restore box others --key-file key1
said 'another container'
equal "$(sha256sum <box)" "$sum" "the container without a header"
# what is no backup at all
status 5 fc header restore box key1 --key-file key1
status 5 fc header restore box . --key-file key1
status 1 fc header restore box absent --key-file key1
head -c 20480 newer >one-copy
damage 0 1
cp newer spoilt
printf '\xff' | dd of=spoilt bs=1 seek=5000 conv=notrunc status=none
printf '\xff' | dd of=spoilt bs=1 seek=$((131072 + 5000)) conv=notrunc status=none
status 4 fc header restore box spoilt --key-file key2
# the first copy alone serves
status 0 fc header restore box one-copy --key-file key2
opens key2

# a header whose UUID was forged is no reason to refuse the right backup
py - <<'PY'
import ctypes
xxh3 = ctypes.CDLL('libxxhash.so.0').XXH3_64bits # the program needs it too
xxh3.argtypes, xxh3.restype = [ctypes.c_char_p, ctypes.c_size_t], ctypes.c_uint64
with open('box', 'r+b') as f:
    for copy in 0, 128 << 10:
        f.seek(copy)
        raw = bytearray(f.read(4096 + 16 * 1024))
        raw[56:60] = b'evil'
        raw[4088:4096] = bytes(8)
        raw[4088:4096] = xxh3(bytes(raw), len(raw)).to_bytes(8, 'little')
        f.seek(copy)
        f.write(raw)
PY
status 4 fc status box --key-file key2
status 0 fc header restore box newer --key-file key2
said 'warning'
opens key2

# while it is mounted
need_fuse
D=$CASE_TMP
mkdir mnt
FC_STACK+=("container $D")
status 0 fc mount box mnt --key-file key2
echo content >mnt/file
status 0 fc header restore box saved --key-file key1
fc header backup box mounted
fc umount mnt
status 3 fc mount box mnt --key-file key2
status 0 fc mount box mnt --key-file key1
equal "$(cat mnt/file)" content content
fc umount mnt
for copy in 0 32; do
	dd if=newer of=box bs=4096 count=5 skip=$copy seek=$copy conv=notrunc status=none
done
status 10 fc mount box mnt --key-file key2
status 0 fc header restore box mounted --key-file key1
status 0 fc mount box mnt --key-file key1

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What is no container, of another time, cut short, damaged or forged: each has its
# own status, and nothing is ever offered to be made anew.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
need_fuse
D=$CASE_TMP
mkdir mnt
echo words >pass
fc init good --kdf interactive --passphrase-file pass --log-size 256K
FC_STACK+=("container $D")

# refused WANT: box is refused with that status, and left as it is
refused() {
	local sum
	sum=$(sha256sum <box)
	status "$1" fc mount box mnt --passphrase-file pass
	equal "$(sha256sum <box)" "$sum" "a container that was refused"
}
works() {
	status 0 fc mount box mnt --passphrase-file pass "$@"
	fc umount mnt
}
poke() { printf '%b' "$2" | dd of=box bs=1 seek="$1" conv=notrunc status=none; }
# edit OFFSET BYTES: in both copies of the header, with the sum that anyone can compute
edit() {
	py - "$@" <<'PY'
import ctypes, sys
xxh3 = ctypes.CDLL('libxxhash.so.0').XXH3_64bits # the program needs it too
xxh3.argtypes, xxh3.restype = [ctypes.c_char_p, ctypes.c_size_t], ctypes.c_uint64
at, value = int(sys.argv[1]), bytes.fromhex(sys.argv[2])
with open('box', 'r+b') as f:
    for copy in 0, 128 << 10:
        f.seek(copy)
        raw = bytearray(f.read(4096 + 16 * 1024))
        raw[at:at + len(value)] = value
        raw[4088:4096] = bytes(8)
        raw[4088:4096] = xxh3(bytes(raw), len(raw)).to_bytes(8, 'little')
        f.seek(copy)
        f.write(raw)
PY
}

head -c 1000000 /dev/urandom >box
refused 5
: >box
refused 5
status 5 fc status box
truncate -s 30M box
refused 5

# one copy gone: the other serves, and it is said
for copy in 0 131072; do
	cp good box
	dd if=/dev/zero of=box bs=4096 seek=$((copy / 4096)) count=5 conv=notrunc status=none
	works
	said 'warning.*header'
	cp good box
	poke $((copy + 5000)) '\xff\xff'
	works
	said 'warning.*header'
done
# both
cp good box
dd if=/dev/zero of=box bs=4096 count=5 conv=notrunc status=none
dd if=/dev/zero of=box bs=4096 seek=32 count=5 conv=notrunc status=none
refused 5
cp good box
poke 5000 '\xff\xff'
poke $((131072 + 5000)) '\xff\xff'
refused 4
said 'both copies'

# a newer version, in both or in one of two copies that are of no other use
for seek in 8 $((131072 + 8)); do
	cp good box
	poke $seek '\x02'
	works
done
cp good box
poke 8 '\x02'
poke $((131072 + 8)) '\x02'
refused 6
said 'newer'
status 6 fc status box

# cut to any length: refused, or (by nothing that was needed) works
size=$(stat -c %s good)
for cut in 1 7 8 511 512 4095 4096 20479 20480 65535 65536 69632 131072 151551 151552 196608 204800 1048576 4194304; do
	[ $cut -lt "$size" ] || continue
	head -c $cut good >box
	code=0
	fc mount box mnt --passphrase-file pass >said 2>&1 || code=$?
	case $code in
	4 | 5) ;;
	10) [ $cut -eq 69632 ] || fail "cut to $cut bytes: status 10: $(cat said)" ;; # the root before the newest is left
	*) fail "cut to $cut bytes: status $code: $(cat said)" ;;
	esac
done

# feature bits, and a header that was edited by someone who has no key
cp good box
edit 40 80
refused 6
cp good box
edit 32 01 # may be ignored, but for the MAC
refused 4
said 'forged'
cp good box
edit 48 01 # would be mounted read-only, but for the MAC
refused 4
said 'only read'
cp good box
edit 72 02 # another cipher
[ "$(fc status good | sed -n 's/^cipher *//p')" = aes-256-gcm ] || refused 4
cp good box
edit 56 00ff # another UUID
refused 4

# slots: what unlocking would cost is bounded before it is paid
cp good box
edit $((4096 + 24)) 000000000000ff7f
refused 4
said 'absurd'
cp good box
edit $((4096 + 20)) ffffffff
refused 4
cp good box
edit $((4096 + 16)) 09000000
refused 4
cp good box
edit $((4096 + 88)) 00112233445566778899
refused 3
cp good box
edit $((4096 + 136)) 00112233445566778899
refused 3
cp good box
works
fc_forget "container $D"

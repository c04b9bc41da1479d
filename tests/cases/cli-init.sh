#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# init: mode 0600 whatever the umask, never over anything, ciphers, sizes.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
echo words >pass
umask 0
status 0 fc init box --kdf interactive --passphrase-file pass
equal "$(stat -c %a box)" 600 "mode"
umask 022
sum=$(sha256sum <box)
status 1 fc init box --kdf interactive --passphrase-file pass
said 'box exists'
equal "$(sha256sum <box)" "$sum" "the container that was there"
ln -s nowhere link
status 1 fc init link --kdf interactive --passphrase-file pass
[ ! -e nowhere ] || fail "a container behind a dangling link"
mkdir dir
status 1 fc init dir --kdf interactive --passphrase-file pass
status 1 fc init absent/box --kdf interactive --passphrase-file pass
said 'absent'

# what goes wrong before it is made leaves nothing
status 1 fc init other --kdf interactive --passphrase-file absent
status 1 fc init other --kdf interactive --passphrase-file /dev/null
said 'empty'
status 1 fc init other --key-file absent
said 'no such file'
[ ! -e other ] || fail "a container without a key"

for cipher in xchacha20-poly1305 aes-256-gcm; do
	code=0
	fc init "box-$cipher" --kdf interactive --passphrase-file pass --cipher "$cipher" 2>said || code=$?
	[ $code -eq 0 ] || { [ $code -eq 1 ] && [ $cipher = aes-256-gcm ]; } || fail "$cipher: status $code"
	[ $code -ne 0 ] || equal "$(fc status "box-$cipher" | sed -n 's/^cipher *//p')" "$cipher" "cipher"
done
# auto is AES where the processor has it and libcrypto is built in
if grep -q '^flags.* aes .*pclmulqdq\|^flags.* pclmulqdq .* aes ' /proc/cpuinfo && ldd "$FUSECRYPT" | grep -q libcrypto; then
	fc init box-auto --kdf interactive --passphrase-file pass
	equal "$(fc status box-auto | sed -n 's/^cipher *//p')" aes-256-gcm "the cipher that is chosen"
fi

# the size limit is a file system's size; a small log makes a small container
status 0 fc init small --kdf interactive --passphrase-file pass --size-limit 64M --log-size 256K
[ "$(du -B1 small | cut -f 1)" -lt 8000000 ] || fail "an empty container with a small log takes $(du -h small)"
mkdir mnt
need_fuse
D=$CASE_TMP
FC_STACK+=("container $D")
status 0 fc mount small mnt --passphrase-file pass
equal "$(fc_field "$D" bytes_limit)" 67108864 bytes_limit
[ "$(df -B1 --output=size mnt | tail -n 1)" -le 67108864 ] || fail "df says more than the limit"
equal "$(stat -c '%a %u %g' mnt)" "755 $(id -u) $(id -g)" "the root directory"

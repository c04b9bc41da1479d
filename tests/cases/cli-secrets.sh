#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every way to give a secret, right and wrong.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
need_fuse
D=$CASE_TMP
mkdir mnt
printf 'two words \nand more\n' >pass
printf 'two words ' >pass-without-newline
printf 'two words\n' >pass-without-blank
head -c 64 /dev/urandom >key
printf 'short' >short-key
status 0 fc init box --kdf interactive --passphrase-file pass --key-file key --recovery-code-file code
equal "$(stat -c %a code)" 600 "mode of the recovery code"
grep -qE '^([0-9A-Z]{5}-){7}[0-9A-Z]{5}$' code || fail "recovery code: $(cat code)"

# opens OPTION…: mounts with these and unmounts
opens() {
	fc_forget "container $D"
	FC_STACK+=("container $D")
	status 0 fc mount box mnt "$@"
	fc_umount "$D"
}
opens --passphrase-file pass
opens --passphrase-file pass-without-newline
opens --passphrase-file - <pass
opens --passphrase-file - < <(sleep 0.3 && cat pass)
opens --passphrase-file <(cat pass)
opens --passphrase-fd 0 <pass
opens --passphrase-fd 9 9<pass
opens -o passphrase-file=pass
opens -o "key-file=$PWD/key"
opens --key-file key
opens --recovery-code-file code
tr 'A-Z0-' 'a-zO ' <code >code-as-typed
opens --recovery-code-file code-as-typed
opens --key-file short-key --passphrase-file pass # any one that is right

# wrong ones: status 3 and which
status 3 fc mount box mnt --passphrase-file pass-without-blank
said 'no key opens .*passphrase'
status 3 fc mount box mnt --passphrase-file short-key
status 3 fc mount box mnt --key-file pass
said 'no key opens .*key file'
status 3 fc mount box mnt --passphrase-file /dev/null
said 'empty'
status 3 fc mount box mnt --recovery-code-file pass
said 'no recovery code'
sed 's/^\(.\{12\}\)\(.\)\(.\)/\1\3\2/' code >code-swapped
cmp -s code code-swapped || {
	status 3 fc mount box mnt --recovery-code-file code-swapped
	said 'group 3'
}
tr 0-9 1-90 <pass >/dev/null
fc init other --kdf interactive --passphrase-file pass --recovery-code-file other-code
status 3 fc mount box mnt --recovery-code-file other-code
said 'recovery code'
status 3 fc mount other mnt --key-file key
said 'has no key file'

# what is no secret: status 1 and why
status 1 fc mount box mnt --passphrase-file absent
said 'absent'
status 1 fc mount box mnt --passphrase-file .
said 'directory'
head -c 5000 /dev/zero >long
status 1 fc mount box mnt --passphrase-file long
said '4096'
status 1 fc mount box mnt --key-file /dev/zero
said 'regular'
status 1 fc mount box mnt --key-file .
said 'directory'
: >empty
status 1 fc mount box mnt --key-file empty
said 'empty'
truncate -s 17M huge
status 1 fc mount box mnt --key-file huge
said '16 MiB'
mkfifo pipe
status 1 fc mount box mnt --key-file pipe

# a recovery code is never written over anything, and goes with a container that failed
status 1 fc init third --kdf interactive --passphrase-file pass --recovery-code-file code
said 'exists'
[ ! -e third ] || fail "a container without its recovery code"
fc init third --kdf interactive --new-passphrase-file pass --recovery-code-file - >third-code
grep -qE '^([0-9A-Z]{5}-){7}[0-9A-Z]{5}$' third-code || fail "recovery code on standard output"

# a key file alone; one that may be a word is stretched
fc init fourth --new-key-file key
fc init fifth --kdf interactive --key-file short-key
status 3 fc mount fourth mnt --passphrase-file pass
said 'has no passphrase'
status 3 fc mount fourth mnt </dev/null
said 'no passphrase.*--key-file'
mv fifth box.5
fc_forget "container $D"
FC_STACK+=("container $D")
status 0 fc mount box.5 mnt --key-file short-key
fc_umount "$D"

# a terminal that is not there: an error, never a hang
status 1 setsid "$FUSECRYPT" mount box mnt </dev/null
said 'no terminal'
status 1 setsid "$FUSECRYPT" init sixth </dev/null
said 'no terminal'
[ ! -e sixth ] || fail "a container without a key"

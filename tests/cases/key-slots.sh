#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 300
# Keys are listed, added, changed and removed; each opens the container as long as it
# is there, and not a moment longer. (gocryptfs 766: the old passphrase is refused.)
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
for n in one two three four; do echo "words $n" >$n; done
for n in 1 2; do head -c 64 /dev/urandom >key$n; done
printf 'short' >short-key
F=(--kdf interactive)
fc init box "${F[@]}" --passphrase-file one --log-size 256K

opens() { status 0 fc status box "$@"; said 'generation'; }
closed() { status 3 fc status box "$@"; }
# field SLOT FIELD: of key list --json; "-" where there is no such slot
field() {
	fc key list box --json | py -c '
import json, sys
for s in json.load(sys.stdin)["slots"]:
    if s["slot"] == int(sys.argv[1]):
        print(s[sys.argv[2]])
        break
else:
    print("-")' "$1" "$2"
}

# a slot for each kind; the first free number is told
equal "$(fc key add box "${F[@]}" --passphrase-file one --new-passphrase-file two --label 'at home')" "slot 1" "add"
equal "$(fc key add box --passphrase-file two --new-key-file key1 --label Schlüssel)" "slot 2" "add"
equal "$(fc key add box --key-file key1 --kind recovery --new-recovery-code-file code)" "slot 3" "add"
equal "$(stat -c %a code)" 600 "mode of the recovery code"
# with the code on standard output nothing else stands there
fc key add box --recovery-code-file code --new-recovery-code-file - >code2
grep -qE '^([0-9A-Z]{5}-){7}[0-9A-Z]{5}$' code2 || fail "recovery code on standard output: $(cat code2)"
equal "$(wc -l <code2)" 1 "lines on standard output"
fc key add box "${F[@]}" --recovery-code-file code2 --kind key-file --new-key-file short-key --label short >/dev/null
opens --passphrase-file one
opens --passphrase-file two
opens --key-file key1
opens --recovery-code-file code
opens --recovery-code-file code2
opens --key-file short-key

# the list asks for no secret and tells what is public
status 0 fc key list box
said '^0 *passphrase *20..-..-..T..:..:..Z *argon2id, 2 x 64 MiB *$'
said '^1 *passphrase .* at home$'
said '^2 *key-file .* none .*Schlüssel$'
said '^3 *recovery .* none'
said '^5 *key-file .* argon2id, 2 x 64 MiB  *short$' # it may be guessed
equal "$(field 1 kind) $(field 1 label) $(field 1 kdf) $(field 1 kdf_passes) $(field 1 kdf_bytes)" \
	"passphrase at home argon2id 2 67108864" "slot 1"
equal "$(field 2 label) $(field 2 kdf) $(field 2 kdf_bytes)" "Schlüssel none 0" "slot 2"
equal "$(field 0 label) $(field 6 kind)" "None -" "what is not there"
uuid=$(fc status box --json | py -c 'import json, sys; print(json.load(sys.stdin)["uuid"])')
equal "$(fc key list box --json | py -c 'import json, sys; print(json.load(sys.stdin)["uuid"])')" "$uuid" "uuid"

# change: the slot of the given secret, or the one that is named; its label stays
made=$(field 1 created)
sleep 1
fc key change box "${F[@]}" --passphrase-file two --new-passphrase-file three
opens --passphrase-file three
closed --passphrase-file two
said 'no key opens'
equal "$(field 1 label)" "at home" "label after a change"
[ "$(field 1 created)" != "$made" ] || fail "the date stays when the secret changes"
fc key change box --slot 2 --passphrase-file three --new-key-file key2
opens --key-file key2
closed --key-file key1
fc key change box --slot 3 --key-file key2 --new-recovery-code-file code3
opens --recovery-code-file code3
opens --recovery-code-file code2
closed --recovery-code-file code
# to another kind
fc key change box "${F[@]}" --slot 5 --key-file key2 --new-passphrase-file four
equal "$(field 5 kind) $(field 5 label)" "passphrase short" "a slot of another kind"
opens --passphrase-file four
closed --key-file short-key
# another cost for the same secret
fc key change box --kdf moderate --passphrase-file four
equal "$(field 5 kdf_passes) $(field 5 kdf_bytes)" "3 268435456" "cost"
opens --passphrase-file four
fc key change box --kdf auto --slot 5 --passphrase-file four
[ "$(field 5 kdf_passes)" -ge 3 ] || fail "--kdf auto: $(field 5 kdf_passes) passes"
opens --passphrase-file four
status 3 fc key change box --slot 5 --kdf moderate --passphrase-file three
said 'slot 5 itself'
status 1 fc key change box --kdf moderate --key-file key2
said 'too long to be guessed'
# old and new from one stream
printf 'words four\nwords five\n' | fc key change box "${F[@]}" --passphrase-file - --new-passphrase-file -
closed --passphrase-file four
echo 'words five' >five
opens --passphrase-fd 7 7<five

# remove: by any other secret
status 3 fc key remove box --slot 5 --passphrase-file five
said 'another slot'
fc key remove box --slot 5 --passphrase-file one
closed --passphrase-file five
equal "$(field 5 kind)" - "a removed slot"
fc key remove box --slot 2 --recovery-code-file code2
closed --key-file key2
said 'has no key file'
# the number is free again
equal "$(fc key add box --passphrase-file one --new-key-file key1 --label short)" "slot 2" "add after remove"
opens --key-file key1

# 16 are all
while [ "$(fc key list box | wc -l)" -lt 17 ]; do
	fc key add box --key-file key1 --new-key-file key2 >/dev/null
done
status 1 fc key add box --key-file key1 --new-key-file key2
said 'all 16 slots'

# content is what it was
need_fuse
D=$CASE_TMP
mkdir mnt
fc_forget "container $D"
FC_STACK+=("container $D")
status 0 fc mount box mnt --key-file key2
echo content >mnt/file
fc umount mnt
status 0 fc mount box mnt --passphrase-file three
equal "$(cat mnt/file)" content content

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 300
# What key commands refuse, with its status and a sentence; the container stays as it is.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
echo words >pass
echo other >wrong
head -c 64 /dev/urandom >key
head -c 64 /dev/urandom >new
fc init box --kdf interactive --passphrase-file pass --log-size 256K
fc key add box --passphrase-file pass --new-key-file key --label home >/dev/null
sum=$(sha256sum <box)

# refused STATUS WORDS COMMAND…
refused() {
	status "$1" "${@:3}"
	said "$2"
	equal "$(sha256sum <box)" "$sum" "the container after: ${*:3}"
}

# slots: a number from 0 to 15, in use
for slot in 16 -1 x '' 1x 18446744073709551616; do
	refused 2 'from 0 to 15' fc key remove box --key-file key --slot "$slot"
	refused 2 'from 0 to 15' fc key change box --key-file key --slot "$slot" --new-key-file new
done
refused 1 'slot 7 .*not in use' fc key remove box --key-file key --slot 7
refused 1 'slot 15 .*not in use' fc key change box --key-file key --slot 15 --new-key-file new
refused 2 'needs --slot' fc key remove box --key-file key

# labels: once, up to 64 bytes of UTF-8 without control characters
refused 1 'label "home" already' fc key add box --key-file key --new-key-file new --label home
refused 2 'longer than 64' fc key add box --key-file key --new-key-file new --label "$(printf '%065d' 0)"
refused 2 'longer than 64' fc key add box --key-file key --new-key-file new --label "$(printf 'ä%.0s' $(seq 33))"
for label in $'a\nb' $'\e[2J' $'\xc2\x9b2J' $'\xff' $'\xc3'; do
	refused 2 'control characters' fc key add box --key-file key --new-key-file new --label "$label"
done

# key files
: >empty
truncate -s 17M huge
mkfifo pipe
refused 1 'empty' fc key add box --key-file key --new-key-file empty
refused 1 '16 MiB' fc key add box --key-file key --new-key-file huge
refused 1 'directory' fc key add box --key-file key --new-key-file .
refused 1 'regular' fc key add box --key-file key --new-key-file pipe
refused 1 'no such file' fc key add box --key-file key --new-key-file absent
refused 1 'empty' fc key change box --key-file key --new-key-file empty
refused 1 'empty' fc key remove box --slot 0 --key-file empty
refused 1 'regular' fc key remove box --slot 0 --key-file pipe

# secrets that are wrong, empty or not there
refused 3 'no key opens' fc key add box --passphrase-file wrong --new-key-file new
refused 3 'no key opens' fc key change box --key-file new --new-key-file new
refused 3 'no key opens' fc key remove box --slot 1 --passphrase-file wrong
refused 1 'empty' fc key add box --key-file key --new-passphrase-file /dev/null
refused 1 'no terminal' setsid "$FUSECRYPT" key add box --new-key-file new
refused 1 'no terminal' setsid "$FUSECRYPT" key add box --key-file key
refused 1 'no terminal' setsid "$FUSECRYPT" key add box --key-file key --kind recovery
refused 1 'new-key-file' fc key change box --key-file key
refused 2 'new-key-file' fc key change box --key-file key --slot 1
refused 2 '77' fc key add box --key-file key --new-passphrase-fd 77

# a recovery code with a typing error, located; a file for one that exists
fc key add box --key-file key --new-recovery-code-file code >/dev/null
sum=$(sha256sum <box)
py - <<'PY'
code = open('code').read().strip()
groups = code.split('-')
letters = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
for g in 0, 4, 7:
    typed = list(groups)
    c = typed[g][2]
    typed[g] = typed[g][:2] + letters[(letters.index(c) + 1) % 32] + typed[g][3:]
    open('typed%d' % (g + 1), 'w').write('-'.join(typed) + '\n')
open('short', 'w').write('-'.join(groups[:7]) + '\n')
PY
for group in 1 5 8; do
	refused 3 "group $group " fc key remove box --slot 0 --recovery-code-file typed$group
done
refused 3 'no recovery code' fc key remove box --slot 0 --recovery-code-file short
refused 1 'exists' fc key add box --key-file key --new-recovery-code-file code
# what was drawn for nothing is taken away
refused 1 'label "home" already' fc key add box --key-file key --new-recovery-code-file code2 --label home
refused 3 'no key opens' fc key add box --key-file new --new-recovery-code-file code2
[ ! -e code2 ] || fail "a recovery code that opens nothing is left"

# arguments that do not go together
refused 2 'kind' fc key add box --key-file key --kind tpm3
refused 2 'kind' fc key add box --key-file key --kind passphrase --new-key-file new
refused 2 'new-key-file' fc key add box --key-file key --kind key-file
refused 2 'one new' fc key change box --key-file key --new-key-file new --new-passphrase-file pass
refused 2 'one after the other' fc key add box --key-file key --new-key-file new --new-passphrase-file pass
refused 2 'kdf' fc key add box --key-file key --kdf fast
refused 2 'no-such' fc key list box --no-such
refused 2 'one container' fc key list
refused 2 'one container' fc key list box box

# what is no container, or not to be written
status 5 fc key list pass
status 5 fc key add pass --key-file key --new-key-file new
status 5 fc key list .
status 1 fc key list absent
said 'absent'
if [ "$(id -u)" -eq 0 ]; then
	chmod 755 .
	chmod 644 box key new
	status 1 as_user "$FUSECRYPT" key add "$PWD/box" --key-file "$PWD/key" --new-key-file "$PWD/new"
	said 'not written by you'
	status 0 as_user "$FUSECRYPT" key list "$PWD/box"
fi
equal "$(sha256sum <box)" "$sum" "the container at the end"

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The last slot stays, unless everything shall be lost; a header backup brings it back.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
head -c 64 /dev/urandom >key
echo words >pass
fc init box --key-file key --log-size 256K
status 1 fc key remove box --slot 0 --key-file key
said 'last one'
said 'destroy'
status 0 fc status box --key-file key
fc header backup box backup

# --destroy is a permission for the last one only: others still need another secret
fc key add box --kdf interactive --key-file key --new-passphrase-file pass >/dev/null
status 3 fc key remove box --slot 0 --destroy --key-file key
status 0 fc key remove box --slot 1 --destroy --key-file key
status 0 fc status box --key-file key
# and the last one its own
status 3 fc key remove box --slot 0 --destroy --passphrase-file pass
status 0 fc key remove box --slot 0 --destroy --key-file key
said 'nothing opens'
status 0 fc key list box
said 'no key'
equal "$(fc key list box --json | py -c 'import json, sys; print(json.load(sys.stdin)["slots"])')" "[]" "slots"
status 3 fc status box --key-file key
said 'no key any more'
status 3 fc key add box --key-file key --new-passphrase-file pass
status 1 fc key remove box --slot 0 --destroy --key-file key
# of the wrapped key nothing is left in either copy
for copy in 0 32; do
	equal "$(dd if=box bs=4096 skip=$((copy + 1)) count=4 status=none | tr -d '\0' | wc -c)" 0 "bytes in slots"
done

status 0 fc header restore box backup --key-file key
said 'opens it again: slot 0 (key-file)'
status 0 fc status box --key-file key

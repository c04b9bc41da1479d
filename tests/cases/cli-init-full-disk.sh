#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A host without room for a new container: status 9, nothing left behind.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
with_loop tmpfs 12M "$CASE_TMP/host"
echo words >pass
status 9 fc init host/box --kdf interactive --passphrase-file pass --recovery-code-file code
said 'no space'
[ -z "$(ls -A host)" ] || fail "left behind: $(ls -A host)"
[ ! -e code ] || fail "the recovery code of no container was left"
# what the message advises
status 0 fc init host/box --kdf interactive --passphrase-file pass --log-size 256K

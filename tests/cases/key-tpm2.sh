#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A slot that this machine's TPM opens, with and without a PIN. A TPM that is gone, another one or locked leaves
# the other kinds to be tried.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
# shellcheck source=tests/cases/lib-tpm2.sh
. "$SOURCE/tests/cases/lib-tpm2.sh"
tpm_start "$CASE_TMP/tpm"
fc_init "$D"
key() { "$FUSECRYPT" key "$@" --passphrase-file "$D/pass"; }
# mounts it, without a terminal unless it runs on one
cat >opens <<-END
	#!/bin/sh
	"$FUSECRYPT" mount "$D/box" "$M" --read-only "\$@" || exit
	"$FUSECRYPT" umount "$M"
END
chmod 755 opens
fc_at_end() {
	tpm_stop
	! mountpoint -q "$M" || "$FUSECRYPT" umount "$M"
}
alone() { setsid -w "$FUSECRYPT" "$@"; } # without a terminal
kinds() { "$FUSECRYPT" key list "$D/box" --json | py -c 'import json, sys
print(*["%(slot)d:%(kind)s" % s + (":%(pin)s" % s if "pin" in s else "") for s in json.load(sys.stdin)["slots"]])'; }

# without a PIN it asks nothing
status 0 key add "$D/box" --kind tpm2 --label machine
said 'slot 1'
equal "$(kinds)" "0:passphrase 1:tpm2:False" "slots"
"$FUSECRYPT" key list "$D/box" | grep -q '^1 *tpm2 .* the TPM *machine$' || fail "key list"
status 0 setsid -w ./opens
alone mount "$D/box" "$M"
echo x >"$M/file"
"$FUSECRYPT" umount "$M"

# what is given is taken, not the TPM
echo wrong >wrong
status 3 ./opens --passphrase-file wrong
# the slot that the TPM opens is not changed for one that is given
status 1 alone key change "$D/box" --new-passphrase-file wrong --kdf interactive
said 'no terminal'
equal "$(kinds)" "0:passphrase 1:tpm2:False" "slots"
status 0 alone key change "$D/box" --slot 0 --new-passphrase-file "$D/pass" --kdf interactive
status 0 alone key change "$D/box" --slot 1
status 0 setsid -w ./opens

# wrong calls
: >empty
head -c 64 /dev/urandom >file
cp "$D/box" before
status 2 key add "$D/box" --kind tpm2 --new-key-file file
status 2 key add "$D/box" --kind tpm2 --new-recovery-code-file code
status 2 key add "$D/box" --kind tpm3
said 'tpm2 are known'
status 1 key add "$D/box" --kind tpm2 --new-passphrase-file empty
said 'empty'
status 1 key add "$D/box" --kind tpm2 --label machine
cmp before "$D/box" || fail "a wrong call changed it"

# gone: says so, and asks for the passphrase
printf '#!/bin/sh\necho "$1" >>%s/prompts\ncat %s/pass\n' "$CASE_TMP" "$D" >ask
chmod 755 ask
tpm_stop
status 0 env FUSECRYPT_ASKPASS="$CASE_TMP/ask" setsid -w ./opens
said "TPM at $FUSECRYPT_TPM2_TCTI cannot be reached"
equal "$(cat prompts)" "Passphrase for $D/box: " "what was asked"
status 1 setsid -w ./opens
said 'cannot be reached'
said 'no terminal'
status 1 key add "$D/box" --kind tpm2
said 'cannot be reached'
status 1 env FUSECRYPT_TPM2_TCTI=nonsense setsid -w ./opens
said 'nonsense cannot be reached'
cmp before "$D/box" || fail "it was changed without a TPM"

# another one, or one that was cleared
tpm_start "$CASE_TMP/other"
status 0 env FUSECRYPT_ASKPASS="$CASE_TMP/ask" setsid -w ./opens
said 'slot 1 of .*another TPM'
tpm_stop

# with a PIN: asked for by a program once
tpm_start "$CASE_TMP/tpm"
echo 1234 >pin
status 0 key remove "$D/box" --slot 1
status 0 key add "$D/box" --kind tpm2 --new-passphrase-file pin --kdf interactive
equal "$(kinds)" "0:passphrase 1:tpm2:True" "slots"
status 1 setsid -w ./opens
said 'no terminal'
rm prompts
printf '#!/bin/sh\necho "$1" >>%s/prompts\ncase $1 in *PIN*) cat %s/pin ;; *) cat %s/pass ;; esac\n' \
	"$CASE_TMP" "$CASE_TMP" "$D" >ask
status 0 env FUSECRYPT_ASKPASS="$CASE_TMP/ask" setsid -w ./opens
equal "$(cut -d ' ' -f 1-2 prompts)" "TPM PIN" "what was asked"
echo 1235 >pin
status 0 env FUSECRYPT_ASKPASS="$CASE_TMP/ask" setsid -w ./opens
said 'the PIN is wrong'
equal "$(wc -l <prompts)" 3 "PIN, then wrong PIN and passphrase"
status 3 ./opens --passphrase-file pin # the PIN is no passphrase

# ... and at the terminal
py - "$D/pass" <<'PY'
import sys
from libterminal import Terminal, expect
words = open(sys.argv[1]).read()

t = Terminal("./opens")
t.wait_for("TPM PIN for ")
t.type("99\n")
t.wait_for("That PIN is wrong.")
t.wait_for("TPM PIN for ")
t.type("1234\n")
code, said = t.end()
expect(code, 0, said)

t = Terminal("./opens") # another key, please
t.wait_for("TPM PIN for ")
t.type("\n")
t.wait_for("Passphrase for ")
t.type(words)
code, said = t.end()
expect((code, "slot" in said), (0, False), said)

t = Terminal("./opens")
t.wait_for("TPM PIN for ")
t.type("\x03")
code, said = t.end()
expect(code, 130, said)
PY

# too many guesses: the TPM locks itself, and the passphrase still opens it
for _ in $(seq 40); do
	status 0 env FUSECRYPT_ASKPASS="$CASE_TMP/ask" setsid -w ./opens
	! grep -q 'locked after too many wrong PINs' said || break
done
said 'locked after too many wrong PINs'

# gone for good: what is left can be removed
tpm_stop
status 0 key remove "$D/box" --slot 1
equal "$(kinds)" "0:passphrase" "slots"

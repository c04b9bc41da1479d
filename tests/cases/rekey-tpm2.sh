#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 120
# A rekey takes along what this machine's TPM opens: without being asked, and with a PIN where that is given; what
# the TPM does not open is named, and dropped once that is agreed to.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
# shellcheck source=tests/cases/lib-tpm2.sh
. "$SOURCE/tests/cases/lib-tpm2.sh"
tpm_start "$CASE_TMP/tpm"
fc_init "$D" --log-size 1M
B=$D/box
P=(--passphrase-file "$D/pass")
echo 1234 >pin
echo 9999 >wrong
key() { "$FUSECRYPT" key "$@" "${P[@]}"; }
kinds() { "$FUSECRYPT" key list "$B" --json | py -c 'import json, sys
print(*["%(slot)d:%(kind)s" % s + (":%(pin)s" % s if "pin" in s else "") for s in json.load(sys.stdin)["slots"]])'; }
alone() { setsid -w "$FUSECRYPT" "$@"; } # without a terminal
opens() {
	status 0 "$@" mount "$B" "$M" --read-only
	"$FUSECRYPT" umount "$M"
}
printf '#!/bin/sh\necho "$1" >>%s/prompts\ncase $1 in *PIN*) cat %s/pin ;; *) cat %s/pass ;; esac\n' \
	"$CASE_TMP" "$CASE_TMP" "$D" >ask
chmod 755 ask
asking() { env FUSECRYPT_ASKPASS="$CASE_TMP/ask" setsid -w "$FUSECRYPT" "$@"; }
status 0 key add "$B" --kind tpm2 --label machine
status 0 key add "$B" --kind tpm2 --label guarded --new-passphrase-file pin --kdf interactive

# without the PIN that slot is named, and nothing is changed
sum=$(sha256sum <"$B")
status 1 alone rekey "$B" "${P[@]}"
said 'slot 2 (tpm2, "guarded") will not open .*its PIN was not given'
! grep -q 'slot [01]' said || fail "a slot that can go along is named: $(cat said)"
# a wrong one: neither a passphrase nor a PIN
status 3 alone rekey "$B" "${P[@]}" --passphrase-file wrong --yes
equal "$(sha256sum <"$B")" "$sum" "a container whose rekey was refused"

# with it all go along, and each of them opens it
status 0 alone rekey "$B" "${P[@]}" --passphrase-file pin
equal "$(kinds)" "0:passphrase 1:tpm2:False 2:tpm2:True" "slots"
"$FUSECRYPT" key list "$B" | grep -q 'guarded$' || fail "the label is gone"
opens alone
status 0 alone key remove "$B" --slot 1 "${P[@]}"
opens asking
equal "$(cut -d ' ' -f 1-2 prompts)" "TPM PIN" "what was asked"
status 0 fc check "$B" "${P[@]}"

# asked for: the passphrase, then the PIN, also on a mount
rm prompts
fc_mount "$D"
echo text >"$M/file"
status 0 asking rekey "$B"
equal "$(cut -d ' ' -f 1-2 prompts | tr '\n' ' ')" "Passphrase for TPM PIN " "what was asked"
fc_umount "$D"
equal "$(kinds)" "0:passphrase 2:tpm2:True" "slots"
rm prompts
opens asking
equal "$(cut -d ' ' -f 1-2 prompts)" "TPM PIN" "what was asked"

# nothing but TPMs: nobody is asked
status 0 key add "$B" --kind tpm2
status 0 alone key remove "$B" --slot 2 "${P[@]}"
status 0 alone key remove "$B" --slot 0
equal "$(kinds)" "1:tpm2:False" "slots"
status 0 alone rekey "$B"
equal "$(kinds)" "1:tpm2:False" "slots"
opens alone
status 0 alone key add "$B" --kind passphrase --new-passphrase-file "$D/pass" --kdf interactive

# gone: why, and which slot; with --yes it goes
status 0 key add "$B" --kind tpm2 --label guarded --new-passphrase-file pin --kdf interactive
tpm_stop
status 3 alone rekey "$B" "${P[@]}" --passphrase-file pin
said 'slot 2 .*cannot be reached'
said 'not its passphrase'
status 0 key remove "$B" --slot 2
status 1 alone rekey "$B" "${P[@]}"
said 'slot 1 .*cannot be reached'
said 'slot 1 (tpm2) will not open'
# another one
tpm_start "$CASE_TMP/other"
status 1 alone rekey "$B" "${P[@]}"
said 'slot 1 .*another TPM'
said 'slot 1 (tpm2) will not open'
status 0 alone rekey "$B" "${P[@]}" --yes
equal "$(kinds)" "0:passphrase" "slots"
tpm_stop
tpm_start "$CASE_TMP/tpm"
status 0 fc check "$B" "${P[@]}"
fc_mount "$D"
equal "$(cat "$M/file")" text "content"
fc_umount "$D"

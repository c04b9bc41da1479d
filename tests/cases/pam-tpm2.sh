#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A login without a passphrase unlocks what a TPM opens without being asked for a PIN, and nothing else.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
# shellcheck source=tests/cases/lib-registry.sh
. "$SOURCE/tests/cases/lib-registry.sh"
need_fusecrypt
need_fuse
# shellcheck source=tests/cases/lib-tpm2.sh
. "$SOURCE/tests/cases/lib-tpm2.sh"
[ -x "$BUILD/tools/fusecrypt-login" ] || skip "built without PAM support"
W=$CASE_TMP/login
mkdir -p "$W/src" "$W/tools"
cp "$FUSECRYPT" "$W/src/"
cp "$BUILD"/tools/{fusecrypt-unlock,fusecrypt-login} "$W/tools/"
FUSECRYPT=$W/src/fusecrypt
fc_at_end() { tpm_and_registry_end; }
tpm_start "$CASE_TMP/tpm"
echo words >pass
echo 1234 >pin
for one in asked pin bare; do
	register "$HOME/$one" pass
done
"$FUSECRYPT" key add "$HOME/pin.fusecrypt" --kind tpm2 --kdf interactive --passphrase-file pass --new-passphrase-file pin
"$FUSECRYPT" key add "$HOME/bare.fusecrypt" --kind tpm2 --passphrase-file pass
unlock() { setsid -w env FUSECRYPT_ASKPASS= "$W/tools/fusecrypt-login" unlock; }
status 0 unlock 3<&-
state_is "$HOME/asked" locked
state_is "$HOME/pin" locked
state_is "$HOME/bare" unlocked
equal "$(cat said)" "" "what it said"
status 0 "$W/tools/fusecrypt-login" lock 3<&-
state_is "$HOME/bare" locked
# the TPM is gone
tpm_stop
status 1 unlock 3<&-
said 'cannot be reached'
state_is "$HOME/bare" locked
# ... and a passphrase is there
status 0 "$W/tools/fusecrypt-login" unlock 3<pass
for one in asked pin bare; do
	state_is "$HOME/$one" unlocked
done
# one that can be none
: >empty
for bad in empty /dev/zero; do
	status 1 "$W/tools/fusecrypt-login" unlock 3<"$bad"
	said 'empty or too long'
done
for words in "" "open" "unlock --owner" "unlock --owner x" "unlock --owner 1 2" "lock --user 1"; do
	# shellcheck disable=SC2086 # several words
	status 2 "$W/tools/fusecrypt-login" $words 3<&-
done

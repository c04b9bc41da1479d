#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `unlock --all` asks for nothing where a TPM opens all, for one passphrase where it does not, and for that one too
# when the TPM has gone.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
# shellcheck source=tests/cases/lib-registry.sh
. "$SOURCE/tests/cases/lib-registry.sh"
need_fusecrypt
need_fuse
# shellcheck source=tests/cases/lib-tpm2.sh
. "$SOURCE/tests/cases/lib-tpm2.sh"
fc_at_end() { tpm_and_registry_end; }
tpm_start "$CASE_TMP/tpm"
echo words >pass
printf '#!/bin/sh\necho "$1" >>%s/prompts\ncat %s/pass\n' "$CASE_TMP" "$CASE_TMP" >ask
chmod 755 ask
asked() { # COUNT
	local n=0
	[ ! -e prompts ] || n=$(wc -l <prompts)
	rm -f prompts
	equal "$n" "$1" "how often it asked"
}
unlock_all() { env FUSECRYPT_ASKPASS="$CASE_TMP/ask" setsid -w "$FUSECRYPT" unlock --all "$@"; }
states_are() {
	for one in "$HOME"/*.fusecrypt; do
		state_is "${one%.fusecrypt}" "$1"
	done
}
for one in a b; do
	register "$HOME/$one" pass
	"$FUSECRYPT" key add "$HOME/$one.fusecrypt" --kind tpm2 --passphrase-file pass
done
status 0 unlock_all
asked 0
states_are unlocked
status 0 fc lock --all

# what is given is taken
echo wrong >wrong
status 3 unlock_all --passphrase-file wrong
asked 0
states_are locked

# two that the TPM does not open: one question
register "$HOME/c" pass
register "$HOME/d" pass
status 0 unlock_all
asked 1
states_are unlocked
status 0 fc lock --all

# it has gone: still one question
tpm_stop
status 0 unlock_all
said 'cannot be reached'
asked 1
states_are unlocked
status 0 fc lock --all

# a secret of its own in the registry that does not open it: said once
sed -i "s|^options.*|options passphrase-file=$CASE_TMP/wrong|" "$(registry)/a.dir"
status 3 unlock_all
equal "$(grep -c 'no key opens' said)" 1 "times it was said"

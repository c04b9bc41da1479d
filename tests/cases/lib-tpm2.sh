# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# A TPM of software, which ends with the case; sourced after lib.sh.

need swtpm
grep -q 'define FC_HAVE_TPM2 1' "$BUILD/config.h" || skip "built without TPM support"
TPM_PORT=$(py -c 'import random; print(random.SystemRandom().randrange(20000, 60000, 2))')
export FUSECRYPT_TPM2_TCTI="swtpm:host=127.0.0.1,port=$TPM_PORT"
TPM_PID=

# tpm_start DIR: the one whose state is in DIR
tpm_start() {
	mkdir -p "$1"
	swtpm socket --tpmstate "dir=$1" --tpm2 --server "type=tcp,port=$TPM_PORT" \
		--ctrl "type=tcp,port=$((TPM_PORT + 1))" --flags not-need-init,startup-clear >"$1/log" 2>&1 &
	TPM_PID=$!
	for _ in $(seq 100); do
		# the ports of all, in hexadecimal; a connection would be its only one
		! grep -q "$(printf ':%04X 00000000:0000 0A' "$TPM_PORT")" /proc/net/tcp || return 0
		sleep 0.05
	done
	fail "swtpm: $(cat "$1/log")"
}

tpm_stop() {
	[ -n "$TPM_PID" ] || return 0
	kill "$TPM_PID"
	wait "$TPM_PID" || :
	TPM_PID=
}
fc_at_end() { tpm_stop; }
# For cases that register directories, too.
tpm_and_registry_end() {
	tpm_stop
	"$FUSECRYPT" lock --all
	chattr -f -i "$HOME"/*
}

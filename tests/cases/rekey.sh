#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 240
# Another master key: slots whose secret is not given go, after they were named; an old
# header copy and the passphrases in it open nothing then; killed in the middle it is
# gone on with; mounted or not; check understands what is in between.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
head -c 64 /dev/urandom >key
echo "the second one" >second
echo wrong >wrong
fc_init "$D" --log-size 1M
B=$D/box
P=(--passphrase-file "$D/pass")
K=(--key-file key) # cheaper to try
# on a container that nobody has open: two in a row lose no block
fc key add "$B" "${P[@]}" --kind passphrase --new-passphrase-file second --label second --kdf interactive >/dev/null
fc key add "$B" "${P[@]}" --new-key-file key --label usb >/dev/null
fc key add "$B" "${K[@]}" --kind recovery --new-recovery-code-file code >/dev/null
status 0 fc check "$B" "${K[@]}"
fc header backup "$B" old
put_back() { # FILE: the old header's copies
	dd if=old of="$1" bs=4096 count=5 conv=notrunc status=none
	dd if=old of="$1" bs=4096 count=5 skip=32 seek=32 conv=notrunc status=none
}
rekey_state() { fc status "$1" --json | py -c 'import json, sys; print((json.load(sys.stdin)["rekey"] or {"state": None})["state"])'; }

# nothing is changed by what is refused
sum=$(sha256sum <"$B")
status 3 fc rekey "$B" --passphrase-file wrong
status 3 fc rekey "$B" "${P[@]}" --passphrase-file wrong --yes
status 3 fc rekey "$B" "${P[@]}" --key-file wrong --yes
status 2 fc rekey "$B" --new-passphrase-file second
status 2 fc rekey "$B" "$B" "${P[@]}"
status 1 fc rekey "$B" "${P[@]}" --key-file key </dev/null
said 'slot 1 (passphrase, "second") will not open'
said 'slot 3 (recovery) will not open'
! grep -q 'slot [02]' said || fail "a slot whose secret is given is named: $(cat said)"
py - "$FUSECRYPT" "$B" "$D/pass" <<'PY'
import os, sys
from libterminal import Terminal, expect
t = Terminal(sys.argv[1], "rekey", sys.argv[2], "--passphrase-file", sys.argv[3])
t.wait_for("[y/n] ")
os.write(t.fd, b"n\n")
code, said = t.end()
expect(code, 1, "not agreed to: " + said)
PY
equal "$(sha256sum <"$B")" "$sum" "a container whose rekey was refused"
fc_mount "$D" --read-only
status 7 fc rekey "$B" "${K[@]}" --yes
fc_umount "$D"

# mounted and in use, then the daemon is killed in the middle
fc_mount "$D" -o commit=1
make_tree "$M/tree" 300
head -c 100000000 /dev/urandom >"$M/large"
cp --reflink=auto "$M/large" "$M/copy"
ln "$M/large" "$M/link"
digest() { (cd "$M" && find tree large copy link -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum); }
want=$(digest)
fc sync "$M"
used=$(fc_field "$D" bytes_used)
status 0 fc header backup "$B" before
fc rekey "$B" "${P[@]}" --key-file key --yes >out 2>&1 &
job=$!
for _ in $(seq 2000); do
	! fc status "$M" | grep -q '^rekey *running' || break
done
equal "$(rekey_state "$M")" running "the state of a rekey"
echo meanwhile >"$M/meanwhile"
sync "$M/meanwhile"
fc_kill "$D"
got=0
wait "$job" || got=$?
equal "$got" 1 "a rekey whose daemon was killed: $(cat out)"
fc umount "$M"
equal "$(rekey_state "$B")" interrupted "the state after a crash"

# what is in between is in order, for the secrets that are kept alone
status 0 fc check "$B" "${K[@]}"
if [ "$(id -u)" -eq 0 ]; then
	py "$FC_LIB/libformat.py" list "$B" "$D/pass" >listed || fail "the second reader in the middle of a rekey"
fi
status 3 fc mount "$B" "$M" --passphrase-file second
status 3 fc mount "$B" "$M" --recovery-code-file code
cp --sparse=always "$B" put-back
put_back put-back
for secret in "$D/pass" second; do
	status 4 fc mount put-back "$M" --passphrase-file "$secret"
done
status 1 fc header restore "$B" old --passphrase-file second
said 'before a rekey'

# another rekey goes on, in its own process; interrupted, too
fc rekey "$B" --key-file key >out 2>&1 &
job=$!
sleep 0.4
kill -INT "$job" 2>/dev/null || true
got=0
wait "$job" || got=$?
[ "$got" = 130 ] || [ "$got" = 0 ] || fail "an interrupted rekey ends with $got: $(cat out)"
status 0 fc check "$B" "${K[@]}"
# (one that is done is begun anew: with all secrets)
status 0 fc rekey "$B" "${P[@]}" "${K[@]}"
equal "$(rekey_state "$B")" None "the state when it is done"
status 0 fc check "$B" "${K[@]}"
fc_mount "$D"
equal "$(digest)" "$want" "content afterwards"
equal "$(cat "$M/meanwhile")" meanwhile "what was synced meanwhile"
now=$(fc_field "$D" bytes_used)
# shared blocks may part where it was interrupted, no more
[ "$now" -le $((used + 110000000)) ] || fail "$now bytes are in use, before it was $used"
fc_umount "$D"
if [ "$(id -u)" -eq 0 ]; then
	py "$FC_LIB/libformat.py" list "$B" "$D/pass" >listed || fail "the second reader after a rekey"
	grep -q meanwhile listed || fail "the second reader does not see a file"
fi
equal "$(fc key list "$B" | tail -n +2 | wc -l)" 2 "slots that are left"
status 3 fc mount "$B" "$M" --passphrase-file second
cp --sparse=always "$B" put-back
put_back put-back
for secret in "$D/pass" second; do
	status 4 fc mount put-back "$M" --passphrase-file "$secret"
done
status 1 fc header restore "$B" before "${P[@]}"

# once more, on a mount and without anything to drop; keys can be added again
fc_mount "$D"
status 0 fc rekey "$B" "${P[@]}" --key-file key </dev/null
equal "$(rekey_state "$M")" None "the state when it is done"
equal "$(digest)" "$want" "content of a mount that was re-keyed"
fc key add "$B" --key-file key --kind passphrase --new-passphrase-file second --kdf interactive >/dev/null
fc_remount "$D"
equal "$(digest)" "$want" "content after another mount"
fc_umount "$D"
status 0 fc check "$B" --passphrase-file second

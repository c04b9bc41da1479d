#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 300
# Keys change under a mounted container, without disturbing it; its next commit takes
# note, so that an older header put back afterwards is refused.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
for n in 1 2 3; do head -c 64 /dev/urandom >key$n; done
fc_begin
B=$D/box
echo before >"$M/file"
exec 8>"$M/open"
echo half >&8

fc header backup "$B" old
equal "$(fc key add "$B" --passphrase-file "$D/pass" --new-key-file key1)" "slot 1" "add"
fc key add "$B" --key-file key1 --new-key-file key2 >/dev/null
generation=$(fc_field "$D" generation)
fc key remove "$B" --slot 1 --key-file key2
[ "$(fc_field "$D" generation)" -gt "$generation" ] || fail "no commit takes note of a removed key"
fc key change "$B" --slot 2 --key-file key2 --new-key-file key3
status 0 fc key list "$B"
said '^2 *key-file'
equal "$(cat "$M/file")" before "content meanwhile"
echo more >&8
exec 8>&-
fc sync "$M"
# without a write in between, too: the change alone is committed
fc key add "$B" --key-file key3 --new-key-file key1 --label again >/dev/null
fc header backup "$B" now
fc key remove "$B" --slot 1 --key-file key3
fc_kill "$D"
status 0 fc umount "$M"

# what was put back after a crash is refused, also by the key that is there in both
for old in old now; do
	cp --sparse=always "$B" put-back
	dd if=$old of=put-back bs=4096 count=5 conv=notrunc status=none
	dd if=$old of=put-back bs=4096 count=5 skip=32 seek=32 conv=notrunc status=none
	status 10 fc mount put-back "$M" --passphrase-file "$D/pass"
	said 'header .*older'
done
for key in key1 key2; do
	status 3 fc mount "$B" "$M" --key-file $key
done
FC_STACK+=("container $D")
status 0 fc mount "$B" "$M" --key-file key3
equal "$(cat "$M/file") $(tr '\n' ' ' <"$M/open")" "before half more " content

# a crowd of key commands, mounts and reads at once: each one comes through
for i in $(seq 12); do
	fc key add "$B" --key-file key3 --new-key-file key1 --label "n $i" >/dev/null &
done
for i in $(seq 60); do
	fc key list "$B" >/dev/null 2>"list.$i" || fail "key list amid changes: $(cat "list.$i")"
	[ ! -s "list.$i" ] || fail "key list amid changes: $(cat "list.$i")"
done
for job in $(jobs -p); do
	wait "$job" || fail "a key command among others"
done
equal "$(fc key list "$B" | grep -c ' n [0-9]*$')" 12 "slots added at once"
echo after >"$M/file"
fc_umount "$D"

# a mount that is only read keeps the container bit-identical, a key command need not wait for it
fc_mount "$D" --read-only
fc key remove "$B" --slot 3 --key-file key3
equal "$(cat "$M/file")" after "content of a read-only mount"
sum=$(sha256sum <"$B")
cat "$M"/* >/dev/null
fc_umount "$D"
equal "$(sha256sum <"$B")" "$sum" "the container after a read-only mount"
fc_mount "$D"
equal "$(cat "$M/file")" after content

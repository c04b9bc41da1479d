#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The daemon: no core dump, not dumpable, locked memory; no secret in arguments,
# environment or state; nothing of content in messages.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
# shellcheck source=tests/cases/lib-dev-fuse.sh
. "$SOURCE/tests/cases/lib-dev-fuse.sh"
need_fusecrypt
fc_begin
pid=$(fc_field "$D" pid)
equal "$(awk '/^Max core file size/ { print $5, $6 }' "/proc/$pid/limits")" "0 0" "core limit"
# what is not dumpable belongs to root even for its own user
FC_AS=(as_user)
U=$CASE_TMP/home-fctest-a
as_user mkdir "$U/c"
fc_init "$U/c"
fc_mount "$U/c"
user_pid=$(as_user "$FUSECRYPT" status "$U/c/mnt" --json | py -c 'import json, sys; print(json.load(sys.stdin)["pid"])')
equal "$(stat -c %u "/proc/$user_pid/mem")" 0 "owner of the memory of a daemon"
! as_user cat "/proc/$user_pid/environ" 2>/dev/null || fail "its user can look into the daemon"
fc_umount "$U/c"
FC_AS=()
for file in "/proc/$pid/cmdline" "/proc/$pid/environ"; do
	! tr '\0' '\n' <"$file" | grep -q 'correct horse' || fail "the passphrase in $file"
done
[ ! -d "$HOME/.local/state" ] || ! grep -rq 'correct horse' "$HOME/.local/state" || fail "the passphrase in the state"

# the helper, while it waits for a passphrase
fc_umount "$D"
mkfifo hold
FC_STACK+=("container $D")
"$FUSECRYPT" mount "$D/box" "$M" --passphrase-file hold &
helper=
for _ in $(seq 100); do
	helper=$(pgrep -f "fusecrypt-unlock open .*--container $D/box") && break
	sleep 0.1
done
[ -n "$helper" ] || fail "no helper runs"
equal "$(readlink "/proc/$helper/exe")" "$(dirname "$FUSECRYPT" | sed 's/src$/tools/')/fusecrypt-unlock" "the helper's program"
equal "$(tr '\0' ' ' <"/proc/$helper/cmdline" | cut -c 1)" / "it is run by its absolute path"
equal "$(awk '/^Max core file size/ { print $5, $6 }' "/proc/$helper/limits")" "0 0" "core limit of the helper"
cat "$D/pass" >hold
wait $! || fail "mount"
! pgrep -f "fusecrypt-unlock open .*--container $D/box" >/dev/null || fail "the helper stays"

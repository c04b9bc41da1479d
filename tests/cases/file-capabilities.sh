#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# File capabilities work, and go when the file is written or changes its owner.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_root
need setcap getcap setpriv
fc_begin -o suid,allow_other
bind=0000000000000400
cp "$(command -v grep)" "$M/grep"
chmod 755 "$M/grep"
chmod 755 "$M"
effective() { as_ids 1000 1000 - "$M/grep" CapEff /proc/self/status | tr -d '[:space:]'; }
equal "$(effective)" CapEff:0000000000000000 "capabilities without any"
setcap cap_net_bind_service=ep "$M/grep"
equal "$(getcap "$M/grep")" "$M/grep cap_net_bind_service=ep" "what getcap shows"
equal "$(effective)" CapEff:$bind "capabilities of the running program"
fc_remount "$D" -o suid,allow_other
equal "$(effective)" CapEff:$bind "capabilities after mounting again"
cp --preserve=all "$M/grep" "$M/copy"
equal "$(getcap "$M/copy")" "$M/copy cap_net_bind_service=ep" "capabilities of a copy"

gone() { equal "$(getcap "$M/copy")" "" "capabilities after $1"; }
again() { setcap cap_net_bind_service=ep "$M/copy"; }
printf x >>"$M/copy"
gone "appending"
again
truncate -s -1 "$M/copy"
gone "truncating"
again
chown 1000 "$M/copy"
gone "chown"
again
chmod 666 "$M/copy"
# shellcheck disable=SC2016 # the inner shell's argument
as_ids 1001 1001 - sh -c 'printf y | dd of="$1" conv=notrunc status=none' sh "$M/copy"
gone "another user's write"
again
touch "$M/copy"
mv "$M/copy" "$M/moved"
mv "$M/moved" "$M/copy"
equal "$(getcap "$M/copy")" "$M/copy cap_net_bind_service=ep" "capabilities after touch and mv"
fc_remount "$D" -o nosuid,allow_other
[ -n "${FC_PLAIN:-}" ] || equal "$(effective)" CapEff:0000000000000000 "capabilities with nosuid"

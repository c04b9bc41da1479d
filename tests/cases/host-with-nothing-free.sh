#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A host without a free byte: the container mounts, reading and removing work, and
# writing works again with what was removed.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_root
need_fusecrypt
with_loop ext4 96M "$CASE_TMP/host" -m 0
D=$CASE_TMP/host/c M=$D/mnt
fc_init "$D"
fc_mount "$D"
mkdir "$M/d"
for n in $(seq 300); do echo "file $n" >"$M/d/$n"; done
head -c 20000000 /dev/urandom >"$M/large"
sum=$(sha256sum <"$M/large")
fc_umount "$D"
fill() { dd if=/dev/zero of="$CASE_TMP/host/others$1" bs=4k status=none 2>/dev/null || true; }
fill 1
sync -f "$CASE_TMP/host"
fill 2
[ "$(df_field avail "$CASE_TMP/host")" -lt 4096 ] || fail "the host is not full"

fc_mount "$D" || fail "mount with nothing free"
equal "$(sha256sum <"$M/large")" "$sum" "a file on a full host"
equal "$(cat "$M"/d/* | wc -l)" 300 "small files on a full host"
rm "$M/large" || fail "removing on a full host"
rm -r "$M/d" || fail "removing a tree on a full host"
fc sync "$M" || fail "sync on a full host"
equal "$(ls "$M")" "" "what is left"
for _ in $(seq 50); do
	! dd if=/dev/urandom of="$M/new" bs=1M count=10 conv=fsync status=none 2>/dev/null || break
	fc sync "$M"
	sleep 0.1
done
equal "$(stat -c %s "$M/new")" 10485760 "writing with what was removed"
sum=$(sha256sum <"$M/new")
fc_kill "$D"
fc_mount "$D" || fail "mount with nothing free, after a crash"
equal "$(sha256sum <"$M/new")" "$sum" "what was synced, after a crash"
fc_umount "$D"
fc_mount "$D" --read-only || fail "read-only mount with nothing free"
equal "$(sha256sum <"$M/new")" "$sum" "read-only"

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# While programs call fsync often, the kernel keeps few dirty pages of the mount; later many again.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
need_root
fc_begin
bdi=/sys/class/bdi/$(stat -c %Hd:%Ld "$M")
[ -w "$bdi/max_ratio" ] || skip "no $bdi"
[ -w "$bdi/max_bytes" ] || skip "this kernel has whole percents only"
equal "$(cat "$bdi/max_ratio")" 20 "percent at first"
few() { [ "$(cat "$bdi/max_bytes")" -le 70000000 ]; }
for _ in $(seq 100); do
	dd if=/dev/zero of="$M/file" bs=4k count=1 conv=fsync,notrunc status=none
	! few || break
	sleep 0.05
done
few || fail "$(cat "$bdi/max_bytes") bytes while fsync is called"
for _ in $(seq 100); do
	stat -f "$M" >"$CASE_TMP/said" # a request
	few || break
	sleep 0.2
done
equal "$(cat "$bdi/max_ratio")" 20 "percent when nobody calls fsync any more"
fc_umount "$D"

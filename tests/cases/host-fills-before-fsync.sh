#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 240
# The host runs full after write(2) succeeded and before fsync: fsync tells, or the
# data is there; nothing that an earlier fsync acknowledged is lost.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_root
need_fusecrypt
with_loop ext4 128M "$CASE_TMP/host"
D=$CASE_TMP/host/c M=$D/mnt
fc_init "$D"
fc_mount "$D" -o commit=600
py - "$M" "$CASE_TMP/host/others" "$CASE_TMP/result" <<'END'
import errno, os, sys
from lib import *
mnt, others, result = sys.argv[1:]
os.chdir(mnt)
first = os.open("first", os.O_RDWR | os.O_CREAT)
os.write(first, pattern(3000000, 1))
os.fsync(first)
second = os.open("second", os.O_RDWR | os.O_CREAT)
data = pattern(24 << 20, 2)
done = 0
while done < len(data):
    done += os.pwrite(second, data[done:done + (1 << 20)], done)
try:
    with open(others, "wb", buffering=0) as f:
        while True:
            f.write(bytes(1 << 20))
except OSError as error:
    equal(error.errno, errno.ENOSPC, "filling the host")
acknowledged = True
try:
    os.fsync(second)
except OSError as error:
    equal(error.errno, errno.ENOSPC, "fsync on a full host fails with")
    acknowledged = False
print("fsync on the full host:", "acknowledged" if acknowledged else "ENOSPC")
equal(os.pread(first, 4000000, 0), pattern(3000000, 1), "the first file at once")
write_file(result, b"yes" if acknowledged else b"no")
END
check() {
	py - "$M" "$CASE_TMP/result" <<'END'
import os, sys
from lib import *
os.chdir(sys.argv[1])
equal(read_file("first"), pattern(3000000, 1), "what was synced before the host was full")
if read_file(sys.argv[2]) == b"yes":
    equal(read_file("second"), pattern(24 << 20, 2), "what fsync acknowledged on the full host")
END
}
check
fc_kill "$D"
fc_mount "$D" || fail "mount on a full host"
check
rm "$M/second" || true
rm "$CASE_TMP/host/others"
head -c 8000000 /dev/urandom >"$CASE_TMP/piece"
dd if="$CASE_TMP/piece" of="$M/third" bs=1M conv=fsync status=none || fail "writing after the host has space again"
fc_remount "$D"
cmp "$CASE_TMP/piece" "$M/third"
py - "$M" <<'END'
import sys
from lib import *
equal(read_file(sys.argv[1] + "/first"), pattern(3000000, 1), "what was synced first, at the end")
END

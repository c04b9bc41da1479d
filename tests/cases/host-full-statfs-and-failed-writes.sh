#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 240
# A full host: statfs says so; a create that fails leaves no entry, a write that
# fails leaves what succeeded; reading and removing work; the daemon lives on.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_root
need_fusecrypt
with_loop ext4 96M "$CASE_TMP/host"
D=$CASE_TMP/host/c M=$D/mnt
fc_init "$D"
fc_mount "$D"
echo precious >"$M/precious"
fc sync "$M"
# somebody else takes the host's space
head -c 200000000 /dev/zero >"$CASE_TMP/host/others" 2>/dev/null || true
[ "$(df_field avail "$CASE_TMP/host")" -lt 4096 ] || fail "the host is not full"
free=$(df_field avail "$M")
[ "$free" -le 33554432 ] || fail "free space inside is $free on a full host"
py - "$M" <<'END'
import errno, os, sys
from lib import *
os.chdir(sys.argv[1])
created, written = [], {}
data = pattern(65536)
failed = False
for n in range(4000):
    name = "f%d" % n
    try:
        fd = os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
    except OSError as error:
        equal(error.errno, errno.ENOSPC, "a create on a full disk fails with")
        equal(os.path.lexists(name), False, "an entry of a create that failed")
        failed = True
        break
    created.append(name)
    done = 0
    try:
        while done < len(data):
            done += os.pwrite(fd, data[done:done + 4096], done)
        os.fsync(fd)
        written[name] = done
    except OSError as error:
        equal(error.errno, errno.ENOSPC, "a write or fsync on a full disk fails with")
        failed = True
    try:
        os.close(fd)
    except OSError as error:
        equal(error.errno, errno.ENOSPC, "close on a full disk fails with")
        failed = True
    if failed and len(created) > len(written) + 20:
        break
equal(failed, True, "something fails on a full disk")
equal(sorted(os.listdir(".")), sorted(created + ["precious"]), "names")
for name in written:
    equal(read_file(name), data, "a file that was synced")
for name in set(created) - set(written):
    got = read_file(name)
    equal(len(got) <= len(data), True, "size of a file whose write failed")
    for at in range(0, len(got), 4096):  # each block was written, or is a hole
        block = got[at:at + 4096]
        equal(block in (data[at:at + len(block)], bytes(len(block))), True, "a block of a file whose write failed")
for name in created:
    os.unlink(name)
equal(os.listdir("."), ["precious"], "names after removing")
equal(read_file("precious"), b"precious\n", "what was synced before")
END
rm "$CASE_TMP/host/others"
echo works >"$M/after" || fail "writing after the host has space again"
fc sync "$M" || fail "sync after the host has space again"
fc_remount "$D"
equal "$(cat "$M/precious" "$M/after")" "precious
works" "content after mounting again"

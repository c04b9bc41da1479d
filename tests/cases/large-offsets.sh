#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Files beyond 4 GiB, up to 2^63-1, or a clean EFBIG.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
fc_begin
cat >"$CASE_TMP/large.py" <<'END'
import errno, os, sys
from lib import *
os.chdir(sys.argv[2])
places = [(1 << 31) - 5, (1 << 32) - 5, 5 << 30, (1 << 40) + 1, 1 << 43]
if not PLAIN:
    places += [1 << 50, (1 << 62) + 77]
if sys.argv[1] == "make":
    fd = os.open("f", os.O_RDWR | os.O_CREAT, 0o644)
    for n, at in enumerate(places):
        equal(os.pwrite(fd, b"at %d: %d" % (at, n), at), len(b"at %d: %d" % (at, n)), "bytes written")
    # the very end: works, or is refused and nothing has changed
    size = os.fstat(fd).st_size
    last = (1 << 63) - 2
    try:
        os.pwrite(fd, b"z", last)
    except OSError as error:
        equal(error.errno, errno.EFBIG, "the last byte is refused with")
        equal(os.fstat(fd).st_size, size, "size after that")
    else:
        equal((os.pread(fd, 1, last), os.fstat(fd).st_size), (b"z", last + 1), "the last byte")
        os.ftruncate(fd, size)
    for n in 100, 8192:
        try:
            done = os.pwrite(fd, b"z" * n, (1 << 63) - 1 - 50)
        except OSError as error:
            equal(error.errno in (errno.EFBIG, errno.EINVAL), True, "writing over the end is refused")
            equal(os.fstat(fd).st_size, size, "size after that")
        else:
            equal(done, 50, "bytes that fit below the end")
            os.ftruncate(fd, size)
    fails((errno.EINVAL, errno.EFBIG, errno.EOVERFLOW), "an offset below zero", os.pwrite, fd, b"z", -1)
    equal(os.fstat(fd).st_size, size, "size at the end")
    os.close(fd)
fd = os.open("f", os.O_RDONLY)
for n, at in enumerate(places):
    want = b"at %d: %d" % (at, n)
    equal(os.pread(fd, len(want) + 1, at - 1), b"\0" + want, "bytes at %d" % at)
    equal(os.lseek(fd, at & ~4095, os.SEEK_DATA), at & ~4095, "data at %d" % at)
want = b"at %d: %d" % (places[-1], len(places) - 1)
equal(os.fstat(fd).st_size, places[-1] + len(want), "size")
equal(os.fstat(fd).st_blocks <= 16 * len(places), True, "blocks")
END
py "$CASE_TMP/large.py" make "$M"
fc_remount "$D"
py "$CASE_TMP/large.py" check "$M"

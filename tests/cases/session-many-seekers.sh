#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Many processes ask at once for the holes of files that are dirty: each question makes
# the kernel write pages that the same daemon has to take.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
fc_begin
py - "$M" <<'END'
import os, sys
from lib import *
os.chdir(sys.argv[1])
def seeker(n):
    fd = os.open("f%d" % n, os.O_RDWR | os.O_CREAT, 0o644)
    at = 0
    for turn in range(1, 40):
        data = turn * 65536 + n * 4096
        os.pwrite(fd, b"d" * 4096, data)
        equal(os.lseek(fd, at, os.SEEK_DATA), data, "the data of turn %d" % turn)
        equal(os.lseek(fd, data, os.SEEK_HOLE), data + 4096, "the hole of turn %d" % turn)
        equal(os.stat("f%d" % n).st_size, data + 4096, "the size")
        at = data + 4096
children = []
for n in range(40):
    pid = os.fork()
    if not pid:
        seeker(n)
        os._exit(0)
    children.append(pid)
for pid in children:
    equal(os.waitpid(pid, 0)[1], 0, "the status of a child")
END

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Eight processes append to one file: no record is lost or torn.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
fc_begin
py - "$M" <<'END'
import os, sys
from lib import *
os.chdir(sys.argv[1])
def record(who, n):
    return (b"process %d record %d " % (who, n)).ljust(40 + (n * 37) % 400, b".") + b"\n"
def append(who):
    fd = os.open("log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    for n in range(2000):
        line = record(who, n)
        equal(os.write(fd, line), len(line), "bytes appended")
    os.close(fd)
wait_for([child(append, who) for who in range(8)], "a process that appends")
END
check() {
	py - "$M/log" <<'END'
import sys
from lib import *
lines = read_file(sys.argv[1]).split(b"\n")
equal(lines.pop(), b"", "what follows the last record")
equal(len(lines), 16000, "records")
for who in range(8):
    mine = [l for l in lines if l.startswith(b"process %d " % who)]
    equal(mine, [(b"process %d record %d " % (who, n)).ljust(40 + (n * 37) % 400, b".") for n in range(2000)],
          "records of process %d in their order" % who)
END
}
check
fc_remount "$D"
check

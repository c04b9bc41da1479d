#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# inotify sees what happens.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
fc_begin
py - "$M" <<'END'
import os, struct, sys
from lib import *
os.chdir(sys.argv[1])
os.mkdir("d")
fd = libc.inotify_init1(os.O_NONBLOCK)
CREATE, MODIFY, ATTRIB, CLOSE_WRITE, FROM, TO, DELETE, DELETE_SELF, ISDIR = \
    0x100, 2, 4, 8, 0x40, 0x80, 0x200, 0x400, 0x40000000
equal(libc.inotify_add_watch(fd, b"d", 0xfff & ~0x31) > 0, True, "a watch")
def events():
    data, out, at = b"", [], 0
    try:
        while True:
            data += os.read(fd, 65536)
    except BlockingIOError:
        pass
    while at < len(data):
        _, mask, cookie, n = struct.unpack_from("iIII", data, at)
        out.append((mask, data[at + 16:at + 16 + n].rstrip(b"\0")))
        at += 16 + n
    return out
f = os.open("d/f", os.O_CREAT | os.O_WRONLY)
os.write(f, b"x")
os.close(f)
equal(events(), [(CREATE, b"f"), (MODIFY, b"f"), (CLOSE_WRITE, b"f")], "create, write, close")
os.chmod("d/f", 0o600)
os.truncate("d/f", 0)
equal(events(), [(ATTRIB, b"f"), (MODIFY, b"f")], "chmod, truncate")
os.rename("d/f", "d/g")
equal(events(), [(FROM, b"f"), (TO, b"g")], "rename")
os.mkdir("d/sub")
os.rename("d/g", "out")
os.unlink("out")
os.rmdir("d/sub")
equal(events(), [(CREATE | ISDIR, b"sub"), (FROM, b"g"), (DELETE | ISDIR, b"sub")], "mkdir, moved out, rmdir")
os.rmdir("d")
equal((DELETE_SELF, b"") in events(), True, "the watched directory goes")
END

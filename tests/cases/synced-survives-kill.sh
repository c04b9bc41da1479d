#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What O_SYNC, O_DSYNC (also of asynchronous direct writes), fsync, fdatasync and fsync of a
# directory acknowledged is there after the daemon was killed in the next moment.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
fc_begin -o commit=600
cat >"$CASE_TMP/write.py" <<'END'
import ctypes, ctypes.util, mmap, os, sys
from lib import *
os.chdir(sys.argv[1])
turn = int(sys.argv[2])
def name(n):
    return "%d-%s" % (turn, n)
def opened(flags, n, size):
    fd = os.open(name(n), os.O_WRONLY | os.O_CREAT | flags, 0o640)
    for i in range(4):
        os.write(fd, pattern(size, turn * 100 + i))
    return fd
opened(os.O_SYNC, "o-sync", 5000)
opened(os.O_DSYNC, "o-dsync", 300)
fd = opened(0, "fsync", 700001)
os.fsync(fd)
fd = opened(0, "fdatasync", 100)
os.fdatasync(fd)
# A directory that is synced keeps the names in it.
os.mkdir(name("d"))
for i in range(50):
    write_file(name("d") + "/%d" % i, b"content %d" % i)
    f = os.open(name("d") + "/%d" % i, os.O_RDONLY)
    os.fsync(f)
    os.close(f)
os.rename(name("d") + "/0", name("d") + "/renamed")
os.unlink(name("d") + "/1")
os.symlink("target", name("d") + "/link")
fd = os.open(name("d"), os.O_RDONLY)
os.fsync(fd)
# replaced by rename after fsync, the way of editors
f = os.open(name("new"), os.O_WRONLY | os.O_CREAT)
os.write(f, b"new content")
os.fsync(f)
os.rename(name("new"), name("fsync-renamed"))
fd = os.open(".", os.O_RDONLY)
os.fsync(fd)
# an overwrite and a cut
f = os.open(name("fsync"), os.O_RDWR)
os.pwrite(f, b"over", 1000)
os.ftruncate(f, 2000000)
os.fsync(f)
write_file(name("not-synced"), b"may be there or not")
# direct and asynchronous: the kernel sends no FSYNC after it
class Request(ctypes.Structure):
    _fields_ = [("data", ctypes.c_uint64), ("key", ctypes.c_uint32), ("flags", ctypes.c_uint32),
                ("opcode", ctypes.c_uint16), ("priority", ctypes.c_int16), ("fd", ctypes.c_uint32),
                ("buf", ctypes.c_uint64), ("bytes", ctypes.c_uint64), ("offset", ctypes.c_int64),
                ("rest", ctypes.c_uint64 * 2)]
aio = ctypes.CDLL(ctypes.util.find_library("aio"))
context, event = ctypes.c_void_p(), (ctypes.c_int64 * 4)()
write_file(name("direct"), bytes(1 << 20))
fd = os.open(name("direct"), os.O_WRONLY)
os.fsync(fd)
fd = os.open(name("direct"), os.O_WRONLY | os.O_DIRECT | os.O_DSYNC)
page = mmap.mmap(-1, 4096)
page.write(pattern(4096, turn))
at = ctypes.addressof(ctypes.c_char.from_buffer(page))
request = Request(opcode=1, fd=fd, buf=at, bytes=4096, offset=8192)
equal(aio.io_setup(1, ctypes.byref(context)), 0, "io_setup")
equal(aio.io_submit(context, ctypes.c_long(1), ctypes.byref(ctypes.pointer(request))), 1, "io_submit")
equal(aio.io_getevents(context, ctypes.c_long(1), ctypes.c_long(1), event, None), 1, "io_getevents")
equal(event[2], 4096, "what the asynchronous write wrote")
END
cat >"$CASE_TMP/check.py" <<'END'
import os, sys
from lib import *
os.chdir(sys.argv[1])
for turn in range(int(sys.argv[2]) + 1):
    def name(n):
        return "%d-%s" % (turn, n)
    def want(size):
        return b"".join(pattern(size, turn * 100 + i) for i in range(4))
    equal(read_file(name("o-sync")), want(5000), "what O_SYNC wrote")
    equal(read_file(name("o-dsync")), want(300), "what O_DSYNC wrote")
    equal(read_file(name("fdatasync")), want(100), "what fdatasync acknowledged")
    data = want(700001)[:2000000]
    data = data[:1000] + b"over" + data[1004:]
    equal(read_file(name("fsync")), data, "what fsync acknowledged")
    equal(os.stat(name("fsync")).st_mode & 0o777, 0o640, "mode")
    equal(sorted(os.listdir(name("d"))), sorted(["renamed", "link"] + [str(i) for i in range(2, 50)]), "names of a synced directory")
    for i in range(2, 50):
        equal(read_file(name("d") + "/%d" % i), b"content %d" % i, "a file in it")
    equal(read_file(name("d") + "/renamed"), b"content 0", "a renamed file in it")
    equal(read_file(name("fsync-renamed")), b"new content", "a file replaced by rename")
    data = bytes(8192) + pattern(4096, turn) + bytes((1 << 20) - 8192 - 4096)
    equal(read_file(name("direct")), data, "what an asynchronous direct write with O_DSYNC acknowledged")
    if os.path.exists(name("not-synced")):
        equal(read_file(name("not-synced")) in (b"", b"may be there or not"), True, "a file that was not synced")
END
for turn in 0 1 2 3; do
	py "$CASE_TMP/write.py" "$M" $turn
	fc_kill "$D"
	fc_mount "$D" -o commit=600
	py "$CASE_TMP/check.py" "$M" $turn
done
fc_remount "$D"
py "$CASE_TMP/check.py" "$M" 3

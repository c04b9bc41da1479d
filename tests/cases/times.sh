#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Times: to the nanosecond, negative and far ones, and what moves them.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
fc_begin
cat >"$CASE_TMP/times.py" <<'END'
import os, sys, time
from lib import *
os.chdir(sys.argv[2])
S = 10 ** 9
stamps = [0, 1, 999999999, S, -1, -S, -1 * S + 1, -(1 << 31) * S, (1 << 31) * S + 5, (1 << 32) * S + 123456789,
          1234567890 * S + 123456789, 15032385535 * S]
if not PLAIN:  # ext4 ends in the year 2446
    stamps += [(1 << 33) * S + 999999999]
if sys.argv[1] == "make":
    for n, stamp in enumerate(stamps):
        write_file("t%d" % n, b"x")
        os.mkdir("d%d" % n)
        os.symlink("x", "l%d" % n)
        for name in "t%d", "d%d", "l%d":
            os.utime(name % n, ns=(stamps[-1 - n], stamp), follow_symlinks=False)
for n, stamp in enumerate(stamps):
    for name in "t%d", "d%d", "l%d":
        st = os.lstat(name % n)
        equal((st.st_atime_ns, st.st_mtime_ns), (stamps[-1 - n], stamp), "times of " + name % n)
END
py "$CASE_TMP/times.py" make "$M"
py - "$M" <<'END'
import ctypes, os, struct, sys, time
from lib import *
os.chdir(sys.argv[1])
def times(path):
    st = os.lstat(path)
    return st.st_atime_ns, st.st_mtime_ns, st.st_ctime_ns
def moves(what, path, call, mtime, ctime):
    """call() moves mtime and ctime of path to now, or leaves them."""
    old = times(path)
    start = time.time_ns()
    time.sleep(0.02)
    call()
    new = times(path)
    for name, was, now, wanted in ("mtime", old[1], new[1], mtime), ("ctime", old[2], new[2], ctime):
        if wanted:
            equal(start <= now <= time.time_ns(), True, "%s: %s is now (%d, %d)" % (what, name, now - start, now - was))
        else:
            equal(now, was, "%s: %s stays" % (what, name))
write_file("f", b"0123456789")
fd = os.open("f", os.O_RDWR)
os.utime("f", ns=(5, 5))
moves("write", "f", lambda: os.pwrite(fd, b"x", 3), True, True)
moves("grow", "f", lambda: os.ftruncate(fd, 100), True, True)
moves("cut", "f", lambda: os.truncate("f", 50), True, True)
moves("chmod", "f", lambda: os.chmod("f", 0o600), False, True)
if os.geteuid() == 0:
    moves("chown", "f", lambda: os.chown("f", 1, 2), False, True)
moves("link", "f", lambda: os.link("f", "g"), False, True)
moves("unlink of a link", "f", lambda: os.unlink("g"), False, True)
moves("setxattr", "f", lambda: os.setxattr("f", "user.a", b"b"), False, True)
moves("removexattr", "f", lambda: os.removexattr("f", "user.a"), False, True)
moves("read", "f", lambda: os.pread(fd, 10, 0), False, False)
moves("utime", "f", lambda: os.utime("f", ns=(7, os.stat("f").st_mtime_ns)), False, True)
moves("punch", "f", lambda: fallocate(fd, PUNCH_HOLE | KEEP_SIZE, 0, 10), True, True)
os.mkdir("d")
moves("create", "d", lambda: write_file("d/x", b""), True, True)
moves("write in it", "d", lambda: write_file("d/x", b"more"), False, False)
moves("mkdir", "d", lambda: os.mkdir("d/y"), True, True)
moves("symlink", "d", lambda: os.symlink("x", "d/l"), True, True)
moves("link", "d", lambda: os.link("d/x", "d/z"), True, True)
moves("unlink", "d", lambda: os.unlink("d/z"), True, True)
moves("rename", "d", lambda: os.rename("d/x", "d/w"), True, True)
moves("rmdir", "d", lambda: os.rmdir("d/y"), True, True)
moves("listing", "d", lambda: os.listdir("d"), False, False)
os.mkdir("e")
moves("rename out of it", "d", lambda: os.rename("d/w", "e/w"), True, True)
moves("rename into it", "e", lambda: os.rename("d/l", "e/l"), True, True)
moves("rename of what is in it away", "e", lambda: os.rename("e/w", "e/l"), True, True)

# UTIME_OMIT and UTIME_NOW
class timespec(ctypes.Structure):
    _fields_ = [("sec", ctypes.c_long), ("nsec", ctypes.c_long)]
def utimensat(a, m):
    both = (timespec * 2)(timespec(*a), timespec(*m))
    equal(libc.utimensat(AT_FDCWD, b"f", both, 0), 0, "utimensat")
NOW, OMIT = (1 << 30) - 1, (1 << 30) - 2
os.utime("f", ns=(111, 222))
utimensat((0, OMIT), (3, 4))
equal(times("f")[:2], (111, 3 * 10 ** 9 + 4), "atime omitted")
start = time.time_ns()
utimensat((5, 6), (0, NOW))
a, m, _ = times("f")
equal((a, start - 20000000 <= m <= time.time_ns()), (5 * 10 ** 9 + 6, True), "mtime now")
utimensat((0, OMIT), (0, OMIT))
equal(times("f")[:2], (a, m), "both omitted")

# a write after utime, and utime after a write that is still dirty
os.pwrite(fd, b"dirty", 0)
os.utime("f", ns=(10 ** 18 + 1, 10 ** 18 + 2))
os.fsync(fd)
equal(times("f")[:2], (10 ** 18 + 1, 10 ** 18 + 2), "utime of a dirty file, after fsync")
os.close(fd)
equal(times("f")[:2], (10 ** 18 + 1, 10 ** 18 + 2), "utime of a dirty file, after close")
END
stat -c '%n %.9X %.9Y %.9Z' "$M"/f "$M"/d "$M"/e/* >"$CASE_TMP/before"
fc_remount "$D"
py "$CASE_TMP/times.py" check "$M"
stat -c '%n %.9X %.9Y %.9Z' "$M"/f "$M"/d "$M"/e/* >"$CASE_TMP/after"
diff "$CASE_TMP/before" "$CASE_TMP/after" || fail "times after mounting again"

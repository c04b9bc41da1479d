#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Set-id bits go when another writes, truncates or the owner changes, as POSIX says.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_root
fc_begin -o suid,allow_other
chmod 755 "$M"
py - "$M" <<'END'
import mmap, os, sys
from lib import *
os.chdir(sys.argv[1])
def as_ids(uid, gid, groups, call):
    def other():
        os.setgroups(groups)
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
        call()
    wait_for([child(other)], "what user %d does" % uid)
def fresh(mode):
    if os.path.exists("f"):
        os.unlink("f")
    write_file("f", b"#!/bin/sh\n" * 2000)
    os.chown("f", 1000, 1000)
    os.chmod("f", mode)
    equal(os.stat("f").st_mode & 0o7777, mode, "the mode to start with")
def mode():
    return "%o" % (os.stat("f").st_mode & 0o7777)
def opened(call, flags=os.O_RDWR):
    fd = os.open("f", flags)
    call(fd)
    os.close(fd)
changes = {
    "write": lambda: opened(lambda fd: os.write(fd, b"x")),
    "pwrite within": lambda: opened(lambda fd: os.pwrite(fd, b"x", 5000)),
    "append": lambda: opened(lambda fd: os.write(fd, b"x"), os.O_WRONLY | os.O_APPEND),
    "a direct write": lambda: opened(lambda fd: os.pwritev(fd, [mmap.mmap(-1, 4096)], 0), os.O_RDWR | os.O_DIRECT),
    "a synchronous write": lambda: opened(lambda fd: os.write(fd, b"x"), os.O_WRONLY | os.O_SYNC),
    "truncate": lambda: os.truncate("f", 5),
    "ftruncate": lambda: opened(lambda fd: os.ftruncate(fd, 50000)),
    "O_TRUNC": lambda: os.close(os.open("f", os.O_WRONLY | os.O_TRUNC)),
    "fallocate": lambda: opened(lambda fd: fallocate(fd, PUNCH_HOLE | KEEP_SIZE, 0, 4096)),
    "copy_file_range": lambda: opened(lambda fd: os.copy_file_range(fd, fd, 4096, 0, 8192)),
}
os.chmod(".", 0o777)
for what, call in changes.items():
    fresh(0o6777)
    as_ids(1001, 1001, [], call)
    equal(mode(), "777", "after %s by another" % what)
    fresh(0o4777)
    as_ids(1000, 1000, [], call)  # the owner has no CAP_FSETID either
    equal(mode(), "777", "after %s by the owner" % what)
    fresh(0o2767)  # set-gid without execution by the group marks mandatory locking: stays
    as_ids(1000, 1000, [1000], call)
    equal(mode(), "2767", "after %s with set-gid but no execution" % what)
    if what in ("fallocate", "copy_file_range"):  # of them the kernel asks for nothing
        fresh(0o6766)
        as_ids(1001, 1001, [], call)
        equal(mode(), "766", "after %s by who is not in the group" % what)
    fresh(0o6777)
    call()
    if not PLAIN and what in ("fallocate", "copy_file_range"):
        equal(mode() in ("6777", "777"), True, "after %s by root" % what)  # the kernel does not tell who it was
    else:
        equal(mode(), "6777", "after %s by root" % what)

for who, uid, gid in ("owner", 1002, -1), ("group", -1, 1002), ("both", 1002, 1002), ("nobody", 1000, 1000):
    fresh(0o6755)
    os.chown("f", uid, gid)
    equal(mode(), "755", "after chown of %s" % who)
fresh(0o2745)
os.chown("f", 1002, 1002)
equal(mode(), "2745", "after chown with set-gid but no execution")
fresh(0o6755)
as_ids(1000, 1000, [2000], lambda: os.chown("f", -1, 2000))
equal(mode(), "755", "after chown by the owner")
os.mkdir("d")
os.chmod("d", 0o6755)
os.chown("d", 1003, 1003)
equal("%o" % (os.stat("d").st_mode & 0o7777), "6755", "a directory keeps them")

fresh(0o755)
os.chown("f", 1000, 3000)
as_ids(1000, 1000, [], lambda: os.chmod("f", 0o2755))
equal(mode(), "755", "set-gid by an owner who is not in the group")
as_ids(1000, 1000, [3000], lambda: os.chmod("f", 0o2755))
equal(mode(), "2755", "set-gid by an owner who is in the group")
as_ids(1000, 1000, [], lambda: os.chmod("f", 0o6711))
equal(mode(), "4711", "set-uid and set-gid by an owner who is not in the group")

# the bits are seen to be gone before anything is synced, by stat and by running it
fresh(0o4777)
fd = os.open("f", os.O_WRONLY)
def write_and_look():
    os.write(fd, b"y")
    equal(mode(), "777", "seen at once by the writer")
as_ids(1001, 1001, [], write_and_look)
equal(mode(), "777", "seen at once by others")
os.close(fd)

# and set-uid works at all
import shutil
shutil.copy("/usr/bin/id", "id")
os.chown("id", 1000, 1000)
os.chmod("id", 0o4755)
def runs():
    import subprocess
    equal(subprocess.run(["./id", "-u"], stdout=subprocess.PIPE).stdout, b"1000\n", "whom a set-uid program runs as")
as_ids(1001, 1001, [], runs)
END
fc_remount "$D" -o suid,allow_other
equal "$(stat -c '%a %u' "$M/f" "$M/id" "$M/d" | tr '\n' ';')" "777 1000;4755 1000;6755 1003;" "modes after mounting again"

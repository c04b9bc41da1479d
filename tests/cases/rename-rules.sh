#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# rename(2): what it replaces, what it refuses, what it keeps.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
fc_begin
py - "$M" <<'END'
import errno, os, sys
from lib import *
os.chdir(sys.argv[1])
for d in ("empty", "full", "full/sub", "other"):
    os.mkdir(d)
write_file("full/file", b"kept")
write_file("a", b"a")
write_file("b", b"b")
held = os.open("b", os.O_RDONLY)
ino = os.stat("a").st_ino
os.rename("a", "b")
equal((read_file("b"), os.stat("b").st_ino, os.path.exists("a")), (b"a", ino, False), "file over file")
equal((os.read(held, 9), os.fstat(held).st_nlink), (b"b", 0), "the replaced file, still open")
os.close(held)
fails(errno.EISDIR, "file over directory", os.rename, "b", "empty")
fails(errno.ENOTDIR, "directory over file", os.rename, "empty", "b")
fails((errno.ENOTEMPTY, errno.EEXIST), "directory over a full one", os.rename, "other", "full")
fails(errno.EINVAL, "directory into itself", os.rename, "full", "full/sub/below")
fails(errno.ENOENT, "nothing", os.rename, "nothing", "b")
fails(errno.ENOENT, "into nothing", os.rename, "b", "nothing/b")
fails(errno.ENOTDIR, "below a file", os.rename, "empty", "b/c")
fails((errno.EBUSY, errno.EINVAL, errno.ENOTEMPTY), "dot", os.rename, "full/.", "x")
equal(sorted(os.listdir(".")), ["b", "empty", "full", "other"], "names after what was refused")
equal(read_file("full/file"), b"kept", "content after what was refused")

top = os.stat(".").st_nlink
os.rename("full", "empty")
equal((os.path.exists("full"), read_file("empty/file")), (False, b"kept"), "directory over an empty one")
equal(os.stat(".").st_nlink, top - 1, "links of the parent after a replaced directory")
os.rename("empty/sub", "other/moved")
equal((os.stat("empty").st_nlink, os.stat("other").st_nlink), (2, 3), "links after a directory moved")
equal(os.stat("other/moved/..").st_ino, os.stat("other").st_ino, ".. of a directory that moved")
before = os.stat("b")
os.rename("b", "other/c")
after = os.stat("other/c")
equal((after.st_mtime_ns, after.st_ino, after.st_ctime_ns >= before.st_ctime_ns),
      (before.st_mtime_ns, before.st_ino, True), "times of a renamed file")
for i in range(300):  # the pattern of editors and package managers
    write_file("other/c.new", b"%d" % i)
    os.rename("other/c.new", "other/c")
equal(read_file("other/c"), b"299", "content after 300 replacements")
equal(sorted(os.listdir("other")), ["c", "moved"], "names after 300 replacements")
END
fc_remount "$D"
equal "$(cat "$M/other/c")" 299 "content after mounting again"
equal "$(cd "$M" && find . | sort | tr '\n' ' ')" ". ./empty ./empty/file ./other ./other/c ./other/moved " "names after mounting again"

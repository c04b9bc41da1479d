#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# renameat2: NOREPLACE, EXCHANGE, WHITEOUT; and O_TMPFILE with linkat.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_root
fc_begin
py - "$M" <<'END'
import errno, os, stat, sys
from lib import *
os.chdir(sys.argv[1])
write_file("a", b"a")
write_file("b", b"b")
os.mkdir("d")
os.mkdir("d/sub")
write_file("d/x", b"x")
fails(errno.EEXIST, "NOREPLACE over a file", renameat2, "a", "b", RENAME_NOREPLACE)
fails(errno.EEXIST, "NOREPLACE over a directory", renameat2, "a", "d", RENAME_NOREPLACE)
equal((read_file("a"), read_file("b")), (b"a", b"b"), "both after a refused NOREPLACE")
renameat2("a", "new", RENAME_NOREPLACE)
equal((os.path.exists("a"), read_file("new")), (False, b"a"), "NOREPLACE to a free name")

renameat2("new", "b", RENAME_EXCHANGE)
equal((read_file("new"), read_file("b")), (b"b", b"a"), "EXCHANGE of two files")
inodes = os.stat("new").st_ino, os.stat("d/sub").st_ino
links = os.stat(".").st_nlink, os.stat("d").st_nlink
renameat2("new", "d/sub", RENAME_EXCHANGE)
equal((os.stat("d/sub").st_ino, os.stat("new").st_ino), inodes, "EXCHANGE of a file with a directory")
equal((os.stat(".").st_nlink, os.stat("d").st_nlink), (links[0] + 1, links[1] - 1), "links of both parents")
equal(os.stat("new/..").st_ino, os.stat(".").st_ino, ".. of the exchanged directory")
fails(errno.ENOENT, "EXCHANGE with nothing", renameat2, "b", "nothing", RENAME_EXCHANGE)
fails(errno.EINVAL, "EXCHANGE and NOREPLACE", renameat2, "b", "d/x", RENAME_EXCHANGE | RENAME_NOREPLACE)
fails(errno.EINVAL, "EXCHANGE and WHITEOUT", renameat2, "b", "d/x", RENAME_EXCHANGE | RENAME_WHITEOUT)
fails(errno.EINVAL, "an unknown flag", renameat2, "b", "d/x", 64)
os.mkdir("d/deep")
fails(errno.EINVAL, "EXCHANGE of a directory with one below it", renameat2, "d", "d/deep", RENAME_EXCHANGE)

renameat2("b", "moved", RENAME_WHITEOUT)
equal(read_file("moved"), b"a", "WHITEOUT: the file")
white = os.stat("b")
equal((stat.S_ISCHR(white.st_mode), white.st_rdev), (True, 0), "WHITEOUT: what stands in its place")
renameat2("moved", "d/x", RENAME_WHITEOUT)
equal((read_file("d/x"), stat.S_ISCHR(os.stat("moved").st_mode)), (b"a", True), "WHITEOUT over a file elsewhere")
renameat2("d/sub", "d/sub2", RENAME_WHITEOUT | RENAME_NOREPLACE)
equal((read_file("d/sub2"), stat.S_ISCHR(os.stat("d/sub").st_mode)), (b"b", True), "WHITEOUT and NOREPLACE")

# libfuse from 3.17 on carries O_TMPFILE; before, the errno that fusecrypt(1) names.
try:
    fd = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o640)
except OSError as error:
    equal(error.errno, errno.EOPNOTSUPP, "O_TMPFILE refused with")
    print("O_TMPFILE: not with this libfuse")
else:
    equal(os.fstat(fd).st_nlink, 0, "links of a file without a name")
    os.write(fd, b"from nothing")
    link_fd(fd, "named")
    equal((read_file("named"), os.stat("named").st_nlink), (b"from nothing", 1), "O_TMPFILE, linked")
    os.close(fd)
END
names() { (cd "$M" && find . ! -name named -printf '%p %y\n' | sort); }
before=$(names)
fc_remount "$D"
equal "$(names)" "$before" "names and types after mounting again"
equal "$(names | tr '\n' ';')" ". d;./b c;./d d;./d/deep d;./d/sub c;./d/sub2 f;./d/x f;./moved c;./new d;" "names and types"

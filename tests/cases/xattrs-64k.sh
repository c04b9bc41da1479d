#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Extended attributes of every kind and size up to 64 KiB.
# (Of the local file systems, xfs has attributes of 64 KiB: try it there.)
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_root
fc_begin
cat >"$CASE_TMP/xattr.py" <<'END'
import errno, os, sys
from lib import *
os.chdir(sys.argv[2])
sizes = [0, 1, 100, 2047, 2048, 2049, 4096, 10000, 65535, 65536]
def name(size):
    return "user.size-%d" % size
if sys.argv[1] == "make":
    write_file("f", b"content")
    os.mkdir("d")
    os.mkfifo("fifo")
    os.symlink("f", "link")
    for path in "f", "d":
        for size in sizes:
            os.setxattr(path, name(size), pattern(size, size))
    fails((errno.E2BIG, errno.ERANGE), "a value of 65,537 bytes", os.setxattr, "f", "user.too-large", bytes(65537))
    fails(errno.EEXIST, "XATTR_CREATE of one that is there", os.setxattr, "f", name(1), b"new", os.XATTR_CREATE)
    fails(errno.ENODATA, "XATTR_REPLACE of none", os.setxattr, "f", "user.none", b"new", os.XATTR_REPLACE)
    fails(errno.ENODATA, "reading none", os.getxattr, "f", "user.none")
    fails(errno.ENODATA, "removing none", os.removexattr, "f", "user.none")
    fails(errno.ERANGE, "a name of 256 bytes", os.setxattr, "f", "user." + "n" * 251, b"x")
    fails(errno.EOPNOTSUPP, "a name space that is none", os.setxattr, "f", "nothing.a", b"x")
    fails(errno.EPERM, "user. on a symbolic link", os.setxattr, "link", "user.a", b"x", follow_symlinks=False)
    fails(errno.EPERM, "user. on a FIFO", os.setxattr, "fifo", "user.a", b"x")
    os.setxattr("link", "trusted.a", b"of the link", follow_symlinks=False)
    os.setxattr("fifo", "trusted.a", b"of the fifo")
    os.setxattr("f", "trusted.overlay.opaque", b"y")
    os.setxattr("f", "security.test", b"\0binary\xff")
    os.setxattr("f", "user." + "n" * 250, b"long name")
    os.setxattr("f", b"user.\xff\xfe bytes \n", b"odd name")
    os.setxattr("d", "user.changes", b"a" * 60000)
    os.setxattr("d", "user.changes", b"short")
    os.setxattr("d", "user.changes", b"b" * 30000, os.XATTR_REPLACE)
    os.setxattr("d", "user.removed", b"c" * 5000)
    os.removexattr("d", "user.removed")

    # getxattr(2) itself: size 0 asks, a buffer too small is refused
    buf = ctypes.create_string_buffer(100)
    equal(libc.getxattr(b"f", b"user.size-2048", None, 0), 2048, "the size asked for")
    equal((libc.getxattr(b"f", b"user.size-2048", buf, 100), ctypes.get_errno()), (-1, errno.ERANGE), "too small a buffer")
    equal((libc.listxattr(b"f", buf, 10), ctypes.get_errno()), (-1, errno.ERANGE), "too small a buffer for names")
    write_file("many", b"")
    for n in range(1500):
        os.setxattr("many", "user.attribute-%d" % n, b"value %d" % n)
    for n in range(0, 1500, 3):
        os.removexattr("many", "user.attribute-%d" % n)
names = {name(s) for s in sizes}
equal(set(os.listxattr("f")), names | {"trusted.overlay.opaque", "security.test", "user." + "n" * 250,
                                       "user.\udcff\udcfe bytes \n"}, "names of the file")
equal(set(os.listxattr("d")), names | {"user.changes"}, "names of the directory")
for path in "f", "d":
    for size in sizes:
        equal(os.getxattr(path, name(size)), pattern(size, size), "%s of %s" % (name(size), path))
equal(os.getxattr("link", "trusted.a", follow_symlinks=False), b"of the link", "attribute of a link")
equal(os.getxattr("fifo", "trusted.a"), b"of the fifo", "attribute of a FIFO")
equal(os.getxattr("f", "security.test"), b"\0binary\xff", "a binary value")
equal(os.getxattr("f", "user." + "n" * 250), b"long name", "a name of 255 bytes")
equal(os.getxattr("f", b"user.\xff\xfe bytes \n"), b"odd name", "a name of any bytes")
equal(os.getxattr("d", "user.changes"), b"b" * 30000, "a value that changed its size")
equal(len(os.listxattr("many")), 1000, "attributes of a file with many")
for n in range(1500):
    if n % 3:
        equal(os.getxattr("many", "user.attribute-%d" % n), b"value %d" % n, "one of many")
equal(read_file("f"), b"content", "content of a file with attributes")
END
py "$CASE_TMP/xattr.py" make "$M"
py "$CASE_TMP/xattr.py" check "$M"
fc_remount "$D"
py "$CASE_TMP/xattr.py" check "$M"
rm "$M/f" "$M/many"
echo again >"$M/f"
equal "$(getfattr -d -m - --absolute-names "$M/f")" "" "attributes of a new file of that name"

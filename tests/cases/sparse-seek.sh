#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Holes: SEEK_DATA and SEEK_HOLE, also of files that are dirty; true block counts;
# copies of files that are still open.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
fc_begin
cat >"$CASE_TMP/sparse.py" <<'END'
import errno, os, subprocess, sys
from lib import *
os.chdir(sys.argv[2])
MIB = 1 << 20
def layout(fd):
    """[(start, end)] of the data."""
    out, at = [], 0
    while True:
        try:
            start = os.lseek(fd, at, os.SEEK_DATA)
        except OSError as error:
            equal(error.errno, errno.ENXIO, "SEEK_DATA after the last data")
            return out
        at = os.lseek(fd, start, os.SEEK_HOLE)
        out.append((start, at))
right = [(MIB, MIB + 4096), (10 * MIB, 10 * MIB + 8192), (1024 * MIB, 1024 * MIB + 4096)]
if sys.argv[1] == "make":
    fd = os.open("sparse", os.O_RDWR | os.O_CREAT, 0o644)
    os.pwrite(fd, b"1" * 4096, MIB)
    os.pwrite(fd, b"2" * 8192, 10 * MIB)
    os.pwrite(fd, b"3" * 4096, 1024 * MIB)
    os.ftruncate(fd, 2048 * MIB)
    equal(layout(fd), right, "data of a dirty file")
    equal(os.fstat(fd).st_blocks, 32, "blocks of a dirty file")
    os.fsync(fd)
    equal(layout(fd), right, "data after fsync")
    os.pwrite(fd, b"4" * 100, 20 * MIB + 50)
    extended = right[:2] + [(20 * MIB, 20 * MIB + 4096)] + right[2:]
    equal(layout(fd), extended, "data with a dirty page more")
    # cp asks for the holes of a file that is still open and dirty
    subprocess.run(["cp", "--reflink=never", "--sparse=always", "sparse", "copy"], check=True)
    subprocess.run(["cp", "--reflink=auto", "sparse", "copy2"], check=True)
    subprocess.run(["tar", "-cSf", "sparse.tar", "sparse"], check=True)
    for name in "copy", "copy2":
        copy = os.open(name, os.O_RDONLY)
        equal(os.fstat(copy).st_size, 2048 * MIB, "size of " + name)
        equal(os.pread(copy, 200, 20 * MIB), b"\0" * 50 + b"4" * 100 + b"\0" * 50, "dirty bytes in " + name)
        equal(os.pread(copy, 8192, 10 * MIB), b"2" * 8192, "bytes in " + name)
        equal(layout(copy), extended, "data of " + name)
        equal(os.fstat(copy).st_blocks, 40, "blocks of " + name)
        os.close(copy)
        os.unlink(name)
    os.mkdir("out")
    subprocess.run(["tar", "-xSf", "sparse.tar", "-C", "out"], check=True)
    equal(os.stat("out/sparse").st_size, 2048 * MIB, "size after tar -S")
    with open("out/sparse", "rb") as f:
        f.seek(20 * MIB)
        equal(f.read(150), b"\0" * 50 + b"4" * 100, "dirty bytes after tar -S")
    os.unlink("out/sparse")
    fallocate(fd, PUNCH_HOLE | KEEP_SIZE, 20 * MIB, 4096)
    equal(layout(fd), right, "data after punching")
    os.close(fd)

    # small files: all of it is data, and they count as not empty for tar and cp
    for n in 1, 100, 2047, 2048, 2049, 4095, 4096, 4097:
        write_file("small-%d" % n, b"s" * n)
fd = os.open("sparse", os.O_RDONLY)
equal(layout(fd), right, "data")
equal((os.fstat(fd).st_size, os.fstat(fd).st_blocks), (2048 * MIB, 32), "size and blocks")
equal(os.lseek(fd, 0, os.SEEK_HOLE), 0, "the first hole")
equal(os.lseek(fd, MIB + 100, os.SEEK_DATA), MIB + 100, "data from within data")
equal(os.lseek(fd, MIB + 100, os.SEEK_HOLE), MIB + 4096, "hole from within data")
equal(os.lseek(fd, 2 * MIB, os.SEEK_HOLE), 2 * MIB, "hole from within a hole")
equal(os.lseek(fd, 2047 * MIB, os.SEEK_HOLE), 2047 * MIB, "hole at the end")
for whence in os.SEEK_DATA, os.SEEK_HOLE:
    fails(errno.ENXIO, "seek at the end", os.lseek, fd, 2048 * MIB, whence)
equal(os.pread(fd, 10, 500 * MIB), b"\0" * 10, "bytes in a hole")
os.close(fd)
for n in 1, 100, 2047, 2048, 2049, 4095, 4096, 4097:
    fd = os.open("small-%d" % n, os.O_RDONLY)
    equal(os.lseek(fd, 0, os.SEEK_DATA), 0, "data of a small file")
    equal(os.lseek(fd, 0, os.SEEK_HOLE), n, "hole of a small file")
    equal(os.fstat(fd).st_blocks > 0, True, "a small file has blocks")
    os.close(fd)
END
py "$CASE_TMP/sparse.py" make "$M"
fc_remount "$D"
py "$CASE_TMP/sparse.py" check "$M"
for n in 1 100 2048 4097; do
	cp --sparse=always "$M/small-$n" "$CASE_TMP/copy"
	cmp "$M/small-$n" "$CASE_TMP/copy"
done
tar -C "$M" -cSf "$CASE_TMP/small.tar" small-1 small-100 small-2048 small-4097
mkdir "$CASE_TMP/small"
tar -C "$CASE_TMP/small" -xf "$CASE_TMP/small.tar"
for n in 1 100 2048 4097; do cmp "$M/small-$n" "$CASE_TMP/small/small-$n"; done

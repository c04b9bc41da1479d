#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# fallocate: allocate, KEEP_SIZE, PUNCH_HOLE, ZERO_RANGE, and what is refused.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
fc_begin
py - "$M" <<'END'
import errno, os, sys
from lib import *
os.chdir(sys.argv[1])
MIB = 1 << 20
fd = os.open("f", os.O_RDWR | os.O_CREAT, 0o644)
fallocate(fd, 0, 0, MIB)
st = os.fstat(fd)
equal((st.st_size, st.st_blocks), (MIB, 2048), "size and blocks of an allocated file")
equal(os.pread(fd, 2 * MIB, 0), b"\0" * MIB, "its bytes")
os.pwrite(fd, b"x" * 10000, 5000)
equal(os.fstat(fd).st_blocks, 2048, "blocks after writing into it")
fallocate(fd, 0, 0, 4096)
equal((os.fstat(fd).st_size, os.pread(fd, 10, 5000)), (MIB, b"x" * 10), "allocating what is there changes nothing")
fallocate(fd, KEEP_SIZE, MIB, MIB)
st = os.fstat(fd)
equal((st.st_size, st.st_blocks), (MIB, 4096), "size and blocks with KEEP_SIZE")
os.pwrite(fd, b"end", 2 * MIB - 3)
equal((os.fstat(fd).st_size, os.fstat(fd).st_blocks), (2 * MIB, 4096), "growing into what was allocated")
equal(os.pread(fd, 100, MIB), b"\0" * 100, "bytes of it")

data = pattern(65536)
os.pwrite(fd, data, 0)
before = os.fstat(fd)
fallocate(fd, PUNCH_HOLE | KEEP_SIZE, 1000, 30000)  # not on block boundaries
want = data[:1000] + b"\0" * 30000 + data[31000:]
equal(os.pread(fd, 65536, 0), want, "bytes after punching")
os.fsync(fd)
after = os.fstat(fd)
went = before.st_blocks - after.st_blocks
if PLAIN:  # ext4 counts blocks of its own too
    went = (went + 15) // 48 * 48
equal((went, after.st_size), (6 * 8, 2 * MIB), "six whole blocks went")
equal(after.st_mtime_ns >= before.st_mtime_ns and after.st_ctime_ns >= before.st_ctime_ns, True, "times")
fallocate(fd, PUNCH_HOLE | KEEP_SIZE, 2 * MIB - 4096, 10 * MIB)
equal(os.fstat(fd).st_size, 2 * MIB, "size after punching beyond the end")
equal(os.pread(fd, 4096, 2 * MIB - 4096), b"\0" * 4096, "bytes punched at the end")

fallocate(fd, ZERO_RANGE, 40000, 10000)
want = want[:40000] + b"\0" * 10000 + want[50000:]
equal(os.pread(fd, 65536, 0), want, "bytes after ZERO_RANGE")
fallocate(fd, ZERO_RANGE | KEEP_SIZE, 2 * MIB - 10, 5000)
equal(os.fstat(fd).st_size, 2 * MIB, "size after ZERO_RANGE with KEEP_SIZE")
fallocate(fd, ZERO_RANGE, 2 * MIB - 10, 5010)
equal((os.fstat(fd).st_size, os.pread(fd, 9000, 2 * MIB - 10)), (2 * MIB + 5000, b"\0" * 5010), "ZERO_RANGE that grows")
os.posix_fallocate(fd, 3 * MIB, 10)
equal(os.fstat(fd).st_size, 3 * MIB + 10, "size after posix_fallocate")

fails(errno.EOPNOTSUPP, "PUNCH_HOLE without KEEP_SIZE", fallocate, fd, PUNCH_HOLE, 0, 4096)
fails(errno.EINVAL, "no bytes", fallocate, fd, 0, 0, 0)
fails(errno.EINVAL, "a negative offset", fallocate, fd, 0, -1, 10)
if not PLAIN:  # the kernel's FUSE refuses these
    fails(errno.EOPNOTSUPP, "COLLAPSE_RANGE", fallocate, fd, COLLAPSE_RANGE, 0, 4096)
    fails(errno.EOPNOTSUPP, "INSERT_RANGE", fallocate, fd, INSERT_RANGE, 0, 4096)
fails(errno.EBADF, "a descriptor for reading", fallocate, os.open("f", os.O_RDONLY), 0, 0, 10)
fails((errno.EFBIG, errno.EINVAL), "beyond every file", fallocate, fd, 0, (1 << 63) - 10, 100)
equal(os.pread(fd, 65536, 0), want, "bytes after what was refused")
write_file("want", want)

# small files
small = os.open("small", os.O_RDWR | os.O_CREAT, 0o644)
os.write(small, b"0123456789")
fallocate(small, PUNCH_HOLE | KEEP_SIZE, 2, 3)
equal(os.pread(small, 100, 0), b"01\0\0\x0056789", "a hole in a small file")
fallocate(small, ZERO_RANGE, 8, 4)
equal(os.pread(small, 100, 0), b"01\0\0\x00567\0\0\0\0", "zeros in a small file")
fallocate(small, KEEP_SIZE, 0, 100000)
equal(os.pread(small, 100, 0), b"01\0\0\x00567\0\0\0\0", "a small file with space kept")
END
before=$(stat -c %y "$M/f" "$M/small")
fc_remount "$D"
equal "$(stat -c %y "$M/f" "$M/small")" "$before" "modification times after mounting again"
cmp -n 65536 "$M/f" "$M/want"
equal "$(stat -c %s "$M/f")" 3145738 "size after mounting again"
equal "$(od -An -c "$M/small" | tr -d ' \n')" '01\0\0\0567\0\0\0\0' "the small file after mounting again"

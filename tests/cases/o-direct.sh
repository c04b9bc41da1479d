#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# O_DIRECT, alone and mixed with the page cache and with maps.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
fc_begin
py - "$M" <<'END'
import errno, mmap, os, sys
from lib import *
os.chdir(sys.argv[1])
def aligned(data):
    buf = mmap.mmap(-1, len(data))
    buf[:] = data
    return buf
def read_direct(name, n, off):
    fd = os.open(name, os.O_RDONLY | os.O_DIRECT)
    buf = mmap.mmap(-1, n)
    got = os.preadv(fd, [buf], off)
    os.close(fd)
    return buf[:got]
data = pattern(1 << 20)
fd = os.open("f", os.O_RDWR | os.O_CREAT | os.O_DIRECT, 0o644)
equal(os.pwritev(fd, [aligned(data)], 0), len(data), "bytes written")
equal(read_direct("f", len(data), 0), data, "read directly")
equal(read_file("f"), data, "read through the cache")
cached = os.open("f", os.O_RDWR)
os.pwrite(cached, b"C" * 10000, 5000)  # dirty in the cache
want = data[:5000] + b"C" * 10000 + data[15000:]
equal(read_direct("f", len(data), 0), want, "read directly what is dirty in the cache")
os.pwritev(fd, [aligned(b"D" * 8192)], 8192)
want = want[:8192] + b"D" * 8192 + want[16384:]
equal(os.pread(cached, len(data), 0), want, "read through the cache what was written directly")
with mmap.mmap(cached, len(data)) as shared:
    equal(shared[:], want, "seen by a map")
    os.pwritev(fd, [aligned(b"E" * 4096)], 40960)
    want = want[:40960] + b"E" * 4096 + want[45056:]
    equal(os.pread(cached, len(data), 0), want, "after a direct write below a map")
os.pwritev(fd, [aligned(b"F" * 4096)], 2 << 20)
equal(os.fstat(fd).st_size, (2 << 20) + 4096, "size after a direct write beyond the end")
equal(read_direct("f", 8192, 1 << 20), bytes(8192), "the hole before it")
equal(read_direct("f", 8192, 2 << 20), b"F" * 4096, "short at the end")
want += bytes(1 << 20) + b"F" * 4096

# not aligned: refused, or right
odd = aligned(b"G" * 4096)
try:
    done = os.pwritev(fd, [memoryview(odd)[:777]], 1001)
except OSError as error:
    equal(error.errno, errno.EINVAL, "an unaligned direct write is refused with")
else:
    equal(done, 777, "bytes of an unaligned direct write")
    want = want[:1001] + b"G" * 777 + want[1778:]
equal(read_file("f"), want, "content at the end")
write_file("want", want)
END
dd if="$M/f" of="$M/copy" bs=64k iflag=direct oflag=direct conv=notrunc status=none || fail "dd"
cmp "$M/f" "$M/copy"
fc_remount "$D"
cmp "$M/f" "$M/want"
cmp "$M/copy" "$M/want"

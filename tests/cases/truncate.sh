#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# truncate both ways: what was cut off never comes back.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
fc_begin
py - "$M" <<'END'
import errno, os, sys
from lib import *
os.chdir(sys.argv[1])
data = pattern(200000)
for size in 0, 1, 100, 2048, 2049, 4095, 4096, 4097, 100000, 131072, 199999:
    write_file("f", data)
    os.truncate("f", size)
    equal(read_file("f"), data[:size], "cut to %d" % size)
    os.truncate("f", 200000)
    equal(read_file("f"), data[:size] + bytes(200000 - size), "cut to %d and grown" % size)
    os.truncate("f", size)
    with open("f", "ab") as f:
        f.write(b"tail")
    equal(read_file("f"), data[:size] + b"tail", "cut to %d and appended" % size)
for size in 10, 1000, 2048:  # the same of small files
    write_file("s", data[:2048])
    os.truncate("s", size)
    os.truncate("s", 2048)
    equal(read_file("s"), data[:size] + bytes(2048 - size), "small, cut to %d and grown" % size)
    os.truncate("s", 5000)
    os.truncate("s", size)
    equal(read_file("s"), data[:size], "small, grown and cut back to %d" % size)

fd = os.open("f", os.O_RDWR)
os.pwrite(fd, data, 0)  # dirty
os.ftruncate(fd, 5000)
os.ftruncate(fd, 9000)
equal(os.pread(fd, 10000, 0), data[:5000] + bytes(4000), "a dirty file")
before = os.fstat(fd)
os.ftruncate(fd, 8000)
after = os.fstat(fd)
equal((after.st_mtime_ns >= before.st_mtime_ns, after.st_blocks <= 16), (True, True), "times and blocks")
os.close(os.open("f", os.O_WRONLY | os.O_TRUNC))
equal((os.fstat(fd).st_size, os.fstat(fd).st_blocks, os.pread(fd, 10, 0)), (0, 0, b""), "O_TRUNC, seen by another descriptor")
os.truncate("f", 1 << 40)
equal((os.stat("f").st_size, os.stat("f").st_blocks), (1 << 40, 0), "one TiB of nothing")
equal(os.pread(fd, 5, (1 << 40) - 3), bytes(3), "its last bytes")

fallocate(fd, KEEP_SIZE, 0, 1 << 20)
os.truncate("f", 4096)
fallocate(fd, KEEP_SIZE, 0, 1 << 20)
os.truncate("f", 4096)
equal(os.fstat(fd).st_blocks, 8, "blocks beyond the end after a truncation to the same size")
os.truncate("f", 1 << 40)

fails(errno.EINVAL, "a descriptor for reading", os.ftruncate, os.open("f", os.O_RDONLY), 0)
fails(errno.EINVAL, "a negative size", os.truncate, "f", -1)
os.mkdir("d")
fails(errno.EISDIR, "a directory", os.truncate, "d", 0)
fails(errno.ENOENT, "nothing", os.truncate, "nothing", 0)
write_file("kept", data)
os.truncate("kept", 123456)
END
sum=$(head -c 123456 "$M/kept" | sha256sum)
fc_remount "$D"
equal "$(sha256sum <"$M/kept")" "$sum" "content after mounting again"
equal "$(stat -c %s "$M/kept" "$M/f" | tr '\n' ' ')" "123456 1099511627776 " "sizes after mounting again"
truncate -s 200000 "$M/kept"
equal "$(tail -c +123457 "$M/kept" | tr -d '\0' | wc -c)" 0 "bytes that came back"

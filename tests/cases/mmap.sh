#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Maps, shared and private, and what other processes see of them.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
fc_begin
py - "$M" <<'END'
import mmap, os, signal, sys
from lib import *
os.chdir(sys.argv[1])
data = pattern(100000)
write_file("f", data)
fd = os.open("f", os.O_RDWR)
with mmap.mmap(fd, 0) as shared:
    equal(shared[:], data, "a shared map")
    shared[5000:5010] = b"SHARED MAP"
    equal(os.pread(fd, 10, 5000), b"SHARED MAP", "read sees the map")
    os.pwrite(fd, b"WRITTEN", 60000)
    equal(shared[60000:60007], b"WRITTEN", "the map sees a write")
    def other():
        with mmap.mmap(os.open("f", os.O_RDWR), 0) as mine:
            equal(mine[5000:5010], b"SHARED MAP", "a map of another process")
            mine[0:5] = b"OTHER"
    wait_for([child(other)], "the other process")
    equal(shared[0:5], b"OTHER", "the first map sees the second")
    with mmap.mmap(fd, 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE) as private:
        private[100:107] = b"PRIVATE"
        equal(shared[100:107], data[100:107], "a private map changes nothing")
        equal(private[0:5], b"OTHER", "it shows the file otherwise")
    os.rename("f", "g")
    shared[70000:70003] = b"end"
    shared.flush()
want = b"OTHER" + data[5:5000] + b"SHARED MAP" + data[5010:60000] + b"WRITTEN" + data[60007:70000] + b"end" + data[70003:]
equal(read_file("g"), want, "content")
before = os.stat("g").st_mtime_ns
with mmap.mmap(fd, 0) as shared:
    shared[99999:100000] = b"!"
    shared.flush()
equal(os.stat("g").st_mtime_ns > before, True, "mtime moves when a map is written")
want = want[:-1] + b"!"
# the last page beyond the end: zero, and never in the file
with mmap.mmap(fd, 0) as shared:
    pass
os.ftruncate(fd, 100001)
equal(os.pread(fd, 10, 99999), b"!\0", "a byte more")
os.ftruncate(fd, 100000)
write_file("want", want)

def beyond():  # a page that is no longer in the file
    with mmap.mmap(os.open("b", os.O_RDWR), 0) as shared:
        os.truncate("b", 4096)
        shared[5000]
write_file("b", bytes(8192))
pid = child(beyond)
equal(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), -signal.SIGBUS, "a page beyond the end")

# a map that outlives names and descriptors
write_file("u", b"u" * 10000)
f = os.open("u", os.O_RDWR)
shared = mmap.mmap(f, 0)
os.unlink("u")
os.close(f)
shared[9999:10000] = b"v"
equal(shared[9990:], b"u" * 9 + b"v", "a map of an unlinked file")
shared.close()

# many small files by map, as a linker or a database does
for i in range(100):
    f = os.open("m%d" % i, os.O_RDWR | os.O_CREAT)
    os.ftruncate(f, 30000)
    with mmap.mmap(f, 0) as m:
        m[i * 100:i * 100 + 5] = b"%05d" % i
    os.close(f)
END
check() {
	cmp "$M/g" "$M/want"
	py - "$M" <<'END'
import sys
from lib import *
for i in range(100):
    want = bytearray(30000)
    want[i * 100:i * 100 + 5] = b"%05d" % i
    equal(read_file(sys.argv[1] + "/m%d" % i), bytes(want), "a file written by map")
END
}
check
fc_remount "$D"
check

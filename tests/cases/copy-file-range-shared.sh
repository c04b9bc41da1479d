#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 240
# copy_file_range shares extents: it takes no space, and an overwrite of one copy
# never shows in the other.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
fc_begin
used() {
	[ -n "${FC_PLAIN:-}" ] || fc sync "$M" || fail "sync"
	df_field used "$M"
}
head -c 67108864 /dev/urandom >"$M/a"
before=$(used)
py - "$M" <<'END'
import os, sys
from lib import *
os.chdir(sys.argv[1])
def copy(source, target, n, source_off=0, target_off=0):
    a, b = os.open(source, os.O_RDONLY), os.open(target, os.O_RDWR | os.O_CREAT, 0o644)
    done = 0
    while done < n:
        got = os.copy_file_range(a, b, n - done, source_off + done, target_off + done)
        if not got:
            break
        done += got
    os.close(a)
    os.close(b)
    return done
SIZE = 64 << 20
equal(copy("a", "b", SIZE), SIZE, "bytes copied")
for n in range(8):
    copy("ab"[n % 2], "copy%d" % n, SIZE)
END
after=$(used)
sum=$(sha256sum <"$M/a")
for copy in b copy0 copy1 copy7; do equal "$(sha256sum <"$M/$copy")" "$sum" "content of $copy"; done
[ -n "${FC_PLAIN:-}" ] || [ $((after - before)) -lt 8388608 ] || fail "nine copies of 64 MiB took $((after - before)) bytes"
[ -n "${FC_PLAIN:-}" ] || equal "$(stat -c %b "$M/b")" 131072 "blocks of a copy"
cp --reflink=auto "$M/a" "$M/by-cp"
[ -n "${FC_PLAIN:-}" ] || [ $(($(used) - before)) -lt 8388608 ] || fail "cp does not share"

cat >"$CASE_TMP/overwrite.py" <<'END'
import errno, os, sys
from lib import *
os.chdir(sys.argv[1])
def pwrite(name, data, off):
    fd = os.open(name, os.O_RDWR)
    os.pwrite(fd, data, off)
    if sys.argv[2] == "sync":
        os.fsync(fd)
    os.close(fd)
for name in "a", "b":
    write_file(name + ".want", read_file(name))
    # what is overwritten, cut, punched in one
pwrite("a", b"OVERWRITTEN IN A", 1000000)
pwrite("a.want", b"OVERWRITTEN IN A", 1000000)
pwrite("b", b"B" * 300000, 999000)
pwrite("b.want", b"B" * 300000, 999000)
pwrite("copy0", b"0" * 70000, 0)
os.truncate("copy1", 5000)
fd = os.open("copy2", os.O_RDWR)
fallocate(fd, PUNCH_HOLE | KEEP_SIZE, 0, 32 << 20)
os.close(fd)
os.unlink("copy3")
os.close(os.open("copy4", os.O_WRONLY | os.O_TRUNC))
os.truncate("by-cp", 0)
END
check() {
	cmp "$M/a" "$M/a.want"
	cmp "$M/b" "$M/b.want"
	equal "$(sha256sum <"$M/copy7")" "$sum" "a copy that was not touched"
	equal "$(head -c 5000 "$M/copy7" | sha256sum)" "$(sha256sum <"$M/copy1")" "a copy that was cut"
	equal "$(head -c 33554432 "$M/copy2" | tr -d '\0' | wc -c)" 0 "a copy that was punched"
	equal "$(tail -c 33554432 "$M/copy2" | sha256sum)" "$(tail -c 33554432 "$M/copy7" | sha256sum)" "the rest of it"
	equal "$(head -c 70000 "$M/copy0" | tr -d 0 | wc -c)" 0 "a copy that was overwritten"
	equal "$(tail -c +70001 "$M/copy0" | sha256sum)" "$(tail -c +70001 "$M/copy7" | sha256sum)" "the rest of it"
}
py "$CASE_TMP/overwrite.py" "$M" "sync"
check
fc_remount "$D"
check

py - "$M" <<'END'
import errno, os, sys
from lib import *
os.chdir(sys.argv[1])
data = pattern(1000000)
write_file("s", data)
fd = os.open("s", os.O_RDWR)
os.pwrite(fd, b"dirty", 5000)  # not yet written when it is copied
data = data[:5000] + b"dirty" + data[5005:]
t = os.open("t", os.O_RDWR | os.O_CREAT)
want = bytearray()
for source, target, n in (1, 7, 100), (4096, 8192, 40960), (12345, 500000, 123456), (900000, 0, 4096), (990000, 600000, 100000):
    done = 0
    while True:
        got = os.copy_file_range(fd, t, n - done, source + done, target + done)
        if not got:
            break
        done += got
        if done == n:
            break
    right = data[source:source + n]
    equal(done, len(right), "bytes copied from %d" % source)
    if len(want) < target + len(right):
        want.extend(bytes(target + len(right) - len(want)))
    want[target:target + len(right)] = right
    equal(os.pread(t, 2000000, 0), bytes(want), "the target after copying from %d" % source)
equal(os.copy_file_range(fd, t, 100, 1000000, 0), 0, "bytes copied from the end")
equal(os.copy_file_range(fd, fd, 4096, 0, 1000000), 4096, "bytes copied within a file")
equal(os.pread(fd, 10000, 1000000), data[:4096], "the copy within it")
fails(errno.EINVAL, "a copy onto itself", os.copy_file_range, fd, fd, 10000, 0, 5000)
fails(errno.EBADF, "a target for reading", os.copy_file_range, fd, os.open("t", os.O_RDONLY), 10, 0, 0)
fails(errno.EISDIR, "a directory", os.copy_file_range, os.open(".", os.O_RDONLY), t, 10, 0, 0)
before = os.fstat(t).st_mtime_ns
os.copy_file_range(fd, t, 4096, 0, 0)
equal(os.fstat(t).st_mtime_ns >= before, True, "mtime of the target")

# chains: copies of copies, removed in another order
write_file("c0", pattern(300000, 5))
for n in range(1, 20):
    a, b = os.open("c%d" % (n - 1), os.O_RDONLY), os.open("c%d" % n, os.O_RDWR | os.O_CREAT)
    at = 0
    while at < 300000:
        at += os.copy_file_range(a, b, 300000 - at, at, at)
    os.close(a)
    os.close(b)
    with open("c%d" % n, "r+b") as f:
        f.seek(n * 10000)
        f.write(b"%02d" % n)
for n in 3, 0, 19, 7, 8, 1:
    os.unlink("c%d" % n)
for n in 2, 10, 18:
    want = bytearray(pattern(300000, 5))
    for k in range(1, n + 1):
        want[k * 10000:k * 10000 + 2] = b"%02d" % k
    equal(read_file("c%d" % n), bytes(want), "copy %d of a copy" % n)
END
before=$(used)
rm "$M"/a "$M"/b "$M"/copy[0-6] "$M"/*.want
[ -n "${FC_PLAIN:-}" ] || fc sync "$M"
equal "$(sha256sum <"$M/copy7")" "$sum" "the last copy"
rm "$M/copy7"
[ -z "${FC_PLAIN:-}" ] || exit 0
for _ in $(seq 100); do
	[ $((before - $(used))) -lt 190000000 ] || break
	sleep 0.1
done
[ $((before - $(used))) -ge 190000000 ] || fail "the space of the copies did not come back: $before, $(used)"

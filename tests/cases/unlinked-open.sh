#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Files and directories that are removed while open: they work on, and their space
# comes back, also when the daemon dies in between.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
fc_begin
cat >"$CASE_TMP/open.py" <<'END'
import errno, os, sys
from lib import *
os.chdir(sys.argv[1])
fd = os.open("f", os.O_RDWR | os.O_CREAT, 0o644)
os.write(fd, pattern(100000))
os.unlink("f")
st = os.fstat(fd)
equal((st.st_nlink, st.st_size), (0, 100000), "links and size")
fails(errno.ENOENT, "its name", os.stat, "f")
equal(os.pread(fd, 200000, 0), pattern(100000), "its bytes")
os.pwrite(fd, b"more", 200000)
os.ftruncate(fd, 150000)
os.fchmod(fd, 0o600)
os.fsync(fd)
equal(os.pread(fd, 200000, 0), pattern(100000) + bytes(50000), "its bytes after more changes")
equal(os.fstat(fd).st_mode & 0o777, 0o600, "its mode")
write_file("f", b"another")
equal((os.fstat(fd).st_ino != os.stat("f").st_ino, read_file("f")), (True, b"another"), "a new file of that name")
equal(os.pread(fd, 5, 0), pattern(100000)[:5], "the old one beside it")
again = os.open("/proc/self/fd/%d" % fd, os.O_RDONLY)
equal(os.pread(again, 5, 0), pattern(100000)[:5], "opened once more by its descriptor")
os.close(fd)
os.close(again)

os.mkdir("d")
d = os.open("d", os.O_RDONLY)
os.fchdir(d)
os.rmdir("../d")
equal(os.fstat(d).st_nlink, 0, "links of a removed directory")
fails(errno.ENOENT, "its entries", getdents, d)
fails(errno.ENOENT, "a new file in it", os.open, "x", os.O_CREAT | os.O_WRONLY)
fails(errno.ENOENT, "a new directory in it", os.mkdir, "x")
fails(errno.ENOENT, "a link in it", os.link, "../f", "x")
fails(errno.ENOENT, "a file moved into it", os.rename, "../f", "x")
os.chdir("/")
END
py "$CASE_TMP/open.py" "$M"

# 48 MiB that only an open descriptor holds
used() { df_field used "$M"; }
settle() { [ -n "${FC_PLAIN:-}" ] || fc sync "$M"; }
settle
before=$(used)
exec 7>"$M/big"
head -c 50331648 /dev/urandom >&7
rm "$M/big"
settle
[ -n "${FC_PLAIN:-}" ] || [ $(($(used) - before)) -gt 45000000 ] || fail "an open file without names takes no space"
exec 7>&-
for _ in $(seq 100); do
	settle
	[ $(($(used) - before)) -gt 4000000 ] || break
	sleep 0.1
done
[ -n "${FC_PLAIN:-}" ] || [ $(($(used) - before)) -le 4000000 ] || fail "the space did not come back after close"

need_fusecrypt
exec 7>"$M/big"
head -c 50331648 /dev/urandom >&7
mkdir "$M/gone"
exec 8<"$M/gone"
rm "$M/big"
rmdir "$M/gone"
fc sync "$M"
fc_kill "$D"
exec 7>&- 8<&-
fc_mount "$D"
equal "$(ls "$M")" f "names after the crash"
for _ in $(seq 100); do
	fc sync "$M"
	[ $(($(used) - before)) -gt 4000000 ] || break
	sleep 0.1
done
[ $(($(used) - before)) -le 4000000 ] || fail "the space did not come back after a crash"

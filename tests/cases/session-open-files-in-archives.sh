#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A file that is open and dirty, or was never closed, is no hole for tar --sparse; the
# numbers of blocks are true all the same.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
fc_begin
py - "$M" "$CASE_TMP" <<'END'
import mmap, os, subprocess, sys
from lib import *
os.chdir(sys.argv[1])
def archived(name):
    archive = sys.argv[2] + "/archive.tar"
    subprocess.run(["tar", "-cSf", archive, name], check=True)
    return subprocess.run(["tar", "-xOf", archive], check=True, stdout=subprocess.PIPE).stdout
def blocks(name):
    return os.stat(name).st_blocks
def opened(name, flags=0):
    return os.open(name, os.O_RDWR | flags, 0o644)

fd = opened("new", os.O_CREAT)
os.write(fd, b"x" * 100000)
equal(blocks("new") > 0, True, "blocks of a new file that is dirty")
equal(archived("new"), b"x" * 100000, "a new file that is dirty")
fd2 = opened("synced", os.O_CREAT)
os.write(fd2, b"y" * 100000)
os.fsync(fd2)
equal(archived("synced"), b"y" * 100000, "a new file that was synced and is open")
os.close(fd)
os.close(fd2)
equal((blocks("new"), blocks("synced")), (200, 200), "blocks once they are closed")

write_file("was-empty", b"")
equal(blocks("was-empty"), 0, "blocks of an empty file")
fd = opened("was-empty")
os.write(fd, b"z" * 5000)
equal(archived("was-empty"), b"z" * 5000, "an empty file that was written to")
os.close(fd)
fd = opened("was-empty", os.O_TRUNC)
equal((blocks("was-empty"), os.fstat(fd).st_blocks), (0, 0), "blocks after O_TRUNC")
os.write(fd, b"t" * 9000)
equal(archived("was-empty"), b"t" * 9000, "a file written anew")
os.close(fd)

fd = opened("mapped", os.O_CREAT)
os.ftruncate(fd, 1 << 40)
equal(blocks("mapped"), 0, "blocks of a hole")
os.ftruncate(fd, 1 << 20)
with mmap.mmap(fd, 1 << 20) as m:
    m[70000:70003] = b"abc"
    equal(archived("mapped")[70000:70003], b"abc", "a hole written to through a map")
    equal(blocks("mapped") > 0, True, "its blocks")
os.close(fd)
END

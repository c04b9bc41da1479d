#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# 1,500 directories deep, paths longer than PATH_MAX, long chains of links.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
fc_begin
cat >"$CASE_TMP/deep.py" <<'END'
import errno, os, sys
from lib import *
os.chdir(sys.argv[2])
for level in range(1500):
    name = "level-%d" % level
    if sys.argv[1] == "make":
        os.mkdir(name)
    os.chdir(name)
if sys.argv[1] == "make":
    write_file("bottom", b"deep")
equal(read_file("bottom"), b"deep", "the file at the bottom")
here = os.stat(".")
os.chdir("..")
equal(os.stat("level-1499").st_ino, here.st_ino, "down after up")
fails(errno.ENAMETOOLONG, "a path of 5,000 bytes", os.stat, "level-1499/" + "./" * 2500 + "bottom")
equal(read_file("level-1499/" + "./" * 2030 + "bottom"), b"deep", "a path of nearly 4,096 bytes")
END
py "$CASE_TMP/deep.py" make "$M"
py - "$M" <<'END'
import errno, os, sys
from lib import *
os.chdir(sys.argv[1])
os.mkdir("links")
os.chdir("links")
write_file("l0", b"end")
for i in range(1, 42):
    os.symlink("l%d" % (i - 1), "l%d" % i)
equal(read_file("l40"), b"end", "a chain of 40 links")
fails(errno.ELOOP, "a chain of 41 links", read_file, "l41")
os.symlink("loop", "loop")
fails(errno.ELOOP, "a link to itself", os.stat, "loop")
target = "t/" * 2047 + "t"
os.symlink(target, "longest")
equal(os.readlink("longest"), target, "a target of 4,095 bytes")
equal(os.lstat("longest").st_size, 4095, "its size")
fails(errno.ENAMETOOLONG, "a target of 4,096 bytes", os.symlink, target + "t", "too-long")
fails(errno.ENOENT, "an empty target", os.symlink, "", "empty")
equal(sorted(n for n in os.listdir(".") if n[0] != "l"), [], "names after what was refused")
END
fc_remount "$D"
py "$CASE_TMP/deep.py" check "$M"
equal "$(find "$M/level-0" | wc -l)" 1501 "what find sees"
equal "$(readlink "$M/links/longest" | wc -c)" 4096 "the longest target after mounting again"
rm -rf "$M/level-0"
equal "$(ls "$M")" links "what is left after rm -rf"

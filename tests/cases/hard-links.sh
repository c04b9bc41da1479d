#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Hard links: counts, one inode, and the rotation of backups by cp -al.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
fc_begin

py - "$M" <<'END'
import errno, os, sys
from lib import *
os.chdir(sys.argv[1])
write_file("a", b"one")
os.mkdir("d")
os.link("a", "d/b")
os.link("d/b", "c")
a, b, c = os.stat("a"), os.stat("d/b"), os.stat("c")
equal((a.st_nlink, b.st_nlink, c.st_nlink), (3, 3, 3), "link counts")
equal(len({a.st_ino, b.st_ino, c.st_ino}), 1, "inodes of three names")
with open("c", "ab") as f:
    f.write(b" two")
equal(read_file("d/b"), b"one two", "content by another name")
os.chmod("a", 0o640)
equal(os.stat("c").st_mode & 0o7777, 0o640, "mode by another name")

os.rename("a", "c")  # two names of one file: nothing happens
equal(sorted(os.listdir(".")), ["a", "c", "d"], "names after renaming a link to itself")
equal(os.stat("a").st_nlink, 3, "count after renaming a link to itself")
fails(errno.EEXIST, "link over a name", os.link, "a", "c")
fails(errno.EPERM, "link of a directory", os.link, "d", "e")

os.symlink("a", "s")
os.link("s", "s2", follow_symlinks=False)
equal((os.lstat("s").st_ino, os.lstat("s").st_nlink), (os.lstat("s2").st_ino, 2), "link of a symbolic link")
equal(os.readlink("s2"), "a", "its target")
equal(os.stat("a").st_nlink, 3, "count of what the symbolic link names")

before = os.stat("a").st_ctime_ns
os.unlink("c")
after = os.stat("a")
equal(after.st_nlink, 2, "count after unlink")
equal(after.st_ctime_ns >= before, True, "ctime after unlink")
equal(read_file("d/b"), b"one two", "content after unlink")

fd = os.open("gone", os.O_RDWR | os.O_CREAT)
os.unlink("gone")
fails(errno.ENOENT, "link of a file without names", link_fd, fd, "back")
os.close(fd)

for i in range(1000):
    os.link("a", "d/l%d" % i)
equal(os.stat("a").st_nlink, 1002, "count of 1,002")
os.stat("d")
equal(os.stat("d").st_nlink, 2, "links do not count for the directory")
END
fc_remount "$D"
equal "$(stat -c %h "$M/a")" 1002 "count after mounting again"
equal "$(find "$M" -samefile "$M/a" | wc -l)" 1002 "names found after mounting again"

# Three generations of a backup; each changes a file and keeps the others.
mkdir "$CASE_TMP/source"
for i in $(seq 200); do echo "content $i" >"$CASE_TMP/source/file$i"; done
rsync -a --modify-window=-1 "$CASE_TMP/source/" "$M/day0/"
for day in 1 2 3; do
	cp -al "$M/day$((day - 1))" "$M/day$day"
	echo "changed on day $day" >"$CASE_TMP/source/file$day"
	rsync -a --modify-window=-1 --checksum --delete "$CASE_TMP/source/" "$M/day$day/"
done
fc_remount "$D"
compare "$CASE_TMP/source" "$M/day3"
equal "$(cat "$M/day0/file1" "$M/day1/file1")" "content 1
changed on day 1" "the file of day 1"
equal "$(stat -c %h "$M/day0/file100")" 4 "count of a file that never changed"
equal "$(stat -c %h "$M/day0/file2")" 2 "count of a file that changed on day 2"
equal "$(stat -c %h "$M/day3/file2")" 2 "count of the changed file"
rm -rf "$M/day0" "$M/day1"
equal "$(stat -c %h "$M/day3/file100")" 2 "count after two days were removed"
compare "$CASE_TMP/source" "$M/day3"

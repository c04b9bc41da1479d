#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 400
# long
# A directory of 100,000 entries, read while entries come and go: what is there all
# the time is seen exactly once, and an offset leads to the same place again.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
N=${ENTRIES:-100000}
fc_begin
py - "$M" "$N" <<'END'
import os, sys
from lib import *
os.chdir(sys.argv[1])
N = int(sys.argv[2])
os.mkdir("d")
os.chdir("d")
for i in range(N):
    os.close(os.open("entry-%06d" % i, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
equal(os.stat(".").st_nlink, 2, "links of the directory")

fd = os.open(".", os.O_RDONLY)
seen, marks, steps = [], [], 0
while True:
    some = getdents(fd)
    if not some:
        break
    for name, off, ino, kind in some:
        seen.append(name)
        if len(seen) % (N // 20) == 0:
            marks.append((off, len(seen)))
    if not steps and len(seen) > N // 8:  # far from the end: remove seen and unseen ones, add new ones
        steps = 1
        already = set(seen)
        for i in range(0, N, 10):
            os.unlink("entry-%06d" % i)
        removed_unseen = [i for i in range(0, N, 10) if b"entry-%06d" % i not in already]
        for i in range(2000):
            os.close(os.open("new-%d" % i, os.O_CREAT | os.O_WRONLY, 0o644))
equal(len(already) > N // 10 and len(removed_unseen) > N // 100, True, "changes before and after the place of reading")
equal(len(seen), len(set(seen)), "names seen, and different ones")
names = set(seen)
stayed = [b"entry-%06d" % i for i in range(N) if i % 10]
missing = [n for n in stayed if n not in names]
equal(missing[:5], [], "entries that were there all the time and not seen")

# An offset that was given before leads to what came after it, without what was removed.
here = {os.fsencode(n) for n in os.listdir(".")}
equal(len(here), N - N // 10 + 2000, "entries afterwards")
for off, index in marks[::4]:
    os.lseek(fd, off, os.SEEK_SET)
    want = [n for n in seen[index:index + 400] if n in here][:100]
    got = []
    while len(got) < len(want):
        some = getdents(fd)
        if not some:
            break
        got += [name for name, *_ in some]
    got = [n for n in got if not n.startswith(b"new-")][:len(want)]
    want = [n for n in want if not n.startswith(b"new-")]
    equal(got[:len(want)], want, "entries after the offset %d" % off)
os.lseek(fd, 0, os.SEEK_SET)
equal({name for name, *_ in getdents(fd, 4096)} >= {b".", b".."}, True, "entries from the start again")
os.close(fd)
END
find "$M/d" -printf '%f\n' | sort >"$CASE_TMP/before"
fc_remount "$D"
find "$M/d" -printf '%f\n' | sort >"$CASE_TMP/after"
cmp "$CASE_TMP/before" "$CASE_TMP/after"
equal "$(find "$M/d" -type f -name 'entry-*' -links 1 | wc -l)" $((N * 9 / 10)) "entries after mounting again"
rm -r "$M/d"
equal "$(ls -A "$M")" "" "what is left"

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 300
# Random writes, truncations, holes, copies, maps and reads of three files against
# plain byte arrays; the containers are mounted anew in between. A seed repeats it.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
fc_begin
cat >"$CASE_TMP/model.py" <<'END'
import errno, mmap, os, pickle, random, sys
from lib import *
os.chdir(sys.argv[1])
turn = int(sys.argv[2])
state = sys.argv[3]
rng = random.Random(7000 + turn)
names = ["small", "medium", "large"]
limit = {"small": 6000, "medium": 300000, "large": 3000000}
model = pickle.load(open(state, "rb")) if turn else {n: bytearray() for n in names}
fds = {n: os.open(n, os.O_RDWR | os.O_CREAT, 0o644) for n in names}
for n in names:
    equal(read_file(n), bytes(model[n]), "turn %d: all of %s at the start" % (turn, n))
step = name = None
def put(name, off, data):
    m = model[name]
    if len(m) < off + len(data):
        m.extend(bytes(off + len(data) - len(m)))
    m[off:off + len(data)] = data
for step in range(700):
    name = rng.choice(names)
    fd, m = fds[name], model[name]
    off = rng.randrange(limit[name])
    n = min(rng.choice((1, 17, 1000, 4096, 20000, 140000)), limit[name] - off)
    if rng.random() < 0.4:
        off &= ~4095
    if rng.random() < 0.3:
        n = max(4096, n & ~4095)
    kind = rng.randrange(12)
    if kind <= 3:
        data = rng.randbytes(n)
        equal(os.pwrite(fd, data, off), n, "step %d: bytes written" % step)
        put(name, off, data)
    elif kind == 4:
        os.ftruncate(fd, off)
        put(name, off, b"")
        del m[off:]
    elif kind == 5:
        fallocate(fd, PUNCH_HOLE | KEEP_SIZE, off, n)
        end = min(off + n, len(m))
        if off < end:
            m[off:end] = bytes(end - off)
    elif kind == 6:
        fallocate(fd, ZERO_RANGE, off, n)
        put(name, off, bytes(n))
    elif kind == 7:
        fallocate(fd, 0, off, n)
        if len(m) < off + n:
            m.extend(bytes(off + n - len(m)))
    elif kind == 8:
        other = rng.choice(names)
        to = rng.randrange(limit[other]) & (~4095 if rng.random() < 0.6 else -1)
        source = bytes(m[off:off + n])
        if other == name and to < off + n and off < to + n:
            continue
        done = 0
        while done < len(source):
            got = os.copy_file_range(fd, fds[other], len(source) - done, off + done, to + done)
            equal(got > 0, True, "step %d: progress of copy_file_range" % step)
            done += got
        if source:
            put(other, to, source)
    elif kind == 9 and m:
        with mmap.mmap(fd, len(m)) as shared:
            at = rng.randrange(len(m))
            data = rng.randbytes(min(5000, len(m) - at))
            shared[at:at + len(data)] = data
            m[at:at + len(data)] = data
    elif kind == 10:
        rng.choice((os.fsync, os.fdatasync))(fd)
    elif kind == 11:
        os.close(fd)
        fds[name] = fd = os.open(name, os.O_RDWR)
    equal(os.fstat(fd).st_size, len(m), "turn %d, step %d: size of %s" % (turn, step, name))
    at = rng.randrange(len(m) + 1)
    equal(os.pread(fd, 70000, at), bytes(m[at:at + 70000]), "turn %d, step %d: bytes of %s at %d" % (turn, step, name, at))
    if step % 50 == 0:
        for n in names:
            equal(read_file(n), bytes(model[n]), "turn %d, step %d: all of %s" % (turn, step, n))
for n in names:
    equal(read_file(n), bytes(model[n]), "turn %d: all of %s at the end" % (turn, n))
    equal(os.fstat(fds[n]).st_blocks * 512 <= (len(model[n]) + 4096 + limit[n]), True, "blocks of " + n)
pickle.dump(model, open(state, "wb"))
END
for turn in 0 1 2 3; do
	py "$CASE_TMP/model.py" "$M" $turn "$CASE_TMP/state"
	fc_remount "$D"
done

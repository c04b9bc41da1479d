# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes a tree: libtree.py DIR FILES. The same arguments give the same tree."""
import os
import random
import sys

top, count = os.fsencode(sys.argv[1]), int(sys.argv[2])
rng = random.Random(count)
text = b" ".join(b"%d" % rng.randrange(1 << 40) for _ in range(20000))


def content():
    kind = rng.random()
    if kind < 0.05:
        n = 0
    elif kind < 0.70:
        n = rng.randrange(1, 4096)
    elif kind < 0.97:
        n = rng.randrange(4096, 40000)
    elif kind < 0.999:
        n = rng.randrange(40000, 400000)
    else:
        n = rng.randrange(400000, 2000000)
    at = rng.randrange(len(text) // 2)
    data = (text[at:] + text * (n // len(text) + 1))[:n]
    return data if rng.random() < 0.9 else rng.randbytes(n)


def stamp():
    return rng.randrange(-10 ** 8, 2 * 10 ** 9) * 10 ** 9 + rng.randrange(10 ** 9)


def attribute(path, name, value):
    try:
        os.setxattr(path, name, value, follow_symlinks=False)
    except OSError:
        pass  # the host file system has none


os.makedirs(top, exist_ok=True)
dirs, files, times = [top], [], []
for i in range(count):
    if i % 12 == 0:
        parent = rng.choice(dirs[-40:])
        name = b"dir%d" % i if i % 60 else b"d\xc3\xa9 %d\n\xff" % i
        if parent.count(b"/") - top.count(b"/") > 25:
            parent = top
        path = os.path.join(parent, name)
        os.mkdir(path, 0o755 if i % 5 else 0o711)
        dirs.append(path)
    where = rng.choice(dirs[-30:])
    path = os.path.join(where, b"f%d" % i + (b"-" + b"x" * 240 if i % 97 == 0 else b".txt"))
    kind = i % 50
    if kind == 7 and files:
        os.link(rng.choice(files), path)
        continue
    if kind == 11:
        os.symlink(rng.choice(dirs) if i % 2 else b"missing \xfe" * (1 + i % 40), path)
        os.utime(path, ns=(stamp(), stamp()), follow_symlinks=False)
        continue
    with open(path, "wb", buffering=0) as f:
        if kind == 13:
            for hole in range(3):
                f.seek(hole * 300000)
                f.write(b"island %d" % hole)
        else:
            f.write(content())
    os.chmod(path, rng.choice((0o644, 0o600, 0o755, 0o444, 0o4755, 0o2711)))
    if kind == 17:
        attribute(path, "user.note", b"note %d" % i)
        attribute(path, "user.large", text[:1500])
    if kind == 19 and os.geteuid() == 0:
        os.chown(path, 1000 + i % 7, 2000 + i % 5)
    if kind == 23:
        os.mkfifo(path + b".fifo")
    files.append(path)
    times.append((path, stamp(), stamp()))
for path, atime, mtime in times:
    os.utime(path, ns=(atime, mtime))
for path in reversed(dirs):
    os.utime(path, ns=(stamp(), stamp()))

# SPDX-License-Identifier: GPL-2.0-or-later
"""What the Python parts of the cases share."""
import ctypes
import errno
import os
import struct
import sys

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
AT_FDCWD = -100
RENAME_NOREPLACE, RENAME_EXCHANGE, RENAME_WHITEOUT = 1, 2, 4
KEEP_SIZE, PUNCH_HOLE, COLLAPSE_RANGE, ZERO_RANGE, INSERT_RANGE = 1, 2, 8, 16, 32
PLAIN = bool(os.environ.get("FC_PLAIN"))


def fail(text):
    print("FAILED:", text)
    sys.exit(1)


def equal(got, want, what):
    if got != want:
        got, want = repr(got), repr(want)
        fail("%s: got %s, right is %s" % (what, got[:300], want[:300]))


def fails(number, what, call, *args, **kw):
    """call(*args) fails with that errno (or one of a tuple of them)."""
    numbers = number if isinstance(number, tuple) else (number,)
    try:
        got = call(*args, **kw)
    except OSError as error:
        if error.errno not in numbers:
            fail("%s: %s, right is %s" % (what, errno.errorcode.get(error.errno, error.errno),
                                         " or ".join(errno.errorcode[n] for n in numbers)))
        return error.errno
    return fail("%s: succeeded with %r, right is %s" % (what, got, " or ".join(errno.errorcode[n] for n in numbers)))


def _checked(result):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def renameat2(old, new, flags):
    _checked(libc.renameat2(AT_FDCWD, os.fsencode(old), AT_FDCWD, os.fsencode(new), ctypes.c_uint(flags)))


def link_fd(fd, path):
    """linkat(2) of an open file, also of one without a name."""
    _checked(libc.linkat(AT_FDCWD, b"/proc/self/fd/%d" % fd, AT_FDCWD, os.fsencode(path), 0x400))


def fallocate(fd, mode, offset, length):
    _checked(libc.fallocate(fd, mode, ctypes.c_long(offset), ctypes.c_long(length)))


def getdents(fd, size=32768):
    """[(name, offset after it, inode, type)] of one getdents64 call; [] at the end."""
    buf = ctypes.create_string_buffer(size)
    n = _checked(libc.syscall(217, fd, buf, size)) if os.uname().machine == "x86_64" else \
        _checked(libc.syscall(61, fd, buf, size))
    out, at = [], 0
    while at < n:
        ino, off, length, kind = struct.unpack_from("=QqHB", buf, at)
        name = buf[at + 19:at + length].split(b"\0", 1)[0]
        out.append((name, off, ino, kind))
        at += length
    return out


def pattern(n, seed=1):
    """n bytes that look random and are the same each time."""
    import random
    return random.Random(seed).randbytes(n)


def write_file(path, data):
    with open(path, "wb") as f:
        f.write(data)


def read_file(path):
    with open(path, "rb") as f:
        return f.read()


def child(call, *args):
    """Runs call(*args) in another process; its exit status is 0 unless it raised or exited."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            call(*args)
            status = 0
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 1
        except BaseException as error:  # noqa: B902: whatever it is belongs into the output
            print("in the child: %r" % error)
        sys.stdout.flush()
        os._exit(status)
    return pid


def wait_for(pids, what):
    for pid in pids:
        equal(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0, what)

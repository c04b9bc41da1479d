#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# File handles (open_by_handle_at, as an NFS server uses them) outlive what the kernel
# knows of the file, and a new mount; what was removed is stale.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_root
fc_begin
cat >handles.py <<'END'
import ctypes, errno, os, pickle, sys
from lib import *
libc = ctypes.CDLL(None, use_errno=True)

class Handle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_uint), ("type", ctypes.c_int), ("data", ctypes.c_char * 128)]

def handle_of(path):
    handle, mount = Handle(bytes=128), ctypes.c_int()
    if libc.name_to_handle_at(-100, os.fsencode(path), ctypes.byref(handle), ctypes.byref(mount), 0):
        raise OSError(ctypes.get_errno(), path)
    return bytes(handle)

def open_handle(raw, flags=os.O_RDONLY):
    top = os.open(".", os.O_RDONLY)
    fd = libc.open_by_handle_at(top, ctypes.byref(Handle.from_buffer_copy(raw)), flags)
    os.close(top)
    if fd < 0:
        raise OSError(ctypes.get_errno(), "open_by_handle_at")
    return fd

os.chdir(sys.argv[1])
if sys.argv[2] == "make":
    os.makedirs("a/b")
    for name in "a/b/f", "a/b/removed":
        write_file(name, name.encode())
    os.link("a/b/f", "other")
    with open(sys.argv[3], "wb") as f:
        pickle.dump({name: handle_of(name) for name in ("a/b/f", "a/b/removed", "a/b", ".")}, f)
    os.unlink("a/b/removed")
else:
    with open(sys.argv[3], "rb") as f:
        handles = pickle.load(f)
    fd = open_handle(handles["a/b/f"])
    equal(os.read(fd, 100), b"a/b/f", "content by handle")
    equal(os.fstat(fd).st_ino, os.stat("other").st_ino, "inode by handle")
    equal(sorted(os.listdir(open_handle(handles["a/b"]))), ["f"], "a directory by handle")
    os.fchdir(open_handle(handles["a/b"]))
    equal(os.path.samestat(os.stat("../.."), os.stat(sys.argv[1])), True, "its parents")
    os.chdir(sys.argv[1])
    fails(errno.ESTALE, "what was removed", open_handle, handles["a/b/removed"])
END
py handles.py "$M" make "$CASE_TMP/handles"
py handles.py "$M" use "$CASE_TMP/handles"
fc_remount "$D"
py handles.py "$M" use "$CASE_TMP/handles"

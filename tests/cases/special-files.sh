#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# FIFOs, sockets and device nodes: made, used, and there again.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_root
fc_begin -o dev

py - "$M" <<'END'
import errno, os, socket, stat, sys
from lib import *
os.chdir(sys.argv[1])
os.mkfifo("fifo", 0o600)
def writer():
    with open("fifo", "wb") as f:
        f.write(b"through a fifo" * 10000)
pid = child(writer)
equal(read_file("fifo"), b"through a fifo" * 10000, "bytes through a fifo")
wait_for([pid], "the writer")

# as gpg-agent does
server = socket.socket(socket.AF_UNIX)
server.bind("S.agent")
server.listen(1)
equal(stat.S_ISSOCK(os.stat("S.agent").st_mode), True, "type of a bound socket")
def client():
    s = socket.socket(socket.AF_UNIX)
    s.connect("S.agent")
    s.sendall(b"hello")
    equal(s.recv(100), b"world", "answer of the socket")
pid = child(client)
peer, _ = server.accept()
equal(peer.recv(100), b"hello", "bytes through a socket")
peer.sendall(b"world")
wait_for([pid], "the client")
fails(errno.EADDRINUSE, "bind to a name in use", socket.socket(socket.AF_UNIX).bind, "S.agent")

os.mknod("null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
os.mknod("zero", 0o640 | stat.S_IFCHR, os.makedev(1, 5))
os.mknod("large", 0o600 | stat.S_IFBLK, os.makedev(4095, 1048575))
os.mknod("sock", 0o600 | stat.S_IFSOCK)
os.mknod("plain", 0o600 | stat.S_IFREG)
write_file("null", b"lost")
equal(os.stat("null").st_size, 0, "size of a device")
with open("zero", "rb") as f:
    equal(f.read(5), b"\0" * 5, "bytes of a device")
fails(errno.EEXIST, "mknod over a name", os.mknod, "null", 0o600 | stat.S_IFCHR, os.makedev(1, 3))
fails(errno.ENXIO, "open of a socket", os.open, "sock", os.O_RDONLY)
END
chmod 666 "$M/null"
chown 12:34 "$M/large"
list() { (cd "$M" && stat -c '%n %F %a %u:%g %t:%T %s %h' fifo large null plain S.agent sock zero); }
right='fifo fifo 600 0:0 0:0 0 1
large block special file 600 12:34 fff:fffff 0 1
null character special file 666 0:0 1:3 0 1
plain regular empty file 600 0:0 0:0 0 1
S.agent socket 755 0:0 0:0 0 1
sock socket 600 0:0 0:0 0 1
zero character special file 640 0:0 1:5 0 1'
equal "$(list)" "$right" "types, modes, owners and numbers"
fc_remount "$D" -o dev
equal "$(list)" "$right" "the same after mounting again"
mkdir "$M/copy"
cp -a "$M"/{fifo,large,null,plain,S.agent,sock,zero} "$M/copy/"
M=$M/copy
equal "$(list)" "$right" "the same of a copy"

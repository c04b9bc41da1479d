#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# fcntl, OFD and flock locks between processes: blocking and not, of ranges,
# released by unlock, close and death.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
fc_begin
py - "$M" <<'END'
import errno, fcntl, os, signal, struct, sys, time
from lib import *
os.chdir(sys.argv[1])
write_file("f", bytes(1000))
OFD_GETLK, OFD_SETLK, OFD_SETLKW = 36, 37, 38
def flock64(kind, start, length, pid=0):
    return struct.pack("hhqqi4x", kind, os.SEEK_SET, start, length, pid)
BUSY = (errno.EAGAIN, errno.EACCES)

class Other:
    """Another process with the file open, told by a pipe what to do: its answers are errno or 0."""
    def __init__(self):
        ask_r, self.ask = os.pipe()
        self.answer, answer_w = os.pipe()
        self.pid = child(self.serve, ask_r, answer_w)
    def serve(self, ask_r, answer_w):
        for inherited in os.listdir("/proc/self/fd"):  # they would hold the locks of their open files
            if int(inherited) > 2 and int(inherited) not in (ask_r, answer_w):
                try:
                    os.close(int(inherited))
                except OSError:
                    pass
        fd = os.open("f", os.O_RDWR)
        while True:
            words = os.read(ask_r, 100).decode().split()
            result = 0
            try:
                if words[0] == "posix":
                    fcntl.lockf(fd, int(words[1]), int(words[2]), int(words[3]))
                elif words[0] == "ofd":
                    fcntl.fcntl(fd, int(words[1]), flock64(int(words[2]), int(words[3]), int(words[4])))
                elif words[0] == "flock":
                    fcntl.flock(fd, int(words[1]))
                elif words[0] == "reopen":
                    os.close(fd)
                    fd = os.open("f", os.O_RDWR)
                elif words[0] == "exit":
                    os._exit(0)
            except OSError as error:
                result = error.errno
            os.write(answer_w, b"%d\n" % result)
    def tell(self, *words):
        os.write(self.ask, " ".join(str(w) for w in words).encode())
    def result(self):
        return int(os.read(self.answer, 100))
    def do(self, *words):
        self.tell(*words)
        return self.result()
    def waits(self):
        import select
        return not select.select([self.answer], [], [], 0.3)[0]
    def end(self):
        self.tell("exit")
        os.waitpid(self.pid, 0)

EX, SH, UN, NB = fcntl.LOCK_EX, fcntl.LOCK_SH, fcntl.LOCK_UN, fcntl.LOCK_NB
fd = os.open("f", os.O_RDWR)
other = Other()

# fcntl: ranges
fcntl.lockf(fd, EX, 100, 0)
equal(other.do("posix", EX | NB, 10, 50) in BUSY, True, "a range that overlaps")
equal(other.do("posix", EX | NB, 10, 100), 0, "a range beside it")
equal(other.do("posix", UN, 10, 100), 0, "unlock")
got = fcntl.fcntl(fd, fcntl.F_GETLK, flock64(fcntl.F_WRLCK, 0, 10))
equal(struct.unpack("hhqqi4x", got)[0], fcntl.F_UNLCK, "one's own lock is no hindrance")
other.tell("posix", EX, 10, 50)
equal(other.waits(), True, "a blocking lock waits")
fcntl.lockf(fd, UN, 100, 0)
equal(other.result(), 0, "and is had after the unlock")
got = struct.unpack("hhqqi4x", fcntl.fcntl(fd, fcntl.F_GETLK, flock64(fcntl.F_WRLCK, 0, 0)))
equal((got[0], got[2], got[3], got[4]), (fcntl.F_WRLCK, 50, 10, other.pid), "who holds which range, by F_GETLK")
fails(BUSY, "a range that another holds", fcntl.lockf, fd, SH | NB, 1, 55)
equal(other.do("posix", SH, 10, 50), 0, "an exclusive lock made a shared one")
fcntl.lockf(fd, SH | NB, 1, 55)
fails(BUSY, "exclusive beside a shared one", fcntl.lockf, fd, EX | NB, 1, 55)
equal(other.do("reopen"), 0, "close")
fcntl.lockf(fd, EX | NB, 0, 0)
fcntl.lockf(fd, UN, 0, 0)

# deadlock is seen
fcntl.lockf(fd, EX, 1, 0)
equal(other.do("posix", EX, 1, 1), 0, "the other's lock")
other.tell("posix", EX, 1, 0)
equal(other.waits(), True, "the other waits")
fails(errno.EDEADLK, "waiting for one who waits for us", fcntl.lockf, fd, EX, 1, 1)
fcntl.lockf(fd, UN, 1, 0)
equal(other.result(), 0, "the other goes on")
# closing any descriptor of the file drops a process's fcntl locks
other.do("reopen")
fcntl.lockf(fd, EX, 0, 0)
os.close(os.open("f", os.O_RDONLY))
equal(other.do("posix", EX | NB, 0, 0), 0, "after closing another descriptor")
# killed
other.tell("posix", EX, 0, 0)
other.result()
os.kill(other.pid, signal.SIGKILL)
fcntl.lockf(fd, EX, 0, 0)  # waits until it is released
os.waitpid(other.pid, 0)
fcntl.lockf(fd, UN, 0, 0)

# OFD locks belong to the open file
other = Other()
fcntl.fcntl(fd, OFD_SETLK, flock64(fcntl.F_WRLCK, 0, 100))
second = os.open("f", os.O_RDWR)
fails(BUSY, "OFD: another description of the same process", fcntl.fcntl, second, OFD_SETLK, flock64(fcntl.F_RDLCK, 50, 1))
os.close(second)
equal(other.do("ofd", OFD_SETLK, fcntl.F_WRLCK, 99, 1) in BUSY, True, "OFD: another process, after a close elsewhere")
equal(other.do("posix", SH | NB, 1, 0) in BUSY, True, "OFD against fcntl")
copy = os.dup(fd)
os.close(fd)
equal(other.do("ofd", OFD_SETLK, fcntl.F_WRLCK, 99, 1) in BUSY, True, "OFD: held by a copy of the descriptor")
other.tell("ofd", OFD_SETLKW, fcntl.F_WRLCK, 99, 1)
equal(other.waits(), True, "OFD: waits")
os.close(copy)
equal(other.result(), 0, "OFD: released by the last close")
os.kill(other.pid, signal.SIGKILL)
os.waitpid(other.pid, 0)

# flock
fd = os.open("f", os.O_RDWR)
other = Other()
fcntl.flock(fd, EX)
equal(other.do("flock", SH | NB) in BUSY, True, "flock: shared beside exclusive")
equal(other.do("posix", EX | NB, 0, 0), 0, "flock does not hinder fcntl")
other.tell("flock", EX)
equal(other.waits(), True, "flock: waits")
fcntl.flock(fd, UN)
equal(other.result(), 0, "flock: had after the unlock")
fails(BUSY, "flock: held by the other", fcntl.flock, fd, SH | NB)
equal(other.do("flock", SH), 0, "flock: made shared")
fcntl.flock(fd, SH | NB)
fails(BUSY, "flock: exclusive beside shared", fcntl.flock, fd, EX | NB)
os.kill(other.pid, signal.SIGKILL)
os.waitpid(other.pid, 0)
fcntl.flock(fd, EX)
os.close(fd)
fd = os.open("f", os.O_RDONLY)
fcntl.flock(fd, EX | NB)
other = Other()
equal(other.do("flock", SH | NB) in BUSY, True, "flock of a descriptor for reading")
os.close(fd)
equal(other.do("flock", EX | NB), 0, "flock: released by close")
other.end()
END
# a lock file of the shell, and a lock that a killed process held
bash -c 'exec 9>"$1" && flock 9 && exec sleep 100' bash "$M/lock" &
holder=$!
for _ in $(seq 100); do
	flock -n "$M/lock" true || break
	sleep 0.02
done
! flock -n "$M/lock" true || fail "flock(1) got what is held"
kill -9 $holder
wait $holder || true
flock -w 5 "$M/lock" true || fail "flock(1) did not get what a killed process held"

# SPDX-License-Identifier: GPL-2.0-or-later
"""A program on a terminal of its own, and what a person would do there."""
import os, pty, select, signal, sys, termios, time


class Terminal:
    def __init__(self, *argv):
        self.seen = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvp(argv[0], argv)

    def read(self, seconds):
        """Takes what comes within that time; False at the end."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.fd, 4096)
        except OSError:
            data = b""
        self.seen += data
        return bool(data)

    def wait_for(self, words, seconds=60):
        """Until these words are there; then they are forgotten."""
        end = time.monotonic() + seconds
        while words.encode() not in self.seen:
            if not self.read(0.2) or time.monotonic() > end:
                sys.exit("FAILED: %r does not come, but: %r" % (words, self.seen))
        self.seen = self.seen.split(words.encode(), 1)[1]

    def wait_echo(self, on):
        end = time.monotonic() + 20
        while self.echo() != on:
            if time.monotonic() > end:
                sys.exit("FAILED: the echo is not %s" % ("on" if on else "off"))
            time.sleep(0.02)

    def echo(self):
        return bool(termios.tcgetattr(self.fd)[3] & termios.ECHO)

    def type(self, text):
        """Once the echo is off: what is typed before is thrown away."""
        self.wait_echo(False)
        time.sleep(0.1)
        os.write(self.fd, text.encode())

    def end(self, seconds=60):
        """The exit status (of a shell, for a signal) and all that was printed."""
        stop = time.monotonic() + seconds
        while self.read(0.2):
            if time.monotonic() > stop:
                os.kill(self.pid, signal.SIGKILL)
                sys.exit("FAILED: it does not end: %r" % self.seen)
        status = os.waitpid(self.pid, 0)[1]
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)
        return code, self.seen.decode(errors="replace")


def expect(got, want, what):
    if got != want:
        sys.exit("FAILED: %s: got %r, right is %r" % (what, got, want))

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Asking on the terminal: twice for a new passphrase, three tries for an old one,
# never with an echo; given back as it was when interrupted or stopped.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
need_fuse
D=$CASE_TMP
mkdir mnt
FC_STACK+=("container $D")
py - "$FUSECRYPT" <<'PY'
import os, signal, subprocess, sys, time
from libterminal import Terminal, expect

F = sys.argv[1]

# init: differing, empty, then agreed; standard input and output are not the terminal
t = Terminal("sh", "-c", '"$0" init box --kdf interactive </dev/null >out', F)
t.wait_for("New passphrase for box: ")
t.type("one\n")
t.wait_for("again: ")
t.type("two\n")
t.wait_for("They differ.")
t.wait_for("New passphrase")
t.type("\n")
t.wait_for("empty")
t.wait_for("New passphrase")
t.type("gr\u00fcn wood \n")
t.wait_for("again: ")
t.type("gr\u00fcn wood \n")
t.wait_for("[y/n] ") # a recovery code is offered
os.write(t.fd, b"n\n")
code, said = t.end()
expect(code, 0, "init: " + said)
expect("wood" in said, False, "an echo of what was typed")
expect("fusecrypt:" in said, False, "a message without need: " + said)
expect(os.path.getsize("out"), 0, "on standard output")

# init: never agreed
t = Terminal(F, "init", "other", "--kdf", "interactive")
for i in range(3):
    t.wait_for("New passphrase")
    t.type("a%d\n" % i)
    t.wait_for("again: ")
    t.type("b\n")
code, said = t.end()
expect(code, 1, "init without agreement: " + said)
expect(os.path.exists("other"), False, "a container without a passphrase")

# mount: two wrong, the third right
t = Terminal(F, "mount", "box", "mnt")
for wrong in "gr\u00fcn wood\n", "\n":
    t.wait_for("Passphrase for ")
    t.type(wrong)
    t.wait_for("does not open")
t.wait_for("Passphrase for ")
t.type("gr\u00fcn wood \n")
code, said = t.end()
expect(code, 0, "mount: " + said)
expect("fusecrypt:" in said, False, "a message without need: " + said)
expect(os.path.ismount("mnt"), True, "mounted")
expect(subprocess.call([F, "umount", "mnt"]), 0, "umount")

# three wrong ones
t = Terminal(F, "mount", "box", "mnt")
for i in range(3):
    t.wait_for("Passphrase for ")
    t.type("wrong\n")
code, said = t.end()
expect(code, 3, "three wrong ones: " + said)
expect("no key opens" in said, True, said)
expect("wrong\r\n" in said, False, "an echo: " + said)

# interrupted: 130, the terminal as before, nothing left
for what, how in (("mount", "\x03"), ("mount", "\x1c"), ("mount", "\x04"), ("init", "\x03")):
    arguments = ["box", "mnt"] if what == "mount" else ["third", "--kdf", "interactive"]
    t = Terminal("bash", "-c", '"$@"; code=$?; stty -a; echo "code $code"', "bash", F, what, *arguments)
    t.wait_for("assphrase for ")
    t.type(how)
    code, said = t.end()
    expect("code 130" in said, True, "%s interrupted by %r: %s" % (what, how, said))
    expect(" echo " in said and "-echo " not in said, True, "the terminal: " + said)
    expect(os.path.exists("third"), False, "left by an interrupted init")
    expect(os.path.ismount("mnt"), False, "mounted by an interrupted mount")
time.sleep(0.2)

# ended from elsewhere: only the first process is signalled
for number in signal.SIGTERM, signal.SIGINT, signal.SIGHUP:
    t = Terminal(F, "mount", "box", "mnt")
    t.wait_for("Passphrase for ")
    t.wait_echo(False)
    os.kill(t.pid, number)
    code, said = t.end()
    expect(code, 130, "ended by %s: %s" % (number, said))

# the terminal goes away
t = Terminal(F, "mount", "box", "mnt")
t.wait_for("Passphrase for ")
t.wait_echo(False)
os.close(t.fd)
for i in range(100):
    pid, status = os.waitpid(t.pid, os.WNOHANG)
    if pid:
        break
    time.sleep(0.1)
expect(pid, t.pid, "it ends when its terminal is gone")

# stopped and continued by job control: as before in between, asked again, then it works
t = Terminal("bash", "--norc", "-i")
t.wait_for("$ ") if os.geteuid() else t.wait_for("# ")
os.write(t.fd, ("PS1='ready> '; '%s' mount box mnt\n" % F).encode())
t.wait_for("Passphrase for ")
t.type("\x1a")
t.wait_for("Stopped")
t.wait_for("ready> ")
os.write(t.fd, b"stty -a | grep -o -e ' echo ' -e '-echo '; echo 'done'\n")
t.wait_for(" echo ")
t.wait_for("done\r\n")
os.write(t.fd, b"fg\n")
t.wait_for("Passphrase for ")
t.type("gr\u00fcn wood \n")
t.wait_for("ready> ")
os.write(t.fd, b"echo code $?; exit\n")
code, said = t.end()
expect("code 0" in said, True, said)
expect(os.path.ismount("mnt"), True, "mounted after a stop")
expect(subprocess.call([F, "umount", "mnt"]), 0, "umount")

# a name with what would move the cursor
os.rename("box", "a\x1b[2Jb")
t = Terminal(F, "mount", "a\x1b[2Jb", "mnt")
t.wait_for("a?[2Jb")
os.kill(t.pid, signal.SIGTERM)
t.end()
os.rename("a\x1b[2Jb", "box")
PY
! pgrep -f "fusecrypt-unlock.*$CASE_TMP" >/dev/null || fail "a helper is left"
FC_STACK=()

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Keys at the terminal: which passphrase is asked for, a recovery code shown once, and
# the one that init offers.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
head -c 64 /dev/urandom >key
py - "$FUSECRYPT" <<'PY'
import os, re, subprocess, sys
from libterminal import Terminal, expect

F = sys.argv[1]
CODE = re.compile(r"\b(?:[0-9A-Z]{5}-){7}[0-9A-Z]{5}\b")

def opens(*secret, data=None):
    return subprocess.run([F, "status", "box", *secret], input=data, capture_output=True).returncode

def by_passphrase(words):
    return opens("--passphrase-file", "-", data=words.encode() + b"\n")

def by_code(code):
    return opens("--recovery-code-file", "-", data=code.encode() + b"\n")

def new_passphrase(t, words, box="box"):
    t.wait_for("New passphrase for %s: " % box)
    t.type(words + "\n")
    t.wait_for("again: ")
    t.type(words + "\n")

def answer(t, text):
    t.wait_for("[y/n] ")
    os.write(t.fd, text.encode())

# init offers a recovery code: what is neither yes nor no is asked again
t = Terminal(F, "init", "box", "--kdf", "interactive", "--log-size", "256K")
new_passphrase(t, "one")
answer(t, "perhaps\n")
answer(t, "\n")
answer(t, "YES\n")
code, said = t.end()
expect(code, 0, "init: " + said)
shown = CODE.findall(said)
expect(len(shown), 1, "recovery codes shown: " + said)
expect(by_code(shown[0]), 0, "the recovery code that was shown")
expect(by_passphrase("one"), 0, "the passphrase")
kinds = subprocess.check_output([F, "key", "list", "box"], text=True)
expect(len(kinds.splitlines()), 3, "slots: " + kinds)

# no is no; who does not answer gets none; interrupted there is no container
for reply, want in ("n\n", 0), ("no\n", 0), ("\x03", 130), ("\x04", 130):
    t = Terminal(F, "init", "other", "--kdf", "interactive", "--log-size", "256K")
    new_passphrase(t, "x", "other")
    answer(t, reply)
    code, said = t.end()
    expect(code, want, "%r: %s" % (reply, said))
    expect(CODE.findall(said), [], "a code that nobody wants")
    expect(os.path.exists("other"), want == 0, "a container after %r" % reply)
    if want == 0:
        expect(len(subprocess.check_output([F, "key", "list", "other"]).splitlines()), 2, "slots")
        os.unlink("other")
t = Terminal(F, "init", "other", "--kdf", "interactive", "--log-size", "256K")
new_passphrase(t, "x", "other")
for i in range(3):
    answer(t, "what?\n")
code, said = t.end()
expect(code, 0, said)
expect("key add --kind recovery" in said, True, "how to make one later: " + said)

# where a secret is given nothing is asked
t = Terminal("sh", "-c", 'echo two | "$0" init third --kdf interactive --passphrase-file - --log-size 256K', F)
code, said = t.end()
expect((code, "y/n" in said), (0, False), said)

# key change: the old one, then the new one twice
t = Terminal(F, "key", "change", "box")
t.wait_for("Passphrase for box: ")
t.type("wrong\n")
t.wait_for("does not open")
t.wait_for("Passphrase for box: ")
t.type("one\n")
t.wait_for("New passphrase for box: ")
t.type("two\n")
t.wait_for("again: ")
t.type("2\n")
t.wait_for("They differ.")
new_passphrase(t, "two")
code, said = t.end()
expect(code, 0, "key change: " + said)
expect((by_passphrase("one"), by_passphrase("two")), (3, 0), "the old and the new passphrase")

# with --kdf alone the passphrase stays
t = Terminal(F, "key", "change", "box", "--kdf", "interactive")
t.wait_for("Passphrase for box: ")
t.type("two\n")
code, said = t.end()
expect((code, "New" in said), (0, False), said)
expect(by_passphrase("two"), 0, "the passphrase at another cost")
expect("2 x 64 MiB" in subprocess.check_output([F, "key", "list", "box"], text=True), True, "the cost")

# a recovery code, shown once, and made anew
t = Terminal(F, "key", "add", "box", "--kind", "recovery", "--label", "paper")
t.wait_for("Passphrase for box: ")
t.type("two\n")
code, said = t.end()
expect(code, 0, "key add: " + said)
first = CODE.findall(said)
expect((len(first), "slot 2" in said), (1, True), said)
t = Terminal(F, "key", "change", "box", "--slot", "2")
t.wait_for("Passphrase for box: ")
t.type("two\n")
code, said = t.end()
expect(code, 0, "key change of a recovery code: " + said)
second = CODE.findall(said)
expect((by_code(first[0]), by_code(second[0]), by_code(shown[0])), (3, 0, 0), "recovery codes")

# a recovery code may be typed where the passphrase is asked for; a mistyped group of it is named
t = Terminal(F, "key", "change", "box", "--slot", "2")
t.wait_for("Passphrase for box: ")
t.type(second[0][:13] + ("1" if second[0][13] == "0" else "0") + second[0][14:] + "\n")
t.wait_for("Group 3 of that recovery code is mistyped.")
t.wait_for("Passphrase for box: ")
t.type(second[0].lower() + "\n")
code, said = t.end()
expect(code, 0, "opened by a typed recovery code: " + said)
third = CODE.findall(said)
expect((by_code(second[0]), by_code(third[0])), (3, 0), "recovery codes")
second = third

# removing asks for one of another slot
t = Terminal(F, "key", "remove", "box", "--slot", "0")
code, said = t.end()
expect((code, "has no passphrase" in said, "another slot" in said), (3, True, True), said)
t = Terminal(F, "key", "remove", "box", "--slot", "2")
t.wait_for("Passphrase for box: ")
t.type("two\n")
code, said = t.end()
expect((code, by_code(second[0])), (0, 3), said)

# interrupted while it asks: nothing has changed
before = open("box", "rb").read()
for how in "\x03", "\x04":
    t = Terminal(F, "key", "add", "box")
    t.wait_for("Passphrase for box: ")
    t.type("two\n")
    t.wait_for("New passphrase for box: ")
    t.type(how)
    code, said = t.end()
    expect(code, 130, said)
expect(open("box", "rb").read() == before, True, "the container after an interruption")
PY

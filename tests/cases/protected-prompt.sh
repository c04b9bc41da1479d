#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# unlock --all asks on the terminal once, without an echo, also when it is interrupted;
# with directories named it asks for each.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
# shellcheck source=tests/cases/lib-registry.sh
. "$SOURCE/tests/cases/lib-registry.sh"
need_fusecrypt
need_fuse
cd "$CASE_TMP"
echo words >pass
for d in a b c; do register "$CASE_TMP/$d" pass; done
py - "$FUSECRYPT" <<'PY'
import sys
from libterminal import Terminal, expect

F = sys.argv[1]
t = Terminal(F, "unlock", "--all")
t.wait_for("Passphrase for the protected directories: ")
t.type("\x03")
code, said = t.end()
expect(code, 130, "interrupted: " + said)
t = Terminal(F, "unlock", "--all")
t.wait_for("Passphrase for the protected directories: ")
t.type("words\n")
code, said = t.end()
expect(code, 0, "unlock --all: " + said)
expect("Passphrase" in said, False, "it asked again")
expect("words" in said, False, "an echo of what was typed")
PY
for d in a b c; do state_is "$CASE_TMP/$d" unlocked; done
status 0 fc lock --all
py - "$FUSECRYPT" <<'PY'
import sys
from libterminal import Terminal, expect

t = Terminal(sys.argv[1], "unlock", "a", "c")
for name in "a", "c":
    t.wait_for("/%s.fusecrypt: " % name)
    t.type("words\n")
code, said = t.end()
expect(code, 0, "unlock a c: " + said)
PY
state_is "$CASE_TMP/b" locked
status 0 fc lock --all
[ "$(id -u)" -ne 0 ] || chattr -f -i "$CASE_TMP"/[abc] || true

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The README's way for a user: protect at a terminal, with a recovery code, then logins do the rest; a forgotten
# login passphrase is no end, since the code opens it.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
# shellcheck source=tests/cases/lib-registry.sh
. "$SOURCE/tests/cases/lib-registry.sh"
need_fusecrypt
# shellcheck source=tests/cases/lib-login.sh
. "$SOURCE/tests/cases/lib-login.sh"
login_begin
login_user carol "open sesame"
FUSECRYPT=$W/src/fusecrypt
H=$W/home/carol
# shellcheck disable=SC2034 # of lib-registry.sh
FC_AS=(as carol) FC_HOME=$H
as carol mkdir "$H/private"
as carol sh -c 'echo text >"$1/private/file"' sh "$H"
state() { equal "$(as carol "$FUSECRYPT" list --json | py -c 'import json, sys
print(*[d["state"] for d in json.load(sys.stdin)["directories"] if d["directory"] == sys.argv[1]])' "$H/private")" "$1" "state $2"; }

py - "$FUSECRYPT" "$H" >code <<'PY' || fail "protect at a terminal: $(cat code)"
import os, re, sys
from libterminal import Terminal, expect

t = Terminal("setpriv", "--reuid", "carol", "--regid", "carol", "--init-groups", "env", "HOME=" + sys.argv[2],
             sys.argv[1], "protect", sys.argv[2] + "/private", "--kdf", "interactive")
t.wait_for("New passphrase for ")
t.type("open sesame\n")
t.wait_for("The same again: ")
t.type("open sesame\n")
t.wait_for("[y/n] ")
os.write(t.fd, b"y\n")
code, said = t.end()
expect(code, 0, "protect: " + said)
expect("open sesame" in said, False, "an echo of what was typed")
shown = re.findall(r"\b(?:[0-9A-Z]{5}-){7}[0-9A-Z]{5}\b", said)
expect(len(shown), 1, "recovery codes shown: " + said)
print(shown[0])
PY
chmod 644 code
state unlocked "left by protect"
equal "$(as carol cat "$H/private/file")" text "content"
status 0 as carol "$FUSECRYPT" lock "$H/private"

login carol "open sesame" authenticate open_session
state unlocked "after a login"
equal "$(as carol cat "$H/private/file")" text "content"
log_is_empty
login carol "" close_session
state locked "after the logout"

# the login passphrase is forgotten and set anew; the container's is, by the code
printf 'carol:a new one\n' | chpasswd
login carol "a new one" authenticate open_session close_session
logged 'no key opens'
printf 'a new one\n' >"$W/new"
chmod 644 "$W/new"
status 0 as carol "$FUSECRYPT" key change "$H/private.fusecrypt" --slot 0 --kdf interactive \
	--recovery-code-file "$CASE_TMP/code" --new-passphrase-file "$W/new"
login carol "a new one" authenticate open_session
state unlocked "after a login with the new passphrase"
login carol "" close_session
state locked "at the end"

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A protected home, which the machine registered, is there for its user after a login; it and what the user
# registered inside follow the login's passphrase when that is changed.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
# shellcheck source=tests/cases/lib-registry.sh
. "$SOURCE/tests/cases/lib-registry.sh"
need_fusecrypt
# shellcheck source=tests/cases/lib-login.sh
. "$SOURCE/tests/cases/lib-login.sh"
login_begin
login_user bob "open sesame"
login_user eve "another one"
FUSECRYPT=$W/src/fusecrypt
H=$W/home/bob
printf 'open sesame\n' >"$W/pass"

# root protects bob's home: its entry lies in /etc, and lets its user in
mkdir "$W/var"
mkdir -p /var/lib/fusecrypt
host_mount /var/lib/fusecrypt --bind "$W/var"
FC_HOME=$W/rootreg HOME=$W/rootreg
register "$H" "$W/pass" allow_other
mkdir -p /etc/fusecrypt
mv "$FC_HOME/.config/fusecrypt/bob.dir" /etc/fusecrypt/
chmod 644 /etc/fusecrypt/bob.dir
unset HOME
"$FUSECRYPT" mount "$H.fusecrypt" "$H" -o allow_other --passphrase-file "$W/pass"
chown bob: "$H"
chmod 700 "$H"
"$FUSECRYPT" umount "$H"
status 0 "$FUSECRYPT" lock "$H"
is() {
	local got=locked
	! cut -d ' ' -f 5 /proc/self/mountinfo | grep -q -x -F "$1" || got=unlocked
	[ "$got" = "$2" ] || cat "$LOG"
	equal "$got" "$2" "state of $1 $3"
}

login bob "open sesame" authenticate open_session
is "$H" unlocked "after the login"
log_is_empty
as bob sh -c 'echo text >"$1/file"' sh "$H"
equal "$(stat -c %U "$H/file")" bob "owner of what bob writes"
! as eve ls "$H" 2>/dev/null || fail "others see a home of mode 0700"
[ -n "$(ls "$W/var")" ] || fail "the generation seen is not in /var/lib/fusecrypt"
[ ! -e "$H/.local" ] || fail "root wrote into the home"

# another protected directory inside it, bob's own
FC_AS=(as bob)
FC_HOME=$H
chmod 644 "$W/pass"
register "$H/private" "$W/pass"
login bob "" close_session
is "$H" locked "after the logout"
login bob "open sesame" authenticate open_session
is "$H/private" unlocked "inside the home"
equal "$(as bob cat "$H/file")" text "content"
login bob "" close_session
is "$H" locked "after the logout, the inner one first"

# nobody else's login touches it
login eve "another one" authenticate open_session close_session
is "$H" locked "after another user's login"
log_is_empty

# the passphrase changes, by the user: both follow. (Its user by name, root by right, as of passwd.)
login bob "open sesame" authenticate open_session
: >"$LOG"
py - "$(id -u bob)" >changed 2>&1 <<'PY' || fail "chauthtok: $(cat changed)"
import os, sys
sys.path.insert(0, os.environ["PYTHONPATH"])
from libterminal import Terminal, expect
t = Terminal("/usr/bin/python3", "-c",
             "import os, sys; os.setresuid(int(sys.argv[1]), 0, 0); os.execvp('pamtester', ['pamtester', 'fctest-login', 'bob', 'chauthtok'])",
             sys.argv[1])
t.wait_for("urrent password:")
t.type("open sesame\n")
t.wait_for("ew password:")
t.type("even more open\n")
t.wait_for("ew password:")
t.type("even more open\n")
code, said = t.end()
expect(code, 0, said)
PY
log_is_empty
login bob "" close_session
is "$H" locked "before"
status 1 pamtester fctest-login bob authenticate <<<"open sesame"
login bob "even more open" authenticate open_session
is "$H/private" unlocked "with the new passphrase"
login bob "" close_session
printf 'even more open\n' >"$W/new"
status 3 "$FUSECRYPT" mount "$H.fusecrypt" "$H" --passphrase-file "$W/pass"
said 'no key opens'

# by root, without the old one: they keep theirs, which is logged, and still open by it
: >"$LOG"
py - >changed 2>&1 <<'PY' || fail "chauthtok: $(cat changed)"
import os, sys
sys.path.insert(0, os.environ["PYTHONPATH"])
from libterminal import Terminal, expect
t = Terminal("pamtester", "fctest-login", "bob", "chauthtok")
t.wait_for("ew password:")
t.type("by root alone\n")
t.wait_for("ew password:")
t.type("by root alone\n")
code, said = t.end()
expect(code, 0, said)
PY
logged 'without the old one'
login bob "by root alone" authenticate open_session close_session
logged 'no key opens'
is "$H" locked "with another login passphrase"
status 0 "$FUSECRYPT" unlock "$H" --passphrase-file "$W/new"
status 0 "$FUSECRYPT" lock "$H"

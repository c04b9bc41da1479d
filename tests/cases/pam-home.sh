#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A home that root protected is there for its user after a login; it and what the user registered inside follow the login's passphrase when that is changed.
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

# root protects bob's home: its entry lies in /etc, and what root mounts lets its user in
R=$W/root # of a shell of root's
mkdir "$W/var" "$R"
mkdir -p /var/lib/fusecrypt
host_mount /var/lib/fusecrypt --bind "$W/var"
echo "was there" >"$H/kept"
chown bob: "$H/kept"
status 0 env HOME="$R" "$FUSECRYPT" protect "$H" --kdf interactive --passphrase-file "$W/pass"
equal "$("$FUSECRYPT" list --json | py -c 'import json, sys
print(*[(d["directory"], d["of_machine"]) for d in json.load(sys.stdin)["directories"] if d["directory"].endswith("/bob")])')" \
	"('$H', True)" "what is registered"
equal "$(as bob cat "$H/kept")" "was there" "what its user reads, left unlocked"
equal "$(stat -c '%U %a' "$H")" "bob 700" "the home"
[ -n "$(ls "$W/var")" ] || fail "the generation that protect saw is not in /var/lib/fusecrypt"
[ ! -e "$R/.local/state/fusecrypt/$(ls "$W/var")" ] || fail "there are two records of the generation seen"
unset HOME
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
equal "$(as bob cat "$H/kept")" "was there" "what was in it"
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
equal "$(as bob cat "$H/kept")" "was there" "what its user reads when root unlocks it"
status 0 "$FUSECRYPT" lock "$H"

# an older copy is noticed, whether a shell or a login saw the newest
cp --sparse=always "$H.fusecrypt" "$W/older"
status 0 env HOME="$R" "$FUSECRYPT" unlock "$H" --passphrase-file "$W/new"
as bob sh -c 'echo more >"$1/file"' sh "$H"
status 0 "$FUSECRYPT" lock "$H"
cp --sparse=always "$H.fusecrypt" "$W/newest"
cp --sparse=always "$W/older" "$H.fusecrypt"
printf 'bob:even more open\n' | chpasswd
login bob "even more open" authenticate open_session close_session
logged 'older copy was put back'
is "$H" locked "as an older copy"
cp --sparse=always "$W/newest" "$H.fusecrypt"
login bob "even more open" authenticate open_session close_session
log_is_empty

# back again: its user's own
status 0 "$FUSECRYPT" unprotect "$H" --passphrase-file "$W/new"
equal "$(stat -c '%U %a' "$H" "$H/kept" | tr '\n' ' ')" "bob 700 bob 644 " "an ordinary home again"
[ -z "$(ls /etc/fusecrypt)" ] || fail "it is registered still"

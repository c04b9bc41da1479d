#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 240
# A login unlocks a user's directories with its passphrase; they are locked after the last session. Whatever goes
# wrong with them is logged, and the login goes on.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
# shellcheck source=tests/cases/lib-registry.sh
. "$SOURCE/tests/cases/lib-registry.sh"
need_fusecrypt
# shellcheck source=tests/cases/lib-login.sh
. "$SOURCE/tests/cases/lib-login.sh"
login_begin
login_user alice "open sesame"
FUSECRYPT=$W/src/fusecrypt
H=$W/home/alice
FC_AS=(as alice)
FC_HOME=$H
printf 'open sesame\n' >"$W/pass"
chmod 644 "$W/pass"
register "$H/private" "$W/pass"
sessions() { cat "/run/fusecrypt/sessions-$(id -u alice)"; }
is() { equal "$(state_of "$H/private")" "$1" "state $2"; }

# first and last session; nothing is said
login alice "open sesame" authenticate open_session
is unlocked "after the first session began"
equal "$(sessions)" 1 "sessions"
as alice sh -c 'echo text >"$1/private/file"' sh "$H"
log_is_empty
login alice "open sesame" authenticate open_session
equal "$(sessions)" 2 "sessions"
login alice "" close_session
is unlocked "while one session is left"
login alice "" close_session
equal "$(sessions)" 0 "sessions"
is locked "after the last one"
login alice "" close_session
equal "$(sessions)" 0 "never below"
# all in one
login alice "open sesame" authenticate acct_mgmt open_session close_session
is locked "after a whole login"
equal "$(as alice ls "$H/private")" FUSECRYPT-LOCKED.txt "what shows"

# a login by key has no passphrase: it stays locked until somebody unlocks it
login alice "" open_session
is locked "after a login without a passphrase"
log_is_empty
as alice "$FUSECRYPT" unlock --all --passphrase-file "$W/pass"
login alice "" close_session
is locked "after its end"
# ... but a later one may have it
login alice "" open_session
login alice "open sesame" authenticate open_session
is unlocked "by the second session"
equal "$(as alice cat "$H/private/file")" text "content"

# in use at the end: stays, and says by whom; the login ends well
as alice sh -c 'cd "$1/private" && echo $$ >../user && exec sleep 60' sh "$H" &
for _ in $(seq 100); do
	[ ! -s "$H/user" ] || break
	sleep 0.05
done
login alice "" close_session
login alice "" close_session
is unlocked "while a process is in it"
logged 'sleep'
kill "$(cat "$H/user")"
wait $! || :
login alice "" open_session close_session
is locked "when that has gone"

# a wrong password is refused by pam_unix, as ever, and unlocks nothing
status 1 pamtester fctest-login alice authenticate open_session <<<"wrong"
is locked "after a wrong password"

# another passphrase than the login's
printf 'another\n' >"$W/other"
chmod 644 "$W/other"
as alice "$FUSECRYPT" key change "$H/private.fusecrypt" --kdf interactive --passphrase-file "$W/pass" --new-passphrase-file "$W/other"
login alice "open sesame" authenticate open_session close_session
logged 'no key opens .*this is not its passphrase'
is locked "with another passphrase"
as alice "$FUSECRYPT" key change "$H/private.fusecrypt" --kdf interactive --passphrase-file "$W/other" --new-passphrase-file "$W/pass"

# an older state is a notice, not the end of a login
cp -p "$H/private.fusecrypt" "$W/older"
login alice "open sesame" authenticate open_session
as alice sh -c 'echo newer >"$1/private/file"' sh "$H"
login alice "" close_session
cp "$W/older" "$H/private.fusecrypt"
login alice "open sesame" authenticate open_session close_session
logged 'older'
is locked "an older state"
as alice "$FUSECRYPT" mount "$H/private.fusecrypt" "$H/private" --accept-older --passphrase-file "$W/pass"
as alice "$FUSECRYPT" lock --all

# damaged, gone, not ours: logged
mv "$H/private.fusecrypt" "$W/away"
login alice "open sesame" authenticate open_session close_session
logged 'is not there'
mv "$W/away" "$H/private.fusecrypt"

# what takes too long is ended, and nothing of it is left; what cannot be run is said
printf '#!/bin/sh\nsleep 61 & exec sleep 62\n' >"$W/tools/slow"
chmod 755 "$W/tools/slow"
login_service timeout=1 "helper=$W/tools/slow"
start=$EPOCHSECONDS
login alice "open sesame" authenticate open_session close_session
[ $((EPOCHSECONDS - start)) -lt 10 ] || fail "it took $((EPOCHSECONDS - start)) s"
logged 'takes longer than 1 seconds'
! pgrep -x -f 'sleep 6[12]' || fail "processes are left"
# ... also another login that holds the count
login_service timeout=1
exec 9<"/run/fusecrypt/sessions-$(id -u alice)"
flock 9
login alice "" open_session close_session
logged 'stays locked by another login'
exec 9<&-
equal "$(sessions)" 0 "what did not count"
login_service "helper=$W/tools/nothing"
login alice "open sesame" authenticate open_session close_session
logged 'cannot be run'
login_service timeout=0 timeout= timeout=x sudo
login alice "open sesame" authenticate open_session close_session
for word in timeout=0 timeout= timeout=x sudo; do
	logged "$word is no option"
done
is locked "after these"
login_service

# a directory where users' counts lie that is not root's alone is not used
chmod 777 /run/fusecrypt
login alice "open sesame" authenticate open_session
logged 'not root.s alone'
chmod 755 /run/fusecrypt
as alice "$FUSECRYPT" lock --all

# root's own logins are nobody's business; unknown users are pam_unix's
login root "" open_session close_session
log_is_empty
[ ! -e /run/fusecrypt/sessions-0 ] || fail "root's sessions are counted"
status 1 pamtester fctest-login nobody-there authenticate open_session <<<"x"

# a container whose passphrase has blanks and more, and two directories
printf ' \tb\303\244 "$x" \\ \n' >"$W/odd"
chmod 644 "$W/odd"
printf 'alice:%s\n' "$(cat "$W/odd")" | chpasswd
register "$H/second" "$W/odd"
as alice "$FUSECRYPT" key change "$H/private.fusecrypt" --kdf interactive --passphrase-file "$W/pass" --new-passphrase-file "$W/odd"
login alice "$(cat "$W/odd")" authenticate open_session
is unlocked "the first of two"
equal "$(state_of "$H/second")" unlocked "the second"
login alice "" close_session
is locked "the first of two"
equal "$(state_of "$H/second")" locked "the second"

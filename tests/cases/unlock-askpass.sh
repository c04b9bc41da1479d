#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Without a terminal a program asks: only what it prints on its standard output counts, and only when it
# ends well and in time; nothing of it is left. It gets no descriptor, and the helper is confined meanwhile.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
mkdir "$D"
printf 'correct horse, battery staple\n' >"$D/pass"
"$FUSECRYPT" init "$D/box" --kdf interactive --passphrase-file "$D/pass"
RIGHT='echo "correct horse, battery staple"'

# program NAME: a program that asks, of what comes on standard input. It counts its calls.
program() {
	{
		printf '#!/bin/bash\necho "$1" >>%q\n' "$CASE_TMP/$1.calls"
		cat
	} >"$CASE_TMP/$1"
	chmod 755 "$CASE_TMP/$1"
}
calls() { wc -l <"$CASE_TMP/$1.calls"; }

# asked WANT PROGRAM: opening it with that program, without a terminal.
asked() {
	rm -f "$CASE_TMP/$2.calls"
	status "$1" env FUSECRYPT_ASKPASS="$CASE_TMP/$2" FUSECRYPT_ASKPASS_TIMEOUT=20 setsid -w "$FUSECRYPT" check "$D/box"
}

program right <<-END
	echo "a warning of its own" >&2
	ls -l /proc/self/fd | grep -c -e ' [3-9] -> ' >"$CASE_TMP/descriptors"
	helper=\$(awk '{ print \$4 }' /proc/\$PPID/stat)
	cp /proc/\$helper/status "$CASE_TMP/confined"
	tr '\\0' '\\n' <"/proc/\$helper/environ" >"$CASE_TMP/environment"
	$RIGHT
END
asked 0 right
equal "$(calls right)" 1 "calls"
equal "$(cat right.calls)" "Passphrase for $D/box: " "the prompt"
said 'a warning of its own'
equal "$(cat descriptors)" 1 "descriptors of ls beyond the standard ones: its directory"
equal "$(awk '/^NoNewPrivs/ { print $2 }' confined)" 1 "no new privileges for the helper"
grep -q 'define FC_HAVE_SECCOMP 0' "$BUILD/config.h" ||
	equal "$(awk '/^Seccomp:/ { print $2 }' confined)" 2 "a filter for the helper's calls"
! grep -q horse environment || fail "the passphrase in the environment"

# which one: the own variable first; an empty one asks nobody
program other <<<"echo wrong"
asked_by() {
	rm -f ./*.calls
	status "$1" env "${@:2}" setsid -w "$FUSECRYPT" check "$D/box"
}
asked_by 0 -u FUSECRYPT_ASKPASS SSH_ASKPASS="$CASE_TMP/right"
asked_by 0 FUSECRYPT_ASKPASS="$CASE_TMP/right" SSH_ASKPASS="$CASE_TMP/other"
[ ! -e other.calls ] || fail "both were asked"
asked_by 1 FUSECRYPT_ASKPASS= SSH_ASKPASS="$CASE_TMP/right"
said 'no terminal'
[ ! -e right.calls ] || fail "it was asked in spite of an empty variable"
asked_by 0 PATH="$CASE_TMP:$PATH" FUSECRYPT_ASKPASS=right

# what does not count
program quiet <<<"$RIGHT >&2"
asked 1 quiet
said 'printed no passphrase'
program fails <<<"$RIGHT; exit 3"
asked 1 fails
said 'ended with status 3'
program dies <<<"$RIGHT; kill -9 \$\$"
asked 1 dies
said 'signal 9'
program long <<<"head -c 5000 /dev/zero | tr '\\0' x; echo"
asked 1 long
said 'longer than 4096'
for one in nowhere box; do
	asked_by 1 FUSECRYPT_ASKPASS="$D/$one"
	said 'cannot be run'
done
for bad in 0 x -1 4000 ''; do
	asked_by 1 FUSECRYPT_ASKPASS="$CASE_TMP/right" FUSECRYPT_ASKPASS_TIMEOUT="$bad"
	said 'number of seconds'
done
[ ! -e right.calls ] || fail "it was asked in spite of a wrong timeout"

# the first line, whatever follows; the rest of a line without end; a process that holds its output
program lines <<<"$RIGHT; seq 100000"
asked 0 lines
program endless <<<'printf "correct horse, battery staple"'
asked 0 endless
program holds <<<"$RIGHT; sleep 3 2>/dev/null & disown; sleep 0.1"
asked 0 holds
pgrep -x -f "sleep 3" >/dev/null || fail "the output was waited for until nobody held it"
program trickle <<<'for part in "correct " "horse, battery" " staple"; do printf %s "$part"; sleep 0.1; done; echo'
asked 0 trickle

# three tries, but not of what was wrong already
asked 3 other
equal "$(calls other)" 2 "calls of one that knows one answer only"
said 'this is not its passphrase'
program second <<<"[ \$(wc -l <$CASE_TMP/second.calls) = 1 ] && echo wrong || $RIGHT"
asked 0 second
program never <<<"wc -l <$CASE_TMP/never.calls"
asked 3 never
equal "$(calls never)" 3 "calls"

# it hangs: an error in time, and nothing is left of it
program hangs <<<"$RIGHT; sleep 61 & sleep 62"
start=$EPOCHSECONDS
asked_by 1 FUSECRYPT_ASKPASS="$CASE_TMP/hangs" FUSECRYPT_ASKPASS_TIMEOUT=1
said 'did not answer within 1 seconds'
[ $((EPOCHSECONDS - start)) -lt 10 ] || fail "it took $((EPOCHSECONDS - start)) s"
none_left() {
	for _ in $(seq 100); do
		pgrep -f "$CASE_TMP/hangs|^sleep 6[12]$" >left || return 0
		sleep 0.05
	done
	fail "left: $(cat left)"
}
none_left
# ... or whoever asks is ended
FUSECRYPT_ASKPASS=$CASE_TMP/hangs setsid -w "$FUSECRYPT" check "$D/box" &
for _ in $(seq 100); do
	! pgrep -f "^sleep 62$" >/dev/null || break
	sleep 0.05
done
kill "$(pgrep -f "^$FUSECRYPT check $D/box")"
wait $! && fail "it ended well" || equal $? 130 "status"
none_left

# new ones: asked for twice, until both agree
program new <<-END
	n=\$(wc -l <$CASE_TMP/new.calls)
	case \$n in
	1) $RIGHT ;;
	2 | 4 | 5) echo new ;;
	*) echo differs ;;
	esac
END
status 0 env FUSECRYPT_ASKPASS="$CASE_TMP/new" setsid -w "$FUSECRYPT" key change "$D/box" --kdf interactive \
	--new-passphrase-file <(echo new)
rm new.calls
program new <<-END
	n=\$(wc -l <$CASE_TMP/new.calls)
	case \$n in
	1 | 2) echo new ;;
	3) echo differs ;;
	*) $RIGHT ;;
	esac
END
status 0 env FUSECRYPT_ASKPASS="$CASE_TMP/new" setsid -w "$FUSECRYPT" key change "$D/box"
said 'They differ'
equal "$(calls new)" 5 "calls: the old one, two that differ, two that agree"
status 0 "$FUSECRYPT" status "$D/box" --passphrase-file "$D/pass"
# an init asks no program whether a recovery code is wanted
program init <<<"$RIGHT"
status 0 env FUSECRYPT_ASKPASS="$CASE_TMP/init" setsid -w "$FUSECRYPT" init "$D/fresh" --kdf interactive
equal "$(calls init)" 2 "calls"
equal "$("$FUSECRYPT" key list "$D/fresh" | wc -l)" 2 "lines of its keys"

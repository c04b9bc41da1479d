#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Without a terminal and without a program named in the environment, systemd's agents are asked, where they are.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
need_root
need systemd-ask-password
[ -d /run/systemd ] || skip "no /run/systemd"
own_mounts
fc_init "$D"
host_mount /run/systemd -t tmpfs none
unset FUSECRYPT_ASKPASS

# no systemd, or none whose agents this user may ask
mkdir -m 755 /run/systemd/ask-password
status 1 setsid -w "$FUSECRYPT" check "$D/box"
said 'no terminal'
mkdir /run/systemd/system
as_user mkdir "$CASE_TMP/home-fctest-a/c"
cp "$D/box" "$CASE_TMP/home-fctest-a/c/"
chown fctest-a "$CASE_TMP/home-fctest-a/c/box"
status 1 as_user setsid -w "$FUSECRYPT" check "$CASE_TMP/home-fctest-a/c/box"
said 'no terminal'

# agent ANSWER…: answers the questions that come, with - by refusing
cat >agent.py <<'PY'
import configparser, glob, socket, sys, time
seen = set()
for answer in sys.argv[1:]:
    end = time.monotonic() + 20
    while not (new := [a for a in glob.glob("/run/systemd/ask-password/ask.*") if a not in seen]):
        if time.monotonic() > end:
            sys.exit("no question")
        time.sleep(0.02)
    seen.add(new[0])
    ask = configparser.ConfigParser(interpolation=None, strict=False)
    ask.read(new[0])
    print(ask["Ask"]["Message"], ask["Ask"]["Id"], flush=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.sendto(b"-" if answer == "-" else b"+" + answer.encode() + b"\0", ask["Ask"]["Socket"])
PY
asked() {
	local want=$1
	shift
	py agent.py "$@" >questions &
	status "$want" setsid -w "$FUSECRYPT" check "$D/box"
	wait $! || fail "the agent"
}
asked 0 "correct horse, battery staple"
equal "$(cat questions)" "Passphrase for $D/box: fusecrypt" "the question"
asked 0 wrong "correct horse, battery staple"
asked 3 one two three
asked 1 -
said 'ended with status'
# nobody answers
start=$EPOCHSECONDS
status 1 env FUSECRYPT_ASKPASS_TIMEOUT=1 setsid -w "$FUSECRYPT" check "$D/box"
[ $((EPOCHSECONDS - start)) -lt 10 ] || fail "it took $((EPOCHSECONDS - start)) s"
said 'ended with status'
equal "$(ls /run/systemd/ask-password)" "" "questions left"

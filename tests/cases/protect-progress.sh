#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 200
# protect and unprotect show how far they are, how fast and how long it will take: on a terminal
# only, and as objects with --json.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
# shellcheck source=tests/cases/lib-protect.sh
. "$SOURCE/tests/cases/lib-protect.sh"
protect_host 250M 100 60000000
cp -a "$CASE_TMP/ref/d" "$H/d"
cat >"$CASE_TMP/watch.py" <<'END'
import re, sys
from libterminal import *
code, text = Terminal(*sys.argv[1:]).end(150)
expect(code, 0, "the exit status, with %r" % text)
lines = re.findall(r"\r\x1b\[K([0-9.]+) of ([0-9.]+) MiB, ([0-9.]+) MiB/s, [0-9]+:[0-9]{2} left", text)
if not lines:
    sys.exit("FAILED: no progress: %r" % text)
for done, all, rate in lines:
    if not 0 <= float(done) <= float(all) * 1.01 or float(all) < 57 or float(rate) <= 0:
        sys.exit("FAILED: progress that cannot be: %r" % (lines,))
if sorted(lines, key=lambda l: float(l[0])) != lines:
    sys.exit("FAILED: it goes back: %r" % (lines,))
last = text.rsplit("\r\x1b[K", 1)[1]
if "left" in last.split("\n")[0]:
    sys.exit("FAILED: the line of progress stays: %r" % last)
END
py "$CASE_TMP/watch.py" "$FUSECRYPT" protect "$H/d" --kdf interactive --passphrase-file "$CASE_TMP/pass"
is_protected
py "$CASE_TMP/watch.py" "$FUSECRYPT" unprotect "$H/d" --passphrase-file "$CASE_TMP/pass"
is_plain

# never without a terminal
status 0 protect "$H/d" --kdf interactive
! grep -q "$(printf '\r')\|left" "$CASE_TMP/said" || fail "progress without a terminal: $(cat "$CASE_TMP/said")"
status 0 unprotect "$H/d"
! grep -q "$(printf '\r')\|left" "$CASE_TMP/said" || fail "progress without a terminal: $(cat "$CASE_TMP/said")"
fc protect "$H/d" --kdf interactive --json --passphrase-file "$CASE_TMP/pass" >"$CASE_TMP/objects"
py - "$CASE_TMP/objects" <<'END'
import json, sys
objects = [json.loads(line) for line in open(sys.argv[1])]
steps = [o for o in objects if "progress" in o]
if not steps or objects[-1].get("done") != "in":
    sys.exit("FAILED: %r" % objects)
for o in steps:
    if not 0 <= o["bytes_done"] <= o["bytes_all"] or o["bytes_per_second"] <= 0 or o["seconds_left"] < 0:
        sys.exit("FAILED: progress that cannot be: %r" % o)
END
status 0 unprotect "$H/d"
is_plain

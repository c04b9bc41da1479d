#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Progress is shown on a terminal, and nowhere else; an interrupt ends a check or
# a repair with 130 and nothing changed.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
fc_begin
head -c 100M /dev/urandom >"$M/large"
fc_umount "$D"
# a repair has something to do
py - "$D/box" <<'PY'
import os, sys
with open(sys.argv[1], "r+b") as f:
    # the last block of the file's: what follows is space kept for more
    at = os.fstat(f.fileno()).st_size // 4096 * 4096
    while True:
        at -= 4096
        f.seek(at)
        if any(f.read(4096)):
            break
    f.seek(-10, 1)
    f.write(b"0123456789")
PY
before=$(sha256sum <"$D/box")
code=0
fc check "$D/box" --passphrase-file "$D/pass" >out 2>err || code=$?
equal $code 4 "status of check"
[ ! -s err ] || fail "progress without a terminal: $(cat err)"
grep -q '^/large: 4096 bytes from' out || fail "it does not name the file: $(cat out)"

py - "$FUSECRYPT" "$D" <<'PY'
import os, signal, sys
from libterminal import Terminal, expect
F, D = sys.argv[1:]
for more in [], ["--repair"]:
    t = Terminal(F, "check", D + "/box", "--passphrase-file", D + "/pass", *more)
    t.wait_for(" % of ")
    os.kill(t.pid, signal.SIGINT)
    code, said = t.end()
    expect(code, 130, "an interrupted check: " + said)
PY
equal "$(sha256sum <"$D/box")" "$before" "content of the container"

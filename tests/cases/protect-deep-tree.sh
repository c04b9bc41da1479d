#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 300
# A tree 5,000 levels deep, whose paths are longer than any path may be: protected and back.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
# shellcheck source=tests/cases/lib-protect.sh
. "$SOURCE/tests/cases/lib-protect.sh"
protect_host 200M 20 1000000
cp -a "$CASE_TMP/ref/d" "$H/d"
cat >"$CASE_TMP/deep.py" <<'END'
import os, sys
from lib import *
os.chdir(sys.argv[2])
for level in range(5000):
    if sys.argv[1] == "make":
        os.mkdir("down")
        if level % 500 == 0:
            write_file("beside", b"%d" % level)
    elif level % 500 == 0:
        equal(read_file("beside"), b"%d" % level, "a file on level %d" % level)
    os.chdir("down")
if sys.argv[1] == "make":
    write_file("bottom", b"deep")
    os.utime("bottom", ns=(10**18 + 1, 10**18 + 2))
    os.utime(".", ns=(10**18 + 3, 10**18 + 4))
equal(os.stat(".").st_mtime_ns, 10**18 + 4, "the time of the lowest directory")
equal(os.stat("bottom").st_mtime_ns, 10**18 + 2, "the time of the file at the bottom")
equal(read_file("bottom"), b"deep", "the file at the bottom")
END
py "$CASE_TMP/deep.py" make "$H/d"
status 0 protect "$H/d" --kdf interactive
mountpoint -q "$H/d" || fail "it is not mounted"
nothing_left
py "$CASE_TMP/deep.py" check "$H/d"
status 0 unprotect "$H/d"
nothing_left
py "$CASE_TMP/deep.py" check "$H/d"
rm -rf "$H/d/down" "$H/d/beside"
touch -r "$CASE_TMP/ref/d" "$H/d"
is_plain

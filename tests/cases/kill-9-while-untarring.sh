#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 300
# The daemon is killed while an archive is extracted: it mounts again, every entry
# can be stat'ed and read, and everything can be removed.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
fc_begin
make_tree "$CASE_TMP/tree" 4000
pack "$CASE_TMP/tree" "$CASE_TMP/tree.tar"
for delay in 0.3 0.9 1.7 2.6; do
	unpack "$CASE_TMP/tree.tar" "$M/t$delay" 2>/dev/null &
	pid=$!
	sleep $delay
	fc_kill "$D"
	wait $pid || true
	fc_mount "$D" || fail "mount after a crash"
	find "$M" -ls >"$CASE_TMP/list" || fail "an entry cannot be stat'ed"
	find "$M" -type f -print0 | xargs -0 -r cat >/dev/null || fail "a file cannot be read"
	say "killed after $delay s: $(wc -l <"$CASE_TMP/list") entries"
	# What is there is a prefix: whole files are right, and none holds foreign bytes.
	py - "$CASE_TMP/tree" "$M/t$delay" <<'END'
import os, stat, sys
from lib import *
good, found = (os.fsencode(a) for a in sys.argv[1:])
whole = n = 0
for where, dirs, files in os.walk(found):
    for name in files:
        path = os.path.join(where, name)
        if not stat.S_ISREG(os.lstat(path).st_mode):
            continue
        n += 1
        data, right = read_file(path), read_file(os.path.join(good, os.path.relpath(path, found)))
        equal(len(data) <= len(right), True, "size of %r" % path)
        whole += data == right
        for a, b in zip((data[i:i + 512] for i in range(0, len(data), 512)), (right[i:i + 512] for i in range(0, len(data), 512))):
            if a != b and a.strip(b"\0") and not b.startswith(a.rstrip(b"\0")):
                fail("foreign bytes in %r" % path)
print("%d files, %d whole" % (n, whole))
END
done
rm -rf "$M"/t* || fail "not everything can be removed"
equal "$(ls -A "$M")" "" "what is left"
fc_remount "$D"
equal "$(ls -A "$M")" "" "what is left after mounting again"

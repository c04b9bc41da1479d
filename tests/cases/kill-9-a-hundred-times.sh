#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 900
# by hand
# The daemon is killed at a hundred random moments (FC_KILLS) under load: every file
# whose fsync returned is whole after the next mount, every entry can be read, and in
# the end all of it can be removed.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
kills=${FC_KILLS:-100}

cat >load.py <<'PY'
"""load.py MOUNT TURN WORKER ACKNOWLEDGED: makes, changes, renames and removes files until it fails; notes what fsync acknowledged."""
import os, random, sys, zlib
mount, turn, worker, noted = sys.argv[1:]
random.seed(int(turn) * 100 + int(worker))
top = "%s/w%s" % (mount, worker)
os.makedirs(top, exist_ok=True)
note = open(noted, "a", buffering=1)
n = 0
try:
    while True:
        n += 1
        name = "%s/t%s-%d" % (top, turn, n)
        data = random.randbytes(random.choice([10, 900, 5000, 70000, 400000]))
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        os.write(fd, data)
        if n % 3 == 0:
            os.fsync(fd)
            note.write("%s %d %d\n" % (os.path.relpath(name, mount), len(data), zlib.crc32(data)))
        os.close(fd)
        if n % 5 == 1:
            os.rename(name, name + "-renamed")
        elif n % 5 == 2 and n % 3:
            os.unlink(name)
        if n % 40 == 0:
            os.sync()
except OSError:
    pass
PY
cat >check.py <<'PY'
"""check.py MOUNT ACKNOWLEDGED…: all of these are whole, and everything can be read."""
import os, sys, zlib
mount, lists = sys.argv[1], sys.argv[2:]
entries = 0
def stop(error):
    raise error
for where, dirs, files in os.walk(mount, onerror=stop):
    for name in files:
        with open(os.path.join(where, name), "rb") as f:
            f.read()
        entries += 1
whole = 0
for one in lists:
    for line in open(one):
        if not line.endswith("\n"):
            continue
        path, size, crc = line.split()
        path = os.path.join(mount, path)
        for name in (path, path + "-renamed"):
            if os.path.exists(name):
                break
        else:
            sys.exit("FAILED: %s was acknowledged and is gone" % path)
        data = open(name, "rb").read()
        if len(data) != int(size) or zlib.crc32(data) != int(crc):
            sys.exit("FAILED: %s was acknowledged and is not whole" % path)
        whole += 1
print("%d entries, %d of them acknowledged and whole" % (entries, whole))
PY

fc_begin
for turn in $(seq "$kills"); do
	rm -f noted-*
	pids=()
	for worker in 1 2 3; do
		py load.py "$M" "$turn" $worker "noted-$worker" &
		pids+=($!)
	done
	sleep "0.$((RANDOM % 9))$((RANDOM % 10))"
	sleep 0.2
	fc_kill "$D"
	wait "${pids[@]}" || true
	fc_mount "$D" || fail "mount after a crash"
	py check.py "$M" noted-* >told || fail "after kill $turn: $(cat told)"
	[ $((turn % 10)) -ne 0 ] || rm -rf "${M:?}"/* || fail "not everything can be removed"
done
say "killed $kills times; the last time $(cat told)"
rm -rf "${M:?}"/* || fail "not everything can be removed"
equal "$(ls -A "$M")" "" "what is left"
fc_umount "$D"
status 0 fc check "$D/box" --passphrase-file "$D/pass"
fc_mount "$D"

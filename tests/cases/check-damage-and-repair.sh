#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 400
# Blocks of the container are flipped, zeroed and swapped: what can be read is
# right, check names what cannot, and a repair keeps all the rest: the names stay,
# what is lost gives EIO, and nothing else does.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt

check() { fc check "$D/box" --passphrase-file "$D/pass" "$@"; }

fc_begin
make_tree "$CASE_TMP/tree" 150
mkdir "$CASE_TMP/tree/more" "$CASE_TMP/tree/small"
for i in 1 2 3 4 5 6; do
	head -c $((i * 150000)) /dev/urandom >"$CASE_TMP/tree/more/file-$i"
	ln "$CASE_TMP/tree/more/file-$i" "$CASE_TMP/tree/more/other-$i"
done
for i in $(seq 600); do
	head -c $((1000 + i)) /dev/urandom >"$CASE_TMP/tree/small/file-$i"
done
pack "$CASE_TMP/tree" "$CASE_TMP/tree.tar"
unpack "$CASE_TMP/tree.tar" "$M"
fc_umount "$D"
cp --sparse=always "$D/box" good

cat >damage.py <<'PY'
"""damage.py SEED: some blocks of the container, which are in use."""
import os, random, sys
random.seed(int(sys.argv[1]))
block = 4096
with open("c/box", "r+b") as f:
    size = os.fstat(f.fileno()).st_size
    used = []
    for at in range(20 << 20, size, block): # behind the log
        f.seek(at)
        if any(f.read(block)):
            used.append(at)
    # the tree begins where the data does
    nodes = [at for at in used if at < 24 << 20]
    for at in random.sample(used, 6): # flipped
        f.seek(at + random.randrange(block))
        byte = f.read(1)[0]
        f.seek(-1, 1)
        f.write(bytes([byte ^ 1 << random.randrange(8)]))
    for at in random.sample(nodes, 3) + random.sample(used, 2): # zeroed
        f.seek(at)
        f.write(bytes(block))
    one, two = random.sample(used, 2) # swapped
    f.seek(one); a = f.read(block)
    f.seek(two); b = f.read(block)
    f.seek(one); f.write(b)
    f.seek(two); f.write(a)
PY
cat >look.py <<'PY'
"""look.py TREE MOUNT OUT: what of each file can be read; anything wrong is an error."""
import errno, json, os, stat, sys
tree, mount, out = sys.argv[1:]
found = {}
for top, dirs, files in os.walk(tree):
    for name in dirs + files:
        plain = os.path.join(top, name)
        path = os.path.relpath(plain, tree)
        other = os.path.join(mount, path)
        want = os.lstat(plain)
        try:
            got = os.lstat(other)
        except OSError as e:
            found[path] = errno.errorcode[e.errno]
            continue
        if stat.S_IFMT(want.st_mode) != stat.S_IFMT(got.st_mode):
            sys.exit("FAILED: %s is something else" % path)
        bad = []
        if stat.S_ISREG(want.st_mode):
            with open(plain, "rb") as f:
                content = f.read()
            if len(content) != got.st_size:
                sys.exit("FAILED: %s has %d bytes, right are %d" % (path, got.st_size, len(content)))
            fd = os.open(other, os.O_RDONLY)
            for at in range(0, len(content), 4096):
                try:
                    if os.pread(fd, 4096, at) != content[at:at + 4096]:
                        sys.exit("FAILED: %s is wrong at %d" % (path, at))
                except OSError as e:
                    if e.errno != errno.EIO:
                        sys.exit("FAILED: %s: %s" % (path, e))
                    bad.append(at)
            os.close(fd)
        elif stat.S_ISLNK(want.st_mode):
            try:
                if os.readlink(other) != os.readlink(plain):
                    sys.exit("FAILED: target of %s" % path)
            except OSError as e:
                bad.append(0)
        found[path] = bad
json.dump(found, open(out, "w"))
PY
cat >judge.py <<'PY'
"""judge.py: the report of check, and what could be read before the repair and after it."""
import json, sys
check, before, after = (json.load(open(name)) for name in ("found", "before", "after"))
names, ranges = set(), {}
for f in check["findings"]:
    for path in f["paths"]:
        names.add(path.lstrip("/"))
        if f["kind"] == "data":
            ranges.setdefault(path.lstrip("/"), []).append((f["offset"], f["offset"] + f["bytes"]))
def told(path): # as JSON has it
    return path.encode(errors="surrogateescape").decode(errors="replace")
def named(path):
    path = told(path)
    return any(path == n or path.startswith(n + "/") for n in names) or "" in names
for path, was in before.items():
    now = after[path]
    if was and not named(path):
        sys.exit("FAILED: check does not name %r: %s" % (path, was))
    if was == [] and now != []:
        sys.exit("FAILED: %r could be read before the repair: %s" % (path, now))
    if isinstance(was, list) and isinstance(now, list):
        for at in now:
            if at not in was:
                sys.exit("FAILED: %r could be read at %d before the repair" % (path, at))
            if not any(a <= at < b for a, b in ranges.get(told(path), [])):
                sys.exit("FAILED: %r cannot be read at %d, which check does not tell" % (path, at))
    if isinstance(was, str) and was != "EIO":
        sys.exit("FAILED: %r gave %s before the repair" % (path, was))
    if isinstance(now, str) and now != "ENOENT":
        sys.exit("FAILED: %r gives %s after the repair" % (path, now))
bad = sum(1 for was in before.values() if was != [])
print("%d of %d files depend on the damage; %d findings" % (bad, len(before), len(check["findings"])))
PY

# repaired SEED: it was not to be mounted; from the root before, unless that was hit too
repaired() {
	local code=0
	check --repair --accept-older >said 2>&1 || code=$?
	say "seed $1: not mounted; status $code of a repair"
	case $code in
	11) status 0 check ;;
	4) said 'beyond repair' ;;
	*) fail "status $code of a repair: $(cat said)" ;;
	esac
}

for seed in 1 2 3 4; do
	cp --sparse=always good "$D/box"
	rm -rf "$HOME/.local/state/fusecrypt"
	py damage.py $seed
	code=0
	check --json >found || code=$?
	equal $code 4 "status of check"
	code=0
	timeout 60 "$FUSECRYPT" mount "$D/box" "$M" --passphrase-file "$D/pass" --read-only || code=$?
	if [ $code -ne 0 ]; then
		equal $code 4 "status of mount"
		repaired $seed
		continue
	fi
	FC_STACK+=("container $D")
	py look.py tree "$M" before
	fc_umount "$D"
	status 11 check --repair
	status 0 check
	said 'no damage'
	fc_mount "$D"
	py look.py tree "$M" after
	py judge.py
	# it works: lost content can be overwritten, all can be removed
	mkdir -p "$M/more"
	cp "$CASE_TMP/tree/more/file-3" "$M/more/file-3"
	cmp "$CASE_TMP/tree/more/file-3" "$M/more/file-3"
	rm -rf "${M:?}"/*
	[ -z "$(ls -A "$M")" ] || fail "not all can be removed"
	fc_umount "$D"
	status 0 check
	said '0 files, 1 directories'
done

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The floor (tests/floor), which tools/rows measures beside a mount, is a file system: it
# keeps a tree as it is, and ends when it is unmounted or told to.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fuse
need_fusecrypt
floor=$BUILD/tests/floor/floor
mkdir m

# Mounted at m; its process is $pid.
begin() {
	mkfifo said-mounted
	"$floor" m 8 >said-mounted &
	pid=$!
	equal "$(head -n 1 said-mounted)" "m is mounted" "what it says"
	rm said-mounted
}
fc_at_end() { ! mountpoint -q m || kill "$pid"; }

begin
equal "$(ls -A m)" "" "what is in it"
tar -C "$SOURCE" -cf - src | tar -C m -xf -
diff -r "$SOURCE/src" m/src || fail "the tree differs"

# what crosses its chunks of a MiB; copies share them until one is changed
head -c 3500000 /dev/urandom >data
cp data m/one
cp m/one m/two
printf changed | dd of=m/two bs=1 seek=1048573 conv=notrunc status=none
cmp data m/one || fail "a change of the copy changed the first file"
cp data want
printf changed | dd of=want bs=1 seek=1048573 conv=notrunc status=none
cmp want m/two || fail "the copy, changed at the edge of a chunk"
for size in 1500000 3500000 2097152 2097153; do
	truncate -s "$size" m/two want
	cmp want m/two || fail "cut or made longer to $size"
done

# names: a listing stays complete while names go and come
mkdir m/many
(cd m/many && seq 3000 | xargs touch)
equal "$(find m/many -type f | wc -l)" 3000 "names in a directory"
for i in $(seq 1 100 3000); do mv "m/many/$i" "m/many/new-$i"; done
equal "$(find m/many -name 'new-*' | wc -l)" 30 "names that were changed"
status 1 rmdir m/many
rm -r m/many m/src
equal "$(cd m && echo *)" "one two" "what is left"
umount m 2>/dev/null || fusermount3 -u m
wait "$pid" || fail "status $? after umount"

begin
equal "$(ls -A m)" "" "what a new mount shows"
kill "$pid"
wait "$pid" || fail "status $? after SIGTERM"
! mountpoint -q m || fail "still mounted after SIGTERM"

: >file
status 1 "$floor" file
said "cannot mount at file: not a directory"
status 1 "$floor" none
said "cannot mount at none: no such file"
status 2 "$floor"
status 2 "$floor" m 12x

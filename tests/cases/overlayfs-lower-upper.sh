#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# overlayfs with the mount as lower layer; as upper layer too, where the kernel lets.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_root
grep -qw overlay /proc/filesystems || modprobe -q overlay || skip "the kernel has no overlayfs"
fc_begin -o suid,dev
merged=$CASE_TMP/merged
mkdir -p "$merged" "$CASE_TMP/layers" "$M/lower/d"
host_mount "$CASE_TMP/layers" -t tmpfs fctest
mkdir "$CASE_TMP/layers/upper" "$CASE_TMP/layers/work"
make_tree "$M/lower/tree" 400
echo lower >"$M/lower/file"
echo lower >"$M/lower/d/changed"
echo lower >"$M/lower/d/removed"
setfattr -n user.note -v kept "$M/lower/d/changed"
host_mount "$merged" -t overlay -o "lowerdir=$M/lower,upperdir=$CASE_TMP/layers/upper,workdir=$CASE_TMP/layers/work" fctest ||
	fail "overlayfs refuses the mount as lower layer"
compare "$M/lower/tree" "$merged/tree"
echo more >>"$merged/d/changed"
rm "$merged/d/removed"
echo new >"$merged/d/new"
mv "$merged/file" "$merged/renamed"
equal "$(cat "$merged/d/changed")" "lower
more" "a changed file"
equal "$(getfattr -n user.note --only-values "$merged/d/changed" 2>/dev/null)" kept "its attribute"
equal "$(cat "$M/lower/d/changed")" lower "the lower layer is as it was"
equal "$(ls "$merged/d" | tr '\n' ' ')" "changed new " "names in the merged directory"
equal "$(ls "$M/lower/d" | tr '\n' ' ')" "changed removed " "names in the lower one"
host_umount "$merged"

mkdir "$M/upper" "$M/work"
if ! host_mount "$merged" -t overlay -o "lowerdir=$M/lower,upperdir=$M/upper,workdir=$M/work" fctest 2>"$CASE_TMP/said"; then
	say "as upper layer: the kernel refuses FUSE there"
else
	echo more >>"$merged/d/changed"
	rm "$merged/d/removed"
	rm -r "$merged/tree"
	mkdir "$merged/tree"
	echo new >"$merged/tree/new"
	mv "$merged/file" "$merged/renamed"
	equal "$(cd "$merged" && find . -type f | sort | tr '\n' ' ')" "./d/changed ./renamed ./tree/new " "names in the merged directory"
	host_umount "$merged"
	equal "$(stat -c '%F %t:%T' "$M/upper/d/removed")" "character special file 0:0" "the whiteout"
	equal "$(getfattr -n trusted.overlay.opaque --only-values "$M/upper/tree" 2>/dev/null)" y "the opaque mark"
fi

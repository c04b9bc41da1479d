#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 240
# cp -a, rsync -aHAX and tar keep times (ns), modes, owners, links, ACLs and attributes,
# into, inside and out of the mount; files of any user when root copies.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need rsync setfacl
fc_begin
make_tree "$CASE_TMP/tree" 800
cd "$CASE_TMP/tree"
setfacl -m u:1000:rw,g:2000:r -- *.txt 2>/dev/null || true
find . -type d | head -n 20 | while read -r d; do setfacl -dm u:1001:rwx "$d" 2>/dev/null || true; done
cd "$CASE_TMP"
pack tree tree.tar
cp -a "$CASE_TMP/tree" "$M/cp"
rsync -aHAX --modify-window=-1 "$CASE_TMP/tree/" "$M/rsync/"
unpack tree.tar "$M/tar"
fc_remount "$D"
# cp -a and hard links within what it copies, ACLs and attributes: all of it
for way in cp rsync tar; do compare "$CASE_TMP/tree" "$M/$way"; done
# again with nothing to do
equal "$(rsync -aHAXi --modify-window=-1 "$CASE_TMP/tree/" "$M/rsync/")" "" "what rsync still copies"
cp -a "$M/cp" "$M/inside"
compare "$CASE_TMP/tree" "$M/inside"
mv "$M/inside" "$M/moved"
compare "$CASE_TMP/tree" "$M/moved"
cp -a "$M/moved" "$CASE_TMP/back"
compare "$CASE_TMP/tree" "$CASE_TMP/back"
pack "$M/tar" "$CASE_TMP/again.tar"
unpack "$CASE_TMP/again.tar" "$CASE_TMP/again"
compare "$CASE_TMP/tree" "$CASE_TMP/again"

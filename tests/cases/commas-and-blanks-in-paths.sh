#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Paths with commas, blanks, quotes, backslashes, newlines, bytes that are no text, and
# a leading dash; relative ones; through symbolic links.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
try() {
	local dir=$1
	mkdir -p "$dir"
	fc_init "$dir"
	fc_mount "$dir"
	echo "content" >"$dir/mnt/file"
	fc status "$dir/mnt" --json | py -c '
import json, os, sys
from lib import *
st = json.load(sys.stdin)
equal(st["state"], "mounted", "state")
try:
    os.fsencode(sys.argv[1]).decode()
except UnicodeDecodeError:
    sys.exit(0)  # JSON cannot name it
equal(os.path.samefile(st["container"], sys.argv[1] + "/box"), True, "the container that status names: %r" % st["container"])
equal(os.path.basename(st["mountpoint"]), "mnt", "the mount point that status names")' "$dir"
	mkdir "$CASE_TMP/again" 2>/dev/null || true
	status 7 fc mount "$dir/box" "$CASE_TMP/again" --passphrase-file "$dir/pass"
	fc sync "$dir/mnt"
	fc_umount "$dir"
	fc_mount "$dir" -o noatime,commit=3
	equal "$(cat "$dir/mnt/file")" content "content in: $dir"
	fc_kill "$dir"
	fc_mount "$dir" || fail "mount after a crash in: $dir"
	equal "$(cat "$dir/mnt/file")" content "content in: $dir"
	fc_umount "$dir"
	mountpoint -q "$dir/mnt" && fail "still mounted: $dir"
	rm -r "$dir"
}
try "$CASE_TMP/with, comma"
try "$CASE_TMP/ro,allow_other,fsname=x"
try "$CASE_TMP/  blanks  and	tab "
try "$CASE_TMP/quotes ' \" \` \$HOME"
try "$CASE_TMP/back\\slash \\040 \\"
try "$CASE_TMP/new
line"
try "$CASE_TMP/Ångström 漢字"
try "$CASE_TMP/$(printf '\377\376 bytes')"
try "$CASE_TMP/per%cent %s %n"
try "$CASE_TMP/deep/$(printf 'x%.0s' {1..200})/$(printf 'y%.0s' {1..200})"

mkdir "$CASE_TMP/relative"
cd "$CASE_TMP/relative"
try "here"
try "./-dash"
cd "$CASE_TMP"
mkdir "$CASE_TMP/real"
ln -s real "$CASE_TMP/link"
try "$CASE_TMP/link"

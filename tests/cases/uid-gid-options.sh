#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# -o uid=,gid= show one owner for all of a container that came from another machine.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_root
need_fusecrypt
fc_begin
mkdir "$M/d"
echo theirs >"$M/d/file"
echo private >"$M/private"
ln -s file "$M/d/link"
chown -hR 4711:4712 "$M/d"
chown 4713:4714 "$M/private"
chmod 600 "$M/private"
chmod 750 "$M/d"
owners() { (cd "$M" && find . -printf '%p %U:%G %m;' | tr ';' '\n' | sort | tr '\n' ';'); }
before=$(owners)
fc_remount "$D" -o uid=1000,gid=1001,allow_other
chmod 755 "$M" 2>/dev/null || true
equal "$(find "$M" ! -user 1000 -o ! -group 1001 | wc -l)" 0 "files with another owner"
as_ids 1000 1001 - sh -c "cat '$M/private' '$M/d/file' && echo mine >>'$M/private' && echo new >'$M/d/new'" ||
	fail "the owner shown may not use the files"
! as_ids 1002 1002 - cat "$M/private" 2>/dev/null || fail "another may read a private file"
equal "$(stat -c '%u:%g' "$M/d/new")" "1000:1001" "the owner of a new file"
equal "$(cat "$M/private")" "private
mine" "what the owner wrote"
rm "$M/d/new"
fc_remount "$D"
equal "$(owners)" "$before" "owners without the options are as they were"
fc_remount "$D" -o uid=1000,allow_other
equal "$(stat -c '%u:%g' "$M/private")" "1000:4714" "only the user"

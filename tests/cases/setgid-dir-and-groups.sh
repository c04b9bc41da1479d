#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Set-gid directories hand on their group; supplementary groups count; sticky
# directories protect; with allow_other each user has the rights of the modes.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_root
fc_begin -o allow_other
chmod 755 "$M"
cd "$M"
show() { stat -c '%n %a %u:%g' "$@" | tr '\n' ';'; }
allowed() { as_ids "$1" "$1" "$2" sh -c "$3" 2>/dev/null || fail "user $1 ($2) may not: $3"; }
denied() { ! as_ids "$1" "$1" "$2" sh -c "$3" 2>/dev/null || fail "user $1 ($2) may: $3"; }

mkdir team
chown 0:2000 team
chmod 2775 team
allowed 1000 2000 'umask 022; echo x >team/file; mkdir team/sub; mkfifo team/fifo; ln -s x team/link'
equal "$(show team/*)" "team/fifo 644 1000:2000;team/file 644 1000:2000;team/link 777 1000:2000;team/sub 2755 1000:2000;" "what is made in a set-gid directory"
allowed 1000 2000 'echo y >team/sub/below'
equal "$(show team/sub/below)" "team/sub/below 644 1000:2000;" "what is made below"
chmod 2777 team
allowed 1001 - 'umask 0; echo x >team/of-other'
equal "$(show team/of-other)" "team/of-other 666 1001:2000;" "what one outside of the group makes"
as_ids 1001 1001 - /usr/bin/python3 -c '
import os
os.umask(0)
os.close(os.open("team/setgid", os.O_CREAT | os.O_WRONLY, 0o2775))'
equal "$(show team/setgid)" "team/setgid 775 1001:2000;" "a set-gid program by one outside of the group"
mkdir ordinary
chmod 777 ordinary
allowed 1000 2000 'echo x >ordinary/file'
equal "$(stat -c %g ordinary/file)" 1000 "the group in an ordinary directory"

echo data >shared
chown 0:2000 shared
chmod 660 shared
allowed 1000 2000 'cat shared && echo more >>shared'
allowed 1000 1999,2000,2001 'cat shared'
denied 1000 2001 'cat shared'
denied 1000 - 'cat shared'
mkdir closed
chown 1000:2000 closed
chmod 710 closed
echo x >closed/file
allowed 1000 - 'ls closed'
allowed 1001 2000 'cat closed/file'
denied 1001 2000 'ls closed'
denied 1001 - 'cat closed/file'
denied 1001 2000 'echo x >closed/new'

mkdir sticky
chmod 1777 sticky
allowed 1000 - 'echo x >sticky/file; mkdir sticky/dir'
denied 1001 - 'rm -f sticky/file'
denied 1001 - 'rmdir sticky/dir'
denied 1001 - 'mv sticky/file sticky/other'
allowed 1000 - 'mv sticky/file sticky/other; rm sticky/other; rmdir sticky/dir'
# only the owner changes modes and owners
allowed 1000 - 'echo x >ordinary/mine; chmod 600 ordinary/mine'
denied 1001 - 'chmod 777 ordinary/mine'
denied 1000 - 'chown 1001 ordinary/mine'
denied 1000 - 'chgrp 2000 ordinary/mine'
allowed 1000 2000 'chgrp 2000 ordinary/mine'
cd "$CASE_TMP"
fc_remount "$D" -o allow_other
equal "$(cd "$M" && show team/* ordinary/mine)" "team/fifo 644 1000:2000;team/file 644 1000:2000;team/link 777 1000:2000;team/of-other 666 1001:2000;team/setgid 775 1001:2000;team/sub 2755 1000:2000;ordinary/mine 600 1000:2000;" "all of it after mounting again"

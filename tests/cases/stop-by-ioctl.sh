#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# FS_IOC_SHUTDOWN, as other file systems have it: what was there is committed, what
# comes later fails, and the next mount goes on.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
fc_begin
cat >stop.py <<'END'
import errno, fcntl, os, struct, sys
from lib import *
SHUTDOWN = 0x8004587d
os.chdir(sys.argv[1])
if sys.argv[2] == "refused":
    fails(errno.EPERM, "a stop by somebody else", fcntl.ioctl, os.open(".", os.O_RDONLY), SHUTDOWN, struct.pack("I", 0))
    sys.exit()
fd = os.open("file", os.O_RDWR | os.O_CREAT)
os.write(fd, pattern(300000))
os.fsync(fd)
os.mkdir("made")  # not synced by anyone
fcntl.ioctl(fd, SHUTDOWN, struct.pack("I", 2))
fails(errno.EIO, "a change after it", os.mkdir, "later")
fails(errno.EIO, "an fsync of what was written after it", lambda: (os.pwrite(fd, b"late", 0), os.fsync(fd)))
equal(os.pread(fd, 10, 1000), pattern(300000)[1000:1010], "reading after it")
END
if [ "$(id -u)" -eq 0 ]; then
	fc_remount "$D" -o allow_other
	chmod 755 "$CASE_TMP" "$D"
	as_other /usr/bin/python3 - "$M" refused <stop.py || fail "somebody else could stop it"
	mkdir "$M/before"
fi
py stop.py "$M" stop
equal "$(fc_field "$D" failed)" True failed
fc status "$M" | grep -q 'asked to stop' || fail "status does not say why it is read-only"
text=$(fc umount "$M" 2>&1) || fail "umount of one that was stopped: $text"
equal "$text" "" "what umount says of one that was stopped"
fc_forget "container $D"
fc_mount "$D"
[ -d "$M/made" ] && [ ! -e "$M/later" ] || fail "not what was there when it was stopped: $(ls "$M")"
py - "$M" <<'END'
import os, sys
from lib import *
os.chdir(sys.argv[1])
equal(read_file("file"), pattern(300000), "content after mounting anew")
write_file("new", b"x")
END

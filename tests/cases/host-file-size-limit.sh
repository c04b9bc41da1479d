#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Where files may not grow beyond a size (`ulimit -f`, a host's largest file) the
# container is full: ENOSPC, and nobody is killed.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
fc_init "$D" --log-size 256K
status 9 bash -c 'ulimit -f 1000 && exec "$FUSECRYPT" init "$1" --kdf interactive --passphrase-file "$2"' sh "$CASE_TMP/new" "$D/pass"
said 'no space'
[ ! -e new ] || fail "a container that could not be made was left"
(ulimit -f 65536 && fc_mount "$D") # in KiB
FC_STACK+=("container $D")
py - "$M" <<'END'
import errno, os, sys
from lib import *
os.chdir(sys.argv[1])
fd = os.open("first", os.O_RDWR | os.O_CREAT)
os.write(fd, pattern(3000000, 1))
os.fsync(fd)
more = os.open("more", os.O_RDWR | os.O_CREAT)
try:
    for n in range(100):
        os.pwrite(more, pattern(1 << 20, n), n << 20)
        os.fsync(more)
    raise SystemExit("100 MiB went into a file of 64")
except OSError as error:
    equal((error.errno, n > 40), (errno.ENOSPC, True), "errno and MiB that went into it")
equal(os.pread(fd, 4000000, 0), pattern(3000000, 1), "the first file, when it is full")
os.close(more)
os.unlink("more")
write_file("later", pattern(5000, 9))
END
fc_umount "$D"
[ "$(stat -c %s "$D/box")" -le $((64 << 20)) ] || fail "it has grown beyond the limit"
fc_mount "$D"
py - "$M" <<'END'
import os, sys
from lib import *
os.chdir(sys.argv[1])
equal(read_file("first"), pattern(3000000, 1), "the first file, mounted again")
equal(read_file("later"), pattern(5000, 9), "what was written when it had been full")
END

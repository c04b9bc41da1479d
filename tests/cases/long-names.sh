#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Names of 255 bytes are right, longer ones are refused and nothing has changed.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
fc_begin
py - "$M" <<'END'
import errno, os, sys
from lib import *
os.chdir(os.fsencode(sys.argv[1]))
long, longer = b"n" * 255, b"n" * 256
kanji = "漢".encode() * 85
write_file(long, b"long")
write_file(kanji, b"kanji")
os.mkdir(b"d" * 255)
os.symlink(b"target", b"s" * 255)
os.link(long, b"l" * 255)
os.rename(kanji, b"r" * 255)
os.rename(b"r" * 255, kanji)
before = sorted(os.listdir(b"."))
equal(before, sorted([long, kanji, b"d" * 255, b"s" * 255, b"l" * 255]), "names of 255 bytes")
write_file(b"short", b"short")
for what, call in {
    "create": lambda: os.open(longer, os.O_CREAT | os.O_WRONLY),
    "open": lambda: os.open(longer, os.O_RDONLY),
    "mkdir": lambda: os.mkdir(longer),
    "symlink": lambda: os.symlink(b"x", longer),
    "link": lambda: os.link(b"short", longer),
    "rename to": lambda: os.rename(b"short", longer),
    "rename from": lambda: os.rename(longer, b"other"),
    "rename of a directory": lambda: os.rename(b"d" * 255, longer),
    "unlink": lambda: os.unlink(longer),
    "rmdir": lambda: os.rmdir(longer),
    "stat": lambda: os.stat(longer),
    "mknod": lambda: os.mkfifo(longer),
}.items():
    fails(errno.ENAMETOOLONG, what + " with 256 bytes", call)
equal(sorted(os.listdir(b".")), sorted(before + [b"short"]), "names after what was refused")
equal(read_file(b"short"), b"short", "content after what was refused")
END
(cd "$M" && find . -printf '%f %s\n' | sort) >"$CASE_TMP/before"
fc_remount "$D"
(cd "$M" && find . -printf '%f %s\n' | sort) >"$CASE_TMP/after"
cmp "$CASE_TMP/before" "$CASE_TMP/after"

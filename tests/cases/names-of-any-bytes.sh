#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Bytes in are bytes out: nothing is normalised, refused or folded.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
fc_begin
cat >"$CASE_TMP/names.py" <<'END'
import os, sys, unicodedata
from lib import *
os.chdir(os.fsencode(sys.argv[2]))
names = [bytes([b]) for b in range(1, 256) if b not in b"/."]
names += [b"x" + bytes([b]) + b"y" for b in range(1, 256) if b not in b"/"]
names += [unicodedata.normalize("NFC", "Ångström é").encode(), unicodedata.normalize("NFD", "Ångström é").encode()]
names += [b"Case", b"case", b"CASE", b"trailing ", b"trailing", b" leading", b"...", b"..x", b"-rf", b"a\n\nb"]
names += [b"\xff\xfe invalid", b"\xed\xa0\x80 surrogate", b"aux", b"nul.", b"~tilde", b"*?[x]", b"fusecrypt"]
if sys.argv[1] == "make":
    for n, name in enumerate(names):
        write_file(name, b"%d" % n)
        os.symlink(name, b"link-%d" % n)
equal(sorted(os.listdir(b".")), sorted(names + [b"link-%d" % n for n in range(len(names))]), "names")
for n, name in enumerate(names):
    equal(read_file(name), b"%d" % n, "content of %r" % name)
    equal(os.readlink(b"link-%d" % n), name, "target of a link to %r" % name)
END
py "$CASE_TMP/names.py" make "$M"
fc_remount "$D"
py "$CASE_TMP/names.py" check "$M"

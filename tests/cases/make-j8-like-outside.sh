#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 240
# A parallel build of many small files gives the same bytes inside as outside.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need make gcc ar
fc_begin
mkdir "$CASE_TMP/project"
py - "$CASE_TMP/project" <<'END'
import os, sys
from lib import *
os.chdir(sys.argv[1])
N = 120
for n in range(N):
    os.makedirs("src/part%d" % (n % 8), exist_ok=True)
    with open("src/part%d/unit%d.c" % (n % 8, n), "w") as f:
        f.write('#include "units.h"\n#include <stdio.h>\n')
        for k in range(10):
            f.write("int unit%d_%d(int x)\n{\n\treturn x * %d + %s;\n}\n" %
                    (n, k, n + k, "unit%d_%d(x - 1)" % (n - 1, k) if n else "1"))
with open("src/units.h", "w") as f:
    f.writelines("int unit%d_%d(int x);\n" % (n, k) for n in range(N) for k in range(10))
with open("src/main.c", "w") as f:
    f.write('#include "units.h"\n#include <stdio.h>\nint main(void)\n{\n\tprintf("%%d\\n", unit%d_9(3));\n\treturn 0;\n}\n' % (N - 1))
with open("Makefile", "w") as f:
    f.write("""SOURCES := $(wildcard src/part*/*.c)
OBJECTS := $(patsubst src/%.c,out/%.o,$(SOURCES)) out/main.o
program: out/units.a out/main.o
	gcc -o $@ out/main.o out/units.a
out/units.a: $(filter-out out/main.o,$(OBJECTS))
	rm -f $@
	ar rcD $@ $(sort $^)
out/%.o: src/%.c src/units.h
	mkdir -p $(@D)
	gcc -O1 -Isrc -MMD -MF $(@:.o=.d) -c -o $@.tmp $<
	mv $@.tmp $@
clean:
	rm -rf out program
""")
END
cp -a "$CASE_TMP/project" "$M/project"
make -s -j8 -C "$CASE_TMP/project" || fail "the build outside"
make -s -j8 -C "$M/project" || fail "the build inside"
diff -r "$CASE_TMP/project" "$M/project" || fail "what was built inside and outside"
equal "$("$M/project/program")" "$("$CASE_TMP/project/program")" "what the program prints"
equal "$(make -s -j8 -C "$M/project" 2>&1)" "" "a second make has nothing to do"
touch "$M/project/src/units.h"
make -s -j8 -C "$M/project" clean
make -s -j4 -C "$M/project"
fc_remount "$D"
equal "$(make -s -q -C "$M/project" 2>&1 && echo current)" current "nothing to do after mounting again"
diff -r "$CASE_TMP/project" "$M/project" || fail "what was built, after mounting again"

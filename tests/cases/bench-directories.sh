#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 300
# Directories that are not empty stay as they are; an ordinary user can measure, and is told what was not cold.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
# shellcheck source=tests/cases/lib-bench.sh
. "$SOURCE/tests/cases/lib-bench.sh"
fc_begin
py "$FC_LIB/libtree.py" "$M/tree" 100
mkdir -p plain/copy plain/extract.stock
echo x >plain/copy/from
ln -s /etc plain/link
before_plain=$(listing plain | tail -n +2) before_inside=$(listing "$M" | tail -n +2)
bench_ends 0 . --quick --runs 1 --workload copy,extract --plain plain --inside "$M" --json r.json
valid r.json
equal "$(listing plain | tail -n +2)" "$before_plain" "the plain directory afterwards"
equal "$(listing "$M" | tail -n +2)" "$before_inside" "the directory inside afterwards"
equal "$(json 'r["places"][1]["directory"]' r.json)" "$(realpath "$M")" "the place"

# Without --plain, the current directory is the baseline; three directories, each three times, by turns.
mkdir other
bench_ends 0 plain --quick --workload sqlite --inside "$M" --compare other=../other --json "$CASE_TMP/r.json"
valid r.json
equal "$(json '[(p["name"], p["role"]) for p in r["places"]]' r.json)" \
	"[('plain', 'baseline'), ('inside', 'measured'), ('other', 'measured')]" "the places"
equal "$(json 'r["runs_each"], len(r["runs"])' r.json)" "(3, 9)" "runs"
equal "$(json 'sorted(r["summary"]["geometric_mean"])' r.json)" "['inside', 'other']" "means"
fc_umount "$D"

# Standard output instead of the table.
bench_ends 0 . --quick --runs 1 --workload sqlite --plain plain --inside other --csv -
equal "$(head -n 1 out | cut -d , -f 1-5)" "workload,part,place,run,cold" "CSV on standard output"
equal "$(wc -l <out)" 3 "lines of it"

[ "$(id -u)" -eq 0 ] || exit 0
as_user mkdir mine 2>/dev/null || install -d -o fctest-a mine
install -d -o fctest-a mine/a mine/b
chmod 755 "$CASE_TMP"
as_user test -x "$BENCH" || skip "all else is right; an ordinary user cannot reach the build folder"
(cd mine && TMPDIR=/tmp as_user "$BENCH" --quick --runs 1 --workload extract --plain a --inside b --json - >../r.json)
valid r.json
equal "$(json 'sum("caches could not be dropped" in w for w in r["warnings"])' r.json)" 1 "it says that caches were not dropped"
equal "$(json '{(x["cold_wanted"], x["cold"]) for x in r["results"]}' r.json)" "{(True, False)}" "what was cold"
equal "$(find mine -mindepth 2)" "" "what is left"
chmod 555 mine/a
got=0
(cd mine && TMPDIR=/tmp as_user "$BENCH" --quick --workload sqlite --plain a --inside b) >out 2>err || got=$?
equal "$got" 1 "the status where nothing can be written"
tells 'cannot make a directory in it: Permission denied'

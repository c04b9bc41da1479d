#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What does not fit is said before anything is done, with what is needed and what is there.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
# shellcheck source=tests/cases/lib-bench.sh
. "$SOURCE/tests/cases/lib-bench.sh"
with_loop tmpfs 100M "$CASE_TMP/small"
mkdir small/a small/b large
bench_ends 9 . --full --workload copy,sqlite --plain small/a --inside small/b --json r.json
tells 'no space: copy needs 24 GB on the file system of .*/small/a, where 10[0-9] MB are free'
tells 'nothing was measured'
grep -q sqlite err && fail "sqlite does fit"
[ ! -e r.json ] || fail "there is a result"
# Each by itself: here only one of the two is too small.
bench_ends 9 . --quick --workload copy --plain large --inside small/b
tells 'no space: copy needs .* of .*/small/b'
# Two that would fit alone share one file system.
bench_ends 9 . --quick --workload xbench --plain small/a --inside small/b
equal "$(find small large -mindepth 1 | sort | tr '\n' ' ')" "small/a small/b " "what is there afterwards"
no_scratch
# What fits is measured, and how much it needs is said before.
bench_ends 0 . --quick --runs 1 --workload sqlite,launch --plain small/a --inside small/b --json r.json
tells 'up to 9[0-9] MB are needed at a time on the file system of .*/small/a, 10[0-9] MB are free'
equal "$(json 'sum("tmpfs" in w for w in r["warnings"])' r.json)" 1 "it says that tmpfs is never durable"
# Two file systems: the report says that it compares these too.
bench_ends 0 . --quick --runs 1 --workload sqlite --plain large --inside small/b --json r.json
equal "$(json 'r["warnings"][0].endswith("and inside on tmpfs: the ratio also compares the two")' r.json)" True \
	"a warning of two file systems: $(json 'r["warnings"]' r.json)"
bench_ends 0 . --quick --runs 1 --workload sqlite --plain large --inside large --json r.json
equal "$(json '"compares it with itself" in r["warnings"][0]' r.json)" True "a warning of one directory, twice"

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A workload whose program is missing has a status of its own, with what to install; the others are done all the same.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
# shellcheck source=tests/cases/lib-bench.sh
. "$SOURCE/tests/cases/lib-bench.sh"
mkdir a b empty
(
	export PATH=$CASE_TMP/empty
	bench_ends 0 . --quick --runs 1 --workload iometer,gnupg,raytrace,compile,sqlite --plain a --inside b \
		--source "$SOURCE" --json "$CASE_TMP/r.json"
)
valid r.json
equal "$(json '{w["name"]: w["status"] for w in r["workloads"]}' r.json)" \
	"{'iometer': 'missing', 'sqlite': 'measured', 'compile': 'missing', 'gnupg': 'missing', 'raytrace': 'missing'}" \
	"the outcomes"
equal "$(json '[w["install"] for w in r["workloads"] if w["name"] in ("iometer", "raytrace")]' r.json)" \
	"['apt-get install fio', 'apt-get install povray']" "what to install"
grep -q 'gnupg: skipped: gpg not found; apt-get install gnupg' out || fail "the table does not say it: $(cat out)"
equal "$(ls -A a b)" "$(printf 'a:\n\nb:')" "what is left"

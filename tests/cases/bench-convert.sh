#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 300
# fusecrypt-bench convert: a directory is protected and brought back; nothing is left of it, nor
# in the user's registry.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
# shellcheck source=tests/cases/lib-bench.sh
. "$SOURCE/tests/cases/lib-bench.sh"
need_fuse
need_fusecrypt
mkdir here
bench_ends 0 here --quick --runs 1 --workload convert --json "$CASE_TMP/r.json"
equal "$(json '[w["status"] for w in r["workloads"]]' r.json)" "['measured']" "the outcome"
equal "$(json 'min(x["ended_s"] > 0 for x in r["runs"])' r.json)" True "times"
equal "$(ls -A here)" "" "what is left of it"
no_scratch
status 0 fc list
[ ! -s "$CASE_TMP/said" ] || fail "it is in the user's registry"

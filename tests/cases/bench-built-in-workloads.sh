#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 600
# fusecrypt-bench makes a container by itself and does what needs no other program; its JSON follows the schema.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
# shellcheck source=tests/cases/lib-bench.sh
. "$SOURCE/tests/cases/lib-bench.sh"
need_fuse
need_fusecrypt

mkdir here
echo mine >here/mine
before=$(listing here)
bench_ends 0 here --quick --runs 2 --workload extract,copy,xbench,asssd,sqlite,xml,launch,metadata \
	--json "$CASE_TMP/r.json" --csv "$CASE_TMP/r.csv"
# The directory's own time does change.
equal "$(listing here | tail -n +2)" "$(tail -n +2 <<<"$before")" "what is in the directory afterwards"
no_scratch
valid r.json
equal "$(json '[p["name"] for p in r["places"]]' r.json)" "['plain', 'inside']" "the places"
equal "$(json 'r["places"][1]["filesystem"]' r.json)" fuse.fusecrypt "what was measured"
equal "$(json '{w["status"] for w in r["workloads"]}' r.json)" "{'measured'}" "the outcomes"
equal "$(json 'len(r["workloads"])' r.json)" 8 "how many workloads"
equal "$(json 'r["size"], r["runs_each"]' r.json)" "('quick', 2)" "what was asked for"
# What was written has two times, the second never before the first.
equal "$(json 'min(x["durable_s"] - x["ended_s"] >= 0 for x in r["runs"] if x["durable_s"] is not None)' r.json)" True \
	"durable after ended"
writing=$(json 'sorted({x["workload"] for x in r["runs"] if x["durable_s"] is not None})' r.json)
equal "$writing" "['asssd', 'copy', 'extract', 'metadata', 'sqlite', 'xbench', 'xml']" "the workloads that write"
# The daemon is known, and it did something; nothing serves the plain directory.
equal "$(json 'min(x["cpu_daemon_s"] is not None for x in r["runs"] if x["place"] == "inside")' r.json)" True "the daemon"
equal "$(json 'sum(x["cpu_daemon_s"] or 0 for x in r["runs"] if x["place"] == "inside") > 0' r.json)" True "its time"
equal "$(json '{x["cpu_daemon_s"] for x in r["runs"] if x["place"] == "plain"}' r.json)" "{None}" "no daemon"
# Caches are dropped before cold parts where that is allowed, and the result says which.
cold=$(json 'sorted({x["workload"] + "/" + x["part"] for x in r["runs"] if x["cold"]})' r.json)
if [ -w /proc/sys/vm/drop_caches ]; then
	equal "$(json '{x["cold"] for x in r["results"] if x["cold_wanted"]}' r.json)" "{True}" "cold where wanted"
	grep -q "extract/extract" <<<"$cold" || fail "not cold: extract; cold: $cold"
	grep -q "metadata" <<<"$cold" && fail "cold, and should not be: $cold"
else
	equal "$cold" "[]" "nothing cold"
	equal "$(json 'min("caches" in w for w in r["warnings"])' r.json)" True "it says that caches were not dropped"
fi
published=$(json '{x["workload"]: x["published"]["ratio"] for x in r["results"] if x["published"] and x["workload"] in
	("extract", "copy")}' r.json)
equal "$published" "{'extract': 1.039, 'copy': 4.4}" "published ratios"

grep -q '^workload  *plain  *inside  *ratio  *spread  *published' out || fail "no table: $(cat out)"
grep -q 'unpack an archive .*×1.039 FileVault' out || fail "no FileVault beside extract: $(cat out)"
grep -q 'generated files.*source text.*small configuration' out || fail "the mix is not printed: $(cat out)"
# A line of CSV for each run and part, and the header.
equal "$(wc -l <r.csv)" $((1 + $(json 'len(r["runs"])' r.json))) "lines of CSV"
equal "$(py -c 'import csv, sys; print({len(row) for row in csv.reader(open(sys.argv[1], newline=""))})' r.csv)" "{15}" \
	"fields of CSV"

# `report` prints the same table again.
status 0 "$BENCH" report r.json
diff "$CASE_TMP/said" out || fail "report differs from what was printed"

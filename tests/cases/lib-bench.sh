# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# For the cases of fusecrypt-bench; sourced after lib.sh.

BENCH=$BUILD/tools/fusecrypt-bench
[ -x "$BENCH" ] || skip "this build has no fusecrypt-bench"

# bench DIR ARGUMENT…: runs it there; what it prints goes to $CASE_TMP/out and err. Its status is bench's.
bench() {
	local dir=$1
	shift
	(cd "$dir" && "$BENCH" "$@") >"$CASE_TMP/out" 2>"$CASE_TMP/err" </dev/null
}

# bench_ends WANT DIR ARGUMENT…
bench_ends() {
	local want=$1 got=0
	shift
	bench "$@" || got=$?
	[ "$got" -eq "$want" ] || {
		cat "$CASE_TMP/out" "$CASE_TMP/err"
		fail "status $got, right is $want: fusecrypt-bench ${*:2}"
	}
}

# tells PATTERN: on standard error.
tells() { grep -qi -e "$1" "$CASE_TMP/err" || fail "it did not say '$1' but: $(cat "$CASE_TMP/err")"; }

# listing DIR: everything below it, with sizes and times of files.
listing() { find "$1" -printf '%P %y %s %T@ %l\n' | sort; }

# scratch: what it keeps for itself in TMPDIR.
no_scratch() {
	[ -z "$(find "$TMPDIR" -mindepth 1 -maxdepth 1 -name 'fusecrypt-bench.*')" ] || fail "left in TMPDIR: $(ls "$TMPDIR")"
}

# json EXPRESSION FILE: prints a Python expression of the result r.
json() { py -c 'import json, sys; r = json.load(open(sys.argv[2])); print(eval(sys.argv[1]))' "$1" "$2"; }

# valid FILE: against the schema, and what a schema cannot say.
valid() {
	py -c 'import jsonschema' 2>/dev/null || skip "no python3-jsonschema"
	py - "$1" "$SOURCE/tools/bench/result.schema.json" <<'END'
import json, statistics, sys, jsonschema
r, schema = (json.load(open(f)) for f in sys.argv[1:])
jsonschema.Draft7Validator.check_schema(schema)
jsonschema.validate(r, schema)
names = [p["name"] for p in r["places"]]
assert [p["role"] for p in r["places"]] == ["baseline"] + ["measured"] * (len(names) - 1), r["places"]
for row in r["results"]:
    assert [p["place"] for p in row["places"]] == names, row
    base = row["places"][0]["median"]
    for i, p in enumerate(row["places"]):
        assert len(p["values"]) == r["runs_each"], row
        assert abs(p["median"] - statistics.median(p["values"])) <= 1e-6 * p["median"], row
        assert ("compared" in p) == (i > 0), row
        if i:
            want = p["median"] / base if row["better"] == "less" else base / p["median"]
            assert abs(p["compared"]["ratio"] - want) <= 1e-6 * want, row
            assert p["compared"]["low"] <= p["compared"]["ratio"] * 1.000001, row
            assert p["compared"]["high"] >= p["compared"]["ratio"] * 0.999999, row
measured = {w["name"] for w in r["workloads"] if w["status"] == "measured"}
assert {x["workload"] for x in r["results"]} == measured == {x["workload"] for x in r["runs"]}, measured
parts = {(x["workload"], x["part"]) for x in r["runs"]}
assert len(r["runs"]) == len(parts) * len(names) * r["runs_each"], len(r["runs"])
for w, p in parts:
    order = [(x["run"], x["place"]) for x in r["runs"] if (x["workload"], x["part"]) == (w, p)]
    assert order == [(k + 1, n) for k in range(r["runs_each"]) for n in names], order  # A B A B
END
}

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# list, report, usage; results that are not what fusecrypt-bench wrote are refused.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
# shellcheck source=tests/cases/lib-bench.sh
. "$SOURCE/tests/cases/lib-bench.sh"
names="extract copy xbench asssd bonnie iometer fio-network sqlite compile gnupg xml raytrace launch metadata convert"

status 0 "$BENCH" list
equal "$(grep -o '^[a-z-]*' said | tr '\n' ' ')" "$names " "the names"
equal "$(grep -c '^    From: ' said)" 15 "where they come from"
status 0 "$BENCH" list --json
equal "$(json '" ".join(w["name"] for w in r["workloads"])' said)" "$names" "the names in JSON"
equal "$(json '[w["name"] for w in r["workloads"] if w["control"]]' said)" "['fio-network', 'raytrace']" "the controls"
status 0 "$BENCH" --version
said '^fusecrypt-bench [0-9]'
status 0 "$BENCH" --help
said 'report FILE'
status 0 "$BENCH" run --help

for wrong in "--workload nothing" "--workload ," "--runs 0" "--runs 101" "--runs 3x" "--quick --full" "--compare a" \
	"--compare =b" "--compare plain=b" "--compare a=b --compare a=c" "--compare a,b=c" "--nothing" "nothing" \
	"--json /nowhere/at/all" "--html ." "list --nothing" "report" "report --nothing" "--source $BENCH" "--file ."; do
	# shellcheck disable=SC2086 # words are meant
	status 2 "$BENCH" $wrong
	said "fusecrypt-bench: "
done
status 1 "$BENCH" --plain nowhere --inside .
said "nowhere: No such file"
status 1 "$BENCH" --plain "$BENCH" --inside .
said "not a directory"

# A result with known values: 10, 11, 12 s against 20, 22, 24 s; a program that says it in MB/s.
py <<'END'
import copy, json
place = lambda name, values: {"place": name, "values": values, "median": 1, "low": 1, "high": 1, "spread": 0,
                              "cpu_workload_s": 1.5, "cpu_daemon_s": None if name == "plain" else 2.5}
row = {"workload": "copy", "part": "read-write", "row": "read-write", "title": "by reading and writing", "timing": "ended",
       "unit": "s", "better": "less", "control": False, "cold_wanted": True, "cold": True,
       "published": {"ratio": 4.4, "ratio_high": None, "by": "PGP"},
       "places": [place("plain", [10, 11, 12]), place("inside", [20, 22, 24])]}
rate = {**copy.deepcopy(row), "workload": "bonnie", "part": "file", "row": "seq-read", "unit": "MB/s", "better": "more",
        "timing": "reported", "published": None, "title": "sequential read",
        "places": [place("plain", [100, 100, 100]), place("inside", [200, 200, 200])]}
where = lambda name: {"name": name, "role": "measured", "directory": "/" + name, "filesystem": "ext4", "source": "x",
                      "host_filesystem": "ext4", "disk": "d"}
done = lambda name: {"name": name, "title": name, "does": "", "from": "", "status": "measured", "reason": "", "install": ""}
r = {"schema": "fusecrypt-bench 1", "version": "0.1", "date": "2026-01-01T00:00:00Z", "command": "x", "size": "quick",
     "runs_each": 3, "machine": {"kernel": {"title": "Kernel", "value": "one"}}, "places": [where("plain"), where("inside")],
     "warnings": [], "material": [], "workloads": [done("copy"), done("bonnie")], "results": [row, rate], "runs": [],
     "summary": {"geometric_mean": {"inside": 1}, "verdict": "x"}}
def save(name, change=lambda r: None):
    other = copy.deepcopy(r)
    change(other)
    json.dump(other, open(name, "w"))
save("first.json")
def second(r):
    r["machine"]["kernel"]["value"] = "two"
    r["results"][0]["places"][1]["values"] = [30, 33, 36]
save("second.json", second)
def setter(*path):
    def change(r):
        for key in path[:-2]:
            r = r[key]
        r[path[-2]] = path[-1]
    return change
wrong = {"schema": ("schema", "fusecrypt-bench 2"), "runs": ("runs_each", 1e9), "fraction": ("runs_each", "3"),
         "places": ("places", []), "nine": ("places", [where("p")] * 9), "one": ("places", [where("plain")]),
         "values": ("results", 0, "places", 0, "values", [1, 2]), "zero": ("results", 0, "places", 0, "values", [1, 0, 2]),
         "text": ("results", 0, "places", 0, "values", [1, "2", 3]), "machine": ("machine", []),
         "workloads": ("workloads", [done("x")] * 33), "title": ("results", 0, "title", 5),
         "less": ("results", 0, "places", [place("plain", [1, 2, 3])]), "warnings": ("warnings", [1])}
for name, path in wrong.items():
    save("wrong-" + name + ".json", setter(*path))
open("wrong-cut.json", "w").write(json.dumps(r)[:500])
open("wrong-empty.json", "w").close()
open("wrong-list.json", "w").write("[]")
open("wrong-deep.json", "w").write("[" * 100000)
END
status 0 "$BENCH" report first.json
said 'copy *by reading and writing *11.0 s *22.0 s *×2.00 *2.00–2.00 *×4.40 PGP'
said 'bonnie *sequential read *100 MB/s *200 MB/s *×0.50 *0.50–0.50'
said 'copy *1.50 *1.50 + 2.50'
# The geometric mean of ×2 and ×0.5.
said 'takes as long (1.00) as in plain'
status 0 "$BENCH" report first.json second.json
said 'copy *by reading and writing *×2.00 *2.00–2.00 *×3.00 *3.00–3.00 *×1.50 worse'
said 'bonnie *sequential read *×0.50 *0.50–0.50 *×0.50 *0.50–0.50 *within the spread'
said 'Kernel is another than in 1: two'
status 0 "$BENCH" report second.json first.json
said '×0.67 better'
for file in wrong-*.json; do
	status 1 "$BENCH" report first.json "$file"
	said "$file"
done
status 1 "$BENCH" report nowhere.json

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 900
# fusecrypt-bench runs fio, bonnie++, gpg, povray and the compiler on a real mount; those that are missing are named.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
# shellcheck source=tests/cases/lib-bench.sh
. "$SOURCE/tests/cases/lib-bench.sh"
fc_begin
mkdir plain tree tree/src
# A source tree that is built in no time.
printf 'int main(void)\n{\n\treturn 0;\n}\n' >tree/src/a.c
printf 'a: src/a.c\n\tcc -o a src/a.c\n' >tree/Makefile
bench_ends 0 . --quick --runs 1 --workload bonnie,iometer,fio-network,compile,gnupg,raytrace --source tree \
	--plain plain --inside "$M" --json "$CASE_TMP/r.json"
valid r.json
no_scratch
equal "$(ls -A plain "$M")" "$(printf '%s:\n\n%s:' "$M" plain)" "what is left in the directories"
if pgrep -f "gpg-agent --homedir $CASE_TMP" >"$CASE_TMP/agents"; then
	fail "left running: gpg-agent $(cat agents)"
fi
equal "$(json '[x["control"] for x in r["results"] if x["workload"] == "raytrace"] or [True]' r.json)" "[True]" \
	"ray tracing is a control"
missing=
for pair in bonnie:bonnie++ iometer:fio fio-network:fio compile:make gnupg:gpg raytrace:povray; do
	workload=${pair%%:*}
	outcome=$(json "[w for w in r['workloads'] if w['name'] == '$workload'][0]" r.json)
	if PATH=$PATH:/usr/sbin:/sbin command -v "${pair#*:}" >/dev/null; then
		grep -q "'status': 'measured'" <<<"$outcome" || fail "$workload: $outcome"
	else
		grep -q "'status': 'missing'.*'install': 'apt-get install" <<<"$outcome" || fail "$workload: $outcome"
		missing="$missing ${pair#*:}"
	fi
done
[ -z "$missing" ] || skip "all else is right; not installed:$missing"

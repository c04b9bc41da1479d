# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# Sourced by what runs tests. Counts results and prints the closing line. When
# FC_TALLY is set, results are added to that file, and whoever set it closes.

tally_own=
tally_begin() {
	[ -n "${FC_TALLY:-}" ] || {
		FC_TALLY=$(mktemp) || exit 1
		export FC_TALLY
		tally_own=1
	}
}

# tally pass|fail|skip NAME [REMARK]
tally() {
	printf '%s\t%s\t%s\n' "$1" "$2" "${3:-}" >>"$FC_TALLY"
	local word=PASS
	[ "$1" = fail ] && word=FAIL
	[ "$1" = skip ] && word=SKIP
	printf '%s %s%s\n' "$word" "$2" "${3:+ ($3)}"
}

tally_count() {
	awk -F '\t' -v kind="$1" '$1 == kind { n++ } END { print n + 0 }' "$FC_TALLY"
}

# Prints what failed and was skipped, then the closing line. Non-zero when an
# item failed. Nothing is printed when another closes.
tally_close() {
	local failed
	failed=$(tally_count fail)
	if [ -n "$tally_own" ]; then
		awk -F '\t' '
			$1 == "skip" { print "skipped: " $2 ($3 == "" ? "" : ": " $3) }
			$1 == "fail" { bad = bad "failed: " $2 ($3 == "" ? "" : ": " $3) "\n" }
			END { printf "%s", bad }' "$FC_TALLY"
		printf '%s passed, %s failed, %s skipped\n' "$(tally_count pass)" "$failed" "$(tally_count skip)"
		rm -f "$FC_TALLY"
	fi
	[ "$failed" -eq 0 ]
}

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The house rules that a program can check, over all files that git knows or
# would take: layout, licence lines, length, left-over notes, paths of a machine,
# shell scripts and manual pages.
set -u
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=tests/tally.sh
. tests/tally.sh
tally_begin

# A tree without .git (a release archive) is listed as it lies.
files() {
	if git rev-parse --git-dir >/dev/null 2>&1; then
		git -c safe.directory='*' ls-files -z --cached --others --exclude-standard
	else
		find . -type f ! -path './build*' -printf '%P\0'
	fi
}
all=() sources=() scripts=() pages=()
while IFS= read -r -d '' file; do
	[ -f "$file" ] || continue
	all+=("$file")
	case $file in
	*.c | *.h) sources+=("$file") ;;
	*.sh) scripts+=("$file") ;;
	*.[1-9]) pages+=("$file") ;;
	*)
		IFS= read -r -n 64 first <"$file" 2>/dev/null
		case $first in
		'#!'*sh) scripts+=("$file") ;;
		esac
		;;
	esac
done < <(files)

# report NAME TEXT: TEXT lists what is wrong.
report() {
	if [ -z "$2" ]; then
		tally pass "style $1"
	else
		printf '%s\n' "$2"
		tally fail "style $1"
	fi
}

if command -v clang-format >/dev/null; then
	report layout "$(clang-format --dry-run -Werror "${sources[@]}" 2>&1 |
		awk -F: '/error: code should be/ { lines[$1] = lines[$1] " " $2; next }
			/^[^ ].*error/ { print }
			END { for (file in lines) print file ": clang-format would change lines" lines[file] }' | sort)"
else
	tally skip "style layout" "no clang-format"
fi

report licence "$(for file in "${all[@]}"; do
	case $file in
	*.json) ;;
	*.c | *.h | *.sh | *.py | *meson.build | *meson_options.txt | .ci/run | tools/* | tests/run-cases | man/*.[1-9])
		grep -qI . "$file" || continue
		head -n 2 "$file" | grep -qE '^(/\*|#|\.\\") SPDX-License-Identifier: GPL-2\.0-or-later( \*/)?$' ||
			echo "$file: no SPDX line at its top"
		;;
	esac
done)"

report length "$(wc -l "${sources[@]}" "${scripts[@]}" 2>/dev/null |
	awk '$2 != "total" && $1 > 600 { print $2 ": " $1 " lines, more than 600" }')"

# The patterns are written so that they do not match this file.
report notes "$(grep -nIE 'TO[D]O|FIX[M]E|XX[X]|HAC[K]|not implemente[d]' -- "${all[@]}" | grep -vE '^COPYING:|X{6}')"

paths=(-e '/hom[e]/[a-z]+/' -e '/ro[o]t/' -e '/wor[k]/')
report paths "$(grep -nIE "${paths[@]}" -- "${all[@]}")"

report blanks "$(grep -nIE '[[:blank:]]+$' -- "${sources[@]}" "${scripts[@]}" "${pages[@]}" | cut -c 1-120)"

if command -v shellcheck >/dev/null; then
	report scripts "$(shellcheck -x "${scripts[@]}" 2>&1)"
else
	tally skip "style scripts" "no shellcheck"
fi

if command -v mandoc >/dev/null; then
	report pages "$(for page in "${pages[@]}"; do mandoc -T lint -W warning "$page" 2>&1; done)"
else
	tally skip "style pages" "no mandoc"
fi
tally_close

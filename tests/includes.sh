#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A folder of src/ includes only what lies to its right in
#
#     session → fs → tree → cache → cipher → store
#
# check and convert include fs and what is right of it; key includes cipher and store; util, secret and include/fusecrypt may be
# included by all; cli includes everything. FUSE stays in session and cli.
set -u
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=tests/tally.sh
. tests/tally.sh
tally_begin

allowed() {
	case $1 in
	util | secret | include) echo util secret ;;
	store) echo store util secret ;;
	cipher) echo cipher store util secret ;;
	cache) echo cache cipher store util secret ;;
	tree) echo tree cache cipher store util secret ;;
	fs) echo fs tree cache cipher store util secret ;;
	convert) echo convert fs tree cache cipher store util secret ;;
	check) echo check fs tree cache cipher store util secret ;;
	session) echo session fs tree cache cipher store util secret ;;
	key) echo key cipher store util secret ;;
	cli) echo cli session check convert key fs tree cache cipher store util secret ;;
	*) echo ;;
	esac
}

problems=$(
	find src include -name '*.[ch]' | sort | while read -r file; do
		folder=$(cut -d / -f 2 <<<"$file")
		[ "${file%%/*}" = src ] || folder=include
		right=" fusecrypt $(allowed "$folder") "
		[ "$right" != " fusecrypt  " ] || echo "$file: the folder $folder has no place in the order"
		grep -nE '^[[:space:]]*#[[:space:]]*include' "$file" | while IFS=: read -r line text; do
			target=$(sed -nE 's/.*["<]([^">]+)[">].*/\1/p' <<<"$text")
			case $text in
			*\"config.h\"*) ;;
			*\"*)
				if [ ! -f "src/$target" ] && [ ! -f "include/$target" ]; then
					echo "$file:$line: \"$target\" is neither below src/ nor below include/"
				elif [ "${right#* "${target%%/*}" }" = "$right" ]; then
					echo "$file:$line: $folder must not include $target"
				fi
				;;
			*)
				case $target in
				fuse* | linux/fuse.h)
					case $folder in
					session | cli) ;;
					*) echo "$file:$line: $folder must not include <$target>" ;;
					esac
					;;
				esac
				;;
			esac
		done
	done
)
if [ -z "$problems" ]; then
	tally pass includes
else
	printf '%s\n' "$problems"
	tally fail includes
fi
tally_close

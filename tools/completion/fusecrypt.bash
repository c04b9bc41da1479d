# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# bash: `fusecrypt --complete` has the candidates; `:files` among them stands for files.
_fusecrypt() {
	local line word=${COMP_WORDS[COMP_CWORD]}
	COMPREPLY=()
	while IFS= read -r line; do
		if [ "$line" = :files ]; then
			compopt -o filenames 2>/dev/null
			mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$word")
		else
			COMPREPLY+=("$line")
		fi
	done < <("${COMP_WORDS[0]}" --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _fusecrypt fusecrypt

# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# Registered directories without `protect`: DIR's container is DIR.fusecrypt.

# registry: where the user's entries lie
registry() { printf '%s\n' "${FC_HOME:-$HOME}/.config/fusecrypt"; }

# register DIR PASS-FILE [OPTIONS]: makes the container and the entry.
register() {
	local uuid
	fc init "$1.fusecrypt" --kdf interactive --log-size 1M --passphrase-file "$2" >/dev/null
	uuid=$(fc status "$1.fusecrypt" --json | py -c 'import json, sys; print(json.load(sys.stdin)["uuid"])')
	"${FC_AS[@]}" mkdir -p -m 700 "$1" "$(registry)"
	printf 'fusecrypt-directory 1\ndirectory %s\ncontainer %s\nuuid %s\noptions %s\n' "$1" "$1.fusecrypt" "$uuid" "${3:-}" |
		"${FC_AS[@]}" sh -c "umask 077; cat >'$(registry)/${1##*/}.dir'"
}

# state_of DIR: as of `list`.
state_of() {
	fc list --json | py -c 'import json, sys
for d in json.load(sys.stdin)["directories"]:
    if d["directory"] == sys.argv[1]:
        print(d["state"])' "$1"
}

# state_is DIR STATE
state_is() { equal "$(state_of "$1")" "$2" "state of $1"; }

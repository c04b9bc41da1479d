#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Completion knows every command, option and mount option, and nothing that is not
# there; bash and fish, where they are, ask for it.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
offers() {
	local want=$1
	shift
	equal "$("$FUSECRYPT" --complete "$@" | tr '\n' ' ')" "$want${want:+ }" "what is offered after '$*'"
}

# the commands are those that help lists
while read -r _ one two _; do
	"$FUSECRYPT" --complete '' | grep -qx "$one" || fail "the command $one is not offered"
	[[ $two =~ ^[a-z]+$ ]] || continue
	"$FUSECRYPT" --complete "$one" '' | grep -qx "$two" || fail "$one $two is not offered"
done < <("$FUSECRYPT" help | grep '^  fusecrypt ')

# options: each one that is offered is taken, each one of the source is offered
options_of() { "$FUSECRYPT" --complete "$@" --; }
count=0
while read -r -a words; do
	for option in $(options_of "${words[@]}"); do
		[ "$option" != --help ] || continue
		"$FUSECRYPT" "${words[@]}" "$option" 1 >said 2>&1 && fail "${words[*]} $option 1 succeeds"
		! grep -q 'no such option' said || fail "${words[*]} has no option $option"
		count=$((count + 1))
	done
	file="$SOURCE/src/cli/$(IFS=_ && echo "${words[*]}").c"
	[ -f "$file" ] || fail "no source of ${words[*]}"
	while read -r option; do
		options_of "${words[@]}" | grep -qx -e "--$option" || fail "${words[*]} does not offer --$option"
		count=$((count + 1))
	done < <(sed -nE 's/^\t*\{ "([a-z-]+)", (required|no)_argument.*/\1/p' "$file")
done < <("$FUSECRYPT" help | sed -nE 's/^  fusecrypt ([a-z]+( [a-z]+)?) .*/\1/p' | grep -v '^help')
[ "$count" -ge 60 ] || fail "only $count options were looked at"

# values, arguments, mount options
offers 'auto aes-256-gcm xchacha20-poly1305' init --cipher ''
offers 'sensitive' key change box --kdf s
"$FUSECRYPT" --complete key add --kind p | grep -qx passphrase || fail "no kinds"
offers ':files' init --key-file ''
offers ':files' status ''
offers '' key remove box --slot ''
offers '' no-such-command ''
offers 'add' help key a
for one in $("$FUSECRYPT" --complete mount -o ''); do
	case $one in
	passphrase-file= | key-file=) value=f ;;
	cache=) value=64M ;;
	*=) value=5 ;;
	*) value= ;;
	esac
	"$FUSECRYPT" mount -o "$one$value" >said 2>&1 || true
	! grep -q 'mount option' said || fail "mount has no option $one: $(cat said)"
done
offers 'noatime,commit=' mount -o noatime,com
D=$CASE_TMP/c
fc_begin
offers "$M" umount "$CASE_TMP"
offers "$M" sync "$CASE_TMP/c"

# the shells
PATH=$(dirname "$FUSECRYPT"):$PATH
bash -n "$SOURCE/tools/completion/fusecrypt.bash"
in_bash() {
	bash -c '. "$0"; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _fusecrypt; printf "%s\n" "${COMPREPLY[@]}"' \
		"$SOURCE/tools/completion/fusecrypt.bash" fusecrypt "$@"
}
equal "$(in_bash key a)" add "bash: key a"
equal "$(in_bash init --kdf m)" moderate "bash: --kdf m"
touch "a file"
equal "$(in_bash status 'a f')" "a file" "bash: a file"
if command -v fish >/dev/null; then
	in_fish() { fish -c "source $SOURCE/tools/completion/fusecrypt.fish; complete -C '$1'"; }
	equal "$(in_fish 'fusecrypt key a')" add "fish: key a"
	in_fish 'fusecrypt init --k' | grep -qx -e '--kdf' || fail "fish: --kdf"
	in_fish 'fusecrypt status a' | grep -q 'a.* file' || fail "fish: a file"
fi
if command -v zsh >/dev/null; then
	zsh -n "$SOURCE/tools/completion/_fusecrypt" || fail "zsh: _fusecrypt"
fi

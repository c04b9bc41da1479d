#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What is asked wrongly gets status 2 and a hint; help and version are told.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
status 0 fc --version
said '^fusecrypt [0-9]'
status 0 fc help
for one in init mount umount status sync 'key list' 'key add' 'key change' 'key remove' 'header backup' \
	'header restore' help; do
	said "fusecrypt $one "
done
status 0 fc --help
for one in init mount umount status sync protect unprotect key header; do
	status 0 fc "$one" --help
	said "^fusecrypt $one "
	status 0 fc help "$one"
	said "^fusecrypt $one "
	status 2 fc "$one"
	said "fusecrypt $one --help"
	status 2 fc "$one" --no-such-option
	said "no-such-option"
	status 2 fc "$one" a b c d
done
for one in 'key list' 'key add' 'key change' 'key remove' 'header backup' 'header restore'; do
	read -r -a words <<<"$one"
	status 0 fc "${words[@]}" --help
	said "^fusecrypt $one CONTAINER"
	status 0 fc help "${words[@]}"
	said "^fusecrypt $one CONTAINER"
	status 2 fc "${words[@]}"
	said "fusecrypt $one --help"
	status 2 fc "${words[@]}" --no-such-option
	said "no-such-option"
	status 2 fc "${words[@]}" a b c d
done
status 2 fc key no-such-command
said 'key no-such-command'
status 2 fc help key no-such-command
status 2 fc
status 2 fc no-such-command
said 'no-such-command'
status 2 fc help no-such-command
# an unset variable of a script
for one in 'init' 'status' 'check' 'umount' 'sync' 'key list' 'key add' 'key change' 'key remove'; do
	read -r -a words <<<"$one"
	status 2 fc "${words[@]}" ''
	said 'empty name'
done
for one in mount 'header backup' 'header restore'; do
	read -r -a words <<<"$one"
	status 2 fc "${words[@]}" '' x
	said 'empty name'
	status 2 fc "${words[@]}" x ''
	said 'empty name'
done
status 2 fc init box --kdf fast
status 2 fc init box --cipher rot13
status 2 fc init box --size-limit 10X
status 2 fc init box --size-limit 16M
status 2 fc init box --log-size 1
status 2 fc init box --passphrase-fd 77
said '77'
status 2 fc init box --passphrase-file a --passphrase-fd 0
status 2 fc mount box mnt -o nonsense
said 'nonsense'
status 2 fc mount box mnt -o commit=soon
said 'commit'
[ ! -e box ] || fail "a container was made"

# output that does not arrive is no success
if [ -e /dev/full ]; then
	! fc help >/dev/full 2>said || fail "help onto a full disk succeeds"
fi

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Descriptors 0 to 2 closed, no HOME, no LANG, no PATH; what was open stays with the caller.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
fc_init "$D"
mount_bare() { env -i "$@" "$FUSECRYPT" mount "$D/box" "$M" --passphrase-file "$D/pass"; }
FC_STACK+=("container $D")
mount_bare
stat -f -c %T "$M" | grep -q fuse || fail "it is not mounted when mount returns"
echo x >"$M/file"
status 0 env -i "$FUSECRYPT" umount "$M"
mount_bare LANG=xx_YY.broken LC_ALL=nonsense HOME=relative PATH=/nowhere 2>/dev/null
equal "$(cat "$M/file")" x content
status 0 env -i "$FUSECRYPT" umount "$M"

"$FUSECRYPT" mount "$D/box" "$M" --passphrase-file "$D/pass" <&- >&- 2>&-
equal "$(cat "$M/file")" x "content with descriptors closed"
pid=$(fc_field "$D" pid)
"$FUSECRYPT" umount "$M" <&- >&- 2>&-
[ -z "$(ls -A "$M")" ] || fail "not unmounted"
for closed in '<&-' '>&-' '2>&-' '<&- >&-' '<&- 2>&-' '>&- 2>&-'; do
	eval '"$FUSECRYPT" mount "$D/box" "$M" --passphrase-file "$D/pass"' "$closed"
	eval '"$FUSECRYPT" umount "$M"' "$closed"
done
rm -f new
"$FUSECRYPT" init new --kdf interactive --passphrase-file "$D/pass" <&- >&- 2>&-
[ "$(stat -c %s new)" -gt 1000000 ] || fail "init with descriptors closed"

# the daemon keeps nothing of its caller: no descriptor, no directory, no terminal
mkdir held
# shellcheck disable=SC2094 # opened on purpose
(cd held && exec "$FUSECRYPT" mount "$D/box" "$M" --passphrase-file "$D/pass" 7<"$D/box" 8>../opened)
pid=$(fc_field "$D" pid)
equal "$(readlink "/proc/$pid/cwd")" / "working directory"
equal "$(readlink "/proc/$pid/fd/0" "/proc/$pid/fd/1" "/proc/$pid/fd/2" | sort -u)" /dev/null "0 to 2"
! readlink "/proc/$pid/fd/"* | grep -q 'held\|opened' || fail "descriptors of the caller: $(readlink "/proc/$pid/fd/"*)"
[ "$(cut -d ' ' -f 6 "/proc/$pid/stat")" != "$(cut -d ' ' -f 6 "/proc/$$/stat")" ] || fail "it is in the caller's session"
equal "$(cut -d ' ' -f 7 "/proc/$pid/stat")" 0 "its terminal"
rmdir held
# a pipe that the caller reads from ends when mount does
fc_umount "$D"
FC_STACK+=("container $D")
timeout 20 bash -c '"$FUSECRYPT" mount "$1/box" "$1/mnt" --passphrase-file "$1/pass" | cat' sh "$D" || fail "the daemon holds its caller's pipe"
fc_umount "$D"

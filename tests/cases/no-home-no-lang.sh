#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# No HOME, no LANG or an invalid one, no terminal, no PATH, a working directory that is gone.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
fc_init "$D"
try() {
	"$@" "$FUSECRYPT" mount "$D/box" "$M" --passphrase-file "$D/pass" || fail "mount with: $*"
	FC_STACK+=("container $D")
	stat "$M/." >/dev/null || fail "the mount does not answer"
	mkdir -p "$M/d"
	echo "$*" >"$M/d/Ångström"
	equal "$(ls "$M/d")" "Ångström" "a name that is not ASCII"
	"$@" "$FUSECRYPT" status "$M" --json | py -c 'import json, sys; assert json.load(sys.stdin)["state"] == "mounted"'
	"$@" "$FUSECRYPT" umount "$M" || fail "umount with: $*"
	fc_forget "container $D"
}
asan=(ASAN_OPTIONS="${ASAN_OPTIONS:-}" UBSAN_OPTIONS="${UBSAN_OPTIONS:-}")
try env -u HOME
try env -u HOME -u LANG -u LC_ALL -u PATH
try env LANG=xx_XX.invalid LC_ALL=nonsense
try env HOME=/nonexistent/home
try env HOME=relative
try env HOME=
try env -i "${asan[@]}"
try env -i "${asan[@]}" TERM=dumb
try setsid -w
# a working directory that was removed
mkdir "$CASE_TMP/gone"
cd "$CASE_TMP/gone"
rmdir "$CASE_TMP/gone"
try env
cd "$CASE_TMP"
# a home that cannot be written: a warning at most
mkdir "$CASE_TMP/locked"
chmod 500 "$CASE_TMP/locked"
try env HOME="$CASE_TMP/locked"

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Nothing but the container file is needed to open it elsewhere; a copy of it is one too.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
fc_begin
make_tree "$CASE_TMP/tree" 300
cp -a "$CASE_TMP/tree" "$M/tree"
fc_umount "$D"
mkdir -p "$CASE_TMP/elsewhere/mnt" "$CASE_TMP/home2"
cp --sparse=always "$D/box" "$CASE_TMP/elsewhere/box"
mv "$D/pass" "$CASE_TMP/elsewhere/pass"
rm -r "$D"
export HOME=$CASE_TMP/home2
unset XDG_STATE_HOME XDG_CONFIG_HOME
fc_mount "$CASE_TMP/elsewhere"
compare "$CASE_TMP/tree" "$CASE_TMP/elsewhere/mnt/tree"
echo new >"$CASE_TMP/elsewhere/mnt/new"
fc_remount "$CASE_TMP/elsewhere"
equal "$(cat "$CASE_TMP/elsewhere/mnt/new")" new "written elsewhere"
fc_umount "$CASE_TMP/elsewhere"
# by name, from standard input, through a pipe
fc mount "$CASE_TMP/elsewhere/box" "$CASE_TMP/elsewhere/mnt" --passphrase-file - <"$CASE_TMP/elsewhere/pass"
FC_STACK+=("container $CASE_TMP/elsewhere")
compare "$CASE_TMP/tree" "$CASE_TMP/elsewhere/mnt/tree"

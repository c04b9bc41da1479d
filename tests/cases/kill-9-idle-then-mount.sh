#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 300
# An idle daemon is killed: all is there. And after unmounting and mounting: the
# same bytes, names, modes, owners, times, links, ACLs and attributes.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
fc_begin
make_tree "$CASE_TMP/tree" "${FILES:-3000}"
pack "$CASE_TMP/tree" "$CASE_TMP/tree.tar"
unpack "$CASE_TMP/tree.tar" "$M/tree"
compare "$CASE_TMP/tree" "$M/tree"
sleep 7 # longer than commit=
fc_kill "$D"
fc_mount "$D" || fail "mount after a crash"
compare "$CASE_TMP/tree" "$M/tree"
fc_remount "$D"
compare "$CASE_TMP/tree" "$M/tree"

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 400
# This project's own tree is copied in, configured, built with four processes and run.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need meson ninja gcc rsync
fc_begin
mkdir "$M/tree"
rsync -a --exclude '/build*' --exclude .git "$SOURCE/" "$M/tree/"
cd "$M/tree"
meson setup build -Dtests=false --buildtype=plain >"$CASE_TMP/said" 2>&1 || fail "meson: $(tail -n 20 "$CASE_TMP/said")"
ninja -j4 -C build >"$CASE_TMP/said" 2>&1 || fail "ninja: $(tail -n 20 "$CASE_TMP/said")"
equal "$(build/src/fusecrypt --version | head -n 1 | grep -c fusecrypt)" 1 "what was built runs"
ninja -C build -n | grep -q 'no work to do' || fail "a second ninja has work to do"
cd "$CASE_TMP"
fc_remount "$D"
ninja -C "$M/tree/build" -n | grep -q 'no work to do' || fail "ninja has work to do after mounting again"

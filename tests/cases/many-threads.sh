#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 300
# 64 threads at once, each with a directory that a model follows: ten seconds (a
# minute with -l, see many-threads-long), then all of it again after another mount.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
seconds=${FC_SECONDS:-10}
fc_begin
"$BUILD/tests/many/many_on_directory" "$M" 64 "$seconds" 7 "$CASE_TMP/state"
fc_remount "$D"
"$BUILD/tests/many/many_on_directory" "$M" 64 verify 7 "$CASE_TMP/state"

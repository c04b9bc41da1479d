#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 240
# The daemon is stopped for five seconds under load and goes on: no request is lost.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
fc_begin
make_tree "$CASE_TMP/tree" 3000
pid=$(fc_field "$D" pid)
cp -a "$CASE_TMP/tree" "$M/one" &
first=$!
cp -a "$CASE_TMP/tree" "$M/two" &
second=$!
sleep 0.5
kill -STOP "$pid"
sleep 5
kill -0 $first && kill -0 $second || fail "the copies ended before: this shows nothing"
kill -CONT "$pid"
wait $first || fail "a copy failed"
wait $second || fail "a copy failed"
compare "$CASE_TMP/tree" "$M/one"
compare "$CASE_TMP/tree" "$M/two"
for _ in 1 2 3; do # stopped while idle
	kill -STOP "$pid"
	sleep 0.2
	kill -CONT "$pid"
done
fc_remount "$D"
compare "$CASE_TMP/tree" "$M/one"

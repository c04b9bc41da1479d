#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 240
# SQLite in every journal mode, several processes at once, one of them killed.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need sqlite3
fc_begin
for mode in delete truncate persist wal memory; do
	db=$M/$mode.db
	equal "$(sqlite3 "$db" "pragma journal_mode=$mode; create table t(id integer primary key, who int, words text);")" "$mode" "journal mode"
	pids=()
	for who in 1 2 3 4; do
		for n in $(seq 10); do
			echo ".timeout 60000"
			echo "begin immediate; insert into t(who, words) values($who, printf('%d-%d-%s', $who, $n, hex(zeroblob(200)))); commit;"
		done | sqlite3 "$db" &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do wait "$pid" || fail "a process that inserts ($mode)"; done
	equal "$(sqlite3 "$db" "select count(*), count(distinct words), sum(who) from t; pragma integrity_check;" | tr '\n' ' ')" "40|40|100 ok " "rows ($mode)"
	# a reader sees whole transactions only, while one writes
	for n in $(seq 20); do
		echo ".timeout 60000"
		echo "begin immediate; update t set words = 'a$n' where id = 1; update t set words = 'a$n' where id = 2; commit;"
	done | sqlite3 "$db" &
	writer=$!
	for _ in $(seq 20); do
		pair=$(sqlite3 -cmd ".timeout 60000" "$db" "select count(distinct words) from t where id in (1, 2) and words like 'a%';")
		[ "$pair" -le 1 ] || fail "half a transaction was seen ($mode)"
	done
	wait $writer
	# the writer is killed in the middle of a transaction: it is rolled back
	[ "$mode" = memory ] || {
		{
			echo "pragma cache_size=5; begin immediate; update t set words = 'broken' || hex(randomblob(3000));"
			sleep 20
		} | sqlite3 "$db" &
		sleep 0.5
		pid=$(pgrep -n -f "^sqlite3 $db\$")
		kill -9 "$pid"
		wait $! 2>/dev/null || true
		equal "$(sqlite3 "$db" "select count(*) from t where words like 'broken%'; pragma integrity_check;" | tr '\n' ' ')" "0 ok " "after a killed writer ($mode)"
	}
	sqlite3 "$db" "vacuum; pragma wal_checkpoint(truncate);" >/dev/null
done
dump() { for mode in delete truncate persist wal memory; do sqlite3 "$M/$mode.db" "select * from t order by id; pragma integrity_check;"; done | sha256sum; }
before=$(dump)
fc_remount "$D"
equal "$(dump)" "$before" "all rows after mounting again"
[ -z "${FC_PLAIN:-}" ] || exit 0
# a commit that SQLite reported is there after the daemon died in the next moment (with
# less than "extra" it does not sync the directory that the journal was removed from)
for mode in delete wal; do
	sqlite3 "$M/$mode.db" "pragma synchronous=extra; insert into t(who, words) values(99, 'committed');"
	fc_kill "$D"
	fc_mount "$D"
	equal "$(sqlite3 "$M/$mode.db" "select count(*) from t where who = 99; pragma integrity_check;" | tr '\n' ' ')" "1 ok " "a commit before a crash ($mode)"
done
